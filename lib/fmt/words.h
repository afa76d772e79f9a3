/* words.h - what the word-vector formats share: the header line "V D", and lines cut into fields.
 *
 * Only for word2vec*.c and text*.c. Fields are separated by blanks: 0x20 or a tab, nothing else (no
 * other kind of white space, in whatever encoding). Of a line of a table with d dims the last d
 * fields are numbers and all before them is the token, without the one blank that ends it; so a
 * token may hold blanks, begin and end with them, and even be one.
 */
#ifndef EMBI_FMT_WORDS_H
#define EMBI_FMT_WORDS_H

#include "fmt/fmt.h"

/* A word of a binary file and the space after it take at most this many bytes. */
#define EMBI_WORD_MAX 4096

static inline bool embi_words_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The first line of a word2vec file. */
struct embi_words_header {
    uint64_t rows, dims;
    size_t bytes; /* of the line, its LF (where there is one) included */
};

/* Reads line 1 of s[0, n): two whole numbers, blanks around them, then LF, CR LF or the end. False
 * where it is something else. A number that does not fit 64 bits is read as UINT64_MAX. */
bool embi_words_header(const char *s, size_t n, struct embi_words_header *h);

/* EMB_BAD_DATA for 0 rows, 0 dims, or more dims than fit 32 bits. */
emb_status embi_words_header_check(const struct embi_words_header *h, emb_err *err);

/* Bytes of the line that s[0, n) begins with, up to its LF or the end. */
size_t embi_line_bytes(const char *s, size_t n);

/* n without the CR that ends the line s[0, n), and without the blanks before it. */
size_t embi_line_trim(const char *s, size_t n);

/* For trimmed lines: how many fields have a blank before them (one less than all of them, unless
 * the line begins with a blank). */
size_t embi_line_fields(const char *s, size_t n);

/* The line without its first `fields` fields and the blanks behind each, which are there. */
size_t embi_line_skip(const char *s, size_t n, uint64_t fields);

/* For trimmed lines: the first of the last `dims` fields, which has a blank before it. NULL where
 * there are too few; *found is embi_line_fields in any case. */
const char *embi_line_values(const char *s, size_t n, uint32_t dims, size_t *found);

/* For trimmed lines: how many of the last fields are numbers and have a blank before them. */
size_t embi_line_numbers(const char *s, size_t n);

/* Writing: word2vec, word2vec-text and text. This is embi_sink.state. */
struct embi_words_sink {
    uint64_t rows;        /* put so far */
    bool late;            /* V was not known in begin: its place in the header is kept */
    bool bare;            /* there is no header */
    bool guarded;         /* so readers find d in the first lines, if blanks separate */
    unsigned seen, plain; /* guarded: of those lines, and how many of them show d */
};

/* Lines from which a reader of bare text finds d, and the fewest it looks at where there are
 * more. */
enum { EMBI_WORDS_SAMPLE = 64, EMBI_WORDS_SAMPLE_MIN = 4 };

emb_status embi_words_check(const struct embi_sink *s, emb_err *err);
/* Makes the state; the second writes the header line too. */
emb_status embi_words_begin(struct embi_sink *s, emb_err *err);
emb_status embi_words_begin_header(struct embi_sink *s, emb_err *err);
/* Puts the row count into the header, if it came late. */
emb_status embi_words_finish(struct embi_sink *s, emb_err *err);

/* The `refuses` of the formats, and what none of them can carry: no token, or an empty one. */
const char *embi_words_refuses(emb_str token);
const char *embi_text_refuses(emb_str token);
const char *embi_word2vec_refuses(emb_str token);
/* EMB_BAD_DATA where the format cannot hold this token. */
emb_status embi_words_token(const struct embi_sink *s, emb_str token, uint64_t row, emb_err *err);

/* Bare text: EMB_BAD_DATA where the next row, as the line s[0, n), or all rows there are, would be
 * read back with another d, or the first as a header. */
emb_status embi_text_guard(struct embi_sink *sink, const char *s, size_t n, emb_err *err);
emb_status embi_text_guard_end(struct embi_sink *sink, emb_err *err);

/* word2vec_write.c and text_write.c, for the format structs. */
emb_status embi_word2vec_check(const struct embi_sink *s, emb_err *err);
emb_status embi_word2vec_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                             const emb_str *tokens, emb_err *err);
emb_status embi_text_begin(struct embi_sink *s, emb_err *err);
emb_status embi_text_finish(struct embi_sink *s, emb_err *err);
emb_status embi_text_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                         const emb_str *tokens, emb_err *err);

#endif
