/* search_piece.c - a piece of rows in the fast way of search: products, and which may count.
 *
 * The products come from the kernels, together with the norms of the rows, or from BLAS. Nearly all
 * of them are passed over by a test in f32 against the floor of their query; for the others the
 * interval of the score is worked out in f64 (interval.h) and put among the candidates (topk.h).
 * Rows whose norm is out of the kernels' range (zero, tiny, huge, NaN, Inf) are scored canonically
 * at once, which is also where rows that are not finite are found.
 */
#include "num/bf16.h"
#include "num/dtype.h"
#include "ops/search_fast.h"

#include <math.h>

/* Panels of pairs that take long enough to ask for the next rows meanwhile: of fewer, the norms are
 * faster to bring them from memory, in the order in which they lie. */
enum { ASKING_PANELS = 4 };

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

/* Points w->rows at the rows of first .. end-1 that may answer. */
static emb_status load(const struct embi_pass *p, struct embi_worker *w, uint64_t first,
                       uint64_t end, emb_err *err)
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

const void *embi_next_rows(const emb_table *table, uint64_t end, uint64_t last, size_t *bytes)
{
    if (end == last || !embi_table_direct(table))
        return NULL;
    const char *from = embi_table_row(table, end), *to = embi_table_row(table, last - 1);
    *bytes = (size_t)(to - from) + embi_layout_row_bytes(&table->layout);
    return from;
}

/* All of the next piece, so not where most rows may be left out. */
static const void *next_piece(const struct embi_pass *p, uint64_t end, size_t *bytes)
{
    const struct embi_search *s = p->s;
    if (s->opts.allowed)
        return NULL;
    return embi_next_rows(s->table, end, embi_min(end + p->piece_rows, s->rows), bytes);
}

/* ------------------------------------------------------------------------------------------------
 * Candidates
 */

/* After the floor of the query has risen. */
static void tell_floor(const struct embi_pass *p, struct embi_worker *w, size_t query)
{
    const struct embi_candidates *c = &w->candidates[query];
    embi_query_reach(&p->measure, p->queries.norm2[query], c->floor, &w->a[query], &w->c[query]);
    if (c->overflow)
        w->c[query] = NAN; /* its list is worthless */
}

static void put(const struct embi_pass *p, struct embi_worker *w, size_t query,
                struct embi_candidate candidate)
{
    struct embi_candidates *c = &w->candidates[query];
    double floor = c->floor;
    if (c->overflow || candidate.hi < floor ||
        embi_search_excluded(p->s, p->queries.number[query], candidate.row))
        return;
    embi_candidates_put(c, candidate);
    if (c->floor > floor || c->overflow)
        tell_floor(p, w, query);
}

void embi_piece_put(const struct embi_pass *p, struct embi_worker *w, size_t query, uint64_t row,
                    float dot, float norm2)
{
    put(p, w, query, embi_key_of_dot(&p->measure, p->queries.norm2[query], row, dot, norm2));
}

static void put_dot(const struct embi_pass *p, struct embi_worker *w, size_t query, size_t i,
                    float dot)
{
    embi_piece_put(p, w, query, w->ids[i], dot, w->norm2[i]);
}

/* One query with all rows of the piece. */
static void collect_query(const struct embi_pass *p, struct embi_worker *w, size_t query,
                          const float *dot)
{
    uint16_t mask[EMBI_BLOCK_ROWS / 16];
    p->s->table->env->kern->reach(dot, w->u, w->w, w->n, w->a[query], w->c[query], mask);
    for (size_t i = 0; i < w->n; i += 16)
        for (unsigned bits = mask[i / 16]; bits; bits &= bits - 1) {
            size_t at = i + (size_t)__builtin_ctz(bits);
            put_dot(p, w, query, at, dot[at]);
        }
}

/* One row with all queries in panels. */
static void collect_row(const struct embi_pass *p, struct embi_worker *w, size_t i)
{
    size_t lanes = p->panels * EMBI_PANEL;
    const float *dot = w->products + i * lanes;
    uint16_t mask[EMBI_MOST_PANELS];
    p->s->table->env->kern->reach(dot, w->a + p->singles, w->c + p->singles, lanes, w->u[i],
                                  w->w[i], mask);
    for (size_t l = 0; l < lanes; l += EMBI_PANEL)
        for (unsigned bits = mask[l / EMBI_PANEL]; bits; bits &= bits - 1) {
            size_t lane = l + (size_t)__builtin_ctz(bits);
            put_dot(p, w, p->singles + lane, i, dot[lane]);
        }
}

