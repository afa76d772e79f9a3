/* rope.h - rotary positions between their parts: what was said, the frequencies, the rows.
 */
#ifndef EMBI_OPS_ROPE_H
#define EMBI_OPS_ROPE_H

#include "model/rope_config.h"

struct emb_rope {
    const struct embi_env *env;
    emb_rope_info info;  /* frequencies: those below */
    double *frequencies; /* [rotary_dims / 2] */
};

/* What the frequencies of r channels follow from. */
struct embi_rope_scaled {
    const struct embi_rope_scaling *scaling;
    uint32_t dims;        /* r */
    double base;          /* above 0 */
    double max_positions; /* of the model; 0: not said */
    double positions;     /* that are needed */
};

/* frequencies [r/2], and the scale of cosine and sine. EMB_BAD_ARG: a key is missing, or its number
 * makes no sense. */
emb_status embi_rope_scale(const struct embi_rope_scaled *what, double *frequencies, double *scale,
                           emb_err *err);

#endif
