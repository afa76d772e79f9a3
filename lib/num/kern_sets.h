/* kern_sets.h - for the kernel files alone: the names of the sets. */
#ifndef EMBI_NUM_KERN_SETS_H
#define EMBI_NUM_KERN_SETS_H

#include "num/kern.h"

#if defined(__x86_64__)
extern const struct embi_kern embi_kern_avx2;   /* AVX2, FMA and F16C */
extern const struct embi_kern embi_kern_avx512; /* AVX-512 F, BW, DQ and VL, BMI, and those */

/* Of both, but Philox of the first: in blocks_x86.c, fields_x86.c, lines_x86.c, philox_x86.c. */
void embi_f32_from_blocks_avx2(float *dst, const void *src, emb_dtype dtype, size_t n);
void embi_random_words_avx2(uint32_t *words, size_t ld, const uint32_t counter[4],
                            const uint32_t key[2], size_t n);
size_t embi_scan_line_avx2(const char *s, size_t n, uint64_t *fields);
size_t embi_scan_fields_avx2(const char *s, size_t n_bytes, float *out, size_t n, size_t *used);
/* Of the second: in fields_avx512.c and philox_avx512.c. */
size_t embi_scan_fields_avx512(const char *s, size_t n_bytes, float *out, size_t n, size_t *used);
void embi_random_words_avx512(uint32_t *words, size_t ld, const uint32_t counter[4],
                              const uint32_t key[2], size_t n);
#endif

#endif
