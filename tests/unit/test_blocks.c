/* test_blocks.c - quantised blocks: their numbers, and numbers put into them.
 *
 * Expected values of decoding: what compiled ggml (llama.cpp's ggml-quants.c) gives for one block
 * of each type, whose bytes a formula makes. Encoding is held against the formulas of its reference
 * by hand, on numbers whose scale is a power of two.
 */
#include "num/blocks.h"
#include "num/dtype.h"
#include "num/kern.h"

#include <criterion/criterion.h>
#include <math.h>

enum { POINTS = 14 };

static const int points[POINTS] = {0, 1, 15, 16, 17, 31, 32, 63, 64, 100, 127, 128, 200, 255};

static const struct vector {
    emb_dtype dtype;
    int scale_at, second_at; /* where f16 scales are; -1: there is none */
    double sum;
    float values[POINTS]; /* at `points`, as many as the block has; NAN: not known */
} vectors[] = {
    {EMB_Q4_0, 0, -1, -25.5, {-2.5f, 1, -1, -3.5f, -3.5f, 0.5f}},
    {EMB_Q4_1, 0, 2, 121, {0.75f, 4.25f, 2.25f, 1.25f, 1.25f, 5.25f}},
    {EMB_Q5_0, 0, -1, -52.5, {7.5f, 3, -7, 1, -6.5f, -2.5f}},
    {EMB_Q5_1, 0, 2, 238.5, {13.25f, 0.75f, 0.25f, 10.25f, 10.75f, 6.25f}},
    {EMB_Q8_0, 0, -1, 100, {9.5f, 13, -53, -49.5f, -46, 16}},
    {EMB_Q2_K,
     80,
     82,
     1358.5,
     {7.5f, 5, 2.5f, 6, 0, 18, 4.25f, 14.75f, -0.5f, 14.5f, 5.25f, 14, 4.5f, 9.25f}},
    {EMB_Q3_K, 108, -1, 117.5, {0.5f, -2, 1.5f, -12, 8, -4, 17, -22, -1.5f, 10, -4, 42, 7.5f, -14}},
    {EMB_Q4_K,
     0,
     2,
     24193,
     {245, 96.5f, 80, 146, -2.5f, 245, 155.75f, 155.75f, 64.5f, 289.25f, 262.25f, 15.5f, -5.75f,
      60.25f}},
    {EMB_Q5_K,
     0,
     2,
     50857,
     {311, 162.5f, 410, 476, 63.5f, 311, 515.75f, 515.75f, 534.5f, 775.25f, 721.25f, 27.5f, 34.25f,
      153.75f}},
    {EMB_Q6_K,
     208,
     -1,
     2916.5,
     {-687.5f, -1250, 1687.5f, -1922, -372, 682, 409.5f, 385, 824, 578.5f, 615, 93, -119, 78}},
    {EMB_IQ4_NL, 0, -1, -308, {-32.5f, 12.5f, -11, -52, -52, 6.5f}},
    {EMB_IQ4_XS,
     0,
     -1,
     23003,
     {212.5f, -884, -1079.5f, -416.5f, -297.5f, 450.5f, 735, 735, -356, 735, 525, -622.5f, -190,
      -14.5f}},
    {EMB_MXFP4, -1, -1, 22.5, {-2, 1.5f, -6, 0, 0.5f, 0}},
    {EMB_NVFP4, -1, -1, 28.5, {0.5f, 0, 3, 8, -6, -2, -0.75f, 0.25f}},
    {EMB_TQ2_0, 64, -1, 65.5, {0, -0.5f, 1, 1, 0.5f, 0, 0, 0, -0.5f, -0.5f, -0.5f, 0, 0, -0.5f}},
    {EMB_TQ1_0,
     52,
     -1,
     -6.5,
     {-0.5f, -0.5f, 0, 0, 0, -0.5f, -0.5f, -0.5f, -0.5f, 0, 0, 0, -0.5f, 0}},
    {EMB_Q1_0, 0, -1, -2, {0.5f, 0.5f, -0.5f, 0.5f, -0.5f, -0.5f, NAN, NAN, -0.5f, NAN, 0.5f}},
    {EMB_Q2_0, 0, -1, 13.5, {1, -0.5f, -0.5f, 1, 1, 0, -0.5f, 0.5f}},
};

