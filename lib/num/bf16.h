/* bf16.h - products of bf16 rows with many queries that are rounded to bf16 too: kernels for CPUs
 * with instructions that multiply pairs of bf16 and add them up in f32.
 *
 * Which of them is fastest, and whether it is faster than widening the rows to f32, differs from
 * one kind of CPU to another that has the same instructions: it is measured (embi_bf16_rate).
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, VDPBF16PS and TDPBF16PS:
 * products of pairs, sums in f32, rounded to nearest, subnormals taken for zero.
 */
#ifndef EMBI_NUM_BF16_H
#define EMBI_NUM_BF16_H

#include "num/kern.h"

/* Of a row, d must be a multiple of so many: pairs fill the tiles then. */
enum { EMBI_BF16_DIMS = 32, EMBI_BF16_KERNELS = 2 };

struct embi_bf16_kern {
    const char *name;

    /* out[i * EMBI_PANEL * panels + l] = rows[i] . query l, for n rows of d bf16, at any address,
     * and queries as embi_bf16_pack arranges them: off from the products with the queries as they
     * are there by at most embi_any_order_bound(d) * |row| |q|, but for overflow and for what
     * subnormals lose. next_bytes bytes at `next` are asked for meanwhile. */
    void (*panels)(const void *const *rows, size_t n, uint32_t d, const float *packed,
                   size_t panels, const void *next, size_t next_bytes, float *out);

    /* norm2[i] = |rows[i]|^2, off by at most embi_any_order_bound(d) of it, with that reserve. */
    void (*norms)(const void *const *rows, size_t n, uint32_t d, float *norm2);
};

/* Those for these features (EMBI_CPU_*): how many. */
size_t embi_bf16_kernels(unsigned features,
                         const struct embi_bf16_kern *kernels[EMBI_BF16_KERNELS]);

/* Queries q [n, d] of length 1, rounded, as [panel][d / 2][EMBI_PANEL] pairs of bf16, a pair where
 * f32 has a number; lanes after the last query are zero. Returns the longest |q - rounded q|. */
double embi_bf16_pack(const struct embi_kern *kern, float *packed, const float *q, size_t n,
                      uint32_t d);

/* Products of one row and one query that are done in a nanosecond, by a kernel, or with kernel NULL
 * by widening the rows for kern->panels; with so many panels of queries, in the caches. Takes about
 * 0.2 ms. 0: there is no memory to try it. */
double embi_bf16_rate(const struct embi_kern *kern, const struct embi_bf16_kern *kernel,
                      size_t panels);

#if defined(__x86_64__)
/* The norms of both. */
void embi_bf16_norms_avx512(const void *const *rows, size_t n, uint32_t d, float *norm2);
extern const struct embi_bf16_kern embi_bf16_avx512; /* VDPBF16PS */
extern const struct embi_bf16_kern embi_bf16_amx;    /* TDPBF16PS, and that for what is left over */
#endif

#endif
