/* kern_avx2.c - the AVX2 kernel set: AVX2, FMA and F16C, 8 lanes of f32.
 *
 * Built with -mavx2 -mfma -mf16c; nothing here may be called, nor anything of this file be inlined
 * elsewhere, before the CPU was asked (num/cpu.h). Sums run in another order than in kern_scalar.c,
 * within embi_dot_bound; conversions and row_sums give the same bits as there.
 */
#if defined(__x86_64__)

#include "num/kern_sets.h"
#include "num/kern_x86.h"
#include "num/row_hash.h"

#include <math.h>

/* What is left over from whole vectors goes through the scalar set. */
enum {
    VL = 8,
    AHEAD_BYTES = 256,
    FAR_AHEAD_BYTES = 4096,
    DOT_QUERIES = 3,
    PANEL_VECTORS = 2,
    MOST_ROWS = 6
};

typedef __m256 vec;
#define VZERO         _mm256_setzero_ps()
#define VADD(a, b)    _mm256_add_ps(a, b)
#define VMUL(a, b)    _mm256_mul_ps(a, b)
#define VFMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VLOADQ(p)     _mm256_loadu_ps(p)
#define VSTORE(p, v)  _mm256_storeu_ps(p, v)
#define VSPREAD(x)    _mm256_set1_ps(x)

/* v with all but its last n lanes (0 < n < 8) zero. */
static inline vec VKEEP(vec v, size_t n)
{
    static const int32_t masks[16] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
    __m256i mask = _mm256_loadu_si256((const __m256i *)(const void *)(masks + n));
    return _mm256_and_ps(v, _mm256_castsi256_ps(mask));
}

static inline void vsum2(vec a, vec b, float *x, float *y)
{
    vec pairs = _mm256_hadd_ps(a, b);         /* a a b b | a a b b */
    vec fours = _mm256_hadd_ps(pairs, pairs); /* a b a b | a b a b */
    __m128 both = _mm_add_ps(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1));
    *x = _mm_cvtss_f32(both);
    *y = _mm_cvtss_f32(_mm_shuffle_ps(both, both, 1));
}

static inline void vsum4(vec a, vec b, vec c, vec d, float sums[4])
{
    vec fours = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d)); /* a b c d | a b c d */
    _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1)));
}

/* Sums of 16 columns. */
struct tile {
    __m256d a, b, c, d;
};

static inline struct tile tile_load(const double *sum)
{
    return (struct tile){_mm256_loadu_pd(sum), _mm256_loadu_pd(sum + 4), _mm256_loadu_pd(sum + 8),
                         _mm256_loadu_pd(sum + 12)};
}

static inline void tile_store(double *sum, const struct tile *t)
{
    _mm256_storeu_pd(sum, t->a);
    _mm256_storeu_pd(sum + 4, t->b);
    _mm256_storeu_pd(sum + 8, t->c);
    _mm256_storeu_pd(sum + 12, t->d);
}

static inline void tile_add(struct tile *t, vec x, vec y)
{
    t->a = _mm256_add_pd(t->a, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
    t->b = _mm256_add_pd(t->b, _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
    t->c = _mm256_add_pd(t->c, _mm256_cvtps_pd(_mm256_castps256_ps128(y)));
    t->d = _mm256_add_pd(t->d, _mm256_cvtps_pd(_mm256_extractf128_ps(y, 1)));
}

static inline vec load_f16(const void *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

static inline vec load_bf16(const void *p)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

typedef __m256i pairs;

static inline pairs pairs_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline void pairs_store(void *p, pairs v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

static inline vec pairs_even(pairs v)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
}

static inline vec pairs_odd(pairs v)
{
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32((int)0xFFFF0000)));
}

static inline vec load_even(const void *p)
{
    return pairs_even(pairs_load(p));
}

static inline vec load_odd(const void *p)
{
    return pairs_odd(pairs_load(p));
}

static inline vec even_lanes(vec a, vec b)
{
    __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)); /* quarters 0 2 1 3 */
    return _mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xD8));
}

static inline vec odd_lanes(vec a, vec b)
{
    __m256d mixed = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xDD));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(mixed, 0xD8));
}

#include "num/kern_queries.h"

#define DOT_TILES(tile) tile(1) tile(2) tile(3)

