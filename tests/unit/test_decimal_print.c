/* test_decimal_print.c - num/decimal printing chosen values, and its table of powers of ten.
 *
 * Expected texts were computed with exact fractions in Python from the definition of the shortest
 * text (all lengths tried, of those that round back the closest), and with its decimal module for a
 * number of digits; the powers are checked here by multiplication and division of whole numbers.
 * Random and exhaustive comparison is in test_decimal_brute.c.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "num/decimal.h"
#include "num/decimal_impl.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct {
    uint64_t bits;
    const char *text;
} f64_texts[] =
    {
        {0x0000000000000001, "5e-324"},
        {0x0000000000000002, "1e-323"},
        {0x0000000000000003, "1.5e-323"},
        {0x000fffffffffffff, "2.225073858507201e-308"},
        {0x0010000000000000, "2.2250738585072014e-308"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0x3ff0000000000000, "1"},
        {0x4024000000000000, "10"},
        {0x3fb999999999999a, "0.1"},
        {0x3fd5555555555555, "0.3333333333333333"},
        {0x3fd3333333333333, "0.3"},
        {0x3f1a36e2eb1c432d, "0.0001"},
        {0x3ee4f8b588e368f1, "1e-05"},
        {0x3f202e4b6ce5dc68, "0.00012345"},
        {0x40fe240c9fbe76c9, "123456.789"},
        {0x430c6bf526340000, "1000000000000000"},
        {0x4341c37937e08000, "1e+16"},
        {0x4341c37937e07fff, "9999999999999998"},
        {0x4340000000000000, "9007199254740992"},
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x4480f0cf064dd592, "1e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x3d30000000000000, "5.684341886080802e-14"},
        {0x0020000000000000, "4.450147717014403e-308"},
        {0x7e41eb2d66005835, "1.5e+300"},
        {0x4059000000000000, "100"},
        {0x405e000000000000, "120"},
        {0x3e7ad7f29abcaf48, "1e-07"},
        {0x4011666666666666, "4.35"},
        {0x3f201f31f46ed246, "0.000123"},
        {0x4450000000000000, "1.1805916207174113e+21"},
        {0x3e60000000000000, "2.9802322387695312e-08"},
        {0x3eb0000000000000, "9.5367431640625e-07"},
        {0x0040000000000000, "1.7800590868057611e-307"},
        {0x0060000000000000, "7.120236347223045e-307"},
        {0x4790000000000000, "5.316911983139664e+36"},
        {0x7cf0000000000000, "6.386688990511104e+293"},
},
  f32_texts[] =
      {
          {0x00000001, "1e-45"},
          {0x00000002, "3e-45"},
          {0x00000003, "4e-45"},
          {0x007fffff, "1.1754942e-38"},
          {0x00800000, "1.1754944e-38"},
          {0x7f7fffff, "3.4028235e+38"},
          {0x3f800000, "1"},
          {0x3dcccccd, "0.1"},
          {0x3eaaaaab, "0.33333334"},
          {0x3e99999a, "0.3"},
          {0x38d1b717, "0.0001"},
          {0x3727c5ac, "1e-05"},
          {0x4b800000, "16777216"},
          {0x4ceb79a3, "123456790"},
          {0x4b000000, "8388608"},
          {0x501502f9, "10000000000"},
          {0x33d6bf95, "1e-07"},
          {0x58635fa9, "1000000000000000"},
          {0x5a0e1bca, "1e+16"},
          {0x29800000, "5.684342e-14"},
          {0x7f7fc99e, "3.4e+38"},
          {0x390164ef, "0.0001234"},
          {0x3e800000, "0.25"},
          {0x477fe000, "65504"},
          {0x38c73abd, "9.5e-05"},
          {0x4c000000, "33554432"},
          {0x4c800000, "67108864"},
          {0x0c000000, "9.8607613e-32"},
          {0x50000000, "8589935000"},
          {0x0f800000, "1.2621775e-29"},
          {0x6b000000, "1.5474251e+26"},
          {0x6c800000, "1.2379401e+27"},
},
  f16_texts[] =
      {
          {0x0001, "6e-08"}, {0x0002, "1e-07"},     {0x03ff, "6.1e-05"}, {0x0400, "6.104e-05"},
          {0x7bff, "65500"}, {0x3c00, "1"},         {0x3555, "0.3333"},  {0x2e66, "0.1"},
          {0x5640, "100"},   {0x0803, "0.0001224"}, {0x7bfe, "65470"},   {0x6401, "1025"},
},
  bf16_texts[] = {
      {0x0001, "9e-41"},    {0x0002, "2e-40"},    {0x007f, "1.17e-38"}, {0x0080, "1.18e-38"},
      {0x7f7f, "3.39e+38"}, {0x3f80, "1"},        {0x3eab, "0.334"},    {0x3dcd, "0.1"},
      {0x4049, "3.14"},     {0x4b80, "16800000"}, {0x5a0e, "1e+16"},    {0x7180, "1.27e+30"},
      {0x5f80, "1.85e+19"}, {0x7000, "1.59e+29"},
};

/* Fails unless buf holds text, and nothing was written after its end. */
static void expect_text(const char *buf, size_t n, const char *text)
{
    cr_expect(n == strlen(text) && memcmp(buf, text, n) == 0, "'%.*s', expected '%s'", (int)n, buf,
              text);
    cr_expect_eq(buf[EMBI_DECIMAL_MAX], 'X');
}

