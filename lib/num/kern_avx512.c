/* kern_avx512.c - the AVX-512 kernel set: F, BW, DQ and VL with FMA and F16C, 16 lanes of f32.
 *
 * Built with the flags of these; nothing here may be called, nor anything of this file be inlined
 * elsewhere, before the CPU was asked (num/cpu.h). Sums run in another order than in kern_scalar.c,
 * within embi_dot_bound; conversions and row_sums give the same bits as there. Rows too short for
 * a vector of 16 go to the AVX2 set, which every CPU with these has.
 */
#if defined(__x86_64__)

#include "num/kern_sets.h"
#include "num/kern_x86.h"
#include "num/row_hash.h"

#include <math.h>

enum { VL = 16, AHEAD_BYTES = 256, FAR_AHEAD_BYTES = 4096, DOT_QUERIES = 6 };

typedef __m512 vec;
#define VZERO         _mm512_setzero_ps()
#define VADD(a, b)    _mm512_add_ps(a, b)
#define VMUL(a, b)    _mm512_mul_ps(a, b)
#define VFMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define VLOADQ(p)     _mm512_loadu_ps(p)
#define VSTORE(p, v)  _mm512_storeu_ps(p, v)
#define VSPREAD(x)    _mm512_set1_ps(x)

/* The first n lanes, n < 16. */
static inline __mmask16 first(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}

/* v with all but its last n lanes (0 < n < 16) zero. */
static inline vec VKEEP(vec v, size_t n)
{
    return _mm512_maskz_mov_ps((__mmask16)~first(VL - n), v);
}

static inline void vsum2(vec a, vec b, float *x, float *y)
{
    *x = _mm512_reduce_add_ps(a);
    *y = _mm512_reduce_add_ps(b);
}

static inline __m256 upper(vec v)
{
    return _mm512_extractf32x8_ps(v, 1);
}

/* Each vector is folded to 8 lanes, then all four as in the AVX2 set. */
static inline void vsum4(vec a, vec b, vec c, vec d, float sums[4])
{
    __m256 a8 = _mm256_add_ps(_mm512_castps512_ps256(a), upper(a));
    __m256 b8 = _mm256_add_ps(_mm512_castps512_ps256(b), upper(b));
    __m256 c8 = _mm256_add_ps(_mm512_castps512_ps256(c), upper(c));
    __m256 d8 = _mm256_add_ps(_mm512_castps512_ps256(d), upper(d));
    __m256 fours = _mm256_hadd_ps(_mm256_hadd_ps(a8, b8), _mm256_hadd_ps(c8, d8));
    _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1)));
}

/* Sums of 32 columns. */
struct tile {
    __m512d a, b, c, d;
};

static inline struct tile tile_load(const double *sum)
{
    return (struct tile){_mm512_loadu_pd(sum), _mm512_loadu_pd(sum + 8), _mm512_loadu_pd(sum + 16),
                         _mm512_loadu_pd(sum + 24)};
}

static inline void tile_store(double *sum, const struct tile *t)
{
    _mm512_storeu_pd(sum, t->a);
    _mm512_storeu_pd(sum + 8, t->b);
    _mm512_storeu_pd(sum + 16, t->c);
    _mm512_storeu_pd(sum + 24, t->d);
}

static inline void tile_add(struct tile *t, vec x, vec y)
{
    t->a = _mm512_add_pd(t->a, _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
    t->b = _mm512_add_pd(t->b, _mm512_cvtps_pd(upper(x)));
    t->c = _mm512_add_pd(t->c, _mm512_cvtps_pd(_mm512_castps512_ps256(y)));
    t->d = _mm512_add_pd(t->d, _mm512_cvtps_pd(upper(y)));
}

static inline vec load_f16(const void *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

static inline vec load_bf16(const void *p)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

typedef __m512i pairs;

static inline pairs pairs_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

static inline void pairs_store(void *p, pairs v)
{
    _mm512_storeu_si512(p, v);
}

static inline vec pairs_even(pairs v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}

static inline vec pairs_odd(pairs v)
{
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32((int)0xFFFF0000)));
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
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(a, even, b);
}

static inline vec odd_lanes(vec a, vec b)
{
    const __m512i odd =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(a, odd, b);
}

#include "num/kern_queries.h"

#define DOT_TILES(tile) tile(1) tile(2) tile(3) tile(4) tile(5) tile(6)

#define DOT(name)     dot_f32_##name
#define ELEMENT_BYTES 4
#define DOT_PAIRS     0
#define LOAD          load_f32
#define SCALAR(p)     embi_one_f32(p)
#define SHORT(name)   embi_kern_avx2.name##_f32
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
#define SHORT(name)   embi_kern_avx2.name##_f16
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
#define SHORT(name) embi_kern_avx2.name##_bf16
#include "num/kern_tmpl.h"
#undef DOT
#undef ELEMENT_BYTES
#undef LOAD
#undef SCALAR
#undef SHORT

