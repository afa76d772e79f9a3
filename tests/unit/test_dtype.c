/* test_dtype.c - element types and conversion between them.
 *
 * Expected values: ldexp over the fields of each format (IEEE 754, OCP OFP8, OCP MX, PyTorch's FNUZ
 * types); encoders by a search over the decoded values for the nearest; single cases from the
 * tables of published definitions, written as literals.
 */
#include "num/dtype.h"
#include "num/half.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

struct format {
    emb_dtype dtype;
    int bits, m, bias;
    unsigned max, infinity, nan; /* magnitudes; infinity 0: there is none */
    bool fnuz;
};

static const struct format formats[] = {
    {EMB_F16, 16, 10, 15, 0x7BFF, 0x7C00, 0x7E00, false},
    {EMB_BF16, 16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, false},
    {EMB_F8_E4M3, 8, 3, 7, 0x7E, 0, 0x7F, false},
    {EMB_F8_E5M2, 8, 2, 15, 0x7B, 0x7C, 0x7F, false},
    {EMB_F8_E4M3FNUZ, 8, 3, 8, 0x7F, 0, 0x80, true},
    {EMB_F8_E5M2FNUZ, 8, 2, 16, 0x7F, 0, 0x80, true},
};
#define FORMATS (sizeof formats / sizeof *formats)

static double value_of(const struct format *f, unsigned code)
{
    unsigned sign = 1u << (f->bits - 1), magnitude = code & (sign - 1);
    if (f->fnuz && code == sign)
        return NAN;
    double x = magnitude >> f->m == 0 ? ldexp(magnitude, 1 - f->bias - f->m)
                                      : ldexp((1 << f->m) + (int)(magnitude & ((1u << f->m) - 1)),
                                              (int)(magnitude >> f->m) - f->bias - f->m);
    if (magnitude > f->max)
        x = f->infinity && magnitude == f->infinity ? INFINITY : NAN;
    return code & sign ? -x : x;
}

/* The code nearest to x > 0, the even one of two, by going through all of them. Beyond the largest
 * value the next one of the same spacing would be, and stands for overflow. */
static unsigned nearest_code(const struct format *f, double x)
{
    double ulp = value_of(f, f->max) - value_of(f, f->max - 1);
    unsigned low = 0, high = f->max + 1;
    while (high - low > 1) { /* values grow with the code */
        unsigned mid = (low + high) / 2;
        if (value_of(f, mid) <= x)
            low = mid;
        else
            high = mid;
    }
    double a = value_of(f, low), b = high > f->max ? value_of(f, f->max) + ulp : value_of(f, high);
    double to_a = x - a, to_b = b - x; /* exact: x is near both, or far above */
    return to_a < to_b || (to_a == to_b && low % 2 == 0) ? low : high;
}

static void store(unsigned char p[2], unsigned code)
{
    p[0] = (unsigned char)code;
    p[1] = (unsigned char)(code >> 8);
}

static unsigned encode(emb_dtype dtype, double x, uint64_t *overflows)
{
    unsigned char p[8] = {0};
    emb_err err;
    cr_assert_eq(emb_convert(p, dtype, &x, EMB_F64, 1, overflows, &err), EMB_OK);
    return p[0] | (emb_dtype_bytes(dtype) == 2 ? (unsigned)p[1] << 8 : 0);
}

static unsigned encode32(emb_dtype dtype, float x)
{
    unsigned char p[8] = {0};
    emb_err err;
    cr_assert_eq(emb_convert(p, dtype, &x, EMB_F32, 1, NULL, &err), EMB_OK);
    return p[0] | (emb_dtype_bytes(dtype) == 2 ? (unsigned)p[1] << 8 : 0);
}

static bool same(double a, double b)
{
    return isnan(b) ? isnan(a) : a == b && !signbit(a) == !signbit(b);
}

