/* test_decimal.c - num/decimal on chosen values: reading, refusing, scanning, printing, and the
 * table of powers.
 *
 * Expected bits were computed with exact fractions in Python, from the definition of rounding to
 * nearest, ties to even. Printing is in test_decimal_print.c, random and exhaustive comparison in
 * test_decimal_brute.c.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/decimal.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static uint64_t bits_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint32_t bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static const struct {
    const char *text;
    uint64_t f64;
    uint32_t f32;
    uint16_t f16, bf16;
} good[] = {
    {"0", 0x0000000000000000, 0x00000000, 0x0000, 0x0000},
    {"-0", 0x8000000000000000, 0x80000000, 0x8000, 0x8000},
    {"1", 0x3ff0000000000000, 0x3f800000, 0x3c00, 0x3f80},
    {"+1", 0x3ff0000000000000, 0x3f800000, 0x3c00, 0x3f80},
    {"5.", 0x4014000000000000, 0x40a00000, 0x4500, 0x40a0},
    {".5", 0x3fe0000000000000, 0x3f000000, 0x3800, 0x3f00},
    {"-.5", 0xbfe0000000000000, 0xbf000000, 0xb800, 0xbf00},
    {"00012.500", 0x4029000000000000, 0x41480000, 0x4a40, 0x4148},
    {"1E2", 0x4059000000000000, 0x42c80000, 0x5640, 0x42c8},
    {"1e+2", 0x4059000000000000, 0x42c80000, 0x5640, 0x42c8},
    {"1e-05", 0x3ee4f8b588e368f1, 0x3727c5ac, 0x00a8, 0x3728},
    {"0.0000000000123", 0x3dab0c48d03697e1, 0x2d586247, 0x0000, 0x2d58},
    {"0.000000000000001", 0x3cd203af9ee75616, 0x26901d7d, 0x0000, 0x2690},
    {"-0.00000000000000", 0x8000000000000000, 0x80000000, 0x8000, 0x8000},
    {"0.1", 0x3fb999999999999a, 0x3dcccccd, 0x2e66, 0x3dcd},
    {"-0.41242", 0xbfda6516db0dd830, 0xbed328b7, 0xb699, 0xbed3},
    {"16777217", 0x4170000010000000, 0x4b800000, 0x7c00, 0x4b80},
    {"16777219", 0x4170000030000000, 0x4b800002, 0x7c00, 0x4b80},
    {"33554433.9", 0x418000000f333333, 0x4c000000, 0x7c00, 0x4c00},
    {"1.00000017881393432617187499", 0x3ff0000030000000, 0x3f800001, 0x3c00, 0x3f80},
    {"1.00000017881393432617187501", 0x3ff0000030000000, 0x3f800002, 0x3c00, 0x3f80},
    {"0.50000008940696716308593751", 0x3fe0000030000000, 0x3f000002, 0x3800, 0x3f00},
    {"8388609.5000000000000000001", 0x4160000030000000, 0x4b000002, 0x7c00, 0x4b00},
    {"8388609.5", 0x4160000030000000, 0x4b000002, 0x7c00, 0x4b00},
    {"8388608.5", 0x4160000010000000, 0x4b000000, 0x7c00, 0x4b00},
    {"16777217.0000000001", 0x4170000010000000, 0x4b800001, 0x7c00, 0x4b80},
    {"3.4028235677973366e38", 0x47effffff0000000, 0x7f7fffff, 0x7c00, 0x7f80},
    {"3.4028235677973365e38", 0x47effffff0000000, 0x7f7fffff, 0x7c00, 0x7f80},
    {"1.4012984643e-45", 0x369ffffffffd90e2, 0x00000001, 0x0000, 0x0000},
    {"7.006492321624085e-46", 0x3690000000000000, 0x00000000, 0x0000, 0x0000},
    {"7.006492321624086e-46", 0x3690000000000000, 0x00000001, 0x0000, 0x0000},
    {"2e-46", 0x367244ce242c5561, 0x00000000, 0x0000, 0x0000},
    {"1.00000005960464477540", 0x3ff0000010000000, 0x3f800001, 0x3c00, 0x3f80},
    {"1.00000005960464477538", 0x3ff0000010000000, 0x3f800000, 0x3c00, 0x3f80},
    {"1.1754943508222875e-38", 0x3810000000000000, 0x00800000, 0x0000, 0x0080},
    {"1.17549428e-38", 0x380fffffdfa772e9, 0x007fffff, 0x0000, 0x0080},
    {"9007199254740993", 0x4340000000000000, 0x5a000000, 0x7c00, 0x5a00},
    {"9007199254740993.00000000000000000001", 0x4340000000000001, 0x5a000000, 0x7c00, 0x5a00},
    {"9007199254740992.99999999999", 0x4340000000000000, 0x5a000000, 0x7c00, 0x5a00},
    {"2.2250738585072011e-308", 0x000fffffffffffff, 0x00000000, 0x0000, 0x0000},
    {"2.2250738585072014e-308", 0x0010000000000000, 0x00000000, 0x0000, 0x0000},
    {"4.9406564584124654e-324", 0x0000000000000001, 0x00000000, 0x0000, 0x0000},
    {"2.4703282292062327e-324", 0x0000000000000000, 0x00000000, 0x0000, 0x0000},
    {"2.4703282292062328e-324", 0x0000000000000001, 0x00000000, 0x0000, 0x0000},
    {"1.7976931348623158e308", 0x7fefffffffffffff, 0x7f800000, 0x7c00, 0x7f80},
    {"1.7976931348623159e308", 0x7ff0000000000000, 0x7f800000, 0x7c00, 0x7f80},
    {"65504", 0x40effc0000000000, 0x477fe000, 0x7bff, 0x4780},
    {"65519.999", 0x40effdfff7ced917, 0x477ff000, 0x7bff, 0x4780},
    {"65520", 0x40effe0000000000, 0x477ff000, 0x7c00, 0x4780},
    {"65535", 0x40efffe000000000, 0x477fff00, 0x7c00, 0x4780},
    {"2.98023223876953125e-8", 0x3e60000000000000, 0x33000000, 0x0000, 0x3300},
    {"2.98023223876953126e-8", 0x3e60000000000000, 0x33000000, 0x0001, 0x3300},
    {"5.960464477539063e-08", 0x3e70000000000000, 0x33800000, 0x0001, 0x3380},
    {"6.097555160522461e-05", 0x3f0ff80000000000, 0x387fc000, 0x03ff, 0x3880},
    {"6.1035e-5", 0x3f0ffffaa19c4774, 0x387fffd5, 0x0400, 0x3880},
    {"0.333333333333333333333333333333333", 0x3fd5555555555555, 0x3eaaaaab, 0x3555, 0x3eab},
    {"1.00390625", 0x3ff0100000000000, 0x3f808000, 0x3c04, 0x3f80},
    {"1.01171875", 0x3ff0300000000000, 0x3f818000, 0x3c0c, 0x3f82},
    {"1.003906250000000000000000000001", 0x3ff0100000000000, 0x3f808000, 0x3c04, 0x3f81},
    {"3.3961775292304957e38", 0x47eff0000000005e, 0x7f7f8000, 0x7c00, 0x7f80},
    {"3.38953139e38", 0x47efe000001e3af1, 0x7f7f0000, 0x7c00, 0x7f7f},
    {"9.2e-41", 0x37a007564d44d5b9, 0x00010075, 0x0000, 0x0001},
    {"4.59177480789956e-41", 0x378fffffffffffff, 0x00008000, 0x0000, 0x0000},
    {"1e23", 0x44b52d02c7e14af6, 0x65a96816, 0x7c00, 0x65a9},
    {"8.5e22", 0x44b1ffdbf6b2b2eb, 0x658ffee0, 0x7c00, 0x6590},
    {"123456789012345678901234567890", 0x45f8ee90ff6c373e, 0x6fc77488, 0x7c00, 0x6fc7},
    {"1e400", 0x7ff0000000000000, 0x7f800000, 0x7c00, 0x7f80},
    {"1e-400", 0x0000000000000000, 0x00000000, 0x0000, 0x0000},
    {"1e999999999999999999999", 0x7ff0000000000000, 0x7f800000, 0x7c00, 0x7f80},
    {"1e-999999999999999999999", 0x0000000000000000, 0x00000000, 0x0000, 0x0000},
    {"0e999999999999999999999", 0x0000000000000000, 0x00000000, 0x0000, 0x0000},
    {"6.02214076e23", 0x44dfe185ca57c517, 0x66ff0c2e, 0x7c00, 0x66ff},
    {"7.2057594037927933e16", 0x4370000000000000, 0x5b800000, 0x7c00, 0x5b80},
    {"1448997445238699", 0x4314976c0803feac, 0x58a4bb60, 0x7c00, 0x58a5},
    {"6929495644600919.5", 0x43389e56ee5e7a58, 0x59c4f2b7, 0x7c00, 0x59c5},
    {"10000000000000000000000000000000000000000000000000000e-50", 0x4059000000000000, 0x42c80000,
     0x5640, 0x42c8},
    {"0.000000000000000000000000000000000000000000000001e48", 0x3ff0000000000000, 0x3f800000,
     0x3c00, 0x3f80},
    {"1.8446744073709551616e19", 0x43f0000000000000, 0x5f800000, 0x7c00, 0x5f80},
    {"18446744073709551615", 0x43f0000000000000, 0x5f800000, 0x7c00, 0x5f80},
    {"18446744073709551616", 0x43f0000000000000, 0x5f800000, 0x7c00, 0x5f80},
};

/* The text alone in memory of its own, so that the sanitizer sees a read past its end. */
static char *exact_copy(const char *text, size_t n)
{
    char *copy = malloc(n ? n : 1);
    cr_assert(copy);
    memcpy(copy, text, n);
    return copy;
}

