/* spectrum.h - the parts of emb_spectrum_run, between the spectrum*.c files alone.
 *
 * spectrum_rows.c hands out the rows of a table as panels of f64 and measures them on the way;
 * spectrum.c makes singular values of the panels, by gram.h and the BLAS plugin, and figures of
 * both. docs/numerics.md states what is computed, in which order.
 */
#ifndef EMBI_OPS_SPECTRUM_H
#define EMBI_OPS_SPECTRUM_H

#include "table/table.h"

/* What some rows are, apart from their directions. */
struct embi_row_counts {
    uint64_t finite, zero; /* zero rows are finite too */
    double largest;        /* of their norms, or of their elements where squares leave f64 */
};

/* Rows of a table as f64, panel after panel. A row that is not finite becomes a row of zeros, which
 * no singular value sees. */
struct embi_panels {
    const emb_table *table;
    struct embi_pool *pool; /* NULL: the table is not worth threads */
    uint64_t rows;          /* V */
    uint32_t d;
    uint64_t panel_rows; /* of every panel but the last */
    bool transposed;     /* panels are [d, panel_rows] */
    double factor;       /* a power of two, by which elements are multiplied */

    double *panel;                  /* [panel_rows, d] */
    double *scratch;                /* [workers, EMBI_BLOCK_ROWS, d], if transposed */
    struct embi_row_counts *counts; /* [blocks of a panel] */
    double *units;                  /* [blocks of a panel, d]: sums of unit rows */
    uint64_t first, n;              /* the rows of the panel that is there */

    struct embi_row_counts all;
    double *unit_sum; /* [d]: of the rows so far that are not zero, each divided by its norm */
};

/* Bytes that embi_panels_begin will take; UINT64_MAX where that does not fit. */
uint64_t embi_panels_bytes(const struct embi_panels *p);

/* Back to the first row, with all figures zero. table, pool, rows, d, panel_rows (a multiple of
 * EMBI_BLOCK_ROWS, or V), transposed and factor are set before. What p holds is to be freed with
 * embi_panels_free, after a failure too. */
emb_status embi_panels_begin(struct embi_panels *p, emb_err *err);
void embi_panels_free(struct embi_panels *p);

/* The next panel: p->n rows from p->first on, at p->panel; none are left where p->n is 0. */
emb_status embi_panels_next(struct embi_panels *p, emb_err *err);

#endif
