/* blocks_write.c - numbers into quantised blocks, and conversion from and to them.
 *
 * Two types are written, by the reference arithmetic of ggml (quantize_row_q8_0_ref and
 * quantize_row_q4_0_ref in ggml-quants.c), all of it in f32: codes come from the scale before it is
 * rounded to f16. K-quants are searched for there, and are only read here.
 */
#include "num/blocks.h"
#include "num/dtype.h"
#include "num/half.h"
#include "num/kern.h"
#include "util/err.h"

#include <math.h>

/* 1 / d; 0 where d is zero, or so small that this is infinite: f16 has only 0 for it anyway. */
static float inverse(float d)
{
    float inverse = d == 0 ? 0 : 1 / d;
    return isinf(inverse) ? 0 : inverse;
}

/* Puts the scale; true where f16 cannot hold it. */
static bool put_scale(unsigned char *b, float d)
{
    uint16_t code = embi_f16_from_f32(d);
    memcpy(b, &code, sizeof code);
    return (code & 0x7FFF) == 0x7C00;
}

/* The number of largest magnitude, the first of several. */
static float largest(const float *x, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(most))
            most = x[i];
    return most;
}

static bool encode_q8_0(unsigned char *b, const float *x)
{
    float d = fabsf(largest(x, 32)) / 127, scale = inverse(d);
    for (int i = 0; i < 32; i++)
        b[2 + i] = (unsigned char)(int8_t)roundf(x[i] * scale);
    return put_scale(b, d);
}

static bool encode_q4_0(unsigned char *b, const float *x)
{
    float d = largest(x, 32) / -8, scale = inverse(d);
    unsigned char codes[32];
    for (int i = 0; i < 32; i++)
        codes[i] = (unsigned char)embi_min(15, (int)(x[i] * scale + 8.5f));
    for (int i = 0; i < 16; i++)
        b[2 + i] = (unsigned char)(codes[i] | codes[i + 16] << 4);
    return put_scale(b, d);
}

bool embi_blocks_written(emb_dtype dtype)
{
    return dtype == EMB_Q8_0 || dtype == EMB_Q4_0;
}

uint64_t embi_blocks_from_f32(void *dst, emb_dtype dtype, const float *src, size_t n)
{
    size_t block = emb_dtype_block(dtype), bytes = embi_dtype_block_bytes(dtype);
    unsigned char *b = dst;
    uint64_t lost = 0;
    for (size_t i = 0; i < n; i += block, b += bytes) {
        bool overflow = dtype == EMB_Q8_0 ? encode_q8_0(b, src + i) : encode_q4_0(b, src + i);
        lost += overflow ? block : 0;
    }
    return lost;
}

/* ------------------------------------------------------------------------------------------------
 * Conversion
 */

/* Bytes of n numbers, whole blocks. */
static size_t span_bytes(emb_dtype dtype, size_t n)
{
    return n / emb_dtype_block(dtype) * embi_dtype_block_bytes(dtype);
}

/* Element k at src, number `at` of all, is no finite f32: of the other types f64 alone has more. */
static emb_status refuse_element(const unsigned char *src, emb_dtype src_dtype, size_t k, size_t at,
                                 emb_dtype dst_dtype, emb_err *err)
{
    double x = NAN;
    if (src_dtype == EMB_F64)
        memcpy(&x, src + k * sizeof x, sizeof x);
    if (isfinite(x))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)at,
                         "element %zu, %.9g, is too large for %s: its scales are made from f32", at,
                         x, emb_dtype_name(dst_dtype));
    return embi_fail(err, EMB_BAD_DATA, (int64_t)at,
                     "element %zu is NaN or infinite: %s holds neither", at,
                     emb_dtype_name(dst_dtype));
}

/* n numbers of src as blocks, a chunk at a time by way of f32. */
static emb_status to_blocks(const struct embi_kern *kern, unsigned char *dst, emb_dtype dst_dtype,
                            const unsigned char *src, emb_dtype src_dtype, size_t n,
                            uint64_t *overflows, emb_err *err)
{
    float chunk[EMBI_BLOCK_MAX];
    for (size_t i = 0; i < n; i += EMBI_BLOCK_MAX) {
        size_t count = embi_min(EMBI_BLOCK_MAX, n - i);
        const unsigned char *from = src + span_bytes(src_dtype, i);
        emb_status status = embi_convert(kern, chunk, EMB_F32, from, src_dtype, count, NULL, err);
        for (size_t k = 0; !status && k < count; k++)
            if (!isfinite(chunk[k]))
                status = refuse_element(from, src_dtype, k, i + k, dst_dtype, err);
        if (status)
            return status;
        *overflows += embi_blocks_from_f32(dst + span_bytes(dst_dtype, i), dst_dtype, chunk, count);
    }
    return EMB_OK;
}

/* Blocks to a type other than f32, likewise. */
static emb_status from_blocks(const struct embi_kern *kern, unsigned char *dst, emb_dtype dst_dtype,
                              const unsigned char *src, emb_dtype src_dtype, size_t n,
                              uint64_t *overflows, emb_err *err)
{
    float chunk[EMBI_BLOCK_MAX];
    for (size_t i = 0; i < n; i += EMBI_BLOCK_MAX) {
        size_t count = embi_min(EMBI_BLOCK_MAX, n - i);
        embi_to_f32(kern, chunk, src + span_bytes(src_dtype, i), src_dtype, count);
        emb_status status = embi_convert(kern, dst + span_bytes(dst_dtype, i), dst_dtype, chunk,
                                         EMB_F32, count, overflows, err);
        if (status)
            return embi_refuse_whole(err, i + (size_t)err->at, dst_dtype);
    }
    return EMB_OK;
}

emb_status embi_convert_blocks(const struct embi_kern *kern, void *dst, emb_dtype dst_dtype,
                               const void *src, emb_dtype src_dtype, size_t n, uint64_t *overflows,
                               emb_err *err)
{
    uint64_t uncounted = 0;
    size_t block = embi_max(emb_dtype_block(dst_dtype), emb_dtype_block(src_dtype));
    if (n % block)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "conversion from %s to %s: %zu numbers are not whole blocks of %zu",
                         emb_dtype_name(src_dtype), emb_dtype_name(dst_dtype), n, block);
    if (dst_dtype == src_dtype) {
        if (n > 0)
            memcpy(dst, src, span_bytes(src_dtype, n));
        return EMB_OK;
    }
    if (emb_dtype_block(dst_dtype) > 1 && !embi_blocks_written(dst_dtype))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "numbers cannot be put into %s; of the block types q8_0 and q4_0 can",
                         emb_dtype_name(dst_dtype));
    if (emb_dtype_block(dst_dtype) > 1)
        return to_blocks(kern, dst, dst_dtype, src, src_dtype, n,
                         overflows ? overflows : &uncounted, err);
    if (dst_dtype == EMB_F32) {
        embi_to_f32(kern, dst, src, src_dtype, n);
        return EMB_OK;
    }
    return from_blocks(kern, dst, dst_dtype, src, src_dtype, n, overflows, err);
}