Test(decimal, reads_and_rounds_once)
{
    for (size_t i = 0; i < COUNT(good); i++) {
        size_t n = strlen(good[i].text);
        char *s = exact_copy(good[i].text, n);
        double f64 = 0;
        float f32 = 0, scanned = 0;
        uint16_t f16 = 0, bf16 = 0;
        cr_assert(embi_read_f64(s, n, &f64) && embi_read_f32(s, n, &f32), "%s", good[i].text);
        cr_assert(embi_read_f16(s, n, &f16) && embi_read_bf16(s, n, &bf16), "%s", good[i].text);
        cr_expect_eq(bits_f64(f64), good[i].f64, "f64 %s: %016lx", good[i].text,
                     (unsigned long)bits_f64(f64));
        cr_expect_eq(bits_f32(f32), good[i].f32, "f32 %s: %08x", good[i].text, bits_f32(f32));
        cr_expect_eq(f16, good[i].f16, "f16 %s: %04x", good[i].text, f16);
        cr_expect_eq(bf16, good[i].bf16, "bf16 %s: %04x", good[i].text, bf16);
        cr_expect_eq(embi_scan_f32(s, n, &scanned), n, "%s", good[i].text);
        cr_expect_eq(bits_f32(scanned), good[i].f32, "scan %s", good[i].text);
        free(s);
    }
}

