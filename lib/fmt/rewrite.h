/* rewrite.h - a file with tables of it replaced by other numbers of rows, everything else in it as
 * it was.
 *
 * The caller (ops/) says what the rows are; what stands around them, and in which form a row with
 * its token is stored, is the format's business. Between begin and end the rows come in order, and
 * with several tables (formats of named tensors) one table after another, as they lie in the file,
 * embi_rewrite_next between them: `kept` for rows that are taken over as they stand in the file,
 * `put` for others. Where a format has no form of its own for a row (`kept` is NULL) all rows go
 * through put, as numbers.
 */
#ifndef EMBI_FMT_REWRITE_H
#define EMBI_FMT_REWRITE_H

#include "fmt/sink.h"

/* One table to be replaced: entries along `axis` become `length`. Axes before it are of length
 * 1. */
struct embi_rewrite_part {
    const struct embi_tensor *table;
    int axis;
    uint64_t length;
    uint64_t entry_bytes; /* of one entry along the axis; set by embi_rewrite_init_parts */
};

struct embi_rewrite {
    struct embi_sink sink;           /* io: set by the caller, before begin */
    const struct embi_reader *r;     /* walked, with tokens where the format has them */
    struct embi_rewrite_part *parts; /* [n_parts] as they lie in the file; none in formats with
                                        walk */
    size_t n_parts, current;
    struct embi_rewrite_part one; /* `parts` of a file with one table to be replaced */
    const unsigned char *file;    /* the whole file */
    emb_array array;              /* of the only table: sink.arrays */
    uint64_t row_bytes;           /* of an entry of the current table, as put */
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

/* EMB_UNSUPPORTED where tables of that format and type cannot be rewritten. */
emb_status embi_rewrite_allowed(const struct embi_format *format, emb_dtype dtype, emb_err *err);

/* Prepares to write `rows` rows in place of table `tensor` of r. EMB_UNSUPPORTED for a format that
 * cannot be rewritten. End with embi_rewrite_free, after failure too. */
emb_status embi_rewrite_init(struct embi_rewrite *w, const struct embi_reader *r, size_t tensor,
                             const struct embi_layout *layout, uint64_t rows, emb_err *err);

/* The same for several tensors of a safetensors file; parts [n] are sorted, and stay the
 * caller's. */
emb_status embi_rewrite_init_parts(struct embi_rewrite *w, const struct embi_reader *r,
                                   struct embi_rewrite_part *parts, size_t n, emb_err *err);

/* The size that the new file will have, or a little less: only the length of the header is open. */
uint64_t embi_rewrite_size(const struct embi_rewrite *w);

emb_status embi_rewrite_begin(struct embi_rewrite *w, emb_err *err);
/* The rows of one table are complete: those of the next part follow. */
emb_status embi_rewrite_next(struct embi_rewrite *w, emb_err *err);
/* n rows [n, d] of the table's type; tokens [n] where the format holds them. */
emb_status embi_rewrite_put(struct embi_rewrite *w, const void *rows, uint64_t n,
                            const emb_str *tokens, emb_err *err);
emb_status embi_rewrite_end(struct embi_rewrite *w, emb_err *err);
void embi_rewrite_free(struct embi_rewrite *w); /* sink.io stays the caller's */

/* Appends bytes off .. off+n-1 of the old file. */
emb_status embi_rewrite_copy(struct embi_rewrite *w, uint64_t off, uint64_t n, emb_err *err);

static inline uint64_t embi_part_end(const struct embi_rewrite_part *part)
{
    return part->table->offset + part->table->bytes;
}

#endif