#define DOT(name)     dot_f32_##name
#define ELEMENT_BYTES 4
#define DOT_PAIRS     0
#define LOAD          load_f32
#define SCALAR(p)     embi_one_f32(p)
#define SHORT(name)   embi_kern_scalar.name##_f32
#include "num/kern_tmpl.h"
#undef DOT
#undef ELEMENT_BYTES
#undef LOAD
#undef SCALAR
#undef SHORT

#define DOT(name)     dot_f16_##name
#define ELEMENT_BYTES 2
#define LOAD          load_f16
#define SCALAR(p)     embi_one_f16(p)
#define SHORT(name)   embi_kern_scalar.name##_f16
#include "num/kern_tmpl.h"
#undef DOT
#undef LOAD
#undef SCALAR
#undef SHORT

#undef DOT_PAIRS

#define DOT(name)   dot_bf16_##name
#define DOT_PAIRS   1
#define LOAD        load_bf16
#define SCALAR(p)   embi_one_bf16(p)
#define SHORT(name) embi_kern_scalar.name##_bf16
#include "num/kern_tmpl.h"
#undef DOT
#undef ELEMENT_BYTES
#undef LOAD
#undef SCALAR
#undef SHORT

#define PANEL_TILES(tile) tile(6, 1) tile(1, 1)
#include "num/kern_panels.h"

static size_t tile_rows(size_t panels)
{
    (void)panels;
    return 6;
}

/* For kern_normal.h. */
#define FEW_NORMALS embi_kern_scalar.normals_f32
typedef __m256i wvec;
#define BITS_SPREAD(x)     _mm256_set1_epi32((int)(x))
#define BITS_ADD(a, b)     _mm256_add_epi32(a, b)
#define BITS_SUB(a, b)     _mm256_sub_epi32(a, b)
#define BITS_AND(a, b)     _mm256_and_si256(a, b)
#define BITS_RIGHT(a, n)   _mm256_srli_epi32(a, n)
#define BITS_OF(v)         _mm256_castps_si256(v)
#define VNUMBER(a)         _mm256_cvtepi32_ps(a)
#define VOF(a)             _mm256_castsi256_ps(a)
#define VSUB(a, b)         _mm256_sub_ps(a, b)
#define VDIV(a, b)         _mm256_div_ps(a, b)
#define VSQRT(a)           _mm256_sqrt_ps(a)
#define VFLIP(v, sign)     _mm256_xor_ps(v, _mm256_and_ps(VOF(sign), _mm256_set1_ps(-0.0f)))
#define VMINUS(v)          _mm256_xor_ps(v, _mm256_set1_ps(-0.0f))
#define VCHOOSE(a, b, top) _mm256_blendv_ps(a, b, VOF(top))

static inline wvec load_words(const uint32_t *words)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)words);
}

/* Block i of the lower half, and i + 4 of the upper one. */
static inline void store_block(float *out, size_t i, __m256d block)
{
    vec v = _mm256_castpd_ps(block);
    _mm_storeu_ps(out + 4 * i, _mm256_castps256_ps128(v));
    _mm_storeu_ps(out + 4 * i + 16, _mm256_extractf128_ps(v, 1));
}

/* Four elements of each of 8 blocks. In halves, since some CPUs are slow across them. */
static inline void store_blocks(float *out, vec z0, vec z1, vec z2, vec z3)
{
    __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(z0, z1));
    __m256d low23 = _mm256_castps_pd(_mm256_unpacklo_ps(z2, z3));
    __m256d high01 = _mm256_castps_pd(_mm256_unpackhi_ps(z0, z1));
    __m256d high23 = _mm256_castps_pd(_mm256_unpackhi_ps(z2, z3));
    store_block(out, 0, _mm256_unpacklo_pd(low01, low23));
    store_block(out, 1, _mm256_unpackhi_pd(low01, low23));
    store_block(out, 2, _mm256_unpacklo_pd(high01, high23));
    store_block(out, 3, _mm256_unpackhi_pd(high01, high23));
}

#include "num/kern_normal.h"

static void reach(const float *score, const float *a, const float *c, size_t n, float u, float w,
                  uint16_t *mask)
{
    const vec mul = VSPREAD(u), add = VSPREAD(w);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        unsigned bits = 0;
        for (size_t half = 0; half < 16; half += VL) {
            vec least = VFMA(VLOADQ(a + i + half), mul, VADD(VLOADQ(c + i + half), add));
            vec reaches = _mm256_cmp_ps(VLOADQ(score + i + half), least, _CMP_GE_OQ);
            bits |= (unsigned)_mm256_movemask_ps(reaches) << half;
        }
        mask[i / 16] = (uint16_t)bits;
    }
    embi_kern_scalar.reach(score + i, a + i, c + i, n - i, u, w, mask + i / 16);
}

