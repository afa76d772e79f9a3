/* test_decimal_brute.c - num/decimal against the C library and its exact printf, on all 16-bit
 * codes and on random ones.
 *
 * What is independent here: strtof and strtod round correctly, and "%.*e" prints any double
 * exactly. The middle between two neighbours of f32, f16 or bf16 is a double, so its exact text,
 * that text and a little more, and a little less are known to round to the even one, up and down.
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/decimal.h"

enum { RANDOM = 250000, EXACT = 1200 };

/* xorshift64* (Vigna 2016). */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static double f64_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float f32_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The value of a finite f16 code without sign, from the definition. */
static double f16_value(uint16_t code)
{
    int exponent = code >> 10, mantissa = code & 0x3ff;
    return exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
}

static double bf16_value(uint16_t code)
{
    return f32_of((uint32_t)code << 16);
}

/* A type of at most 32 bits, by what the tests need of it. */
struct type {
    const char *name;
    uint32_t inf, sign;
    double (*value)(
        uint32_t bits); /* of finite bits without sign; of inf, what would follow the largest */
    uint32_t (*read)(const char *s, size_t n);
    size_t (*print)(char *buf, uint32_t bits);
};

static double value_f32(uint32_t b)
{
    return b == 0x7f800000 ? 0x1p128 : (double)f32_of(b);
}

static double value_f16(uint32_t b)
{
    return b == 0x7c00 ? 65536 : f16_value((uint16_t)b);
}

static double value_bf16(uint32_t b)
{
    return b == 0x7f80 ? 0x1p128 : bf16_value((uint16_t)b);
}

static uint32_t read_f32(const char *s, size_t n)
{
    float x = 0, y = 1;
    cr_assert(embi_read_f32(s, n, &x) && embi_scan_f32(s, n, &y) == n, "%.*s", (int)n, s);
    cr_assert_eq(bits_f32(x), bits_f32(y));
    return bits_f32(x);
}

static uint32_t read_f16(const char *s, size_t n)
{
    uint16_t bits = 0;
    cr_assert(embi_read_f16(s, n, &bits), "%.*s", (int)n, s);
    return bits;
}

static uint32_t read_bf16(const char *s, size_t n)
{
    uint16_t bits = 0;
    cr_assert(embi_read_bf16(s, n, &bits), "%.*s", (int)n, s);
    return bits;
}

static size_t print_f32(char *buf, uint32_t b)
{
    return embi_print_f32(buf, f32_of(b));
}

static size_t print_f16(char *buf, uint32_t b)
{
    return embi_print_f16(buf, (uint16_t)b);
}

static size_t print_bf16(char *buf, uint32_t b)
{
    return embi_print_bf16(buf, (uint16_t)b);
}

static const struct type f32 = {"f32", 0x7f800000, 0x80000000, value_f32, read_f32, print_f32};
static const struct type f16 = {"f16", 0x7c00, 0x8000, value_f16, read_f16, print_f16};
static const struct type bf16 = {"bf16", 0x7f80, 0x8000, value_bf16, read_bf16, print_bf16};

/* Writes the digits of the exact value of x, without zeros at the end, and apart from them the
 * exponent. Returns the length of the digits. text[EXACT], exp[16]. */
static size_t exact_text(char *text, double x, char *exp)
{
    snprintf(text, EXACT, "%.800e", x);
    char *e = strchr(text, 'e');
    strcpy(exp, e);
    while (e[-1] == '0' && e[-2] != '.')
        e--;
    *e = 0;
    return (size_t)(e - text);
}

/* The middle between bits and bits + 1: as it is, a little more, a little less. */
static void check_around_middle(const struct type *t, uint32_t bits)
{
    char text[EXACT + 48], exp[16];
    size_t n = exact_text(text, (t->value(bits) + t->value(bits + 1)) / 2, exp);
    strcpy(text + n, exp);
    cr_assert_eq(t->read(text, strlen(text)), bits + (bits & 1), "%s middle after %x", t->name,
                 bits);
    snprintf(text + n, 48, "0000000000000000000000001%s", exp);
    cr_assert_eq(t->read(text, strlen(text)), bits + 1, "%s above the middle after %x", t->name,
                 bits);
    if (text[n - 1] == '0') { /* d.0 */
        text[0]--;
        text[n - 1] = '9';
    } else {
        text[n - 1]--;
    }
    snprintf(text + n, 48, "999999999999999999999999%s", exp);
    cr_assert_eq(t->read(text, strlen(text)), bits, "%s below the middle after %x", t->name, bits);
}

