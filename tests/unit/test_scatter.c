/* test_scatter.c - emb_scatter_add: gradients of a row added one after another, by loops written out
 * here; what is refused; places and gaps.
 */
#include <criterion/criterion.h>

#include "emb.h"

#include <stdlib.h>
#include <string.h>

enum { V = 3000, D = 33, N = 5000 };

static emb_ctx *context(int threads)
{
    emb_ctx *ctx;
    emb_err err;
    emb_ctx_opts opts = {.size = sizeof opts, .threads = threads};
    cr_assert_eq(emb_ctx_new(&opts, &ctx, &err), EMB_OK);
    return ctx;
}

/* Numbers whose sums are not exact, so that their order shows. */
static float number(uint64_t i)
{
    return (float)(i * 2654435761u % 1000003) * (i % 7 ? 1e-3f : 1e3f) - 400;
}

static uint64_t row_of(size_t i)
{
    return i % 4 ? i * 40503 % V : 17;
}

Test(scatter, adds_in_order)
{
    float *table = malloc(V * D * sizeof *table), *want = malloc(V * D * sizeof *want);
    float *grads = malloc(N * D * sizeof *grads);
    uint64_t *rows = malloc(N * sizeof *rows);
    uint8_t frozen[V / 8 + 1] = {0};
    frozen[21 / 8] |= 1 << 21 % 8;
    for (size_t i = 0; i < N; i++)
        rows[i] = i == 9 ? 21 : row_of(i);
    for (size_t i = 0; i < N * D; i++)
        grads[i] = number(i);
    for (int threads = 1; threads <= 3; threads++) {
        for (size_t i = 0; i < V * D; i++)
            table[i] = want[i] = number(i + 7);
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < D && rows[i] != 21; c++)
                want[rows[i] * D + c] += grads[i * D + c];
        emb_ctx *ctx = context(threads);
        emb_block to = {table, V, D, EMB_F32, 0}, from = {grads, N, D, EMB_F32, 0};
        emb_scatter_opts opts = {.size = sizeof opts, .frozen = frozen};
        emb_err err;
        cr_assert_eq(emb_scatter_add(ctx, &to, rows, &from, &opts, &err), EMB_OK, "%s", err.msg);
        cr_expect(memcmp(table, want, V * D * sizeof *table) == 0, "%d threads", threads);
        emb_ctx_free(ctx);
    }
    free(table);
    free(want);
    free(grads);
    free(rows);
}

/* 1 + 2^-8 + 2^-9 in bf16, which has 8 bits: rounded once it is 1 + 2^-7, one by one it would stay
 * 1, since each half way goes to the even one. */
Test(scatter, rounds_half_types_once)
{
    uint16_t one = 0x3f80, grads[] = {0x3b80, 0x3b00}, want = 0x3f81;
    uint64_t rows[] = {0, 0};
    emb_ctx *ctx = context(1);
    emb_block to = {&one, 1, 1, EMB_BF16, 0}, from = {grads, 2, 1, EMB_BF16, 0};
    emb_err err;
    cr_assert_eq(emb_scatter_add(ctx, &to, rows, &from, NULL, &err), EMB_OK);
    cr_expect_eq(one, want, "%04x", one);
    emb_ctx_free(ctx);
}

/* Rows with gaps between them, at odd addresses; what lies between stays. */
Test(scatter, leaves_gaps)
{
    unsigned char table[1 + 3 * 11], grads[2 * 9 + 1];
    double values[] = {1, 2, 3}, more[] = {0.5, 0.25};
    uint64_t rows[] = {2, 2};
    memset(table, 0x77, sizeof table);
    for (size_t r = 0; r < 3; r++)
        memcpy(table + 1 + r * 11, &values[r], 8);
    for (size_t i = 0; i < 2; i++)
        memcpy(grads + 1 + i * 9, &more[i], 8);
    emb_ctx *ctx = context(1);
    emb_block to = {table + 1, 3, 1, EMB_F64, 11}, from = {grads + 1, 2, 1, EMB_F64, 9};
    emb_err err;
    cr_assert_eq(emb_scatter_add(ctx, &to, rows, &from, NULL, &err), EMB_OK);
    memcpy(&values[2], table + 1 + 22, 8);
    cr_expect_eq(values[2], 3.75);
    cr_expect_eq(table[0], 0x77);
    cr_expect_eq(table[1 + 8], 0x77);
    cr_expect_eq(table[1 + 22 + 8], 0x77);
    emb_ctx_free(ctx);
}

Test(scatter, refuses)
{
    float table[4] = {1, 2, 3, 4}, grads[4] = {1, 1, 1, 1};
    uint64_t rows[] = {1, 2};
    emb_ctx *ctx = context(1);
    emb_block to = {table, 2, 2, EMB_F32, 0}, from = {grads, 2, 2, EMB_F32, 0};
    emb_err err;
    cr_expect_eq(emb_scatter_add(ctx, &to, rows, &from, NULL, &err), EMB_RANGE);
    cr_expect_eq(err.at, 1);
    cr_expect_str_eq(err.msg, "row 2: the table has 2 rows");
    cr_expect_eq(table[2], 3, "nothing was added");
    from.dims = 1;
    cr_expect_eq(emb_scatter_add(ctx, &to, rows, &from, NULL, &err), EMB_BAD_ARG);
    cr_expect_str_eq(err.msg, "gradients: expected rows of 2 numbers of f32, found 1 of f32");
    to.dtype = from.dtype = EMB_I32;
    from.dims = 2;
    cr_expect_eq(emb_scatter_add(ctx, &to, rows, &from, NULL, &err), EMB_BAD_ARG);
    cr_expect_str_eq(err.msg, "gradients are added to f64, f32, f16 or bf16, not i32");
    emb_ctx_free(ctx);
}

Test(scatter, nothing_to_add)
{
    float table[2] = {1, 2};
    emb_ctx *ctx = context(1);
    emb_block to = {table, 1, 2, EMB_F32, 0}, from = {NULL, 0, 2, EMB_F32, 0};
    emb_err err;
    cr_expect_eq(emb_scatter_add(ctx, &to, NULL, &from, NULL, &err), EMB_OK);
    cr_expect_eq(table[1], 2);
    emb_ctx_free(ctx);
}
