/* decimal_read.c - decimal text to binary floating point, rounded once.
 *
 * Three steps: text to a whole number w of at most 19 digits times 10^q; w * 10^q to bits with one
 * or two 64-bit products (after Eisel and Lemire, but with the error of the product carried along
 * as an interval, so that a decided answer is right by construction); and where the interval holds
 * the middle between two results, exact comparison (decimal_exact.c). Text tables have a fast path
 * of their own. May not allocate, nor go through a wider type.
 */
#include "num/decimal.h"

#include <float.h>
#include <string.h>

#include "num/decimal_impl.h"

#define W_DIGITS 19 /* 10^19 < 2^64 */

/* The exponent in the text is cut here: far beyond any number of digits a span can have. */
#define EXP_MAX INT64_C(1000000000000000000)

/* A number as read: (-1)^negative * w * 10^q, and if cut, more than w and less than w + 1. */
struct decimal {
    uint64_t w;
    int64_t q;
    bool negative;
    bool cut;
    struct embi_digits digits;
};

/* The bits of the number rounded to f, without sign, in *bits. False if this cannot be told: then
 * *bits is the result rounded down, and the right one is that or the next. w is not 0.
 *
 * With w and T scaled to 64 and 128 bits, the number is in [P, P + w) of P = w * T < 2^192. P is
 * hi, mid, low. */
EMBI_INLINE bool round_product(uint64_t w, int64_t q, struct embi_float f, uint64_t *bits)
{
    /* Below 10^(19-343) or at least 10^309 it is 0 or Inf in any format. */
    if (q < EMBI_POW10_FIRST || q > 308) {
        *bits = q < 0 ? 0 : embi_float_inf(f);
        return true;
    }
    int zeros = __builtin_clzll(w);
    w <<= zeros;
    const uint64_t *power = embi_pow10[q - EMBI_POW10_FIRST];
    embi_u128 product = (embi_u128)w * power[0];
    uint64_t hi = (uint64_t)(product >> 64), mid = (uint64_t)product;
    int top = 62 + (int)(hi >> 63); /* the highest bit of hi that is set */
    int exponent = embi_log2_pow10((int)q) - zeros + 1 + top;
    int emin = embi_float_emin(f), drop = top - f.frac_bits;
    uint64_t base = (uint64_t)(exponent - emin) << f.frac_bits;
    bool normal = exponent >= emin;
    if (exponent > embi_float_emax(f)) {
        *bits = embi_float_inf(f);
        return true;
    }
    if (__builtin_expect(!normal, 0)) {
        drop += emin - exponent - 2;
        *bits = base = mid = 0;
        if (drop > 63) /* below a quarter of the least subnormal */
            return true;
        hi >>= 2; /* so that the middle fits; the number stays below hi + 1.25 */
    }
    /* Without low and the second word of T the number is in [hi:mid, hi:mid + 2^64). */
    uint64_t half = UINT64_C(1) << (drop - 1), mask = 2 * half - 1;
    bool decided = (hi & mask) - (half - 1) > 1 || ((hi & mask) == half && mid > 0);
    if (__builtin_expect(!decided && normal, 0)) {
        embi_u128 rest = (embi_u128)w * power[1];
        mid += (uint64_t)(rest >> 64);
        hi += mid < (uint64_t)(rest >> 64);
        /* Now in [hi:mid, hi:mid + 2): undecided for half:0 and the one below it. */
        decided = (hi & mask) == half ? mid > 0 : mid < UINT64_MAX;
    }
    /* To the nearest, without a jump that would be mispredicted half the time: add one to the bit
     * of the half. */
    *bits = base + (((hi >> (drop - 1)) + decided) >> 1);
    return decided;
}

/* The bits of d rounded to f, with its sign. */
EMBI_INLINE uint64_t round_decimal(const struct decimal *d, struct embi_float f)
{
    uint64_t sign = d->negative ? embi_float_sign(f) : 0;
    uint64_t bits, above, c;
    if (d->w == 0)
        return sign;
    bool decided = round_product(d->w, d->q, f, &bits);
    if (decided && d->cut)
        decided = round_product(d->w + 1, d->q, f, &above) && above == bits;
    if (decided)
        return sign | bits;
    int x = embi_float_split(bits, f, &c);
    int side = embi_decimal_compare(&d->digits, 2 * c + 1, x - 1);
    return sign | (bits + (side > 0 || (side == 0 && (bits & 1))));
}

