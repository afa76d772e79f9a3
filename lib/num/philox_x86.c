/* philox_x86.c - many blocks of Philox4x32-10 (util/rng.h) with AVX2.
 *
 * Built with -mavx2; see kern_x86.c. Each word stands in a lane of 64 bits, as the multiplication
 * wants it: what a word has above its 32 bits is left there, since nothing looks at it.
 */
#if defined(__x86_64__)

#include "num/kern_sets.h"
#include "util/rng.h"

#include <immintrin.h>

/* The four words of four blocks. */
struct four {
    __m256i x[4];
};

static inline __m256i wide(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

static inline __m256i high_half(__m256i product)
{
    return _mm256_srli_epi64(product, 32);
}

static inline void rounds(struct four *f, uint32_t k0, uint32_t k1)
{
    const __m256i m0 = wide(EMBI_PHILOX_M0), m1 = wide(EMBI_PHILOX_M1);
    for (int round = 0; round < EMBI_PHILOX_ROUNDS; round++) {
        __m256i p0 = _mm256_mul_epu32(f->x[0], m0), p1 = _mm256_mul_epu32(f->x[2], m1);
        f->x[0] = _mm256_xor_si256(_mm256_xor_si256(high_half(p1), f->x[1]), wide(k0));
        f->x[1] = p1;
        f->x[2] = _mm256_xor_si256(_mm256_xor_si256(high_half(p0), f->x[3]), wide(k1));
        f->x[3] = p0;
        k0 += EMBI_PHILOX_W0;
        k1 += EMBI_PHILOX_W1;
    }
}

/* Blocks first, first + 1, first + 4 and first + 5, so that those of two such fours come into order
 * by one shuffle. */
static inline struct four begin(const uint32_t counter[4], uint32_t first)
{
    return (struct four){{_mm256_setr_epi64x(first, (uint32_t)(first + 1), (uint32_t)(first + 4),
                                             (uint32_t)(first + 5)),
                          wide(counter[1]), wide(counter[2]), wide(counter[3])}};
}

static inline __m256i lower_halves(__m256i a, __m256i b)
{
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}

void embi_random_words_avx2(uint32_t *words, size_t ld, const uint32_t counter[4],
                            const uint32_t key[2], size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        struct four a = begin(counter, counter[0] + (uint32_t)i);
        struct four b = begin(counter, counter[0] + (uint32_t)i + 2);
        rounds(&a, key[0], key[1]);
        rounds(&b, key[0], key[1]);
        for (size_t k = 0; k < 4; k++)
            _mm256_storeu_si256((__m256i *)(void *)(words + k * ld + i),
                                lower_halves(a.x[k], b.x[k]));
    }
    const uint32_t rest[4] = {counter[0] + (uint32_t)i, counter[1], counter[2], counter[3]};
    embi_kern_scalar.random_words(words + i, ld, rest, key, n - i);
}

#endif
