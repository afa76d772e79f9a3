/* resize.h - what the parts of a resize share: options made whole, and the values of new rows.
 *
 * rowplan.c says which row goes where, fill.c and covariance.c what new rows hold, resize.c writes.
 */
#ifndef EMBI_OPS_RESIZE_H
#define EMBI_OPS_RESIZE_H

#include "table/table.h"

/* Streams of random numbers (emb_init_opts.stream): not those of tables that init makes. Each table
 * of a model has its own, EMBI_STREAMS after those of the table before. */
enum { EMBI_STREAM_NORMAL = 0x72650001, EMBI_STREAM_COVARIANCE = 0x72650002, EMBI_STREAMS = 2 };

/* The options with every member there is. */
emb_resize_opts embi_resize_opts(const emb_resize_opts *opts);

/* Is the new table the old one? */
bool embi_resize_changes_nothing(const emb_resize *plan);

/* New rows are made in steps of at most this many: the sums of a covariance take 8 bytes * d each.
 */
uint64_t embi_fill_step(uint32_t dims);

/* The rows that each new row is made of (EMB_FILL_PIECES), by its number among the new ones; none:
 * the mean row. */
struct embi_made_of {
    uint64_t *rows;   /* [ends[n - 1]] those of one new row after those of another */
    size_t *ends;     /* [n] */
    size_t n;         /* all new rows */
    size_t cap;       /* of rows */
    bool any_without; /* some new row is made of none */
};

struct embi_fill {
    emb_ctx *ctx;
    const emb_table *table;
    const emb_resize *plan;
    emb_resize_opts o;
    const struct embi_made_of *made_of; /* EMB_FILL_PIECES; else NULL */
    const struct embi_vocab *owners;    /* of the rows that make the mean; NULL: all */
    emb_dtype dtype;
    uint32_t d;
    size_t row_bytes;
    double *mean;    /* [d], or NULL: not needed */
    uint64_t n;      /* rows in the mean */
    uint32_t number; /* which table of a model it is: 0, or set after embi_fill_begin */
    void *same;      /* [d] of dtype: what new rows hold that have nothing of their own, or NULL */
    double *sums;    /* [step, d]: EMB_FILL_COVARIANCE */
};

/* EMB_BAD_ARG, EMB_NOT_FOUND: the new rows of this plan cannot be made so. */
emb_status embi_fill_check(const emb_table *table, const emb_resize *plan, const emb_resize_opts *o,
                           emb_err *err);

/* Reads the table where that is needed. End with embi_fill_end, after failure too. EMB_BAD_ARG:
 * EMB_FILL_PIECES without made_of, which may be NULL for the others. */
emb_status embi_fill_begin(struct embi_fill *f, emb_ctx *ctx, const emb_table *table,
                           const emb_resize *plan, const emb_resize_opts *opts,
                           const struct embi_made_of *made_of, emb_err *err);
void embi_fill_end(struct embi_fill *f);

/* dst [n, d] of dtype = the new rows first .. first + n - 1, all EMB_ROW_NEW, n at most
 * embi_fill_step; `nth` of the new rows are before them. */
emb_status embi_fill_rows(const struct embi_fill *f, uint64_t first, uint64_t n, uint64_t nth,
                          void *dst, emb_err *err);

/* f->sums [n, d] = rows of the covariance fill, numbers first .. of the new table. One pass over
 * the table. */
emb_status embi_fill_covariance(const struct embi_fill *f, uint64_t first, uint64_t n,
                                emb_err *err);

#endif
