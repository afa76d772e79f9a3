/* half.h - the small floats (f16, bf16 and the 8-bit kinds), one value at a time.
 *
 * Every small float is a sign, an exponent and a mantissa with subnormals, so one decoder and one
 * encoder serve them all; a struct embi_small says what differs. Decoding is exact (each value is
 * an f32). Encoding rounds once, to nearest, ties to even, from the f64 that it is given; since
 * every f32 is an f64, that is one rounding for f32 sources too. Layouts: IEEE 754-2008 (binary16),
 * OCP OFP8 and OCP MX (E4M3, E5M2, E8M0), the FNUZ variants as PyTorch defines them.
 */
#ifndef EMBI_NUM_HALF_H
#define EMBI_NUM_HALF_H

#include "util/base.h"
#include "util/both.h"

/* Codes are magnitudes here, the sign bit apart. */
struct embi_small {
    int sign_shift;     /* the place of the sign bit */
    int mantissa_bits;  /* m */
    int bias;           /* a normal value is 2^(field - bias) * (1 + mantissa / 2^m) */
    unsigned max;       /* the largest finite magnitude */
    unsigned infinity;  /* what an infinity or overflow becomes: an infinity, or a NaN */
    unsigned nan;       /* what a NaN becomes */
    bool unsigned_zero; /* FNUZ: no -0, and the one NaN is the code of -0 */
};

static const struct embi_small embi_small_f16 = {15, 10, 15, 0x7BFF, 0x7C00, 0x7E00, false};
static const struct embi_small embi_small_bf16 = {15, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, false};
static const struct embi_small embi_small_e4m3 = {7, 3, 7, 0x7E, 0x7F, 0x7F, false};
static const struct embi_small embi_small_e5m2 = {7, 2, 15, 0x7B, 0x7C, 0x7F, false};
static const struct embi_small embi_small_e4m3fnuz = {7, 3, 8, 0x7F, 0x80, 0x80, true};
static const struct embi_small embi_small_e5m2fnuz = {7, 2, 16, 0x7F, 0x80, 0x80, true};

#define EMBI_E8M0_NAN 0xFFu

EMBI_BOTH static inline uint32_t embi_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

EMBI_BOTH static inline float embi_f32_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

EMBI_BOTH static inline uint64_t embi_f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

EMBI_BOTH static inline double embi_f64_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The magnitude of a finite value. */
static inline float embi_small_magnitude(unsigned magnitude, int m, int bias)
{
    unsigned field = magnitude >> m;
    unsigned mantissa = magnitude & ((1u << m) - 1);
    if (field == 0) /* m bits times a power of two above 2^-149: exact */
        return (float)mantissa * embi_f32_of((uint32_t)(128 - bias - m) << 23);
    return embi_f32_of((uint32_t)((int)field + 127 - bias) << 23 | mantissa << (23 - m));
}

/* A NaN keeps its sign and payload and becomes quiet, as the F16C instruction does it. */
static inline float embi_f32_from_f16(uint16_t code)
{
    uint32_t sign = (uint32_t)(code & 0x8000u) << 16;
    unsigned magnitude = code & 0x7FFFu;
    if (magnitude > 0x7C00)
        return embi_f32_of(sign | 0x7FC00000u | (uint32_t)(magnitude & 0x3FF) << 13);
    if (magnitude == 0x7C00)
        return embi_f32_of(sign | 0x7F800000u);
    return embi_f32_of(sign | embi_f32_bits(embi_small_magnitude(magnitude, 10, 15)));
}

EMBI_BOTH static inline float embi_f32_from_bf16(uint16_t code)
{
    return embi_f32_of((uint32_t)code << 16);
}

static inline float embi_f32_from_f8(uint8_t code, const struct embi_small *f)
{
    uint32_t sign = (uint32_t)(code & 0x80u) << 24;
    unsigned magnitude = code & 0x7Fu;
    if (f->unsigned_zero && code == f->nan)
        return embi_f32_of(0x7FC00000u);
    if (magnitude > f->max && magnitude == f->infinity && f->infinity != f->nan)
        return embi_f32_of(sign | 0x7F800000u);
    if (magnitude > f->max)
        return embi_f32_of(sign | 0x7FC00000u);
    return embi_f32_of(sign |
                       embi_f32_bits(embi_small_magnitude(magnitude, f->mantissa_bits, f->bias)));
}

