/* covariance.c - new rows that are spread as the rows of the table are (EMB_FILL_COVARIANCE).
 *
 * A sum of centred rows with independent standard normal weights has the covariance of the rows
 * times their number: no matrix [d, d] is made, and fewer rows than dimensions, equal rows or one
 * row need no care. Weight g of new row r and table row i is the f64 normal element (r, i) of
 * draw.h, and each element adds its rows in order: threads do not show. One pass over the table
 * makes as many new rows as fit the caller's memory.
 */
#include "ops/draw.h"
#include "ops/mean.h"
#include "ops/resize.h"
#include "ops/search.h"
#include "util/err.h"
#include "util/loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

_Static_assert(EMBI_BLOCK_ROWS % 4 == 0, "blocks of a scan begin where elements can");

struct spread {
    const struct embi_fill *f;
    struct embi_draw draw;
    uint64_t first, n; /* new rows */
    const emb_block *block;
    uint64_t block_first;
    uint8_t *counts; /* [cap]: which rows of the block are in the mean */
    uint64_t cap;
};

/* Adds g times the centred row. */
static void add_row(double *restrict sum, const double *restrict row, const double *restrict mean,
                    double g, uint32_t d)
{
    for (uint32_t c = 0; c < d; c++)
        sum[c] += g * (row[c] - mean[c]);
}

/* One new row, all rows of the block. */
static emb_status add_block(void *arg, size_t item, int worker, emb_err *err)
{
    const struct spread *s = arg;
    const uint32_t d = s->f->d;
    const double *rows = s->block->data; /* [block rows, d] */
    double g[EMBI_DRAW_TILE];
    (void)worker;
    (void)err;
    for (uint64_t b = 0; b < s->block->rows; b += EMBI_DRAW_TILE) {
        size_t n = (size_t)embi_min(EMBI_DRAW_TILE, s->block->rows - b);
        embi_draw_f64(&s->draw, s->first + item, (uint32_t)(s->block_first + b), n, g);
        for (size_t i = 0; i < n; i++)
            if (s->counts[b + i])
                add_row(s->f->sums + item * d, rows + (b + i) * d, s->f->mean, g[i], d);
    }
    return EMB_OK;
}

static emb_status mark_rows(struct spread *s, emb_err *err)
{
    const uint32_t d = s->f->d;
    if (s->cap < s->block->rows) {
        uint8_t *grown = realloc(s->counts, s->block->rows);
        if (!grown)
            return embi_fail_memory(err, s->block->rows, "a block of rows");
        s->counts = grown;
        s->cap = s->block->rows;
    }
    for (uint64_t i = 0; i < s->block->rows; i++) {
        const double *row = (const double *)s->block->data + i * d;
        s->counts[i] = embi_row_owned(s->f->owners, s->block_first + i) &&
                       embi_all_finite(row, embi_dot_f64(row, row, d), d);
    }
    return EMB_OK;
}

static emb_status on_block(void *arg, const emb_block *block, uint64_t first, emb_err *err)
{
    struct spread *s = arg;
    s->block = block;
    s->block_first = first;
    emb_status status = mark_rows(s, err);
    if (!status)
        status = embi_loop(s->f->table->env->pool, s->n, add_block, s, err);
    embi_table_forget(s->f->table, first, block->rows);
    return status;
}

/* The blocks of a scan in place may have any stride and address; those of scratch have neither. */
static emb_status on_any_block(void *arg, const emb_block *block, uint64_t first, emb_err *err)
{
    size_t row_bytes = block->dims * sizeof(double);
    if (block->stride_bytes == 0)
        return on_block(arg, block, first, err);
    emb_status status = EMB_OK;
    const size_t bytes = embi_min(EMBI_BLOCK_ROWS, block->rows) * row_bytes;
    double *rows = malloc(bytes);
    if (!rows)
        return embi_fail_memory(err, bytes, "a block of rows");
    for (uint64_t b = 0; !status && b < block->rows; b += EMBI_BLOCK_ROWS) {
        emb_block part = {.data = rows, .dims = block->dims, .dtype = EMB_F64};
        part.rows = embi_min(EMBI_BLOCK_ROWS, block->rows - b);
        for (uint64_t r = 0; r < part.rows; r++)
            memcpy(rows + r * block->dims,
                   (const char *)block->data + (b + r) * block->stride_bytes, row_bytes);
        status = on_block(arg, &part, first + b, err);
    }
    free(rows);
    return status;
}

emb_status embi_fill_covariance(const struct embi_fill *f, uint64_t first, uint64_t n, emb_err *err)
{
    const uint64_t v = f->table->layout.rows, count = n * f->d;
    struct spread s = {.f = f, .first = first, .n = n};
    if (v > UINT32_MAX || first > EMBI_DRAW_MAX_ROWS - n)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "a covariance of more than %" PRIu32 " rows",
                         UINT32_MAX);
    s.draw = (struct embi_draw){.kern = f->table->env->kern,
                                .key = {(uint32_t)f->o.seed, (uint32_t)(f->o.seed >> 32)},
                                .stream = EMBI_STREAM_COVARIANCE + EMBI_STREAMS * f->number,
                                .dist = EMB_NORMAL,
                                .scale = 1};
    memset(f->sums, 0, count * sizeof *f->sums);
    emb_status status = emb_table_scan(f->table, 0, v, EMB_F64, on_any_block, &s, err);
    double factor = sqrt((f->o.scale > 0 ? f->o.scale : 1e-9) / (double)f->n);
    for (uint64_t i = 0; !status && i < count; i++)
        f->sums[i] = f->mean[i % f->d] + factor * f->sums[i];
    free(s.counts);
    return status;
}
