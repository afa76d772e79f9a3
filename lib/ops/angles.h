/* angles.h - rows of a block that are a function of position and column, in double precision.
 */
#ifndef EMBI_OPS_ANGLES_H
#define EMBI_OPS_ANGLES_H

#include "util/env.h"

enum { EMBI_ANGLES_TILE = 256 };

/* out [n] = columns column .. column+n-1 of the row of that position; n <= EMBI_ANGLES_TILE, column
 * a multiple of it. */
typedef void embi_angles_fn(const void *arg, uint64_t position, uint32_t column, size_t n,
                            double *out);

/* Fills block with the rows of positions first .. , each number rounded once, on all threads.
 * EMB_BAD_ARG: no float type, or positions of EMB_POSITION_MAX or more. */
emb_status embi_angles_fill(const struct embi_env *env, uint64_t first, emb_block *block,
                            embi_angles_fn *fn, const void *arg, emb_err *err);

/* Runs fn for rows 0 .. n-1 of d numbers each, in items that are worth a thread: item i has rows
 * i * *item_rows .. */
struct embi_row_items {
    uint64_t rows;
    uint64_t item_rows; /* set by embi_row_items_of */
    size_t n;
};
struct embi_row_items embi_row_items_of(uint64_t rows, uint32_t dims);

/* EMB_BAD_ARG: positions first .. first+n-1 are not all below EMB_POSITION_MAX. */
emb_status embi_positions_check(uint64_t first, uint64_t n, emb_err *err);

#endif
