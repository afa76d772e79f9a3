/* tokenizer_edit.h - new tokens, new names and new roles in the tokenizer files of a directory.
 *
 * Every file that lists added tokens gets the new ones, so that it does not matter which of them a
 * loader reads; vocabularies, merges and SentencePiece models stay as they are. Nothing is written:
 * the new contents go into a list. Implements docs/formats/tokenizers.md, "adding tokens".
 */
#ifndef EMBI_MODEL_TOKENIZER_EDIT_H
#define EMBI_MODEL_TOKENIZER_EDIT_H

#include "model/file_edit.h"
#include "model/tokenizer.h"

struct embi_new_token {
    emb_str text; /* UTF-8, not empty, in no file yet */
    uint64_t id;  /* embi_token_sources.next_id and those after it */
    bool special;
};

struct embi_token_rename {
    emb_str from, to;
    bool special; /* only for a piece of the vocabulary that was no added token before */
};

struct embi_token_role {
    const char *role; /* "bos", "eos", "unk", "pad", "sep", "cls" or "mask" */
    emb_str token;    /* may be a new one, or have its new name */
};

struct embi_tokenizer_changes {
    const struct embi_new_token *add; /* [n_add] by id */
    size_t n_add;
    const struct embi_token_rename *renames; /* [n_renames] */
    size_t n_renames;
    const struct embi_token_role *roles; /* [n_roles] */
    size_t n_roles;
    const uint64_t *pad; /* the id that the pad token must have, as positions are counted from it;
                            NULL: any */
    bool fill_gaps; /* give tokens to ids that loaders would number differently; without new tokens
                       only where that can be done, and nothing is refused */
};

/* Tokens that filled gaps. `present`: some file had the token; others were made up. */
struct embi_token_fills {
    emb_resize_token *list; /* [n] by id */
    size_t n;
    struct embi_buf texts;
};

void embi_token_fills_free(struct embi_token_fills *fills);

/* t is the tokenizer of dir, open. edits gets the files that change and no others. fills, which is
 * empty before, gets what fills gaps.
 *
 * EMB_UNSUPPORTED: the ids have a gap, and not fill_gaps; the files are of a kind that tokens
 * cannot be added to; a token to be renamed is an ordinary piece. EMB_BAD_DATA: two files
 * contradict each other. EMB_BAD_ARG: a text that is empty, not UTF-8 or there already; an unknown
 * role. EMB_NOT_FOUND: a token to be renamed or given a role is not there. */
emb_status embi_tokenizer_edit(const struct embi_env *env, const char *dir,
                               const struct embi_tokenizer *t,
                               const struct embi_tokenizer_changes *changes,
                               struct embi_file_edits *edits, struct embi_token_fills *fills,
                               emb_err *err);

/* The id of the next new token, 1 + the largest that any file has; of the changes n_add and
 * fill_gaps count. Refuses what embi_tokenizer_edit would refuse of the files alone:
 * contradictions, a kind that tokens cannot be added to, a gap that is not to be filled. Where
 * nothing would be added or filled, *next_id stays. */
emb_status embi_tokenizer_next_id(const struct embi_env *env, const char *dir,
                                  const struct embi_tokenizer *t,
                                  const struct embi_tokenizer_changes *changes, uint64_t *next_id,
                                  emb_err *err);

#endif
