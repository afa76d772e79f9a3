/* blocks_tiny.c - the scalar decoders of blocks with numbers of 1 or 2 bits, of three values, and
 * of 4-bit floats (e2m1, as OCP MX has them). blocks.c says what holds for all decoders.
 */
#include "num/blocks_decode.h"

/* Twice the values of e2m1, whose least is 1/2. */
static const int8_t e2m1_doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* 2^(code - 128), half of what e8m0 means: for doubled values. Codes 0 and 1 are subnormal. */
static inline float half_e8m0(unsigned code)
{
    return embi_f32_of(code < 2 ? 0x00200000u << code : (uint32_t)(code - 1) << 23);
}

/* An exponent, 16 bytes of codes */
static void decode_mxfp4(float *y, const unsigned char *b)
{
    float d = half_e8m0(b[0]);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)e2m1_doubled[embi_block_nibble(b + 1, i)];
}

/* e4m3 without a sign bit; its NaN stands for zero. */
static inline float unsigned_e4m3(unsigned code)
{
    int exponent = (int)(code >> 3 & 15), mantissa = (int)(code & 7);
    if (code == 0x7F)
        return 0;
    if (exponent == 0)
        return (float)mantissa * 0x1p-9f;
    return (float)(8 + mantissa) * embi_f32_of((uint32_t)(exponent - 10 + 127) << 23);
}

/* 4 scales, for 16 numbers each: 8 bytes of codes, first the low halves of them */
static void decode_nvfp4(float *y, const unsigned char *b)
{
    for (int s = 0; s < 4; s++) {
        float d = 0.5f * unsigned_e4m3(b[s]);
        for (int i = 0; i < 16; i++) {
            int byte = b[4 + 8 * s + i % 8], code = i < 8 ? byte & 15 : byte >> 4;
            y[16 * s + i] = d * (float)e2m1_doubled[code];
        }
    }
}

/* Digit n (0: the first) of five that a byte has in base 3, as a fraction of 256: -1, 0 or 1. */
static inline int trit(unsigned byte, int n)
{
    static const unsigned powers[5] = {1, 3, 9, 27, 81};
    return (int)((byte * powers[n] & 255) * 3 >> 8) - 1;
}

/* 48 bytes of five digits, 4 of four, d. Digit n of 32 bytes, then of 16, then of 4, is a run. */
static void decode_tq1_0(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b + 52);
    for (int i = 0; i < 160; i++)
        y[i] = (float)trit(b[i % 32], i / 32) * d;
    for (int i = 0; i < 80; i++)
        y[160 + i] = (float)trit(b[32 + i % 16], i / 16) * d;
    for (int i = 0; i < 16; i++)
        y[240 + i] = (float)trit(b[48 + i % 4], i / 4) * d;
}

/* 64 bytes of 2-bit codes, each for four numbers that are 32 apart; d */
static void decode_tq2_0(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b + 64);
    for (int i = 0; i < 256; i++) {
        int code = b[32 * (i / 128) + i % 32] >> 2 * (i % 128 / 32) & 3;
        y[i] = (float)(code - 1) * d;
    }
}

/* d, 16 bytes of signs */
static void decode_q1_0(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b);
    for (int i = 0; i < 128; i++)
        y[i] = b[2 + i / 8] >> i % 8 & 1 ? d : -d;
}

/* d, 16 bytes of 2-bit codes */
static void decode_q2_0(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b);
    for (int i = 0; i < 64; i++)
        y[i] = (float)((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * d;
}

embi_decode_fn *embi_decoder_tiny(emb_dtype dtype)
{
    switch (dtype) {
    case EMB_MXFP4: return decode_mxfp4;
    case EMB_NVFP4: return decode_nvfp4;
    case EMB_TQ1_0: return decode_tq1_0;
    case EMB_TQ2_0: return decode_tq2_0;
    case EMB_Q1_0: return decode_q1_0;
    default: return decode_q2_0;
    }
}
