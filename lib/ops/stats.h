/* stats.h - the parts of emb_stats_run, between the stats_*.c files alone.
 *
 * One idea a file: figures of a row (stats_row.c), of columns (stats_columns.c), quantiles
 * (stats_quantile.c), equal rows (stats_duplicates.c), the walk over the table (stats_walk.c), and
 * in stats.c what is made of it. docs/numerics.md states what is computed, in which order.
 */
#ifndef EMBI_OPS_STATS_H
#define EMBI_OPS_STATS_H

#include "table/table.h"

/* Of two numbers; a where they are equal, or where b is NaN. */
static inline double embi_lower(double a, double b)
{
    return b < a ? b : a;
}

static inline double embi_higher(double a, double b)
{
    return b > a ? b : a;
}

/* Count, mean and sum of squared differences from the mean: what can be joined without loss. */
struct embi_moments {
    uint64_t n;
    double mean, m2;
};

/* *a = the moments of both. T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a
 * pairwise algorithm for computing sample variances" (1979). */
void embi_moments_join(struct embi_moments *a, const struct embi_moments *b);

/* Figures of one row. Only `finite` is set where the row holds a NaN or an infinity. */
struct embi_row {
    bool finite;
    struct embi_moments moments;
    double norm; /* 0 only where every element is zero */
    double min, max;
};

/* The figures of a row of f32, f16 or bf16 from its sums. False: the sum of squared differences is
 * lost in rounding, and embi_row_deviate has to find it. */
bool embi_row_from_sums(const struct embi_row_sums *sums, uint32_t d, struct embi_row *row);
/* x: the elements of the row, at any address. */
void embi_row_deviate(const float *x, uint32_t d, struct embi_row *row);
/* f64 rows, aligned. Norms are right where squares overflow or underflow. */
void embi_row_f64(const double *x, uint32_t d, struct embi_row *row);

/* Per-column moments of some rows, all [d]. */
struct embi_columns {
    uint64_t n; /* finite rows */
    double *mean, *m2, *min, *max;
};

/* Sums of the rows since the last embi_columns_flush, about the first of them, all [d]. */
struct embi_column_sums {
    uint64_t n;
    double *about, *sum, *square;
};

/* Empty columns. */
void embi_columns_clear(struct embi_columns *columns, uint32_t d);
/* One finite row [d] more; flush at least every EMBI_BLOCK_ROWS rows. */
void embi_columns_add(struct embi_columns *columns, struct embi_column_sums *sums,
                      const double *row, uint32_t d);
void embi_columns_flush(struct embi_columns *columns, struct embi_column_sums *sums, uint32_t d);
/* *a = the columns of both. */
void embi_columns_join(struct embi_columns *a, const struct embi_columns *b, uint32_t d);

/* What an item of the loop finds. */
struct embi_item {
    struct embi_moments moments;
    double min, max;
    struct embi_columns columns;
};

struct embi_scratch;

/* The walk over a table and what it finds: partial results, and norms and hashes by row. */
struct embi_walk {
    const emb_table *table;
    const struct embi_kern *kern;
    uint64_t rows, item_rows;
    size_t items, workers, row_bytes;
    uint32_t d;
    emb_dtype dtype;
    bool direct, columns;
    bool is_wide; /* rows that f32 cannot hold exactly */
    bool narrow;  /* rows are widened to f32 before they are summed */
    void (*figures)(const void *row, uint32_t d, struct embi_row_sums *sums);
    double *norms;                /* [V]; NaN: a row that is not finite */
    uint64_t *hashes;             /* [V] */
    struct embi_item *item;       /* [items] */
    double *column_memory;        /* [items, 4, d] */
    struct embi_scratch *scratch; /* [workers] */
};

/* Walks over the table. What w holds is to be freed with embi_walk_free, after a failure too. */
emb_status embi_walk_run(struct embi_walk *w, const emb_table *table, bool columns, emb_err *err);
void embi_walk_free(struct embi_walk *w);

/* n zeroed elements (at least one), or NULL with *err filled. */
void *embi_zeroed(uint64_t n, uint64_t size, const char *what, emb_err *err);

/* The quantiles q[i] of x [n], n >= 1, as numpy's default method gives them. No x is NaN or
 * negative. room [room_n] is scratch: with n / 8 it is fast, and 0 will do. */
void embi_quantiles(const double *x, uint64_t n, const double *q, double *out, size_t n_q,
                    double *room, uint64_t room_n);

/* Rows whose bytes equal those of an earlier row, found through hashes [V] and then compared. Their
 * number, and if `list` is not NULL their row numbers in order, malloc'd (NULL where there are
 * none). */
emb_status embi_duplicates(const emb_table *table, const uint64_t *hashes, uint64_t *count,
                           uint64_t **list, emb_err *err);

#endif