Test(decimal, prints_the_shortest_text)
{
    char buf[EMBI_DECIMAL_MAX + 1] = {[EMBI_DECIMAL_MAX] = 'X'};
    double d;
    float x;
    for (size_t i = 0; i < COUNT(f64_texts); i++) {
        memcpy(&d, &f64_texts[i].bits, sizeof d);
        expect_text(buf, embi_print_f64(buf, d), f64_texts[i].text);
    }
    for (size_t i = 0; i < COUNT(f32_texts); i++) {
        uint32_t bits = (uint32_t)f32_texts[i].bits;
        memcpy(&x, &bits, sizeof x);
        expect_text(buf, embi_print_f32(buf, x), f32_texts[i].text);
    }
    for (size_t i = 0; i < COUNT(f16_texts); i++)
        expect_text(buf, embi_print_f16(buf, (uint16_t)f16_texts[i].bits), f16_texts[i].text);
    for (size_t i = 0; i < COUNT(bf16_texts); i++)
        expect_text(buf, embi_print_bf16(buf, (uint16_t)bf16_texts[i].bits), bf16_texts[i].text);
}

Test(decimal, prints_signs_and_special_values)
{
    char buf[EMBI_DECIMAL_MAX + 1] = {[EMBI_DECIMAL_MAX] = 'X'};
    expect_text(buf, embi_print_f64(buf, 0.0), "0");
    expect_text(buf, embi_print_f64(buf, -0.0), "-0");
    expect_text(buf, embi_print_f32(buf, -1.5f), "-1.5");
    expect_text(buf, embi_print_f64(buf, -1.2345678901234567e-123), "-1.2345678901234567e-123");
    expect_text(buf, embi_print_f64(buf, -0.00012345678901234567), "-0.00012345678901234567");
    expect_text(buf, embi_print_f32(buf, INFINITY), "inf");
    expect_text(buf, embi_print_f64(buf, -INFINITY), "-inf");
    expect_text(buf, embi_print_f64(buf, -NAN), "nan");
    expect_text(buf, embi_print_f16(buf, 0xfc00), "-inf");
    expect_text(buf, embi_print_f16(buf, 0x7c01), "nan");
    expect_text(buf, embi_print_f16(buf, 0x8000), "-0");
    expect_text(buf, embi_print_bf16(buf, 0xff81), "nan");
    expect_text(buf, embi_print_bf16(buf, 0x7f80), "inf");
    expect_text(buf, embi_print_digits(buf, -0.0, 6), "-0");
    expect_text(buf, embi_print_digits(buf, NAN, 6), "nan");
    expect_text(buf, embi_print_digits(buf, -INFINITY, 6), "-inf");
}