static bool is_digit(char c)
{
    return (unsigned char)c - (unsigned)'0' < 10;
}

/* Reads the exponent after the e, s[0, n), all of it. */
static bool parse_exponent(const char *s, size_t n, int64_t *exp)
{
    bool negative = n > 0 && *s == '-';
    size_t i = n > 0 && (*s == '-' || *s == '+');
    int64_t e = 0;
    if (i == n)
        return false;
    for (; i < n; i++) {
        if (!is_digit(s[i]))
            return false;
        if (e < EXP_MAX / 10)
            e = e * 10 + (s[i] - '0');
    }
    *exp = negative ? -e : e;
    return true;
}

/* Reads digits and point at the start of s[0, n) into w, q and cut; returns their length, 0 without
 * a digit. */
static size_t parse_digits(const char *s, size_t n, struct decimal *d)
{
    size_t i = 0;
    int kept = 0;
    bool point = false;
    for (; i < n; i++) {
        if (is_digit(s[i])) {
            unsigned digit = (unsigned)(s[i] - '0');
            if (kept < W_DIGITS) {
                d->w = d->w * 10 + digit;
                kept += d->w > 0;
                d->q -= point;
            } else {
                d->cut |= digit != 0;
                d->q += !point;
            }
        } else if (s[i] == '.' && !point) {
            point = true;
        } else {
            break;
        }
    }
    return i > point ? i : 0;
}

/* Reads the unsigned number that is all of s[0, n). */
static bool parse_number(const char *s, size_t n, struct decimal *d)
{
    size_t used = parse_digits(s, n, d);
    if (used == 0)
        return false;
    d->digits = (struct embi_digits){s, used, 0};
    if (used == n)
        return true;
    if ((s[used] | 0x20) != 'e' || !parse_exponent(s + used + 1, n - used - 1, &d->digits.exp))
        return false;
    d->q += d->digits.exp;
    return true;
}

/* word is lower case letters. */
static bool same_word(const char *s, size_t n, const char *word)
{
    if (n != strlen(word))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((s[i] | 0x20) != word[i])
            return false;
    return true;
}

/* The bits in f of the number that is all of s[0, n). */
EMBI_INLINE bool read_bits(const char *s, size_t n, struct embi_float f, uint64_t *bits)
{
    struct decimal d = {.negative = n > 0 && *s == '-'};
    size_t skip = n > 0 && (*s == '-' || *s == '+');
    s += skip;
    n -= skip;
    if (parse_number(s, n, &d)) {
        *bits = round_decimal(&d, f);
        return true;
    }
    *bits = embi_float_inf(f) | (d.negative ? embi_float_sign(f) : 0);
    if (same_word(s, n, "inf") || same_word(s, n, "infinity"))
        return true;
    *bits |= UINT64_C(1) << (f.frac_bits - 1);
    return same_word(s, n, "nan");
}

bool embi_read_f64(const char *s, size_t n, double *out)
{
    uint64_t bits;
    if (!read_bits(s, n, EMBI_FLOAT_F64, &bits))
        return false;
    memcpy(out, &bits, sizeof *out);
    return true;
}

bool embi_read_f32(const char *s, size_t n, float *out)
{
    uint64_t bits;
    if (!read_bits(s, n, EMBI_FLOAT_F32, &bits))
        return false;
    memcpy(out, &(uint32_t){(uint32_t)bits}, sizeof *out);
    return true;
}

bool embi_read_f16(const char *s, size_t n, uint16_t *out)
{
    uint64_t bits;
    if (!read_bits(s, n, EMBI_FLOAT_F16, &bits))
        return false;
    *out = (uint16_t)bits;
    return true;
}

bool embi_read_bf16(const char *s, size_t n, uint16_t *out)
{
    uint64_t bits;
    if (!read_bits(s, n, EMBI_FLOAT_BF16, &bits))
        return false;
    *out = (uint16_t)bits;
    return true;
}

