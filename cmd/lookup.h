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

    bool input_layer, layer_norm;
    int positions; /* emb_positions */
    bool has_positions, has_start;
    uint64_t start;
    const char *type_ids, *scale;

    int pool; /* emb_pooling, or -1 */
    const char *weights;
    bool normalize;
};

/* Rows are asked for, and fetched, so many at a time. */
enum { LOOKUP_IDS = 1 << 16, LOOKUP_BLOCK_BYTES = 1 << 20 };

/* In the line of a row: --pad-id has put it there. */
#define LINE_PADDING (UINT64_C(1) << 63)

/* What --via matmul did so far. */
struct products {
    char *gathered; /* [block_rows, d] of the type fetched: what to compare with */
    double *wide;   /* [2, d]: a row of both */
    uint64_t rows, passes /* over the table */, minus_zeros /* that became 0 */;
};

/* What is made of rows before they are written, and what that needs beside the ids. */
struct inputs {
    emb_assembly *assembly; /* NULL: nothing */
    const emb_assembly_info *info;
    uint64_t line, next;  /* positions: the sequence that is counted, and its next one */
    uint64_t *positions;  /* [block_rows or LOOKUP_IDS, which is more] */
    uint64_t *types;      /* as many; NULL: all are 0 */
    struct ids type_list; /* where they come from */
    bool type_list_open;
};

/* The vector of the sequence that rows are coming in of. */
struct pool {
    double *sum;  /* [D]; NULL: there is no pooling */
    char *vector; /* [D] of what is written */
    uint64_t line, count;
    double *weights; /* [V], or NULL */
    double *of_rows; /* [block_rows], those of a block */
    /* Of a block that a device pools: the lines in it, at most block_rows. */
    uint64_t *ends, *counts; /* NULL: the CPU pools */
    double *sums;            /* [block_rows, D] */
};

struct lookup {
    struct run *run;
    const struct lookup_opts *opts;
    emb_table *table;
    emb_table_info info;
    struct rows rows;
    const char *format;
    uint32_t dims;      /* D, of what is written */
    emb_dtype made;     /* the type that rows are had in */
    emb_dtype dtype;    /* of what is written */
    uint64_t *ids;      /* [LOOKUP_IDS] scratch */
    uint64_t *lines;    /* [LOOKUP_IDS] the sequences of ids; NULL: nobody asks */
    size_t block_rows;  /* rows that fit into block */
    char *block;        /* [block_rows, D] of dtype */
    char *stored;       /* [block_rows, D] as made, or NULL: rows are fetched as dtype */
    uint64_t overflows; /* finite numbers that became infinite (or NaN) in dtype */
    uint64_t zero_rows, nonfinite_rows; /* that have no direction */
    struct progress progress;
    struct inputs inputs;
    struct pool pool;
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
 * lookup_input.c: positions, token types, all that a model does with rows
 */

/* Do the options go together? Returns 0, or exit 2 after the message. */
int lookup_check_input(struct run *run, const struct lookup_opts *o);

/* Opens what the options ask for, if they ask for anything; sets dims, made and inputs. */
int lookup_open_input(struct lookup *l);

/* Room for block_rows rows, and the file of token types. */
int lookup_begin_input(struct lookup *l);

/* n rows of these sequences into block, of whatever type it is. */
int lookup_make_input(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                      emb_block *block);

/* n <= LOOKUP_IDS of them into a writer, of what is called `name`. */
int lookup_put_input(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                     emb_writer *writer, const char *name);

/* All rows were made: no token type is left over. */
int lookup_end_input(struct lookup *l);
void lookup_close_input(struct lookup *l);

/* Do lines of one id each count as one sequence here? */
bool lookup_joins_lines(const struct lookup *l);

/* ------------------------------------------------------------------------------------------------
 * lookup_pool.c: one vector a sequence
 */

int lookup_check_pool(struct run *run, const struct lookup_opts *o);
int lookup_open_pool(struct lookup *l);
void lookup_close_pool(struct lookup *l);

/* Gets the vector [D] of dtype of sequence `line`, counted from 0, which has `count` rows. */
typedef int lookup_pooled_fn(void *arg, uint64_t line, uint64_t count, const char *vector);

/* Takes n rows in, of sequences lines [n], and hands out those that are complete, in order. */
int lookup_pool(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                lookup_pooled_fn *fn, void *arg);

/* Sequences that there are, once all ids were read. */
uint64_t lookup_pooled_count(const struct lookup *l);

/* ------------------------------------------------------------------------------------------------
 * lookup_make.c: from rows to vectors as they are written
 */

/* The type that rows are had in where nothing is made of them; that of what is written. */
emb_dtype lookup_plain_dtype(const struct lookup *l);
emb_dtype lookup_choose_dtype(const struct lookup *l);

/* Are they made by the CPU, as they are written? And: rows of the table and nothing else, each
 * number converted at most? */
bool lookup_is_direct(const struct lookup *l);
bool lookup_is_plain(const struct lookup *l);

/* Room for a block of them; sets block_rows. */
int lookup_make_room(struct lookup *l);

/* Of rows [n] that are made block by block the one at `at` is next: now and then those that follow
 * are asked for together, where they come from a server. */
int lookup_ahead(struct lookup *l, const uint64_t *rows, size_t at, size_t n);

/* Makes n <= block_rows rows, of sequences lines [n] (or NULL), into block. */
int lookup_make(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                emb_block *block);

/* Makes them, and has them in l->block as they are written. Returns 0, or an exit code after the
 * message, as all of these do. */
int lookup_fetch(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n);

/* n vectors of that type as they are written: scaled if that is asked for, rounded. */
int lookup_finish(struct lookup *l, const void *made, emb_dtype dtype, size_t n, char *out);

/* ------------------------------------------------------------------------------------------------
 * What is written
 */

/* Writes all rows as text or JSON, as they come. */
int lookup_text(struct lookup *l);

/* Writes all rows as an array. */
int lookup_array(struct lookup *l);

#endif
