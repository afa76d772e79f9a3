/* head_scale.h - what a model does with hidden states and logits beside the product with its output
 * table: factors, and a soft cap, by its model type and config.json.
 *
 * The rules follow the model sources of Hugging Face transformers. Implements
 * docs/commands/logits.md, "as the model".
 */
#ifndef EMBI_MODEL_HEAD_SCALE_H
#define EMBI_MODEL_HEAD_SCALE_H

#include "model/config.h"

/* logits = cap tanh(scale (hidden h E^T + bias) / cap); without a cap (0) just what is inside. */
struct embi_head_scale {
    double hidden, scale, cap;
};

/* What the n bytes of config.json at s say for the model of these types, whose output table has
 * `dims` columns. EMB_UNSUPPORTED: nobody knows what such a model does. EMB_BAD_DATA: a key holds
 * something else than it should. */
emb_status embi_head_scale_parse(const char *s, size_t n, const struct embi_config *types,
                                 uint32_t dims, struct embi_head_scale *scale, emb_err *err);

/* The same for config.json in dir; NULL: there is none. */
emb_status embi_head_scale_open(const struct embi_env *env, const char *dir,
                                const struct embi_config *types, uint32_t dims,
                                struct embi_head_scale *scale, emb_err *err);

#endif
