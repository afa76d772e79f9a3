/* decimal_exact.c - exact comparison of a decimal number with a binary one, in whole numbers of any
 * size.
 *
 * The slow and certain end of num/decimal: one call in thousands comes here, when the value lies so
 * near the middle between two results that a product of 128 bits cannot tell the side. May not
 * allocate: the sizes are bounded.
 *
 * Bound. At most DIGITS_MAX + 1 digits of the decimal are kept, below 2^2662. Powers of five go to
 * the side that keeps the exponent positive: at most 5^1126 < 2^2615 on a factor below 2^55. Powers
 * of two are first cancelled, and as the two numbers are within a factor of 4, the shift brings the
 * smaller side to the size of the larger one at most. So every number is below 2^2700, and
 * BIG_WORDS words of 64 bits hold it.
 */
#include "num/decimal_impl.h"

#define BIG_WORDS 44

/* No middle between two f64 has more than 768 significant digits, so what follows digit 780 only
 * matters as "more than nothing": it is kept as one digit 1. */
#define DIGITS_MAX 780

struct big {
    int n;                 /* words in use */
    uint64_t w[BIG_WORDS]; /* [n], the lowest first; w[n-1] is not 0 */
};

/* b = b * m + a */
static void mul_add(struct big *b, uint64_t m, uint64_t a)
{
    for (int i = 0; i < b->n; i++) {
        embi_u128 t = (embi_u128)b->w[i] * m + a;
        b->w[i] = (uint64_t)t;
        a = (uint64_t)(t >> 64);
    }
    if (a != 0)
        b->w[b->n++] = a;
}

static void mul_pow5(struct big *b, int64_t e)
{
    const uint64_t pow5_27 = UINT64_C(7450580596923828125);
    for (; e >= 27; e -= 27)
        mul_add(b, pow5_27, 0);
    for (; e > 0; e--)
        mul_add(b, 5, 0);
}

static void shift_left(struct big *b, int64_t bits)
{
    int words = (int)(bits / 64);
    mul_add(b, UINT64_C(1) << (bits % 64), 0);
    for (int i = b->n - 1; words > 0 && i >= 0; i--)
        b->w[i + words] = b->w[i];
    for (int i = 0; i < words; i++)
        b->w[i] = 0;
    b->n += words;
}

static int compare(const struct big *a, const struct big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->w[i] != b->w[i])
            return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

/* Compares d * 10^exp with h * 2^x; spoils d. */
static int compare_scaled(struct big *d, int64_t exp, uint64_t h, int x)
{
    struct big b = {1, {h}};
    mul_pow5(exp < 0 ? &b : d, exp < 0 ? -exp : exp);
    if (exp < x)
        shift_left(&b, x - exp);
    else
        shift_left(d, exp - x);
    return compare(d, &b);
}

/* The digits of d as a whole number *b times 10^(the result). */
static int64_t load(struct big *b, const struct embi_digits *d)
{
    int kept = 0;
    int64_t exp = d->exp;
    bool point = false, more = false;
    b->n = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->s[i] == '.') {
            point = true;
            continue;
        }
        unsigned digit = (unsigned char)d->s[i] - (unsigned)'0';
        if (kept < DIGITS_MAX) {
            mul_add(b, 10, digit);
            kept += b->n > 0;
            exp -= point;
        } else {
            more |= digit != 0;
            exp += !point;
        }
    }
    if (more) {
        mul_add(b, 10, 1);
        exp--;
    }
    return exp;
}

int embi_decimal_compare(const struct embi_digits *d, uint64_t h, int x)
{
    struct big b;
    int64_t exp = load(&b, d);
    return compare_scaled(&b, exp, h, x);
}

int embi_decimal_compare_u64(uint64_t n, int exp, uint64_t h, int x)
{
    struct big b = {1, {n}};
    return compare_scaled(&b, exp, h, x);
}
