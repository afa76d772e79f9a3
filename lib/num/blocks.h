/* blocks.h - the quantised block types of GGUF: whole blocks to f32 and, for two of them, back.
 *
 * A block is 32 to 256 numbers of one row with their scales; num/dtype.h has the sizes. Nothing
 * here needs alignment.
 */
#ifndef EMBI_NUM_BLOCKS_H
#define EMBI_NUM_BLOCKS_H

#include "util/base.h"

/* The most numbers that a block of any type holds; a multiple of all others. */
#define EMBI_BLOCK_MAX 256

struct embi_kern;

/* n blocks to f32 [n * emb_dtype_block(dtype)]: the scalar kernel (num/kern.h), which defines the
 * answer. */
void embi_f32_from_blocks(float *dst, const void *src, emb_dtype dtype, size_t n);

/* n blocks of a big-endian file into the order of all others, or back, in place. */
void embi_swap_blocks(void *blocks, emb_dtype dtype, size_t n);

/* Scale and offset j of 8 in the 12 bytes that q4_k and q5_k have: 6 bits each. */
static inline void embi_unpack_k4(const unsigned char *packed, int j, int *scale, int *offset)
{
    if (j < 4) {
        *scale = packed[j] & 63;
        *offset = packed[j + 4] & 63;
    } else {
        *scale = (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        *offset = packed[j + 4] >> 4 | packed[j] >> 6 << 4;
    }
}

/* Can numbers be put into blocks of that type? */
bool embi_blocks_written(emb_dtype dtype);

/* The blocks of n numbers, a multiple of the block, all finite. Returns how many of the numbers lie
 * in blocks whose scale is too large for f16: they are infinite or NaN there. */
uint64_t embi_blocks_from_f32(void *dst, emb_dtype dtype, const float *src, size_t n);

/* A row of q8_0, `bytes` of whole blocks, with all codes first and then all scales, little-endian
 * f16 as they were; and back. The arrays do not overlap. */
void embi_q8_0_split(unsigned char *dst, const unsigned char *blocks, size_t bytes);
void embi_q8_0_join(unsigned char *blocks, const unsigned char *src, size_t bytes);

/* embi_convert (num/dtype.h) where one of the types is a block type. */
emb_status embi_convert_blocks(const struct embi_kern *kern, void *dst, emb_dtype dst_dtype,
                               const void *src, emb_dtype src_dtype, size_t n, uint64_t *overflows,
                               emb_err *err);

#endif
