/* search_exact.c - the exact way of search: every row is scored canonically, for several lanes at
 * once.
 *
 * Serves queries that the fast way cannot answer (many hits wanted, ties, extreme numbers, small
 * tables) and 3CosMul. Workers keep their k best of each lane; these lists are joined and sorted,
 * so the answer is that of one thread. Scratch is a piece of a block of rows that fits the L2
 * cache.
 */
#include "ops/search.h"
#include "util/err.h"
#include "util/loop.h"

#include <stdlib.h>

#define PIECE_BYTES (256u << 10) /* of rows in f64 */
#define LISTS_BYTES (32u << 20)  /* of hits that a worker keeps, for several lanes */
#define MAX_LANES   256
#define EXACT_COST  4 /* of a product here, against one of a kernel */

struct worker {
    double *rows;           /* [piece_rows, d] */
    double *scores;         /* [lanes]         */
    struct embi_topk *tops; /* [lanes] */
    uint64_t nonfinite;
};

/* One pass over the table. */
struct pass {
    struct embi_search *s;
    embi_score_fn *fn;
    const void *arg;
    const size_t *number; /* [lanes] */
    size_t lanes;
    uint64_t list_rows; /* hits a list can hold */
    uint64_t piece_rows;
    struct worker *workers; /* [n_workers] */
    int n_workers;
    emb_hit *lists;  /* [n_workers, lanes, list_rows] */
    emb_hit *joined; /* [n_workers * list_rows] */
};

static void free_pass(struct pass *p)
{
    for (int w = 0; p->workers && w < p->n_workers; w++) {
        free(p->workers[w].rows);
        free(p->workers[w].scores);
        free(p->workers[w].tops);
    }
    free(p->workers);
    free(p->lists);
    free(p->joined);
}

static emb_status fail_memory(uint64_t bytes, emb_err *err)
{
    return embi_fail_memory(err, bytes, "search");
}

/* Hits of one list for each worker, in bytes. */
static bool lists_bytes(const struct pass *p, uint64_t *bytes)
{
    uint64_t hits;
    return embi_mul(p->list_rows, (uint64_t)p->n_workers, &hits) &&
           embi_mul(hits, sizeof(emb_hit), bytes);
}

static emb_status alloc_worker(struct pass *p, int number, emb_err *err)
{
    struct worker *w = &p->workers[number];
    uint64_t row_bytes = p->s->dims * sizeof *w->rows;
    w->rows = malloc(p->piece_rows * row_bytes + 1);
    w->scores = malloc(p->lanes * sizeof *w->scores);
    w->tops = calloc(p->lanes, sizeof *w->tops);
    if (!w->rows || !w->scores || !w->tops)
        return fail_memory(p->piece_rows * row_bytes, err);
    for (size_t l = 0; l < p->lanes; l++) {
        w->tops[l].k = p->list_rows;
        w->tops[l].hits = p->lists + ((size_t)number * p->lanes + l) * p->list_rows;
    }
    return EMB_OK;
}

static emb_status alloc_pass(struct pass *p, emb_err *err)
{
    uint64_t one, all;
    if (!lists_bytes(p, &one) || !embi_mul(one, p->lanes, &all))
        return fail_memory(UINT64_MAX, err);
    p->workers = calloc((size_t)p->n_workers, sizeof *p->workers);
    p->lists = malloc(all + 1);
    p->joined = malloc(one + 1);
    if (!p->workers || !p->lists || !p->joined)
        return fail_memory(all, err);
    emb_status status = EMB_OK;
    for (int w = 0; !status && w < p->n_workers; w++)
        status = alloc_worker(p, w, err);
    return status;
}

/* Puts one row into the lists of all lanes that it may answer. */
static void rank_row(const struct pass *p, struct worker *w, uint64_t row, const double *x,
                     double norm2)
{
    const emb_search_opts *o = &p->s->opts;
    double bias = embi_search_bias(p->s, row);
    p->fn(p->arg, x, norm2, w->scores);
    for (size_t l = 0; l < p->lanes; l++) {
        struct embi_topk *top = &w->tops[l];
        double score = w->scores[l] + bias;
        emb_hit hit = {row, o->farthest ? 0.0 - score : score};
        if (o->has_min_score && score < o->min_score)
            continue;
        if (top->heap && !embi_hit_before(hit, top->hits[0]))
            continue;
        if (!embi_search_excluded(p->s, p->number[l], row))
            embi_topk_put(top, hit);
    }
}

