/* gguf_fixture.h - GGUF files made in memory: any version and byte order, field by field as
 * docs/gguf.md of ggml has them.
 */
#ifndef TESTS_GGUF_FIXTURE_H
#define TESTS_GGUF_FIXTURE_H

#include "memory_file.h"

#include "fmt/gguf.h"

struct gguf_file {
    struct embi_buf b;
    int version;
    bool big; /* -endian */
};

/* The low n bytes of x, in the order of the file. */
static inline void gguf_put(struct gguf_file *f, uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        embi_buf_byte(&f->b, (char)(x >> 8 * (f->big ? n - 1 - i : i)));
}

static inline void gguf_length(struct gguf_file *f, uint64_t x)
{
    gguf_put(f, x, f->version == 1 ? 4 : 8);
}

static inline void gguf_text(struct gguf_file *f, const char *s)
{
    gguf_length(f, strlen(s));
    embi_buf_text(&f->b, s);
}

static inline void gguf_begin(struct gguf_file *f, uint64_t tensors, uint64_t keys)
{
    embi_buf_text(&f->b, "GGUF");
    gguf_put(f, (uint64_t)f->version, 4);
    gguf_length(f, tensors);
    gguf_length(f, keys);
}

static inline void gguf_key(struct gguf_file *f, const char *key, enum embi_gguf_kind kind)
{
    gguf_text(f, key);
    gguf_put(f, kind, 4);
}

static inline void gguf_string(struct gguf_file *f, const char *key, const char *s)
{
    gguf_key(f, key, EMBI_GGUF_STRING);
    gguf_text(f, s);
}

static inline void gguf_number(struct gguf_file *f, const char *key, enum embi_gguf_kind kind,
                               uint64_t x, int bytes)
{
    gguf_key(f, key, kind);
    gguf_put(f, x, bytes);
}

static inline void gguf_strings(struct gguf_file *f, const char *key, const char *const *s,
                                size_t n)
{
    gguf_key(f, key, EMBI_GGUF_ARRAY);
    gguf_put(f, EMBI_GGUF_STRING, 4);
    gguf_length(f, n);
    for (size_t i = 0; i < n; i++)
        gguf_text(f, s[i]);
}

/* A tensor [rows, dims] of ggml's type number `type`. */
static inline void gguf_info(struct gguf_file *f, const char *name, uint64_t rows, uint64_t dims,
                             uint32_t type, uint64_t offset)
{
    gguf_text(f, name);
    gguf_put(f, 2, 4);
    gguf_length(f, dims);
    gguf_length(f, rows);
    gguf_put(f, type, 4);
    gguf_put(f, offset, 8);
}

/* Pads to `alignment`; the place of the data. */
static inline uint64_t gguf_data(struct gguf_file *f, size_t alignment)
{
    embi_buf_fill(&f->b, 0, (alignment - f->b.n % alignment) % alignment);
    return f->b.n;
}

#endif
