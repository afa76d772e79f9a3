/* search_fast.c - the fast way of search: a pass over the table for several queries, canonical
 * rescore.
 *
 * Each worker of the pool goes over its blocks in pieces (search_piece.c) and keeps, for each
 * query, the rows that may be among its k best. What all workers have kept is scored canonically.
 * Why a dropped row is not among the answers is said in search.c.
 */
#include "ops/search_fast.h"
#include "dev/load.h"
#include "num/bf16.h"
#include "util/err.h"
#include "util/loop.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define MOST_HITS      1024         /* with larger k candidates do not pay                  */
#define LEAST_CAP      512          /* candidates a worker keeps for a query: this, or 4 k  */
#define LISTS_BYTES    (16u << 20)  /* of candidates that a worker keeps in a pass          */
#define PIECE_BYTES    (256u << 10) /* of rows that several queries share while they are in L2 */
#define ITEM_BYTES     (1u << 20)   /* of rows in an item of the pool                       */
#define MOST_REST      6            /* of queries, that are not worth a panel               */
#define TILE_ROWS      24           /* tiles of every kernel set (num/kern_panels.h) fill this */
#define PRODUCTS_BYTES (256u << 10) /* of products of a piece                            */
#define BF16_BYTES     (512u << 10) /* of rows of bf16 with panels of pairs */
#define BF16_ROWS      32u          /* of the largest step of a kernel for these */
#define PANEL_BYTES    (768u << 10) /* of rows with panels: L2 has the next ones too */

static size_t cap_of(const struct embi_search *s)
{
    return embi_max(LEAST_CAP, 4 * s->k);
}

bool embi_search_fast_possible(const struct embi_search *s, double bound)
{
    const emb_search_opts *o = &s->opts;
    if (s->k > MOST_HITS || s->rows <= cap_of(s) || bound > EMBI_LARGEST_BOUND ||
        s->largest_bias > EMBI_LARGEST_BIAS)
        return false;
    return !o->farthest || !o->has_min_score; /* which rows are low enough to be left out? */
}

bool embi_search_fast_can(const struct embi_search *s, double q_norm2)
{
    return embi_search_fast_possible(s, s->bound) && embi_comfortable(q_norm2) &&
           ((!s->opts.bias && !s->device) || embi_bias_usable(q_norm2));
}

static emb_status scan_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct embi_pass *p = arg;
    uint64_t first = item * p->item_rows;
    uint64_t end = embi_min(first + p->item_rows, p->s->rows);
    emb_status status = EMB_OK;
    for (; !status && first < end; first += p->piece_rows)
        status = embi_piece_scan(p, &p->workers[worker], first,
                                 embi_min(first + p->piece_rows, end), err);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The answer of a query
 */

/* How many candidates all workers have; false where one of them overflowed. */
static bool count_candidates(const struct embi_pass *p, size_t query, size_t *n)
{
    *n = 0;
    for (int w = 0; w < p->n_workers; w++) {
        *n += p->workers[w].candidates[query].n;
        if (p->workers[w].candidates[query].overflow)
            return false;
    }
    return true;
}

/* Joins them in c. */
static void join(const struct embi_pass *p, size_t query, struct embi_candidates *c)
{
    for (int w = 0; w < p->n_workers; w++) {
        const struct embi_candidates *from = &p->workers[w].candidates[query];
        if (from->n > 0)
            memcpy(c->list + c->n, from->list, from->n * sizeof *from->list);
        c->n += from->n;
    }
    embi_candidates_trim(c);
}

/* Scores candidates canonically: hits[i] of list[i]. x [d] is scratch. */
static emb_status rescore(const struct embi_pass *p, size_t query, const struct embi_candidates *c,
                          double *x, emb_hit *ranked, emb_err *err)
{
    const struct embi_search *s = p->s;
    uint32_t d = s->dims;
    bool direct = embi_table_direct(s->table);
    for (size_t i = 0; i < c->n; i++) {
        if (direct && c->n - i > EMBI_ROWS_AHEAD)
            embi_table_ask_row(s->table, c->list[i + EMBI_ROWS_AHEAD].row);
        emb_status status = embi_fetch_row_f64(s->table, c->list[i].row, x, err);
        if (status)
            return status;
        embi_subtract(x, s->opts.center, d);
        double score = embi_score(x, embi_dot_f64(x, x, d), p->queries.v + query * d,
                                  p->queries.norm2[query], d, s->opts.metric) +
                       embi_search_bias(s, c->list[i].row);
        ranked[i] = (emb_hit){c->list[i].row, s->opts.farthest ? 0.0 - score : score};
    }
    return EMB_OK;
}

