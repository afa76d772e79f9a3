/* beside.h - tokens in a file of their own beside the table's, for formats that hold none.
 *
 * The file's name is that of the table with another ending: x.vocab.txt or x.vocab.json beside
 * x.safetensors, which says in its metadata that it is there, so that no other file of that name is
 * ever taken for it; x.metadata.tsv beside x.tsv, where the Embedding Projector wants it named by
 * hand.
 */
#ifndef EMBI_FMT_BESIDE_H
#define EMBI_FMT_BESIDE_H

#include "fmt/fmt.h"

/* One kind of such a file. */
struct embi_beside {
    const char *ending;                    /* in place of the table's extension: "vocab.txt" */
    bool unique;                           /* every token may be there once only */
    const char *(*refuses)(emb_str token); /* as in struct embi_format */
    emb_str breaks;
    /* Adds the token of a row (s NULL: it has none), `before` of which had one. */
    void (*add)(struct embi_buf *out, emb_str token, uint64_t row, uint64_t before);
    const char *begin, *end; /* what stands around them */
};

/* The key of safetensors metadata whose value is the ending. */
#define EMBI_BESIDE_KEY "emb_tokens"

/* One token a line, as a vocabulary of lines is read (an empty line is a row without a token); or a
 * JSON object from token to row, which holds any UTF-8, but no token twice. */
extern const struct embi_beside embi_beside_vocab[];
/* The labels of the Embedding Projector: one column, so without a heading. */
extern const struct embi_beside embi_beside_labels[];

/* The kind that a file's metadata speak of; NULL: none. */
const struct embi_beside *embi_beside_of(const struct embi_reader *r);

/* The path of the file beside `path`, malloc'd. */
emb_status embi_beside_path(const char *path, const char *ending, char **beside, emb_err *err);

/* Writes the whole file. tokens [n]; rows without a token at the end are left out. */
emb_status embi_beside_write(const struct embi_beside *kind, struct embi_io *io,
                             const emb_str *tokens, uint64_t n, emb_err *err);

#endif
