/* stats_columns.c - mean, deviation and extremes of each column.
 *
 * Within a run of rows, sums are taken about the run's first row, not about zero: as that row is
 * one of the values, the sum of squares is at most n times what it is about the mean, so that n *
 * 2^-53 bounds the relative error of the deviation whatever the data. Each column is summed in row
 * order; columns are independent, so vector code changes no bit.
 */
#include "ops/stats.h"

#include <math.h>

void embi_columns_clear(struct embi_columns *columns, uint32_t d)
{
    columns->n = 0;
    for (uint32_t c = 0; c < d; c++) {
        columns->mean[c] = columns->m2[c] = 0;
        columns->min[c] = INFINITY;
        columns->max[c] = -INFINITY;
    }
}

void embi_columns_add(struct embi_columns *columns, struct embi_column_sums *sums,
                      const double *row, uint32_t d)
{
    double *restrict about = sums->about, *restrict sum = sums->sum,
                     *restrict square = sums->square;
    double *restrict min = columns->min, *restrict max = columns->max;
    const double *restrict x = row;
    if (sums->n++ == 0) {
        memcpy(about, row, d * sizeof *about);
        memset(sum, 0, d * sizeof *sum);
        memset(square, 0, d * sizeof *square);
    }
    for (uint32_t c = 0; c < d; c++) {
        double y = x[c] - about[c];
        sum[c] += y;
        square[c] += y * y;
        min[c] = embi_lower(min[c], x[c]);
        max[c] = embi_higher(max[c], x[c]);
    }
}

static void join_column(struct embi_columns *a, uint32_t c, const struct embi_moments *b)
{
    struct embi_moments m = {.n = a->n, .mean = a->mean[c], .m2 = a->m2[c]};
    embi_moments_join(&m, b);
    a->mean[c] = m.mean;
    a->m2[c] = m.m2;
}

void embi_columns_flush(struct embi_columns *columns, struct embi_column_sums *sums, uint32_t d)
{
    double n = (double)sums->n;
    if (sums->n == 0)
        return;
    for (uint32_t c = 0; c < d; c++) {
        double mean = sums->sum[c] / n;
        double m2 = embi_higher(sums->square[c] - sums->sum[c] * mean, 0);
        join_column(columns, c, &(struct embi_moments){sums->n, sums->about[c] + mean, m2});
    }
    columns->n += sums->n;
    sums->n = 0;
}

void embi_columns_join(struct embi_columns *a, const struct embi_columns *b, uint32_t d)
{
    for (uint32_t c = 0; c < d; c++) {
        join_column(a, c, &(struct embi_moments){b->n, b->mean[c], b->m2[c]});
        a->min[c] = embi_lower(a->min[c], b->min[c]);
        a->max[c] = embi_higher(a->max[c], b->max[c]);
    }
    a->n += b->n;
}
