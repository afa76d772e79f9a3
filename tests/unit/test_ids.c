/* test_ids.c - lists of ids in .npy files: every integer type, both orders of bytes and of axes,
 * and what is not a list of ids. Files are put together here by numpy's format description.
 */
#include <criterion/criterion.h>

#include "emb.h"
#include "util/base.h"

#include <stdio.h>
#include <stdlib.h>

struct file {
    unsigned char *bytes; /* exactly n, so that a sanitizer sees what is read past the end */
    size_t n;
};

/* Version 1.0; data [data_bytes] follow the header as they are. */
static struct file make(const char *descr, bool fortran, const char *shape, const void *data,
                        size_t data_bytes)
{
    char header[256];
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n",
                     descr, fortran ? "True" : "False", shape);
    struct file f = {.n = 10 + (size_t)n + data_bytes};
    f.bytes = malloc(f.n);
    cr_assert_not_null(f.bytes);
    memcpy(f.bytes, "\x93NUMPY\1\0", 8);
    f.bytes[8] = (unsigned char)n;
    f.bytes[9] = (unsigned char)(n >> 8);
    memcpy(f.bytes + 10, header, (size_t)n);
    if (data_bytes)
        memcpy(f.bytes + 10 + n, data, data_bytes);
    return f;
}

static emb_ctx *context(void)
{
    emb_ctx_opts opts = {.size = sizeof opts, .threads = 1};
    emb_ctx *ctx;
    emb_err err;
    cr_assert_eq(emb_ctx_new(&opts, &ctx, &err), EMB_OK, "%s", err.msg);
    return ctx;
}

/* ids 0, 1, 2 and 5 as elements of `bytes` bytes, lowest byte first or last. */
static size_t encode(unsigned char *out, size_t bytes, bool big)
{
    static const unsigned char ids[] = {0, 1, 2, 5};
    memset(out, 0, bytes * EMBI_LEN(ids));
    for (size_t i = 0; i < EMBI_LEN(ids); i++)
        out[i * bytes + (big ? bytes - 1 : 0)] = ids[i];
    return bytes * EMBI_LEN(ids);
}

Test(ids, every_integer_type)
{
    static const char *const types[] = {"|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8",
                                        "<u8", ">i2", ">u2", ">i4", ">u4", ">i8", ">u8"};
    static const uint64_t want[] = {0, 1, 2, 5};
    emb_ctx *ctx = context();
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        unsigned char data[32];
        uint64_t shape[3], got[4];
        emb_ids *ids;
        emb_err err;
        size_t n = encode(data, (size_t)(types[i][2] - '0'), types[i][0] == '>');
        struct file f = make(types[i], false, "(4,)", data, n);
        cr_assert_eq(emb_ids_open(ctx, NULL, f.bytes, f.n, &ids, &err), EMB_OK, "%s: %s", types[i],
                     err.msg);
        cr_expect_eq(emb_ids_shape(ids, shape), 1);
        cr_expect_eq(shape[0], 4);
        cr_expect_eq(emb_ids_read(ids, 6, got, 3, &err), EMB_OK, "%s: %s", types[i], err.msg);
        cr_expect_eq(emb_ids_read(ids, 6, got + 3, 1, &err), EMB_OK, "%s: %s", types[i], err.msg);
        cr_expect_arr_eq(got, want, sizeof want, "%s", types[i]);
        cr_expect_eq(emb_ids_read(ids, 6, got, 1, &err), EMB_BAD_ARG, "past the end");
        emb_ids_close(ids);
        free(f.bytes);
    }
    emb_ctx_free(ctx);
}

/* In Fortran order element (a, b, c) of shape [2, 3, 2] lies at a + 2 * b + 6 * c. */
Test(ids, fortran_order)
{
    unsigned char data[12];
    uint64_t shape[3], got[12];
    emb_ctx *ctx = context();
    emb_ids *ids;
    emb_err err;
    for (unsigned char a = 0; a < 2; a++)
        for (unsigned char b = 0; b < 3; b++)
            for (unsigned char c = 0; c < 2; c++)
                data[a + 2 * b + 6 * c] = (unsigned char)(a * 6 + b * 2 + c); /* row-major count */
    struct file f = make("|u1", true, "(2, 3, 2)", data, sizeof data);
    cr_assert_eq(emb_ids_open(ctx, NULL, f.bytes, f.n, &ids, &err), EMB_OK, "%s", err.msg);
    cr_expect_eq(emb_ids_shape(ids, shape), 3);
    cr_expect(shape[0] == 2 && shape[1] == 3 && shape[2] == 2);
    cr_expect_eq(emb_ids_read(ids, 12, got, 12, &err), EMB_OK, "%s", err.msg);
    for (uint64_t i = 0; i < 12; i++)
        cr_expect_eq(got[i], i);
    emb_ids_close(ids);
    free(f.bytes);
    emb_ctx_free(ctx);
}

