/* search_fast.c - the fast way of search: f32 products over blocks of rows, intervals, canonical
 * rescore.
 *
 * Each worker of the pool goes over its blocks in pieces: dot products (by the kernels, or by BLAS
 * for all queries at once) and norms of the rows, the intervals of their scores (interval.h), and
 * for each query the rows that may be among its k best (topk.h). Rows whose norm is out of the
 * kernels' range (zero, tiny, huge, NaN, Inf) are scored canonically at once, which is also where
 * rows that are not finite are found. Why a dropped row is not among the answers is said in
 * search.c.
 */
#include "dev/load.h"
#include "num/dtype.h"
#include "num/kern.h"
#include "ops/interval.h"
#include "ops/search.h"
#include "util/err.h"
#include "util/loop.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define MOST_HITS   1024         /* with larger k candidates do not pay                  */
#define LEAST_CAP   512          /* candidates a worker keeps for a query: this, or 4 k  */
#define LISTS_BYTES (16u << 20)  /* of candidates that a worker keeps in a pass          */
#define PIECE_BYTES (256u << 10) /* of rows that several queries share while they are in L2 */
#define ITEM_BYTES  (1u << 20)   /* of rows in an item of the pool                       */

/* What a worker needs for a piece of at most EMBI_BLOCK_ROWS rows, of which n may answer. */
struct worker {
    const void *rows[EMBI_BLOCK_ROWS];
    uint64_t ids[EMBI_BLOCK_ROWS];
    size_t n;
    float dot[EMBI_BLOCK_ROWS], norm2[EMBI_BLOCK_ROWS];
    struct embi_keys keys;
    double lo[EMBI_BLOCK_ROWS], hi[EMBI_BLOCK_ROWS];
    float *block;                       /* [piece_rows, d], where rows are not used in place */
    float *products;                    /* [queries, rows of the piece], by BLAS */
    double *wide;                       /* [piece_rows, d], with a center; else [1, d]       */
    struct embi_candidates *candidates; /* [queries]                     */
    struct embi_candidate *lists;       /* [queries, cap]                */
    uint64_t nonfinite;
};

typedef void dot_fn(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                    float *norm2);

/* One pass over the table. */
struct pass {
    struct embi_search *s;
    struct embi_queries queries;
    float *units; /* [queries, d]: queries scaled to length 1 */
    dot_fn *dot;
    bool in_place; /* rows are used where they lie             */
    struct embi_measure measure;
    size_t cap;
    uint64_t piece_rows, item_rows; /* item_rows: a multiple of EMBI_BLOCK_ROWS */
    struct worker *workers;         /* [n_workers] */
    int n_workers;
};

static size_t cap_of(const struct embi_search *s)
{
    return embi_max(LEAST_CAP, 4 * s->k);
}

bool embi_search_fast_possible(const struct embi_search *s, double bound)
{
    const emb_search_opts *o = &s->opts;
    if (s->k > MOST_HITS || s->rows <= cap_of(s) || bound > EMBI_LARGEST_BOUND)
        return false;
    return !o->farthest || !o->has_min_score; /* which rows are low enough to be left out? */
}

bool embi_search_fast_can(const struct embi_search *s, double q_norm2)
{
    return embi_search_fast_possible(s, s->bound) && embi_comfortable(q_norm2);
}

/* ------------------------------------------------------------------------------------------------
 * A piece: its rows
 */

/* Points w->rows at the rows of first .. end-1 that may answer. */
static emb_status load_piece(const struct pass *p, struct worker *w, uint64_t first, uint64_t end,
                             emb_err *err)
{
    const struct embi_search *s = p->s;
    size_t d = s->dims;
    w->n = 0;
    for (uint64_t row = first; row < end; row++)
        if (embi_search_allowed(s, row))
            w->ids[w->n++] = row;
    if (w->n == 0)
        return EMB_OK;
    for (size_t i = 0; i < w->n; i++)
        w->rows[i] = p->in_place ? embi_table_row(s->table, w->ids[i])
                                 : (const void *)(w->block + (w->ids[i] - first) * d);
    if (p->in_place)
        return EMB_OK;
    if (!s->opts.center)
        return embi_fetch(s->table, first, end - first, EMB_F32, w->block, err);
    emb_status status = embi_fetch(s->table, first, end - first, EMB_F64, w->wide, err);
    for (uint64_t i = 0; !status && i < end - first; i++) {
        embi_subtract(w->wide + i * d, s->opts.center, s->dims);
        embi_to_f32(s->table->env->kern, w->block + i * d, w->wide + i * d, EMB_F64, d);
    }
    return status;
}

