/* immintrin.h - the instructions of AVX-512 that lib/num/kern_avx512.c names, as plain loops, so
 * that the set is tested on CPUs without them: found before the compiler's own, which has the rest.
 *
 * Each is what Intel's "Intrinsics Guide" says of the intrinsic of that name. A union has the lanes
 * of a vector; macros put these functions in the place of the compiler's.
 */
#ifndef TESTS_EMULATED_IMMINTRIN_H
#define TESTS_EMULATED_IMMINTRIN_H

#include_next <immintrin.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

union lanes {
    __m512 ps;
    __m512d pd;
    __m512i si;
    __m256 half[2];
    float f[16];
    double d[8];
    uint64_t q[8];
    uint32_t u[16];
    uint16_t h[32];
    uint8_t b[64];
};

#define EACH(n) for (size_t i = 0; i < (n); i++)

/* name(x, y): `field`[i] of the result from a.field[i] and b.field[i]. */
#define LANEWISE(name, type, member, count, expression)       \
    static inline type emulated_##name(type left, type right) \
    {                                                         \
        union lanes a, b, r;                                  \
        memcpy(&a, &left, sizeof a);                          \
        memcpy(&b, &right, sizeof b);                         \
        EACH(count)                                           \
        {                                                     \
            r.member[i] = (expression);                       \
        }                                                     \
        type out;                                             \
        memcpy(&out, &r, sizeof out);                         \
        return out;                                           \
    }

LANEWISE(add_ps, __m512, f, 16, a.f[i] + b.f[i])
LANEWISE(sub_ps, __m512, f, 16, a.f[i] - b.f[i])
LANEWISE(mul_ps, __m512, f, 16, a.f[i] * b.f[i])
LANEWISE(div_ps, __m512, f, 16, a.f[i] / b.f[i])
LANEWISE(min_ps, __m512, f, 16, a.f[i] < b.f[i] ? a.f[i] : b.f[i])
LANEWISE(max_ps, __m512, f, 16, a.f[i] > b.f[i] ? a.f[i] : b.f[i])
LANEWISE(and_ps, __m512, u, 16, a.u[i] & b.u[i])
LANEWISE(or_ps, __m512, u, 16, a.u[i] | b.u[i])
LANEWISE(xor_ps, __m512, u, 16, a.u[i] ^ b.u[i])
LANEWISE(add_pd, __m512d, d, 8, a.d[i] + b.d[i])
LANEWISE(add_epi32, __m512i, u, 16, a.u[i] + b.u[i])
LANEWISE(sub_epi32, __m512i, u, 16, a.u[i] - b.u[i])
LANEWISE(add_epi64, __m512i, q, 8, a.q[i] + b.q[i])
LANEWISE(and_si512, __m512i, u, 16, a.u[i] & b.u[i])
LANEWISE(xor_si512, __m512i, u, 16, a.u[i] ^ b.u[i])
LANEWISE(mul_epu32, __m512i, q, 8, (a.q[i] & UINT32_MAX) * (b.q[i] & UINT32_MAX))
LANEWISE(shuffle_epi8, __m512i, b, 64, b.b[i] & 0x80 ? 0 : a.b[(i & ~(size_t)15) | (b.b[i] & 15)])

/* Within each quarter: two lanes of a and two of b in turn, from the lower or the upper half. */
LANEWISE(unpacklo_ps, __m512, f, 16, (i & 1 ? b : a).f[(i & 12) + (i & 3) / 2])
LANEWISE(unpackhi_ps, __m512, f, 16, (i & 1 ? b : a).f[(i & 12) + (i & 3) / 2 + 2])
LANEWISE(unpacklo_pd, __m512d, d, 8, (i & 1 ? b : a).d[i & 6])
LANEWISE(unpackhi_pd, __m512d, d, 8, (i & 1 ? b : a).d[i | 1])
LANEWISE(permutexvar_epi32, __m512i, u, 16, b.u[a.u[i] & 15]) /* a is the index */

