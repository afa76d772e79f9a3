/* model_fixture.h - model directories made for a test: safetensors files of f32 tensors, config.json,
 * vocab.json; and what lies in the files that come out.
 */
#ifndef TESTS_MODEL_FIXTURE_H
#define TESTS_MODEL_FIXTURE_H

#include <criterion/criterion.h>

#include "fmt/fmt.h"
#include "util/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A tensor [a], [a, b]: a 0 in b means one axis. Element k is at[k], or `value` where at is NULL. */
struct fixture_tensor {
    const char *name;
    int a, b;
    float value;
    const float *at;
};

static inline int fixture_count(const struct fixture_tensor *t)
{
    return t->a * (t->b ? t->b : 1);
}

/* A safetensors file of these [n]. */
static inline struct embi_buf fixture_file(const struct fixture_tensor *t, size_t n)
{
    struct embi_buf header = {0}, file = {0};
    int at = 0;
    embi_buf_text(&header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < n; i++) {
        int end = at + 4 * fixture_count(&t[i]);
        embi_buf_print(&header, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%d", t[i].name, t[i].a);
        if (t[i].b)
            embi_buf_print(&header, ",%d", t[i].b);
        embi_buf_print(&header, "],\"data_offsets\":[%d,%d]}", at, end);
        at = end;
    }
    embi_buf_byte(&header, '}');
    uint64_t bytes = header.n;
    embi_buf_add(&file, &bytes, 8);
    embi_buf_add(&file, header.s, header.n);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < fixture_count(&t[i]); k++)
            embi_buf_add(&file, t[i].at ? &t[i].at[k] : &t[i].value, 4);
    cr_assert(!header.failed && !file.failed);
    embi_buf_free(&header);
    return file;
}

static inline void fixture_put(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

static inline void fixture_text(const char *path, const char *text)
{
    fixture_put(path, text, strlen(text));
}

static inline void fixture_weights(const char *path, const struct fixture_tensor *t, size_t n)
{
    struct embi_buf b = fixture_file(t, n);
    fixture_put(path, b.s, b.n);
    embi_buf_free(&b);
}

static inline char *fixture_read(const char *path, size_t *n)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    cr_assert_eq(fstat(fileno(f), &st), 0);
    char *bytes = malloc((size_t)st.st_size + 1);
    cr_assert_not_null(bytes);
    *n = fread(bytes, 1, (size_t)st.st_size, f);
    bytes[*n] = 0;
    fclose(f);
    return bytes;
}

static inline bool fixture_same(const char *a, const char *b)
{
    size_t n, m;
    char *x = fixture_read(a, &n), *y = fixture_read(b, &m);
    bool same = n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

static inline bool fixture_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

#endif
