/* interval.h - what an f32 kernel's answer says about a canonical score: an interval that holds it.
 *
 * With u = q / |q| rounded to f32 and g = embi_dot_bound(d), a kernel gives for a row x
 *     dot   = x.u + e,            |e| <= g |x|
 *     norm2 = |x|^2 (1 + e'),    |e'| <= g
 * as long as nothing leaves the range of f32; |u| = 1, so a look at norm2 tells. From these comes a
 * key whose order is that of the score, and how far it may be from the key of the canonical score:
 *     cosine     dot / sqrt(norm2)       (1 + g) / sqrt(1 - g) - 1  <  2 g        for g <= 0.05
 *     dot        dot                     g |x| <= 1.1 g n,          n = sqrt(norm2)
 *     euclidean  2 |q| dot - norm2       2 g |x| |q| + g |x|^2 <= 1.1 g n (2 |q| + n)
 * (the score over |q|, and |q|^2 - distance^2, for the last two). The canonical scores' own
 * roundings are below 2^-20 g of |x| |q| or (|x| + |q|)^2, since their unit is 2^-29 of that of
 * f32. Where the lowest scores are wanted, keys are negated: a higher key is always better.
 */
#ifndef EMBI_OPS_INTERVAL_H
#define EMBI_OPS_INTERVAL_H

#include "ops/topk.h"
#include "table/table.h"

#define EMBI_LARGEST_BOUND 0.05 /* of g, for the inequalities above */

/* Is the squared norm within the range where they hold? Not for a zero row, NaN, an infinity. */
static inline bool embi_norm2_usable(float norm2)
{
    return norm2 >= 0x1p-60f && norm2 <= 0x1p100f;
}

/* How scores are compared, and g. */
struct embi_measure {
    emb_metric metric;
    bool farthest;
    double g;
};

/* For each row of a piece: key = dot * scale * m + add, error = slope * m + base (+ a constant of
 * the query), where m is |q| for euclidean and 1 otherwise. */
struct embi_keys {
    double scale[EMBI_BLOCK_ROWS], add[EMBI_BLOCK_ROWS];
    double slope[EMBI_BLOCK_ROWS], base[EMBI_BLOCK_ROWS];
};

/* From norm2 [n]. A row with an unusable norm gets an upper end of -Inf or NaN: it never counts. */
void embi_keys_prepare(struct embi_keys *keys, const struct embi_measure *m, const float *norm2,
                       size_t n);

/* lo [n] and hi [n] of the rows for one query with |q|^2 = q_norm2, from dot [n]. */
void embi_keys_intervals(const struct embi_keys *keys, const struct embi_measure *m,
                         const float *dot, size_t n, double q_norm2, double *lo, double *hi);

/* The same for a row whose canonical score is known. */
struct embi_candidate embi_key_of_score(const struct embi_measure *m, double q_norm2, uint64_t row,
                                        double score);

#endif
