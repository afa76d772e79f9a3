/* pool_rows.c - rows of a table taken into the vectors of several sequences: emb_pool_rows, by a
 * device where there is one that can.
 */
#include "table/device.h"
#include "util/err.h"
#include "util/loop.h"

#include <stdlib.h>

#define BROUGHT_BYTES (UINT64_C(64) << 20) /* of rows that several GPUs bring at a time */

/* How rows reach the vectors, and what of it is at work. */
struct pooling {
    emb_ctx *ctx;
    const emb_table *table;
    const uint64_t *rows, *ends;
    size_t n;
    const double *weights;
    double *sums;
    uint64_t *counts;
    emb_pooling how;
};

static uint64_t begin_of(const struct pooling *p, size_t sequence)
{
    return sequence == 0 ? 0 : p->ends[sequence - 1];
}

/* Rows widened to f64, which emb_pool_add takes in the same way as they are stored. */
static emb_status add_sequence(const struct pooling *p, size_t sequence, double *scratch,
                               emb_err *err)
{
    uint32_t d = p->table->layout.dims;
    emb_status status = EMB_OK;
    uint64_t step, end = p->ends[sequence];
    for (uint64_t at = begin_of(p, sequence); !status && at < end; at += step) {
        step = embi_min(end - at, EMBI_BLOCK_ROWS);
        emb_block block = {scratch, step, d, EMB_F64, 0};
        status = emb_table_gather(p->table, p->rows + at, (size_t)step, &block, err);
        if (!status)
            status = emb_pool_add(p->ctx, p->how, &block, p->weights ? p->weights + at : NULL,
                                  p->sums + sequence * d, &p->counts[sequence], err);
    }
    return status;
}

static emb_status pool_by_cpu(const struct pooling *p, emb_err *err)
{
    uint64_t bytes = (uint64_t)p->table->layout.dims * EMBI_BLOCK_ROWS * sizeof(double);
    double *scratch = malloc(bytes + 1);
    emb_status status = EMB_OK;
    if (!scratch)
        return embi_fail_memory(err, bytes, "rows");
    for (size_t i = 0; !status && i < p->n; i++)
        status = add_sequence(p, i, scratch, err);
    free(scratch);
    return status;
}

/* Is the form of the table that a device computes with as exact as f64? */
static bool fits_device(const struct pooling *p)
{
    emb_dtype dtype = p->table->layout.dtype;
    bool sums = p->how == EMB_POOL_MEAN || p->how == EMB_POOL_SUM;
    return (sums || p->how == EMB_POOL_MAX) &&
           (dtype == EMB_F64 || dtype == EMB_F32 || dtype == EMB_F16 || dtype == EMB_BF16 ||
            emb_dtype_block(dtype) > 1);
}

/* ------------------------------------------------------------------------------------------------
 * By several GPUs
 */

/* Rows first .. first+n-1 of those of all sequences; the first is of sequence `from`. */
struct brought {
    const struct pooling *p;
    double *rows;
    uint64_t first, n;
    size_t from;
};

static emb_status add_brought(void *arg, size_t item, int worker, emb_err *err)
{
    const struct brought *b = arg;
    const struct pooling *p = b->p;
    const size_t sequence = b->from + item, d = p->table->layout.dims;
    const uint64_t begin = embi_max(begin_of(p, sequence), b->first),
                   end = embi_min(p->ends[sequence], b->first + b->n);
    (void)worker;
    if (begin >= end)
        return EMB_OK;
    const emb_block rows = {b->rows + (begin - b->first) * d, end - begin, (uint32_t)d, EMB_F64, 0};
    return emb_pool_add(p->ctx, p->how, &rows, p->weights ? p->weights + begin : NULL,
                        p->sums + sequence * d, &p->counts[sequence], err);
}

