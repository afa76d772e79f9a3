/* blocks_order.c - blocks of a big-endian machine, put into the order of all others.
 *
 * ggml copies its structs to the file. Most of a block is bytes, which have no order: codes of
 * 8 bits, and scales that share bytes. What it declares or reads as a word has one: scales in f16,
 * the fifth bits of q5_0 and q5_1 (a word of 32), the high bits of the scales of iq4_xs (one of
 * 16). Specification: the structs of ggml-common.h, the loops of ggml-quants.c.
 */
#include "num/blocks.h"

#include "num/dtype.h"

/* The words of a block: `n` of 2 bytes, side by side from byte `at`, and one of 4 at `wide`. */
static const struct {
    unsigned char n, at;
    unsigned char wide; /* 0: none */
} words[EMB_DTYPE_COUNT] = {
    [EMB_Q4_0] = {1, 0, 0},   [EMB_Q4_1] = {2, 0, 0},   [EMB_Q5_0] = {1, 0, 2},
    [EMB_Q5_1] = {2, 0, 4},   [EMB_Q8_0] = {1, 0, 0},   [EMB_Q2_K] = {2, 80, 0},
    [EMB_Q3_K] = {1, 108, 0}, [EMB_Q4_K] = {2, 0, 0},   [EMB_Q5_K] = {2, 0, 0},
    [EMB_Q6_K] = {1, 208, 0}, [EMB_IQ4_NL] = {1, 0, 0}, [EMB_IQ4_XS] = {2, 0, 0},
    [EMB_TQ1_0] = {1, 52, 0}, [EMB_TQ2_0] = {1, 64, 0}, [EMB_MXFP4] = {0, 0, 0},
    [EMB_NVFP4] = {0, 0, 0},  [EMB_Q1_0] = {1, 0, 0},   [EMB_Q2_0] = {1, 0, 0},
};

void embi_swap_blocks(void *blocks, emb_dtype dtype, size_t n)
{
    size_t bytes = embi_dtype_block_bytes(dtype);
    unsigned char *block = blocks;
    for (size_t i = 0; i < n; i++, block += bytes) {
        embi_swap_bytes(block + words[dtype].at, 2, words[dtype].n);
        if (words[dtype].wide)
            embi_swap_bytes(block + words[dtype].wide, 4, 1);
    }
}