/* An item of the pool: one query, if it did not overflow. */
static emb_status answer(void *arg, size_t query, int worker, emb_err *err)
{
    const struct embi_pass *p = arg;
    size_t n, number = p->queries.number[query];
    p->done[query] = count_candidates(p, query, &n);
    if (!p->done[query])
        return EMB_OK;
    struct embi_candidate *list = malloc(n * sizeof *list + 1);
    emb_hit *ranked = malloc(n * sizeof *ranked + 1);
    struct embi_candidates c = embi_candidates_in(list, n, p->s->k);
    emb_status status = EMB_OK;
    if (list && ranked) {
        join(p, query, &c);
        status = rescore(p, query, &c, p->workers[worker].wide, ranked, err);
    } else {
        status = embi_fail_memory(err, n * sizeof *list, "candidates");
    }
    if (!status)
        p->counts[number] = embi_search_answer(p->s, ranked, c.n, p->hits + number * p->s->k);
    free(ranked);
    free(list);
    return status;
}

static void count_nonfinite(struct embi_pass *p)
{
    for (int w = 0; !p->s->counted && w < p->n_workers; w++)
        p->s->nonfinite_rows += p->workers[w].nonfinite;
    p->s->counted = true;
}

/* ------------------------------------------------------------------------------------------------
 * A pass
 */

static void free_pass(struct embi_pass *p)
{
    for (int w = 0; p->workers && w < p->n_workers; w++) {
        free(p->workers[w].block);
        free(p->workers[w].products);
        free(p->workers[w].dots);
        free(p->workers[w].a);
        free(p->workers[w].c);
        free(p->workers[w].wide);
        free(p->workers[w].candidates);
        free(p->workers[w].lists);
    }
    free(p->workers);
    free(p->units);
    free(p->packed);
}

/* Lanes of panels that are no query reach no floor. */
static void start_queries(const struct embi_pass *p, struct embi_worker *w)
{
    size_t n = p->queries.n;
    for (size_t q = 0; q < n; q++) {
        w->candidates[q] = embi_candidates_in(w->lists + q * p->cap, p->cap, p->s->k);
        embi_query_reach(&p->measure, p->queries.norm2[q], w->candidates[q].floor, &w->a[q],
                         &w->c[q]);
    }
    for (size_t l = n; l < p->singles + p->panels * EMBI_PANEL; l++) {
        w->a[l] = 0;
        w->c[l] = NAN;
    }
}

static emb_status alloc_worker(const struct embi_pass *p, struct embi_worker *w, emb_err *err)
{
    size_t d = p->s->dims, n = p->queries.n, lanes = p->panels * EMBI_PANEL;
    size_t block = p->in_place ? 0 : p->piece_rows * d;
    size_t wide = p->s->opts.center ? p->piece_rows * d : d;
    size_t products = (p->s->blas ? n : lanes) * p->piece_rows;
    w->block = malloc(block * sizeof *w->block + 1);
    w->products = malloc(products * sizeof *w->products + 1);
    w->dots = malloc((p->singles + 1) * EMBI_BLOCK_ROWS * sizeof *w->dots);
    w->wide = malloc(wide * sizeof *w->wide + 1);
    w->a = malloc((n + lanes) * sizeof *w->a);
    w->c = malloc((n + lanes) * sizeof *w->c);
    w->candidates = malloc(n * sizeof *w->candidates);
    w->lists = malloc(n * p->cap * sizeof *w->lists);
    if (!w->block || !w->products || !w->dots || !w->wide || !w->a || !w->c || !w->candidates ||
        !w->lists)
        return embi_fail_memory(err, wide * sizeof *w->wide, "search");
    start_queries(p, w);
    return EMB_OK;
}

