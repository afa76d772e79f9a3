/* normal.h - normal deviates from random words: Box-Muller in f32 and in f64.
 *
 * Implements: G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates",
 * Ann. Math. Stat. 29 (1958): with u in (0, 1] and a random angle t, sqrt(-2 ln u) * (cos t, sin t)
 * are two independent normal deviates.
 *
 * Results are a contract (the same seed gives the same table on every machine), so nothing here may
 * depend on a maths library: only +, -, *, /, sqrt and conversions, each rounded once as IEEE 754
 * says, in the order written, never fused. There are no branches, so that loops over these
 * functions become vector code, as kern_normal.h has it by hand; series are those of the textbook,
 * cut where the rest is below the rounding.
 */
#ifndef EMBI_NUM_NORMAL_H
#define EMBI_NUM_NORMAL_H

#include "num/half.h"

#include <math.h>

/* ln u for u in [2^-32, 1]. u = m * 2^e with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh s with
 * s = (m - 1) / (m + 1), |s| < 0.172. ln 2 is split so that e times its first part is exact. */
EMBI_BOTH static inline float embi_log_f32(float u)
{
    const uint32_t sqrt_half = 0x3f3504f3; /* bits of sqrt(1/2) */
    uint32_t above = embi_f32_bits(u) - sqrt_half;
    float e = (float)((int32_t)above >> 23);
    float m = embi_f32_of((above & 0x7fffff) + sqrt_half);
    float f = m - 1.0f;
    float s = f / (f + 2.0f);
    float z = s * s;
    float p = 1.0f / 9;
    p = p * z + 1.0f / 7;
    p = p * z + 1.0f / 5;
    p = p * z + 1.0f / 3;
    float s2 = s + s;
    return e * 0x1.62e4p-1f + (s2 + (s2 * (z * p) + e * 0x1.7f7d1cp-20f));
}

/* The same for f64 and u in [2^-53, 1]. */
EMBI_BOTH static inline double embi_log_f64(double u)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
    uint64_t above = embi_f64_bits(u) - sqrt_half;
    double e = (double)((int64_t)above >> 52);
    double m = embi_f64_of((above & 0xfffffffffffff) + sqrt_half);
    double f = m - 1.0;
    double s = f / (f + 2.0);
    double z = s * s;
    double p = 1.0 / 21;
    p = p * z + 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z + 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    double s2 = s + s;
    return e * 0x1.62e42fefap-1 + (s2 + (s2 * (z * p) + e * 0x1.cf79abc9e3b3ap-40));
}

/* cos and sin of y in [-pi/4, pi/4]. */
EMBI_BOTH static inline float embi_cos_f32(float y)
{
    float z = y * y;
    float p = -1.0f / 3628800;
    p = p * z + 1.0f / 40320;
    p = p * z - 1.0f / 720;
    p = p * z + 1.0f / 24;
    p = p * z - 0.5f;
    return p * z + 1.0f;
}

EMBI_BOTH static inline float embi_sin_f32(float y)
{
    float z = y * y;
    float p = 1.0f / 362880;
    p = p * z - 1.0f / 5040;
    p = p * z + 1.0f / 120;
    p = p * z - 1.0f / 6;
    return y + y * (z * p);
}

EMBI_BOTH static inline double embi_cos_f64(double y)
{
    double z = y * y;
    double p = 1.0 / 20922789888000;
    p = p * z - 1.0 / 87178291200;
    p = p * z + 1.0 / 479001600;
    p = p * z - 1.0 / 3628800;
    p = p * z + 1.0 / 40320;
    p = p * z - 1.0 / 720;
    p = p * z + 1.0 / 24;
    p = p * z - 0.5;
    return p * z + 1.0;
}

EMBI_BOTH static inline double embi_sin_f64(double y)
{
    double z = y * y;
    double p = 1.0 / 355687428096000;
    p = p * z - 1.0 / 1307674368000;
    p = p * z + 1.0 / 6227020800;
    p = p * z - 1.0 / 39916800;
    p = p * z + 1.0 / 362880;
    p = p * z - 1.0 / 5040;
    p = p * z + 1.0 / 120;
    p = p * z - 1.0 / 6;
    return y + y * (z * p);
}

/* Two deviates from 32 bits of radius and 32 of angle. u = (radius / 2) * 2^-31 + 2^-32, so that
 * the longest vector is sqrt(64 ln 2) = 6.66. The angle (a + 1/2) * 2 pi / 2^32 is reduced as an
 * integer to the nearest quarter turn q and a rest in [-pi/4, pi/4], which costs no accuracy. */
EMBI_BOTH static inline void embi_normal_f32(uint32_t radius, uint32_t angle, float *a, float *b)
{
    float u = (float)(int32_t)(radius >> 1) * 0x1p-31f + 0x1p-32f;
    float r = sqrtf(-2.0f * embi_log_f32(u));
    uint32_t q = (angle + (1u << 29)) >> 30;
    float y = ((float)(int32_t)(angle - (q << 30)) + 0.5f) * 0x1.921fb6p-30f;
    uint32_t c = embi_f32_bits(embi_cos_f32(y)), s = embi_f32_bits(embi_sin_f32(y));
    uint32_t odd = 0 - (q & 1); /* all ones: cos and sin change places */
    uint32_t x = (c & ~odd) | (s & odd), w = (s & ~odd) | (c & odd);
    *a = r * embi_f32_of(x ^ ((q + 1) & 2) << 30);
    *b = r * embi_f32_of(w ^ (q & 2) << 30);
}

/* The same from 64 bits each: u = (radius / 2^11 + 1) * 2^-53, the longest vector is 8.57. */
EMBI_BOTH static inline void embi_normal_f64(uint64_t radius, uint64_t angle, double *a, double *b)
{
    double u = (double)(int64_t)((radius >> 11) + 1) * 0x1p-53;
    double r = sqrt(-2.0 * embi_log_f64(u));
    uint64_t q = (angle + (1ull << 61)) >> 62;
    double y = ((double)(int64_t)(angle - (q << 62)) + 0.5) * 0x1.921fb54442d18p-62;
    uint64_t c = embi_f64_bits(embi_cos_f64(y)), s = embi_f64_bits(embi_sin_f64(y));
    uint64_t odd = 0 - (q & 1);
    uint64_t x = (c & ~odd) | (s & odd), w = (s & ~odd) | (c & odd);
    *a = r * embi_f64_of(x ^ ((q + 1) & 2) << 62);
    *b = r * embi_f64_of(w ^ (q & 2) << 62);
}

#endif
