/* sinusoid.c - the sinusoidal position table: emb_sinusoid_rows (Vaswani et al. 2017, section 3.5).
 */
#include "ops/angles.h"
#include "table/table.h"
#include "util/err.h"

#include <math.h>
#include <stdlib.h>

/* Channels 2i and 2i + 1 share lengths[i] = base^(2i / d). */
static void waves(const void *arg, uint64_t position, uint32_t column, size_t n, double *out)
{
    const double *lengths = arg;
    for (size_t k = 0; k < n; k++) {
        double angle = (double)position / lengths[(column + k) / 2];
        out[k] = k % 2 ? cos(angle) : sin(angle); /* a tile begins at an even column */
    }
}

emb_status emb_sinusoid_rows(emb_ctx *ctx, double base, uint64_t first, emb_block *block,
                             emb_err *err)
{
    size_t pairs = ((size_t)block->dims + 1) / 2;
    base = base != 0 ? base : 10000;
    if (!isfinite(base) || base < 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "base %g: expected a number above 0", base);
    double *lengths = malloc(embi_max(pairs, 1) * sizeof *lengths);
    if (!lengths)
        return embi_fail_memory(err, pairs * sizeof *lengths, "wave lengths");
    for (size_t i = 0; i < pairs; i++)
        lengths[i] = pow(base, 2.0 * (double)i / block->dims);
    emb_status status = embi_angles_fill(&ctx->env, first, block, waves, lengths, err);
    free(lengths);
    return status;
}
