/* blocks.c - the scalar decoders of quantised blocks, which define what other kernels answer: the
 * types of 4 to 8 bits here, K-quants in blocks_k.c, types of fewer bits in blocks_tiny.c.
 *
 * Layouts and formulas are those of ggml (ggml-common.h, ggml-quants.c), each with its bytes in
 * front of it; `d` and `m` are f16. Scales and codes are so short that every product is exact in
 * f32; where an offset is subtracted or added, that is the one rounding. An infinity or NaN in a
 * scale gives infinities and NaNs, as it does there.
 */
#include "num/blocks.h"
#include "num/blocks_decode.h"
#include "num/dtype.h"

/* d, 16 bytes of codes */
static void decode_q4_0(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(embi_block_nibble(b + 2, i) - 8);
}

/* d, m, 16 bytes of codes */
static void decode_q4_1(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b), m = embi_block_f16(b + 2);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)embi_block_nibble(b + 4, i) + m;
}

/* d, the fifth bits of 32 codes, 16 bytes with the other four */
static void decode_q5_0(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b);
    uint32_t high = embi_le32(b + 2);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)((embi_block_nibble(b + 6, i) | (int)(high >> i & 1) << 4) - 16);
}

/* d, m, fifth bits, 16 bytes */
static void decode_q5_1(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b), m = embi_block_f16(b + 2);
    uint32_t high = embi_le32(b + 4);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(embi_block_nibble(b + 8, i) | (int)(high >> i & 1) << 4) + m;
}

/* d, 32 signed codes */
static void decode_q8_0(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)(int8_t)b[2 + i];
}

/* What the codes of the iq4 types stand for. */
static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

/* d, 16 bytes of codes */
static void decode_iq4_nl(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b);
    for (int i = 0; i < 32; i++)
        y[i] = d * (float)iq4_values[embi_block_nibble(b + 2, i)];
}

/* d, the upper 2 bits of 8 scales, 4 bytes of their low halves, 128 bytes of codes */
static void decode_iq4_xs(float *y, const unsigned char *b)
{
    float d = embi_block_f16(b);
    unsigned high = embi_le16(b + 2);
    for (int g = 0; g < 8; g++) {
        int low = b[4 + g / 2] >> 4 * (g % 2) & 15;
        float scale = d * (float)((low | (int)(high >> 2 * g & 3) << 4) - 32);
        for (int i = 0; i < 32; i++)
            y[32 * g + i] = scale * (float)iq4_values[embi_block_nibble(b + 8 + 16 * g, i)];
    }
}

static embi_decode_fn *decoder_of(emb_dtype dtype)
{
    switch (dtype) {
    case EMB_Q4_0: return decode_q4_0;
    case EMB_Q4_1: return decode_q4_1;
    case EMB_Q5_0: return decode_q5_0;
    case EMB_Q5_1: return decode_q5_1;
    case EMB_Q8_0: return decode_q8_0;
    case EMB_IQ4_NL: return decode_iq4_nl;
    case EMB_IQ4_XS: return decode_iq4_xs;
    case EMB_Q2_K:
    case EMB_Q3_K:
    case EMB_Q4_K:
    case EMB_Q5_K:
    case EMB_Q6_K: return embi_decoder_k(dtype);
    default: return embi_decoder_tiny(dtype);
    }
}

void embi_f32_from_blocks(float *dst, const void *src, emb_dtype dtype, size_t n)
{
    embi_decode_fn *decode = decoder_of(dtype);
    size_t numbers = emb_dtype_block(dtype), bytes = embi_dtype_block_bytes(dtype);
    for (size_t i = 0; i < n; i++) {
        float y[EMBI_BLOCK_MAX];
        decode(y, (const unsigned char *)src + i * bytes);
        memcpy((unsigned char *)dst + i * numbers * sizeof *y, y, numbers * sizeof *y);
    }
}