Test(blocks, names_and_sizes)
{
    static const struct {
        const char *name;
        uint32_t block;
        uint64_t bytes; /* of the struct that ggml has for it */
    } want[] = {
        {"q4_0", 32, 18},   {"q4_1", 32, 20},   {"q5_0", 32, 22},   {"q5_1", 32, 24},
        {"q8_0", 32, 34},   {"q2_k", 256, 84},  {"q3_k", 256, 110}, {"q4_k", 256, 144},
        {"q5_k", 256, 176}, {"q6_k", 256, 210}, {"iq4_nl", 32, 18}, {"iq4_xs", 256, 136},
        {"mxfp4", 32, 17},  {"nvfp4", 64, 36},  {"tq1_0", 256, 54}, {"tq2_0", 256, 66},
        {"q1_0", 128, 18},  {"q2_0", 64, 18},
    };
    cr_assert_eq(EMBI_LEN(want), EMB_DTYPE_COUNT - EMB_Q4_0);
    for (size_t i = 0; i < EMBI_LEN(want); i++) {
        emb_dtype dtype = (emb_dtype)(EMB_Q4_0 + i);
        cr_expect_str_eq(emb_dtype_name(dtype), want[i].name);
        cr_expect_eq(emb_dtype_parse(want[i].name), dtype, "%s", want[i].name);
        cr_expect_eq(emb_dtype_block(dtype), want[i].block, "%s", want[i].name);
        cr_expect_eq(emb_dtype_row_bytes(dtype, 3 * want[i].block), 3 * want[i].bytes, "%s",
                     want[i].name);
        cr_expect_eq(emb_dtype_row_bytes(dtype, want[i].block - 1), 0, "%s", want[i].name);
        cr_expect_eq(emb_dtype_bytes(dtype), 0, "%s", want[i].name);
        cr_expect_not(emb_dtype_is_float(dtype), "%s", want[i].name);
    }
    cr_expect_eq(emb_dtype_parse("Q4_K"), EMB_DTYPE_NONE);
    cr_expect_eq(emb_dtype_block(EMB_DTYPE_COUNT), 0);
    cr_expect_eq(emb_dtype_row_bytes(EMB_DTYPE_COUNT, 256), 0);
}

static void put_f16(unsigned char *b, unsigned code)
{
    b[0] = (unsigned char)code;
    b[1] = (unsigned char)(code >> 8);
}

static void make_block(unsigned char *b, const struct vector *v)
{
    size_t bytes = embi_dtype_block_bytes(v->dtype);
    for (size_t k = 0; k < bytes; k++)
        b[k] = (unsigned char)(7 * k + 13 * (k >> 3) + 5);
    if (v->scale_at >= 0)
        put_f16(b + v->scale_at, 0x3800); /* 0.5 */
    if (v->dtype == EMB_MXFP4)
        b[0] = 127; /* 1 */
    if (v->dtype == EMB_NVFP4)
        memcpy(b, (const unsigned char[]){0x38, 0x40, 0x30, 0x28}, 4); /* 1, 2, 1/2, 1/4 */
    if (v->second_at >= 0)
        put_f16(b + v->second_at, 0x3400); /* 0.25 */
}

/* Two blocks, so that the second one's place is seen too. */
Test(blocks, big_endian_words_are_turned)
{
    for (size_t i = 0; i < EMBI_LEN(vectors); i++) {
        const struct vector *v = &vectors[i];
        size_t bytes = embi_dtype_block_bytes(v->dtype);
        unsigned char got[2 * EMBI_BLOCK_MAX], want[2 * EMBI_BLOCK_MAX];
        for (size_t k = 0; k < 2 * bytes; k++)
            want[k] = got[k] = (unsigned char)k;
        for (unsigned char *b = want; b < want + 2 * bytes; b += bytes) {
            if (v->scale_at >= 0)
                embi_swap_bytes(b + v->scale_at, 2, 1);
            if (v->second_at >= 0)
                embi_swap_bytes(b + v->second_at, 2, 1);
            if (v->dtype == EMB_Q5_0)
                embi_swap_bytes(b + 2, 4, 1); /* fifth bits, a word of 32 */
            if (v->dtype == EMB_Q5_1)
                embi_swap_bytes(b + 4, 4, 1);
            if (v->dtype == EMB_IQ4_XS)
                embi_swap_bytes(b + 2, 2, 1); /* high bits of scales, a word of 16 */
        }
        embi_swap_blocks(got, v->dtype, 2);
        cr_expect_arr_eq(got, want, 2 * bytes, "%s", emb_dtype_name(v->dtype));
    }
}

