/* lookup.h - what the files of the lookup command share. Nobody else includes it.
 */
#ifndef EMBTOOL_LOOKUP_H
#define EMBTOOL_LOOKUP_H

#include "progress.h"
#include "rows.h"

enum via { VIA_GATHER, VIA_MATMUL };
enum label { LABEL_TOKEN, LABEL_ID, LABEL_NONE };

struct lookup_opts {
    struct common common;
    const char *input, *ids_format, *tokens_file;
    bool tokens, ragged, has_pad_id;
    uint64_t pad_id;
    int label; /* enum label, or -1: by what the table has */
    int via;   /* enum via */
};

/* Rows are asked for, and fetched, so many at a time. */
enum { LOOKUP_IDS = 1 << 16, LOOKUP_BLOCK_BYTES = 1 << 20 };

/* What --via matmul did so far. */
struct products {
    char *gathered; /* [block_rows, d] of the type fetched: what to compare with */
    double *wide;   /* [2, d]: a row of both */
    uint64_t rows, passes /* over the table */, minus_zeros /* that became 0 */;
};

struct lookup {
    struct run *run;
    const struct lookup_opts *opts;
    emb_table *table;
    emb_table_info info;
    struct rows rows;
    const char *format;
    emb_dtype dtype;    /* of what is written */
    uint64_t *ids;      /* [LOOKUP_IDS] scratch */
    size_t block_rows;  /* rows that fit into block */
    char *block;        /* [block_rows, d] of dtype */
    char *stored;       /* [block_rows, d] as stored, or NULL: rows are fetched as dtype */
    uint64_t overflows; /* finite numbers that became infinite (or NaN) in dtype */
    struct progress progress;
    struct products products;
};

/* ------------------------------------------------------------------------------------------------
 * lookup_matmul.c: rows as one-hot x table
 */

/* n rows into block, as emb_table_gather does; compared with what that gives. Returns 0, or an exit
 * code after the message. */
int lookup_multiply(struct lookup *l, const uint64_t *rows, size_t n, emb_block *block);

/* Says what the products took, unless -q. */
void lookup_report_products(const struct lookup *l);
void lookup_free_products(struct lookup *l);

/* ------------------------------------------------------------------------------------------------
 * The rest
 */

/* Fetches n <= block_rows rows into l->block. Returns 0, or an exit code after the message. */
int lookup_fetch(struct lookup *l, const uint64_t *rows, size_t n);

/* Writes all rows as text or JSON, as they come. */
int lookup_text(struct lookup *l);

/* Writes all rows as an array. */
int lookup_array(struct lookup *l);

#endif
