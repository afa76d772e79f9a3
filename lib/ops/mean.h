/* mean.h - the mean row of a table, over all rows or over those that own a token. */
#ifndef EMBI_OPS_MEAN_H
#define EMBI_OPS_MEAN_H

#include "table/table.h"

/* Does a token own the row? owners NULL: every row counts as owned. */
static inline bool embi_row_owned(const struct embi_vocab *owners, uint64_t row)
{
    return !owners || (row < owners->n && owners->tokens[row].s);
}

/* mean [d] over the owned rows that are finite; *count (may be NULL) is how many those are. Sums
 * are in double precision, in an order that depends on V alone. EMB_BAD_DATA where there are none.
 */
emb_status embi_mean_rows(const emb_table *table, const struct embi_vocab *owners, double *mean,
                          uint64_t *count, emb_err *err);

#endif