Test(blocks, one_of_each_type)
{
    for (size_t i = 0; i < EMBI_LEN(vectors); i++) {
        const struct vector *v = &vectors[i];
        const char *name = emb_dtype_name(v->dtype);
        size_t n = emb_dtype_block(v->dtype);
        unsigned char block[EMBI_BLOCK_MAX];
        float y[EMBI_BLOCK_MAX];
        double wide[EMBI_BLOCK_MAX], sum = 0;
        emb_err err;
        make_block(block, v);
        cr_assert_eq(emb_convert(y, EMB_F32, block, v->dtype, n, NULL, &err), EMB_OK);
        cr_assert_eq(emb_convert(wide, EMB_F64, block, v->dtype, n, NULL, &err), EMB_OK);
        for (size_t k = 0; k < n; k++) {
            sum += (double)y[k];
            cr_expect_eq(wide[k], (double)y[k], "%s %zu", name, k);
        }
        cr_expect_eq(sum, v->sum, "%s: %g", name, sum);
        for (size_t k = 0; k < POINTS && points[k] < (int)n; k++)
            cr_expect(isnan(v->values[k]) || y[points[k]] == v->values[k], "%s at %d: %g", name,
                      points[k], (double)y[points[k]]);
    }
}

/* Codes first, then scales. */
Test(blocks, q8_0_split)
{
    enum { BLOCKS = 3 };
    unsigned char blocks[BLOCKS * 34], split[BLOCKS * 34], back[BLOCKS * 34];
    for (int i = 0; i < BLOCKS; i++)
        for (int j = 0; j < 34; j++)
            blocks[34 * i + j] = (unsigned char)(j < 2 ? 200 + 2 * i + j : 32 * i + j - 2);
    embi_q8_0_split(split, blocks, sizeof blocks);
    for (int i = 0; i < BLOCKS * 34; i++)
        cr_expect_eq(split[i], i < 96 ? i : 200 + i - 96, "byte %d: %d", i, split[i]);
    embi_q8_0_join(back, split, sizeof split);
    cr_expect_arr_eq(back, blocks, sizeof blocks);
}

/* ------------------------------------------------------------------------------------------------
 * Into blocks. Scales are powers of two here, so every step can be followed by hand.
 */

enum { N = 32 };

static emb_err err;

static void convert_32(unsigned char *b, emb_dtype dtype, const float *x, uint64_t *overflows)
{
    cr_assert_eq(emb_convert(b, dtype, x, EMB_F32, N, overflows, &err), EMB_OK, "%s", err.msg);
}

/* The largest is 127 / 8: d = 1/8, codes are 8 x, halves away from zero. */
Test(blocks, to_q8_0)
{
    float x[N] = {15.875f, -15.875f, 0.125f, -0.125f, 0.0625f, -0.0625f, 0.06f, 0.1875f};
    const int8_t codes[N] = {127, -127, 1, -1, 1, -1, 0, 2};
    unsigned char b[34];
    uint64_t overflows = 0;
    convert_32(b, EMB_Q8_0, x, &overflows);
    cr_expect(b[0] == 0 && b[1] == 0x30); /* f16 2^-3 */
    cr_expect_arr_eq(b + 2, codes, N);
    cr_expect_eq(overflows, 0);
}

/* The first of the largest decides the sign of the scale: m = 4, d = -1/2, codes are
 * trunc(-2 x + 8.5), 15 at most. Byte i has codes i and i + 16. */
Test(blocks, to_q4_0)
{
    float x[N] = {0, 4, -4, 3.75f, 0.25f, 0.2f, -3.8f};
    const int codes[7] = {8, 0, 15, 1, 8, 8, 15};
    unsigned char b[18];
    x[16] = 2;
    convert_32(b, EMB_Q4_0, x, NULL);
    cr_expect(b[0] == 0 && b[1] == 0xB8); /* f16 -0.5 */
    cr_expect_eq(b[2], 8 | 4 << 4);
    for (int i = 1; i < 16; i++)
        cr_expect_eq(b[2 + i], (i < 7 ? codes[i] : 8) | 8 << 4, "%d: %x", i, b[2 + i]);
}

/* Zeros, and numbers whose scale is so small that its inverse is infinite. */
Test(blocks, nothing_to_scale)
{
    float zero[N] = {0}, tiny[N] = {1e-42f, -1e-43f};
    unsigned char b[34], want[34] = {0};
    convert_32(b, EMB_Q8_0, zero, NULL);
    cr_expect_arr_eq(b, want, 34);
    convert_32(b, EMB_Q8_0, tiny, NULL);
    cr_expect_arr_eq(b, want, 34);
    convert_32(b, EMB_Q4_0, zero, NULL);
    memset(want + 2, 0x88, 16);
    want[1] = 0x80; /* 0 / -8 */
    cr_expect_arr_eq(b, want, 18);
}

