/* notes.h - what a vocabulary says of its tokens beside their names: scores, types, roles.
 *
 * SentencePiece and GGUF number the types alike; names are those of GGUF files, the only ones that
 * hold all of it. Nothing here knows where notes come from.
 */
#ifndef EMBI_FMT_NOTES_H
#define EMBI_FMT_NOTES_H

#include "util/buf.h"

enum embi_token_type {
    EMBI_TOKEN_UNSAID, /* normal, or of a row without a token unused */
    EMBI_TOKEN_NORMAL,
    EMBI_TOKEN_UNKNOWN,
    EMBI_TOKEN_CONTROL,
    EMBI_TOKEN_USER_DEFINED,
    EMBI_TOKEN_UNUSED,
    EMBI_TOKEN_BYTE
};

/* The id of a token that has a role, under its key: "tokenizer.ggml.bos_token_id". */
struct embi_noted_id {
    emb_str key; /* borrowed */
    uint64_t id;
};

/* Keys with their values, as a GGUF file that is written has them. */
struct embi_noted_keys {
    struct embi_buf bytes;
    uint64_t n;
};

/* All zero: nothing is known. */
struct embi_token_notes {
    emb_str model;             /* the kind of tokenizer, as "llama"; s NULL: not known; borrowed */
    uint64_t n;                /* ids that something is known of */
    float *scores;             /* [n] or NULL */
    int32_t *types;            /* [n] enum embi_token_type, or another number of a file; or NULL */
    struct embi_noted_id *ids; /* [n_ids] */
    size_t n_ids;
    struct embi_noted_keys any;   /* what holds of any of the tokens, */
    struct embi_noted_keys whole; /* and what holds of all of them together: merges */
};

/* The notes of rows [n] of those that `from` speaks of (rows NULL: 0, 1 ...). A role goes to the
 * first row that has its token, and is left out where none has. What holds of all tokens stays only
 * without `rows`. `from` gives up its keys. Free *to, after failure too. */
emb_status embi_notes_pick(struct embi_token_notes *from, const uint64_t *rows, uint64_t n,
                           struct embi_token_notes *to, emb_err *err);
void embi_notes_free(struct embi_token_notes *notes);

/* Adds a role. */
emb_status embi_notes_add_id(struct embi_token_notes *notes, emb_str key, uint64_t id,
                             emb_err *err);

/* Makes scores and types [n], of zeros. */
emb_status embi_notes_make_scores(struct embi_token_notes *notes, emb_err *err);
emb_status embi_notes_make_types(struct embi_token_notes *notes, emb_err *err);

#endif
