/* stats_row.c - figures of one row: moments, norm, extremes.
 *
 * Sums run over 8 virtual lanes (num/kern.h): lane l adds elements l, l + 8 ..., so that the bits
 * do not depend on the instruction set. The sum of squared differences comes from the sum
 * of squares where that loses at most four bits, else from a second pass over the row, which is in
 * the first cache by then. Which of the two depends on the row alone.
 */
#include "num/kern.h"
#include "ops/stats.h"

#include <math.h>

static float load_f32(const float *x, size_t i)
{
    float value;
    memcpy(&value, (const unsigned char *)x + i * sizeof value, sizeof value);
    return value;
}

/* sum over (x - mean)^2 */
static double deviations_f32(const float *x, uint32_t d, double mean)
{
    double lanes[8] = {0};
    size_t i = 0;
    for (; i + 8 <= d; i += 8)
        for (size_t l = 0; l < 8; l++) {
            double y = (double)load_f32(x, i + l) - mean;
            lanes[l] += y * y;
        }
    for (size_t l = 0; i + l < d; l++) {
        double y = (double)load_f32(x, i + l) - mean;
        lanes[l] += y * y;
    }
    return embi_join_lanes(lanes);
}

static double deviations_f64(const double *x, uint32_t d, double scale, double mean)
{
    double lanes[8] = {0};
    for (size_t i = 0; i < d; i++) {
        double y = x[i] * scale - mean;
        lanes[i % 8] += y * y;
    }
    return embi_join_lanes(lanes);
}

/* Does norm2 - sum * mean cancel too much? */
static bool cancels(double m2, double norm2)
{
    return m2 < norm2 / 16;
}

bool embi_row_from_sums(const struct embi_row_sums *sums, uint32_t d, struct embi_row *row)
{
    row->finite = isfinite(sums->norm2); /* squares of f32 cannot overflow f64 */
    if (!row->finite)
        return true;
    double mean = d ? sums->sum / d : 0, m2 = sums->norm2 - sums->sum * mean;
    row->moments = (struct embi_moments){.n = d, .mean = mean, .m2 = m2};
    row->norm = sqrt(sums->norm2);
    row->min = (double)sums->min;
    row->max = (double)sums->max;
    return !cancels(m2, sums->norm2);
}

void embi_row_deviate(const float *x, uint32_t d, struct embi_row *row)
{
    row->moments.m2 = deviations_f32(x, d, row->moments.mean);
}

/* Sums of x * scale; min and max of x. */
struct sums {
    double sum, norm2, min, max;
};

static void sums_f64(const double *x, uint32_t d, double scale, struct sums *out)
{
    double sum[8] = {0}, square[8] = {0}, min = INFINITY, max = -INFINITY;
    size_t lanes = 8;
    for (size_t i = 0; i < d; i += lanes) {
        lanes = embi_min(8, d - i);
        for (size_t l = 0; l < lanes; l++) {
            double y = x[i + l] * scale;
            sum[l] += y;
            square[l] += y * y;
            min = embi_lower(min, x[i + l]);
            max = embi_higher(max, x[i + l]);
        }
    }
    *out = (struct sums){embi_join_lanes(sum), embi_join_lanes(square), min, max};
}

static bool all_finite(const double *x, uint32_t d)
{
    for (size_t i = 0; i < d; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Squares far from both ends of f64: none that matters was lost. (Zero rows are ordinary too.) */
static bool ordinary(const struct sums *s)
{
    return (s->norm2 >= 0x1p-900 && isfinite(s->norm2)) || (s->min == 0 && s->max == 0);
}

void embi_row_f64(const double *x, uint32_t d, struct embi_row *row)
{
    struct sums s;
    int exponent = 0; /* the row is computed with as x * 2^-exponent */
    sums_f64(x, d, 1, &s);
    row->finite = isfinite(s.norm2) || all_finite(x, d);
    if (!row->finite)
        return;
    if (d > 0 && !ordinary(&s)) {
        frexp(embi_higher(-s.min, s.max), &exponent);
        exponent = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
        sums_f64(x, d, ldexp(1, -exponent), &s);
    }
    double mean = d ? s.sum / d : 0, m2 = s.norm2 - s.sum * mean;
    if (cancels(m2, s.norm2))
        m2 = deviations_f64(x, d, ldexp(1, -exponent), mean);
    row->moments = (struct embi_moments){d, ldexp(mean, exponent), ldexp(m2, 2 * exponent)};
    row->norm = ldexp(sqrt(s.norm2), exponent);
    row->min = s.min;
    row->max = s.max;
}