/* All queries with all rows first .. end-1 of the piece by BLAS, into w->products. */
static void multiply(const struct pass *p, struct worker *w, uint64_t first, uint64_t end)
{
    size_t d = p->s->dims;
    bool in_place = p->in_place;
    embi_search_multiply(p->s->blas, p->units, p->queries.n,
                         in_place ? embi_table_row(p->s->table, first) : w->block, end - first, d,
                         in_place ? p->s->table->layout.row_stride / sizeof(float) : d,
                         w->products);
}

/* Those of one query with the rows that may answer, into w->dot. */
static void pick(struct worker *w, size_t query, uint64_t first, uint64_t end)
{
    const float *products = w->products + query * (end - first);
    for (size_t i = 0; i < w->n; i++)
        w->dot[i] = products[w->ids[i] - first];
}

/* ------------------------------------------------------------------------------------------------
 * Candidates
 */

static void put(const struct pass *p, struct worker *w, size_t query,
                struct embi_candidate candidate)
{
    struct embi_candidates *c = &w->candidates[query];
    if (!c->overflow && candidate.hi >= c->floor &&
        !embi_search_excluded(p->s, p->queries.number[query], candidate.row))
        embi_candidates_put(c, candidate);
}

/* From w->dot for one query. */
static void collect(const struct pass *p, struct worker *w, size_t query)
{
    embi_keys_intervals(&w->keys, &p->measure, w->dot, w->n, p->queries.norm2[query], w->lo, w->hi);
    double floor = w->candidates[query].floor;
    for (size_t i = 0; i < w->n; i++)
        if (w->hi[i] >= floor)
            put(p, w, query, (struct embi_candidate){w->lo[i], w->hi[i], w->ids[i]});
}

/* Rows of the piece that the kernels could not judge: read in f64. */
static emb_status score_odd_rows(const struct pass *p, struct worker *w, emb_err *err)
{
    const struct embi_search *s = p->s;
    uint32_t d = s->dims;
    for (size_t i = 0; i < w->n; i++) {
        if (embi_norm2_usable(w->norm2[i]))
            continue;
        double *x = w->wide;
        emb_status status = embi_fetch_row_f64(s->table, w->ids[i], x, err);
        if (status)
            return status;
        embi_subtract(x, s->opts.center, d);
        double norm2 = embi_dot_f64(x, x, d);
        if (!embi_all_finite(x, norm2, d)) {
            w->nonfinite++;
            continue;
        }
        for (size_t q = 0; q < p->queries.n; q++) {
            double score =
                embi_score(x, norm2, p->queries.v + q * d, p->queries.norm2[q], d, s->opts.metric);
            put(p, w, q, embi_key_of_score(&p->measure, p->queries.norm2[q], w->ids[i], score));
        }
    }
    return EMB_OK;
}

static emb_status scan_piece(const struct pass *p, struct worker *w, uint64_t first, uint64_t end,
                             emb_err *err)
{
    uint32_t d = p->s->dims;
    emb_status status = load_piece(p, w, first, end, err);
    if (status || w->n == 0)
        return status;
    p->dot(w->rows, w->n, d, p->units, w->dot, w->norm2); /* of query 0, with the norms */
    embi_keys_prepare(&w->keys, &p->measure, w->norm2, w->n);
    if (p->s->blas)
        multiply(p, w, first, end);
    for (size_t q = 0; q < p->queries.n; q++) {
        if (w->candidates[q].overflow)
            continue;
        if (p->s->blas)
            pick(w, q, first, end);
        else if (q > 0)
            p->dot(w->rows, w->n, d, p->units + q * d, w->dot, NULL);
        collect(p, w, q);
    }
    return score_odd_rows(p, w, err);
}

static emb_status scan_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct pass *p = arg;
    uint64_t first = item * p->item_rows;
    uint64_t end = embi_min(first + p->item_rows, p->s->rows);
    emb_status status = EMB_OK;
    for (; !status && first < end; first += p->piece_rows)
        status =
            scan_piece(p, &p->workers[worker], first, embi_min(first + p->piece_rows, end), err);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The answer of a query
 */