Test(decimal, prints_a_number_of_digits)
{
    static const struct {
        double x;
        int digits;
        const char *text;
    } table[] = {
        {1.0, 6, "1"},
        {0.1, 6, "0.1"},
        {0.1, 17, "0.10000000000000001"},
        {0.3333333333333333, 3, "0.333"},
        {0.6666666666666666, 6, "0.666667"},
        {123456, 2, "120000"},
        {0.5, 1, "0.5"},
        {2.5, 1, "2"},
        {3.5, 1, "4"},
        {-2.5, 1, "-2"},
        {0.125, 2, "0.12"},
        {0.375, 2, "0.38"},
        {1234565, 6, "1234560"},
        {1234575, 6, "1234580"},
        {9.5, 1, "10"},
        {8.5, 1, "8"},
        {9.75, 1, "10"},
        {9.75, 2, "9.8"},
        {99.5, 2, "100"},
        {999999.5, 6, "1000000"},
        {9.9999999, 6, "10"},
        {1e+22, 17, "1e+22"},
        {1e+23, 17, "9.9999999999999992e+22"},
        {1e+23, 16, "9.999999999999999e+22"},
        {5e-324, 1, "5e-324"},
        {5e-324, 17, "4.9406564584124654e-324"},
        {2.2250738585072014e-308, 17, "2.2250738585072014e-308"},
        {1.7976931348623157e+308, 17, "1.7976931348623157e+308"},
        {1.7976931348623157e+308, 1, "2e+308"},
        {1000000000000000.0, 3, "1000000000000000"},
        {1e+16, 3, "1e+16"},
        {1e+17, 17, "1e+17"},
        {0.0001, 17, "0.0001"},
        {1e-05, 6, "1e-05"},
        {0.99999999, 6, "1"},
        {9.9999999e-05, 3, "0.0001"},
        {1.2345678901234568e+17, 17, "1.2345678901234568e+17"},
        {1.1529215046068472e+18, 17, "1.1529215046068472e+18"},
        {4503599627370498.0, 16, "4503599627370498"},
        {4503599627370498.0, 16, "4503599627370498"},
        {0.7071067811865476, 0, "0.7"},
        {0.7071067811865476, 99, "0.70710678118654757"},
        {1000, 1, "1000"},
        {100, 3, "100"},
        {7e+22, 1, "7e+22"},
        {0.91234567, 6, "0.912346"},
    };
    char buf[EMBI_DECIMAL_MAX + 1] = {[EMBI_DECIMAL_MAX] = 'X'};
    for (size_t i = 0; i < COUNT(table); i++)
        expect_text(buf, embi_print_digits(buf, table[i].x, table[i].digits), table[i].text);
}

/* A whole number of any size: [n] words of 32 bits, the lowest first. */
struct whole {
    int n;
    uint32_t w[80];
};

static void whole_mul(struct whole *a, uint32_t m)
{
    uint64_t carry = 0;
    for (int i = 0; i < a->n; i++) {
        carry += (uint64_t)a->w[i] * m;
        a->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        a->w[a->n++] = (uint32_t)carry;
}

static int whole_div(struct whole *a, uint32_t m)
{
    uint64_t rest = 0;
    for (int i = a->n - 1; i >= 0; i--) {
        rest = rest << 32 | a->w[i];
        a->w[i] = (uint32_t)(rest / m);
        rest %= m;
    }
    while (a->n > 0 && a->w[a->n - 1] == 0)
        a->n--;
    return rest != 0;
}

/* The 128 bits from the highest that is set: doubling until it is the top bit of a word, then four
 * words. */
static void top_128(struct whole *a, uint64_t top[2])
{
    while (!(a->w[a->n - 1] >> 31))
        whole_mul(a, 2);
    uint32_t w[4] = {0};
    for (int i = 0; i < 4 && i < a->n; i++)
        w[i] = a->w[a->n - 1 - i];
    top[0] = (uint64_t)w[0] << 32 | w[1];
    top[1] = (uint64_t)w[2] << 32 | w[3];
}

/* Repeated multiplication gives 10^q; repeated division of 2^2400 gives 10^-q, cut, with over 1200
 * bits left. */
Test(decimal, powers_of_ten_are_right)
{
    struct whole up = {1, {1}}, down = {76, {0}};
    down.w[75] = 1;
    for (int q = 0; q <= -EMBI_POW10_FIRST; q++) {
        uint64_t top[2];
        struct whole copy = up;
        if (q <= EMBI_POW10_LAST) {
            const uint64_t *entry = embi_pow10[q - EMBI_POW10_FIRST];
            top_128(&copy, top);
            cr_expect(entry[0] == top[0] && entry[1] == top[1], "10^%d", q);
        }
        const uint64_t *entry = embi_pow10[-q - EMBI_POW10_FIRST];
        copy = down;
        top_128(&copy, top);
        cr_expect(entry[0] == top[0] && entry[1] == top[1], "10^-%d", q);
        whole_mul(&up, 10);
        whole_div(&down, 10);
    }
}