#include "num/kern_panels_avx512.h"

/* For kern_normal.h. */
#define FEW_NORMALS embi_kern_avx2.normals_f32
typedef __m512i wvec;
#define BITS_SPREAD(x)     _mm512_set1_epi32((int)(x))
#define BITS_ADD(a, b)     _mm512_add_epi32(a, b)
#define BITS_SUB(a, b)     _mm512_sub_epi32(a, b)
#define BITS_AND(a, b)     _mm512_and_si512(a, b)
#define BITS_RIGHT(a, n)   _mm512_srli_epi32(a, n)
#define BITS_OF(v)         _mm512_castps_si512(v)
#define VNUMBER(a)         _mm512_cvtepi32_ps(a)
#define VOF(a)             _mm512_castsi512_ps(a)
#define VSUB(a, b)         _mm512_sub_ps(a, b)
#define VDIV(a, b)         _mm512_div_ps(a, b)
#define VSQRT(a)           _mm512_sqrt_ps(a)
#define VFLIP(v, sign)     VOF(flip(BITS_OF(v), sign))
#define VMINUS(v)          _mm512_xor_ps(v, _mm512_set1_ps(-0.0f))
#define VCHOOSE(a, b, top) _mm512_mask_blend_ps(_mm512_movepi32_mask(top), a, b)

/* v with its upper bit changed where that of sign is set. */
static inline wvec flip(wvec v, wvec sign)
{
    return _mm512_ternarylogic_epi32(v, sign, BITS_SPREAD(1u << 31), 0x78);
}

/* Words of 16 blocks, those of block 4 j + l in lane l of four lanes, at j: store_blocks finds them
 * where they go. */
static inline wvec load_words(const uint32_t *words)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, _mm512_loadu_si512(words));
}

/* Four elements of each of 16 blocks. */
static inline void store_blocks(float *out, vec z0, vec z1, vec z2, vec z3)
{
    __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(z0, z1));
    __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(z2, z3));
    __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps(z0, z1));
    __m512d high23 = _mm512_castps_pd(_mm512_unpackhi_ps(z2, z3));
    _mm512_storeu_pd(out, _mm512_unpacklo_pd(low01, low23));
    _mm512_storeu_pd(out + 16, _mm512_unpackhi_pd(low01, low23));
    _mm512_storeu_pd(out + 32, _mm512_unpacklo_pd(high01, high23));
    _mm512_storeu_pd(out + 48, _mm512_unpackhi_pd(high01, high23));
}

#include "num/kern_normal.h"

static void reach(const float *score, const float *a, const float *c, size_t n, float u, float w,
                  uint16_t *mask)
{
    const vec mul = VSPREAD(u), add = VSPREAD(w);
    for (size_t i = 0; i < n; i += VL) {
        __mmask16 there = n - i < VL ? first(n - i) : (__mmask16)0xFFFF;
        vec least = VADD(_mm512_maskz_loadu_ps(there, c + i), add);
        least = VFMA(_mm512_maskz_loadu_ps(there, a + i), mul, least);
        mask[i / VL] = _mm512_mask_cmp_ps_mask(there, _mm512_maskz_loadu_ps(there, score + i),
                                               least, _CMP_GE_OQ);
    }
}

static void f32_from_f16(float *dst, const void *src, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        _mm512_storeu_ps(dst + i, load_f16((const uint16_t *)src + i));
    embi_kern_scalar.f32_from_f16(dst + i, (const uint16_t *)src + i, n - i);
}

static void f32_from_bf16(float *dst, const void *src, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        _mm512_storeu_ps(dst + i, load_bf16((const uint16_t *)src + i));
    embi_kern_scalar.f32_from_bf16(dst + i, (const uint16_t *)src + i, n - i);
}

