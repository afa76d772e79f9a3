/* bf16_avx512.c - bf16 panels by VDPBF16PS: kern_panels.h with pairs of bf16 where it has f32.
 *
 * Built with the flags of AVX-512 BF16; the head of kern_avx512.c says what follows from that.
 */
#if defined(__x86_64__)

#include "num/bf16.h"
#include "num/kern_x86.h"

enum { VL = 16 };

typedef __m512 vec;
#define VZERO         _mm512_setzero_ps()
#define VADD(a, b)    _mm512_add_ps(a, b)
#define VFMA(a, b, c) _mm512_dpbf16_ps(c, (__m512bh)(a), (__m512bh)(b))
#define VLOADQ(p)     _mm512_loadu_ps(p)
#define VSTORE(p, v)  _mm512_storeu_ps(p, v)
#define VSPREAD(x)    _mm512_set1_ps(x)

#include "num/kern_panels_avx512.h"

static void panels_of_pairs(const void *const *rows, size_t n, uint32_t d, const float *packed,
                            size_t count, const void *next, size_t next_bytes, float *out)
{
    panels(rows, n, d / 2, packed, count, next, next_bytes, out);
}

/* Four sums hide the latency of the instruction; rows are asked for as far ahead as kern_tmpl.h
 * does, since this is where they come from memory if nothing has asked for them before. */
static float norm_of(const char *row, uint32_t d)
{
    enum { STEP = EMBI_BF16_DIMS, FAR_AHEAD_BYTES = 4096 };
    vec sum[4] = {VZERO, VZERO, VZERO, VZERO};
    size_t i = 0;
    for (; i + 4 * STEP <= d; i += 4 * STEP)
        UNROLL
    for (size_t l = 0; l < 4; l++) {
        __builtin_prefetch(row + (i + l * STEP) * 2 + FAR_AHEAD_BYTES, 0, 2);
        vec x = VLOADQ((const void *)(row + (i + l * STEP) * 2));
        sum[l] = VFMA(x, x, sum[l]);
    }
    for (; i < d; i += STEP) {
        vec x = VLOADQ((const void *)(row + i * 2));
        sum[0] = VFMA(x, x, sum[0]);
    }
    return _mm512_reduce_add_ps(VADD(VADD(sum[0], sum[1]), VADD(sum[2], sum[3])));
}

void embi_bf16_norms_avx512(const void *const *rows, size_t n, uint32_t d, float *norm2)
{
    for (size_t r = 0; r < n; r++)
        norm2[r] = norm_of(rows[r], d);
}

const struct embi_bf16_kern embi_bf16_avx512 = {"avx512-bf16", panels_of_pairs,
                                                embi_bf16_norms_avx512};

#endif
