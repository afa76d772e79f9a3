/* decimal_print.c - binary floating point to decimal text: the shortest that reads back, or a given
 * number of digits.
 *
 * The shortest follows R. Giulietti, "The Schubfach way to render doubles" (2020): of the multiples
 * of the one power of ten that must have a member in the rounding interval, and of the next power,
 * pick by comparing whole numbers. The room in its products is proved by make_powers.py --prove.
 * Fixed digits are one product, settled exactly (decimal_exact.c) where it lies too near a tie. May
 * not allocate or use a floating-point operation.
 */
#include "num/decimal.h"

#include <string.h>

#include "num/decimal_impl.h"

#define DIGITS_F64 17 /* the most digits either printer makes */

const uint64_t embi_tens[EMBI_TENS] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
};

/* n * 10^exp */
struct scaled {
    uint64_t n;
    int exp;
};

/* m * 10^q / 2^(e+1), e = embi_log2_pow10(q), rounded down, its last bit set too if that is not
 * exact: so halves and quarters compare right. The power is taken rounded up; its error stays below
 * 2^-34 (narrow) or 2^-68 (wide) of the result, where no true fraction is so small. */
EMBI_INLINE uint64_t round_to_odd(uint64_t m, int q, bool wide)
{
    const uint64_t *power = embi_pow10[q - EMBI_POW10_FIRST];
    if (!wide) {
        bool up = q < 0 || q > EMBI_POW10_EXACT64;
        embi_u128 p = (embi_u128)m * (power[0] + up);
        return (uint64_t)(p >> 64) | ((uint64_t)p >> 30 != 0);
    }
    bool up = q < 0 || q > EMBI_POW10_EXACT;
    embi_u128 low = (embi_u128)m * power[1] + (up ? m : 0);
    embi_u128 p = (embi_u128)m * power[0] + (uint64_t)(low >> 64);
    return (uint64_t)(p >> 64) | (((uint64_t)p | (uint64_t)low >> 60) != 0);
}

/* The shortest decimal that rounds to c * 2^q in a format whose next number above is (c + 1) * 2^q,
 * and below (c - 1) * 2^q, or half as far if near_below. c > 0, below 2^53 if wide, else 2^24. */
EMBI_INLINE struct scaled shortest(uint64_t c, int q, bool near_below, bool wide)
{
    /* 10^k is at most the width of the interval, 10^(k+1) is more. */
    int k = near_below ? embi_log10_three_quarters_pow2(q) : embi_log10_pow2(q);
    int h = q + embi_log2_pow10(-k) + 1;
    /* The value and the ends of its interval, in quarters of 10^k; the ends count if c is even. */
    uint64_t low = round_to_odd((4 * c - 2 + near_below) << h, -k, wide) + (c & 1);
    uint64_t value = round_to_odd((4 * c) << h, -k, wide);
    uint64_t high = round_to_odd((4 * c + 2) << h, -k, wide) - (c & 1);
    uint64_t n = value / 4, tens = n / 10;
    bool down = low <= 40 * tens, up = 40 * tens + 40 <= high;
    /* Both is impossible: they are further apart than the interval is wide. Below 10 a multiple of
     * 10 is no shorter, and may be farther: the least bf16, 9.18e-41, is 9e-41 and not 1e-40. */
    if (down != up && n >= 10)
        return (struct scaled){tens + up, k + 1};
    down = low <= 4 * n;
    up = 4 * n + 4 <= high;
    if (down == up) /* take the nearer, the even of two equally near */
        up = value > 4 * n + 2 || (value == 4 * n + 2 && (n & 1));
    return (struct scaled){n + up, k};
}

/* The eight digits of n < 10^8, as bytes 0 to 9, the first digit lowest. */
static inline uint64_t eight_digits(uint32_t n)
{
    uint64_t t, v = n / 10000 | (uint64_t)(n % 10000) << 32;
    t = ((v * 10486) >> 20) & UINT64_C(0x0000007f0000007f); /* both halves / 100 */
    v = t | (v - t * 100) << 16;
    t = ((v * 103) >> 10) & UINT64_C(0x000f000f000f000f); /* all quarters / 10 */
    return t | (v - t * 10) << 8;
}

/* Stores eight digits as text. */
static inline void put_eight(char *s, uint64_t digits)
{
    digits |= UINT64_C(0x3030303030303030);
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        digits = __builtin_bswap64(digits);
    memcpy(s, &digits, sizeof digits);
}

/* How many decimal digits n has; n < 10^18, not 0. */
static inline int count_digits(uint64_t n)
{
    int guess = ((64 - __builtin_clzll(n)) * 1233) >> 12; /* that, or one too few */
    return guess + (n >= embi_tens[guess]);
}

/* Digits as text: text[0, 24) holds n with leading zeros, then more zeros so that whole blocks may
 * be copied. */
struct digits {
    char text[48];
    int first, len; /* without the zeros at either end */
    int e10;        /* the power of ten of the first digit */
};

/* n is not 0, below 10^17, or below 10^9 if not wide. */
EMBI_INLINE void make_digits(struct digits *d, struct scaled v, bool wide)
{
    uint64_t head = v.n / 100000000, tail = eight_digits((uint32_t)(v.n % 100000000));
    int count = count_digits(v.n), zeros = tail == 0 ? 8 : __builtin_clzll(tail) >> 3;
    put_eight(d->text + 16, tail);
    if (wide) {
        uint64_t middle = eight_digits((uint32_t)(head % 100000000));
        put_eight(d->text + 8, middle);
        if (tail == 0)
            zeros += middle == 0 ? 8 : __builtin_clzll(middle) >> 3;
        head /= 100000000;
    }
    d->text[wide ? 7 : 15] = (char)('0' + head);
    memset(d->text + 24, '0', 24);
    d->first = 24 - count;
    d->len = count - zeros;
    d->e10 = v.exp + count - 1;
}

