/* input_rules.h - what models do between their token table and their first block, as data: one rule
 * for each kind of architecture. Implements docs/commands/lookup.md, "The input of a model".
 */
#ifndef EMBI_MODEL_INPUT_RULES_H
#define EMBI_MODEL_INPUT_RULES_H

#include "model/config.h"

/* What rows of the token table are multiplied with first. */
enum embi_input_scale {
    EMBI_SCALE_NONE,
    EMBI_SCALE_ROOT_ROUNDED, /* sqrt(d), rounded to the table's type before it multiplies */
    EMBI_SCALE_ROOT_ON,      /* sqrt(d) in f32, unless the config's scale_embedding is false */
    EMBI_SCALE_ROOT_OFF,     /* the same where scale_embedding is true */
    EMBI_SCALE_MULTIPLIER    /* embedding_multiplier of the config, in f32 */
};

/* Where positions come from. Of the kinds before LEARNED nothing is added. */
enum embi_input_positions {
    EMBI_POS_NONE,     /* the model has none, as one that reads tokens in their order */
    EMBI_POS_ROTARY,   /* queries and keys turn */
    EMBI_POS_RELATIVE, /* attention knows distances */
    EMBI_POS_LEARNED,
    EMBI_POS_HALVES,       /* sinusoidal, all sines before all cosines (Marian) */
    EMBI_POS_TENSOR2TENSOR /* the same by the formula of tensor2tensor (M2M-100) */
};

/* Which tokens are padding, whose position is that of the padding row and is not counted. */
enum embi_input_padding {
    EMBI_PAD_NONE, /* every token has a position */
    EMBI_PAD_ID,   /* the pad id; position 0 has the row behind it */
    EMBI_PAD_MASK  /* what an attention mask hides; it has the row before that of position 0 */
};

/* What is done with a row after it was scaled, in the model's order. */
enum embi_input_step {
    EMBI_STEP_END,
    EMBI_STEP_TYPE,     /* + row of the token's type                  */
    EMBI_STEP_POSITION, /* + row of its position                      */
    EMBI_STEP_NORM,     /* LayerNorm                                  */
    EMBI_STEP_PROJECT   /* times a matrix [D, d], where one is stored */
};
enum { EMBI_INPUT_STEPS = 5 };

struct embi_input_rule {
    const char *types; /* model types between blanks */
    enum embi_input_scale scale;
    enum embi_input_positions kind;
    enum embi_input_padding padding;
    uint64_t offset; /* row of position 0, where the pad id does not say it */
    enum embi_input_step steps[EMBI_INPUT_STEPS];
    const char *positions; /* names of tensors, as in architectures.c */
    const char *token_types;
    const char *norm;    /* without ".weight" and ".bias", as the next one */
    const char *project; /* stored where the widths differ */
    double eps;          /* of the norm, where the config does not say it */
};

/* That of a config: by its model type, else by that of the text model inside; NULL: unknown. */
const struct embi_input_rule *embi_input_rule_of(const struct embi_config *config);

#endif
