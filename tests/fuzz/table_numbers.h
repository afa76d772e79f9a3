/* table_numbers.h - for the fuzz targets of formats: the figures of stats and a search, which take any
 * numbers.
 */
#ifndef FUZZ_TABLE_NUMBERS_H
#define FUZZ_TABLE_NUMBERS_H

#include "fuzz.h"

#include <math.h>

static inline void fuzz_stats(const emb_table *table, uint64_t rows, bool good)
{
    emb_err err;
    emb_stats stats;
    emb_stats_opts opts = {.size = sizeof opts, .columns = true, .list_rows = true};
    if (!fuzz_went_well(emb_stats_run(table, &opts, &stats, &err), &err)) {
        CHECK(!good);
        return;
    }
    CHECK(stats.rows == rows && stats.finite_rows + stats.nonfinite_rows == rows);
    CHECK(stats.zero_rows <= stats.finite_rows && stats.duplicate_rows <= rows);
    CHECK(stats.finite_rows == 0 || (stats.min <= stats.max && stats.norm_min <= stats.norm_max));
    emb_stats_free(&stats);
}

/* The k best rows for row 0 by each metric: no row twice, the best first. */
static inline void fuzz_search(const emb_table *table, uint64_t rows, uint32_t dims)
{
    enum { K = 8, DIMS_MAX = 256 };
    double query[DIMS_MAX];
    emb_hit hits[K];
    size_t count;
    emb_err err;
    uint64_t first = 0;
    emb_search_opts opts = {.size = sizeof opts, .k = K};
    emb_block block = {.data = query, .rows = 1, .dims = dims, .dtype = EMB_F64};
    if (rows == 0 || dims > DIMS_MAX ||
        !fuzz_went_well(emb_table_gather(table, &first, 1, &block, &err), &err))
        return;
    for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++) {
        opts.metric = (emb_metric)metric;
        if (!fuzz_went_well(emb_search(table, &block, &opts, hits, &count, NULL, &err), &err))
            continue;
        CHECK(count <= embi_min(K, rows));
        for (size_t i = 0; i < count; i++) {
            CHECK(hits[i].row < rows && !isnan(hits[i].score));
            CHECK(i == 0 || hits[i].score < hits[i - 1].score ||
                  (hits[i].score == hits[i - 1].score && hits[i].row > hits[i - 1].row));
        }
    }
}

#endif