static void f32_from_f16(float *dst, const void *src, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        _mm256_storeu_ps(dst + i, load_f16((const uint16_t *)src + i));
    embi_kern_scalar.f32_from_f16(dst + i, (const uint16_t *)src + i, n - i);
}

static void f32_from_bf16(float *dst, const void *src, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        _mm256_storeu_ps(dst + i, load_bf16((const uint16_t *)src + i));
    embi_kern_scalar.f32_from_bf16(dst + i, (const uint16_t *)src + i, n - i);
}

/* The instruction keeps the payload of a NaN; the code written here is sign | 7E00 in every set. */
static inline void store_f16(void *p, vec x)
{
    vec nan = _mm256_or_ps(_mm256_and_ps(x, _mm256_set1_ps(-0.0f)), _mm256_set1_ps(NAN));
    x = _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static void f16_from_f32(void *dst, const float *src, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store_f16((uint16_t *)dst + i, _mm256_loadu_ps(src + i));
    embi_kern_scalar.f16_from_f32((uint16_t *)dst + i, src + i, n - i);
}

/* A sum or product of numbers of bf16, rounded to that: the upper half of each lane; what is below
 * it means nothing. Their NaN have nothing there that could be carried. */
static inline __m256i round_number(vec x)
{
    __m256i bits = _mm256_castps_si256(x);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
}

/* The same of any f32 (see embi_bf16_from_f32). */
static inline __m256i round_bf16(vec x)
{
    __m256i nan = _mm256_or_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x400000));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(round_number(x), nan, is_nan);
}

static inline pairs pairs_join(vec even, vec odd)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(round_number(even), 16), round_number(odd), 0xAA);
}

static void bf16_from_f32(void *dst, const float *src, size_t n)
{
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) {
        __m256i low = _mm256_srli_epi32(round_bf16(_mm256_loadu_ps(src + i)), 16);
        __m256i high = _mm256_srli_epi32(round_bf16(_mm256_loadu_ps(src + i + VL)), 16);
        __m256i mixed = _mm256_packus_epi32(low, high); /* quarters 0 2 1 3 */
        _mm256_storeu_si256((__m256i *)(void *)((uint16_t *)dst + i),
                            _mm256_permute4x64_epi64(mixed, 0xD8));
    }
    embi_kern_scalar.bf16_from_f32((uint16_t *)dst + i, src + i, n - i);
}

/* Virtual lanes 0-3 and 4-7, and the extremes of 8 columns; of values widened in pairs, lanes 0 2 4
 * 6 and 1 3 5 7. */
struct sums {
    __m256d s0, s1, n0, n1;
    vec low, high;
};

static inline struct sums sums_start(void)
{
    return (struct sums){_mm256_setzero_pd(), _mm256_setzero_pd(),      _mm256_setzero_pd(),
                         _mm256_setzero_pd(), _mm256_set1_ps(INFINITY), _mm256_set1_ps(-INFINITY)};
}

/* The square before the sum, which is the last to need y: compilers then leave *norm2 in its
 * register, where they would move it for the square to take that of y. */
static inline void add_four(__m256d *sum, __m256d *norm2, __m128 x)
{
    __m256d y = _mm256_cvtps_pd(x);
    *norm2 = _mm256_fmadd_pd(y, y, *norm2);
    *sum = _mm256_add_pd(*sum, y);
}

/* Four at a time from memory: each that moves in a register costs an instruction more. */
static inline void sums_add_f32(struct sums *s, const void *p)
{
    const float *x = p;
    add_four(&s->s0, &s->n0, _mm_loadu_ps(x));
    add_four(&s->s1, &s->n1, _mm_loadu_ps(x + 4));
}

static inline void sums_add(struct sums *s, vec x)
{
    add_four(&s->s0, &s->n0, _mm256_castps256_ps128(x));
    add_four(&s->s1, &s->n1, _mm256_extractf128_ps(x, 1));
}

static inline void sums_add_pairs(struct sums *s, vec even, vec odd)
{
    add_four(&s->s0, &s->n0, _mm256_castps256_ps128(even));
    add_four(&s->s0, &s->n0, _mm256_extractf128_ps(even, 1));
    add_four(&s->s1, &s->n1, _mm256_castps256_ps128(odd));
    add_four(&s->s1, &s->n1, _mm256_extractf128_ps(odd, 1));
}