/* Chunks inside the library end at other places than the caller's. */
Test(ids, long_lists)
{
    enum { N = 200001 };
    uint32_t *data = malloc(N * sizeof *data);
    uint64_t *got = malloc(N * sizeof *got);
    emb_ctx *ctx = context();
    emb_ids *ids;
    emb_err err;
    for (uint32_t i = 0; i < N; i++)
        data[i] = i * 2654435761u;
    struct file f = make("<u4", false, "(200001,)", data, N * sizeof *data);
    cr_assert_eq(emb_ids_open(ctx, NULL, f.bytes, f.n, &ids, &err), EMB_OK, "%s", err.msg);
    for (size_t at = 0; at < N;) {
        size_t n = embi_min(70001, N - at);
        cr_assert_eq(emb_ids_read(ids, UINT64_MAX, got + at, n, &err), EMB_OK, "%s", err.msg);
        at += n;
    }
    for (uint32_t i = 0; i < N; i++)
        cr_assert_eq(got[i], data[i]);
    emb_ids_close(ids);
    free(f.bytes);
    free(got);
    free(data);
    emb_ctx_free(ctx);
}

Test(ids, outside)
{
    static const struct {
        const char *descr;
        unsigned char data[16]; /* two elements: 1 and the bad one */
        size_t bytes;
        uint64_t rows;
        const char *message;
    } cases[] = {
        {"|i1", {1, 0xFF}, 2, 4, "ids: item 2: -1 is outside 0..3"},
        {"<i4", {1, 0, 0, 0, 4}, 8, 4, "ids: item 2: 4 is outside 0..3"},
        {"<i8",
         {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80},
         16,
         4,
         "ids: item 2: -9223372036854775808 is outside 0..3"},
        {"<u8",
         {1, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
         16,
         4,
         "ids: item 2: 18446744073709551615 is outside 0..3"},
        {"<u2", {0, 0, 0, 0}, 4, 0, "ids: item 1: 0 is outside a table of no rows"},
    };
    emb_ctx *ctx = context();
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        uint64_t got[2];
        emb_ids *ids;
        emb_err err;
        struct file f = make(cases[i].descr, false, "(2,)", cases[i].data, cases[i].bytes);
        cr_assert_eq(emb_ids_open(ctx, NULL, f.bytes, f.n, &ids, &err), EMB_OK, "%s", err.msg);
        cr_expect_eq(emb_ids_read(ids, cases[i].rows, got, 2, &err), EMB_RANGE);
        cr_expect_str_eq(err.msg, cases[i].message);
        cr_expect_eq(err.at, cases[i].rows ? 1 : 0);
        emb_ids_close(ids);
        free(f.bytes);
    }
    emb_ctx_free(ctx);
}

Test(ids, empty_lists)
{
    static const struct {
        const char *shape;
        int ndim;
        uint64_t last;
    } cases[] = {{"(0,)", 1, 0}, {"(0, 5)", 2, 5}, {"(3, 0)", 2, 0}};
    emb_ctx *ctx = context();
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        uint64_t shape[3], got;
        emb_ids *ids;
        emb_err err;
        struct file f = make("<i8", false, cases[i].shape, NULL, 0);
        cr_assert_eq(emb_ids_open(ctx, NULL, f.bytes, f.n, &ids, &err), EMB_OK, "%s", err.msg);
        cr_expect_eq(emb_ids_shape(ids, shape), cases[i].ndim);
        cr_expect_eq(shape[cases[i].ndim - 1], cases[i].last);
        cr_expect_eq(emb_ids_read(ids, 1, &got, 0, &err), EMB_OK, "%s", err.msg);
        emb_ids_close(ids);
        free(f.bytes);
    }
    emb_ctx_free(ctx);
}

Test(ids, refused)
{
    static const struct {
        const char *descr, *shape;
        size_t bytes;
        emb_status status;
        const char *word;
    } cases[] = {
        {"<f4", "(2,)", 8, EMB_UNSUPPORTED, "f4"},
        {"<f8", "(2,)", 16, EMB_UNSUPPORTED, "f8"},
        {"|b1", "(2,)", 2, EMB_UNSUPPORTED, "integers"},
        {"<i4", "()", 4, EMB_UNSUPPORTED, "axes"},
        {"<i4", "(1, 1, 1, 1)", 4, EMB_UNSUPPORTED, "axes"},
        {"<i4", "(3,)", 8, EMB_BAD_DATA, "expected 12"},
    };
    static const unsigned char zeros[16];
    emb_ctx *ctx = context();
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        emb_ids *ids;
        emb_err err;
        struct file f = make(cases[i].descr, false, cases[i].shape, zeros, cases[i].bytes);
        cr_expect_eq(emb_ids_open(ctx, NULL, f.bytes, f.n, &ids, &err), cases[i].status,
                     "%s %s: %s", cases[i].descr, cases[i].shape, err.msg);
        cr_expect(strstr(err.msg, "ids: ") == err.msg && strstr(err.msg, cases[i].word), "%s",
                  err.msg);
        free(f.bytes);
    }
    emb_ids_close(NULL);
    emb_ctx_free(ctx);
}
