/* blocks_split.c - rows of q8_0 with all codes before all scales, and back: how a GPU has them
 * (dev/cuda.h), since codes then are 16 bytes at a time.
 */
#include "num/blocks.h"

enum { SCALE_BYTES = 2, CODES = 32, Q8_0_BYTES = SCALE_BYTES + CODES };

void embi_q8_0_split(unsigned char *dst, const unsigned char *blocks, size_t bytes)
{
    size_t n = bytes / Q8_0_BYTES;
    unsigned char *scales = dst + n * CODES;
    for (size_t i = 0; i < n; i++) {
        memcpy(scales + i * SCALE_BYTES, blocks + i * Q8_0_BYTES, SCALE_BYTES);
        memcpy(dst + i * CODES, blocks + i * Q8_0_BYTES + SCALE_BYTES, CODES);
    }
}

void embi_q8_0_join(unsigned char *blocks, const unsigned char *src, size_t bytes)
{
    size_t n = bytes / Q8_0_BYTES;
    const unsigned char *scales = src + n * CODES;
    for (size_t i = 0; i < n; i++) {
        memcpy(blocks + i * Q8_0_BYTES, scales + i * SCALE_BYTES, SCALE_BYTES);
        memcpy(blocks + i * Q8_0_BYTES + SCALE_BYTES, src + i * CODES, CODES);
    }
}
