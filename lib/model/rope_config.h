/* rope_config.h - what a config.json, or a user in the same words, says of rotary positions.
 *
 * Keys are those of the models' config files: rope_theta, and what stands in rope_scaling (or in
 * rope_parameters, as newer files have it). Only read here: what follows from it is ops/rope.c's.
 * Implements docs/commands/position.md, "From a model".
 */
#ifndef EMBI_MODEL_ROPE_CONFIG_H
#define EMBI_MODEL_ROPE_CONFIG_H

#include "util/env.h"
#include "util/json.h"

enum embi_rope_type {
    EMBI_ROPE_DEFAULT,
    EMBI_ROPE_LINEAR,
    EMBI_ROPE_DYNAMIC,
    EMBI_ROPE_NTK,
    EMBI_ROPE_YARN,
    EMBI_ROPE_LONGROPE,
    EMBI_ROPE_LLAMA3
};

struct embi_rope_list {
    double *v; /* [n], malloc'd */
    size_t n;
};

/* Numbers that are not said are 0, and 0 says nothing. */
struct embi_rope_scaling {
    enum embi_rope_type type;
    double factor, alpha, attention_factor;
    double beta_fast, beta_slow, mscale, mscale_all_dim;
    double low_freq_factor, high_freq_factor;
    double short_mscale, long_mscale; /* in place of attention_factor, with the list of that name */
    double original_positions;
    double max_positions;                            /* only where a user says it here */
    struct embi_rope_list short_factor, long_factor; /* one for each pair */
    bool no_truncate;
};

struct embi_rope_config {
    double base;          /* rope_theta */
    double partial;       /* partial_rotary_factor */
    double rotary_dims;   /* where that is said instead */
    double head_dims;     /* of q and k */
    double max_positions; /* max_position_embeddings */
    emb_rope_style style;
    struct embi_rope_scaling scaling;
};

void embi_rope_scaling_free(struct embi_rope_scaling *s);

/* What config.json of the directory says. EMB_UNSUPPORTED: nothing of rotary positions, or a kind
 * of them that is not known. EMB_BAD_DATA: it is not JSON, or a key holds something else than it
 * should. Free config->scaling, after a failure too. */
emb_status embi_rope_config_open(const struct embi_env *env, const char *dir,
                                 struct embi_rope_config *config, emb_err *err);

/* The same for the text [n] of a config.json. */
emb_status embi_rope_config_parse(const char *s, size_t n, struct embi_rope_config *config,
                                  emb_err *err);

/* "TYPE", "TYPE:4" (the factor), "TYPE:key=value,key=[1,2],...". EMB_BAD_ARG: there is no such type
 * or key, or a value is none. Free *s, after a failure too. */
emb_status embi_rope_scaling_parse(const char *text, struct embi_rope_scaling *s, emb_err *err);

/* One key of rope_scaling. *known: it is one. EMB_BAD_DATA: it holds something else than it
 * should. */
emb_status embi_rope_scaling_take(struct embi_rope_scaling *s, const struct embi_json_value *key,
                                  const struct embi_json_value *value, bool *known, emb_err *err);

/* The number of a value, finite and not below 0; null is 0. */
emb_status embi_rope_number(const struct embi_json_value *value, double *x, emb_err *err);

/* "yarn" */
const char *embi_rope_type_name(enum embi_rope_type type);

#endif
