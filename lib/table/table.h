/* table.h - the inside of emb_ctx and emb_table, for table/, model/ and ops/.
 *
 * A table is a reader plus the layout of one of its tensors plus tokens. Rows are reached in one of
 * two ways: as pointers into the mapped file (embi_view), or converted into scratch (embi_fetch).
 */
#ifndef EMBI_TABLE_TABLE_H
#define EMBI_TABLE_TABLE_H

#include "fmt/fmt.h"
#include "io/place.h"
#include "num/kern.h"
#include "table/vocab.h"
#include "util/env.h"

struct emb_ctx {
    struct embi_env env;
    emb_device *device; /* or NULL */
    struct embi_places places;
    /* What env borrows, each malloc'd or NULL. */
    char *cache_dir, *netrc;
    struct embi_s3 s3;
    char *temp_dir, *ca_file, *hub_cache, *hub_endpoint, *hub_token, *hub_token_file;
};

/* The model that a table is a part of: freed after the table's reader. Only model/ looks inside. */
struct embi_owner {
    void *state; /* NULL: none */
    void (*free)(void *state);
};

struct emb_table {
    const struct embi_env *env;
    struct embi_reader *reader;
    char *path;    /* as given, without #tensor */
    char *tensor;  /* its name, or NULL */
    bool laid_out; /* layout is complete (walked, limited) */
    uint64_t limit_rows;
    int ndim; /* as stored; 0: rows of text */
    uint64_t shape[EMB_TENSOR_DIMS];
    struct embi_layout layout;
    struct embi_io *io;       /* where the rows are; of the reader */
    bool own_tokens;          /* the file has tokens for these rows */
    const unsigned char *map; /* all of io, once the layout is complete */
    float *decoded;           /* text tables that are scanned more than once: [V, d], or NULL */
    bool scanned;
    struct embi_vocab vocab;
    struct embi_owner model;
    struct embi_on_device *on_device; /* what a device has of it (table/device.h), or NULL */
};

/* Rows per block of every scan: the unit of threads and of partial sums, whatever the machine. */
#define EMBI_BLOCK_ROWS 256

/* Makes layout complete; every function below, and every public one, begins with it or with the
 * next. A table is logically const: what is found out later does not change what it is. */
emb_status embi_table_lay_out(const emb_table *table, emb_err *err);

/* The same, and all rows are at hand, also where they come from a server. */
emb_status embi_table_ready(const emb_table *table, emb_err *err);

/* The same with these rows alone. */
emb_status embi_table_ready_rows(const emb_table *table, const uint64_t *rows, size_t n,
                                 emb_err *err);

/* Can rows be used where they lie: mapped, native order, contiguous elements or blocks? */
bool embi_table_direct(const emb_table *table);

/* Do they also lie equally far apart, so that an emb_block can say where they are? A stride of 0,
 * as an expanded tensor has, means something else there. */
bool embi_table_even(const emb_table *table);

/* Address of a row of a direct table. */
const void *embi_table_row(const emb_table *table, uint64_t row);

/* Asks for a row that will be read soon, some EMBI_ROWS_AHEAD rows later, of a table whose rows can
 * be used in place: the memory is far away. */
#define EMBI_ROWS_AHEAD 4
void embi_table_ask_row(const emb_table *table, uint64_t row);

/* What emb_table_gather asks of its arguments; makes the table ready. */
emb_status embi_gather_check(const emb_table *table, const uint64_t *rows, size_t n,
                             const emb_block *dst, emb_err *err);

/* A pass that does not come back to rows first .. lets what was mapped of them go, so that a large
 * table takes no memory. Nothing happens to tables whose rows are not mapped. */
void embi_table_forget(const emb_table *table, uint64_t first, uint64_t n);

/* Rows first .. first+n-1 as dst [n, d] of type `as` (any float type, or the stored one, or a block
 * type that numbers can be put into), for any table. Thread-safe. */
emb_status embi_fetch(const emb_table *table, uint64_t first, uint64_t n, emb_dtype as, void *dst,
                      emb_err *err);

/* One row, anywhere, as f64 [d]. Thread-safe. */
emb_status embi_fetch_row_f64(const emb_table *table, uint64_t row, double *dst, emb_err *err);

/* A text table that will be scanned again is parsed into memory once. Call before a scan from one
 * thread: the second call does it. */
emb_status embi_table_will_scan(const emb_table *table, emb_err *err);

/* Takes over the reader; picks tensor i (or the walked table, if the reader has no tensors). */
emb_status embi_table_new(const emb_ctx *ctx, struct embi_reader *reader, size_t tensor,
                          uint64_t limit_rows, emb_table **table, emb_err *err);

/* Takes tokens from a source, in place of those of the file; the source is freed with the table if
 * it says so. */
void embi_table_use_source(emb_table *table, const struct embi_vocab_source *source);

/* The vocabulary with tokens filled in (loads them on first use). n == 0: the table has none. */
emb_status embi_table_vocab(const emb_table *table, const struct embi_vocab **vocab, emb_err *err);

#endif
