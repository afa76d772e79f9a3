/* check_model.h - what the parts of a check of a model directory share. Only for lib/ops/check_*.c.
 */
#ifndef EMBI_OPS_CHECK_MODEL_H
#define EMBI_OPS_CHECK_MODEL_H

#include "model/config_objects.h"
#include "model/model.h"
#include "model/sidecar.h"
#include "model/vocab_tensors.h"

struct embi_checking {
    const struct embi_env *env;
    struct embi_model *model;
    struct embi_vocab_tensors vocab;
    struct embi_tokenizer tokenizer;
    bool has_tokenizer;
    struct embi_sidecar config;        /* config.json, empty where there is none */
    struct embi_json_value objects[2]; /* [n_objects] of it that speak of the text model */
    int n_objects;
    bool text_inside; /* one of them is inside the other */
    uint64_t rows;    /* of the embedding */
    const char *name; /* of the embedding, for messages */
    emb_check *check;
    bool failed;      /* no memory for a finding */
    bool mends_none;  /* the model is of a form that is not resized */
    bool rows_stay;   /* so are the tables: rows cannot be added */
    bool tokens_stay; /* tokenizer files contradict each other, so they cannot be edited */
};

/* Adds a finding. what: a constant; mend: options of `embtool resize DIR`, copied, or NULL; left
 * out where the model cannot be resized. */
void embi_check_say(struct embi_checking *c, const char *what, const char *mend, const char *format,
                    ...) EMBI_PRINTF(4, 5);

/* The options that make a resize put sizes right. */
#define EMBI_MEND "--in-place"

/* The options, or NULL if the rows that they add, or the tokens, cannot be. */
const char *embi_check_mend_rows(const struct embi_checking *c, const char *mend);

/* The tokenizer, which is opened, and its files. */
emb_status embi_check_tokenizer(struct embi_checking *c, emb_err *err);

/* Tokenizer files that hold the same tokens. */
emb_status embi_check_vocabularies(struct embi_checking *c, emb_err *err);

/* Sizes that config.json says, and ids that it and generation_config.json give special tokens. */
emb_status embi_check_config(struct embi_checking *c, emb_err *err);
emb_status embi_check_ids(struct embi_checking *c, emb_err *err);

/* Tables of learned positions: how many rows config.json promises, and whether the row of the pad
 * token is one of them. */
emb_status embi_check_positions(struct embi_checking *c, emb_err *err);

/* Files beside config.json that speak of the roles of tokens; empty where they are not there. */
struct embi_role_files {
    struct embi_sidecar tokenizer, map, generation;
};

/* Roles, as they begin the keys of those files. Those of the first EMBI_CHECK_ROLES stand in
 * config.json by their ids. */
enum { EMBI_CHECK_ROLES = 3, EMBI_CHECK_ROLE_NAMES = 7 };
extern const char *const embi_check_role_names[EMBI_CHECK_ROLE_NAMES];

/* What the files say of roles, to each other and to the tokenizer. */
emb_status embi_check_roles(struct embi_checking *c, const struct embi_role_files *f, emb_err *err);

/* The options that give the role to the tokenizer's own token, in `mend`; NULL where it has none
 * that counts, or one that no command line can hold. */
const char *embi_check_mend_role(struct embi_checking *c, const struct embi_role_files *f,
                                 const char *role, struct embi_buf *mend);

/* The index of shards. *whole: all shards can be read. */
emb_status embi_check_index(struct embi_checking *c, bool *whole, emb_err *err);

#endif
