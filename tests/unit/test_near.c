/* test_near.c - rows that are nearly a vector, against the cosine of every row in long double.
 *
 * The table is random but for planted rows: multiples of the vector, with an error that is orthogonal
 * to it and lies in the last columns, which the first look does not see, or in the first ones.
 */
#include <criterion/criterion.h>

#include "ops/near.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { V = 3000, D = 300 };

static float values[V][D];
static double vectors[2][D];

static uint64_t state = 1; /* splitmix64 */
static float random_unit(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (float)((double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1);
}

/* Row = scale * vector q, with the two numbers from `at` on turned by an angle. */
static void plant(int row, int q, float scale, int at, double angle)
{
    for (int c = 0; c < D; c++)
        values[row][c] = scale * (float)vectors[q][c];
    double x = (double)values[row][at], y = (double)values[row][at + 1];
    values[row][at] = (float)(x * cos(angle) - y * sin(angle));
    values[row][at + 1] = (float)(x * sin(angle) + y * cos(angle));
}

static long double cosine(const float *row, const double *q)
{
    long double dot = 0, a = 0, b = 0;
    for (int c = 0; c < D; c++) {
        dot += (long double)row[c] * q[c];
        a += (long double)row[c] * row[c];
        b += (long double)q[c] * q[c];
    }
    return dot / sqrtl(a * b);
}

static emb_table *open_table(emb_ctx *ctx, const char *path, emb_dtype dtype)
{
    static uint16_t narrow[V][D];
    emb_table *t;
    emb_err err;
    emb_open_opts opts = {
        .size = sizeof opts, .format = "raw", .input_dtype = dtype, .raw_dims = D};
    if (dtype == EMB_BF16) {
        cr_assert_eq(emb_convert(narrow, dtype, values, EMB_F32, V * D, NULL, &err), EMB_OK);
        cr_assert_eq(emb_convert(values, EMB_F32, narrow, dtype, V * D, NULL, &err), EMB_OK);
    }
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    fwrite(dtype == EMB_BF16 ? (void *)narrow : (void *)values, emb_dtype_bytes(dtype), V * D, f);
    cr_assert_eq(fclose(f), 0);
    cr_assert_eq(emb_table_open(ctx, path, &opts, &t, &err), EMB_OK, "%s", err.msg);
    return t;
}

static void check(emb_ctx *ctx, emb_dtype dtype)
{
    char path[] = "/tmp/embtool-near-XXXXXX";
    uint64_t found[2], want[2] = {EMB_ROW_NEW, EMB_ROW_NEW};
    emb_err err;
    cr_assert_geq(close(mkstemp(path)), 0);
    emb_table *t = open_table(ctx, path, dtype);
    for (int q = 0; q < 2; q++)
        for (int row = V - 1; row >= 0; row--)
            if (cosine(values[row], vectors[q]) >= EMBI_NEAR_COSINE)
                want[q] = (uint64_t)row;
    cr_assert_eq(embi_near_rows(t, NULL, vectors[0], 2, found, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(found[0], want[0], "%s: %d, not %d", emb_dtype_name(dtype), (int)found[0],
                 (int)want[0]);
    cr_assert_eq(found[1], want[1], "%s: %d, not %d", emb_dtype_name(dtype), (int)found[1],
                 (int)want[1]);
    emb_table_close(t);
    unlink(path);
}

Test(near, rows)
{
    emb_ctx *ctx;
    emb_err err;
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
    for (int q = 0; q < 2; q++)
        for (int c = 0; c < D; c++)
            vectors[q][c] = (double)(q && c < 200 ? 0 : random_unit()); /* zeros come first */
    for (int row = 0; row < V; row++)
        for (int c = 0; c < D; c++)
            values[row][c] = random_unit();
    memset(values[5], 0, sizeof values[5]);
    values[6][7] = NAN;
    values[8][7] = INFINITY;
    plant(1000, 0, -3, 0, 0);          /* the other way */
    plant(1100, 0, 2.5f, D - 2, 1e-1); /* too far, in the last columns */
    plant(1200, 0, 2.5f, 0, 1e-1);     /* too far, in the first ones */
    plant(1300, 0, 0x1p-70f, 0, 0);    /* squares that f32 cannot hold */
    plant(1400, 0, 1, D - 2, 1e-4);
    plant(2000, 1, 7, D - 2, 1e-4);
    plant(2100, 1, 7, 0, 0);
    check(ctx, EMB_F32);
    check(ctx, EMB_BF16);
    emb_ctx_free(ctx);
}

Test(near, each_other)
{
    const double x[] = {1, 0, 0, 0, 0, 1, 2, 0, 1e-4, 0, 3, 0};
    size_t a, b;
    cr_assert(embi_near_each_other(x, 4, 3, &a, &b));
    cr_assert(a == 0 && b == 2);
    cr_assert_not(embi_near_each_other(x, 2, 3, &a, &b));
}