/* The digits of text without sign, point, exponent and zeros at either end. digits[64]. */
static void significant(char *digits, const char *text, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n && text[i] != 'e'; i++)
        if (text[i] != '.' && text[i] != '-' && (k > 0 || text[i] != '0'))
            digits[k++] = text[i];
    while (k > 0 && digits[k - 1] == '0')
        k--;
    digits[k] = 0;
}

/* text[n] is what was printed for x, shortest the shortest "%.*e" text that reads back: the digits
 * must be the same. Only below a power of two, where the neighbour is nearer, can the closest text
 * of a length fail while a farther one, above, reads back: there the printed text may be shorter.
 */
static void check_digits(const char *text, size_t n, const char *shortest, double x)
{
    char got[64], want[64];
    int exponent;
    significant(got, text, n);
    significant(want, shortest, strlen(shortest));
    if (frexp(fabs(x), &exponent) == 0.5 && strlen(got) < strlen(want))
        return;
    cr_assert_str_eq(got, want, "%a: %.*s, not %s", x, (int)n, text, shortest);
}

/* Prints bits with either sign: the text reads back, and none is shorter or closer. bits is not 0.
 */
static void check_print(const struct type *t, uint32_t bits)
{
    char buf[EMBI_DECIMAL_MAX], minus[EMBI_DECIMAL_MAX], shortest[64];
    size_t n = t->print(buf, bits);
    cr_assert_eq(t->read(buf, n), bits, "%s %x: %.*s", t->name, bits, (int)n, buf);
    cr_assert(t->print(minus, bits | t->sign) == n + 1 && minus[0] == '-' &&
              memcmp(minus + 1, buf, n) == 0);
    cr_assert_eq(t->read(minus, n + 1), bits | t->sign);
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(shortest, sizeof shortest, "%.*e", digits - 1, t->value(bits));
        if (t->read(shortest, strlen(shortest)) == bits)
            break;
    }
    check_digits(buf, n, shortest, t->value(bits));
}

static void check_every_code(const struct type *t)
{
    char exact[64];
    for (uint32_t bits = 0; bits < t->inf; bits++) {
        snprintf(exact, sizeof exact, "%.40e", t->value(bits));
        cr_assert_eq(t->read(exact, strlen(exact)), bits, "%s %s", t->name, exact);
        check_around_middle(t, bits);
        if (bits > 0)
            check_print(t, bits);
    }
    for (uint32_t nan = t->inf + 1; nan < t->sign; nan++) {
        char buf[EMBI_DECIMAL_MAX];
        cr_assert(t->print(buf, nan) == 3 && memcmp(buf, "nan", 3) == 0);
        cr_assert(t->print(buf, nan | t->sign) == 3 && memcmp(buf, "nan", 3) == 0);
    }
}

Test(decimal_brute, every_f16_code)
{
    check_every_code(&f16);
}

Test(decimal_brute, every_bf16_code)
{
    check_every_code(&bf16);
}

Test(decimal_brute, f32_around_the_middle_of_two)
{
    uint64_t state = 1;
    check_around_middle(&f32, 0);
    check_around_middle(&f32, 0x7fffff);
    check_around_middle(&f32, 0x7f7fffff);
    for (int i = 0; i < 5000; i++)
        check_around_middle(&f32, (uint32_t)(next_random(&state) % f32.inf));
}

Test(decimal_brute, f32_printed_and_read_back)
{
    uint64_t state = 2;
    for (uint32_t power = 0x800000; power < f32.inf; power += 0x800000)
        check_print(&f32, power);
    for (int i = 0; i < RANDOM; i++)
        check_print(&f32, 1 + (uint32_t)(next_random(&state) % (f32.inf - 1)));
}

/* f64 is printed by the same core on wider words, and read back by the C library here. */
static void check_print_f64(uint64_t bits)
{
    char buf[EMBI_DECIMAL_MAX + 1], shortest[64];
    double x = f64_of(bits), back = 0;
    size_t n = embi_print_f64(buf, x);
    buf[n] = 0;
    cr_assert(strtod(buf, NULL) == x, "%a: %s", x, buf);
    cr_assert(embi_read_f64(buf, n, &back) && back == x, "%a: %s", x, buf);
    for (int digits = 15; digits <= 17;
         digits++) { /* 15 and fewer print alike, for 15 digits always survive */
        snprintf(shortest, sizeof shortest, "%.*e", digits - 1, x);
        if (strtod(shortest, NULL) == x)
            break;
    }
    check_digits(buf, n, shortest, x);
}

