/* save_rows.c - the rows of a table that is saved: fetched, scaled, rounded, written.
 *
 * Blocks of rows are made by all threads, piece by piece, while one of them writes the block
 * before: two buffers change places. Which thread makes which piece is chance, what is in it is
 * not: a number depends on its row alone. Rows that lie in the file as they are written are not
 * copied.
 */
#include "ops/save.h"
#include "ops/unit.h"

#include "num/dtype.h"
#include "util/err.h"
#include "util/loop.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    PIECE_BYTES = 1 << 18, /* of a piece before it is rounded: stays in a core's cache */
    BLOCK_PIECES = 16,
    PARALLEL_BYTES = 2 << 20 /* below that a second thread costs more than it brings */
};

struct block {
    uint64_t first, n; /* rows of the output */
    char *rows;        /* [n, d], in one of the buffers or in the file */
};

struct pass {
    emb_save *s;
    emb_writer *writer;
    emb_dtype from;              /* what pieces are rounded from */
    size_t from_bytes, to_bytes; /* of a row */
    uint64_t piece;              /* rows of a piece */
    bool in_place;               /* rows are written from where they lie */
    char *buffers[2];            /* [BLOCK_PIECES * piece, d] each */
    char *scratch;               /* [threads, piece, d] of `from` */
    struct block making, made;   /* made.n 0: there is none */
    atomic_uint_fast64_t overflows, zero_rows, nonfinite_rows;
};

/* ------------------------------------------------------------------------------------------------
 * Pieces
 */

/* Scales n rows [n, d] of f64 to length 1. */
static void normalize(struct pass *p, double *rows, uint64_t n)
{
    const uint32_t dims = p->s->plan.dims;
    for (uint64_t r = 0; r < n; r++, rows += dims) {
        double norm = embi_normalize(rows, dims);
        p->zero_rows += norm == 0;
        p->nonfinite_rows += !isfinite(norm);
    }
}

/* Rows first .. of the output as `from`, at dst [n, d]. */
static emb_status fetch(const struct pass *p, uint64_t first, uint64_t n, char *dst, emb_err *err)
{
    const emb_save *s = p->s;
    emb_status status = EMB_OK;
    if (!s->o.rows)
        return embi_fetch(s->table, first, n, p->from, dst, err);
    for (uint64_t i = 0; !status && i < n; i++)
        status =
            embi_fetch(s->table, s->o.rows[first + i], 1, p->from, dst + i * p->from_bytes, err);
    return status;
}

/* Can rows be rounded from where they lie in the file? */
static bool lies_ready(const struct pass *p)
{
    const emb_save *s = p->s;
    return !s->o.rows && !s->o.normalize && p->from == s->table->layout.dtype &&
           embi_table_even(s->table) && s->table->layout.row_stride == p->from_bytes;
}

/* A number of row r of a piece [n, d] cannot be converted. Its place in the row is said, which that
 * row alone tells; dst has room for it. */
static emb_status refuse_row(const struct pass *p, uint64_t first, const void *from, uint64_t r,
                             char *dst, emb_err *err)
{
    const emb_save *s = p->s;
    (void)embi_convert(s->table->env->kern, dst, s->plan.dtype,
                       (const char *)from + r * p->from_bytes, p->from, s->plan.dims, NULL, err);
    return embi_fail_in(err, "row %llu", (unsigned long long)embi_save_row(s, first + r));
}

static emb_status make_piece(struct pass *p, uint64_t first, uint64_t n, char *dst, void *scratch,
                             emb_err *err)
{
    const emb_save *s = p->s;
    uint64_t overflows = 0;
    const void *from = scratch;
    if (p->from == s->plan.dtype && !s->o.normalize)
        return fetch(p, first, n, dst, err);
    if (lies_ready(p)) {
        from = embi_table_row(s->table, first);
    } else {
        emb_status status = fetch(p, first, n, scratch, err);
        if (status)
            return status;
    }
    if (s->o.normalize)
        normalize(p, scratch, n);
    emb_status status = embi_convert(s->table->env->kern, dst, s->plan.dtype, from, p->from,
                                     n * s->plan.dims, &overflows, err);
    p->overflows += overflows;
    return status && err->at >= 0
               ? refuse_row(p, first, from, (uint64_t)err->at / s->plan.dims, dst, err)
               : status;
}

