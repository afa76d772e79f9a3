/* dtype.h - element types and conversion between them, on whole spans.
 *
 * Decoding to f64 is exact but for 64-bit integers; to f32 it is one rounding. Block types decode
 * to f32 (num/blocks.h). Encoding rounds once
 * from the value as stored (f64 -> f16 does not go through f32). No function here needs alignment.
 * Conversions with a fast kernel (num/kern.h) are reached through embi_convert, which is given the
 * kernel set; without one the scalar reference runs.
 */
#ifndef EMBI_NUM_DTYPE_H
#define EMBI_NUM_DTYPE_H

#include "util/base.h"

struct embi_kern;

/* dst[i] = src[i] for n elements. As emb_convert; kern may be NULL. *overflows may be NULL. */
emb_status embi_convert(const struct embi_kern *kern, void *dst, emb_dtype dst_dtype,
                        const void *src, emb_dtype src_dtype, size_t n, uint64_t *overflows,
                        emb_err *err);

/* Decoding alone, which cannot fail. Of a block type n numbers are whole blocks. */
void embi_to_f32(const struct embi_kern *kern, float *dst, const void *src, emb_dtype src_dtype,
                 size_t n);
void embi_to_f64(double *dst, const void *src, emb_dtype src_dtype, size_t n);

/* One element as f64, of a type whose elements have bytes of their own. */
double embi_element(const void *src, emb_dtype dtype);

/* Bytes of one block (emb_dtype_block), which is one element of most types; 0: EMB_DTYPE_NONE. */
size_t embi_dtype_block_bytes(emb_dtype dtype);

/* EMB_BAD_DATA: element i cannot go to the integer type. */
emb_status embi_refuse_whole(emb_err *err, size_t i, emb_dtype dtype);

/* Reverses the bytes of each of n elements, in place. */
void embi_swap_bytes(void *data, size_t element_bytes, size_t n);

#endif
