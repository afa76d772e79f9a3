/* sinusoid.c - the sinusoidal position table: emb_sinusoid_rows (Vaswani et al. 2017, section 3.5),
 * and the layouts that some models have instead; see sinusoid.h.
 */
#include "ops/sinusoid.h"

#include "ops/angles.h"
#include "table/table.h"
#include "util/err.h"

#include <math.h>
#include <stdlib.h>

struct waves {
    size_t half;           /* channels of the first half               */
    const double *lengths; /* [half]; of TENSOR2TENSOR frequencies     */
};

/* Channels 2i and 2i + 1 share lengths[i] = base^(2i / d). */
static void pairs(const void *arg, uint64_t position, uint32_t column, size_t n, double *out)
{
    const struct waves *w = arg;
    for (size_t k = 0; k < n; k++) {
        double angle = (double)position / w->lengths[(column + k) / 2];
        out[k] = k % 2 ? cos(angle) : sin(angle); /* a tile begins at an even column */
    }
}

/* Models keep these tables in f32 before they go to another type. */
static void halves(const void *arg, uint64_t position, uint32_t column, size_t n, double *out)
{
    const struct waves *w = arg;
    for (size_t k = 0; k < n; k++) {
        size_t c = column + k;
        double angle = (double)position / w->lengths[c < w->half ? c : c - w->half];
        out[k] = (double)(float)(c < w->half ? sin(angle) : cos(angle));
    }
}

static void tensor2tensor(const void *arg, uint64_t position, uint32_t column, size_t n,
                          double *out)
{
    const struct waves *w = arg;
    for (size_t k = 0; k < n; k++) {
        size_t c = column + k, i = c < w->half ? c : c - w->half;
        if (i == w->half) {
            out[k] = 0;
            continue;
        }
        float angle = (float)position * (float)w->lengths[i];
        out[k] = (double)(float)(c < w->half ? sin((double)angle) : cos((double)angle));
    }
}

static void set_lengths(enum embi_sinusoid layout, double base, uint32_t dims, size_t half,
                        double *lengths)
{
    float step = -(float)(log(base) / (double)(embi_max(half, 2) - 1));
    for (size_t i = 0; i < half; i++) {
        if (layout == EMBI_SINUSOID_TENSOR2TENSOR)
            lengths[i] = (double)(float)exp((double)((float)i * step));
        else
            lengths[i] = pow(base, 2.0 * (double)i / dims);
    }
}

emb_status embi_sinusoid_fill(const struct embi_env *env, enum embi_sinusoid layout, double base,
                              uint64_t first, emb_block *block, emb_err *err)
{
    static embi_angles_fn *const fns[] = {pairs, halves, tensor2tensor};
    size_t even = layout == EMBI_SINUSOID_TENSOR2TENSOR ? 0 : 1;
    struct waves w = {.half = ((size_t)block->dims + even) / 2};
    double *lengths = malloc(embi_max(w.half, 1) * sizeof *lengths);
    if (!lengths)
        return embi_fail_memory(err, w.half * sizeof *lengths, "wave lengths");
    set_lengths(layout, base, block->dims, w.half, lengths);
    w.lengths = lengths;
    emb_status status = embi_angles_fill(env, first, block, fns[layout], &w, err);
    free(lengths);
    return status;
}

emb_status emb_sinusoid_rows(emb_ctx *ctx, double base, uint64_t first, emb_block *block,
                             emb_err *err)
{
    base = base != 0 ? base : 10000;
    if (!isfinite(base) || base < 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "base %g: expected a number above 0", base);
    return embi_sinusoid_fill(&ctx->env, EMBI_SINUSOID_PAIRS, base, first, block, err);
}
