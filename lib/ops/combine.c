/* combine.c - vectors made of others: a weighted sum of terms, and the mean row of a table.
 *
 * Both sum in double precision in a fixed order. The mean's partial sums are over runs of blocks
 * whose length depends on V alone, and are joined in row order, so threads do not show.
 */
#include "num/dtype.h"
#include "ops/search.h"
#include "util/err.h"
#include "util/loop.h"

#include <math.h>
#include <stdlib.h>

#define MOST_PARTS      64  /* partial sums of a mean: [parts, d]                    */
#define INLINE_ELEMENTS 4e6 /* fewer are not worth a thread: about 2 ms              */

/* Multiplies v by 1 / |v|, as accurately for very large and very small elements as for others. */
static void make_unit(double *v, uint32_t d)
{
    double norm2 = embi_dot_f64(v, v, d);
    if (!(norm2 >= 0x1p-500 && norm2 <= 0x1p500)) {
        double largest = 0;
        for (uint32_t i = 0; i < d; i++)
            largest = fmax(largest, fabs(v[i]));
        int e = (int)fmin(1000, fmax(-1000, logb(largest)));
        for (uint32_t i = 0; i < d; i++)
            v[i] = ldexp(v[i], -e);
        norm2 = embi_dot_f64(v, v, d);
    }
    double norm = sqrt(norm2);
    for (uint32_t i = 0; i < d; i++)
        v[i] /= norm;
}

emb_status emb_combine(const emb_block *terms, const double *weights, bool unit_terms,
                       double *query, emb_err *err)
{
    uint32_t d = terms->dims;
    size_t stride = terms->stride_bytes ? terms->stride_bytes : d * emb_dtype_bytes(terms->dtype);
    if (!emb_dtype_is_float(terms->dtype))
        return embi_fail(err, EMB_BAD_ARG, -1, "terms of type %s; a float type expected",
                         emb_dtype_name(terms->dtype));
    double *v = malloc(d * sizeof *v + 1);
    if (!v)
        return embi_fail_memory(err, d * sizeof *v, "a term");
    emb_status status = EMB_OK;
    for (uint32_t c = 0; c < d; c++)
        query[c] = 0;
    for (size_t i = 0; !status && i < terms->rows; i++) {
        embi_to_f64(v, (const unsigned char *)terms->data + i * stride, terms->dtype, d);
        if (!embi_all_finite(v, embi_dot_f64(v, v, d), d))
            status =
                embi_fail(err, EMB_BAD_DATA, (int64_t)i, "term %zu holds NaN or an infinity", i);
        else if (unit_terms && embi_all_zero(v, d))
            status = embi_fail(err, EMB_BAD_DATA, (int64_t)i,
                               "term %zu is zero: it has no direction", i);
        if (status)
            break;
        if (unit_terms)
            make_unit(v, d);
        for (uint32_t c = 0; c < d; c++)
            query[c] += weights[i] * v[c];
    }
    free(v);
    return status;
}

struct mean {
    const emb_table *table;
    uint64_t rows, part_rows;
    uint32_t d;
    double *sums;     /* [parts, d]   */
    uint64_t *counts; /* [parts]      */
    double *row;      /* [workers, d] */
};

static emb_status sum_part(void *arg, size_t part, int worker, emb_err *err)
{
    struct mean *m = arg;
    double *x = m->row + (size_t)worker * m->d, *sum = m->sums + part * m->d;
    uint64_t first = part * m->part_rows, end = embi_min(first + m->part_rows, m->rows);
    for (uint64_t row = first; row < end; row++) {
        emb_status status = embi_fetch_row_f64(m->table, row, x, err);
        if (status)
            return status;
        if (!embi_all_finite(x, embi_dot_f64(x, x, m->d), m->d))
            continue;
        m->counts[part]++;
        for (uint32_t c = 0; c < m->d; c++)
            sum[c] += x[c];
    }
    return EMB_OK;
}

static emb_status join_parts(const struct mean *m, size_t parts, double *mean, emb_err *err)
{
    uint64_t count = 0;
    for (uint32_t c = 0; c < m->d; c++)
        mean[c] = 0;
    for (size_t p = 0; p < parts; p++) {
        count += m->counts[p];
        for (uint32_t c = 0; c < m->d; c++)
            mean[c] += m->sums[p * m->d + c];
    }
    if (count == 0)
        return embi_fail(err, EMB_BAD_DATA, -1, "no row is finite, so there is no mean row");
    for (uint32_t c = 0; c < m->d; c++)
        mean[c] /= (double)count;
    return EMB_OK;
}

emb_status emb_mean_row(const emb_table *table, double *mean, emb_err *err)
{
    emb_status status = embi_table_ready(table, err);
    if (!status)
        status = embi_table_will_scan(table, err);
    if (status)
        return status;
    struct mean m = {.table = table, .rows = table->layout.rows, .d = table->layout.dims};
    struct embi_pool *pool = (double)m.rows * m.d < INLINE_ELEMENTS ? NULL : table->env->pool;
    int workers = pool ? embi_pool_threads(pool) : 1;
    uint64_t blocks = (m.rows + EMBI_BLOCK_ROWS - 1) / EMBI_BLOCK_ROWS;
    m.part_rows = embi_max(1, (blocks + MOST_PARTS - 1) / MOST_PARTS) * EMBI_BLOCK_ROWS;
    size_t parts = (m.rows + m.part_rows - 1) / m.part_rows;
    m.sums = calloc(parts + 1, m.d * sizeof *m.sums);
    m.counts = calloc(parts + 1, sizeof *m.counts);
    m.row = malloc((size_t)workers * m.d * sizeof *m.row);
    if (!m.sums || !m.counts || !m.row)
        status = embi_fail_memory(err, (parts + 1) * m.d * sizeof *m.sums, "the mean row");
    if (!status)
        status = embi_loop(pool, parts, sum_part, &m, err);
    if (!status)
        status = join_parts(&m, parts, mean, err);
    free(m.sums);
    free(m.counts);
    free(m.row);
    return status;
}