/* ------------------------------------------------------------------------------------------------
 * Blocks
 */

static emb_status put_block(struct pass *p, emb_err *err)
{
    const emb_save *s = p->s;
    emb_block block = {p->made.rows, p->made.n, s->plan.dims, s->plan.dtype, 0};
    return emb_writer_put(p->writer, &block, NULL, err);
}

/* Item 0 writes the block that is made, the others make pieces of the next. */
static emb_status run_item(void *arg, size_t item, int worker, emb_err *err)
{
    struct pass *p = arg;
    if (item == 0)
        return p->made.n ? put_block(p, err) : EMB_OK;
    uint64_t begin = (item - 1) * p->piece, n = embi_min(p->piece, p->making.n - begin);
    return make_piece(p, p->making.first + begin, n, p->making.rows + begin * p->to_bytes,
                      p->scratch + (size_t)worker * p->piece * p->from_bytes, err);
}

/* The rows after the block that was made; n 0: there are none. */
static struct block next_block(const struct pass *p, int turn)
{
    const emb_save *s = p->s;
    struct block b = {.first = p->made.first + p->made.n};
    b.n = embi_min(s->plan.rows - b.first, BLOCK_PIECES * p->piece);
    b.rows = p->in_place && b.n ? (char *)embi_table_row(s->table, b.first) : p->buffers[turn];
    return b;
}

/* The block in p->made is written. */
static void count_done(const struct pass *p)
{
    const emb_save *s = p->s;
    if (!s->o.rows)
        embi_table_forget(s->table, p->made.first, p->made.n);
    if (s->o.done && p->made.n)
        s->o.done(s->o.done_arg, p->made.n);
}

static emb_status run_blocks(struct pass *p, struct embi_pool *pool, emb_err *err)
{
    emb_status status = EMB_OK;
    int turn = 0;
    do {
        p->making = next_block(p, turn);
        uint64_t pieces = p->in_place ? 0 : (p->making.n + p->piece - 1) / p->piece;
        status = embi_loop(pool, 1 + pieces, run_item, p, err);
        if (!status)
            count_done(p);
        p->made = p->making;
        turn = 1 - turn;
    } while (!status && p->made.n > 0);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The pass
 */

static void set_sizes(struct pass *p)
{
    const emb_save *s = p->s;
    p->from = s->o.normalize ? EMB_F64 : s->table->layout.dtype;
    if (p->from != s->plan.dtype && emb_dtype_block(p->from) > 1)
        p->from = EMB_F32;
    p->from_bytes = emb_dtype_row_bytes(p->from, s->plan.dims);
    p->to_bytes = emb_dtype_row_bytes(s->plan.dtype, s->plan.dims);
    p->piece = embi_min(embi_max(PIECE_BYTES / p->from_bytes, 1), EMBI_BLOCK_ROWS);
    p->in_place = p->from == s->plan.dtype && lies_ready(p);
}

static emb_status make_room(struct pass *p, size_t workers, emb_err *err)
{
    size_t block = BLOCK_PIECES * p->piece * p->to_bytes;
    size_t scratch = workers * p->piece * p->from_bytes;
    for (int i = 0; i < 2 && !p->in_place; i++)
        if (!(p->buffers[i] = malloc(block)))
            return embi_fail_memory(err, block, "a block of rows");
    if (!(p->scratch = malloc(scratch)))
        return embi_fail_memory(err, scratch, "rows");
    return EMB_OK;
}

emb_status embi_save_rows(emb_save *s, emb_writer *writer, emb_err *err)
{
    struct pass p = {.s = s, .writer = writer};
    set_sizes(&p);
    struct embi_pool *pool = s->plan.rows * embi_max(p.from_bytes, p.to_bytes) > PARALLEL_BYTES
                                 ? s->table->env->pool
                                 : NULL;
    emb_status status = make_room(&p, pool ? (size_t)embi_pool_threads(pool) : 1, err);
    if (!status)
        status = run_blocks(&p, pool, err);
    s->plan.overflows = p.overflows;
    s->plan.zero_rows = p.zero_rows;
    s->plan.nonfinite_rows = p.nonfinite_rows;
    free(p.scratch);
    free(p.buffers[0]);
    free(p.buffers[1]);
    return status;
}