/* The same bits as another type. */
#define CAST(name, from, to)                 \
    static inline to emulated_##name(from x) \
    {                                        \
        to out;                              \
        memcpy(&out, &x, sizeof out);        \
        return out;                          \
    }

CAST(castps_si512, __m512, __m512i)
CAST(castsi512_ps, __m512i, __m512)
CAST(castps512_ps256, __m512, __m256)
CAST(castps_pd, __m512, __m512d)

#define LOAD_STORE(suffix, type)                                 \
    static inline type emulated_loadu_##suffix(const void *p)    \
    {                                                            \
        type x;                                                  \
        memcpy(&x, p, sizeof x);                                 \
        return x;                                                \
    }                                                            \
    static inline void emulated_storeu_##suffix(void *p, type x) \
    {                                                            \
        memcpy(p, &x, sizeof x);                                 \
    }

LOAD_STORE(ps, __m512)
LOAD_STORE(pd, __m512d)
LOAD_STORE(si512, __m512i)

static inline __m512 emulated_set1_ps(float x)
{
    union lanes r;
    EACH(16) r.f[i] = x;
    return r.ps;
}

static inline __m512i emulated_set1_epi32(int x)
{
    union lanes r;
    EACH(16) r.u[i] = (uint32_t)x;
    return r.si;
}

static inline __m512i emulated_set1_epi64(long long x)
{
    union lanes r;
    EACH(8) r.q[i] = (uint64_t)x;
    return r.si;
}

static inline __m512i emulated_broadcast_i32x4(__m128i x)
{
    union lanes r;
    EACH(4) memcpy(r.b + 16 * i, &x, 16);
    return r.si;
}

static inline __m512i emulated_slli_epi32(__m512i x, unsigned n)
{
    union lanes r = {.si = x};
    EACH(16) r.u[i] = n < 32 ? r.u[i] << n : 0;
    return r.si;
}

static inline __m512i emulated_srli_epi32(__m512i x, unsigned n)
{
    union lanes r = {.si = x};
    EACH(16) r.u[i] = n < 32 ? r.u[i] >> n : 0;
    return r.si;
}

static inline __m512i emulated_srli_epi64(__m512i x, unsigned n)
{
    union lanes r = {.si = x};
    EACH(8) r.q[i] = n < 64 ? r.q[i] >> n : 0;
    return r.si;
}

static inline __m512 emulated_fmadd_ps(__m512 x, __m512 y, __m512 z)
{
    union lanes a = {.ps = x}, b = {.ps = y}, c = {.ps = z};
    EACH(16) c.f[i] = fmaf(a.f[i], b.f[i], c.f[i]);
    return c.ps;
}

static inline __m512d emulated_fmadd_pd(__m512d x, __m512d y, __m512d z)
{
    union lanes a = {.pd = x}, b = {.pd = y}, c = {.pd = z};
    EACH(8) c.d[i] = fma(a.d[i], b.d[i], c.d[i]);
    return c.pd;
}

static inline __m512d emulated_cvtps_pd(__m256 x)
{
    union lanes a = {.half = {x}}, r;
    EACH(8) r.d[i] = (double)a.f[i];
    return r.pd;
}

static inline __m512i emulated_cvtepu16_epi32(__m256i x)
{
    uint16_t narrow[16];
    union lanes r;
    memcpy(narrow, &x, sizeof narrow);
    EACH(16) r.u[i] = narrow[i];
    return r.si;
}

static inline __m256i emulated_cvtepi32_epi16(__m512i x)
{
    union lanes a = {.si = x};
    uint16_t narrow[16];
    __m256i out;
    EACH(16) narrow[i] = (uint16_t)a.u[i];
    memcpy(&out, narrow, sizeof out);
    return out;
}

