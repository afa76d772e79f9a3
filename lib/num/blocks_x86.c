/* blocks_x86.c - quantised blocks to f32 with AVX2, for the types that embedding tables mostly
 * have.
 *
 * Built with -mavx2 -mfma -mf16c; see kern_avx2.c. The bits are those of blocks.c, which has the
 * layouts and decodes the other types: all products are exact, so their order does not show.
 */
#if defined(__x86_64__)

#include "num/blocks.h"
#include "num/dtype.h"
#include "num/kern_sets.h"

#include <immintrin.h>

static inline float f16_at(const unsigned char *b)
{
    return _cvtsh_ss(embi_le16(b));
}

static inline __m256i load32(const unsigned char *b)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)b);
}

static inline __m128i load16(const unsigned char *b)
{
    return _mm_loadu_si128((const __m128i *)(const void *)b);
}

/* y[i] = scale * codes[i] - offset for the lowest 8 signed bytes. An offset of 0 changes no bit. */
static inline void put8(float *y, __m128i codes, __m256 scale, __m256 offset)
{
    __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes));
    _mm256_storeu_ps(y, _mm256_sub_ps(_mm256_mul_ps(scale, x), offset));
}

static inline void put16(float *y, __m128i codes, float scale, float offset)
{
    __m256 scales = _mm256_set1_ps(scale), offsets = _mm256_set1_ps(offset);
    put8(y, codes, scales, offsets);
    put8(y + 8, _mm_srli_si128(codes, 8), scales, offsets);
}

static inline void put32(float *y, __m256i codes, float scale, float offset)
{
    put16(y, _mm256_castsi256_si128(codes), scale, offset);
    put16(y + 16, _mm256_extracti128_si256(codes, 1), scale, offset);
}

static inline __m256i low_halves(__m256i bytes)
{
    return _mm256_and_si256(bytes, _mm256_set1_epi8(15));
}

static inline __m256i high_halves(__m256i bytes)
{
    return low_halves(_mm256_srli_epi16(bytes, 4));
}

static void decode_q4_0(float *y, const unsigned char *b)
{
    __m128i bytes = load16(b + 2), mask = _mm_set1_epi8(15), eight = _mm_set1_epi8(8);
    float d = f16_at(b);
    put16(y, _mm_sub_epi8(_mm_and_si128(bytes, mask), eight), d, 0);
    put16(y + 16, _mm_sub_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), mask), eight), d, 0);
}

static void decode_q8_0(float *y, const unsigned char *b)
{
    put32(y, load32(b + 2), f16_at(b), 0);
}

/* Bit j of each byte, as 16. */
static inline __m256i fifth_bits(__m256i bytes, int j)
{
    __m256i bit = _mm256_and_si256(bytes, _mm256_set1_epi8((char)(1 << j)));
    return _mm256_andnot_si256(_mm256_cmpeq_epi8(bit, _mm256_setzero_si256()),
                               _mm256_set1_epi8(16));
}

static inline void put_k4(float *y, const unsigned char *b, int j, __m256i codes)
{
    int scale, offset;
    embi_unpack_k4(b + 4, j, &scale, &offset);
    put32(y + 32 * j, codes, f16_at(b) * (float)scale, f16_at(b + 2) * (float)offset);
}

static void decode_q4_k(float *y, const unsigned char *b)
{
    for (int j = 0; j < 8; j += 2) {
        __m256i bytes = load32(b + 16 + 16 * j);
        put_k4(y, b, j, low_halves(bytes));
        put_k4(y, b, j + 1, high_halves(bytes));
    }
}

static void decode_q5_k(float *y, const unsigned char *b)
{
    __m256i high = load32(b + 16);
    for (int j = 0; j < 8; j += 2) {
        __m256i bytes = load32(b + 48 + 16 * j);
        put_k4(y, b, j, _mm256_or_si256(low_halves(bytes), fifth_bits(high, j)));
        put_k4(y, b, j + 1, _mm256_or_si256(high_halves(bytes), fifth_bits(high, j + 1)));
    }
}

/* 32 codes of q6_k: 4 bits each and, of `high`, the bits that are shifted to 0x30. */
static inline void put_q6(float *y, const unsigned char *scales, float d, __m256i low, __m256i high)
{
    __m256i upper = _mm256_and_si256(high, _mm256_set1_epi8(0x30));
    __m256i codes = _mm256_sub_epi8(_mm256_or_si256(low, upper), _mm256_set1_epi8(32));
    put16(y, _mm256_castsi256_si128(codes), d * (float)(int8_t)scales[0], 0);
    put16(y + 16, _mm256_extracti128_si256(codes, 1), d * (float)(int8_t)scales[1], 0);
}

static void decode_q6_k(float *y, const unsigned char *b)
{
    float d = f16_at(b + 208);
    for (int h = 0; h < 2; h++, y += 128) {
        __m256i first = load32(b + 64 * h), second = load32(b + 64 * h + 32);
        __m256i high = load32(b + 128 + 32 * h);
        const unsigned char *scales = b + 192 + 8 * h;
        put_q6(y, scales, d, low_halves(first), _mm256_slli_epi16(high, 4));
        put_q6(y + 32, scales + 2, d, low_halves(second), _mm256_slli_epi16(high, 2));
        put_q6(y + 64, scales + 4, d, high_halves(first), high);
        put_q6(y + 96, scales + 6, d, high_halves(second), _mm256_srli_epi16(high, 2));
    }
}

/* `decode` is a constant where this is called, and costs no call. */
static inline __attribute__((always_inline)) void decode_all(void decode(float *,
                                                                         const unsigned char *),
                                                             float *dst, const unsigned char *src,
                                                             emb_dtype dtype, size_t n)
{
    size_t numbers = emb_dtype_block(dtype), bytes = embi_dtype_block_bytes(dtype);
    for (size_t i = 0; i < n; i++)
        decode(dst + i * numbers, src + i * bytes);
}

void embi_f32_from_blocks_avx2(float *dst, const void *src, emb_dtype dtype, size_t n)
{
    switch (dtype) {
    case EMB_Q4_0: decode_all(decode_q4_0, dst, src, dtype, n); break;
    case EMB_Q8_0: decode_all(decode_q8_0, dst, src, dtype, n); break;
    case EMB_Q4_K: decode_all(decode_q4_k, dst, src, dtype, n); break;
    case EMB_Q5_K: decode_all(decode_q5_k, dst, src, dtype, n); break;
    case EMB_Q6_K: decode_all(decode_q6_k, dst, src, dtype, n); break;
    default: embi_f32_from_blocks(dst, src, dtype, n);
    }
}

#endif