/* Rows first .. end-1, at most piece_rows. */
static emb_status scan_piece(const struct pass *p, struct worker *w, uint64_t first, uint64_t end,
                             emb_err *err)
{
    const struct embi_search *s = p->s;
    while (first < end && !embi_search_allowed(s, first))
        first++;
    if (first == end)
        return EMB_OK;
    emb_status status = embi_fetch(s->table, first, end - first, EMB_F64, w->rows, err);
    for (uint64_t row = first; !status && row < end; row++) {
        if (!embi_search_allowed(s, row))
            continue;
        double *x = w->rows + (row - first) * s->dims;
        embi_subtract(x, s->opts.center, s->dims);
        double norm2 = embi_dot_f64(x, x, s->dims);
        if (embi_all_finite(x, norm2, s->dims))
            rank_row(p, w, row, x, norm2);
        else
            w->nonfinite++;
    }
    return status;
}

static emb_status scan_block(void *arg, size_t block, int worker, emb_err *err)
{
    const struct pass *p = arg;
    uint64_t first = (uint64_t)block * EMBI_BLOCK_ROWS;
    uint64_t end = embi_min(first + EMBI_BLOCK_ROWS, p->s->rows);
    emb_status status = EMB_OK;
    for (; !status && first < end; first += p->piece_rows)
        status =
            scan_piece(p, &p->workers[worker], first, embi_min(first + p->piece_rows, end), err);
    return status;
}

/* The lists of all workers for one lane become its answer. */
static size_t join(const struct pass *p, size_t lane, emb_hit *hits)
{
    size_t n = 0;
    for (int w = 0; w < p->n_workers; w++) {
        const struct embi_topk *top = &p->workers[w].tops[lane];
        if (top->n > 0)
            memcpy(p->joined + n, top->hits, top->n * sizeof *top->hits);
        n += top->n;
    }
    return embi_search_answer(p->s, p->joined, n, hits);
}

static emb_status run_pass(struct pass *p, struct embi_pool *pool, emb_hit *hits, size_t *counts,
                           emb_err *err)
{
    struct embi_search *s = p->s;
    emb_status status = alloc_pass(p, err);
    size_t blocks = (s->rows + EMBI_BLOCK_ROWS - 1) / EMBI_BLOCK_ROWS;
    if (!status)
        status = embi_loop(pool, blocks, scan_block, p, err);
    for (size_t l = 0; !status && l < p->lanes; l++)
        counts[p->number[l]] = join(p, l, hits + p->number[l] * s->k);
    for (int w = 0; !status && !s->counted && w < p->n_workers; w++)
        s->nonfinite_rows += p->workers[w].nonfinite;
    s->counted = s->counted || !status;
    free_pass(p);
    return status;
}

emb_status embi_search_exact(struct embi_search *s, size_t lanes, const size_t *number,
                             embi_score_fn *fn, const void *arg, emb_hit *hits, size_t *counts,
                             emb_err *err)
{
    struct pass p = {.s = s, .fn = fn, .arg = arg, .number = number, .lanes = lanes};
    p.list_rows = embi_min(s->k, s->rows);
    p.piece_rows = embi_max(1, PIECE_BYTES / embi_max(1, s->dims * sizeof(double)));
    p.piece_rows = embi_min(p.piece_rows, EMBI_BLOCK_ROWS);
    double products = (double)s->rows * s->dims * (1 + (double)lanes) * EXACT_COST;
    struct embi_pool *pool = embi_search_pool(s, products, &p.n_workers);
    return run_pass(&p, pool, hits, counts, err);
}

struct query_scores {
    const struct embi_search *s;
    struct embi_queries queries;
};

static void score_queries(const void *arg, const double *x, double norm2, double *scores)
{
    const struct query_scores *a = arg;
    uint32_t d = a->s->dims;
    for (size_t l = 0; l < a->queries.n; l++)
        scores[l] =
            embi_score(x, norm2, a->queries.v + l * d, a->queries.norm2[l], d, a->s->opts.metric);
}

/* Queries of one pass: as many as keep the lists small. */
static size_t queries_of_pass(const struct embi_search *s)
{
    uint64_t list_rows = embi_max(1, embi_min(s->k, s->rows));
    return embi_min(MAX_LANES, embi_max(1, LISTS_BYTES / sizeof(emb_hit) / list_rows));
}

emb_status embi_search_exact_queries(struct embi_search *s, const struct embi_queries *queries,
                                     emb_hit *hits, size_t *counts, emb_err *err)
{
    emb_status status = EMB_OK;
    size_t most = queries_of_pass(s);
    for (size_t i = 0; !status && i < queries->n; i += most) {
        struct query_scores a = {s, *queries};
        a.queries.v += i * s->dims;
        a.queries.norm2 += i;
        a.queries.number += i;
        a.queries.n = embi_min(most, queries->n - i);
        status = embi_search_exact(s, a.queries.n, a.queries.number, score_queries, &a, hits,
                                   counts, err);
    }
    return status;
}
