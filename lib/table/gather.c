/* gather.c - some rows, in any order: what an embedding layer does.
 *
 * Rows are copied in runs of GATHER_ROWS, one run an item of the pool. The next rows are asked for
 * ahead of time, since their addresses are known and the memory is far away.
 */
#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"
#include "util/loop.h"

#include <stdatomic.h>
#include <stdlib.h>

/* One item: long enough to be worth a thread's attention, short enough to share evenly. */
#define GATHER_ROWS 256

/* Below this a second thread costs more than it brings (a thread starts in about 50 us). */
#define PARALLEL_BYTES (1u << 19)

/* Of a table on a server, that are asked for at a time. */
#define FAR_ROWS 65536

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

static emb_status gather_range(const struct gather *g, size_t begin, size_t end, emb_err *err)
{
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

static emb_status gather_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct gather *g = arg;
    (void)worker;
    return gather_range(g, item * GATHER_ROWS, embi_min((item + 1) * GATHER_ROWS, g->n), err);
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

emb_status emb_table_prefetch(const emb_table *t, const uint64_t *rows, size_t n, emb_err *err)
{
    if (!embi_io_is_far(t->io) || n == 0)
        return EMB_OK;
    emb_status status = embi_table_lay_out(t, err);
    uint64_t *known = status ? NULL : malloc(n * sizeof *known);
    if (!known)
        return status ? status : embi_fail_memory(err, n * sizeof *known, "a list of rows");
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i] < t->layout.rows)
            known[kept++] = rows[i];
    status = embi_table_ready_rows(t, known, kept, err);
    free(known);
    return status;
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

/* ------------------------------------------------------------------------------------------------
 * Rows on their way into a file
 */

/* Bytes of a file for each row that is read from it, at least; of more rows each is used where it
 * is mapped. To map a row costs a fault and brings neighbours of it, so a few are sooner read:
 * 8192 of [400000, 300] f32 took 17 ms of CPU time, not 43. With a row in 16 KiB both took as long
 * (EPYC of family 23, rows of 1200, 8192 and 16384 bytes). */
#define READ_SHARE 16384

struct source {
    const emb_table *table;
    const uint64_t *rows;
    bool read;
    atomic_bool failed;
};

static bool worth_reading(const emb_table *t, size_t n)
{
    return embi_table_direct(t) && t->io->scheme->descriptor && n <= t->io->size / READ_SHARE;
}

static emb_status read_rows(const emb_table *t, const uint64_t *rows, emb_block *block,
                            emb_err *err)
{
    const struct embi_layout *l = &t->layout;
    size_t from_bytes = embi_layout_row_bytes(l);
    size_t to_bytes = (size_t)emb_dtype_row_bytes(block->dtype, block->dims);
    bool same = block->dtype == l->dtype;
    char *dst = block->data, *scratch = same ? NULL : malloc(from_bytes + 1);
    if (!same && !scratch)
        return embi_fail_memory(err, from_bytes, "a row");
    emb_status status = EMB_OK;
    for (uint64_t i = 0; !status && i < block->rows; i++, dst += to_bytes) {
        char *row = same ? dst : scratch;
        status = embi_io_pread(t->io, row, from_bytes, embi_layout_row_at(l, rows[i]), err);
        if (!status && !same)
            status =
                embi_convert(t->env->kern, dst, block->dtype, row, l->dtype, l->dims, NULL, err);
    }
    free(scratch);
    return status;
}

static emb_status make_rows(void *arg, uint64_t first, emb_block *block, emb_err *err)
{
    struct source *s = arg;
    const uint64_t *rows = s->rows + first;
    size_t row_bytes = (size_t)emb_dtype_row_bytes(block->dtype, block->dims);
    struct gather g = {s->table, rows, block->rows, block, row_bytes};
    emb_status status =
        s->read ? read_rows(s->table, rows, block, err) : gather_range(&g, 0, block->rows, err);
    if (status)
        s->failed = true;
    return status;
}

/* Of a table on a server a part at a time, but many together: each part is asked for with as few
 * requests as pay. */
static size_t rows_at_once(const emb_table *t, size_t n)
{
    return embi_io_is_far(t->io) ? embi_min(n, FAR_ROWS) : n;
}

emb_status emb_writer_put_rows(emb_writer *w, const emb_table *t, const uint64_t *rows, size_t n,
                               emb_dtype dtype, bool *reading, emb_err *err)
{
    emb_status status = embi_table_lay_out(t, err);
    *reading = status != EMB_OK;
    for (size_t at = 0, step; !status && at < n; at += step) {
        step = embi_min(n - at, rows_at_once(t, n));
        struct source s = {.table = t, .rows = rows + at, .read = worth_reading(t, n)};
        emb_block block = {NULL, step, t->layout.dims, dtype, 0};
        status = embi_gather_check(t, s.rows, step, &block, err);
        *reading = status != EMB_OK;
        if (!status) {
            status = emb_writer_put_made(w, &block, NULL, make_rows, &s, err);
            *reading = s.failed;
        }
    }
    return status;
}