/* Joins the candidates of all workers in c; false where one of them overflowed. */
static bool join(const struct pass *p, size_t query, struct embi_candidates *c)
{
    c->n = 0;
    c->floor = -DBL_MAX;
    for (int w = 0; w < p->n_workers; w++) {
        const struct embi_candidates *from = &p->workers[w].candidates[query];
        if (from->overflow)
            return false;
        if (from->n > 0)
            memcpy(c->list + c->n, from->list, from->n * sizeof *from->list);
        c->n += from->n;
    }
    embi_candidates_trim(c);
    return true;
}

/* Scores candidates canonically: hits[i] of list[i]. */
static emb_status rescore(const struct pass *p, size_t query, const struct embi_candidates *c,
                          emb_hit *ranked, emb_err *err)
{
    const struct embi_search *s = p->s;
    uint32_t d = s->dims;
    double *x = p->workers[0].wide;
    for (size_t i = 0; i < c->n; i++) {
        emb_status status = embi_fetch_row_f64(s->table, c->list[i].row, x, err);
        if (status)
            return status;
        embi_subtract(x, s->opts.center, d);
        double score = embi_score(x, embi_dot_f64(x, x, d), p->queries.v + query * d,
                                  p->queries.norm2[query], d, s->opts.metric);
        ranked[i] = (emb_hit){c->list[i].row, s->opts.farthest ? 0.0 - score : score};
    }
    return EMB_OK;
}

/* Answers every query that did not overflow. c and ranked have room for the candidates of all
 * workers. */
static emb_status answer(const struct pass *p, struct embi_candidates *c, emb_hit *ranked,
                         emb_hit *hits, size_t *counts, bool *done, emb_err *err)
{
    for (size_t q = 0; q < p->queries.n; q++) {
        done[q] = join(p, q, c);
        if (!done[q])
            continue;
        emb_status status = rescore(p, q, c, ranked, err);
        if (status)
            return status;
        size_t number = p->queries.number[q];
        counts[number] = embi_search_answer(p->s, ranked, c->n, hits + number * p->s->k);
    }
    return EMB_OK;
}

