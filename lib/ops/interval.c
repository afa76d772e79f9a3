/* interval.c - see interval.h, where the inequalities are. */
#include "ops/interval.h"

#include <float.h>
#include <math.h>

#define ROUNDINGS 0x1p-20 /* of the canonical score, as a share of g */

/* One plain loop for each metric, which compilers turn into vector code; what comes out for a norm
 * that is not usable is put right afterwards. */
static void prepare_all(struct embi_keys *keys, const struct embi_measure *m, const float *norm2,
                        size_t n)
{
    double sign = m->farthest ? -1 : 1, bound = (1.1 + ROUNDINGS) * m->g;
    for (size_t i = 0; i < n; i++) {
        keys->add[i] = 0;
        keys->slope[i] = 0;
        keys->scale[i] = sign;
        keys->base[i] = 2 * m->g;
    }
    if (m->metric == EMB_COSINE)
        for (size_t i = 0; i < n; i++)
            keys->scale[i] = sign / sqrt((double)norm2[i]);
    if (m->metric == EMB_DOT)
        for (size_t i = 0; i < n; i++)
            keys->base[i] = bound * sqrt((double)norm2[i]);
    if (m->metric == EMB_EUCLIDEAN)
        for (size_t i = 0; i < n; i++) {
            keys->scale[i] = 2 * sign;
            keys->add[i] = -sign * (double)norm2[i];
            keys->slope[i] = 2 * bound * sqrt((double)norm2[i]);
            keys->base[i] = bound * (double)norm2[i];
        }
}

void embi_keys_prepare(struct embi_keys *keys, const struct embi_measure *m, const float *norm2,
                       size_t n)
{
    prepare_all(keys, m, norm2, n);
    for (size_t i = 0; i < n; i++)
        if (!embi_norm2_usable(norm2[i])) {
            keys->scale[i] = keys->add[i] = keys->slope[i] = 0;
            keys->base[i] = -INFINITY;
        }
}

void embi_keys_intervals(const struct embi_keys *keys, const struct embi_measure *m,
                         const float *dot, size_t n, double q_norm2, double *lo, double *hi)
{
    bool euclidean = m->metric == EMB_EUCLIDEAN;
    double mul = euclidean ? sqrt(q_norm2) : 1;
    double constant = euclidean ? ROUNDINGS * m->g * q_norm2 : 0;
    for (size_t i = 0; i < n; i++) {
        double key = (double)dot[i] * keys->scale[i] * mul + keys->add[i];
        double error = keys->slope[i] * mul + keys->base[i] + constant;
        lo[i] = key - error;
        hi[i] = key + error;
    }
}

struct embi_candidate embi_key_of_score(const struct embi_measure *m, double q_norm2, uint64_t row,
                                        double score)
{
    double key = score, error = 0;
    if (m->metric == EMB_DOT) {
        key = score / sqrt(q_norm2);
        error = 1e-12 * fabs(key);
    } else if (m->metric == EMB_EUCLIDEAN) {
        key = q_norm2 - score * score;
        error = 1e-12 * (q_norm2 + score * score);
    }
    if (!isfinite(key) || !isfinite(error)) /* beyond f64: may be anything */
        return (struct embi_candidate){-DBL_MAX, DBL_MAX, row};
    if (m->farthest)
        key = -key;
    return (struct embi_candidate){key - error, key + error, row};
}
