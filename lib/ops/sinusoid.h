/* sinusoid.h - the layouts of sinusoidal positions.
 */
#ifndef EMBI_OPS_SINUSOID_H
#define EMBI_OPS_SINUSOID_H

#include "util/env.h"

enum embi_sinusoid {
    EMBI_SINUSOID_PAIRS,        /* channels 2i and 2i + 1 share an angle: emb_sinusoid_rows */
    EMBI_SINUSOID_HALVES,       /* all sines, then all cosines, as Marian has them: base 10000 */
    EMBI_SINUSOID_TENSOR2TENSOR /* likewise with exponent i / (d/2 - 1), angles and all in f32, as
                                   M2M-100 has them; of an odd d the last channel is 0 */
};

/* Fills block [rows, d], of any float type, with rows first .. . Statuses as emb_sinusoid_rows. */
emb_status embi_sinusoid_fill(const struct embi_env *env, enum embi_sinusoid layout, double base,
                              uint64_t first, emb_block *block, emb_err *err);

#endif
