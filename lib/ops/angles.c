/* angles.c - see angles.h. Sines of large tables take most of the time, so rows go to threads in
 * items of about the same work; each is written by one thread alone.
 */
#include "ops/angles.h"

#include "num/dtype.h"
#include "util/err.h"
#include "util/pool.h"

#include <inttypes.h>

enum { ITEM_ELEMENTS = 1 << 14 };

struct job {
    const struct embi_env *env;
    uint64_t first;
    emb_block block;
    size_t stride;
    struct embi_row_items items;
    embi_angles_fn *fn;
    const void *arg;
};

struct embi_row_items embi_row_items_of(uint64_t rows, uint32_t dims)
{
    struct embi_row_items items = {rows, embi_max(ITEM_ELEMENTS / embi_max(dims, 1), 1), 0};
    items.n = (size_t)(rows / items.item_rows + (rows % items.item_rows > 0));
    return items;
}

emb_status embi_positions_check(uint64_t first, uint64_t n, emb_err *err)
{
    if (first < EMB_POSITION_MAX && n <= EMB_POSITION_MAX - first)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_ARG, -1,
                     "positions from %" PRIu64 " on, %" PRIu64 " of them: expected them below 2^53",
                     first, n);
}

/* One row, tile by tile. Rounding a double to a float type cannot fail. */
static void fill_row(const struct job *job, uint64_t row)
{
    double tile[EMBI_ANGLES_TILE];
    const emb_block *b = &job->block;
    char *out = (char *)b->data + row * job->stride;
    size_t element = emb_dtype_bytes(b->dtype);
    emb_err err;
    for (uint32_t at = 0; at < b->dims;) {
        size_t n = embi_min(b->dims - at, EMBI_ANGLES_TILE);
        job->fn(job->arg, job->first + row, at, n, tile);
        embi_convert(job->env->kern, out + at * element, b->dtype, tile, EMB_F64, n, NULL, &err);
        at += (uint32_t)n;
    }
}

static void fill_item(void *arg, size_t item, int worker)
{
    const struct job *job = arg;
    uint64_t from = item * job->items.item_rows;
    uint64_t to = embi_min(from + job->items.item_rows, job->items.rows);
    (void)worker;
    for (uint64_t row = from; row < to; row++)
        fill_row(job, row);
}

emb_status embi_angles_fill(const struct embi_env *env, uint64_t first, emb_block *block,
                            embi_angles_fn *fn, const void *arg, emb_err *err)
{
    if (!emb_dtype_is_float(block->dtype))
        return embi_fail(err, EMB_BAD_ARG, -1, "%s holds no sines: expected a type of floats",
                         emb_dtype_name(block->dtype));
    emb_status status = embi_positions_check(first, block->rows, err);
    if (status)
        return status;
    size_t row_bytes = (size_t)block->dims * emb_dtype_bytes(block->dtype);
    struct job job = {env,
                      first,
                      *block,
                      block->stride_bytes ? block->stride_bytes : row_bytes,
                      embi_row_items_of(block->rows, block->dims),
                      fn,
                      arg};
    embi_pool_run(env->pool, job.items.n, fill_item, &job);
    return EMB_OK;
}
