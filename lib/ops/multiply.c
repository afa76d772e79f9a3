/* multiply.c - emb_table_multiply: rows of a table as a product of matrices, one-hot x table.
 *
 * The table goes by in blocks of EMBI_BLOCK_ROWS rows; for each, items of the pool make the part of
 * the one-hot matrix that its columns and theirs of its rows are, and add the product to the sum
 * [n, d]. Zeros are multiplied like anything else: that is the point. All sums are exact,
 * since at most one term of each is not zero.
 */
#include "dev/load.h"
#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"
#include "util/loop.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#define PART_ROWS 256 /* of the one-hot matrix, in one product */

struct product {
    const emb_table *table;
    const struct embi_blas *blas;
    const uint64_t *rows; /* [n] */
    size_t n, item_rows;
    bool wide;           /* f64, else f32                        */
    void *sum;           /* [n, d]                               */
    void *block;         /* [EMBI_BLOCK_ROWS, d]: rows of the table */
    void *one_hots;      /* [workers, PART_ROWS, EMBI_BLOCK_ROWS]: zero between products */
    uint64_t first, end; /* the rows in the block                */
};

static size_t element_bytes(const struct product *p)
{
    return p->wide ? sizeof(double) : sizeof(float);
}

/* Puts x where rows [n] have their 1 in this block. */
static void mark(const struct product *p, void *one_hot, const uint64_t *rows, size_t n, float x)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i] < p->first || rows[i] >= p->end)
            continue;
        size_t at = i * EMBI_BLOCK_ROWS + (rows[i] - p->first);
        if (p->wide)
            ((double *)one_hot)[at] = x;
        else
            ((float *)one_hot)[at] = x;
    }
}

/* Rows begin .. begin+n-1 of the sum, n <= PART_ROWS. */
static void add_part(const struct product *p, void *one_hot, size_t begin, size_t n)
{
    size_t d = p->table->layout.dims;
    int m = (int)n, columns = (int)d, k = (int)(p->end - p->first);
    mark(p, one_hot, p->rows + begin, n, 1);
    if (p->wide)
        p->blas->dgemm_nn(m, columns, k, one_hot, EMBI_BLOCK_ROWS, p->block, columns,
                          (double *)p->sum + begin * d, columns);
    else
        p->blas->sgemm_nn(m, columns, k, one_hot, EMBI_BLOCK_ROWS, p->block, columns,
                          (float *)p->sum + begin * d, columns);
    mark(p, one_hot, p->rows + begin, n, 0);
}

static emb_status add_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct product *p = arg;
    size_t begin = item * p->item_rows, end = embi_min(begin + p->item_rows, p->n);
    size_t one_hot_bytes = PART_ROWS * EMBI_BLOCK_ROWS * element_bytes(p);
    (void)err;
    for (; begin < end; begin += PART_ROWS)
        add_part(p, (char *)p->one_hots + (size_t)worker * one_hot_bytes, begin,
                 embi_min(PART_ROWS, end - begin));
    return EMB_OK;
}

static emb_status check_finite(const struct product *p, emb_err *err)
{
    size_t d = p->table->layout.dims, n = (p->end - p->first) * d;
    for (size_t i = 0; i < n; i++) {
        double x = p->wide ? ((double *)p->block)[i] : (double)((float *)p->block)[i];
        if (!isfinite(x))
            return embi_fail(err, EMB_BAD_DATA, (int64_t)(p->first + i / d),
                             "row %llu holds NaN or an infinity: 0 times that is NaN, and every "
                             "row of one-hot x table would have one",
                             (unsigned long long)(p->first + i / d));
    }
    return EMB_OK;
}

static emb_status add_blocks(struct product *p, emb_err *err)
{
    const emb_table *t = p->table;
    emb_status status = EMB_OK;
    size_t items = (p->n + p->item_rows - 1) / p->item_rows;
    for (p->first = 0; !status && p->first < t->layout.rows; p->first = p->end) {
        p->end = embi_min(p->first + EMBI_BLOCK_ROWS, t->layout.rows);
        status =
            embi_fetch(t, p->first, p->end - p->first, p->wide ? EMB_F64 : EMB_F32, p->block, err);
        if (!status)
            status = check_finite(p, err);
        if (!status)
            status = embi_loop(t->env->pool, items, add_item, p, err);
    }
    return status;
}

static emb_status hand_out(const struct product *p, emb_block *dst, emb_err *err)
{
    size_t d = dst->dims, stride = dst->stride_bytes;
    emb_status status = EMB_OK;
    if (!stride)
        stride = (size_t)emb_dtype_row_bytes(dst->dtype, dst->dims);
    for (size_t i = 0; !status && i < p->n; i++)
        status = embi_convert(p->table->env->kern, (char *)dst->data + i * stride, dst->dtype,
                              (char *)p->sum + i * d * element_bytes(p),
                              p->wide ? EMB_F64 : EMB_F32, d, NULL, err);
    return status;
}

/* Sizes that BLAS can count; f64 where f32 would not hold every number. */
static emb_status choose_types(struct product *p, emb_err *err)
{
    emb_dtype dtype = p->table->layout.dtype;
    if (dtype == EMB_I64 || dtype == EMB_U64)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "numbers of type %s, which no float of BLAS holds exactly",
                         emb_dtype_name(dtype));
    if (p->table->layout.dims > INT_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%u dimensions: BLAS counts to %d",
                         p->table->layout.dims, INT_MAX);
    p->wide = dtype == EMB_F64 || dtype == EMB_I32 || dtype == EMB_U32;
    p->item_rows = embi_max(PART_ROWS, p->n / EMBI_BLAS_CALLS + 1);
    return EMB_OK;
}

static emb_status alloc(struct product *p, emb_err *err)
{
    uint64_t row, sum, d = p->table->layout.dims;
    uint64_t workers = (uint64_t)embi_pool_threads(p->table->env->pool);
    uint64_t one_hots = workers * PART_ROWS * EMBI_BLOCK_ROWS * element_bytes(p);
    if (!embi_mul(d, element_bytes(p), &row) || !embi_mul(p->n, row, &sum))
        return embi_fail_memory(err, UINT64_MAX, "a product of matrices");
    p->sum = calloc(1, sum + 1);
    p->block = malloc(EMBI_BLOCK_ROWS * row + 1);
    p->one_hots = calloc(1, one_hots);
    if (!p->sum || !p->block || !p->one_hots)
        return embi_fail_memory(err, sum + EMBI_BLOCK_ROWS * row + one_hots,
                                "a product of matrices");
    return EMB_OK;
}

emb_status emb_table_multiply(const emb_table *table, const uint64_t *rows, size_t n,
                              emb_block *dst, emb_err *err)
{
    struct product p = {.table = table, .rows = rows, .n = n};
    emb_status status = embi_gather_check(table, rows, n, dst, err);
    if (!status)
        status = embi_table_will_scan(table, err);
    if (!status)
        status = embi_blas_get(table->env, &p.blas, err);
    if (!status)
        status = choose_types(&p, err);
    if (!status)
        status = alloc(&p, err);
    if (!status && n > 0)
        status = add_blocks(&p, err);
    if (!status)
        status = hand_out(&p, dst, err);
    free(p.sum);
    free(p.block);
    free(p.one_hots);
    return status;
}
