/* vocab.h - the tokens of a table's rows, and the way from a token to its row. */
#ifndef EMBI_TABLE_VOCAB_H
#define EMBI_TABLE_VOCAB_H

#include "io/io.h"
#include "util/map.h"

struct embi_vocab {
    const emb_str *tokens; /* [n]; s NULL: the row has none */
    uint64_t n;
    bool loaded, indexed;
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
