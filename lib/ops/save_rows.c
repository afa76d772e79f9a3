/* save_rows.c - the rows of a table that is saved: fetched, scaled, rounded, written.
 *
 * All threads make pieces (emb_writer_put_made); a piece is made in steps that stay in a core's
 * cache. Which thread makes which piece is chance, what is in it is not: a number depends on its
 * row alone. Rows that lie in the file as they are written are not copied.
 */
#include "ops/save.h"
#include "ops/unit.h"

#include "num/dtype.h"
#include "util/err.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define STEP_BYTES (64u << 10)   /* before they are rounded */
#define TURN_BYTES (64ull << 20) /* then progress is told, and pages of the table are let go */

struct pass {
    emb_save *s;
    emb_dtype from;              /* what rows are rounded from */
    size_t from_bytes, to_bytes; /* of a row */
    uint64_t step;               /* rows */
    uint64_t turn_first;         /* row of the output that this turn begins with */
    bool ready;                  /* rows can be taken from where they lie in the file */
    atomic_uint_fast64_t overflows, zero_rows, nonfinite_rows;
};

/* ------------------------------------------------------------------------------------------------
 * A piece
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

/* A number of row r of a step [n, d] cannot be converted. Its place in the row is said, which that
 * row alone tells; dst has room for it. */
static emb_status refuse_row(const struct pass *p, uint64_t first, const void *from, uint64_t r,
                             char *dst, emb_err *err)
{
    const emb_save *s = p->s;
    (void)embi_convert(s->table->env->kern, dst, s->plan.dtype,
                       (const char *)from + r * p->from_bytes, p->from, s->plan.dims, NULL, err);
    return embi_fail_in(err, "row %llu", (unsigned long long)embi_save_row(s, first + r));
}

/* Rows first .. of the output, at most p->step; scratch [step, d] of `from`. */
static emb_status make_step(struct pass *p, uint64_t first, uint64_t n, char *dst, void *scratch,
                            emb_err *err)
{
    const emb_save *s = p->s;
    uint64_t overflows = 0;
    const void *from = scratch;
    if (p->ready) {
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

static emb_status make_steps(struct pass *p, uint64_t first, emb_block *block, emb_err *err)
{
    size_t room = p->ready ? 0 : embi_min(p->step, block->rows) * p->from_bytes;
    char *scratch = malloc(room + 1);
    if (!scratch)
        return embi_fail_memory(err, room, "rows");
    emb_status status = EMB_OK;
    for (uint64_t at = 0, n; !status && at < block->rows; at += n) {
        n = embi_min(p->step, block->rows - at);
        status = make_step(p, first + at, n, (char *)block->data + at * p->to_bytes, scratch, err);
    }
    free(scratch);
    return status;
}

/* emb_make_fn of a turn. */
static emb_status make_rows(void *arg, uint64_t first, emb_block *block, emb_err *err)
{
    struct pass *p = arg;
    const emb_save *s = p->s;
    first += p->turn_first;
    if (p->from != s->plan.dtype || s->o.normalize)
        return make_steps(p, first, block, err);
    if (!p->ready)
        return fetch(p, first, block->rows, block->data, err);
    block->data = (void *)embi_table_row(s->table, first);
    return EMB_OK;
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
    p->step = embi_max(STEP_BYTES / p->from_bytes, 1);
    p->ready = lies_ready(p);
}

static emb_status run_turns(struct pass *p, emb_writer *writer, emb_err *err)
{
    const emb_save *s = p->s;
    const uint64_t turn = embi_max(TURN_BYTES / embi_max(p->from_bytes, p->to_bytes), 1);
    emb_status status = EMB_OK;
    for (uint64_t n; !status && p->turn_first < s->plan.rows; p->turn_first += n) {
        n = embi_min(turn, s->plan.rows - p->turn_first);
        emb_block rows = {NULL, n, s->plan.dims, s->plan.dtype, 0};
        status = emb_writer_put_made(writer, &rows, NULL, make_rows, p, err);
        if (!status && !s->o.rows)
            embi_table_forget(s->table, p->turn_first, n);
        if (!status && s->o.done)
            s->o.done(s->o.done_arg, n);
    }
    return status;
}

emb_status embi_save_rows(emb_save *s, emb_writer *writer, emb_err *err)
{
    struct pass p = {.s = s};
    set_sizes(&p);
    emb_status status = run_turns(&p, writer, err);
    s->plan.overflows = p.overflows;
    s->plan.zero_rows = p.zero_rows;
    s->plan.nonfinite_rows = p.nonfinite_rows;
    return status;
}
