/* stats_walk.c - the walk of emb_stats_run over the table: every row once, in parallel.
 *
 * Items of the loop are runs of blocks whose size depends on V alone; each writes to places of its
 * own, so the bits of what comes out do not depend on the number of threads. Memory: 16 bytes a row
 * (norm and hash), and with columns 32 bytes * d for each of at most 256 items.
 */
#include "num/dtype.h"
#include "num/row_hash.h"
#include "ops/stats.h"
#include "util/err.h"
#include "util/loop.h"

#include <math.h>
#include <stdlib.h>

#define ITEMS_MAX       256
#define INLINE_ELEMENTS (1u << 22) /* fewer than that are not worth a thread ...            */
#define PARSE_COST      16         /* ... where an element of text counts as so many        */

/* Room of one thread. */
struct embi_scratch {
    unsigned char *block; /* as stored, where rows cannot be used in place: [256 or V, d] */
    float *narrow;        /* [d] */
    double *wide;         /* [d] */
    struct embi_column_sums sums;
};

void *embi_zeroed(uint64_t n, uint64_t size, const char *what, emb_err *err)
{
    uint64_t bytes;
    void *memory = NULL;
    if (!embi_mul(n, size, &bytes))
        bytes = UINT64_MAX;
    else
        memory = calloc(embi_max(n, 1), size);
    if (!memory)
        embi_fail_memory(err, bytes, what);
    return memory;
}

/* Does f32 hold every value of the type? */
static bool fits_f32(emb_dtype dtype)
{
    return dtype != EMB_F64 && dtype != EMB_I32 && dtype != EMB_U32 && dtype != EMB_I64 &&
           dtype != EMB_U64;
}

/* A row that f32 holds, and the hash of its elements: s->narrow has these where they were needed as
 * f32 and are not stored so. */
static void figures(const struct embi_walk *w, struct embi_scratch *s, const void *bytes,
                    struct embi_row *row, uint64_t *hash)
{
    struct embi_row_sums sums;
    if (w->narrow)
        embi_to_f32(w->kern, s->narrow, bytes, w->dtype, w->d);
    w->figures(w->narrow ? s->narrow : bytes, w->d, &sums);
    *hash = sums.hash;
    bool done = embi_row_from_sums(&sums, w->d, row), stored = w->dtype == EMB_F32;
    if (!w->narrow && !stored && (!done || w->columns))
        embi_to_f32(w->kern, s->narrow, bytes, w->dtype, w->d);
    if (!done)
        embi_row_deviate(stored ? bytes : s->narrow, w->d, row);
}

static void take_row(const struct embi_walk *w, struct embi_item *item, struct embi_scratch *s,
                     uint64_t r, const void *bytes)
{
    struct embi_row row;
    if (w->is_wide) {
        embi_to_f64(s->wide, bytes, w->dtype, w->d);
        embi_row_f64(s->wide, w->d, &row);
        w->hashes[r] = embi_row_hash(bytes, w->row_bytes);
    } else {
        figures(w, s, bytes, &row, &w->hashes[r]);
    }
    w->norms[r] = row.finite ? row.norm : NAN;
    if (!row.finite)
        return;
    embi_moments_join(&item->moments, &row.moments);
    item->min = embi_lower(item->min, row.min);
    item->max = embi_higher(item->max, row.max);
    if (w->columns) {
        if (!w->is_wide)
            embi_to_f64(s->wide, w->dtype == EMB_F32 ? bytes : s->narrow, EMB_F32, w->d);
        embi_columns_add(&item->columns, &s->sums, s->wide, w->d);
    }
}

static emb_status take_block(const struct embi_walk *w, struct embi_item *item,
                             struct embi_scratch *s, uint64_t first, uint64_t n, emb_err *err)
{
    if (!w->direct) {
        emb_status status = embi_fetch(w->table, first, n, w->dtype, s->block, err);
        if (status)
            return status;
    }
    for (uint64_t r = 0; r < n; r++)
        take_row(w, item, s, first + r,
                 w->direct ? embi_table_row(w->table, first + r) : s->block + r * w->row_bytes);
    if (w->columns)
        embi_columns_flush(&item->columns, &s->sums, w->d);
    return EMB_OK;
}

static emb_status take_item(void *arg, size_t i, int worker, emb_err *err)
{
    struct embi_walk *w = arg;
    struct embi_item *item = &w->item[i];
    uint64_t end = embi_min((i + 1) * w->item_rows, w->rows);
    item->min = INFINITY;
    item->max = -INFINITY;
    if (w->columns)
        embi_columns_clear(&item->columns, w->d);
    for (uint64_t first = i * w->item_rows; first < end; first += EMBI_BLOCK_ROWS) {
        uint64_t n = embi_min(EMBI_BLOCK_ROWS, end - first);
        emb_status status = take_block(w, item, &w->scratch[worker], first, n, err);
        if (status)
            return status;
    }
    return EMB_OK;
}

