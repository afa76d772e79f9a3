/* check_model.h - what the parts of a check of a model directory share. Only for lib/ops/check_*.c.
 */
#ifndef EMBI_OPS_CHECK_MODEL_H
#define EMBI_OPS_CHECK_MODEL_H

#include "model/model.h"
#include "model/vocab_tensors.h"

struct embi_checking {
    const struct embi_env *env;
    struct embi_model *model;
    struct embi_vocab_tensors vocab;
    struct embi_tokenizer tokenizer;
    bool has_tokenizer;
    uint64_t rows;    /* of the embedding */
    const char *name; /* of the embedding, for messages */
    emb_check *check;
    bool failed; /* no memory for a finding */
};

/* Adds a finding. what: a constant; mend: options of `embtool resize DIR`, copied, or NULL. */
void embi_check_say(struct embi_checking *c, const char *what, const char *mend, const char *format,
                    ...) EMBI_PRINTF(4, 5);

/* The options that make a resize put sizes right. */
#define EMBI_MEND "--in-place"

/* Sizes that config.json says, and ids that it and generation_config.json give roles. */
emb_status embi_check_config(struct embi_checking *c, emb_err *err);
emb_status embi_check_ids(struct embi_checking *c, emb_err *err);

/* The index of shards. *whole: all shards can be read. */
emb_status embi_check_index(struct embi_checking *c, bool *whole, emb_err *err);

#endif