/* With a long span after the number, the fast path reads it: the same bits. */
Test(decimal, scan_reads_the_same_in_a_long_line)
{
    static const char separators[] = " \t\n\r";
    for (size_t i = 0; i < COUNT(good); i++) {
        char line[256];
        size_t n = strlen(good[i].text);
        float x = 0;
        memset(line, '7', sizeof line);
        memcpy(line, good[i].text, n);
        line[n] = separators[i % 4];
        cr_expect_eq(embi_scan_f32(line, sizeof line, &x), n, "%s", good[i].text);
        cr_expect_eq(bits_f32(x), good[i].f32, "%s: %08x", good[i].text, bits_f32(x));
    }
}

Test(decimal, reads_special_values)
{
    static const struct {
        const char *text;
        uint32_t f32;
        uint16_t f16, bf16;
    } special[] = {
        {"inf", 0x7f800000, 0x7c00, 0x7f80},       {"-INF", 0xff800000, 0xfc00, 0xff80},
        {"+Infinity", 0x7f800000, 0x7c00, 0x7f80}, {"-infinity", 0xff800000, 0xfc00, 0xff80},
        {"nan", 0x7fc00000, 0x7e00, 0x7fc0},       {"NaN", 0x7fc00000, 0x7e00, 0x7fc0},
        {"-nan", 0xffc00000, 0xfe00, 0xffc0},      {"+NAN", 0x7fc00000, 0x7e00, 0x7fc0},
    };
    for (size_t i = 0; i < COUNT(special); i++) {
        const char *s = special[i].text;
        size_t n = strlen(s);
        float x = 0;
        double d = 0;
        uint16_t f16 = 0, bf16 = 0;
        cr_assert(embi_scan_f32(s, n, &x) == n && embi_read_f64(s, n, &d), "%s", s);
        cr_assert(embi_read_f16(s, n, &f16) && embi_read_bf16(s, n, &bf16), "%s", s);
        cr_expect_eq(bits_f32(x), special[i].f32, "%s", s);
        cr_expect_eq(f16, special[i].f16, "%s", s);
        cr_expect_eq(bf16, special[i].bf16, "%s", s);
        cr_expect_eq(bits_f64(d) >> 32, (uint64_t)(special[i].f32 & 0x80000000) | 0x7ff00000 |
                                            (isnan(x) ? 0x80000 : 0));
    }
}

