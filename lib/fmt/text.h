/* text.h - what the parts of the text reader know of an open file. Only for text*.c.
 *
 * text.c looks at the file's beginning; three passes follow, each only when it is asked for:
 * text_walk.c finds the rows, text_tokens.c cuts off their tokens, text_rows.c parses their
 * numbers. A row that breaks the rules is reported by the pass that needs it, with its line (from
 * 1, the header counted) and its row (from 0). Files may be larger than 4 GiB.
 */
#ifndef EMBI_FMT_TEXT_H
#define EMBI_FMT_TEXT_H

#include "fmt/words.h"

/* embi_reader.state */
struct embi_text {
    bool header;
    uint64_t header_rows; /* with a header: the rows it promises */
    uint64_t body;        /* offset of the first row's line */
    uint64_t piece_bytes; /* of the file, that a thread takes at a time */
    const char *data;     /* the whole file; set by walk */
    /* [rows], in the block of row_offsets: bytes of the token of a row that has d fields behind it,
     * or EMBI_TEXT_UNCUT: the fields of its line are to be counted. Set by walk. */
    const uint32_t *cuts;
};

#define EMBI_TEXT_UNCUT UINT32_MAX

emb_status embi_text_walk(struct embi_reader *r, emb_err *err);
emb_status embi_text_tokens(struct embi_reader *r, emb_err *err);
emb_status embi_text_rows(const struct embi_reader *r, uint64_t first, uint64_t n, float *dst,
                          emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * A row that was found (text_walk.c)
 */

/* Its line, as it is and trimmed (embi_line_trim). */
emb_str embi_text_whole_line(const struct embi_reader *r, uint64_t row);
emb_str embi_text_line(const struct embi_reader *r, uint64_t row);

/* The number of its line, from 1. */
static inline uint64_t embi_text_line_number(const struct embi_text *t, uint64_t row)
{
    return row + 1 + t->header;
}

/* Puts the line and the row before the message. */
emb_status embi_text_fail_in(const struct embi_reader *r, uint64_t row, emb_err *err);

/* It has fewer values than the others. */
emb_status embi_text_too_few(const struct embi_reader *r, uint64_t row, size_t found, emb_err *err);

#endif