/* By the instruction that AVX2's CPUs have, eight at a time. */
static inline __m512 emulated_cvtph_ps(__m256i x)
{
    union lanes r;
    r.half[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(x));
    r.half[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1));
    return r.ps;
}

static inline __m256i emulated_to_halves(__m512 x)
{
    union lanes a = {.ps = x};
    return _mm256_set_m128i(_mm256_cvtps_ph(a.half[1], _MM_FROUND_TO_NEAREST_INT),
                            _mm256_cvtps_ph(a.half[0], _MM_FROUND_TO_NEAREST_INT));
}

static inline __m256 emulated_extractf32x8_ps(__m512 x, int part)
{
    union lanes a = {.ps = x};
    return a.half[part];
}

static inline __m512 emulated_permutex2var_ps(__m512 x, __m512i index, __m512 y)
{
    union lanes a = {.ps = x}, at = {.si = index}, b = {.ps = y}, r;
    EACH(16) r.f[i] = (at.u[i] & 16 ? b : a).f[at.u[i] & 15];
    return r.ps;
}

static inline __m512i emulated_permutex2var_epi32(__m512i x, __m512i index, __m512i y)
{
    return emulated_castps_si512(
        emulated_permutex2var_ps(emulated_castsi512_ps(x), index, emulated_castsi512_ps(y)));
}

/* Bit by bit: what the table says of the bits of x, y and z. */
static inline __m512i emulated_ternary(__m512i x, __m512i y, __m512i z, unsigned table)
{
    union lanes a = {.si = x}, b = {.si = y}, c = {.si = z}, r;
    EACH(16)
    {
        r.u[i] = 0;
        for (unsigned bit = 0; bit < 32; bit++) {
            unsigned row =
                (a.u[i] >> bit & 1) << 2 | (b.u[i] >> bit & 1) << 1 | (c.u[i] >> bit & 1);
            r.u[i] |= (uint32_t)(table >> row & 1) << bit;
        }
    }
    return r.si;
}

static inline __m512i emulated_shuffle_epi32(__m512i x, unsigned control)
{
    union lanes a = {.si = x}, r;
    EACH(16) r.u[i] = a.u[(i & 12) + (control >> 2 * (i & 3) & 3)];
    return r.si;
}

static inline __m512 emulated_cvtepi32_ps(__m512i x)
{
    union lanes a = {.si = x}, r;
    EACH(16) r.f[i] = (float)(int32_t)a.u[i];
    return r.ps;
}

static inline __m512 emulated_sqrt_ps(__m512 x)
{
    union lanes a = {.ps = x};
    EACH(16) a.f[i] = sqrtf(a.f[i]);
    return a.ps;
}

static inline __mmask16 emulated_movepi32_mask(__m512i x)
{
    union lanes a = {.si = x};
    unsigned mask = 0;
    EACH(16) mask |= (a.u[i] >> 31) << i;
    return (__mmask16)mask;
}

/* Halves of the lanes are joined again and again. */
#define REDUCE(name, expression)                              \
    static inline float emulated_reduce_##name##_ps(__m512 x) \
    {                                                         \
        union lanes a = {.ps = x};                            \
        for (size_t n = 8; n > 0; n /= 2)                     \
            EACH(n)                                           \
            {                                                 \
                float l = a.f[i], m = a.f[i + n];             \
                a.f[i] = (expression);                        \
            }                                                 \
        return a.f[0];                                        \
    }

REDUCE(add, l + m)
REDUCE(min, l < m ? l : m)
REDUCE(max, l > m ? l : m)

static inline __mmask16 emulated_cmp_ps_mask(__m512 x, __m512 y, int kind)
{
    union lanes a = {.ps = x}, b = {.ps = y};
    unsigned mask = 0;
    EACH(16)
    {
        bool unordered = isnan(a.f[i]) || isnan(b.f[i]);
        mask |= (unsigned)(kind == _CMP_UNORD_Q ? unordered : !unordered && a.f[i] >= b.f[i]) << i;
    }
    return (__mmask16)mask;
}

