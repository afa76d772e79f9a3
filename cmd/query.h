/* query.h - what a run of similar asks: queries from its arguments, from lines, from a file of
 * vectors, or from the table itself. All four are read in the same way, in batches.
 *
 * A query that cannot be answered is reported on stderr when it is read, and stays in its place so
 * that JSON and arrays can say so; the others go on.
 */
#ifndef EMBTOOL_QUERY_H
#define EMBTOOL_QUERY_H

#include "input.h"
#include "util/buf.h"

/* Tags of the items that are no plain arguments. */
enum { QUERY_ID = 1, QUERY_TOKEN, QUERY_EXPR, QUERY_ANALOGY };

/* weight * (row of the table) */
struct term {
    uint64_t row;
    double weight;
};

struct query {
    struct embi_buf label; /* what was asked, as it is printed */
    struct embi_buf terms; /* struct term [n]; none: row `row` of the file of vectors */
    uint64_t row;
    bool is_row;             /* one row was asked for: its id and piece say something */
    int code;                /* EXIT_NO or EXIT_DATA: it cannot be answered, and stderr says so */
    struct embi_buf error;   /* why, if EXIT_DATA */
    struct embi_buf unknown; /* the token that is not in the vocabulary, if that is why */
};

size_t query_count(const struct query *q);
struct term query_term(const struct query *q, size_t i);
void query_free(struct query *q);

/* It cannot be answered: said on stderr as `embtool: similar: ...`, and kept. */
void query_reject(struct run *run, struct query *q, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum queries_kind { QUERIES_ARGUMENTS, QUERIES_LINES, QUERIES_VECTORS, QUERIES_TABLE };

struct queries {
    struct run *run;
    const emb_table *table;
    const emb_table_info *info;
    enum queries_kind kind;
    bool pairs;         /* QUERIES_LINES: a line is two queries, with a tab between */
    bool ended, paused; /* after queries_read: none follows; the next ones must be waited for */
    uint64_t total;     /* how many there are; EMB_ROWS_UNKNOWN for lines */

    size_t item;  /* QUERIES_ARGUMENTS: the next one ... */
    bool in_span; /* ... or the next row of an --id range: first .. last */
    uint64_t first, last;
    uint64_t next;      /* QUERIES_TABLE, QUERIES_VECTORS: the next row */
    struct input in;    /* QUERIES_LINES */
    uint64_t line;      /* lines read */
    int failed;         /* exit code that ends the run, once what was read before is answered */
    emb_table *vectors; /* QUERIES_VECTORS */
    emb_table_info vectors_info;
};

/* Are the items well formed, as far as that can be seen without a table? Exit 2 if not. */
int queries_check(struct run *run);

/* path: the file of QUERIES_VECTORS or QUERIES_LINES (NULL: standard input). Returns 0, or an exit
 * code after the message; queries_close ends it in any case. */
int queries_open(struct queries *s, struct run *run, const emb_table *table,
                 const emb_table_info *info, enum queries_kind kind, const char *path);
void queries_close(struct queries *s);

/* Up to max queries (2 or more, even for pairs) into q [max], whose buffers are used again; *n says
 * how many. */
int queries_read(struct queries *s, struct query *q, size_t max, size_t *n);

/* The row of `#ID` or of a token. Returns 0 with q->code set where there is none, or an exit code
 * that ends the run. `place` names it in messages. */
int query_resolve(struct queries *s, struct query *q, const char *place, emb_str word,
                  bool is_token, uint64_t *row);

#endif
