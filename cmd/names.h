/* names.h - from what users call a row (an id, a range of ids, a token) to its number.
 */
#ifndef EMBTOOL_NAMES_H
#define EMBTOOL_NAMES_H

#include "cmd.h"

enum id_text {
    ID_OK,
    ID_OUTSIDE, /* a whole number, but not in 0..rows-1 */
    ID_NONE     /* not a whole number in decimal digits */
};

/* Reads the n bytes at s as an id below `rows`. */
enum id_text id_read(const char *s, size_t n, uint64_t rows, uint64_t *id);

/* "0..3", or "a table of no rows". Returns out. */
#define RANGE_MAX 48
const char *id_range(char out[RANGE_MAX], uint64_t rows);

/* "7" or "0..99" as first and last; both below `rows`, first <= last. Returns 0, or an exit code
 * after the message: 2 for what is no range, 3 for ids outside. */
int id_span(struct run *run, const char *text, uint64_t rows, uint64_t *first, uint64_t *last);

/* The first bytes of a word for a message, NUL as \x00, which would end it. Returns out. */
#define WORD_MAX 120
const char *word_show(char out[WORD_MAX], const char *s, size_t n);

/* The row of a word as users type it (emb_table_resolve). If another spelling answers, a note says
 * which; with --strict none may. EXIT_NO, after a line with close spellings, where the vocabulary
 * does not have it. */
int find_token(struct run *run, const emb_table *table, emb_str word, uint64_t *row);

/* Is the word the token of the row itself, or the text that this stands for? */
bool row_is_spelt(const emb_table *table, uint64_t row, emb_str word);

/* Are tokens to be printed as the text they stand for? --pieces says so; else they are where people
 * look on. */
bool shows_text(const struct run *run);

/* The token of a row, or the text that it stands for, which lives until the next call. False for a
 * row without a token. */
bool row_token(const emb_table *table, uint64_t row, bool text, emb_str *token);

/* Loads the table's tokens, which can fail, before anything of them is printed. Returns 0, or an
 * exit code after the message. */
int load_tokens(struct run *run, const emb_table *table, const emb_table_info *info);

#endif