/* Writes e and the exponent: a sign, two digits or three. */
static char *put_exponent(char *p, int e)
{
    unsigned u = (unsigned)(e < 0 ? -e : e);
    *p++ = 'e';
    *p++ = e < 0 ? '-' : '+';
    if (u >= 100)
        *p++ = (char)('0' + u / 100);
    *p++ = (char)('0' + u / 10 % 10);
    *p++ = (char)('0' + u % 10);
    return p;
}

/* Writes the number d stands for. Copies are 24 bytes, whatever the length: p has room for 31. */
static inline char *put_number(char *p, const struct digits *d)
{
    const char *digit = d->text + d->first;
    int e = d->e10;
    if (e < -4 || e >= 16) {
        memcpy(p + 1, digit, 24);
        p[0] = digit[0];
        p[1] = '.';
        return put_exponent(p + (d->len == 1 ? 1 : d->len + 1), e);
    }
    if (e < 0) {
        memcpy(p, "0.000", 5);
        memcpy(p + 1 - e, digit, 24);
        return p + 1 - e + d->len;
    }
    if (d->len <= e + 1) {
        memcpy(p, digit, 24);
        return p + e + 1;
    }
    memcpy(p + 1, digit, 24);
    for (int i = 0; i <= e; i++)
        p[i] = digit[i];
    p[e + 1] = '.';
    return p + d->len + 1;
}

/* Writes zero, Inf or NaN, whichever magnitude (bits without sign) is. */
static char *put_special(char *p, uint64_t magnitude, uint64_t inf)
{
    if (magnitude == 0) {
        *p++ = '0';
        return p;
    }
    memcpy(p, magnitude == inf ? "inf" : "nan", 3);
    return p + 3;
}

EMBI_INLINE size_t print_bits(char *buf, uint64_t bits, struct embi_float f)
{
    const bool wide = f.frac_bits > EMBI_FLOAT_F32.frac_bits;
    uint64_t inf = embi_float_inf(f), magnitude = bits & (embi_float_sign(f) - 1), c;
    struct digits d;
    char *p = buf;
    *p = '-';
    p += bits != magnitude && magnitude <= inf; /* a NaN has no sign here */
    if (magnitude - 1 >= inf - 1)
        return (size_t)(put_special(p, magnitude, inf) - buf);
    int q = embi_float_split(magnitude, f, &c);
    bool near_below = c == UINT64_C(1) << f.frac_bits && magnitude >> f.frac_bits > 1;
    make_digits(&d, shortest(c, q, near_below, wide), wide);
    return (size_t)(put_number(p, &d) - buf);
}

size_t embi_print_f64(char *buf, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return print_bits(buf, bits, EMBI_FLOAT_F64);
}

size_t embi_print_f32(char *buf, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return print_bits(buf, bits, EMBI_FLOAT_F32);
}

size_t embi_print_f16(char *buf, uint16_t bits)
{
    return print_bits(buf, bits, EMBI_FLOAT_F16);
}

size_t embi_print_bf16(char *buf, uint16_t bits)
{
    return print_bits(buf, bits, EMBI_FLOAT_BF16);
}

/* c * 2^q / 10^k to the nearest whole number, ties to even. The result is at least 1 and below
 * 2^62; c is not 0. */
static uint64_t divide_pow10(uint64_t c, int q, int k)
{
    int zeros = __builtin_clzll(c), drop = -(q - zeros + embi_log2_pow10(-k) + 1);
    const uint64_t *power = embi_pow10[-k - EMBI_POW10_FIRST];
    embi_u128 low = (embi_u128)(c << zeros) * power[1];
    embi_u128 product = (embi_u128)(c << zeros) * power[0] + (uint64_t)(low >> 64);
    uint64_t hi = (uint64_t)(product >> 64), mid = (uint64_t)product, n = hi >> drop;
    /* The quotient times 2^drop is in [hi:mid, hi:mid + 2): the side of the middle, half:0, is open
     * for it and the one below. */
    uint64_t half = UINT64_C(1) << (drop - 1), rest = hi & (2 * half - 1);
    bool undecided = rest == half ? mid == 0 : rest == half - 1 && mid == UINT64_MAX;
    if (!undecided)
        return n + (rest >= half);
    int side = embi_decimal_compare_u64(2 * n + 1, k, c, q + 1);
    return n + (side < 0 || (side == 0 && (n & 1)));
}

size_t embi_print_digits(char *buf, double x, int digits)
{
    uint64_t bits, c, inf = embi_float_inf(EMBI_FLOAT_F64);
    struct digits d;
    memcpy(&bits, &x, sizeof bits);
    uint64_t magnitude = bits & (embi_float_sign(EMBI_FLOAT_F64) - 1);
    if (magnitude - 1 >= inf - 1)
        return embi_print_f64(buf, x);
    digits = digits < 1 ? 1 : digits > DIGITS_F64 ? DIGITS_F64 : digits;
    int q = embi_float_split(magnitude, EMBI_FLOAT_F64, &c);
    /* k as for the power of two below the value: one less than wanted if a power of ten lies
     * between. */
    int k = embi_log10_pow2(q + 63 - __builtin_clzll(c)) - digits + 1;
    uint64_t n = divide_pow10(c, q, k), most = embi_tens[digits];
    if (n == most)
        n = embi_tens[digits - 1], k++;
    else if (n > most)
        n = divide_pow10(c, q, ++k);
    *buf = '-';
    char *p = buf + (bits != magnitude);
    make_digits(&d, (struct scaled){n, k}, true);
    return (size_t)(put_number(p, &d) - buf);
}
