/* input_config.h - what a config.json says of the input of its model; see input_rules.h.
 */
#ifndef EMBI_MODEL_INPUT_CONFIG_H
#define EMBI_MODEL_INPUT_CONFIG_H

#include "model/config.h"

/* A switch of a config: said to be so, said not to be, or not said. */
enum embi_said { EMBI_UNSAID = -1, EMBI_NO, EMBI_YES };

struct embi_input_config {
    enum embi_said scale_embedding;
    enum embi_said position_biased_input; /* DeBERTa: rows of positions are added */
    enum embi_said alibi;                 /* attention knows distances; nothing turns */
    double embedding_multiplier;          /* these are 0 where they are not said */
    double eps;
    double max_positions;
    double hidden_size;
    double types;         /* type_vocab_size */
    bool other_positions; /* position_embedding_type is another than "absolute" */
};

/* EMB_BAD_DATA: it is not JSON, or one of these numbers is none. Without a file nothing is said. */
emb_status embi_input_config_open(const struct embi_env *env, const char *dir,
                                  struct embi_input_config *config, emb_err *err);

/* The same for the text [n] of a config.json. */
emb_status embi_input_config_parse(const char *s, size_t n, struct embi_input_config *config,
                                   emb_err *err);

#endif
