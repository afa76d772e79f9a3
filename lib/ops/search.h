/* search.h - what the parts of search share: checked options, canonical scores, the exact scan.
 *
 * A search has two ways. The fast one (search_fast.c) finds candidates with the f32 products and
 * their error bound, and scores those again; the exact one (search_exact.c) scores every row
 * canonically. Both rank by the canonical score, so they give the same answer, and the choice
 * between them shows in nothing but time.
 */
#ifndef EMBI_OPS_SEARCH_H
#define EMBI_OPS_SEARCH_H

#include "ops/topk.h"
#include "table/table.h"

/* One search: options that were checked, and what it found out about the table. */
struct embi_search {
    const emb_table *table;
    emb_search_opts opts;              /* complete; size is that of this library's struct */
    uint32_t dims;                     /* d */
    uint64_t rows;                     /* only rows below answer */
    uint64_t k;                        /* hits a query may have: 1..V, or 0 if V is 0 */
    uint64_t *exclude;                 /* opts.exclude, the rows of each query sorted */
    const struct embi_blas *blas;      /* multiplies in the fast way; NULL: the kernels do */
    emb_device *device;                /* finds the candidates in the fast way, or NULL */
    bool matrix;                       /* the device, by tensor cores */
    double bound;                      /* of its products: g of interval.h */
    const struct embi_bf16_kern *bf16; /* multiplies the rows as bf16; or NULL */
    double largest_bias;               /* the largest |opts.bias[row]| */
    bool counted;                      /* nonfinite_rows is known: some scan went over all rows */
    uint64_t nonfinite_rows;
};

#define EMBI_MOST_BATCH 512 /* queries in one pass over the table */

/* Makes the table ready and checks opts for n queries. embi_search_end frees, after failure too. */
emb_status embi_search_begin(struct embi_search *s, const emb_table *table,
                             const emb_search_opts *opts, size_t n, emb_err *err);
void embi_search_end(struct embi_search *s);

/* Chooses who multiplies, by opts.device and opts.backend, for n queries. EMB_DEVICE: the plugin or
 * the device is not there. */
emb_status embi_search_choose(struct embi_search *s, size_t n, emb_err *err);

/* A device has failed, as err says: if it is an optional one the CPU is chosen in its place. */
bool embi_search_do_without(struct embi_search *s, size_t n, const emb_err *err);

/* The bound of the products that kernels of this CPU make with n queries. */
double embi_search_bound(uint32_t dims, size_t n);

/* products[q * n + r] = queries[q] . rows[r]: queries [m, d] without gaps, n rows [n, d] at a
 * distance of `stride` floats. */
void embi_search_multiply(const struct embi_blas *blas, const float *queries, size_t m,
                          const float *rows, size_t n, size_t d, size_t stride, float *products);

/* Can the rows of this table be given to that where they lie? */
bool embi_search_blas_in_place(const emb_table *table);

/* May this row answer at all (opts.allowed), and may it answer query i (opts.exclude)? */
static inline bool embi_search_allowed(const struct embi_search *s, uint64_t row)
{
    return !s->opts.allowed || (s->opts.allowed[row / 8] >> row % 8 & 1);
}
bool embi_search_excluded(const struct embi_search *s, size_t i, uint64_t row);

/* What is added to the score of a row. */
static inline double embi_search_bias(const struct embi_search *s, uint64_t row)
{
    return s->opts.bias ? s->opts.bias[row] : 0;
}

/* Threads for about this much work (element products), or NULL: it is not worth one. *workers is
 * how many may call at once. */
struct embi_pool *embi_search_pool(const struct embi_search *s, double products, int *workers);

/* Query vectors as the scans want them: n of [n, d] in double precision with their squared norms,
 * and the number of each in the caller's array. */
struct embi_queries {
    const double *v;      /* [n, d] */
    const double *norm2;  /* [n]: embi_dot_f64 of each with itself */
    const size_t *number; /* [n] */
    size_t n;
};

/* Canonical scores. norm2 of a vector is embi_dot_f64 of it with itself. */
double embi_score(const double *x, double x_norm2, const double *q, double q_norm2, uint32_t d,
                  emb_metric metric);

/* Squared norms between these bounds multiply without overflow, and what their terms lose to
 * underflow is far below the last bit. */
static inline bool embi_comfortable(double norm2)
{
    return norm2 >= 0x1p-500 && norm2 <= 0x1p500;
}

/* e such that x * 2^-e is within [0.5, 1); 0 for zero. Kept within +-1000, where both powers of two
 * are normal numbers. */
int embi_scale_exponent(double x);

/* The largest |x[i]|. */
double embi_largest(const double *x, uint32_t d);

/* Within -1 .. 1. */
static inline double embi_clamp_cosine(double cosine)
{
    return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

/* norm2: as above, for speed: where it is finite the vector is. */
bool embi_all_finite(const double *x, double norm2, uint32_t d);
bool embi_all_zero(const double *x, uint32_t d);

/* x[i] -= center[i]; center may be NULL. */
void embi_subtract(double *x, const double *center, uint32_t d);

/* scores[l] of row x [d] for each lane (query). Called from several threads. */
typedef void embi_score_fn(const void *arg, const double *x, double norm2, double *scores);

/* Scores every row canonically; lane l writes hits [number[l], k] and counts[number[l]]. */
emb_status embi_search_exact(struct embi_search *s, size_t lanes, const size_t *number,
                             embi_score_fn *fn, const void *arg, emb_hit *hits, size_t *counts,
                             emb_err *err);

/* The same for queries. */
emb_status embi_search_exact_queries(struct embi_search *s, const struct embi_queries *queries,
                                     emb_hit *hits, size_t *counts, emb_err *err);

/* Can the fast way answer any query, with products within this bound? */
bool embi_search_fast_possible(const struct embi_search *s, double bound);

/* Can it answer this one, whose squared norm is given? */
bool embi_search_fast_can(const struct embi_search *s, double q_norm2);

/* Answers queries that it can. done[i] false: too many rows tied, query i must be searched exactly.
 */
emb_status embi_search_fast(struct embi_search *s, const struct embi_queries *queries,
                            emb_hit *hits, size_t *counts, bool *done, emb_err *err);

/* Ranked hits (higher is better) to an answer: sorted, cut at k, scores with their own sign again.
 */
size_t embi_search_answer(const struct embi_search *s, emb_hit *ranked, size_t n, emb_hit *hits);

#endif
