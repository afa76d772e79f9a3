/* gather.c - some rows, in any order: what an embedding layer does.
 *
 * Rows are copied in runs of GATHER_ROWS, one run an item of the pool. The next rows are asked for
 * ahead of time, since their addresses are known and the memory is far away.
 */
#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"
#include "util/loop.h"

/* One item: long enough to be worth a thread's attention, short enough to share evenly. */
#define GATHER_ROWS 256

/* Below this a second thread costs more than it brings (a thread starts in about 50 us). */
#define PARALLEL_BYTES (1u << 19)

#define CACHE_LINE     64
#define PREFETCH_BYTES 4096

struct gather {
    const emb_table *table;
    const uint64_t *rows; /* [n] */
    size_t n;
    emb_block *dst; /* [n, d] */
    size_t stride_bytes;
};

void embi_table_ask_row(const emb_table *table, uint64_t row)
{
    size_t bytes = embi_min(embi_layout_row_bytes(&table->layout), PREFETCH_BYTES);
    const char *p = embi_table_row(table, row);
    for (size_t at = 0; at < bytes; at += CACHE_LINE)
        __builtin_prefetch(p + at, 0, 2);
}

/* Asks for the row that comes some after rows[i], if there is one before `end`. */
static void ask_ahead(const struct gather *g, size_t i, size_t end)
{
    if (end - i > EMBI_ROWS_AHEAD)
        embi_table_ask_row(g->table, g->rows[i + EMBI_ROWS_AHEAD]);
}

static void copy_rows(const struct gather *g, size_t begin, size_t end)
{
    size_t row_bytes = embi_layout_row_bytes(&g->table->layout);
    char *dst = (char *)g->dst->data + begin * g->stride_bytes;
    for (size_t i = begin; i < end; i++, dst += g->stride_bytes) {
        ask_ahead(g, i, end);
        memcpy(dst, embi_table_row(g->table, g->rows[i]), row_bytes);
    }
}

static emb_status gather_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct gather *g = arg;
    size_t begin = item * GATHER_ROWS, end = embi_min(begin + GATHER_ROWS, g->n);
    (void)worker;
    if (embi_table_direct(g->table) && g->dst->dtype == g->table->layout.dtype) {
        copy_rows(g, begin, end);
        return EMB_OK;
    }
    bool direct = embi_table_direct(g->table);
    for (size_t i = begin; i < end; i++) {
        void *dst = (char *)g->dst->data + i * g->stride_bytes;
        if (direct)
            ask_ahead(g, i, end);
        emb_status status = embi_fetch(g->table, g->rows[i], 1, g->dst->dtype, dst, err);
        if (status)
            return status;
    }
    return EMB_OK;
}

static emb_status check_rows(const emb_table *t, const uint64_t *rows, size_t n, emb_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i] >= t->layout.rows) {
            if (t->layout.rows == 0)
                return embi_fail(err, EMB_RANGE, (int64_t)i, "row %llu: the table has no rows",
                                 (unsigned long long)rows[i]);
            return embi_fail(err, EMB_RANGE, (int64_t)i, "row %llu is outside 0..%llu",
                             (unsigned long long)rows[i], (unsigned long long)t->layout.rows - 1);
        }
    return EMB_OK;
}

emb_status embi_gather_check(const emb_table *t, const uint64_t *rows, size_t n,
                             const emb_block *dst, emb_err *err)
{
    emb_status status = embi_table_lay_out(t, err);
    if (status)
        return status;
    if (dst->dims != t->layout.dims || dst->rows < n ||
        emb_dtype_row_bytes(dst->dtype, dst->dims) == 0)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "gather: expected room for [%zu, %u], found [%llu, %u]", n, t->layout.dims,
                         (unsigned long long)dst->rows, dst->dims);
    status = check_rows(t, rows, n, err);
    return status ? status : embi_table_ready_rows(t, rows, n, err);
}

emb_status emb_table_gather(const emb_table *t, const uint64_t *rows, size_t n, emb_block *dst,
                            emb_err *err)
{
    emb_status status = embi_gather_check(t, rows, n, dst, err);
    if (status)
        return status;
    size_t row_bytes = (size_t)emb_dtype_row_bytes(dst->dtype, dst->dims);
    struct gather g = {t, rows, n, dst, dst->stride_bytes ? dst->stride_bytes : row_bytes};
    struct embi_pool *pool = n * row_bytes >= PARALLEL_BYTES ? t->env->pool : NULL;
    return embi_loop(pool, (n + GATHER_ROWS - 1) / GATHER_ROWS, gather_item, &g, err);
}
