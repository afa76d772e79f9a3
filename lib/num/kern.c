/* kern.c - the choice of a kernel set, and the double precision products that every set shares.
 *
 * embi_dot_f64 is the canonical arithmetic of search: plain C, compiled once without contraction,
 * so that its bits depend on its arguments alone.
 */
#include "num/kern.h"
#include "num/cpu.h"
#include "num/kern_sets.h"

#include <math.h>

const struct embi_kern *embi_kern_choose(unsigned features)
{
#if defined(__x86_64__)
    if (features & EMBI_CPU_AVX512)
        return &embi_kern_avx512;
    if (features & EMBI_CPU_AVX2)
        return &embi_kern_avx2;
#endif
    (void)features;
    return &embi_kern_scalar;
}

/* gamma_m = m u / (1 - m u) for m roundings. */
static double gamma_of(double roundings)
{
    double mu = roundings * 0x1p-24;
    if (mu >= 0.5)
        return 1e15; /* above exp(mu) - 1 for every d: no bound to work with */
    return mu / (1 - mu);
}

/* Roundings that one product can meet on its way into the sum: its own (1), its lane of at least 8
 * (d / 8), joining lanes and unrolled accumulators (at most 5), the rounding of its two factors to
 * f32 (2), and 2 to spare. Where blocks of dimensions are summed one after another, a lane is
 * shorter by more than there are blocks. Below 8 elements the sum may run straight: 7 + 2 is
 * less. */
double embi_dot_bound(uint32_t d)
{
    uint32_t lane = d / 8 + 1;
    return gamma_of((double)lane + 10);
}

/* Its own (1), d additions if the sum begins with a zero, the two factors (2), and 2 to spare. */
double embi_any_order_bound(uint32_t d)
{
    return gamma_of((double)d + 5);
}

/* Fewer dimensions are not worth the joining of lanes after each block. */
enum { DOTS_LEAST = 256 };
_Static_assert(DOTS_LEAST *EMBI_FEW_QUERIES * sizeof(float) <= EMBI_DOTS_BYTES,
               "EMBI_DOTS_NUMBERS counts on it");

size_t embi_dots_block(uint32_t d, size_t queries)
{
    size_t most = embi_max(EMBI_DOTS_BYTES / (embi_max(queries, 1) * sizeof(float)), DOTS_LEAST);
    size_t blocks = (d + most - 1) / most;
    return (d / blocks / 16 + 1) * 16;
}

uint32_t embi_panel_block(uint32_t d)
{
    uint32_t blocks = (d - 1) / EMBI_PANEL_BLOCK + 1;
    return ((d - 1) / blocks / 16 + 1) * 16;
}

/* Its own (1, none with FMA), the sums of a block (128) and of blocks, the two factors (2), and 2
 * to spare. */
double embi_panel_bound(uint32_t d)
{
    double straight = (double)embi_min(d, EMBI_PANEL_BLOCK);
    return gamma_of(straight + ceil((double)d / EMBI_PANEL_BLOCK) + 5);
}

void embi_panels_pack(float *packed, const float *q, size_t n, uint32_t d)
{
    memset(packed, 0, embi_panels_of(n) * EMBI_PANEL * d * sizeof *packed);
    for (size_t j = 0; j < n; j++) {
        float *lane = packed + j / EMBI_PANEL * EMBI_PANEL * d + j % EMBI_PANEL;
        for (size_t i = 0; i < d; i++)
            lane[i * EMBI_PANEL] = q[j * d + i];
    }
}

double embi_dot_f64(const double *a, const double *b, uint32_t d)
{
    double lane[8] = {0};
    size_t whole = d - d % 8;
    for (size_t i = 0; i < whole; i += 8)
        for (size_t l = 0; l < 8; l++)
            lane[l] += a[i + l] * b[i + l];
    for (size_t i = whole; i < d; i++)
        lane[i - whole] += a[i] * b[i];
    return embi_join_lanes(lane);
}