static emb_status scratch_new(const struct embi_walk *w, struct embi_scratch *s, emb_err *err)
{
    uint64_t sums = w->columns ? w->d : 0;
    uint64_t block = w->direct ? 0 : embi_min(EMBI_BLOCK_ROWS, w->rows);
    s->block = embi_zeroed(block, w->row_bytes, "a block of rows", err);
    s->narrow = embi_zeroed(w->d, sizeof *s->narrow, "a row", err);
    s->wide = embi_zeroed(w->d, sizeof *s->wide, "a row", err);
    s->sums.about = embi_zeroed(sums, sizeof(double), "column sums", err);
    s->sums.sum = embi_zeroed(sums, sizeof(double), "column sums", err);
    s->sums.square = embi_zeroed(sums, sizeof(double), "column sums", err);
    bool all = s->block && s->narrow && s->wide && s->sums.about && s->sums.sum && s->sums.square;
    return all ? EMB_OK : EMB_NO_MEMORY;
}

static emb_status walk_columns_new(struct embi_walk *w, emb_err *err)
{
    uint64_t d = w->d, item_doubles = 4 * d;
    w->column_memory = embi_zeroed(w->items, item_doubles * sizeof(double), "column figures", err);
    if (!w->column_memory)
        return err->status;
    for (size_t i = 0; i < w->items; i++) {
        double *at = w->column_memory + i * item_doubles;
        w->item[i].columns = (struct embi_columns){0, at, at + d, at + 2 * d, at + 3 * d};
    }
    return EMB_OK;
}

static emb_status walk_new(struct embi_walk *w, emb_err *err)
{
    w->norms = embi_zeroed(w->rows, sizeof *w->norms, "norms", err);
    w->hashes = embi_zeroed(w->rows, sizeof *w->hashes, "hashes of rows", err);
    w->item = embi_zeroed(w->items, sizeof *w->item, "partial figures", err);
    w->scratch = embi_zeroed(w->workers, sizeof *w->scratch, "scratch", err);
    if (!w->norms || !w->hashes || !w->item || !w->scratch)
        return err->status;
    emb_status status = w->columns ? walk_columns_new(w, err) : EMB_OK;
    for (size_t i = 0; !status && i < w->workers; i++)
        status = scratch_new(w, &w->scratch[i], err);
    return status;
}

void embi_walk_free(struct embi_walk *w)
{
    for (size_t i = 0; w->scratch && i < w->workers; i++) {
        struct embi_scratch *s = &w->scratch[i];
        free(s->block);
        free(s->narrow);
        free(s->wide);
        free(s->sums.about);
        free(s->sums.sum);
        free(s->sums.square);
    }
    free(w->norms);
    free(w->hashes);
    free(w->item);
    free(w->column_memory);
    free(w->scratch);
}

static void plan(struct embi_walk *w, const emb_table *table, bool columns)
{
    const struct embi_layout *l = &table->layout;
    uint64_t blocks = l->rows / EMBI_BLOCK_ROWS + (l->rows % EMBI_BLOCK_ROWS != 0);
    uint64_t item_blocks = embi_max(1, blocks / ITEMS_MAX + (blocks % ITEMS_MAX != 0));
    const struct embi_kern *kern = table->env->kern;
    *w = (struct embi_walk){
        .table = table,
        .kern = kern,
        .rows = l->rows,
        .item_rows = item_blocks * EMBI_BLOCK_ROWS,
        .items = blocks / item_blocks + (blocks % item_blocks != 0),
        .workers = 1,
        .row_bytes = embi_layout_row_bytes(l),
        .d = l->dims,
        .dtype = l->dtype,
        .direct = embi_table_direct(table),
        .columns = columns,
        .is_wide = !fits_f32(l->dtype),
        .narrow = l->dtype != EMB_F32 && l->dtype != EMB_F16 && l->dtype != EMB_BF16,
        .figures = l->dtype == EMB_F16    ? kern->figures_f16
                   : l->dtype == EMB_BF16 ? kern->figures_bf16
                                          : kern->figures_f32,
    };
}

/* The pool, if the table is large enough for it. */
static struct embi_pool *pool_for(const struct embi_walk *w)
{
    uint64_t cost = w->table->reader->format->rows ? PARSE_COST : 1, elements;
    bool large = !embi_mul(w->rows, cost * w->d, &elements) || elements >= INLINE_ELEMENTS;
    return large ? w->table->env->pool : NULL;
}

emb_status embi_walk_run(struct embi_walk *w, const emb_table *table, bool columns, emb_err *err)
{
    plan(w, table, columns);
    struct embi_pool *pool = pool_for(w);
    if (pool)
        w->workers = (size_t)embi_pool_threads(pool);
    emb_status status = walk_new(w, err);
    return status ? status : embi_loop(pool, w->items, take_item, w, err);
}