/* 2^(code - 127): code 0 is the subnormal f32 2^-127. */
static inline float embi_f32_from_e8m0(uint8_t code)
{
    if (code == EMBI_E8M0_NAN)
        return embi_f32_of(0x7FC00000u);
    return embi_f32_of(code == 0 ? 0x00400000u : (uint32_t)code << 23);
}

/* significand / 2^shift, rounded to nearest, ties to even. significand < 2^53. */
static inline uint64_t embi_round_shift(uint64_t significand, int shift)
{
    if (shift > 54)
        return 0; /* less than a quarter */
    uint64_t n = significand >> shift;
    uint64_t rest = significand & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    return n + (rest > half || (rest == half && (n & 1)));
}

/* The code of x. *overflow (not NULL) grows by one where a finite x has no finite code. */
static inline unsigned embi_small_from_f64(double x, const struct embi_small *f, uint64_t *overflow)
{
    uint64_t bits = embi_f64_bits(x);
    unsigned sign = (unsigned)(bits >> 63) << f->sign_shift;
    uint64_t fraction = bits & 0xFFFFFFFFFFFFFu;
    int field = (int)(bits >> 52 & 0x7FF);
    if (field == 0x7FF && fraction != 0) /* bf16 alone keeps a payload: it is the top of an f32 */
        return f->mantissa_bits == 7 ? sign | f->nan | (unsigned)(fraction >> 45) : sign | f->nan;
    if (field == 0x7FF)
        return sign | f->infinity;

    int e = (field == 0 ? 1 : field) - 1023;
    int lowest = 1 - f->bias; /* exponent of the smallest normal; below it the quantum stays */
    uint64_t significand = fraction | (uint64_t)(field != 0) << 52;
    int shift = 52 - f->mantissa_bits + (e < lowest ? lowest - e : 0);
    uint64_t code = embi_round_shift(significand, shift); /* a carry runs into the exponent */
    if (e > lowest)
        code += (uint64_t)(e - lowest) << f->mantissa_bits;
    if (code > f->max) {
        *overflow += 1;
        return sign | f->infinity;
    }
    return f->unsigned_zero && code == 0 ? 0 : sign | (unsigned)code;
}

/* Nearest power of two, a tie (1.5 * 2^n) to the even code; below 2^-127 the lowest one. Zero and
 * negative values have no code: they become NaN and are counted like overflows. */
static inline uint8_t embi_e8m0_from_f64(double x, uint64_t *overflow)
{
    uint64_t bits = embi_f64_bits(x);
    int field = (int)(bits >> 52); /* with the sign, so that negative values are above 0x7FF */
    if ((field & 0x7FF) == 0x7FF)
        return EMBI_E8M0_NAN;
    uint64_t fraction = bits & 0xFFFFFFFFFFFFFu;
    uint64_t half = (uint64_t)1 << 51;
    int code = (field & 0x7FF) - 1023 + 127;
    if (code < 0 && x > 0)
        return 0;
    code += fraction > half || (fraction == half && (code & 1));
    if (!(x > 0) || code > 254) {
        *overflow += 1;
        return EMBI_E8M0_NAN;
    }
    return (uint8_t)code;
}

/* From f32: the scalar reference of the narrowing kernels (kern_scalar.c). The carry of the
 * addition in bf16 runs into the exponent, and from the largest values on into infinity. */
static inline uint16_t embi_f16_from_f32(float x)
{
    uint64_t overflow = 0;
    return (uint16_t)embi_small_from_f64((double)x, &embi_small_f16, &overflow);
}

EMBI_BOTH static inline uint16_t embi_bf16_from_f32(float x)
{
    uint32_t bits = embi_f32_bits(x);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

#endif
