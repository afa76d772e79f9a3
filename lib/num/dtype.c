/* dtype.c - element types: their names and sizes, and decoding whole spans to f32 and f64.
 *
 * Decoding cannot fail and rounds at most once: 64-bit integers and f64 to f32, 64-bit integers to
 * f64. Elements may lie at any address, so each is read with memcpy. Encoding is in convert.c.
 */
#include "num/dtype.h"
#include "num/blocks.h"
#include "num/half.h"
#include "num/kern.h"

static const struct {
    const char *name;
    unsigned char bytes; /* of a block */
    bool is_float;
    unsigned short block; /* elements */
} types[EMB_DTYPE_COUNT] = {
    [EMB_DTYPE_NONE] = {"none", 0, false, 0},
    [EMB_F64] = {"f64", 8, true, 1},
    [EMB_F32] = {"f32", 4, true, 1},
    [EMB_F16] = {"f16", 2, true, 1},
    [EMB_BF16] = {"bf16", 2, true, 1},
    [EMB_F8_E4M3] = {"f8_e4m3", 1, true, 1},
    [EMB_F8_E5M2] = {"f8_e5m2", 1, true, 1},
    [EMB_F8_E4M3FNUZ] = {"f8_e4m3fnuz", 1, true, 1},
    [EMB_F8_E5M2FNUZ] = {"f8_e5m2fnuz", 1, true, 1},
    [EMB_F8_E8M0] = {"f8_e8m0", 1, true, 1},
    [EMB_I8] = {"i8", 1, false, 1},
    [EMB_U8] = {"u8", 1, false, 1},
    [EMB_I16] = {"i16", 2, false, 1},
    [EMB_U16] = {"u16", 2, false, 1},
    [EMB_I32] = {"i32", 4, false, 1},
    [EMB_U32] = {"u32", 4, false, 1},
    [EMB_I64] = {"i64", 8, false, 1},
    [EMB_U64] = {"u64", 8, false, 1},
    [EMB_BOOL] = {"bool", 1, false, 1},
    [EMB_Q4_0] = {"q4_0", 18, false, 32},
    [EMB_Q4_1] = {"q4_1", 20, false, 32},
    [EMB_Q5_0] = {"q5_0", 22, false, 32},
    [EMB_Q5_1] = {"q5_1", 24, false, 32},
    [EMB_Q8_0] = {"q8_0", 34, false, 32},
    [EMB_Q2_K] = {"q2_k", 84, false, 256},
    [EMB_Q3_K] = {"q3_k", 110, false, 256},
    [EMB_Q4_K] = {"q4_k", 144, false, 256},
    [EMB_Q5_K] = {"q5_k", 176, false, 256},
    [EMB_Q6_K] = {"q6_k", 210, false, 256},
    [EMB_IQ4_NL] = {"iq4_nl", 18, false, 32},
    [EMB_IQ4_XS] = {"iq4_xs", 136, false, 256},
    [EMB_MXFP4] = {"mxfp4", 17, false, 32},
    [EMB_NVFP4] = {"nvfp4", 36, false, 64},
    [EMB_TQ1_0] = {"tq1_0", 54, false, 256},
    [EMB_TQ2_0] = {"tq2_0", 66, false, 256},
    [EMB_Q1_0] = {"q1_0", 18, false, 128},
    [EMB_Q2_0] = {"q2_0", 18, false, 64},
};

const char *emb_dtype_name(emb_dtype dtype)
{
    return (unsigned)dtype < EMB_DTYPE_COUNT ? types[dtype].name : types[EMB_DTYPE_NONE].name;
}

emb_dtype emb_dtype_parse(const char *name)
{
    for (int i = EMB_DTYPE_NONE + 1; i < EMB_DTYPE_COUNT; i++)
        if (strcmp(name, types[i].name) == 0)
            return (emb_dtype)i;
    return EMB_DTYPE_NONE;
}

uint32_t emb_dtype_block(emb_dtype dtype)
{
    return (unsigned)dtype < EMB_DTYPE_COUNT ? types[dtype].block : 0;
}

size_t embi_dtype_block_bytes(emb_dtype dtype)
{
    return (unsigned)dtype < EMB_DTYPE_COUNT ? types[dtype].bytes : 0;
}

size_t emb_dtype_bytes(emb_dtype dtype)
{
    return emb_dtype_block(dtype) == 1 ? types[dtype].bytes : 0;
}

uint64_t emb_dtype_row_bytes(emb_dtype dtype, uint32_t dims)
{
    uint32_t block = emb_dtype_block(dtype);
    return block && dims % block == 0 ? (uint64_t)(dims / block) * types[dtype].bytes : 0;
}

