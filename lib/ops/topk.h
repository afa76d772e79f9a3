/* topk.h - the best k: of exact scores (a heap), and of scores known within an interval
 * (candidates).
 *
 * Here a higher score is always better and equal scores go by lower row; a search for the farthest
 * rows negates its scores on the way in and out. Nothing here allocates: callers lend the arrays.
 */
#ifndef EMBI_OPS_TOPK_H
#define EMBI_OPS_TOPK_H

#include "util/base.h"

/* Does a come before b in an answer? A total order: rows differ. */
static inline bool embi_hit_before(emb_hit a, emb_hit b)
{
    return a.score > b.score || (a.score == b.score && a.row < b.row);
}

/* Best first. */
void embi_hits_sort(emb_hit *hits, size_t n);

/* The k best hits of those put in, in no order. Once k are there, hits[0] is the worst of them (a
 * heap) from the next put on. k may be 0. */
struct embi_topk {
    emb_hit *hits; /* [k], borrowed */
    uint64_t n, k;
    bool heap;
};

void embi_topk_put(struct embi_topk *top, emb_hit hit);

/* A row whose score lies within [lo, hi]. */
struct embi_candidate {
    double lo, hi;
    uint64_t row;
};

/* Rows that may be among the k best. `floor` is the k-th highest lo of all rows put in up to the
 * last trim (-DBL_MAX before): a row whose hi is below it has k better ones, whatever the exact
 * scores turn out to be. When more rows than `cap` cannot be told apart, `overflow` is set and the
 * list is worthless. */
struct embi_candidates {
    struct embi_candidate *list; /* [cap], borrowed */
    size_t n, cap, k;            /* 1 <= k <= cap / 4 */
    size_t full;                 /* candidates that call for a trim */
    double floor;
    bool overflow;
};

/* An empty list in borrowed room. */
struct embi_candidates embi_candidates_in(struct embi_candidate *list, size_t cap, size_t k);

/* Callers look at c->floor and c->overflow first: only candidates with hi >= floor need be put. */
void embi_candidates_put(struct embi_candidates *c, struct embi_candidate candidate);

/* Raises the floor and drops the rows below it. */
void embi_candidates_trim(struct embi_candidates *c);

#endif
