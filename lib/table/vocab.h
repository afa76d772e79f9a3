/* vocab.h - the tokens of a table's rows, and the way from a token to its row. */
#ifndef EMBI_TABLE_VOCAB_H
#define EMBI_TABLE_VOCAB_H

#include "fmt/notes.h"
#include "io/io.h"
#include "util/buf.h"
#include "util/map.h"

/* Tokens that lie elsewhere, in a tokenizer beside the table, and are loaded when they are first
 * needed. What they are made of is known to who gives them. */
struct embi_vocab_source {
    void *state;
    bool owned; /* state is freed with the vocab */
    /* All tokens [n] by row, borrowed from state; called once. */
    emb_status (*load)(void *state, const emb_str **tokens, uint64_t *n, emb_err *err);
    /* Appends the text that a token stands for; false where tokens are their own text. */
    bool (*text)(const void *state, emb_str token, struct embi_buf *out);
    /* What is known of the tokens beside their names, after load. Optional. */
    emb_status (*notes)(const void *state, struct embi_token_notes *notes, emb_err *err);
    void (*free)(void *state);
};

struct embi_vocab {
    const emb_str *tokens; /* [total]; s NULL: the row has none */
    uint64_t n;            /* those that have a row */
    uint64_t total;        /* with those past the end of the table */
    bool loaded, indexed;
    struct embi_vocab_source source; /* load NULL: none */
    struct embi_buf text;            /* of the token that was last asked for */
    struct embi_map map;
    emb_str *owned;       /* tokens, if the vocab allocated them */
    struct embi_io *file; /* keeps the strings alive, or NULL */
};

/* One token a line: LF or CRLF ends, the last line may lack it; an empty line is a row without
 * token. */
emb_status embi_vocab_read_lines(struct embi_vocab *vocab, struct embi_io *file, emb_err *err);

/* Builds the map if it is not there; warns once about duplicates. */
emb_status embi_vocab_index(struct embi_vocab *vocab, const struct embi_env *env, const char *path,
                            emb_err *err);

void embi_vocab_free(struct embi_vocab *vocab);

#endif
