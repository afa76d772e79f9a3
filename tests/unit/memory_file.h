/* memory_file.h - files in memory for the tests of formats: bytes to read, and a target to write
 * to.
 */
#ifndef TESTS_MEMORY_FILE_H
#define TESTS_MEMORY_FILE_H

#include <criterion/criterion.h>

#include "memory_target.h"

#include <stdio.h>
#include <stdlib.h>

#define STR(literal) ((emb_str){literal, sizeof(literal) - 1})

/* ------------------------------------------------------------------------------------------------
 * Reading. The log of the environment collects warnings.
 */

struct log {
    int lines;
    char last[200];
};

static inline void collect(void *arg, int level, const char *path, const char *line)
{
    struct log *log = arg;
    (void)path;
    log->lines += level == EMB_LOG_WARNING;
    (void)snprintf(log->last, sizeof log->last, "%s", line);
}

/* Opens bytes [n] as a file named path. The bytes lie in a block of exactly their size, so that a
 * sanitizer sees what is read past the end. */
static inline emb_status open_bytes(const struct embi_env *env, const void *bytes, size_t n,
                                    const char *path, const struct embi_format *format,
                                    const struct embi_read_opts *opts, struct embi_reader **r,
                                    emb_err *err)
{
    struct embi_io *io = NULL;
    void *copy = malloc(n ? n : 1);
    cr_assert_not_null(copy);
    memcpy(copy, bytes, n);
    cr_assert_eq(embi_io_memory(env, copy, n, copy, &io, err), EMB_OK);
    return embi_reader_open(env, io, path, format, opts, r, err);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

/* One array for write_file: its rows are put in two steps where there are several. */
struct input {
    emb_array array;
    const void *data;
    uint64_t rows; /* the true count, which array.shape[0] may not say */
};

static inline uint64_t input_row_bytes(const emb_array *a)
{
    uint64_t bytes = emb_dtype_bytes(a->dtype);
    for (int i = 1; i < a->ndim; i++)
        bytes *= a->shape[i];
    return bytes;
}

static inline emb_status put_input(struct embi_sink *s, emb_array *a, const struct input *in,
                                   emb_err *err)
{
    uint64_t bytes = in->rows * input_row_bytes(a), first = bytes / 2 / input_row_bytes(a);
    emb_status status = EMB_OK;
    first *= input_row_bytes(a);
    if (first)
        status = s->format->put(s, in->data, first, NULL, err);
    if (!status && bytes > first)
        status = s->format->put(s, (const char *)in->data + first, bytes - first, NULL, err);
    a->shape[0] = in->rows;
    return !status && s->format->finish ? s->format->finish(s, err) : status;
}

/* Writes inputs [n] into out as the writer of the library does. */
static inline emb_status write_file(const struct embi_format *format, const struct input *in,
                                    size_t n, unsigned caps, struct embi_buf *out, emb_err *err)
{
    struct embi_env env = {0};
    struct target target = {.io = {.scheme = &target_scheme, .env = &env, .caps = caps}};
    emb_array *arrays = calloc(n, sizeof *arrays);
    cr_assert_not_null(arrays);
    for (size_t i = 0; i < n; i++)
        arrays[i] = in[i].array;
    struct embi_sink s = {
        .env = &env, .io = &target.io, .format = format, .arrays = arrays, .n = n};
    emb_status status = format->check(&s, err);
    if (!status)
        status = format->begin ? format->begin(&s, err) : EMB_OK;
    for (; !status && s.current < n; s.current++)
        status = put_input(&s, &arrays[s.current], &in[s.current], err);
    if (!status && format->end)
        status = format->end(&s, err);
    if (s.state && format->free)
        format->free(s.state);
    embi_buf_free(&s.buf);
    free(arrays);
    *out = target.content;
    return status;
}

#endif
