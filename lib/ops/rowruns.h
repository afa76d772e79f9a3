/* rowruns.h - rows of a table in another order, as runs of rows that follow each other: a table of
 * twenty million rows that keeps its order is one run.
 */
#ifndef EMBI_OPS_ROWRUNS_H
#define EMBI_OPS_ROWRUNS_H

#include "emb.h"
#include "util/base.h"

/* A run, and where in the order it begins. */
struct embi_placed_run {
    emb_row_run run;
    uint64_t place;
};

struct embi_row_runs {
    emb_row_run *list; /* [n] no two neighbours could be one */
    size_t n, capacity;
    uint64_t rows;                  /* of all */
    struct embi_placed_run *placed; /* [n] by source; NULL: not made */
};

/* Appends `rows` rows from `source` on, or new ones (EMB_ROW_NEW). */
emb_status embi_row_runs_add(struct embi_row_runs *runs, uint64_t source, uint64_t rows,
                             emb_err *err);
void embi_row_runs_free(struct embi_row_runs *runs);

/* Makes the runs ready for embi_row_runs_place. None is added from then on. */
emb_status embi_row_runs_index(struct embi_row_runs *runs, emb_err *err);

/* Where in the order the row is, which must be in it. */
uint64_t embi_row_runs_place(const struct embi_row_runs *runs, uint64_t row);

#endif
