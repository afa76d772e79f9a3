/* interval.h - what an f32 kernel's answer says about a canonical score: an interval that holds it.
 *
 * With u = q / |q| rounded to f32 (-q / |q| where the lowest scores are wanted) and g the bound of
 * the kernel's products, of embi_dot_bound(d) or more, a kernel gives for a row x
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
 *
 * Nearly all rows are far below what a query has found already, its floor. So a row is first looked
 * at in f32: the upper end of its interval reaches the floor f only if dot >= a U + c + W, where
 *     cosine     a = f - 2 g         c = 0                        U = n           W = 0
 *     dot        a = 0               c = f                        U = 0           W = -b n
 *     euclidean  a = 1 / (2 |q|)     c = (f - r |q|^2) / (2 |q|)  U = (1 - b) n^2  W = -b n
 * with b = (1.1 + 2^-20) g and r = 2^-20 g (farthest: U = (-1 - b) n^2). A bias y of the row, which
 * adds y / |q| to the key of dot, makes a = 1 / |q| and U = -y of it. Each of these is made
 * smaller by 2^-20 of the terms of the sum, which is more than rounding them, and the sum, to f32
 * can add: 2^-21 of |a U| + |c| + |W|.
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
    const double *bias; /* of all rows of the table, with EMB_DOT; NULL: none [V] */
};

/* Lengths of queries for which biases of up to EMBI_LARGEST_BIAS leave the form in f32 as it is. */
#define EMBI_LARGEST_BIAS 0x1p60
static inline bool embi_bias_usable(double q_norm2)
{
    return q_norm2 >= 0x1p-40 && q_norm2 <= 0x1p40;
}

/* u [n] and w [n] of the rows ids [n] with norm2 [n]. A row with an unusable norm reaches no floor.
 */
void embi_rows_reach(const struct embi_measure *m, const uint64_t *ids, const float *norm2,
                     size_t n, float *u, float *w);

/* *a and *c of a query with |q|^2 = q_norm2 and that floor. */
void embi_query_reach(const struct embi_measure *m, double q_norm2, double floor, float *a,
                      float *c);

/* The interval of the row, from its usable norm2 and its product with a query of |q|^2 = q_norm2.
 */
struct embi_candidate embi_key_of_dot(const struct embi_measure *m, double q_norm2, uint64_t row,
                                      float dot, float norm2);

/* The same for a row whose canonical score is known. */
struct embi_candidate embi_key_of_score(const struct embi_measure *m, double q_norm2, uint64_t row,
                                        double score);

#endif