static emb_status finish(const struct pass *p, emb_hit *hits, size_t *counts, bool *done,
                         emb_err *err)
{
    struct embi_search *s = p->s;
    emb_status status;
    size_t cap = p->cap * (size_t)p->n_workers;
    struct embi_candidate *list = malloc(cap * sizeof *list);
    emb_hit *ranked = malloc(cap * sizeof *ranked);
    struct embi_candidates c = {.list = list, .cap = cap, .k = s->k};
    if (list && ranked)
        status = answer(p, &c, ranked, hits, counts, done, err);
    else
        status = embi_fail_memory(err, cap * sizeof *list, "candidates");
    for (int w = 0; !status && !s->counted && w < p->n_workers; w++)
        s->nonfinite_rows += p->workers[w].nonfinite;
    s->counted = s->counted || !status;
    free(ranked);
    free(list);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * A pass
 */

static void free_pass(struct pass *p)
{
    for (int w = 0; p->workers && w < p->n_workers; w++) {
        free(p->workers[w].block);
        free(p->workers[w].products);
        free(p->workers[w].wide);
        free(p->workers[w].candidates);
        free(p->workers[w].lists);
    }
    free(p->workers);
    free(p->units);
}

static emb_status alloc_worker(const struct pass *p, struct worker *w, emb_err *err)
{
    size_t d = p->s->dims, n = p->queries.n;
    size_t block = p->in_place ? 0 : p->piece_rows * d;
    size_t wide = p->s->opts.center ? p->piece_rows * d : d;
    size_t products = p->s->blas ? n * p->piece_rows : 0;
    w->block = malloc(block * sizeof *w->block + 1);
    w->products = malloc(products * sizeof *w->products + 1);
    w->wide = malloc(wide * sizeof *w->wide + 1);
    w->candidates = malloc(n * sizeof *w->candidates);
    w->lists = malloc(n * p->cap * sizeof *w->lists);
    if (!w->block || !w->products || !w->wide || !w->candidates || !w->lists)
        return embi_fail_memory(err, wide * sizeof *w->wide, "search");
    for (size_t q = 0; q < n; q++)
        w->candidates[q] = (struct embi_candidates){
            .list = w->lists + q * p->cap, .cap = p->cap, .k = p->s->k, .floor = -DBL_MAX};
    return EMB_OK;
}

static emb_status alloc_pass(struct pass *p, emb_err *err)
{
    size_t d = p->s->dims, n = p->queries.n;
    p->units = malloc(n * d * sizeof *p->units);
    p->workers = calloc((size_t)p->n_workers, sizeof *p->workers);
    if (!p->units || !p->workers)
        return embi_fail_memory(err, n * d * sizeof *p->units, "search");
    for (size_t q = 0; q < n; q++) {
        double norm = sqrt(p->queries.norm2[q]);
        for (size_t i = 0; i < d; i++)
            p->units[q * d + i] = (float)(p->queries.v[q * d + i] / norm);
    }
    emb_status status = EMB_OK;
    for (int w = 0; !status && w < p->n_workers; w++)
        status = alloc_worker(p, &p->workers[w], err);
    return status;
}

/* Chooses the kernel. */
static void plan_products(struct pass *p)
{
    const emb_table *t = p->s->table;
    const struct embi_kern *kern = t->env->kern;
    emb_dtype dtype = t->layout.dtype;
    bool as_stored = dtype == EMB_F32 || dtype == EMB_F16 || dtype == EMB_BF16;
    p->in_place = !p->s->opts.center &&
                  (p->s->blas ? embi_search_blas_in_place(t) : as_stored && embi_table_direct(t));
    p->dot = kern->dot_f32;
    if (p->in_place && dtype != EMB_F32)
        p->dot = dtype == EMB_F16 ? kern->dot_f16 : kern->dot_bf16;
    p->measure = (struct embi_measure){p->s->opts.metric, p->s->opts.farthest, p->s->bound};
    p->cap = cap_of(p->s);
}

/* Chooses how rows are cut into pieces and items. BLAS copies what it multiplies into its own
 * caches, and wants large pieces. */
static void plan_pieces(struct pass *p)
{
    uint64_t row_bytes = embi_max(1, p->s->dims * sizeof(float));
    p->piece_rows = EMBI_BLOCK_ROWS;
    if (!p->s->blas && (!p->in_place || p->queries.n > 1))
        p->piece_rows = embi_min(EMBI_BLOCK_ROWS, embi_max(4, PIECE_BYTES / row_bytes));
    p->item_rows = embi_max(1, ITEM_BYTES / (row_bytes * EMBI_BLOCK_ROWS)) * EMBI_BLOCK_ROWS;
    if (p->s->blas && p->n_workers > EMBI_BLAS_CALLS) {
        uint64_t blocks = p->s->rows / EMBI_BLAS_CALLS / EMBI_BLOCK_ROWS + 1;
        p->item_rows = embi_max(p->item_rows, blocks * EMBI_BLOCK_ROWS);
    }
}

static emb_status run_pass(struct embi_search *s, struct embi_queries queries, emb_hit *hits,
                           size_t *counts, bool *done, emb_err *err)
{
    struct pass p = {.s = s, .queries = queries};
    double products = (double)s->rows * s->dims * (double)queries.n;
    struct embi_pool *pool = embi_search_pool(s, products, &p.n_workers);
    plan_products(&p);
    plan_pieces(&p);
    emb_status status = alloc_pass(&p, err);
    if (!status)
        status = embi_loop(pool, (s->rows + p.item_rows - 1) / p.item_rows, scan_item, &p, err);
    if (!status)
        status = finish(&p, hits, counts, done, err);
    free_pass(&p);
    return status;
}

emb_status embi_search_fast(struct embi_search *s, const struct embi_queries *queries,
                            emb_hit *hits, size_t *counts, bool *done, emb_err *err)
{
    size_t most = embi_max(1, LISTS_BYTES / (cap_of(s) * sizeof(struct embi_candidate)));
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < queries->n; i += most) {
        struct embi_queries some = {queries->v + i * s->dims, queries->norm2 + i,
                                    queries->number + i, embi_min(most, queries->n - i)};
        status = run_pass(s, some, hits, counts, done + i, err);
    }
    return status;
}
