/* pooling.c - one vector out of the rows of a sequence (Reimers and Gurevych 2019, section 3; with
 * weights Arora, Liang and Ma 2017): emb_pool_*.
 *
 * All sums are of f64, in the order of the rows.
 */
#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"

#include <math.h>
#include <stdlib.h>

static void take_largest(const double *x, uint32_t dims, bool first, double *sum)
{
    for (uint32_t c = 0; c < dims; c++)
        if (first || x[c] > sum[c] || isnan(x[c]))
            sum[c] = x[c];
}

static void take_row(emb_pooling how, const double *x, uint32_t dims, double weight, bool first,
                     double *sum)
{
    switch (how) {
    case EMB_POOL_MEAN:
    case EMB_POOL_SUM:
        for (uint32_t c = 0; c < dims; c++)
            sum[c] = (first ? 0 : sum[c]) + weight * x[c];
        break;
    case EMB_POOL_MAX: take_largest(x, dims, first, sum); break;
    case EMB_POOL_FIRST:
        if (first)
            memcpy(sum, x, dims * sizeof *sum);
        break;
    case EMB_POOL_LAST: memcpy(sum, x, dims * sizeof *sum); break;
    }
}

/* Plain sums of f32 are what the kernels have. */
static void add_f32(const struct embi_kern *kern, const emb_block *rows, size_t stride, bool first,
                    double *sum)
{
    if (first)
        memset(sum, 0, rows->dims * sizeof *sum);
    for (uint64_t i = 0; i < rows->rows; i++) {
        const void *row = (const char *)rows->data + i * stride;
        kern->add_f32(sum, &row, 1, rows->dims);
    }
}

emb_status emb_pool_add(emb_ctx *ctx, emb_pooling how, const emb_block *rows, const double *weights,
                        double *sum, uint64_t *count, emb_err *err)
{
    bool plain = (how == EMB_POOL_MEAN || how == EMB_POOL_SUM) && !weights;
    size_t stride = rows->stride_bytes;
    if (!emb_dtype_is_float(rows->dtype))
        return embi_fail(err, EMB_BAD_ARG, -1, "rows of type %s: expected a type of floats",
                         emb_dtype_name(rows->dtype));
    if (!stride)
        stride = (size_t)emb_dtype_row_bytes(rows->dtype, rows->dims);
    if (plain && rows->dtype == EMB_F32) {
        add_f32(ctx->env.kern, rows, stride, *count == 0 && rows->rows > 0, sum);
        *count += rows->rows;
        return EMB_OK;
    }
    double *x = malloc(rows->dims * sizeof *x + 1);
    if (!x)
        return embi_fail_memory(err, rows->dims * sizeof *x, "a row");
    for (uint64_t i = 0; i < rows->rows; i++, ++*count) {
        embi_to_f64(x, (const unsigned char *)rows->data + i * stride, rows->dtype, rows->dims);
        take_row(how, x, rows->dims, weights ? weights[i] : 1, *count == 0, sum);
    }
    free(x);
    return EMB_OK;
}

void emb_pool_end(emb_pooling how, double *sum, uint32_t dims, uint64_t count)
{
    if (count == 0)
        memset(sum, 0, dims * sizeof *sum);
    for (uint32_t c = 0; how == EMB_POOL_MEAN && count > 1 && c < dims; c++)
        sum[c] /= (double)count;
}
