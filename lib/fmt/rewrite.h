/* rewrite.h - a file with one of its tables replaced by another number of rows, everything else in
 * it as it was.
 *
 * The caller (ops/) says what the rows are; what stands around them, and in which form a row with
 * its token is stored, is the format's business. Between begin and end the rows come in order:
 * `kept` for rows that are taken over as they stand in the file, `put` for others. Where a format
 * has no form of its own for a row (`kept` is NULL) all rows go through put, as numbers.
 */
#ifndef EMBI_FMT_REWRITE_H
#define EMBI_FMT_REWRITE_H

#include "fmt/sink.h"

struct embi_rewrite {
    struct embi_sink sink;           /* io: set by the caller, before begin */
    const struct embi_reader *r;     /* walked, with tokens where the format has them */
    const struct embi_tensor *table; /* NULL in formats with walk */
    const unsigned char *file;       /* the whole file */
    emb_array array;                 /* what is written: sink.arrays */
    const struct embi_rewriter *how;
};

/* What a format does differently from begin, put and end of its writer. */
struct embi_rewriter {
    const struct embi_format *format;
    emb_status (*begin)(struct embi_rewrite *w, emb_err *err);
    /* Rows first .. first+n-1 of the old file. Optional. */
    emb_status (*kept)(struct embi_rewrite *w, uint64_t first, uint64_t n, emb_err *err);
    emb_status (*end)(struct embi_rewrite *w, emb_err *err); /* optional */
};

extern const struct embi_rewriter embi_rewriter_npy, embi_rewriter_safetensors,
    embi_rewriter_word2vec, embi_rewriter_text;

/* Prepares to write `rows` rows in place of table `tensor` of r. EMB_UNSUPPORTED for a format that
 * cannot be rewritten. End with embi_rewrite_free, after failure too. */
emb_status embi_rewrite_init(struct embi_rewrite *w, const struct embi_reader *r, size_t tensor,
                             const struct embi_layout *layout, uint64_t rows, emb_err *err);
emb_status embi_rewrite_begin(struct embi_rewrite *w, emb_err *err);
/* n rows [n, d] of the table's type; tokens [n] where the format holds them. */
emb_status embi_rewrite_put(struct embi_rewrite *w, const void *rows, uint64_t n,
                            const emb_str *tokens, emb_err *err);
emb_status embi_rewrite_end(struct embi_rewrite *w, emb_err *err);
void embi_rewrite_free(struct embi_rewrite *w); /* sink.io stays the caller's */

/* Appends bytes off .. off+n-1 of the old file. */
emb_status embi_rewrite_copy(struct embi_rewrite *w, uint64_t off, uint64_t n, emb_err *err);

#endif
