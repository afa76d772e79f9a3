/* scan.c - all rows, in blocks.
 *
 * Rows that can be used where they lie are handed out in place; the others are fetched into one
 * block of scratch, by all threads. A text table that is scanned a second time is parsed into
 * memory once.
 */
#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"
#include "util/loop.h"

#include <stdlib.h>

/* Scratch for one call of the block function: a few megabytes, a whole number of EMBI_BLOCK_ROWS.
 */
#define SCAN_BYTES (4u << 20)

struct fetch {
    const emb_table *table;
    uint64_t first, n;
    emb_dtype as;
    char *dst; /* [n, d] */
};

static emb_status fetch_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct fetch *f = arg;
    uint64_t begin = item * EMBI_BLOCK_ROWS, n = embi_min(EMBI_BLOCK_ROWS, f->n - begin);
    size_t row_bytes = (size_t)emb_dtype_row_bytes(f->as, f->table->layout.dims);
    (void)worker;
    return embi_fetch(f->table, f->first + begin, n, f->as, f->dst + begin * row_bytes, err);
}

static emb_status fetch_many(const emb_table *t, uint64_t first, uint64_t n, emb_dtype as,
                             void *dst, emb_err *err)
{
    struct fetch f = {t, first, n, as, dst};
    struct embi_pool *pool = n > 4 * EMBI_BLOCK_ROWS ? t->env->pool : NULL;
    return embi_loop(pool, (n + EMBI_BLOCK_ROWS - 1) / EMBI_BLOCK_ROWS, fetch_item, &f, err);
}

emb_status embi_table_will_scan(const emb_table *table, emb_err *err)
{
    emb_table *t = (emb_table *)table;
    emb_status status = embi_table_ready(t, err);
    if (status || !t->reader->format->rows || t->decoded)
        return status;
    if (!t->scanned) {
        t->scanned = true;
        return EMB_OK;
    }
    uint64_t bytes;
    if (!embi_mul(t->layout.rows * sizeof(float), t->layout.dims, &bytes))
        return EMB_OK;
    float *values = malloc(bytes + 1);
    if (!values) /* then it is parsed again at every scan: slower, not wrong */
        return EMB_OK;
    status = fetch_many(t, 0, t->layout.rows, EMB_F32, values, err);
    if (status)
        free(values);
    else
        t->decoded = values;
    return status;
}

/* Can blocks of type `as` be handed out where they lie? */
static bool in_place(const emb_table *t, emb_dtype as)
{
    return as == t->layout.dtype && embi_table_even(t);
}

static uint64_t rows_per_block(uint64_t row_bytes)
{
    uint64_t blocks = SCAN_BYTES / (row_bytes * EMBI_BLOCK_ROWS);
    return EMBI_BLOCK_ROWS * embi_max(blocks, 1);
}

/* Where rows first .. first+block->rows-1 are: in the file, or fetched into scratch. */
static emb_status fill_block(const emb_table *t, uint64_t first, void *scratch, emb_block *block,
                             emb_err *err)
{
    if (!scratch) {
        block->data = (void *)embi_table_row(t, first);
        block->stride_bytes = t->layout.row_stride;
        return EMB_OK;
    }
    block->data = scratch;
    return fetch_many(t, first, block->rows, block->dtype, scratch, err);
}

emb_status emb_table_scan(const emb_table *t, uint64_t first, uint64_t n, emb_dtype as,
                          emb_block_fn *fn, void *arg, emb_err *err)
{
    emb_status status = embi_table_will_scan(t, err);
    if (status)
        return status;
    if (!embi_inside(first, n, t->layout.rows))
        return embi_fail(err, EMB_RANGE, -1, "scan: rows %llu + %llu, the table has %llu",
                         (unsigned long long)first, (unsigned long long)n,
                         (unsigned long long)t->layout.rows);
    if (!as)
        as = emb_dtype_block(t->layout.dtype) > 1 ? EMB_F32 : t->layout.dtype;
    size_t row_bytes = (size_t)emb_dtype_row_bytes(as, t->layout.dims);
    if (row_bytes == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "scan: %u dimensions as %s", t->layout.dims,
                         emb_dtype_name(as));
    uint64_t step = rows_per_block(row_bytes);
    size_t bytes = embi_min(step, n) * row_bytes;
    void *scratch = in_place(t, as) ? NULL : malloc(bytes + 1);
    if (!scratch && !in_place(t, as))
        return embi_fail_memory(err, bytes, "a block of rows");
    for (uint64_t end = first + n; first < end && !status; first += step) {
        emb_block block = {
            .rows = embi_min(step, end - first), .dims = t->layout.dims, .dtype = as};
        status = fill_block(t, first, scratch, &block, err);
        if (!status)
            status = fn(arg, &block, first, err);
    }
    free(scratch);
    return status;
}
