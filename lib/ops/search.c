/* search.c - emb_search: checks what was asked, and takes batches of queries through the fast way
 * or the exact one.
 *
 * Why the answer does not depend on the way, the threads, the instruction set or the batch: it is
 * the first k rows in the order (canonical score, row), a total order of the rows that may answer.
 * The exact way sorts by just that. The fast way gives each row an interval that holds its
 * canonical score, and drops a row only when k others have intervals wholly above its own: then k
 * rows are before it in the order, and it is not among the first k. The rest are ordered by
 * canonical scores.
 */
#include "num/dtype.h"
#include "num/kern.h"
#include "ops/search_fast.h"
#include "util/err.h"
#include "util/pool.h"

#include <math.h>
#include <stdlib.h>

#define BATCH_ELEMENTS  (1u << 22) /* and what their vectors may take together                  */
#define INLINE_PRODUCTS 1.6e7      /* below about 2 ms of work no thread is started             */

static int compare_rows(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The rows excluded for query i are s->exclude[begin .. *end - 1]. */
static size_t exclude_range(const struct embi_search *s, size_t i, size_t *end)
{
    *end = s->opts.exclude_ends[i];
    return i == 0 ? 0 : s->opts.exclude_ends[i - 1];
}

static emb_status copy_exclude(struct embi_search *s, size_t n, emb_err *err)
{
    for (size_t i = 0, last = 0; i < n; last = s->opts.exclude_ends[i++])
        if (s->opts.exclude_ends[i] < last)
            return embi_fail(err, EMB_BAD_ARG, (int64_t)i, "exclude_ends[%zu] goes backwards", i);
    size_t total = n == 0 ? 0 : s->opts.exclude_ends[n - 1];
    if (total == 0) {
        s->opts.exclude = NULL;
        return EMB_OK;
    }
    s->exclude = malloc(total * sizeof *s->exclude);
    if (!s->exclude)
        return embi_fail_memory(err, total * sizeof *s->exclude, "excluded rows");
    memcpy(s->exclude, s->opts.exclude, total * sizeof *s->exclude);
    for (size_t i = 0; i < n; i++) {
        size_t end, begin = exclude_range(s, i, &end);
        qsort(s->exclude + begin, end - begin, sizeof *s->exclude, compare_rows);
    }
    return EMB_OK;
}

bool embi_search_excluded(const struct embi_search *s, size_t i, uint64_t row)
{
    if (!s->exclude)
        return false;
    size_t end, begin = exclude_range(s, i, &end);
    return end > begin && bsearch(&row, s->exclude + begin, end - begin, sizeof row, compare_rows);
}

static emb_status check_options(const struct embi_search *s, emb_err *err)
{
    const emb_search_opts *o = &s->opts;
    if (o->metric != EMB_COSINE && o->metric != EMB_DOT && o->metric != EMB_EUCLIDEAN)
        return embi_fail(err, EMB_BAD_ARG, -1, "unknown metric %d", (int)o->metric);
    if (o->has_min_score && isnan(o->min_score))
        return embi_fail(err, EMB_BAD_ARG, -1, "the lowest score is NaN");
    if (o->exclude && !o->exclude_ends)
        return embi_fail(err, EMB_BAD_ARG, -1, "exclude without exclude_ends");
    if (o->backend != EMB_BACKEND_AUTO && o->backend != EMB_BACKEND_NATIVE &&
        o->backend != EMB_BACKEND_BLAS)
        return embi_fail(err, EMB_BAD_ARG, -1, "unknown backend %d", (int)o->backend);
    for (uint32_t i = 0; o->center && i < s->dims; i++)
        if (!isfinite(o->center[i]))
            return embi_fail(err, EMB_BAD_ARG, i, "the center holds NaN or an infinity");
    if (o->bias && (o->metric != EMB_DOT || o->center))
        return embi_fail(err, EMB_BAD_ARG, -1, "a bias is added to dot products alone");
    return EMB_OK;
}

static emb_status check_bias(struct embi_search *s, emb_err *err)
{
    for (uint64_t row = 0; s->opts.bias && row < s->rows; row++) {
        if (!isfinite(s->opts.bias[row]))
            return embi_fail(err, EMB_BAD_ARG, (int64_t)row,
                             "the bias of row %llu is NaN or an infinity", (unsigned long long)row);
        s->largest_bias = fmax(s->largest_bias, fabs(s->opts.bias[row]));
    }
    return EMB_OK;
}

emb_status embi_search_begin(struct embi_search *s, const emb_table *table,
                             const emb_search_opts *opts, size_t n, emb_err *err)
{
    *s = (struct embi_search){.table = table};
    if (opts) /* members that an older caller does not know are zero */
        memcpy(&s->opts, opts, embi_min(opts->size, sizeof *opts));
    s->opts.size = sizeof s->opts;
    emb_status status = embi_table_ready(table, err);
    if (!status)
        status = embi_table_will_scan(table, err);
    if (status)
        return status;
    uint64_t rows = table->layout.rows;
    s->dims = table->layout.dims;
    s->bound = embi_search_bound(s->dims, n);
    s->k = s->opts.k == 0 ? rows : embi_min(s->opts.k, rows);
    s->rows = s->opts.restrict_rows == 0 ? rows : embi_min(s->opts.restrict_rows, rows);
    status = check_options(s, err);
    if (!status)
        status = check_bias(s, err);
    if (!status && s->opts.exclude)
        status = copy_exclude(s, n, err);
    return status;
}

void embi_search_end(struct embi_search *s)
{
    free(s->exclude);
    s->exclude = NULL;
}

struct embi_pool *embi_search_pool(const struct embi_search *s, double products, int *workers)
{
    struct embi_pool *pool = products < INLINE_PRODUCTS ? NULL : s->table->env->pool;
    *workers = pool ? embi_pool_threads(pool) : 1;
    return pool;
}

size_t embi_search_answer(const struct embi_search *s, emb_hit *ranked, size_t n, emb_hit *hits)
{
    embi_hits_sort(ranked, n);
    size_t count = 0;
    for (; count < n && count < s->k; count++) {
        emb_hit hit = ranked[count];
        if (s->opts.farthest)
            hit.score = 0.0 - hit.score;
        if (s->opts.has_min_score && hit.score < s->opts.min_score)
            break; /* farthest: lower ones were never put in */
        hits[count] = hit;
    }
    return count;
}

/* One batch of queries, in arrays that are used again for the next. */
struct batch {
    struct embi_queries fast, exact; /* views of the arrays below                           */
    double *v;                       /* [size, d]: first those for the fast way, ...        */
    double *norm2;                   /* [size]                                              */
    size_t *number;                  /* [size]                                              */
    bool *done;                      /* [size]                                              */
    size_t size;
};

static emb_status batch_new(struct batch *b, size_t queries, uint32_t d, emb_err *err)
{
    uint64_t fit = embi_max(1, BATCH_ELEMENTS / embi_max(d, 1));
    b->size = embi_min(queries, embi_min(EMBI_MOST_BATCH, fit));
    b->v = malloc(b->size * d * sizeof *b->v + 1);
    b->norm2 = malloc(b->size * sizeof *b->norm2 + 1);
    b->number = malloc(b->size * sizeof *b->number + 1);
    b->done = malloc(b->size * sizeof *b->done + 1);
    if (!b->v || !b->norm2 || !b->number || !b->done)
        return embi_fail_memory(err, b->size * d * sizeof *b->v, "queries");
    return EMB_OK;
}

static void batch_free(struct batch *b)
{
    free(b->v);
    free(b->norm2);
    free(b->number);
    free(b->done);
}

static void read_query(const emb_block *queries, size_t i, double *v)
{
    size_t row_bytes = queries->dims * emb_dtype_bytes(queries->dtype);
    size_t stride = queries->stride_bytes ? queries->stride_bytes : row_bytes;
    embi_to_f64(v, (const unsigned char *)queries->data + i * stride, queries->dtype,
                queries->dims);
}

static emb_status check_queries(const struct embi_search *s, const emb_block *queries,
                                double *scratch, emb_err *err)
{
    if (queries->dtype != EMB_F32 && queries->dtype != EMB_F64)
        return embi_fail(err, EMB_BAD_ARG, -1, "queries of type %s; f32 or f64 expected",
                         emb_dtype_name(queries->dtype));
    if (queries->dims != s->dims)
        return embi_fail(err, EMB_BAD_ARG, -1, "queries of %u dimensions; the table has %u",
                         queries->dims, s->dims);
    for (size_t i = 0; i < queries->rows; i++) {
        read_query(queries, i, scratch);
        if (!embi_all_finite(scratch, embi_dot_f64(scratch, scratch, s->dims), s->dims))
            return embi_fail(err, EMB_BAD_DATA, (int64_t)i, "query %zu holds NaN or an infinity",
                             i);
        if (s->opts.metric == EMB_COSINE && embi_all_zero(scratch, s->dims))
            return embi_fail(err, EMB_BAD_DATA, (int64_t)i,
                             "query %zu is zero: it has no direction", i);
    }
    return EMB_OK;
}

/* Splits queries first .. first+n-1: those for the fast way come first. */
static void batch_load(struct batch *b, const struct embi_search *s, const emb_block *queries,
                       size_t first, size_t n)
{
    size_t low = 0, high = n;
    for (size_t i = 0; i < n; i++) {
        double *v = b->v + low * s->dims;
        read_query(queries, first + i, v);
        double norm2 = embi_dot_f64(v, v, s->dims);
        size_t at = low;
        if (embi_search_fast_can(s, norm2)) {
            low++;
        } else {
            at = --high;
            if (at != low)
                memcpy(b->v + at * s->dims, v, s->dims * sizeof *v);
        }
        b->norm2[at] = norm2;
        b->number[at] = first + i;
    }
    b->fast = (struct embi_queries){b->v, b->norm2, b->number, low};
    b->exact =
        (struct embi_queries){b->v + low * s->dims, b->norm2 + low, b->number + low, n - low};
}

/* Queries that the fast way gave up join the others that need the exact one. */
static size_t batch_give_up(struct batch *b, uint32_t d)
{
    size_t gave_up = 0;
    for (size_t i = b->fast.n; i-- > 0;) {
        if (b->done[i])
            continue;
        size_t at = b->fast.n - ++gave_up; /* swapped in just before the exact ones: at >= i */
        for (uint32_t c = 0; at != i && c < d; c++) {
            double x = b->v[i * d + c];
            b->v[i * d + c] = b->v[at * d + c];
            b->v[at * d + c] = x;
        }
        size_t number = b->number[i];
        double norm2 = b->norm2[i];
        b->number[i] = b->number[at];
        b->norm2[i] = b->norm2[at];
        b->number[at] = number;
        b->norm2[at] = norm2;
    }
    size_t low = b->fast.n - gave_up;
    b->exact = (struct embi_queries){b->v + low * d, b->norm2 + low, b->number + low,
                                     b->exact.n + gave_up};
    return gave_up;
}

static emb_status search_batch(struct embi_search *s, struct batch *b, emb_hit *hits,
                               size_t *counts, emb_search_info *info, emb_err *err)
{
    emb_status status = EMB_OK;
    if (b->fast.n > 0) {
        status = embi_search_fast(s, &b->fast, hits, counts, b->done, err);
        if (status)
            return status;
        info->exact_queries += batch_give_up(b, s->dims);
    }
    if (b->exact.n > 0)
        status = embi_search_exact_queries(s, &b->exact, hits, counts, err);
    return status;
}

/* Of `all` queries; where an optional device fails, or memory for what it has found, the CPU goes
 * on from this batch. */
static emb_status search_batch_anyway(struct embi_search *s, size_t all, struct batch *b,
                                      emb_hit *hits, size_t *counts, emb_search_info *info,
                                      emb_err *err)
{
    emb_status status = search_batch(s, b, hits, counts, info, err);
    if ((status == EMB_DEVICE || status == EMB_NO_MEMORY) && embi_search_do_without(s, all, err))
        status = search_batch(s, b, hits, counts, info, err);
    return status;
}

emb_status emb_search(const emb_table *table, const emb_block *queries, const emb_search_opts *opts,
                      emb_hit *hits, size_t *counts, emb_search_info *info, emb_err *err)
{
    struct embi_search s;
    struct batch b = {0};
    emb_search_info found = {0};
    emb_status status = embi_search_begin(&s, table, opts, queries->rows, err);
    if (!status)
        status = embi_search_choose(&s, queries->rows, err);
    if (!status)
        status = batch_new(&b, queries->rows, s.dims, err);
    if (!status && queries->rows > 0)
        status = check_queries(&s, queries, b.v, err);
    for (size_t i = 0; !status && i < queries->rows; i += b.size) {
        batch_load(&b, &s, queries, i, embi_min(b.size, queries->rows - i));
        status = search_batch_anyway(&s, queries->rows, &b, hits, counts, &found, err);
    }
    found.nonfinite_rows = s.nonfinite_rows;
    if (!status && info)
        *info = found;
    batch_free(&b);
    embi_search_end(&s);
    return status;
}
