/* model_dir.h - a model directory for the tests of lib/model and lib/ops that edit or check one:
 * files that a test writes, and a directory that is gone afterwards.
 */
#ifndef TESTS_MODEL_DIR_H
#define TESTS_MODEL_DIR_H

#include "memory_file.h"

#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/embtool-model-XXXXXX";

static inline void enter_dir(void)
{
    cr_assert_not_null(mkdtemp(dir));
    cr_assert_eq(chdir(dir), 0);
}

static inline void leave_dir(void)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(system(command), 0);
}

static inline void put_bytes(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "w");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

static inline void put_text(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

/* A tensor of f32, all zero; dims 0: of one axis. */
struct zeros {
    const char *name;
    int rows, dims;
};

/* A safetensors file of n of them; `last` is the value of the last element. */
static inline void put_tensors(const char *name, const struct zeros *t, size_t n, float last)
{
    struct embi_buf file = {0}, header = {0};
    int at = 0;
    for (size_t i = 0; i < n; i++) {
        int end = at + 4 * t[i].rows * (t[i].dims ? t[i].dims : 1);
        embi_buf_print(&header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%d", i ? "," : "{",
                       t[i].name, t[i].rows);
        if (t[i].dims)
            embi_buf_print(&header, ",%d", t[i].dims);
        embi_buf_print(&header, "],\"data_offsets\":[%d,%d]}", at, end);
        at = end;
    }
    embi_buf_byte(&header, '}');
    uint64_t bytes = header.n;
    embi_buf_add(&file, &bytes, 8);
    embi_buf_add(&file, header.s, header.n);
    embi_buf_fill(&file, 0, (size_t)at);
    memcpy(file.s + file.n - 4, &last, 4);
    put_bytes(name, file.s, file.n);
    embi_buf_free(&header);
    embi_buf_free(&file);
}

#endif