/* The instruction keeps the payload of a NaN; the code written here is sign | 7E00 in every set. */
static inline void store_f16(void *p, vec x)
{
    vec nan = _mm512_or_ps(_mm512_and_ps(x, _mm512_set1_ps(-0.0f)), _mm512_set1_ps(NAN));
    x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static void f16_from_f32(void *dst, const float *src, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store_f16((uint16_t *)dst + i, _mm512_loadu_ps(src + i));
    embi_kern_scalar.f16_from_f32((uint16_t *)dst + i, src + i, n - i);
}

/* A sum or product of numbers of bf16, rounded to that: the upper half of each lane; what is below
 * it means nothing. Half a unit is added, and of a middle the last bit goes; their NaN have
 * nothing below the upper half that could be carried. */
static inline __m512i round_number(vec x)
{
    __m512i bits = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    __mmask16 middle = _mm512_testn_epi32_mask(bits, _mm512_set1_epi32(0xFFFF));
    return _mm512_mask_and_epi32(bits, middle, bits, _mm512_set1_epi32(~0x10000));
}

/* The same of any f32 (see embi_bf16_from_f32). */
static inline __m512i round_bf16(vec x)
{
    return _mm512_mask_or_epi32(round_number(x), _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                                _mm512_castps_si512(x), _mm512_set1_epi32(0x400000));
}

static void bf16_from_f32(void *dst, const float *src, size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        __m512i code = _mm512_srli_epi32(round_bf16(_mm512_loadu_ps(src + i)), 16);
        _mm256_storeu_si256((__m256i *)(void *)((uint16_t *)dst + i), _mm512_cvtepi32_epi16(code));
    }
    embi_kern_scalar.bf16_from_f32((uint16_t *)dst + i, src + i, n - i);
}

static inline pairs pairs_join(vec even, vec odd)
{
    __m512i low = _mm512_srli_epi32(round_number(even), 16);
    return _mm512_mask_blend_epi16(0xAAAAAAAA, low, round_number(odd));
}

/* The 8 virtual lanes are one vector of doubles. */
struct sums {
    __m512d sum, norm2;
    vec low, high;
};

static inline struct sums sums_start(void)
{
    return (struct sums){_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_set1_ps(INFINITY),
                         _mm512_set1_ps(-INFINITY)};
}

static inline void add_values(struct sums *s, __m256 x)
{
    __m512d y = _mm512_cvtps_pd(x);
    s->sum = _mm512_add_pd(s->sum, y);
    s->norm2 = _mm512_fmadd_pd(y, y, s->norm2);
}

static inline void sums_add_f32(struct sums *s, const void *p)
{
    const float *x = p;
    add_values(s, _mm256_loadu_ps(x));
    add_values(s, _mm256_loadu_ps(x + 8));
}

static inline void sums_add(struct sums *s, vec x)
{
    add_values(s, _mm512_castps512_ps256(x));
    add_values(s, upper(x));
}

/* A comparison with NaN gives the second operand of min and max, which is what was found so far. */
static inline void sums_see(struct sums *s, vec x)
{
    s->low = _mm512_min_ps(x, s->low);
    s->high = _mm512_max_ps(x, s->high);
}

static inline double join(__m512d lanes)
{
    double lane[8];
    _mm512_storeu_pd(lane, lanes);
    return embi_join_lanes(lane);
}

static inline void sums_end(const struct sums *s, bool paired, struct embi_row_sums *out)
{
    (void)paired;
    out->sum = join(s->sum);
    out->norm2 = join(s->norm2);
    out->min = _mm512_reduce_min_ps(s->low) + 0.0f;
    out->max = _mm512_reduce_max_ps(s->high) + 0.0f;
}

struct stripes {
    __m512i h;
};

static inline struct stripes stripes_start(void)
{
    return (struct stripes){_mm512_loadu_si512(embi_stripe_begin)};
}

static inline void stripes_add(struct stripes *h, const void *p)
{
    const __m512i rotated =
        _mm512_broadcast_i32x4(_mm_setr_epi8(15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
    h->h = _mm512_add_epi64(_mm512_shuffle_epi8(h->h, rotated), _mm512_loadu_si512(p));
}

static inline void stripes_mix(struct stripes *h)
{
    const __m512i factor = _mm512_set1_epi64((long long)EMBI_STRIPE_FACTOR);
    __m512i high = _mm512_srli_epi64(h->h, 32), low = _mm512_xor_si512(h->h, high);
    h->h = _mm512_add_epi64(_mm512_mul_epu32(low, factor), high);
}

static inline uint64_t stripes_end(const struct stripes *h)
{
    struct stripes at_end = *h; /* so that the one in the making stays in a register */
    return embi_hash(&at_end.h, sizeof at_end.h);
}

/* Of values widened in pairs the virtual lanes would not be one vector of doubles. */
#define SUM_PAIRS 0
#include "num/kern_rows.h"

#include "num/kern_steps.h"
#include "num/kern_sums.h"

const struct embi_kern embi_kern_avx512 = {
    .name = "avx512",
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
    .scan_fields = embi_scan_fields_avx512,
    .row_sums = row_sums,
    .figures_f32 = figures_f32,
    .figures_f16 = figures_f16,
    .figures_bf16 = figures_bf16,
    .add_f32 = dot_f32_add,
    .add_f16 = dot_f16_add,
    .add_bf16 = dot_bf16_add,
    .random_words = embi_random_words_avx512,
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