bool emb_dtype_writable(emb_dtype dtype)
{
    return emb_dtype_bytes(dtype) > 0 || embi_blocks_written(dtype);
}

bool emb_dtype_is_float(emb_dtype dtype)
{
    return (unsigned)dtype < EMB_DTYPE_COUNT && types[dtype].is_float;
}

/* dst[i] = value of the i-th TYPE of src, called x in `value`. dst may lie at any address too. */
#define DECODE(TO, TYPE, value)                                          \
    for (size_t i = 0; i < n; i++) {                                     \
        TYPE x;                                                          \
        memcpy(&x, (const unsigned char *)src + i * sizeof x, sizeof x); \
        TO y = (TO)(value);                                              \
        memcpy((unsigned char *)dst + i * sizeof y, &y, sizeof y);       \
    }                                                                    \
    break

/* The types that decode alike to f32 and f64. Every f8 value is an f32. */
#define DECODE_COMMON(TO)                                                                 \
    case EMB_F64: DECODE(TO, double, x);                                                  \
    case EMB_F8_E4M3: DECODE(TO, uint8_t, embi_f32_from_f8(x, &embi_small_e4m3));         \
    case EMB_F8_E5M2: DECODE(TO, uint8_t, embi_f32_from_f8(x, &embi_small_e5m2));         \
    case EMB_F8_E4M3FNUZ: DECODE(TO, uint8_t, embi_f32_from_f8(x, &embi_small_e4m3fnuz)); \
    case EMB_F8_E5M2FNUZ: DECODE(TO, uint8_t, embi_f32_from_f8(x, &embi_small_e5m2fnuz)); \
    case EMB_F8_E8M0: DECODE(TO, uint8_t, embi_f32_from_e8m0(x));                         \
    case EMB_I8: DECODE(TO, int8_t, x);                                                   \
    case EMB_U8: DECODE(TO, uint8_t, x);                                                  \
    case EMB_I16: DECODE(TO, int16_t, x);                                                 \
    case EMB_U16: DECODE(TO, uint16_t, x);                                                \
    case EMB_I32: DECODE(TO, int32_t, x);                                                 \
    case EMB_U32: DECODE(TO, uint32_t, x);                                                \
    case EMB_I64: DECODE(TO, int64_t, x);                                                 \
    case EMB_U64: DECODE(TO, uint64_t, x);                                                \
    case EMB_BOOL: DECODE(TO, uint8_t, x != 0)

void embi_to_f32(const struct embi_kern *kern, float *dst, const void *src, emb_dtype src_dtype,
                 size_t n)
{
    if (!kern)
        kern = &embi_kern_scalar;
    switch (src_dtype) {
    case EMB_F32: memcpy(dst, src, n * sizeof *dst); break;
    case EMB_F16: kern->f32_from_f16(dst, src, n); break;
    case EMB_BF16:
        kern->f32_from_bf16(dst, src, n);
        break;
        DECODE_COMMON(float);
    default:
        if (emb_dtype_block(src_dtype) > 1)
            kern->f32_from_blocks(dst, src, src_dtype, n / emb_dtype_block(src_dtype));
    }
}

/* Whole blocks, one after another. */
static void blocks_to_f64(double *dst, const unsigned char *src, emb_dtype dtype, size_t n)
{
    size_t block = emb_dtype_block(dtype), bytes = embi_dtype_block_bytes(dtype);
    float y[EMBI_BLOCK_MAX];
    for (size_t i = 0; i < n; i += block, src += bytes) {
        embi_f32_from_blocks(y, src, dtype, 1);
        for (size_t k = 0; k < block; k++) {
            double wide = (double)y[k];
            memcpy((unsigned char *)dst + (i + k) * sizeof wide, &wide, sizeof wide);
        }
    }
}

void embi_to_f64(double *dst, const void *src, emb_dtype src_dtype, size_t n)
{
    switch (src_dtype) {
    case EMB_F32: DECODE(double, float, x);
    case EMB_F16: DECODE(double, uint16_t, embi_f32_from_f16(x));
    case EMB_BF16: DECODE(double, uint16_t, embi_f32_from_bf16(x)); DECODE_COMMON(double);
    default:
        if (emb_dtype_block(src_dtype) > 1)
            blocks_to_f64(dst, src, src_dtype, n);
    }
}

double embi_element(const void *src, emb_dtype dtype)
{
    double x = 0;
    embi_to_f64(&x, src, dtype, 1);
    return x;
}

void embi_swap_bytes(void *data, size_t element_bytes, size_t n)
{
    unsigned char *p = data;
    for (size_t i = 0; i < n; i++, p += element_bytes)
        for (size_t low = 0, high = element_bytes - 1; low < high; low++, high--) {
            unsigned char byte = p[low];
            p[low] = p[high];
            p[high] = byte;
        }
}
