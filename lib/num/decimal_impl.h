/* decimal_impl.h - what the decimal reader and the decimal printer share.
 *
 * A binary format is described by two numbers, and one generic core serves all four of them. Then
 * the table of powers of ten, its logarithms, and the exact comparison that settles what 64-bit
 * products cannot. Private to num/decimal*.c and fields_x86.c (and to its unit test). May hold no
 * state.
 */
#ifndef EMBI_NUM_DECIMAL_IMPL_H
#define EMBI_NUM_DECIMAL_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Inlined with a constant format, so that each type gets code of its own. */
#define EMBI_INLINE static inline __attribute__((always_inline))

__extension__ typedef unsigned __int128 embi_u128;

/* An IEEE 754 binary format: stored mantissa bits and exponent bits; the sign is the bit above
 * both. */
struct embi_float {
    int frac_bits;
    int exp_bits;
};

#define EMBI_FLOAT_F64  ((struct embi_float){52, 11})
#define EMBI_FLOAT_F32  ((struct embi_float){23, 8})
#define EMBI_FLOAT_F16  ((struct embi_float){10, 5})
#define EMBI_FLOAT_BF16 ((struct embi_float){7, 8})

/* floor(log2) of the smallest normal number. */
EMBI_INLINE int embi_float_emin(struct embi_float f)
{
    return 2 - (1 << (f.exp_bits - 1));
}

/* floor(log2) of the largest finite number. */
EMBI_INLINE int embi_float_emax(struct embi_float f)
{
    return (1 << (f.exp_bits - 1)) - 1;
}

EMBI_INLINE uint64_t embi_float_inf(struct embi_float f)
{
    return ((UINT64_C(1) << f.exp_bits) - 1) << f.frac_bits;
}

EMBI_INLINE uint64_t embi_float_sign(struct embi_float f)
{
    return UINT64_C(1) << (f.frac_bits + f.exp_bits);
}

/* The finite value with these bits (no sign) is *c * 2^(the result). */
EMBI_INLINE int embi_float_split(uint64_t bits, struct embi_float f, uint64_t *c)
{
    uint64_t hidden = UINT64_C(1) << f.frac_bits;
    int biased = (int)(bits >> f.frac_bits);
    *c = bits & (hidden - 1);
    if (biased == 0)
        return embi_float_emin(f) - f.frac_bits;
    *c |= hidden;
    return embi_float_emin(f) - f.frac_bits + biased - 1;
}

/* Powers of ten, [q - EMBI_POW10_FIRST] = {high, low}: T = floor(10^q / 2^(embi_log2_pow10(q) -
 * 127)), so 2^127 <= T < 2^128; exact for 0 <= q <= 55, else less than one unit below the true
 * power. */
#define EMBI_POW10_FIRST   (-342)
#define EMBI_POW10_LAST    340
#define EMBI_POW10_EXACT   55 /* 5^55 < 2^128 */
#define EMBI_POW10_EXACT64 27 /* 5^27 < 2^64: the low word is 0 */
/* 10^i as a whole number, i below EMBI_TENS: all that 64 bits hold but one. */
#define EMBI_TENS          19
extern const uint64_t embi_tens[EMBI_TENS];

extern const uint64_t embi_pow10[EMBI_POW10_LAST - EMBI_POW10_FIRST + 1][2];

/* floor(log2(10^q)) for the q of the table; make_powers.py --prove checks this and the two below.
 * Right shifts of negative numbers are arithmetic in every compiler this library knows. */
EMBI_INLINE int embi_log2_pow10(int q)
{
    return (q * 1741647) >> 19; /* cppcheck-suppress shiftNegativeLHS */
}

/* floor(log10(2^e)), and of 3/4 * 2^e, for |e| <= 1100. */
EMBI_INLINE int embi_log10_pow2(int e)
{
    return (e * 1262611) >> 22;
}

EMBI_INLINE int embi_log10_three_quarters_pow2(int e)
{
    return (e * 1262611 - 524031) >> 22;
}

/* A run of decimal digits, in which one point may lie: its value is the digits, with the point,
 * times 10^exp. */
struct embi_digits {
    const char *s; /* [n] digits and at most one point */
    size_t n;
    int64_t exp;
};

/* Compares d, exactly, with h * 2^x: below 0, 0 or above 0. h is not 0 and below 2^55, d is not 0,
 * the two are within a factor of 4 of each other, and 2^-1100 < h * 2^x < 2^1025. */
int embi_decimal_compare(const struct embi_digits *d, uint64_t h, int x);

/* The same for n * 10^exp, n not 0. */
int embi_decimal_compare_u64(uint64_t n, int exp, uint64_t h, int x);

#endif