/* The queries of the panels. Those that are rounded widen the bound by what they moved. */
static void pack(struct embi_pass *p)
{
    uint32_t d = p->s->dims;
    const float *units = p->units + p->singles * d;
    size_t n = p->panels ? p->queries.n - p->singles : 0;
    if (!p->bf16) {
        embi_panels_pack(p->packed, units, n, d);
        return;
    }
    double moved = embi_bf16_pack(p->s->table->env->kern, p->packed, units, n, d);
    p->measure.g = moved + (1 + moved) * embi_any_order_bound(d);
}

static emb_status alloc_pass(struct embi_pass *p, emb_err *err)
{
    size_t d = p->s->dims, n = p->queries.n;
    size_t packed = p->panels * EMBI_PANEL * (p->bf16 ? d / 2 : d);
    p->units = malloc(n * d * sizeof *p->units);
    p->packed = malloc(packed * sizeof *p->packed + 1);
    p->workers = calloc((size_t)p->n_workers, sizeof *p->workers);
    if (!p->units || !p->packed || !p->workers)
        return embi_fail_memory(err, (n * d + packed) * sizeof *p->units, "search");
    for (size_t q = 0; q < n; q++) {
        double norm = sqrt(p->queries.norm2[q]) * (p->s->opts.farthest ? -1 : 1);
        for (size_t i = 0; i < d; i++)
            p->units[q * d + i] = (float)(p->queries.v[q * d + i] / norm);
    }
    pack(p);
    emb_status status = EMB_OK;
    for (int w = 0; !status && w < p->n_workers; w++)
        status = alloc_worker(p, &p->workers[w], err);
    return status;
}

void embi_plan_queries(size_t n, size_t *singles, size_t *panels)
{
    size_t rest = n % EMBI_PANEL;
    *singles = n <= EMBI_MOST_SINGLE ? n : rest <= MOST_REST ? rest : 0;
    *panels = embi_panels_of(n - *singles);
}

/* Chooses the kernels. */
static void plan_products(struct embi_pass *p)
{
    const emb_table *t = p->s->table;
    const struct embi_kern *kern = t->env->kern;
    emb_dtype dtype = t->layout.dtype;
    bool narrow = dtype == EMB_F16 || dtype == EMB_BF16; /* panels want f32 */
    bool as_stored = dtype == EMB_F32 || (narrow && (p->panels == 0 || p->bf16));
    p->in_place = !p->s->opts.center &&
                  (p->s->blas ? embi_search_blas_in_place(t) : as_stored && embi_table_direct(t));
    p->dot = kern->dot_f32;
    p->products = kern->products_f32;
    if (p->in_place && narrow) {
        p->dot = dtype == EMB_F16 ? kern->dot_f16 : kern->dot_bf16;
        p->products = dtype == EMB_F16 ? kern->products_f16 : kern->products_bf16;
    }
    p->measure =
        (struct embi_measure){p->s->opts.metric, p->s->opts.farthest, p->s->bound, p->s->opts.bias};
    p->cap = cap_of(p->s);
}

/* All queries in panels are read again for each piece, so of these a piece has as many rows as
 * there are queries, if it can: then neither is read much more often than the other. */
uint64_t embi_piece_rows(size_t panels, uint64_t row_bytes)
{
    uint64_t rows = embi_max(4, PIECE_BYTES / row_bytes), lanes = panels * EMBI_PANEL;
    if (panels > 0) {
        rows = embi_max(rows, lanes);
        rows = embi_min(rows, PRODUCTS_BYTES / (lanes * sizeof(float)));
        rows = embi_min(rows, embi_max(TILE_ROWS, PANEL_BYTES / row_bytes));
        rows = embi_max(1, embi_min(rows, EMBI_BLOCK_ROWS) / TILE_ROWS) * TILE_ROWS;
    }
    return embi_min(rows, EMBI_BLOCK_ROWS);
}