Test(dtype, names_and_sizes)
{
    static const struct {
        const char *name;
        size_t bytes;
        bool is_float;
    } want[] = {
        {"none", 0, false},   {"f64", 8, true},         {"f32", 4, true},
        {"f16", 2, true},     {"bf16", 2, true},        {"f8_e4m3", 1, true},
        {"f8_e5m2", 1, true}, {"f8_e4m3fnuz", 1, true}, {"f8_e5m2fnuz", 1, true},
        {"f8_e8m0", 1, true}, {"i8", 1, false},         {"u8", 1, false},
        {"i16", 2, false},    {"u16", 2, false},        {"i32", 4, false},
        {"u32", 4, false},    {"i64", 8, false},        {"u64", 8, false},
        {"bool", 1, false},
    };
    cr_assert_eq(EMBI_LEN(want), EMB_BOOL + 1); /* test_blocks.c has those after it */
    for (int i = 0; i <= EMB_BOOL; i++) {
        cr_expect_str_eq(emb_dtype_name((emb_dtype)i), want[i].name);
        cr_expect_eq(emb_dtype_bytes((emb_dtype)i), want[i].bytes, "%s", want[i].name);
        cr_expect_eq(emb_dtype_is_float((emb_dtype)i), want[i].is_float, "%s", want[i].name);
        cr_expect_eq(emb_dtype_parse(want[i].name), i, "%s", want[i].name);
        cr_expect_eq(emb_dtype_block((emb_dtype)i), i > 0, "%s", want[i].name);
        cr_expect_eq(emb_dtype_row_bytes((emb_dtype)i, 255), 255 * want[i].bytes, "%s",
                     want[i].name);
    }
    cr_expect_eq(emb_dtype_row_bytes(EMB_F64, UINT32_MAX), 8 * (uint64_t)UINT32_MAX);
    cr_expect_eq(emb_dtype_parse("F32"), EMB_DTYPE_NONE);
    cr_expect_eq(emb_dtype_parse(""), EMB_DTYPE_NONE);
    cr_expect_str_eq(emb_dtype_name((emb_dtype)-1), "none");
    cr_expect_eq(emb_dtype_bytes(EMB_DTYPE_COUNT), 0);
}

Test(dtype, every_code_decodes)
{
    for (size_t i = 0; i < FORMATS; i++)
        for (unsigned code = 0; code < 1u << formats[i].bits; code++) {
            unsigned char p[2];
            store(p, code);
            double want = value_of(&formats[i], code);
            float single;
            embi_to_f32(NULL, &single, p, formats[i].dtype, 1);
            cr_assert(same(embi_element(p, formats[i].dtype), want), "%s %04x",
                      emb_dtype_name(formats[i].dtype), code);
            cr_assert(same((double)single, want), "%s %04x", emb_dtype_name(formats[i].dtype),
                      code);
        }
    for (unsigned code = 0; code < 256; code++) {
        unsigned char p[1] = {(unsigned char)code};
        double want = code == 255 ? NAN : ldexp(1, (int)code - 127);
        cr_assert(same(embi_element(p, EMB_F8_E8M0), want), "f8_e8m0 %02x", code);
    }
}

Test(dtype, every_code_comes_back)
{
    for (size_t i = 0; i < FORMATS; i++)
        for (unsigned code = 0; code < 1u << formats[i].bits; code++) {
            double x = value_of(&formats[i], code);
            uint64_t overflows = 0;
            if (!isnan(x)) {
                cr_assert_eq(encode(formats[i].dtype, x, &overflows), code, "%s %04x",
                             emb_dtype_name(formats[i].dtype), code);
                cr_assert_eq(encode32(formats[i].dtype, (float)x), code);
            }
            cr_assert_eq(overflows, 0);
        }
    for (unsigned code = 0; code < 255; code++)
        cr_assert_eq(encode(EMB_F8_E8M0, ldexp(1, (int)code - 127), NULL), code);
}

/* Ties, and the values next to them: from f64 each is a case of its own. */
Test(dtype, encoding_rounds_to_nearest_even)
{
    for (size_t i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        unsigned sign = 1u << (f->bits - 1);
        for (unsigned code = 0; code < f->max; code++) {
            double a = value_of(f, code), b = value_of(f, code + 1), middle = (a + b) / 2;
            double x[5] = {a * 0.75 + b * 0.25, nextafter(middle, 0), middle,
                           nextafter(middle, INFINITY), a * 0.25 + b * 0.75};
            for (int j = 0; j < 5; j++) {
                unsigned want = nearest_code(f, x[j]);
                cr_assert_eq(encode(f->dtype, x[j], NULL), want, "%s %a", emb_dtype_name(f->dtype),
                             x[j]);
                cr_assert_eq(encode(f->dtype, -x[j], NULL), f->fnuz && want == 0 ? 0 : sign | want,
                             "%s %a", emb_dtype_name(f->dtype), -x[j]);
            }
        }
    }
}

