/* blocks.c - the scalar decoders of quantised blocks, which define what other kernels answer.
 *
 * Layouts and formulas are those of ggml (ggml-common.h, ggml-quants.c), each with its bytes in
 * front of it; `d` and `m` are f16. Scales and codes are so short that every product is exact in
 * f32; where an offset is subtracted or added, that is the one rounding. An infinity or NaN in a
 * scale gives infinities and NaNs, as it does there.
 */
#include "num/blocks.h"
#include "num/dtype.h"
#include "num/half.h"

static inline float f16_at(const unsigned char *b)
{
    return embi_f32_from_f16(embi_le16(b));
}

/* Code i of 32 that are 4 bits each: the low halves of 16 bytes, then the high ones. */
static inline int nibble(const unsigned char *b, int i)
{
    return i < 16 ? b[i] & 15 : b[i - 16] >> 4;
}

/* d, 16 bytes of codes */
static void decode_q4_0(float *y, const unsigned char *b)
{
    float d = f16_at(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(nibble(b + 2, i) - 8);
}

/* d, m, 16 bytes of codes */
static void decode_q4_1(float *y, const unsigned char *b)
{
    float d = f16_at(b), m = f16_at(b + 2);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)nibble(b + 4, i) + m;
}

/* d, the fifth bits of 32 codes, 16 bytes with the other four */
static void decode_q5_0(float *y, const unsigned char *b)
{
    float d = f16_at(b);
    uint32_t high = embi_le32(b + 2);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)((nibble(b + 6, i) | (int)(high >> i & 1) << 4) - 16);
}

/* d, m, fifth bits, 16 bytes */
static void decode_q5_1(float *y, const unsigned char *b)
{
    float d = f16_at(b), m = f16_at(b + 2);
    uint32_t high = embi_le32(b + 4);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(nibble(b + 8, i) | (int)(high >> i & 1) << 4) + m;
}

/* d, 32 signed codes */
static void decode_q8_0(float *y, const unsigned char *b)
{
    float d = f16_at(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(int8_t)b[2 + i];
}

/* 16 bytes of scales, each with its offset above it; 64 bytes of 2-bit codes; d, m. A group of 16
 * numbers has a scale; each byte of codes serves four numbers that are 32 apart. */
static void decode_q2_k(float *y, const unsigned char *b)
{
    float d = f16_at(b + 80), m = f16_at(b + 82);
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
    float d = f16_at(b + 108);
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
    float d = f16_at(b) * (float)scale, m = f16_at(b + 2) * (float)offset;
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
    float d = f16_at(b + 208);
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

/* What the codes of the iq4 types stand for. */
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

/* d, 16 bytes of codes */
static void decode_iq4_nl(float *y, const unsigned char *b)
{
    float d = f16_at(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)iq4_values[nibble(b + 2, i)];
}

/* d, the upper 2 bits of 8 scales, 4 bytes of their low halves, 128 bytes of codes */
static void decode_iq4_xs(float *y, const unsigned char *b)
{
    float d = f16_at(b);
    unsigned high = embi_le16(b + 2);
    for (int g = 0; g < 8; g++) {
        int low = b[4 + g / 2] >> 4 * (g % 2) & 15;
        float scale = d * (float)((low | (int)(high >> 2 * g & 3) << 4) - 32);
        for (int i = 0; i < 32; i++)
            y[32 * g + i] = scale * (float)iq4_values[nibble(b + 8 + 16 * g, i)];
    }
}

typedef void decode_fn(float *y, const unsigned char *b);

static decode_fn *decoder_of(emb_dtype dtype)
{
    switch (dtype) {
    case EMB_Q4_0: return decode_q4_0;
    case EMB_Q4_1: return decode_q4_1;
    case EMB_Q5_0: return decode_q5_0;
    case EMB_Q5_1: return decode_q5_1;
    case EMB_Q8_0: return decode_q8_0;
    case EMB_Q2_K: return decode_q2_k;
    case EMB_Q3_K: return decode_q3_k;
    case EMB_Q4_K: return decode_q4_k;
    case EMB_Q5_K: return decode_q5_k;
    case EMB_Q6_K: return decode_q6_k;
    case EMB_IQ4_NL: return decode_iq4_nl;
    default: return decode_iq4_xs;
    }
}

void embi_f32_from_blocks(float *dst, const void *src, emb_dtype dtype, size_t n)
{
    decode_fn *decode = decoder_of(dtype);
    size_t numbers = emb_dtype_block(dtype), bytes = embi_dtype_block_bytes(dtype);
    for (size_t i = 0; i < n; i++) {
        float y[EMBI_BLOCK_MAX];
        decode(y, (const unsigned char *)src + i * bytes);
        memcpy((unsigned char *)dst + i * numbers * sizeof *y, y, numbers * sizeof *y);
    }
}