static bool is_separator(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Eight bytes of text as a number, the first byte lowest. */
static inline uint64_t load8(const char *s)
{
    uint64_t v;
    memcpy(&v, s, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

/* How many of the eight bytes of v are digits before the first that is not, 0 to 8. A byte is a
 * digit if its high half is 3 and stays 3 when 6 is added; a carry out of a byte only reaches bytes
 * after a non-digit. */
static inline int count_digits(uint64_t v)
{
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0), threes = UINT64_C(0x3030303030303030);
    uint64_t other = ((v & high) ^ threes) | (((v + UINT64_C(0x0606060606060606)) & high) ^ threes);
    return other == 0 ? 8 : __builtin_ctzll(other) >> 3;
}

/* The number written by the digits in the eight bytes of v; bytes of 0 count as the digit 0. */
static inline uint64_t eight_digits(uint64_t v)
{
    v = ((v & UINT64_C(0x0f0f0f0f0f0f0f0f)) * (10 * 256 + 1)) >> 8;
    v = ((v & UINT64_C(0x00ff00ff00ff00ff)) * (UINT64_C(100) * 65536 + 1)) >> 16;
    return ((v & UINT64_C(0x0000ffff0000ffff)) * ((UINT64_C(10000) << 32) + 1)) >> 32;
}

#define FAST_BYTES 24 /* what scan_plain may look at: a sign, 4 digits, a point, 2 * 8 bytes */

/* Reads the usual field of a text table: an optional -, 1 to 4 digits, then a point and up to 15
 * digits, or not. s[FAST_BYTES]. Returns the length of the field, 0 if it is of another form. */
static inline size_t scan_plain(const char *s, uint64_t *whole, int *q)
{
    static const uint32_t power10[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    const char *p = s + (*s == '-'), *first = p;
    uint64_t w = 0;
    *q = 0;
    while (p < first + 4 && is_digit(*p))
        w = w * 10 + (uint64_t)(*p++ - '0');
    if (p == first)
        return 0;
    if (*p == '.') {
        uint64_t v = load8(++p);
        int n = count_digits(v);
        if (n == 8) {
            w = w * 100000000 + eight_digits(v);
            *q = -8;
            p += 8;
            v = load8(p);
            n = count_digits(v);
            if (n == 8)
                return 0;
        }
        /* Shifted twice, for a shift by 64 is not defined. */
        w = w * power10[n] + eight_digits(v << 8 << (56 - 8 * n));
        *q -= n;
        p += n;
    }
    *whole = w;
    return is_separator(*p) ? (size_t)(p - s) : 0;
}

static __attribute__((noinline, cold)) size_t scan_any(const char *s, size_t n, float *out)
{
    size_t field = 0;
    while (field < n && !is_separator(s[field]))
        field++;
    return embi_read_f32(s, field, out) ? field : 0;
}

/* The bits of w * 10^q by one division of two numbers that f32 holds exactly, so rounded once (W.
 * Clinger, "How to Read Floating Point Numbers Accurately", 1990). False if they do not fit. */
static inline bool divide_exact(uint64_t w, int q, uint32_t *bits)
{
    static const float power10[11] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f,
                                      1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    if (w > 1 << 24 || q < -10 || FLT_EVAL_METHOD != 0)
        return false;
    float x = (float)(int32_t)w / power10[-q];
    memcpy(bits, &x, sizeof x);
    return true;
}

size_t embi_scan_f32(const char *s, size_t n, float *out)
{
    uint64_t w, rounded = 0;
    uint32_t bits;
    int q;
    size_t used = n < FAST_BYTES ? 0 : scan_plain(s, &w, &q);
    if (used == 0)
        return scan_any(s, n, out);
    if (!divide_exact(w, q, &bits)) {
        if (w != 0 && !round_product(w, q, EMBI_FLOAT_F32, &rounded))
            return scan_any(s, n, out);
        bits = (uint32_t)rounded;
    }
    bits |= (uint32_t)(*s == '-') << 31; /* signs come at random: no jump on them */
    memcpy(out, &bits, sizeof *out);
    return used;
}
