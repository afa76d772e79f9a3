/* rows.h - the rows that a run of lookup asks for, in order: from its arguments, from lines that
 * hold a token each, or from lists of ids. All three are read in the same way, in chunks.
 */
#ifndef EMBTOOL_ROWS_H
#define EMBTOOL_ROWS_H

#include "ids.h"

/* Tags of the items that are no plain arguments. */
enum { ROW_ID = 1, ROW_TOKEN };

enum rows_kind { ROWS_ARGUMENTS, ROWS_WORDS, ROWS_IDS };

struct rows {
    struct run *run;
    const emb_table *table;
    emb_table_info info;
    enum rows_kind kind;
    bool ended, paused; /* after rows_read: see ids.h */
    bool keep;          /* what was asked: see ROW_UNKNOWN */
    int code;           /* EXIT_NO once a token was not found */

    struct embi_buf spans; /* ROWS_ARGUMENTS: struct span, next one at `at` */
    size_t at;
    uint64_t named;               /* ROWS_ARGUMENTS: rows in spans */
    struct embi_buf asked, words; /* keep: struct asked, next one at `asked_at`; their bytes */
    size_t asked_at;
    uint64_t told;   /* calls of rows_asked */
    struct input in; /* ROWS_WORDS */
    struct ids ids;  /* ROWS_IDS */
};

/* With `keep`, in the place of a row whose token is not in the vocabulary. */
#define ROW_UNKNOWN UINT64_MAX

/* Each returns 0, or an exit code after the message; rows_close ends it in any case. Tokens that
 * are not in the vocabulary are reported, and left out unless `keep`. */
int rows_of_arguments(struct rows *rows, struct run *run, const emb_table *table,
                      const emb_table_info *info, bool keep);
int rows_of_words(struct rows *rows, struct run *run, const emb_table *table,
                  const emb_table_info *info, const char *path, bool keep);
int rows_of_ids(struct rows *rows, struct run *run, const emb_table *table,
                const emb_table_info *info, const char *path, const char *format, bool keep);
void rows_close(struct rows *rows);

/* Up to max rows into out; *n says how many. lines: see ids_read; arguments and words are one
 * sequence. */
int rows_read(struct rows *rows, uint64_t *out, uint64_t *lines, size_t max, size_t *n);

/* With `keep`, called once for each row, in order, before more are read. True where what was asked
 * is neither the row's token nor its text: an unknown word, or another spelling. *word lives until
 * more are read. */
bool rows_asked(struct rows *rows, emb_str *word);

#endif
