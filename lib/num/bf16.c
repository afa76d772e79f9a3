/* bf16.c - see bf16.h: which kernels there are, how queries are packed for them, how fast they are.
 */
#include "num/bf16.h"
#include "num/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

size_t embi_bf16_kernels(unsigned features, const struct embi_bf16_kern *kernels[EMBI_BF16_KERNELS])
{
    size_t n = 0;
#if defined(__x86_64__)
    if (features & EMBI_CPU_BF16)
        kernels[n++] = &embi_bf16_avx512;
    if (features & EMBI_CPU_AMX)
        kernels[n++] = &embi_bf16_amx;
#endif
    (void)features;
    (void)kernels;
    return n;
}

/* ------------------------------------------------------------------------------------------------
 * Packing
 */

enum { PACKED_AT_ONCE = 512 };

/* Elements first .. first + n - 1 of a query into its lane. Returns the square of what rounding
 * moved them by. */
static double pack_some(const struct embi_kern *kern, float *lane, const float *q, size_t n)
{
    uint16_t code[PACKED_AT_ONCE];
    float rounded[PACKED_AT_ONCE];
    double moved = 0;
    kern->bf16_from_f32(code, q, n);
    kern->f32_from_bf16(rounded, code, n);
    for (size_t i = 0; i < n; i++)
        moved += ((double)q[i] - (double)rounded[i]) * ((double)q[i] - (double)rounded[i]);
    for (size_t i = 0; i < n; i += 2)
        memcpy(lane + i / 2 * EMBI_PANEL, code + i, sizeof *lane);
    return moved;
}

double embi_bf16_pack(const struct embi_kern *kern, float *packed, const float *q, size_t n,
                      uint32_t d)
{
    const size_t pairs = d / 2;
    double most = 0;
    memset(packed, 0, embi_panels_of(n) * EMBI_PANEL * pairs * sizeof *packed);
    for (size_t j = 0; j < n; j++) {
        float *lane = packed + j / EMBI_PANEL * EMBI_PANEL * pairs + j % EMBI_PANEL;
        double moved = 0;
        for (size_t i = 0; i < d; i += PACKED_AT_ONCE)
            moved += pack_some(kern, lane + i / 2 * EMBI_PANEL, q + j * d + i,
                               embi_min(PACKED_AT_ONCE, d - i));
        most = fmax(most, sqrt(moved));
    }
    return most;
}

/* ------------------------------------------------------------------------------------------------
 * Rates
 */

enum { TRIED_ROWS = 96, TRIED_DIMS = 512, TRIED_PANELS = 4, BURSTS = 5, BURST_NS = 20000 };

/* What is multiplied: [TRIED_ROWS, TRIED_DIMS] of bf16, and room for the rest. */
struct trial {
    const struct embi_kern *kern;
    const struct embi_bf16_kern *kernel;
    size_t panels;
    const void *rows[TRIED_ROWS];
    uint16_t *stored; /* [TRIED_ROWS, TRIED_DIMS] */
    float *wide;      /* [TRIED_ROWS, TRIED_DIMS] */
    float *packed;    /* [panels][TRIED_DIMS][EMBI_PANEL] */
    float *out;       /* [TRIED_ROWS, panels * EMBI_PANEL] */
};

static void multiply(struct trial *t)
{
    if (t->kernel) {
        t->kernel->panels(t->rows, TRIED_ROWS, TRIED_DIMS, t->packed, t->panels, NULL, 0, t->out);
        return;
    }
    t->kern->f32_from_bf16(t->wide, t->stored, TRIED_ROWS * TRIED_DIMS);
    t->kern->panels(t->rows, TRIED_ROWS, TRIED_DIMS, t->packed, t->panels, NULL, 0, t->out);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of a few bursts: others may use the CPU during one. The first only warms it up. */
static double best_rate(struct trial *t)
{
    const double products = (double)TRIED_ROWS * TRIED_DIMS * (double)t->panels * EMBI_PANEL;
    double best = 0;
    for (int burst = 0; burst < BURSTS; burst++) {
        double start = now_ns(), ns = 0, done = 0;
        do {
            multiply(t);
            ns = now_ns() - start;
            done += products;
        } while (ns < BURST_NS);
        if (burst > 0)
            best = fmax(best, done / ns);
    }
    return best;
}

double embi_bf16_rate(const struct embi_kern *kern, const struct embi_bf16_kern *kernel,
                      size_t panels)
{
    struct trial t = {.kern = kern, .kernel = kernel, .panels = embi_min(panels, TRIED_PANELS)};
    double rate = 0;
    t.stored = calloc((size_t)TRIED_ROWS * TRIED_DIMS, sizeof *t.stored);
    t.wide = calloc((size_t)TRIED_ROWS * TRIED_DIMS, sizeof *t.wide);
    t.packed = calloc(t.panels * TRIED_DIMS * EMBI_PANEL, sizeof *t.packed);
    t.out = calloc(t.panels * TRIED_ROWS * EMBI_PANEL, sizeof *t.out);
    if (t.stored && t.wide && t.packed && t.out) {
        for (size_t r = 0; r < TRIED_ROWS; r++)
            t.rows[r] = kernel ? (const void *)(t.stored + r * TRIED_DIMS)
                               : (const void *)(t.wide + r * TRIED_DIMS);
        rate = best_rate(&t);
    }
    free(t.stored);
    free(t.wide);
    free(t.packed);
    free(t.out);
    return rate;
}
