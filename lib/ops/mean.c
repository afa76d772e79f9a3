/* mean.c - the mean row of a table, summed in double precision in a fixed order.
 *
 * Partial sums are over runs of blocks whose length depends on V alone, and are joined in row
 * order, so threads do not show.
 */
#include "ops/mean.h"

#include "ops/search.h"
#include "util/err.h"
#include "util/loop.h"

#include <stdlib.h>

#define MOST_PARTS      64         /* partial sums of a mean: [parts, d]                    */
#define ROWS_AT_ONCE    8          /* a kernel's call: as many streams as memory is read in     */
#define INLINE_ELEMENTS 4e6        /* fewer are not worth a thread: about 2 ms              */
#define FORGET_BYTES    (8u << 20) /* of a mapping given up at once: a call stops all threads */

struct mean {
    const emb_table *table;
    const struct embi_vocab *owners; /* or NULL */
    uint64_t rows, part_rows;
    uint32_t d;
    double *sums;     /* [parts, d]   */
    uint64_t *counts; /* [parts]      */
    double *row;      /* [workers, d] */
};

/* Row after row through double precision: any table, and rows that are not finite are left out. */
static emb_status sum_carefully(struct mean *m, size_t part, uint64_t first, uint64_t end,
                                double *x, emb_err *err)
{
    double *sum = m->sums + part * m->d;
    memset(sum, 0, m->d * sizeof *sum);
    m->counts[part] = 0;
    for (uint64_t row = first; row < end; row++) {
        if (!embi_row_owned(m->owners, row))
            continue;
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

typedef void add_fn(double *sum, const void *const *rows, size_t n, uint32_t d);

/* The kernel for rows where they lie; NULL: they cannot be used there. */
static add_fn *kernel_of(const emb_table *t)
{
    const struct embi_kern *k = t->env->kern;
    if (!embi_table_direct(t))
        return NULL;
    switch (t->layout.dtype) {
    case EMB_F32: return k->add_f32;
    case EMB_F16: return k->add_f16;
    case EMB_BF16: return k->add_bf16;
    default: return NULL;
    }
}

/* Adds all owned rows. False: one of them is not finite, for then a sum is not. */
static bool sum_quickly(struct mean *m, size_t part, uint64_t first, uint64_t end, add_fn *add)
{
    const void *rows[ROWS_AT_ONCE];
    double *sum = m->sums + part * m->d;
    size_t n = 0, row_bytes = (size_t)emb_dtype_row_bytes(m->table->layout.dtype, m->d);
    uint64_t kept = first; /* rows from here on may be in memory */
    for (uint64_t row = first; row < end; row++) {
        if (embi_row_owned(m->owners, row)) {
            m->counts[part]++;
            rows[n++] = embi_table_row(m->table, row);
        }
        if (n == ROWS_AT_ONCE || row + 1 == end) {
            add(sum, rows, n, m->d);
            n = 0;
        }
        if ((row + 1 - kept) * row_bytes >= FORGET_BYTES || row + 1 == end) {
            embi_table_forget(m->table, kept, row + 1 - kept);
            kept = row + 1;
        }
    }
    return embi_all_finite(sum, embi_dot_f64(sum, sum, m->d), m->d);
}

/* The order of additions is the same in both ways, and so are the bits. */
static emb_status sum_part(void *arg, size_t part, int worker, emb_err *err)
{
    struct mean *m = arg;
    add_fn *add = kernel_of(m->table);
    uint64_t first = part * m->part_rows, end = embi_min(first + m->part_rows, m->rows);
    if (add && sum_quickly(m, part, first, end, add))
        return EMB_OK;
    return sum_carefully(m, part, first, end, m->row + (size_t)worker * m->d, err);
}

static emb_status join_parts(const struct mean *m, size_t parts, double *mean, uint64_t *n,
                             emb_err *err)
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
    if (n)
        *n = count;
    return EMB_OK;
}

emb_status embi_mean_rows(const emb_table *table, const struct embi_vocab *owners, double *mean,
                          uint64_t *count, emb_err *err)
{
    emb_status status = embi_table_ready(table, err);
    if (!status)
        status = embi_table_will_scan(table, err);
    if (status)
        return status;
    struct mean m = {
        .table = table, .owners = owners, .rows = table->layout.rows, .d = table->layout.dims};
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
        status = join_parts(&m, parts, mean, count, err);
    free(m.sums);
    free(m.counts);
    free(m.row);
    return status;
}

emb_status emb_mean_row(const emb_table *table, double *mean, emb_err *err)
{
    return embi_mean_rows(table, NULL, mean, NULL, err);
}
