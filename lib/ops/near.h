/* near.h - rows of a table that are nearly given vectors, and vectors that are nearly each
 * other. */
#ifndef EMBI_OPS_NEAR_H
#define EMBI_OPS_NEAR_H

#include "table/table.h"

#define EMBI_NEAR_COSINE \
    (1 - 1e-6) /* as near as this are two rows that a model cannot tell apart */

/* rows[i] = the first row whose cosine with vector i of x [n, d] is EMBI_NEAR_COSINE or more, or
 * EMB_ROW_NEW: there is none. Only rows that own a token count (owners NULL: all). Vectors that are
 * zero or not finite have none. Reads the beginning of each row, and the rest of few. */
emb_status embi_near_rows(const emb_table *table, const struct embi_vocab *owners, const double *x,
                          size_t n, uint64_t *rows, emb_err *err);

/* Are two of x [n, d] that near? *a < *b are the first ones. */
bool embi_near_each_other(const double *x, size_t n, uint32_t d, size_t *a, size_t *b);

#endif
