/* convert.c - conversion of spans from any element type to any other, each number rounded once.
 *
 * To f64 and f32: decoding (dtype.c). To the smaller floats: by a kernel from f32, else by way of
 * f64, which holds every value exactly but for 64-bit integers; those are first rounded to odd,
 * which keeps the second rounding right (Boldo and Melquiond, "Emulation of a FMA and correctly
 * rounded sums: proved algorithms using rounding to odd", 2008). To integers: through sign and
 * magnitude.
 */
#include "num/blocks.h"
#include "num/dtype.h"
#include "num/half.h"
#include "num/kern.h"
#include "util/err.h"

#include <math.h>

/* Elements that are decoded at a time on the way to a small float. */
#define CHUNK 256

/* A 64-bit magnitude with at most 53 significant bits: the lowest 11 bits are gone, and if they
 * were not zero the one above them says so. At least 42 bits are left of any number that had more
 * than 53, which is more than twice what an f32 keeps. */
static double to_odd(uint64_t magnitude)
{
    uint64_t lost = magnitude & 0x7FF;
    if (magnitude >> 53 && lost)
        magnitude = (magnitude - lost) | 0x800;
    return (double)magnitude;
}

static void chunk_to_f64(double *dst, const void *src, emb_dtype dtype, size_t n)
{
    if (dtype != EMB_I64 && dtype != EMB_U64) {
        embi_to_f64(dst, src, dtype, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = embi_le64((const unsigned char *)src + i * 8);
        bool negative = dtype == EMB_I64 && bits >> 63;
        dst[i] = negative ? -to_odd(0 - bits) : to_odd(bits);
    }
}

static const struct embi_small *small_of(emb_dtype dtype)
{
    switch (dtype) {
    case EMB_F16: return &embi_small_f16;
    case EMB_BF16: return &embi_small_bf16;
    case EMB_F8_E4M3: return &embi_small_e4m3;
    case EMB_F8_E5M2: return &embi_small_e5m2;
    case EMB_F8_E4M3FNUZ: return &embi_small_e4m3fnuz;
    default: return &embi_small_e5m2fnuz;
    }
}

/* n <= CHUNK values as codes of a float type below f64. */
static void encode(unsigned char *dst, emb_dtype dtype, const double *src, size_t n,
                   uint64_t *overflows)
{
    if (dtype == EMB_F32) {
        for (size_t i = 0; i < n; i++) {
            float y = (float)src[i];
            *overflows += isinf(y) && !isinf(src[i]);
            memcpy(dst + i * 4, &y, sizeof y);
        }
        return;
    }
    if (dtype == EMB_F8_E8M0) {
        for (size_t i = 0; i < n; i++)
            dst[i] = embi_e8m0_from_f64(src[i], overflows);
        return;
    }
    const struct embi_small *f = small_of(dtype);
    for (size_t i = 0; i < n; i++) {
        unsigned code = embi_small_from_f64(src[i], f, overflows);
        if (f->sign_shift == 15)
            memcpy(dst + i * 2, &(uint16_t){(uint16_t)code}, 2);
        else
            dst[i] = (unsigned char)code;
    }
}

static void through_f64(unsigned char *dst, emb_dtype dst_dtype, const unsigned char *src,
                        emb_dtype src_dtype, size_t n, uint64_t *overflows)
{
    size_t from_bytes = emb_dtype_bytes(src_dtype), to_bytes = emb_dtype_bytes(dst_dtype);
    double chunk[CHUNK];
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = embi_min(CHUNK, n - i);
        chunk_to_f64(chunk, src + i * from_bytes, src_dtype, count);
        encode(dst + i * to_bytes, dst_dtype, chunk, count, overflows);
    }
}

/* Finite f32 values whose 16-bit code (of which `infinity` is the largest magnitude but NaN) is an
 * infinity. */
static uint64_t count_overflows(const unsigned char *codes, unsigned infinity,
                                const unsigned char *src, size_t n)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (embi_le16(codes + i * 2) & 0x7FFFu) == infinity &&
                 (embi_le32(src + i * 4) & 0x7FFFFFFFu) < 0x7F800000u;
    return count;
}

/* Is one of n codes an infinity? Few conversions have any, so most are spared a look at each. Four
 * codes at a time: a code's magnitude and `infinity` differ where their exclusive or is not 0, and
 * that plus 0x7FFF has its highest bit then, with no carry to the next. */
static bool any_infinity(const unsigned char *codes, unsigned infinity, size_t n)
{
    const uint64_t ones = UINT64_C(0x0001000100010001), high = ones * 0x8000;
    uint64_t differ = high;
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        differ &= ((embi_le64(codes + i * 2) & ~high) ^ ones * infinity) + ones * 0x7FFF;
    bool found = (differ & high) != high;
    for (; i < n; i++)
        found = found || (embi_le16(codes + i * 2) & 0x7FFFu) == infinity;
    return found;
}

