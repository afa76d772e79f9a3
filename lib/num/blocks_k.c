/* blocks_k.c - the scalar decoders of K-quants: 256 numbers a block, in groups of 16 or 32 with
 * small scales of their own. blocks.c says what holds for all decoders.
 */
#include "num/blocks.h"
#include "num/blocks_decode.h"

/* 16 bytes of scales, each with its offset above it; 64 bytes of 2-bit codes; d, m. A group of 16
 * numbers has a scale; each byte of codes serves four numbers that are 32 apart. */
static void decode_q2_k(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b + 80), m = embi_block_f16(b + 82);
    for (int g = 0; g < 16; g++) {
        const unsigned char *codes = b + 16 + 32 * (g / 8) + 16 * (g % 2);
        float scale = d * (float)(b[g] & 15), offset = m * (float)(b[g] >> 4);
        for (int i = 0; i < 16; i++)
            y[16 * g + i] = scale * (float)(codes[i] >> 2 * (g % 8 / 2) & 3) - offset;
    }
}

/* 32 bytes of third bits; 64 bytes of the other two, as in q2_k; 12 bytes of 6-bit scales: low
 * halves in 8, upper bits in 4; d. */
static void decode_q3_k(float *y, const unsigned char *b)
{
    const unsigned char *packed = b + 96;
    float d = embi_block_f16(b + 108);
    for (int g = 0; g < 16; g++) {
        const unsigned char *codes = b + 32 + 32 * (g / 8) + 16 * (g % 2);
        const unsigned char *high = b + 16 * (g % 2);
        int low = g < 8 ? packed[g] & 15 : packed[g - 8] >> 4;
        float scale = d * (float)((low | (packed[8 + g % 4] >> 2 * (g / 4) & 3) << 4) - 32);
        for (int i = 0; i < 16; i++) {
            int code = (codes[i] >> 2 * (g % 8 / 2) & 3) - (high[i] >> g / 2 & 1 ? 0 : 4);
            y[16 * g + i] = scale * (float)code;
        }
    }
}

/* Numbers 32 j .. 32 j + 31 of q4_k and q5_k: codes of 4 bits, bit j of high[i] above each (high
 * NULL: none). */
static inline void decode_k4(float *y, const unsigned char *b, int j, const unsigned char *codes,
                             const unsigned char *high)
{
    int scale, offset;
    embi_unpack_k4(b + 4, j, &scale, &offset);
    float d = embi_block_f16(b) * (float)scale, m = embi_block_f16(b + 2) * (float)offset;
    for (int i = 0; i < 32; i++) {
        int code = j % 2 ? codes[i] >> 4 : codes[i] & 15;
        if (high)
            code |= (high[i] >> j & 1) << 4;
        y[i] = d * (float)code - m;
    }
}

/* d, m, 12 bytes of scales and offsets, 128 bytes of codes */
static void decode_q4_k(float *y, const unsigned char *b)
{
    for (int j = 0; j < 8; j++)
        decode_k4(y + 32 * j, b, j, b + 16 + 32 * (j / 2), NULL);
}

/* d, m, 12 bytes of scales and offsets, 32 bytes of fifth bits, 128 bytes of codes */
static void decode_q5_k(float *y, const unsigned char *b)
{
    for (int j = 0; j < 8; j++)
        decode_k4(y + 32 * j, b, j, b + 48 + 32 * (j / 2), b + 16);
}

/* 128 bytes of low halves, 64 of upper 2 bits, 16 signed scales, d. Number 128 h + 32 k + l. */
static void decode_q6_k(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b + 208);
    for (int g = 0; g < 16; g++) {
        int h = g / 8, k = g % 8 / 2, at = 16 * (g % 2);
        const unsigned char *low = b + 64 * h + 32 * (k % 2) + at, *high = b + 128 + 32 * h + at;
        float scale = d * (float)(int8_t)b[192 + g];
        for (int i = 0; i < 16; i++) {
            int code = k < 2 ? low[i] & 15 : low[i] >> 4;
            y[16 * g + i] = scale * (float)((code | (high[i] >> 2 * k & 3) << 4) - 32);
        }
    }
}

embi_decode_fn *embi_decoder_k(emb_dtype dtype)
{
    switch (dtype) {
    case EMB_Q2_K: return decode_q2_k;
    case EMB_Q3_K: return decode_q3_k;
    case EMB_Q4_K: return decode_q4_k;
    case EMB_Q5_K: return decode_q5_k;
    default: return decode_q6_k;
    }
}