emb_status embi_piece_score(const struct embi_pass *p, struct embi_worker *w, uint64_t row,
                            emb_err *err)
{
    const struct embi_search *s = p->s;
    uint32_t d = s->dims;
    double *x = w->wide;
    emb_status status = embi_fetch_row_f64(s->table, row, x, err);
    if (status)
        return status;
    embi_subtract(x, s->opts.center, d);
    double norm2 = embi_dot_f64(x, x, d);
    bool finite = embi_all_finite(x, norm2, d);
    w->nonfinite += !finite;
    for (size_t q = 0; finite && q < p->queries.n; q++) {
        double score =
            embi_score(x, norm2, p->queries.v + q * d, p->queries.norm2[q], d, s->opts.metric) +
            embi_search_bias(s, row);
        put(p, w, q, embi_key_of_score(&p->measure, p->queries.norm2[q], row, score));
    }
    return EMB_OK;
}

/* Rows of the piece that the kernels could not judge: read in f64. */
static emb_status score_odd_rows(const struct embi_pass *p, struct embi_worker *w, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < w->n; i++)
        if (!embi_norm2_usable(w->norm2[i]))
            status = embi_piece_score(p, w, w->ids[i], err);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Products
 */

/* BLAS multiplies rows that may not answer too. */
static void multiply_by_blas(const struct embi_pass *p, struct embi_worker *w, uint64_t first,
                             uint64_t end)
{
    size_t d = p->s->dims, rows = end - first;
    bool in_place = p->in_place;
    embi_search_multiply(p->s->blas, p->units, p->queries.n,
                         in_place ? embi_table_row(p->s->table, first) : w->block, rows, d,
                         in_place ? p->s->table->layout.row_stride / sizeof(float) : d,
                         w->products);
    for (size_t q = 0; q < p->queries.n; q++) {
        for (size_t i = 0; i < w->n; i++)
            w->dots[i] = w->products[q * rows + (w->ids[i] - first)];
        collect_query(p, w, q, w->dots);
    }
}

/* Norms of the rows, and their products with the single queries. */
static void multiply_singles(const struct embi_pass *p, struct embi_worker *w, const void *next)
{
    if (p->bf16)
        p->bf16->norms(w->rows, w->n, p->s->dims, w->norm2);
    else if (p->singles == 1)
        p->dot(w->rows, w->n, p->s->dims, p->units, w->dots, w->norm2);
    else
        p->products(w->rows, w->n, p->s->dims, p->units, p->singles,
                    p->in_place && !p->panels ? next : NULL, w->dots, EMBI_BLOCK_ROWS, w->norm2);
}

static void multiply_panels(const struct embi_pass *p, struct embi_worker *w, const void *next,
                            size_t next_bytes)
{
    uint32_t d = p->s->dims;
    if (p->bf16)
        p->bf16->panels(w->rows, w->n, d, p->packed, p->panels,
                        p->panels >= ASKING_PANELS ? next : NULL, next_bytes, w->products);
    else
        p->s->table->env->kern->panels(w->rows, w->n, d, p->packed, p->panels, next, next_bytes,
                                       w->products);
    for (size_t i = 0; i < w->n; i++)
        collect_row(p, w, i);
}

emb_status embi_piece_scan(const struct embi_pass *p, struct embi_worker *w, uint64_t first,
                           uint64_t end, emb_err *err)
{
    emb_status status = load(p, w, first, end, err);
    if (status || w->n == 0)
        return status;
    size_t next_bytes = 0;
    const void *next = next_piece(p, end, &next_bytes);
    multiply_singles(p, w, next);
    embi_rows_reach(&p->measure, w->ids, w->norm2, w->n, w->u, w->w);
    for (size_t q = 0; q < p->singles; q++)
        collect_query(p, w, q, w->dots + q * EMBI_BLOCK_ROWS);
    if (p->panels > 0)
        multiply_panels(p, w, next, next_bytes);
    if (p->s->blas)
        multiply_by_blas(p, w, first, end);
    return score_odd_rows(p, w, err);
}