Test(dtype, overflow_and_nan)
{
    for (size_t i = 0; i < FORMATS; i++) {
        const struct format *f = &formats[i];
        unsigned sign = 1u << (f->bits - 1), over = f->infinity ? f->infinity : f->nan;
        double largest = value_of(f, f->max), ulp = largest - value_of(f, f->max - 1);
        double edge =
            largest + ulp / 2; /* a tie: goes to the even code, which is the largest's or above */
        uint64_t overflows = 0;
        cr_expect_eq(encode(f->dtype, nextafter(edge, 0), &overflows), f->max);
        cr_expect_eq(overflows, 0);
        cr_expect_eq(encode(f->dtype, nextafter(edge, INFINITY), &overflows), over);
        cr_expect_eq(encode(f->dtype, -DBL_MAX, &overflows), sign | over);
        cr_expect_eq(encode(f->dtype, edge, &overflows), f->max % 2 == 0 ? f->max : over);
        cr_expect_eq(overflows, f->max % 2 == 0 ? 2 : 3, "%s", emb_dtype_name(f->dtype));
        cr_expect_eq(encode(f->dtype, INFINITY, &overflows), over);
        cr_expect_eq(encode(f->dtype, -INFINITY, &overflows), sign | over);
        cr_expect_eq(encode(f->dtype, NAN, &overflows), f->nan, "%s", emb_dtype_name(f->dtype));
        cr_expect_eq(encode(f->dtype, -NAN, &overflows), sign | f->nan);
        cr_expect_eq(overflows, f->max % 2 == 0 ? 2 : 3, "infinities and NaN are none");
        cr_expect_eq(encode(f->dtype, DBL_TRUE_MIN, NULL), 0);
        cr_expect_eq(encode(f->dtype, -DBL_TRUE_MIN, NULL), f->fnuz ? 0 : sign);
    }
}

Test(dtype, published_cases)
{
    static const struct {
        emb_dtype dtype;
        double x;
        unsigned code;
    } want[] = {
        {EMB_F16, 1.00048828125, 0x3C00},
        {EMB_F16, 65519.99609375, 0x7BFF},
        {EMB_F16, 65520, 0x7C00},
        {EMB_F16, 0x1p-24, 0x0001},
        {EMB_F16, 0x1p-25, 0x0000},
        {EMB_BF16, 1.00390625, 0x3F80},
        {EMB_BF16, 1.01171875, 0x3F82},
        {EMB_BF16, FLT_MAX, 0x7F80},
        {EMB_BF16, 1e-40, 0x0001},
        {EMB_BF16, -0.0, 0x8000},
        {EMB_F8_E4M3, 17, 0x58},
        {EMB_F8_E4M3, 18, 0x59},
        {EMB_F8_E4M3, 19, 0x5A},
        {EMB_F8_E4M3, 0x1p-10, 0x00},
        {EMB_F8_E4M3, 0x1.8p-10, 0x01},
        {EMB_F8_E4M3, 448, 0x7E},
        {EMB_F8_E4M3, 464, 0x7E},
        {EMB_F8_E4M3, 465, 0x7F},
        {EMB_F8_E5M2, 57344, 0x7B},
        {EMB_F8_E5M2, 61440, 0x7C},
        {EMB_F8_E4M3FNUZ, 240, 0x7F},
        {EMB_F8_E5M2FNUZ, 57344, 0x7F},
        {EMB_F8_E8M0, 1, 127},
        {EMB_F8_E8M0, 1.49, 127},
        {EMB_F8_E8M0, 1.5, 128},
        {EMB_F8_E8M0, 3, 128},
        {EMB_F8_E8M0, 0x1p-200, 0},
        {EMB_F8_E8M0, 0x1.8p127, 254},
        {EMB_F8_E8M0, INFINITY, 255},
        {EMB_F8_E8M0, NAN, 255},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        cr_expect_eq(encode(want[i].dtype, want[i].x, NULL), want[i].code, "%s %a",
                     emb_dtype_name(want[i].dtype), want[i].x);
        if ((double)(float)want[i].x == want[i].x)
            cr_expect_eq(encode32(want[i].dtype, (float)want[i].x), want[i].code);
    }
    uint64_t lost = 0;
    cr_expect_eq(encode(EMB_F8_E8M0, -1, &lost), 255);
    cr_expect_eq(encode(EMB_F8_E8M0, 0, &lost), 255);
    cr_expect_eq(encode(EMB_F8_E8M0, 0x1.9p127, &lost), 255);
    cr_expect_eq(lost, 3);
    uint32_t signalling = 0x7F800001u;
    float nan;
    memcpy(&nan, &signalling, sizeof nan);
    cr_expect_eq(encode32(EMB_BF16, nan), 0x7FC0);
}

