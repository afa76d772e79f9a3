/* tokenizer_change.h - what the parts of an edit of tokenizer files share. Only for
 * tokenizer_edit.c, tokenizer_add.c, tokenizer_old.c, tokenizer_rename.c and tokenizer_roles.c.
 */
#ifndef EMBI_MODEL_TOKENIZER_CHANGE_H
#define EMBI_MODEL_TOKENIZER_CHANGE_H

#include "model/text_edit.h"
#include "model/token_sources.h"
#include "model/tokenizer_edit.h"

struct embi_tokenizer_change {
    const struct embi_env *env;
    const char *dir;
    const struct embi_tokenizer_changes *changes;
    struct embi_token_sources sources;
    struct embi_file_edits *edits;
    struct embi_token_fill *add; /* [n_add] what fills gaps, then new tokens, all with a text */
    size_t n_add;
    struct embi_buf names; /* the texts of those that no file had */
};

/* Opens a file of the directory for an edit. */
emb_status embi_change_open(const struct embi_tokenizer_change *c, const char *name,
                            struct embi_text_edit *text, emb_err *err);

/* The member `key` of the root of the text; where it is not there, or null, it becomes `json` (with
 * the same kind of value) first. */
emb_status embi_change_container(const struct embi_tokenizer_change *c, struct embi_text_edit *text,
                                 const char *key, const char *json, struct embi_json_value *v,
                                 emb_err *err);

/* Adds c->entries to the lists that there are. */
emb_status embi_tokenizer_add(struct embi_tokenizer_change *c, emb_err *err);

/* The same without a list that loaders would look at: tokenizer_config.json gets one, or
 * added_tokens.json has to do. */
emb_status embi_tokenizer_add_old(struct embi_tokenizer_change *c, emb_err *err);

/* Appends those of the n tokens that have the bit of added_tokens_decoder or of added_tokens.json
 * to that object, which is made if it is not there. */
emb_status embi_decoder_append(const struct embi_tokenizer_change *c,
                               const struct embi_token_fill *list, size_t n, emb_err *err);
emb_status embi_added_append(const struct embi_tokenizer_change *c,
                             const struct embi_token_fill *list, size_t n, emb_err *err);

/* Appends the texts of new special tokens to the list `key` of a file, if the file is there; a list
 * that is not there is made. */
emb_status embi_special_append(const struct embi_tokenizer_change *c, const char *name,
                               const char *key, emb_err *err);

emb_status embi_tokenizer_rename(struct embi_tokenizer_change *c,
                                 const struct embi_token_rename *rename, emb_err *err);
emb_status embi_tokenizer_role(struct embi_tokenizer_change *c, const struct embi_token_role *role,
                               emb_err *err);

#endif
