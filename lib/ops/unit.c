/* unit.c - vectors scaled to L2 norm 1: emb_normalize_rows. Squares are summed and divided by in
 * f64, in the lanes of num/kern.h; each number is rounded once.
 */
#include "ops/unit.h"

#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"
#include "util/loop.h"

#include <math.h>
#include <stdlib.h>

enum { ITEM_ROWS = 256, PARALLEL_BYTES = 512 << 10 };

/* The norm where the sum of squares is out of range; NaN where x holds one, or an infinity. */
static double extreme_norm(const double *x, uint32_t dims, double norm2)
{
    double largest = 0, sum = 0;
    for (uint32_t c = 0; c < dims; c++)
        largest = fmax(largest, fabs(x[c]));
    if (isnan(norm2) || isinf(largest))
        return NAN;
    if (largest == 0)
        return 0;
    for (uint32_t c = 0; c < dims; c++)
        sum += (x[c] / largest) * (x[c] / largest);
    return largest * sqrt(sum);
}

double embi_normalize(double *x, uint32_t dims)
{
    double norm2 = embi_dot_f64(x, x, dims);
    bool plain = norm2 > 0x1p-900 && norm2 < 0x1p900;
    double norm = plain ? sqrt(norm2) : extreme_norm(x, dims, norm2);
    for (uint32_t c = 0; norm != 0 && isfinite(norm) && c < dims; c++)
        x[c] /= norm;
    return norm;
}

struct job {
    emb_ctx *ctx;
    const emb_block *src, *dst;
    size_t src_stride, dst_stride;
    double *wide;   /* [workers, d]; NULL: f32 goes to f32    */
    uint64_t *zero; /* [items], and [items] not finite, below */
    uint64_t *nonfinite;
};

/* Squares of f32 neither overflow nor vanish in f64. */
static double unit_f32(const struct embi_kern *kern, const void *x, void *out, uint32_t dims)
{
    struct embi_row_sums sums;
    kern->row_sums(x, dims, &sums);
    double norm = sqrt(sums.norm2);
    kern->over_f32(out, x, norm != 0 && isfinite(norm) ? norm : 1, dims);
    return norm;
}

static emb_status unit_row(const struct job *j, uint64_t r, double *wide, double *norm,
                           emb_err *err)
{
    const struct embi_kern *kern = j->ctx->env.kern;
    const unsigned char *x = (const unsigned char *)j->src->data + r * j->src_stride;
    char *out = (char *)j->dst->data + r * j->dst_stride;
    if (!j->wide) {
        *norm = unit_f32(kern, x, out, j->src->dims);
        return EMB_OK;
    }
    embi_to_f64(wide, x, j->src->dtype, j->src->dims);
    *norm = embi_normalize(wide, j->src->dims);
    return embi_convert(kern, out, j->dst->dtype, wide, EMB_F64, j->src->dims, NULL, err);
}

static emb_status unit_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct job *j = arg;
    uint64_t end = embi_min((item + 1) * ITEM_ROWS, j->src->rows);
    double *wide = j->wide ? j->wide + (size_t)worker * j->src->dims : NULL;
    emb_status status = EMB_OK;
    for (uint64_t r = item * ITEM_ROWS; !status && r < end; r++) {
        double norm;
        status = unit_row(j, r, wide, &norm, err);
        j->zero[item] += !status && norm == 0;
        j->nonfinite[item] += !status && !isfinite(norm);
    }
    return status;
}

static bool is_aligned(const emb_block *block, size_t stride)
{
    return (uintptr_t)block->data % sizeof(float) == 0 && stride % sizeof(float) == 0;
}

static emb_status run(struct job *j, uint64_t *zero_rows, uint64_t *nonfinite_rows, emb_err *err)
{
    struct embi_pool *pool = j->ctx->env.pool;
    size_t items = (size_t)((j->src->rows + ITEM_ROWS - 1) / ITEM_ROWS);
    size_t row_bytes = j->src->dims * sizeof *j->wide;
    bool narrow = j->src->dtype == EMB_F32 && j->dst->dtype == EMB_F32 &&
                  is_aligned(j->src, j->src_stride) && is_aligned(j->dst, j->dst_stride);
    if (j->src->rows * row_bytes < PARALLEL_BYTES)
        pool = NULL;
    size_t workers = pool ? (size_t)embi_pool_threads(pool) : 1;
    j->zero = calloc(2 * items + 1, sizeof *j->zero);
    j->wide = narrow ? NULL : malloc(workers * row_bytes + 1);
    if (!j->zero || (!narrow && !j->wide))
        return embi_fail_memory(err, workers * row_bytes, "rows of length 1");
    j->nonfinite = j->zero + items;
    emb_status status = embi_loop(pool, items, unit_item, j, err);
    for (size_t i = 0; !status && i < items; i++) {
        *zero_rows += j->zero[i];
        *nonfinite_rows += j->nonfinite[i];
    }
    return status;
}

emb_status emb_normalize_rows(emb_ctx *ctx, const emb_block *src, emb_block *dst,
                              uint64_t *zero_rows, uint64_t *nonfinite_rows, emb_err *err)
{
    struct job j = {.ctx = ctx,
                    .src = src,
                    .dst = dst,
                    .src_stride = src->stride_bytes,
                    .dst_stride = dst->stride_bytes};
    if (!emb_dtype_is_float(src->dtype) || !emb_dtype_bytes(dst->dtype) || src->dims != dst->dims ||
        dst->rows < src->rows)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "rows of length 1: expected floats, and room for as many");
    if (!j.src_stride)
        j.src_stride = (size_t)emb_dtype_row_bytes(src->dtype, src->dims);
    if (!j.dst_stride)
        j.dst_stride = (size_t)emb_dtype_row_bytes(dst->dtype, dst->dims);
    emb_status status = run(&j, zero_rows, nonfinite_rows, err);
    free(j.zero);
    free(j.wide);
    return status;
}
