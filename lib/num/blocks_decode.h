/* blocks_decode.h - for the scalar decoders alone: where each type's is, and what they share. */
#ifndef EMBI_NUM_BLOCKS_DECODE_H
#define EMBI_NUM_BLOCKS_DECODE_H

#include "num/half.h"

/* Decodes one block at b; y has room for it. */
typedef void embi_decode_fn(float *y, const unsigned char *b);

embi_decode_fn *embi_decoder_k(emb_dtype dtype);    /* q2_k to q6_k: blocks_k.c            */
embi_decode_fn *embi_decoder_tiny(emb_dtype dtype); /* fewer bits than 4, and 4-bit floats */

static inline float embi_block_f16(const unsigned char *b)
{
    return embi_f32_from_f16(embi_le16(b));
}

/* Code i of 32 that are 4 bits each: the low halves of 16 bytes, then the high ones. */
static inline int embi_block_nibble(const unsigned char *b, int i)
{
    return i < 16 ? b[i] & 15 : b[i - 16] >> 4;
}

#endif