static inline __mmask16 emulated_testn_epi32_mask(__m512i x, __m512i y)
{
    union lanes a = {.si = x}, b = {.si = y};
    unsigned mask = 0;
    EACH(16) mask |= (unsigned)((a.u[i] & b.u[i]) == 0) << i;
    return (__mmask16)mask;
}

/* Lanes of y where the mask has a bit, of x elsewhere. */
static inline __m512 emulated_mask_mov_ps(__m512 x, __mmask16 mask, __m512 y)
{
    union lanes a = {.ps = x}, b = {.ps = y};
    EACH(16) a.u[i] = mask >> i & 1 ? b.u[i] : a.u[i];
    return a.ps;
}

static inline __m512i emulated_mask_mov_epi32(__m512i x, __mmask16 mask, __m512i y)
{
    return emulated_castps_si512(
        emulated_mask_mov_ps(emulated_castsi512_ps(x), mask, emulated_castsi512_ps(y)));
}

static inline __m512i emulated_mask_blend_epi16(__mmask32 mask, __m512i x, __m512i y)
{
    union lanes a = {.si = x}, b = {.si = y};
    EACH(32) a.h[i] = mask >> i & 1 ? b.h[i] : a.h[i];
    return a.si;
}

static inline __m512i emulated_or_si512(__m512i x, __m512i y)
{
    union lanes a = {.si = x}, b = {.si = y};
    EACH(16) a.u[i] |= b.u[i];
    return a.si;
}

/* Lanes that are masked out are not read. */
static inline __m512 emulated_maskz_loadu_ps(__mmask16 mask, const float *p)
{
    union lanes r;
    EACH(16) r.f[i] = mask >> i & 1 ? p[i] : 0;
    return r.ps;
}

#define _mm512_add_ps             emulated_add_ps
#define _mm512_mul_ps             emulated_mul_ps
#define _mm512_sub_ps             emulated_sub_ps
#define _mm512_div_ps             emulated_div_ps
#define _mm512_sqrt_ps            emulated_sqrt_ps
#define _mm512_xor_ps             emulated_xor_ps
#define _mm512_unpacklo_ps        emulated_unpacklo_ps
#define _mm512_unpackhi_ps        emulated_unpackhi_ps
#define _mm512_unpacklo_pd        emulated_unpacklo_pd
#define _mm512_unpackhi_pd        emulated_unpackhi_pd
#define _mm512_sub_epi32          emulated_sub_epi32
#define _mm512_xor_si512          emulated_xor_si512
#define _mm512_permutexvar_epi32  emulated_permutexvar_epi32
#define _mm512_permutex2var_epi32 emulated_permutex2var_epi32
#define _mm512_castps_pd          emulated_castps_pd
#define _mm512_cvtepi32_ps        emulated_cvtepi32_ps
#define _mm512_movepi32_mask      emulated_movepi32_mask
#define _mm512_min_ps             emulated_min_ps
#define _mm512_max_ps             emulated_max_ps
#define _mm512_and_ps             emulated_and_ps
#define _mm512_or_ps              emulated_or_ps
#define _mm512_add_pd             emulated_add_pd
#define _mm512_add_epi32          emulated_add_epi32
#define _mm512_add_epi64          emulated_add_epi64
#define _mm512_and_si512          emulated_and_si512
#define _mm512_mul_epu32          emulated_mul_epu32
#define _mm512_shuffle_epi8       emulated_shuffle_epi8
#define _mm512_castps_si512       emulated_castps_si512
#define _mm512_castsi512_ps       emulated_castsi512_ps
#define _mm512_castps512_ps256    emulated_castps512_ps256
#define _mm512_loadu_ps           emulated_loadu_ps
#define _mm512_loadu_pd           emulated_loadu_pd
#define _mm512_loadu_si512        emulated_loadu_si512
#define _mm512_storeu_ps          emulated_storeu_ps
#define _mm512_storeu_pd          emulated_storeu_pd
#define _mm512_storeu_si512       emulated_storeu_si512
#define _mm512_set1_ps            emulated_set1_ps
#define _mm512_set1_epi32         emulated_set1_epi32
#define _mm512_set1_epi64         emulated_set1_epi64
#define _mm512_broadcast_i32x4    emulated_broadcast_i32x4
#define _mm512_slli_epi32         emulated_slli_epi32
#define _mm512_srli_epi32         emulated_srli_epi32
#define _mm512_srli_epi64         emulated_srli_epi64
#define _mm512_fmadd_ps           emulated_fmadd_ps
#define _mm512_fmadd_pd           emulated_fmadd_pd
#define _mm512_cvtps_pd           emulated_cvtps_pd
#define _mm512_cvtepu16_epi32     emulated_cvtepu16_epi32
#define _mm512_cvtepi32_epi16     emulated_cvtepi32_epi16
#define _mm512_cvtph_ps           emulated_cvtph_ps
#define _mm512_extractf32x8_ps    emulated_extractf32x8_ps
#define _mm512_permutex2var_ps    emulated_permutex2var_ps
#define _mm512_reduce_add_ps      emulated_reduce_add_ps
#define _mm512_reduce_min_ps      emulated_reduce_min_ps
#define _mm512_reduce_max_ps      emulated_reduce_max_ps
#define _mm512_testn_epi32_mask   emulated_testn_epi32_mask
#define _mm512_mask_mov_ps        emulated_mask_mov_ps
#define _mm512_mask_blend_epi16   emulated_mask_blend_epi16
#define _mm512_maskz_loadu_ps     emulated_maskz_loadu_ps

