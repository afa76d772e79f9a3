/* interval.c - see interval.h, where the inequalities are. */
#include "ops/interval.h"

#include <float.h>
#include <math.h>

#define ROUNDINGS 0x1p-20 /* of the canonical score, as a share of g                         */
#define SLACK     0x1p-20 /* of the f32 form, as a share of its terms                        */

/* Lengths of queries for which a U is a normal number of f32, whatever the row. */
#define SHORTEST 0x1p-20
#define LONGEST  0x1p20

static double bound_of(const struct embi_measure *m)
{
    return (1.1 + ROUNDINGS) * m->g;
}

/* At most x (1 - SLACK), in f32. */
static float lower(double x)
{
    double y = x - SLACK * fabs(x);
    return y < -FLT_MAX ? -INFINITY : y > FLT_MAX ? FLT_MAX : (float)y;
}

/* What the bias of a row adds to its score, where a higher one is better. */
static double bias_of(const struct embi_measure *m, uint64_t row)
{
    double bias = m->bias ? m->bias[row] : 0;
    return m->farthest ? -bias : bias;
}

/* Plain loops, one for each metric, which compilers turn into vector code. */
static void reach_of_all(const struct embi_measure *m, const float *norm2, size_t n, float *u,
                         float *w)
{
    float bound = (float)(bound_of(m) * (1 + SLACK));
    float square = (float)((m->farthest ? -1 : 1) - bound_of(m) - SLACK);
    for (size_t i = 0; m->metric == EMB_COSINE && i < n; i++) {
        u[i] = sqrtf(norm2[i]);
        w[i] = (float)-SLACK * u[i];
    }
    for (size_t i = 0; m->metric != EMB_COSINE && i < n; i++)
        w[i] = -bound * sqrtf(norm2[i]);
    for (size_t i = 0; m->metric != EMB_COSINE && i < n; i++)
        u[i] = m->metric == EMB_EUCLIDEAN ? square * norm2[i] : 0;
}

void embi_rows_reach(const struct embi_measure *m, const uint64_t *ids, const float *norm2,
                     size_t n, float *u, float *w)
{
    reach_of_all(m, norm2, n, u, w);
    for (size_t i = 0; m->bias && i < n; i++)
        u[i] = lower(-bias_of(m, ids[i]));
    for (size_t i = 0; i < n; i++)
        if (!embi_norm2_usable(norm2[i])) {
            u[i] = 0;
            w[i] = NAN;
        }
}

void embi_query_reach(const struct embi_measure *m, double q_norm2, double floor, float *a,
                      float *c)
{
    double norm = sqrt(q_norm2);
    *a = 0;
    *c = -INFINITY;
    if (m->metric == EMB_COSINE) {
        *a = (float)fmax(floor - 2 * m->g, -2); /* no cosine is below that */
        *c = 0;
    } else if (m->metric == EMB_DOT) {
        *a = m->bias ? (float)(1 / norm) : 0;
        *c = lower(floor);
    } else if (norm >= SHORTEST && norm <= LONGEST) {
        *a = (float)(0.5 / norm);
        *c = lower((floor - ROUNDINGS * m->g * q_norm2) / (2 * norm));
    }
}

struct embi_candidate embi_key_of_dot(const struct embi_measure *m, double q_norm2, uint64_t row,
                                      float dot, float norm2)
{
    double n2 = (double)norm2, key = (double)dot, error = 2 * m->g, bound = bound_of(m);
    if (m->metric == EMB_COSINE) {
        key /= sqrt(n2);
    } else if (m->metric == EMB_DOT) {
        double more = bias_of(m, row) / sqrt(q_norm2);
        key += more;
        error = bound * sqrt(n2) + ROUNDINGS * m->g * fabs(more);
    } else {
        double q_norm = sqrt(q_norm2);
        key = 2 * q_norm * key + (m->farthest ? n2 : -n2);
        error = bound * (2 * q_norm * sqrt(n2) + n2) + ROUNDINGS * m->g * q_norm2;
    }
    return (struct embi_candidate){key - error, key + error, row};
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
