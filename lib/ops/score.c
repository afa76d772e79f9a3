/* score.c - canonical scores: what emb_search reports and ranks by.
 *
 * Each score is a function of the bits of the two vectors alone: sums run over 8 virtual lanes
 * (embi_dot_f64), nothing is fused. Where squares leave the comfortable range of f64 the vectors
 * are first scaled by powers of two, so that a score is never NaN and zero only for good reason.
 * cosine is dot / sqrt(|x|^2 |q|^2): for equal vectors sqrt(n * n) == n, and the score is
 * exactly 1.
 */
#include "num/kern.h"
#include "ops/search.h"

#include <math.h>

bool embi_all_finite(const double *x, double norm2, uint32_t d)
{
    if (isfinite(norm2))
        return true;
    for (uint32_t i = 0; i < d; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

bool embi_all_zero(const double *x, uint32_t d)
{
    for (uint32_t i = 0; i < d; i++)
        if (x[i] != 0)
            return false;
    return true;
}

void embi_subtract(double *x, const double *center, uint32_t d)
{
    if (!center)
        return;
    for (uint32_t i = 0; i < d; i++)
        x[i] -= center[i];
}

int embi_scale_exponent(double x)
{
    int e;
    frexp(x, &e);
    return e > 1000 ? 1000 : e < -1000 ? -1000 : e;
}

double embi_largest(const double *x, uint32_t d)
{
    double largest = 0;
    for (uint32_t i = 0; i < d; i++)
        largest = fmax(largest, fabs(x[i]));
    return largest;
}

static int exponent_of(const double *x, uint32_t d)
{
    return embi_scale_exponent(embi_largest(x, d));
}

/* Dot product of x * 2^-ex and q * 2^-eq, in the order of the elements. */
static double scaled_dot(const double *x, int ex, const double *q, int eq, uint32_t d)
{
    double sx = ldexp(1, -ex), sq = ldexp(1, -eq), sum = 0;
    for (uint32_t i = 0; i < d; i++)
        sum += (x[i] * sx) * (q[i] * sq);
    return sum;
}

static double cosine(const double *x, double xn, const double *q, double qn, uint32_t d)
{
    if (embi_comfortable(xn) && embi_comfortable(qn))
        return embi_clamp_cosine(embi_dot_f64(x, q, d) / sqrt(xn * qn));
    int ex = exponent_of(x, d), eq = exponent_of(q, d);
    xn = scaled_dot(x, ex, x, ex, d);
    qn = scaled_dot(q, eq, q, eq, d);
    if (xn == 0 || qn == 0)
        return 0;
    return embi_clamp_cosine(scaled_dot(x, ex, q, eq, d) / sqrt(xn * qn));
}

static double dot(const double *x, const double *q, uint32_t d)
{
    double sum = embi_dot_f64(x, q, d);
    if (isfinite(sum))
        return sum;
    int ex = exponent_of(x, d), eq = exponent_of(q, d);
    return ldexp(scaled_dot(x, ex, q, eq, d), ex + eq);
}

/* |x - q|^2 in the lanes of embi_dot_f64. Powers of two scale the elements before the difference is
 * taken, where that would overflow, or the difference, where its square would leave f64: the
 * elements of a tiny difference may be too large to be scaled themselves. */
static double distance2(const double *x, const double *q, uint32_t d, double before, double after)
{
    double lane[8] = {0};
    size_t lanes = 8;
    for (size_t i = 0; i < d; i += lanes) {
        lanes = embi_min(8, d - i);
        for (size_t l = 0; l < lanes; l++) {
            double difference = (x[i + l] * before - q[i + l] * before) * after;
            lane[l] += difference * difference;
        }
    }
    return embi_join_lanes(lane);
}

static double distance(const double *x, const double *q, uint32_t d)
{
    double sum = distance2(x, q, d, 1, 1);
    if (embi_comfortable(sum))
        return sqrt(sum);
    double largest = 0;
    for (uint32_t i = 0; i < d; i++)
        largest = fmax(largest, fabs(x[i] - q[i]));
    if (isinf(largest))
        return ldexp(sqrt(distance2(x, q, d, 0x1p-1000, 1)), 1000);
    int e = embi_scale_exponent(largest);
    return ldexp(sqrt(distance2(x, q, d, 1, ldexp(1, -e))), e);
}

/* Adding zero turns -0 into 0. */
double embi_score(const double *x, double x_norm2, const double *q, double q_norm2, uint32_t d,
                  emb_metric metric)
{
    switch (metric) {
    case EMB_DOT: return dot(x, q, d) + 0.0;
    case EMB_EUCLIDEAN: return 0.0 - distance(x, q, d);
    case EMB_COSINE: break;
    }
    return cosine(x, x_norm2, q, q_norm2, d) + 0.0;
}

double emb_score(const double *a, const double *b, uint32_t dims, emb_metric metric)
{
    return embi_score(a, embi_dot_f64(a, a, dims), b, embi_dot_f64(b, b, dims), dims, metric);
}