/* The compiler's own are macros, or these are made of the ones above. */
#undef _mm512_cmp_ps_mask
#undef _mm512_mask_cmp_ps_mask
#undef _mm512_cvtps_ph
#undef _mm512_ternarylogic_epi32
#undef _mm512_ternarylogic_epi64
#undef _mm512_shuffle_epi32
#undef _mm512_setr_epi64
#undef _mm512_setr_epi32
#define _mm512_cmp_ps_mask(x, y, kind)         emulated_cmp_ps_mask(x, y, kind)
#define _mm512_mask_cmp_ps_mask(m, x, y, kind) ((__mmask16)((m)&emulated_cmp_ps_mask(x, y, kind)))
#define _mm512_cvtps_ph(x, nearest)            emulated_to_halves(x)
#define _mm512_maskz_mov_ps(m, x)              emulated_mask_mov_ps(emulated_set1_ps(0), m, x)
#define _mm512_mask_and_epi32(src, m, x, y) \
    emulated_mask_mov_epi32(src, m, emulated_and_si512(x, y))
#define _mm512_mask_or_epi32(src, m, x, y)        emulated_mask_mov_epi32(src, m, emulated_or_si512(x, y))
#define _mm512_ternarylogic_epi32(x, y, z, table) emulated_ternary(x, y, z, table)
#define _mm512_ternarylogic_epi64(x, y, z, table) emulated_ternary(x, y, z, table)
#define _mm512_shuffle_epi32(x, control)          emulated_shuffle_epi32(x, control)
#define _mm512_mask_blend_ps(m, x, y)             emulated_mask_mov_ps(x, m, y)
#define _mm512_setr_epi64(...)                    ((union lanes){.q = {__VA_ARGS__}}.si)
#define KEEP_ORDER(x)                             (void)0 /* of kern_normal.h: a vector is no register here */
#define _mm512_setzero_ps()                       emulated_set1_ps(0)
#define _mm512_setzero_pd()                       ((union lanes){.q = {0}}.pd)
#define _mm512_setr_epi32(...)                    ((union lanes){.u = {__VA_ARGS__}}.si)

#endif