/* Sequences that begin before row `end`, from b->from on. */
static size_t sequences_until(const struct brought *b, uint64_t end)
{
    size_t to = b->from;
    while (to < b->p->n && begin_of(b->p, to) < end)
        to++;
    return to - b->from;
}

/* The rows of a sequence lie on several of them: all bring theirs, and the CPU adds them in the
 * order that one GPU would keep. */
static emb_status pool_brought(const struct pooling *p, emb_device *device, emb_err *err)
{
    const uint64_t all = p->n ? p->ends[p->n - 1] : 0, d = p->table->layout.dims;
    const uint64_t most = embi_max(BROUGHT_BYTES / (d * sizeof(double) + 1), 1);
    const uint64_t bytes = embi_min(all, most) * d * sizeof(double);
    struct brought b = {.p = p, .rows = malloc(bytes + 1)};
    emb_status status = b.rows ? EMB_OK : embi_fail_memory(err, bytes, "rows");
    for (; !status && b.first < all; b.first += b.n) {
        b.n = embi_min(all - b.first, most);
        emb_block block = {b.rows, b.n, (uint32_t)d, EMB_F64, 0};
        while (p->ends[b.from] <= b.first)
            b.from++;
        status = emb_device_gather(device, p->table, p->rows + b.first, (size_t)b.n, &block, err);
        if (!status)
            status = embi_loop(p->ctx->env.pool, sequences_until(&b, b.first + b.n), add_brought,
                               &b, err);
    }
    free(b.rows);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * By one
 */

static emb_status pool_by_device(const struct pooling *p, emb_device *device, emb_err *err)
{
    enum embi_form form = p->table->layout.dtype == EMB_F64 ? EMBI_AS_STORED : EMBI_AS_NUMBERS;
    const struct embi_cuda_pool what = {.ids = p->rows,
                                        .ends = p->ends,
                                        .weights = p->weights,
                                        .counts = p->counts,
                                        .sums = p->sums,
                                        .bags = p->n,
                                        .dims = p->table->layout.dims,
                                        .how =
                                            p->how == EMB_POOL_MAX ? EMBI_CUDA_MAX : EMBI_CUDA_SUM};
    struct embi_shared *there = NULL;
    struct embi_cuda_fault fault;
    emb_status status = embi_table_ready(p->table, err);
    if (!status)
        status = embi_table_on_device(device, p->table, form, &there, err);
    if (status)
        return status;
    int result = embi_shared_pool(there, &what, &fault);
    status = embi_table_device_status(p->table, form, result, &fault, err);
    for (size_t i = 0; !status && i < p->n; i++)
        p->counts[i] += p->ends[i] - begin_of(p, i);
    return status;
}

/* The ends rise, and rows are there. */
static emb_status check(const struct pooling *p, emb_err *err)
{
    emb_block none = {NULL, UINT64_MAX, p->table->layout.dims, EMB_F64, 0};
    for (size_t i = 0; i < p->n; i++)
        if (p->ends[i] < begin_of(p, i))
            return embi_fail(err, EMB_BAD_ARG, (int64_t)i, "ends[%zu] goes backwards", i);
    return embi_gather_check(p->table, p->rows, p->n ? (size_t)p->ends[p->n - 1] : 0, &none, err);
}

emb_status emb_pool_rows(emb_ctx *ctx, emb_device *device, emb_pooling how, const emb_table *table,
                         const uint64_t *rows, const uint64_t *ends, size_t n,
                         const double *weights, double *sums, uint64_t *counts, emb_err *err)
{
    const struct pooling p = {ctx, table, rows, ends, n, weights, sums, counts, how};
    emb_status status = embi_table_lay_out(table, err);
    if (!status)
        status = check(&p, err);
    if (status)
        return status;
    if (!device || device->named.optional || !fits_device(&p))
        return pool_by_cpu(&p, err);
    status = embi_device_ready(device, err);
    if (status)
        return status;
    return device->n > 1 ? pool_brought(&p, device, err) : pool_by_device(&p, device, err);
}
