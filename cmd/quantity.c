/* quantity.c - see quantity.h. Reading is exact: no number goes through a double. */
#include "quantity.h"

#include <ctype.h>

enum { DIGITS = 4, POWERS = 6 };

/* digits * 10^exponent, as they stand before a unit. */
struct decimal {
    uint64_t digits;
    int exponent;
};

static bool add_digit(struct decimal *d, char c)
{
    return embi_mul(d->digits, 10, &d->digits) &&
           embi_add(d->digits, (uint64_t)(c - '0'), &d->digits);
}

/* Digits with at most one point among them; *s moves behind them. */
static bool read_digits(const char **s, struct decimal *d)
{
    bool point = false, any = false;
    for (; isdigit((unsigned char)**s) || (**s == '.' && !point); ++*s) {
        if (**s == '.') {
            point = true;
            continue;
        }
        if (!add_digit(d, **s))
            return false;
        any = true;
        d->exponent -= point;
    }
    return any;
}

/* e9, E+9, e-3; *s moves behind it. What is no exponent is left to be a unit. */
static bool read_exponent(const char **s, struct decimal *d)
{
    int sign = 1, x = 0;
    if (**s != 'e' && **s != 'E')
        return true;
    ++*s;
    if (**s == '-' || **s == '+')
        sign = *(*s)++ == '-' ? -1 : 1;
    if (!isdigit((unsigned char)**s))
        return false;
    for (; isdigit((unsigned char)**s) && x < 1000; ++*s)
        x = 10 * x + (**s - '0');
    d->exponent += sign * x;
    return true;
}

/* A unit to the end of s: powers of 1000 go to the exponent, those of 1024 to *binary. */
static bool read_unit(const char *s, struct decimal *d, int *binary)
{
    static const char letters[] = "kMGT";
    char letter = *s == 'K' ? 'k' : *s == 'B' ? 'G' : *s;
    const char *at = letter ? strchr(letters, letter) : NULL;
    *binary = 0;
    if (!letter)
        return true;
    if (!at)
        return false;
    int power = (int)(at - letters) + 1;
    if (s[1] == 0)
        d->exponent += 3 * power;
    else if (s[1] == 'i' && s[2] == 0 && *s != 'B')
        *binary = power;
    else
        return false;
    return true;
}

bool quantity_parse(const char *s, uint64_t *x)
{
    struct decimal d = {0, 0};
    int binary;
    if (!read_digits(&s, &d) || !read_exponent(&s, &d) || !read_unit(s, &d, &binary))
        return false;
    for (; binary > 0; binary--)
        if (!embi_mul(d.digits, 1024, &d.digits))
            return false;
    for (; d.digits && d.exponent < 0; d.exponent++) {
        if (d.digits % 10)
            return false;
        d.digits /= 10;
    }
    for (; d.digits && d.exponent > 0; d.exponent--)
        if (!embi_mul(d.digits, 10, &d.digits))
            return false;
    *x = d.digits;
    return true;
}

/* x in the largest unit of which there is one. */
static void add_scaled(struct embi_buf *out, uint64_t x, double step, const char *const *names,
                       const char *unit)
{
    char text[EMB_NUMBER_MAX];
    double value = (double)x;
    size_t power = 0;
    while (value >= step && power + 1 < POWERS) {
        value /= step;
        power++;
    }
    embi_buf_add(out, text, emb_number_digits(text, value, DIGITS));
    embi_buf_print(out, "%s%s%s", *unit ? " " : "", names[power], unit);
}

void quantity_words(struct embi_buf *out, uint64_t x, const char *unit)
{
    static const char *const decimal[POWERS] = {"", "k", "M", "G", "T", "P"},
                             *const binary[POWERS] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    if (x < 1000)
        return;
    add_scaled(out, x, 1000, decimal, unit);
    if (x < 1024)
        return;
    embi_buf_text(out, " = ");
    add_scaled(out, x, 1024, binary, unit);
}
