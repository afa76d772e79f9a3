/* philox_x86.c - many blocks of Philox4x32-10 (util/rng.h) with AVX2.
 *
 * Built with -mavx2; see kern_avx2.c. Each word stands in a lane of 64 bits, as the multiplication
 * wants it: what a word has above its 32 bits is left there, since nothing looks at it. Two groups
 * of four blocks go side by side, because each product waits for the one before it.
 */
#if defined(__x86_64__)

#include "num/kern_sets.h"
#include "num/kern_x86.h"
#include "num/philox_start.h"

enum { AT_ONCE = 8, PAIRS = (EMBI_PHILOX_ROUNDS - 2) / 2 };

/* The four words of four blocks. */
struct four {
    __m256i x[4];
};

/* What all blocks share. */
struct shared {
    __m256i first, x0, x2, x3;
    __m256i key[PAIRS][2]; /* for each of two rounds: of the second one below, of the first above */
};

static inline __m256i wide(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

static inline __m256i mix(__m256i a, __m256i b)
{
    return _mm256_xor_si256(a, b);
}

/* A copy, not a shift: more units of a CPU can do it. */
static inline __m256i high_half(__m256i product)
{
    return _mm256_shuffle_epi32(product, 0xF5);
}

static inline __m256i times(__m256i x, uint32_t multiplier)
{
    return _mm256_mul_epu32(x, wide(multiplier));
}

static struct shared share(const uint32_t counter[4], const uint32_t key[2])
{
    struct embi_philox_start start = embi_philox_start(counter, key);
    struct shared s = {wide(start.first), wide(start.x0), wide(start.x2), wide(start.x3), {{{0}}}};
    uint32_t k0 = start.key[0], k1 = start.key[1];
    for (size_t i = 0; i < PAIRS; i++, k0 += 2 * EMBI_PHILOX_W0, k1 += 2 * EMBI_PHILOX_W1) {
        s.key[i][0] = wide((uint64_t)k0 << 32 | (uint32_t)(k0 + EMBI_PHILOX_W0));
        s.key[i][1] = wide((uint64_t)k1 << 32 | (uint32_t)(k1 + EMBI_PHILOX_W1));
    }
    return s;
}

/* The first two rounds. */
static inline struct four begin(const struct shared *s, __m256i counter)
{
    __m256i p = times(counter, EMBI_PHILOX_M0);
    __m256i q = times(mix(high_half(p), s->first), EMBI_PHILOX_M1);
    return (struct four){{mix(high_half(q), s->x0), q, mix(p, s->x2), s->x3}};
}

/* Two rounds. The upper half of a product is mixed with a key at once, the lower half in the round
 * that follows: one operation does both. */
static inline void two_rounds(struct four *f, const __m256i key[2])
{
    __m256i p = mix(times(f->x[0], EMBI_PHILOX_M0), key[1]);
    __m256i q = mix(times(f->x[2], EMBI_PHILOX_M1), key[0]);
    __m256i x0 = mix(high_half(q), f->x[1]), x2 = mix(high_half(p), f->x[3]);
    f->x[3] = times(x0, EMBI_PHILOX_M0);
    f->x[1] = times(x2, EMBI_PHILOX_M1);
    f->x[0] = mix(high_half(f->x[1]), q);
    f->x[2] = mix(high_half(f->x[3]), p);
}

static inline __m256i lower_halves(__m256i a, __m256i b)
{
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}

/* Blocks first, first + 1, first + 4 and first + 5, and the others of eight: so both come into
 * order by one shuffle. */
static inline void eight(const struct shared *s, uint32_t first, uint32_t *words, size_t ld)
{
    __m256i counter = _mm256_add_epi32(wide(first), _mm256_setr_epi64x(0, 1, 4, 5));
    struct four a = begin(s, counter), b = begin(s, _mm256_add_epi32(counter, wide(2)));
    UNROLL
    for (size_t i = 0; i < PAIRS; i++) {
        two_rounds(&a, s->key[i]);
        two_rounds(&b, s->key[i]);
    }
    for (size_t k = 0; k < 4; k++)
        _mm256_storeu_si256((__m256i *)(void *)(words + k * ld), lower_halves(a.x[k], b.x[k]));
}

/* The last eight begin where they have to, to end with n. */
void embi_random_words_avx2(uint32_t *words, size_t ld, const uint32_t counter[4],
                            const uint32_t key[2], size_t n)
{
    if (n < AT_ONCE) {
        embi_kern_scalar.random_words(words, ld, counter, key, n);
        return;
    }
    const struct shared s = share(counter, key);
    for (size_t i = 0; i < n; i += AT_ONCE) {
        size_t at = embi_min(i, n - AT_ONCE);
        eight(&s, counter[0] + (uint32_t)at, words + at, ld);
    }
}

#endif
