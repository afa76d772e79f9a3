/* rope_rows.c - rotary positions as numbers: tables of cosines and sines, and rows that are turned.
 */
#include "ops/angles.h"
#include "ops/rope.h"
#include "util/err.h"
#include "util/pool.h"

#include <math.h>

static void cosines(const void *arg, uint64_t position, uint32_t column, size_t n, double *out)
{
    const emb_rope_info *info = arg;
    for (size_t k = 0; k < n; k++)
        out[k] = cos((double)position * info->frequencies[column + k]) * info->scale;
}

static void sines(const void *arg, uint64_t position, uint32_t column, size_t n, double *out)
{
    const emb_rope_info *info = arg;
    for (size_t k = 0; k < n; k++)
        out[k] = sin((double)position * info->frequencies[column + k]) * info->scale;
}

emb_status emb_rope_rows(const emb_rope *rope, bool sine, uint64_t first, emb_block *block,
                         emb_err *err)
{
    if (block->dims != rope->info.rotary_dims / 2)
        return embi_fail(err, EMB_BAD_ARG, -1, "rows of %u: expected one number a pair, %u",
                         block->dims, rope->info.rotary_dims / 2);
    return embi_angles_fill(rope->env, first, block, sine ? sines : cosines, &rope->info, err);
}

/* ------------------------------------------------------------------------------------------------
 * Turning
 */

struct job {
    const emb_rope_info *info;
    uint64_t start, length, inner, first;
    char *rows;
    size_t stride;
    struct embi_row_items items;
};

static void turn(double *a, double *b, double c, double s)
{
    double x = *a, y = *b;
    *a = x * c - y * s;
    *b = y * c + x * s;
}

static void turn_row(const emb_rope_info *info, uint64_t position, double *row)
{
    double c[EMBI_ANGLES_TILE], s[EMBI_ANGLES_TILE];
    uint32_t pairs = info->rotary_dims / 2;
    for (uint32_t at = 0; at < pairs; at += EMBI_ANGLES_TILE) {
        uint32_t n = (uint32_t)embi_min(pairs - at, EMBI_ANGLES_TILE);
        cosines(info, position, at, n, c);
        sines(info, position, at, n, s);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t i = at + k;
            if (info->style == EMB_ROPE_GPTJ)
                turn(&row[2 * i], &row[2 * i + 1], c[k], s[k]);
            else
                turn(&row[i], &row[i + pairs], c[k], s[k]);
        }
    }
}

static void turn_item(void *arg, size_t item, int worker)
{
    const struct job *job = arg;
    uint64_t from = item * job->items.item_rows;
    uint64_t to = embi_min(from + job->items.item_rows, job->items.rows);
    (void)worker;
    for (uint64_t row = from; row < to; row++) {
        uint64_t position = job->start + (job->first + row) / job->inner % job->length;
        void *numbers = job->rows + row * job->stride;
        turn_row(job->info, position, numbers);
    }
}

emb_status emb_rope_turn(const emb_rope *rope, uint64_t start, uint64_t length, uint64_t inner,
                         uint64_t first, emb_block *block, emb_err *err)
{
    if (block->dtype != EMB_F64 || block->dims != rope->info.dims)
        return embi_fail(err, EMB_BAD_ARG, -1, "rows of %u %s: expected %u of f64", block->dims,
                         emb_dtype_name(block->dtype), rope->info.dims);
    if (length == 0 || inner == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "the array has no positions");
    emb_status status = embi_positions_check(start, length, err);
    if (status)
        return status;
    struct job job = {.info = &rope->info,
                      .start = start,
                      .length = length,
                      .inner = inner,
                      .first = first,
                      .rows = block->data,
                      .stride = block->stride_bytes ? block->stride_bytes
                                                    : (size_t)block->dims * sizeof(double),
                      .items = embi_row_items_of(block->rows, block->dims)};
    embi_pool_run(rope->env->pool, job.items.n, turn_item, &job);
    return EMB_OK;
}