/* f32 to f16 or bf16 by a kernel. */
static void narrow(const struct embi_kern *kern, unsigned char *dst, emb_dtype dtype,
                   const unsigned char *src, size_t n, uint64_t *overflows)
{
    const unsigned infinity = small_of(dtype)->infinity;
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = embi_min(CHUNK, n - i);
        const unsigned char *from = src + i * 4;
        float chunk[CHUNK];
        memcpy(chunk, from, count * sizeof *chunk);
        if (dtype == EMB_F16)
            kern->f16_from_f32(dst + i * 2, chunk, count);
        else
            kern->bf16_from_f32(dst + i * 2, chunk, count);
        if (overflows && any_infinity(dst + i * 2, infinity, count))
            *overflows += count_overflows(dst + i * 2, infinity, from, count);
    }
}

/* A whole number of at most 64 bits and a sign. */
struct whole {
    bool negative;
    uint64_t magnitude;
};

/* False where the float is not whole, or beyond 64 bits. */
static bool whole_of_float(double x, struct whole *w)
{
    double size = fabs(x);
    if (!(size < 0x1p64))
        return false;
    *w = (struct whole){x < 0, (uint64_t)size};
    return (double)w->magnitude == size;
}

static bool whole_at(const unsigned char *src, emb_dtype dtype, struct whole *w)
{
    if (emb_dtype_is_float(dtype))
        return whole_of_float(embi_element(src, dtype), w);
    if (dtype == EMB_U64) {
        *w = (struct whole){false, embi_le64(src)};
        return true;
    }
    int64_t x;
    if (dtype == EMB_I64)
        memcpy(&x, src, sizeof x);
    else
        x = (int64_t)embi_element(src, dtype); /* below 2^32: exact */
    *w = (struct whole){x < 0, x < 0 ? 0 - (uint64_t)x : (uint64_t)x};
    return true;
}

/* The largest magnitude above and below zero that an integer type holds. */
static struct limits {
    uint64_t positive, negative;
} limits_of(emb_dtype dtype)
{
    unsigned bits = 8 * (unsigned)emb_dtype_bytes(dtype);
    uint64_t all = UINT64_MAX >> (64 - bits);
    switch (dtype) {
    case EMB_BOOL: return (struct limits){1, 0};
    case EMB_U8:
    case EMB_U16:
    case EMB_U32:
    case EMB_U64: return (struct limits){all, 0};
    default: return (struct limits){all >> 1, (all >> 1) + 1};
    }
}

emb_status embi_refuse_whole(emb_err *err, size_t i, emb_dtype dtype)
{
    return embi_fail(err, EMB_BAD_DATA, (int64_t)i,
                     "element %zu is not a whole number that %s holds", i, emb_dtype_name(dtype));
}

static emb_status to_integers(unsigned char *dst, emb_dtype dst_dtype, const unsigned char *src,
                              emb_dtype src_dtype, size_t n, emb_err *err)
{
    struct limits limits = limits_of(dst_dtype);
    size_t from_bytes = emb_dtype_bytes(src_dtype), to_bytes = emb_dtype_bytes(dst_dtype);
    for (size_t i = 0; i < n; i++) {
        struct whole w;
        bool fits = whole_at(src + i * from_bytes, src_dtype, &w) &&
                    w.magnitude <= (w.negative ? limits.negative : limits.positive);
        if (!fits)
            return embi_refuse_whole(err, i, dst_dtype);
        uint64_t bits = w.negative ? 0 - w.magnitude : w.magnitude;
        memcpy(dst + i * to_bytes, &bits, to_bytes); /* little-endian: the low bytes */
    }
    return EMB_OK;
}

emb_status embi_convert(const struct embi_kern *kern, void *dst, emb_dtype dst_dtype,
                        const void *src, emb_dtype src_dtype, size_t n, uint64_t *overflows,
                        emb_err *err)
{
    uint64_t uncounted = 0;
    if (emb_dtype_block(dst_dtype) == 0 || emb_dtype_block(src_dtype) == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "no conversion from %s to %s",
                         emb_dtype_name(src_dtype), emb_dtype_name(dst_dtype));
    if (emb_dtype_block(dst_dtype) > 1 || emb_dtype_block(src_dtype) > 1)
        return embi_convert_blocks(kern, dst, dst_dtype, src, src_dtype, n, overflows, err);
    if (dst_dtype == src_dtype) {
        if (n > 0)
            memcpy(dst, src, n * emb_dtype_bytes(dst_dtype));
        return EMB_OK;
    }
    if (!emb_dtype_is_float(dst_dtype))
        return to_integers(dst, dst_dtype, src, src_dtype, n, err);
    if (dst_dtype == EMB_F64)
        embi_to_f64(dst, src, src_dtype, n);
    else if (dst_dtype == EMB_F32 && src_dtype != EMB_F64)
        embi_to_f32(kern, dst, src, src_dtype, n);
    else if ((dst_dtype == EMB_F16 || dst_dtype == EMB_BF16) && src_dtype == EMB_F32)
        narrow(kern ? kern : &embi_kern_scalar, dst, dst_dtype, src, n, overflows);
    else
        through_f64(dst, dst_dtype, src, src_dtype, n, overflows ? overflows : &uncounted);
    return EMB_OK;
}

emb_status emb_convert(void *dst, emb_dtype dst_dtype, const void *src, emb_dtype src_dtype,
                       size_t n, uint64_t *overflows, emb_err *err)
{
    return embi_convert(NULL, dst, dst_dtype, src, src_dtype, n, overflows, err);
}