Test(blocks, too_large_for_f16)
{
    float x[2 * N] = {1};
    float y[2 * N];
    unsigned char b[2 * 34];
    uint64_t overflows = 5;
    x[N] = 1e8f; /* 1e8 / 127 is above 65504 */
    cr_assert_eq(emb_convert(b, EMB_Q8_0, x, EMB_F32, 2 * N, &overflows, &err), EMB_OK);
    cr_expect_eq(overflows, 5 + N);
    cr_assert_eq(emb_convert(y, EMB_F32, b, EMB_Q8_0, 2 * N, NULL, &err), EMB_OK);
    cr_expect(isfinite(y[0]) && isinf(y[N]));
}

Test(blocks, other_types_go_through_f32)
{
    int8_t whole[N] = {127, -127, 3};
    double wide[N];
    float narrow[N];
    unsigned char a[34], b[34];
    for (int i = 0; i < N; i++)
        wide[i] = narrow[i] = whole[i];
    convert_32(a, EMB_Q8_0, narrow, NULL);
    cr_assert_eq(emb_convert(b, EMB_Q8_0, wide, EMB_F64, N, NULL, &err), EMB_OK);
    cr_expect_arr_eq(a, b, 34);
    cr_assert_eq(emb_convert(b, EMB_Q8_0, whole, EMB_I8, N, NULL, &err), EMB_OK);
    cr_expect_arr_eq(a, b, 34);
    memset(whole, 0, sizeof whole);
    cr_assert_eq(emb_convert(whole, EMB_I8, b, EMB_Q8_0, N, NULL, &err), EMB_OK);
    cr_expect(whole[0] == 127 && whole[1] == -127 && whole[2] == 3 && whole[3] == 0);
}

Test(blocks, refused)
{
    unsigned char b[2 * 144], codes[2 * 144] = {0};
    float x[2 * EMBI_BLOCK_MAX] = {0};
    int8_t whole[2 * EMBI_BLOCK_MAX];
    cr_expect_eq(emb_convert(b, EMB_Q8_0, x, EMB_F32, 33, NULL, &err), EMB_BAD_ARG);
    cr_expect_str_eq(err.msg, "conversion from f32 to q8_0: 33 numbers are not whole blocks of 32");
    cr_expect_eq(emb_convert(x, EMB_F32, codes, EMB_Q4_K, 128, NULL, &err), EMB_BAD_ARG);
    cr_expect_eq(emb_convert(b, EMB_Q4_K, x, EMB_F32, 256, NULL, &err), EMB_UNSUPPORTED);
    x[260] = NAN;
    cr_expect_eq(emb_convert(b, EMB_Q4_0, x, EMB_F32, 288, NULL, &err), EMB_BAD_DATA);
    cr_expect_eq(err.at, 260);
    cr_expect_str_eq(err.msg, "element 260 is NaN or infinite: q4_0 holds neither");
    double large[64] = {0};
    large[40] = -1e39;
    cr_expect_eq(emb_convert(b, EMB_Q8_0, large, EMB_F64, 64, NULL, &err), EMB_BAD_DATA);
    cr_expect_eq(err.at, 40);
    cr_expect_str_eq(err.msg,
                     "element 40, -1e+39, is too large for q8_0: its scales are made from f32");
    large[40] = -INFINITY;
    cr_expect_eq(emb_convert(b, EMB_Q8_0, large, EMB_F64, 64, NULL, &err), EMB_BAD_DATA);
    cr_expect_str_eq(err.msg, "element 40 is NaN or infinite: q8_0 holds neither");
    codes[144] = 1;     /* d of the second block is the least number of f16, */
    codes[144 + 4] = 1; /* times a scale of 1 */
    codes[144 + 16] = 2;
    cr_expect_eq(emb_convert(whole, EMB_I8, codes, EMB_Q4_K, 512, NULL, &err), EMB_BAD_DATA);
    cr_expect_eq(err.at, 256);
    cr_expect_str_eq(err.msg, "element 256 is not a whole number that i8 holds");
    cr_expect_eq(emb_number_print((char *)b, EMB_Q8_0, codes), 0);
}
