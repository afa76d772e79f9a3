/* philox_avx512.c - many blocks of Philox4x32-10 (util/rng.h) with AVX-512: like philox_x86.c, but
 * that one operation mixes three words.
 *
 * Built with the flags of kern_avx512.c.
 */
#if defined(__x86_64__)

#include "num/kern_sets.h"
#include "num/kern_x86.h"
#include "num/philox_start.h"

enum { AT_ONCE = 32, ROUNDS = EMBI_PHILOX_ROUNDS - 2 };

/* The four words of eight blocks. */
struct eight {
    __m512i x[4];
};

/* What all blocks share. */
struct shared {
    __m512i first, x0, x2, x3;
    __m512i key[ROUNDS][2];
};

static inline __m512i wide(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

static inline __m512i mix(__m512i a, __m512i b)
{
    return _mm512_xor_si512(a, b);
}

static inline __m512i mix3(__m512i a, __m512i b, __m512i c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

static inline __m512i high_half(__m512i product)
{
    return _mm512_shuffle_epi32(product, 0xF5);
}

static inline __m512i times(__m512i x, uint32_t multiplier)
{
    return _mm512_mul_epu32(x, wide(multiplier));
}

static struct shared share(const uint32_t counter[4], const uint32_t key[2])
{
    struct embi_philox_start start = embi_philox_start(counter, key);
    struct shared s = {wide(start.first), wide(start.x0), wide(start.x2), wide(start.x3), {{{0}}}};
    uint32_t k0 = start.key[0], k1 = start.key[1];
    for (size_t i = 0; i < ROUNDS; i++, k0 += EMBI_PHILOX_W0, k1 += EMBI_PHILOX_W1) {
        s.key[i][0] = wide(k0);
        s.key[i][1] = wide(k1);
    }
    return s;
}

/* The first two rounds. */
static inline struct eight begin(const struct shared *s, __m512i counter)
{
    __m512i p = times(counter, EMBI_PHILOX_M0);
    __m512i q = times(mix(high_half(p), s->first), EMBI_PHILOX_M1);
    return (struct eight){{mix(high_half(q), s->x0), q, mix(p, s->x2), s->x3}};
}

static inline void a_round(struct eight *f, const __m512i key[2])
{
    __m512i p = times(f->x[0], EMBI_PHILOX_M0), q = times(f->x[2], EMBI_PHILOX_M1);
    f->x[0] = mix3(high_half(q), f->x[1], key[0]);
    f->x[2] = mix3(high_half(p), f->x[3], key[1]);
    f->x[1] = q;
    f->x[3] = p;
}

/* The lower halves of both, in order. */
static inline __m512i lower_halves(__m512i a, __m512i b)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_epi32(a, even, b);
}

static inline void put_words(uint32_t *words, size_t ld, const struct eight *a,
                             const struct eight *b)
{
    for (size_t k = 0; k < 4; k++)
        _mm512_storeu_si512(words + k * ld, lower_halves(a->x[k], b->x[k]));
}

/* Four groups side by side, because each product waits for the one before it. */
static inline void thirty_two(const struct shared *s, uint32_t first, uint32_t *words, size_t ld)
{
    const __m512i eight = wide(8);
    __m512i at_a = _mm512_add_epi32(wide(first), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    __m512i at_b = _mm512_add_epi32(at_a, eight), at_c = _mm512_add_epi32(at_b, eight);
    struct eight a = begin(s, at_a), b = begin(s, at_b), c = begin(s, at_c),
                 d = begin(s, _mm512_add_epi32(at_c, eight));
    UNROLL
    for (size_t i = 0; i < ROUNDS; i++) {
        a_round(&a, s->key[i]);
        a_round(&b, s->key[i]);
        a_round(&c, s->key[i]);
        a_round(&d, s->key[i]);
    }
    put_words(words, ld, &a, &b);
    put_words(words + 16, ld, &c, &d);
}

/* The last ones begin where they have to, to end with n. */
void embi_random_words_avx512(uint32_t *words, size_t ld, const uint32_t counter[4],
                              const uint32_t key[2], size_t n)
{
    if (n < AT_ONCE) {
        embi_random_words_avx2(words, ld, counter, key, n);
        return;
    }
    const struct shared s = share(counter, key);
    for (size_t i = 0; i < n; i += AT_ONCE) {
        size_t at = embi_min(i, n - AT_ONCE);
        thirty_two(&s, counter[0] + (uint32_t)at, words + at, ld);
    }
}

#endif