Test(decimal, refuses_what_is_not_wholly_a_number)
{
    static const char *const bad[] = {
        "",     ".",   "-",     "+",         "-.",    "1e",       "1e+",      "1e-",    "e5",
        ".e5",  "--1", "+-1",   "1,5",       "1.5.2", "0x1p3",    "0x10",     "1.5abc", "9:0.02",
        " 1",   "1 ",  "1\t",   "\n1",       "1e5.",  "1e5 ",     "1e 5",     "1_000",  "1'0",
        "1f",   "1d5", "infin", "infinityy", "in",    "na",       "nan(1)",   "nane5",  "- 1",
        "1..",  "..1", "1-",    "1e--5",     "1ee5",  "\xc2\xbd", "\xd9\xa1", "1/2",    "1:",
        "\x11", "p",   "\x0e",  "1\v",       "1\f",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        size_t n = strlen(bad[i]);
        char *s = exact_copy(bad[i], n);
        double d = 42;
        float x = 42;
        uint16_t h = 42;
        cr_expect(!embi_read_f64(s, n, &d) && d == 42, "'%s'", bad[i]);
        cr_expect(!embi_read_f32(s, n, &x) && x == 42, "'%s'", bad[i]);
        cr_expect(!embi_read_f16(s, n, &h) && !embi_read_bf16(s, n, &h) && h == 42, "'%s'", bad[i]);
        free(s);
    }
    float x = 42;
    cr_expect(!embi_read_f32("1\0", 2, &x) && !embi_read_f32("1\0002", 3, &x) && x == 42,
              "a NUL is no digit");
}

/* Fields that do not end where the number does are no numbers, on the fast path too. */
Test(decimal, scan_refuses_a_field_with_a_tail)
{
    static const char *const bad[] = {
        "",       " 1",   "1.5abc", "1,5",   "--1",         "1e",
        ".",      "-",    "0x1p3",  "1.5.2", "0.12345678x", "0.1234567812345678x",
        "12345x", "1.2-", "0.5\v",  "0.5\f", "1.;",         "9:",
        "1/",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        char line[64];
        float x = 42;
        memset(line, ' ', sizeof line);
        memcpy(line, bad[i], strlen(bad[i]));
        cr_expect(embi_scan_f32(line, sizeof line, &x) == 0 && x == 42, "'%s' in a line", bad[i]);
        cr_expect(embi_scan_f32(bad[i], strlen(bad[i]), &x) == 0 && x == 42, "'%s' alone", bad[i]);
    }
}

Test(decimal, scan_walks_a_line)
{
    static const char text[] =
        "0.418 0.24968 -0.41242\t0.1217 1e-05 -12.5\r\n-0 7 0.123456789 nan 4";
    static const float want[] = {0.418f, 0.24968f, -0.41242f,    0.1217f, 1e-05f, -12.5f,
                                 -0.0f,  7,        0.123456789f, NAN,     4};
    const char *p = text, *end = text + sizeof text - 1;
    for (size_t i = 0; i < COUNT(want); i++) {
        float x = 0;
        size_t used = embi_scan_f32(p, (size_t)(end - p), &x);
        cr_assert(used > 0, "field %zu", i);
        cr_expect_eq(bits_f32(x), bits_f32(want[i]), "field %zu", i);
        for (p += used; p < end && strchr(" \t\r\n", *p);)
            p++;
    }
    cr_expect_eq(p, end);
}

/* A digit 1 after thousands of zeros decides, wherever the point is; so does an exponent that
 * undoes thousands of places. */
Test(decimal, reads_thousands_of_digits)
{
    enum { ZEROS = 5000 };
    static const char middle[] =
        "1.00000005960464477539062500"; /* 1 + 2^-24, between 1 and the next f32 */
    char text[sizeof middle + ZEROS + 64];
    float x;
    double d;
    memcpy(text, middle, sizeof middle - 1);
    memset(text + sizeof middle - 1, '0', ZEROS);
    size_t n = sizeof middle - 1 + ZEROS;
    cr_assert(embi_read_f32(text, n, &x) && bits_f32(x) == 0x3f800000);
    text[n] = '1';
    cr_assert(embi_read_f32(text, n + 1, &x) && bits_f32(x) == 0x3f800001);
    memmove(text + 1, text + 2, n - 1); /* without the point, 5027 places on */
    memcpy(text + n, "e-5027", 6);
    cr_assert(embi_read_f32(text, n + 6, &x) && bits_f32(x) == 0x3f800001);
    memset(text, '0', ZEROS); /* 0.000…0001e5000 */
    text[1] = '.';
    memcpy(text + ZEROS, "1e4999", 6);
    cr_assert(embi_read_f64(text, ZEROS + 6, &d));
    cr_expect_eq(d, 1.0);
    memset(text, '1', ZEROS); /* 111…1e-4999 */
    memcpy(text + ZEROS, "e-4999", 6);
    cr_assert(embi_read_f64(text, ZEROS + 6, &d));
    cr_expect_eq(d, 1.1111111111111111);
    cr_assert(embi_read_f64(text, ZEROS, &d) && isinf(d));
}