/* Values that lie just beside a tie of the small type, so near that an f32 would take them for it.
 */
Test(dtype, no_double_rounding)
{
    for (size_t i = 0; i < 2; i++) {
        const struct format *f = &formats[i];
        double ulp = ldexp(1, -f->m), tie = 1 + ulp / 2;
        cr_expect_eq((double)(float)(tie + 0x1p-40), tie, "the case is one");
        cr_expect_eq(encode(f->dtype, tie, NULL), nearest_code(f, 1));
        cr_expect_eq(encode(f->dtype, tie + 0x1p-40, NULL), nearest_code(f, 1) + 1);
        cr_expect_eq(encode(f->dtype, tie + ulp - 0x1p-40, NULL), nearest_code(f, 1) + 1);
    }
    static const struct { /* expected: Python, Fraction(x) rounded to 24 and to 8 bits */
        uint64_t x;
        float single;
        unsigned bf16;
    } want[] = {
        {0x8000008000000000u, 0x1p63f, 0x5F00},
        {0x8000008000000001u, 0x1.000002p63f, 0x5F00},
        {0x80000080000003FFu, 0x1.000002p63f, 0x5F00},
        {0x8080000000000000u, 0x1.01p63f, 0x5F00},
        {0x8080000000000001u, 0x1.01p63f, 0x5F01},
        {0xFFFFFFFFFFFFFFFFu, 0x1p64f, 0x5F80},
        {0x0020000020000001u, 0x1.000002p53f, 0x5A00},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        float single;
        uint16_t code;
        emb_err err;
        cr_assert_eq(emb_convert(&single, EMB_F32, &want[i].x, EMB_U64, 1, NULL, &err), EMB_OK);
        cr_assert_eq(emb_convert(&code, EMB_BF16, &want[i].x, EMB_U64, 1, NULL, &err), EMB_OK);
        cr_expect_eq(single, want[i].single, "%zu: %a", i, (double)single);
        cr_expect_eq(code, want[i].bf16, "%zu: %04x", i, code);
        int64_t negative = -(int64_t)(want[i].x / 2);
        double half = -(double)want[i].single / 2;
        if (want[i].x % 2 == 0) {
            cr_assert_eq(emb_convert(&single, EMB_F32, &negative, EMB_I64, 1, NULL, &err), EMB_OK);
            cr_expect_eq((double)single, half);
        }
    }
    float single;
    double x = 1 + 0x1p-24 + 0x1p-52;
    uint64_t overflows = 0;
    emb_err err;
    cr_assert_eq(emb_convert(&single, EMB_F32, &x, EMB_F64, 1, &overflows, &err), EMB_OK);
    cr_expect_eq(single, 0x1.000002p0f);
    x = 1e300;
    cr_assert_eq(emb_convert(&single, EMB_F32, &x, EMB_F64, 1, &overflows, &err), EMB_OK);
    cr_expect(isinf(single) && overflows == 1);
}