/* A comparison with NaN gives the second operand of min and max. */
static inline void sums_see(struct sums *s, vec x)
{
    s->low = _mm256_min_ps(x, s->low);
    s->high = _mm256_max_ps(x, s->high);
}

/* ((0+4)+(2+6)) + ((1+5)+(3+7)) */
static inline double join(__m256d a, __m256d b, bool paired)
{
    if (paired) {
        __m256d low = _mm256_unpacklo_pd(a, b), high = _mm256_unpackhi_pd(a, b); /* 0 1 4 5, ... */
        a = _mm256_permute2f128_pd(low, high, 0x20);
        b = _mm256_permute2f128_pd(low, high, 0x31);
    }
    __m256d fours = _mm256_add_pd(a, b);
    __m128d twos = _mm_add_pd(_mm256_castpd256_pd128(fours), _mm256_extractf128_pd(fours, 1));
    return _mm_cvtsd_f64(_mm_add_sd(twos, _mm_unpackhi_pd(twos, twos)));
}

static inline float lowest(vec v)
{
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_shuffle_ps(m, m, 1)));
}

static inline void sums_end(const struct sums *s, bool paired, struct embi_row_sums *out)
{
    out->sum = join(s->s0, s->s1, paired);
    out->norm2 = join(s->n0, s->n1, paired);
    out->min = lowest(s->low) + 0.0f;
    out->max = 0.0f - lowest(_mm256_xor_ps(s->high, _mm256_set1_ps(-0.0f)));
}

struct stripes {
    __m256i h[2];
};

static inline struct stripes stripes_start(void)
{
    const __m256i *begin = (const void *)embi_stripe_begin;
    return (struct stripes){{_mm256_loadu_si256(begin), _mm256_loadu_si256(begin + 1)}};
}

static inline void stripes_add(struct stripes *h, const void *p)
{
    const __m256i rotated = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
    UNROLL
    for (size_t i = 0; i < 2; i++) {
        __m256i x = _mm256_loadu_si256((const __m256i *)p + i);
        h->h[i] = _mm256_add_epi64(_mm256_shuffle_epi8(h->h[i], rotated), x);
    }
}

static inline void stripes_mix(struct stripes *h)
{
    const __m256i factor = _mm256_set1_epi64x((long long)EMBI_STRIPE_FACTOR);
    UNROLL
    for (size_t i = 0; i < 2; i++) {
        __m256i high = _mm256_srli_epi64(h->h[i], 32), low = _mm256_xor_si256(h->h[i], high);
        h->h[i] = _mm256_add_epi64(_mm256_mul_epu32(low, factor), high);
    }
}

static inline uint64_t stripes_end(const struct stripes *h)
{
    struct stripes at_end = *h; /* so that those in the making stay in registers */
    return embi_hash(at_end.h, sizeof at_end.h);
}

#define SUM_PAIRS 1
#include "num/kern_rows.h"

#include "num/kern_steps.h"
#include "num/kern_sums.h"

const struct embi_kern embi_kern_avx2 = {
    .name = "avx2",
    .dot_f32 = dot_f32_rows,
    .dot_f16 = dot_f16_rows,
    .dot_bf16 = dot_bf16_rows,
    .products_f32 = dot_f32_products,
    .products_f16 = dot_f16_products,
    .products_bf16 = dot_bf16_products,
    .panels = panels,
    .reach = reach,
    .f32_from_f16 = f32_from_f16,
    .f32_from_bf16 = f32_from_bf16,
    .f16_from_f32 = f16_from_f32,
    .bf16_from_f32 = bf16_from_f32,
    .f32_from_blocks = embi_f32_from_blocks_avx2,
    .scan_line = embi_scan_line_avx2,
    .scan_fields = embi_scan_fields_avx2,
    .row_sums = row_sums,
    .figures_f32 = figures_f32,
    .figures_f16 = figures_f16,
    .figures_bf16 = figures_bf16,
    .add_f32 = dot_f32_add,
    .add_f16 = dot_f16_add,
    .add_bf16 = dot_bf16_add,
    .random_words = embi_random_words_avx2,
    .normals_f32 = normals_f32,
    .sum_f32 = sum_f32,
    .sum_f16 = sum_f16,
    .sum_bf16 = sum_bf16,
    .times_f32 = times_f32,
    .times_f16 = times_f16,
    .times_bf16 = times_bf16,
    .over_f32 = over_f32,
    .norm_f32 = norm_f32,
};

#endif
