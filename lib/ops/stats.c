/* stats.c - emb_stats_run: joins what the walk over the table found into the figures of emb.h.
 *
 * Partial results are joined in item order, norms are taken in row order. Memory: that of the walk,
 * then 16 bytes a row while equal rows are sought (hash and order).
 */
#include "ops/stats.h"
#include "util/err.h"

#include <math.h>
#include <stdlib.h>

void embi_moments_join(struct embi_moments *a, const struct embi_moments *b)
{
    if (b->n == 0)
        return;
    if (a->n == 0) {
        *a = *b;
        return;
    }
    double n_a = (double)a->n, part = (double)b->n / (double)(a->n + b->n);
    double delta = b->mean - a->mean;
    a->n += b->n;
    a->mean += delta * part;
    a->m2 += b->m2 + delta * delta * (n_a * part);
}

static emb_status join_columns(const struct embi_walk *w, emb_stats *stats, emb_err *err)
{
    stats->col_mean = embi_zeroed(w->d, sizeof(double), "column figures", err);
    stats->col_std = embi_zeroed(w->d, sizeof(double), "column figures", err);
    stats->col_min = embi_zeroed(w->d, sizeof(double), "column figures", err);
    stats->col_max = embi_zeroed(w->d, sizeof(double), "column figures", err);
    if (!stats->col_mean || !stats->col_std || !stats->col_min || !stats->col_max)
        return err->status;
    struct embi_columns all = {0, stats->col_mean, stats->col_std, stats->col_min, stats->col_max};
    embi_columns_clear(&all, w->d);
    for (size_t i = 0; i < w->items; i++)
        embi_columns_join(&all, &w->item[i].columns, w->d);
    for (uint32_t c = 0; c < w->d; c++) {
        all.m2[c] = sqrt(all.m2[c] / (double)all.n);
        all.min[c] += 0.0; /* 0 rather than -0 */
        all.max[c] += 0.0;
        if (all.n == 0)
            all.mean[c] = all.min[c] = all.max[c] = NAN;
    }
    return EMB_OK;
}

static void join_values(const struct embi_walk *w, emb_stats *stats)
{
    struct embi_moments all = {0};
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < w->items; i++) {
        embi_moments_join(&all, &w->item[i].moments);
        min = embi_lower(min, w->item[i].min);
        max = embi_higher(max, w->item[i].max);
    }
    bool any = all.n > 0;
    stats->mean = any ? all.mean : NAN;
    stats->std = any ? sqrt(all.m2 / (double)all.n) : NAN;
    stats->min = any ? min + 0.0 : NAN; /* 0 rather than -0, whichever of them came first */
    stats->max = any ? max + 0.0 : NAN;
}

/* The rows whose norm is `wanted` (NaN: is NaN), n of them. NULL where there are none. */
static emb_status list_rows(const struct embi_walk *w, double wanted, uint64_t n, uint64_t **list,
                            emb_err *err)
{
    if (n == 0)
        return EMB_OK;
    *list = embi_zeroed(n, sizeof **list, "a list of rows", err);
    if (!*list)
        return err->status;
    uint64_t *next = *list;
    for (uint64_t r = 0; r < w->rows; r++)
        if (isnan(wanted) ? isnan(w->norms[r]) : w->norms[r] == wanted)
            *next++ = r;
    return EMB_OK;
}

/* Extremes and counts; w->norms is left with the norms of the finite rows alone. */
static void gather_norms(struct embi_walk *w, emb_stats *stats)
{
    uint64_t n = 0;
    double sum = 0;
    stats->norm_min = INFINITY;
    stats->norm_max = -INFINITY;
    for (uint64_t r = 0; r < w->rows; r++) {
        double norm = w->norms[r];
        if (isnan(norm))
            continue;
        if (norm < stats->norm_min) {
            stats->norm_min = norm;
            stats->norm_min_row = r;
        }
        if (norm > stats->norm_max) {
            stats->norm_max = norm;
            stats->norm_max_row = r;
        }
        sum += norm;
        w->norms[n++] = norm;
    }
    stats->norm_mean = sum / (double)n;
}

/* Quantiles need no scratch, but are faster with some. */
static void find_quantiles(const double *norms, uint64_t n, const double *q, double *at, size_t n_q)
{
    uint64_t room_n = n / 8;
    double *room = malloc(room_n * sizeof *room + 1);
    embi_quantiles(norms, n, q, at, n_q, room, room ? room_n : 0);
    free(room);
}

static void describe_norms(struct embi_walk *w, emb_stats *stats)
{
    const double q[3] = {0.05, 0.5, 0.95};
    double at[3] = {NAN, NAN, NAN};
    uint64_t n = stats->finite_rows;
    gather_norms(w, stats);
    if (n > 0)
        find_quantiles(w->norms, n, q, at, EMBI_LEN(q));
    else
        stats->norm_min = stats->norm_max = NAN;
    stats->norm_p05 = at[0];
    stats->norm_median = at[1];
    stats->norm_p95 = at[2];
    const size_t steps = EMBI_LEN(stats->histogram);
    double low = stats->norm_min, width = stats->norm_max - low;
    for (uint64_t i = 0; i < n; i++) {
        /* 0..1; NaN where width is infinite, which is in the last step then */
        double part = width > 0 ? (w->norms[i] - low) / width : 0;
        stats->histogram[part < 1 ? (size_t)(part * (double)steps) : steps - 1]++;
    }
}

static emb_status count_rows(const struct embi_walk *w, bool list, emb_stats *stats, emb_err *err)
{
    for (uint64_t r = 0; r < w->rows; r++) {
        stats->nonfinite_rows += isnan(w->norms[r]) != 0;
        stats->zero_rows += w->norms[r] == 0;
    }
    stats->rows = w->rows;
    stats->finite_rows = w->rows - stats->nonfinite_rows;
    if (!list)
        return EMB_OK;
    emb_status status = list_rows(w, 0, stats->zero_rows, &stats->zero_list, err);
    if (!status)
        status = list_rows(w, NAN, stats->nonfinite_rows, &stats->nonfinite_list, err);
    return status;
}

static emb_status finish(struct embi_walk *w, bool list, emb_stats *stats, emb_err *err)
{
    join_values(w, stats);
    emb_status status = count_rows(w, list, stats, err);
    if (!status && w->columns)
        status = join_columns(w, stats, err);
    if (status)
        return status;
    describe_norms(w, stats);
    free(w->norms);
    w->norms = NULL;
    return embi_duplicates(w->table, w->hashes, &stats->duplicate_rows,
                           list ? &stats->duplicate_list : NULL, err);
}

emb_status emb_stats_run(const emb_table *table, const emb_stats_opts *opts, emb_stats *stats,
                         emb_err *err)
{
    struct embi_walk w;
    *stats = (emb_stats){0};
    emb_status status = embi_table_ready(table, err);
    if (!status)
        status = embi_table_will_scan(table, err);
    if (status)
        return status;
    status = embi_walk_run(&w, table, EMBI_HAS(opts, columns) && opts->columns, err);
    if (!status)
        status = finish(&w, EMBI_HAS(opts, list_rows) && opts->list_rows, stats, err);
    embi_walk_free(&w);
    if (status)
        emb_stats_free(stats);
    return status;
}

void emb_stats_free(emb_stats *stats)
{
    free(stats->col_mean);
    free(stats->col_std);
    free(stats->col_min);
    free(stats->col_max);
    free(stats->zero_list);
    free(stats->nonfinite_list);
    free(stats->duplicate_list);
    *stats = (emb_stats){0};
}