Test(dtype, integers_take_whole_numbers_in_range)
{
    static const struct {
        emb_dtype dtype;
        double low, high;
    } range[] = {
        {EMB_I8, -128, 127},
        {EMB_U8, 0, 255},
        {EMB_I16, -32768, 32767},
        {EMB_U16, 0, 65535},
        {EMB_I32, -0x1p31, 0x1p31 - 1},
        {EMB_U32, 0, 0x1p32 - 1},
        {EMB_I64, -0x1p63, 0x1p63 - 1024},
        {EMB_U64, 0, 0x1p64 - 2048},
        {EMB_BOOL, 0, 1},
    };
    emb_err err;
    unsigned char out[24];
    for (size_t i = 0; i < sizeof range / sizeof *range; i++) {
        double ends[2] = {range[i].low, range[i].high}, back[2];
        cr_assert_eq(emb_convert(out, range[i].dtype, ends, EMB_F64, 2, NULL, &err), EMB_OK);
        embi_to_f64(back, out, range[i].dtype, 2);
        cr_expect(back[0] == ends[0] && back[1] == ends[1], "%s", emb_dtype_name(range[i].dtype));
        double above = range[i].high > 1e10 ? range[i].high * 2 : range[i].high + 1;
        double bad[] = {
            nextafter(range[i].low, -INFINITY) * 2 - 1, above, 0.5, NAN, INFINITY, -INFINITY};
        for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
            double three[3] = {0, bad[j], 0};
            cr_expect_eq(emb_convert(out, range[i].dtype, three, EMB_F64, 3, NULL, &err),
                         EMB_BAD_DATA, "%s %g", emb_dtype_name(range[i].dtype), bad[j]);
            cr_expect_eq(err.at, 1);
            cr_expect_eq(err.status, EMB_BAD_DATA);
        }
    }
    uint64_t big = UINT64_MAX;
    int64_t least = INT64_MIN, signed_out;
    uint64_t unsigned_out;
    cr_expect_eq(emb_convert(&signed_out, EMB_I64, &big, EMB_U64, 1, NULL, &err), EMB_BAD_DATA);
    cr_expect_eq(emb_convert(&unsigned_out, EMB_U64, &least, EMB_I64, 1, NULL, &err), EMB_BAD_DATA);
    big = (uint64_t)1 << 53 | 1; /* not an f64: must not go through one */
    cr_assert_eq(emb_convert(&signed_out, EMB_I64, &big, EMB_U64, 1, NULL, &err), EMB_OK);
    cr_expect_eq(signed_out, 9007199254740993);
    unsigned char negative_zero[4] = {0, 0, 0, 0x80};
    cr_assert_eq(emb_convert(&signed_out, EMB_I64, negative_zero, EMB_F32, 1, NULL, &err), EMB_OK);
    cr_expect_eq(signed_out, 0);
}

Test(dtype, any_address_any_length)
{
    unsigned char src[1 + 8 * 600], dst[1 + 8 * 600 + 1];
    emb_err err;
    for (int from = EMB_F64; from <= EMB_BOOL; from++)
        for (int to = EMB_F64; to <= EMB_BOOL; to++) {
            size_t n = 513, from_bytes = emb_dtype_bytes((emb_dtype)from),
                   to_bytes = emb_dtype_bytes((emb_dtype)to);
            double one = 1;
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(emb_convert(src + 1 + i * from_bytes, (emb_dtype)from, &one, EMB_F64,
                                         1, NULL, &err),
                             EMB_OK);
            memset(dst, 0xA5, sizeof dst);
            cr_assert_eq(
                emb_convert(dst + 1, (emb_dtype)to, src + 1, (emb_dtype)from, n, NULL, &err),
                EMB_OK);
            for (size_t i = 0; i < n; i++)
                cr_assert_eq(embi_element(dst + 1 + i * to_bytes, (emb_dtype)to), 1.0,
                             "%d to %d at %zu", from, to, i);
            cr_expect(dst[0] == 0xA5 && dst[1 + n * to_bytes] == 0xA5);
            cr_assert_eq(emb_convert(dst, (emb_dtype)to, src, (emb_dtype)from, 0, NULL, &err),
                         EMB_OK);
        }
    cr_expect_eq(emb_convert(dst, EMB_DTYPE_NONE, src, EMB_F32, 1, NULL, &err), EMB_BAD_ARG);
}

Test(dtype, overflows_are_counted_from_f32_too)
{
    float x[600];
    uint16_t code[600];
    uint64_t overflows = 5;
    emb_err err;
    for (int i = 0; i < 600; i++)
        x[i] = i % 3 == 0 ? 65520.0f : i % 3 == 1 ? INFINITY : 1.0f;
    cr_assert_eq(emb_convert(code, EMB_F16, x, EMB_F32, 600, &overflows, &err), EMB_OK);
    cr_expect_eq(overflows, 205);
    cr_assert_eq(emb_convert(code, EMB_BF16, x, EMB_F32, 600, &overflows, &err), EMB_OK);
    cr_expect_eq(overflows, 205);
}

Test(dtype, bytes_are_swapped)
{
    unsigned char two[4] = {1, 2, 3, 4}, eight[8] = {1, 2, 3, 4, 5, 6, 7, 8}, one[3] = {1, 2, 3};
    embi_swap_bytes(two, 2, 2);
    embi_swap_bytes(eight, 8, 1);
    embi_swap_bytes(one, 1, 3);
    cr_expect_eq(memcmp(two, "\2\1\4\3", 4), 0);
    cr_expect_eq(memcmp(eight, "\10\7\6\5\4\3\2\1", 8), 0);
    cr_expect_eq(memcmp(one, "\1\2\3", 3), 0);
}
