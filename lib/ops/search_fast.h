/* search_fast.h - what the two files of the fast way of search share: a pass over the table
 * (search_fast.c) and a piece of rows in it (search_piece.c).
 */
#ifndef EMBI_OPS_SEARCH_FAST_H
#define EMBI_OPS_SEARCH_FAST_H

#include "ops/interval.h"
#include "ops/search.h"

/* Queries that are multiplied with rows one by one, not as lanes of panels (num/kern.h). */
#define EMBI_MOST_SINGLE EMBI_FEW_QUERIES

/* Panels of the most queries in a pass. */
#define EMBI_MOST_PANELS (EMBI_MOST_BATCH / 16)

/* What a worker needs for a piece of at most EMBI_BLOCK_ROWS rows, of which n may answer. */
struct embi_worker {
    const void *rows[EMBI_BLOCK_ROWS];
    uint64_t ids[EMBI_BLOCK_ROWS];
    size_t n;
    float norm2[EMBI_BLOCK_ROWS];
    float u[EMBI_BLOCK_ROWS], w[EMBI_BLOCK_ROWS]; /* of the rows: interval.h */
    float *a, *c;                                 /* [singles + lanes of panels], of queries */
    float *dots;     /* [singles or 1, EMBI_BLOCK_ROWS]                                       */
    float *products; /* by panels [rows of the piece, lanes]; by BLAS [queries, rows]         */
    float *block;    /* [piece_rows, d], where rows are not used in place                     */
    double *wide;    /* [piece_rows, d], with a center; else [1, d]                           */
    struct embi_candidates *candidates; /* [queries]                     */
    struct embi_candidate *lists;       /* [queries, cap]                */
    uint64_t nonfinite;
};

typedef void embi_dot_fn(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                         float *norm2);
typedef void embi_products_fn(const void *const *rows, size_t n, uint32_t d, const float *q,
                              size_t queries, const void *next, float *out, size_t ld,
                              float *norm2);

/* One pass over the table. The first `singles` queries are multiplied one by one, those that
 * follow, if any, are in panels; BLAS multiplies all. With bf16 all are in panels. */
struct embi_pass {
    struct embi_search *s;
    struct embi_queries queries;
    size_t singles, panels;
    float *units;  /* [queries, d]: queries scaled to length 1, negated for the farthest */
    float *packed; /* [panels][d][EMBI_PANEL], of pairs [panels][d / 2][EMBI_PANEL]      */
    embi_dot_fn *dot;
    embi_products_fn *products;
    const struct embi_bf16_kern *bf16; /* multiplies all queries, packed as pairs; or NULL */
    bool in_place;                     /* rows are used where they lie             */
    struct embi_measure measure;
    size_t cap;
    uint64_t piece_rows, item_rows; /* item_rows: a multiple of EMBI_BLOCK_ROWS */
    struct embi_worker *workers;    /* [n_workers] */
    int n_workers;
    emb_hit *hits;  /* [.., k], by the numbers of the queries */
    size_t *counts; /* [..], by the same   */
    bool *done;     /* [queries]           */
};

/* Few queries are multiplied one by one; of many, those that would leave most of a panel empty. */
void embi_plan_queries(size_t n, size_t *singles, size_t *panels);

/* Rows that several queries share while they are in L2, of row_bytes in f32. */
uint64_t embi_piece_rows(size_t panels, uint64_t row_bytes);

/* Where rows end .. last-1, those of the next piece, lie, to be asked for while this one is
 * multiplied. NULL: there are none, or it is not known. */
const void *embi_next_rows(const emb_table *table, uint64_t end, uint64_t last, size_t *bytes);

/* Puts the rows first .. end-1 (at most piece_rows) among the worker's candidates. */
emb_status embi_piece_scan(const struct embi_pass *p, struct embi_worker *w, uint64_t first,
                           uint64_t end, emb_err *err);

/* A row as a candidate of the query, by its product with it; and of all queries, by its canonical
 * scores, where the norm in f32 tells nothing. */
void embi_piece_put(const struct embi_pass *p, struct embi_worker *w, size_t query, uint64_t row,
                    float dot, float norm2);
emb_status embi_piece_score(const struct embi_pass *p, struct embi_worker *w, uint64_t row,
                            emb_err *err);

/* search_device.c: the candidates of all queries, found by the device, become those of the first
 * worker. */
emb_status embi_search_on_device(const struct embi_pass *p, emb_err *err);

/* The bound g of a device's products of such rows with n queries, and whether tensor cores are to
 * multiply. */
double embi_device_bound(emb_dtype dtype, uint32_t d, size_t n, bool *matrix);

#endif