static uint64_t bf16_piece_rows(const struct embi_pass *p)
{
    uint64_t rows = BF16_BYTES / (p->s->dims * sizeof(uint16_t));
    rows = embi_min(rows, PRODUCTS_BYTES / (p->panels * EMBI_PANEL * sizeof(float)));
    return embi_max(1, embi_min(rows, EMBI_BLOCK_ROWS) / BF16_ROWS) * BF16_ROWS;
}

/* Chooses how rows are cut into pieces and items. BLAS copies what it multiplies into its own
 * caches, and wants large pieces. */
static void plan_pieces(struct embi_pass *p)
{
    size_t element = p->in_place ? emb_dtype_bytes(p->s->table->layout.dtype) : sizeof(float);
    uint64_t row_bytes = embi_max(1, p->s->dims * element);
    p->piece_rows = p->s->device ? 1 : EMBI_BLOCK_ROWS;
    if (p->bf16)
        p->piece_rows = bf16_piece_rows(p);
    else if (!p->s->device && !p->s->blas && (!p->in_place || p->queries.n > 1))
        p->piece_rows = embi_piece_rows(p->panels, row_bytes);
    p->item_rows = embi_max(1, ITEM_BYTES / (row_bytes * EMBI_BLOCK_ROWS)) * EMBI_BLOCK_ROWS;
    if (p->s->blas && p->n_workers > EMBI_BLAS_CALLS) {
        uint64_t blocks = p->s->rows / EMBI_BLAS_CALLS / EMBI_BLOCK_ROWS + 1;
        p->item_rows = embi_max(p->item_rows, blocks * EMBI_BLOCK_ROWS);
    }
}

static emb_status run_pass(struct embi_pass *p, emb_err *err)
{
    struct embi_search *s = p->s;
    double products = (double)s->rows * s->dims * (double)p->queries.n;
    struct embi_pool *pool = embi_search_pool(s, products, &p->n_workers);
    if (p->bf16)
        p->panels = embi_panels_of(p->queries.n);
    else if (!s->blas && !s->device)
        embi_plan_queries(p->queries.n, &p->singles, &p->panels);
    plan_products(p);
    plan_pieces(p);
    emb_status status = alloc_pass(p, err);
    if (!status && s->device)
        status = embi_search_on_device(p, err);
    else if (!status)
        status = embi_loop(pool, (s->rows + p->item_rows - 1) / p->item_rows, scan_item, p, err);
    if (!status)
        status = embi_loop(pool, p->queries.n, answer, p, err);
    if (!status)
        count_nonfinite(p);
    free_pass(p);
    return status;
}

/* Queries first .. end - 1 of a pass, done [end - first]. */
static emb_status pass(struct embi_search *s, const struct embi_queries *q, size_t first,
                       size_t end, const struct embi_bf16_kern *bf16, emb_hit *hits, size_t *counts,
                       bool *done, emb_err *err)
{
    struct embi_pass p = {.s = s, .bf16 = bf16, .hits = hits, .counts = counts, .done = done};
    p.queries = (struct embi_queries){q->v + first * s->dims, q->norm2 + first, q->number + first,
                                      end - first};
    return run_pass(&p, err);
}

/* Queries that too many rows seem to answer, where rows meet queries rounded to bf16, are
 * multiplied once more as they are. */
static emb_status pass_again(struct embi_search *s, const struct embi_queries *q, size_t first,
                             size_t end, emb_hit *hits, size_t *counts, bool *done, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = first, stop; !status && i < end; i = stop) {
        for (stop = i; stop < end && !done[stop]; stop++)
            ;
        if (stop > i)
            status = pass(s, q, i, stop, NULL, hits, counts, done + i, err);
        stop += stop == i;
    }
    return status;
}

emb_status embi_search_fast(struct embi_search *s, const struct embi_queries *queries,
                            emb_hit *hits, size_t *counts, bool *done, emb_err *err)
{
    size_t most = embi_max(1, LISTS_BYTES / (cap_of(s) * sizeof(struct embi_candidate)));
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < queries->n; i += most) {
        size_t end = embi_min(i + most, queries->n);
        status = pass(s, queries, i, end, s->bf16, hits, counts, done + i, err);
        if (!status && s->bf16)
            status = pass_again(s, queries, i, end, hits, counts, done, err);
    }
    return status;
}
