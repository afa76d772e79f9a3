/* ids.h - lists of row ids as they come in: text, JSON arrays, .npy, or bare little-endian
 * integers.
 *
 * Text: decimal ids separated by blanks or commas; one line is one sequence. JSON arrays, nested at
 * most once: the inner arrays are the sequences, and a flat array is one. Ids leave in chunks as
 * they arrive; memory does not grow with the input (but for a .npy file that comes through a pipe).
 * Items are counted from 1 over the whole input. Every id is below `rows`, or the reading ends with
 * exit 3.
 */
#ifndef EMBTOOL_IDS_H
#define EMBTOOL_IDS_H

#include "input.h"

/* How the ids that were read are cut into sequences. */
struct sequences {
    uint64_t n;              /* complete ones */
    uint64_t first, longest; /* lengths */
    uint64_t odd;            /* the first that is not as long as sequence 0, or 0 */
    uint64_t odd_length;
    uint64_t open;           /* ids so far in the one that has begun */
    bool keep;               /* all lengths are wanted */
    struct embi_buf lengths; /* u64 [n], if keep */
};

enum ids_kind { IDS_TEXT, IDS_NPY, IDS_BARE };

struct ids {
    struct run *run;
    uint64_t rows; /* V */
    struct input in;
    enum ids_kind kind;
    bool ended, paused; /* after ids_read */
    uint64_t items;     /* read so far */
    struct sequences sequences;

    emb_dtype bare; /* IDS_BARE: their type */

    emb_ids *npy; /* IDS_NPY */
    int ndim;
    uint64_t shape[3], left;

    int depth;   /* IDS_TEXT: open brackets */
    bool nested; /* the open array has arrays inside */
    int last;    /* what the last thing other than a blank was (ids_text.c) */
};

/* path: NULL or "-" is standard input. format: "i32", "i64", "u16", "u32", or NULL: text or .npy,
 * as the bytes say. keep: see struct sequences; an empty line then is an empty sequence. Returns 0,
 * or an exit code after the message; ids_close ends it in both cases. */
int ids_open(struct ids *ids, struct run *run, const char *path, const char *format, uint64_t rows,
             bool keep);
void ids_close(struct ids *ids);

/* Up to max ids into out; *n says how many. Sets `ended` when the last one was read, and `paused`
 * when the next call will have to wait for more: time to flush. lines, which may be NULL, gets the
 * sequence that each is in, counted from 0. */
int ids_read(struct ids *ids, uint64_t *out, uint64_t *lines, size_t max, size_t *n);

/* Sequences whose ids have all been read. */
uint64_t ids_complete(const struct ids *ids);

/* Are they lines of one id each, which together are one sequence? True as long as all were. */
bool ids_are_single(const struct ids *ids);

/* Length of sequence i, once all are read; only if `keep` was asked for. */
uint64_t ids_length(const struct ids *ids, uint64_t i);

/* For ids_text.c and ids.c: a failure, `[PATH: ]ids: ...` and exit 3. */
int ids_fail(struct ids *ids, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A sequence is complete. */
void ids_end_sequence(struct ids *ids);

/* Takes ids from the text in the buffer, until max are there or more text is needed. */
int ids_parse(struct ids *ids, uint64_t *out, uint64_t *lines, size_t max, size_t *n);

/* The text has ended: the last sequence is complete, and brackets must be closed. */
int ids_parse_end(struct ids *ids);

#endif