Test(decimal_brute, f64_printed_and_read_back)
{
    uint64_t state = 3;
    for (uint64_t power = 1; power < 2047; power++)
        check_print_f64(power << 52);
    for (int i = 0; i < RANDOM; i++) {
        uint64_t bits =
            next_random(&state) % (UINT64_C(2046) << 52) + (UINT64_C(1) << 52); /* normal numbers */
        check_print_f64(bits);
        check_print_f64((bits >> 32 << 32) + (UINT64_C(1) << 31)); /* and ones with fewer bits */
    }
}

/* A random number as text: up to 25 digits, a point somewhere, often an exponent. text[64]. */
static void random_text(char *text, uint64_t *state)
{
    int digits = 1 + (int)(next_random(state) % 25), point = (int)(next_random(state) % 28), k = 0;
    if (next_random(state) & 1)
        text[k++] = '-';
    for (int i = 0; i < digits; i++) {
        if (i == point)
            text[k++] = '.';
        text[k++] = (char)('0' + next_random(state) % 10);
    }
    text[k] = 0;
    if (next_random(state) % 3 == 0)
        snprintf(text + k, 16, "e%d", (int)(next_random(state) % 100) - 50);
    else if (next_random(state) % 8 == 0)
        snprintf(text + k, 16, "E%+d", (int)(next_random(state) % 700) - 350);
}

Test(decimal_brute, random_texts_are_read_as_the_c_library_does)
{
    uint64_t state = 4;
    for (int i = 0; i < 2 * RANDOM; i++) {
        char text[128];
        float x, y;
        double d;
        random_text(text, &state);
        size_t n = strlen(text);
        cr_assert(embi_read_f32(text, n, &x) && embi_read_f64(text, n, &d), "%s", text);
        float want = strtof(text, NULL);
        cr_assert_eq(bits_f32(x), bits_f32(want), "f32 %s: %a, not %a", text, (double)x,
                     (double)want);
        cr_assert(d == strtod(text, NULL) && !signbit(d) == (text[0] != '-'), "f64 %s: %a", text,
                  d);
        memset(text + n, ' ', sizeof text - n);
        cr_assert(embi_scan_f32(text, sizeof text, &y) == n && bits_f32(y) == bits_f32(want), "%s",
                  text);
    }
}

#if LDBL_MANT_DIG >= 64
/* As for f32; a long double holds the middle of two f64. */
Test(decimal_brute, f64_around_the_middle_of_two)
{
    uint64_t state = 5;
    for (int i = 0; i < 4000; i++) {
        uint64_t bits =
            next_random(&state) % (UINT64_C(2046) << 52) >> (i % 2 ? 0 : next_random(&state) % 60);
        char text[EXACT + 48], *e;
        double x = 0;
        long double middle = ((long double)f64_of(bits) + (long double)f64_of(bits + 1)) / 2;
        snprintf(text, EXACT, "%.1100Le", middle);
        cr_assert(embi_read_f64(text, strlen(text), &x));
        cr_assert(x == f64_of(bits + (bits & 1)), "middle after %016lx", (unsigned long)bits);
        e = strchr(text, 'e');
        e[-1] = '1';
        cr_assert(embi_read_f64(text, strlen(text), &x));
        cr_assert(x == f64_of(bits + 1), "above the middle after %016lx", (unsigned long)bits);
    }
}
#endif

Test(decimal_brute, digits_are_those_of_printf)
{
    uint64_t state = 6;
    for (int i = 0; i < RANDOM; i++) {
        int digits = 1 + i % 17;
        double x = f64_of(next_random(&state) % (UINT64_C(2047) << 52));
        if (i % 3 == 0) /* ties: few bits after the point, and whole numbers */
            x = (double)(next_random(&state) >> (next_random(&state) % 60)) /
                (double)(1 << next_random(&state) % 8);
        char buf[EMBI_DECIMAL_MAX + 1], want[64], got[64], digits_want[64];
        size_t n = embi_print_digits(buf, x, digits);
        buf[n] = 0;
        snprintf(want, sizeof want, "%.*e", digits - 1, x);
        significant(got, buf, n);
        significant(digits_want, want, strlen(want));
        cr_assert_str_eq(got, digits_want, "%a with %d digits: %s, not %s", x, digits, buf, want);
        cr_assert(strtod(buf, NULL) == strtod(want, NULL), "%a with %d digits: %s, not %s", x,
                  digits, buf, want);
    }
}
