/* fill.c - what new rows of a resized table hold.
 *
 * Values are made in double precision and rounded once to the type of the table (nearest, ties to
 * even; integers too). A value that the type cannot hold is refused, not bent. Random ones are
 * those of emb_init_rows, in a stream of their own, so a new row depends on seed and id alone.
 */
#include "num/dtype.h"
#include "ops/mean.h"
#include "ops/resize.h"
#include "ops/search.h"
#include "util/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define STEP_BYTES (32u << 20) /* of sums, [step, d] of double */

uint64_t embi_fill_step(uint32_t dims)
{
    return embi_max(1, STEP_BYTES / (dims * sizeof(double)));
}

/* ------------------------------------------------------------------------------------------------
 * Checks
 */

/* The row of fill_table that new row r (the nth new one) gets; EMB_ROW_NEW: the mean row. */
static emb_status table_row(const emb_resize *plan, const emb_resize_opts *o, uint64_t r,
                            uint64_t nth, uint64_t *row, emb_err *err)
{
    const struct embi_vocab *names;
    emb_str token = r < plan->n_tokens ? plan->tokens[r] : (emb_str){NULL, 0};
    emb_status status = embi_table_vocab(o->fill_table, &names, err);
    if (status)
        return status;
    if (names->n && token.s) {
        status = emb_table_find(o->fill_table, token, row, err);
        return status ? embi_fail_in(err, "the table to fill from") : EMB_OK;
    }
    *row = !names->n && nth < o->fill_table->layout.rows ? nth : EMB_ROW_NEW;
    if (*row == EMB_ROW_NEW && token.s)
        return embi_fail(err, EMB_BAD_ARG, (int64_t)nth,
                         "%" PRIu64 " rows to fill %" PRIu64 " new ones from",
                         o->fill_table->layout.rows, plan->new_rows);
    return EMB_OK;
}

/* Has each new row of a run, from `first` on, one to be made of? *nth new ones are before them. */
static emb_status check_run(const emb_resize *plan, const emb_resize_opts *o, uint64_t first,
                            uint64_t n, uint64_t *nth, emb_err *err)
{
    uint64_t row;
    emb_status status = EMB_OK;
    for (uint64_t i = 0; !status && i < n; i++)
        status = table_row(plan, o, first + i, (*nth)++, &row, err);
    return status;
}

static emb_status check_table(const emb_table *table, const emb_resize *plan,
                              const emb_resize_opts *o, emb_err *err)
{
    uint64_t at = 0, nth = 0;
    if (!o->fill_table)
        return embi_fail(err, EMB_BAD_ARG, -1, "no table to fill new rows from");
    emb_status status = embi_table_ready(o->fill_table, err);
    if (!status && o->fill_table->layout.dims != table->layout.dims)
        status = embi_fail(err, EMB_BAD_ARG, -1,
                           "new rows have %" PRIu32 " numbers, the table has %" PRIu32,
                           o->fill_table->layout.dims, table->layout.dims);
    for (size_t i = 0; !status && i < plan->n_runs; at += plan->runs[i++].rows)
        if (plan->runs[i].source == EMB_ROW_NEW)
            status = check_run(plan, o, at, plan->runs[i].rows, &nth, err);
    return status;
}

static emb_status check_rows(const emb_table *table, const emb_resize_opts *o, emb_err *err)
{
    if (o->n_fill_rows == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "no rows to make new ones of");
    for (size_t i = 0; i < o->n_fill_rows; i++)
        if (o->fill_rows[i] >= table->layout.rows)
            return embi_fail(err, EMB_RANGE, (int64_t)i,
                             "row %" PRIu64 ": the table has %" PRIu64 " rows", o->fill_rows[i],
                             table->layout.rows);
    return EMB_OK;
}

emb_status embi_fill_check(const emb_table *table, const emb_resize *plan, const emb_resize_opts *o,
                           emb_err *err)
{
    if (!isfinite(o->scale) || o->scale < 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "the scale of new rows must be a positive number");
    if (o->fill == EMB_FILL_TABLE)
        return check_table(table, plan, o, err);
    if (o->fill == EMB_FILL_ROWS)
        return check_rows(table, o, err);
    if (o->fill == EMB_FILL_NORMAL && !emb_dtype_is_float(table->layout.dtype))
        return embi_fail(err, EMB_BAD_ARG, -1, "normal deviates are no %s",
                         emb_dtype_name(table->layout.dtype));
    return o->fill > EMB_FILL_PIECES
               ? embi_fail(err, EMB_BAD_ARG, -1, "unknown fill %d", (int)o->fill)
               : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */

static emb_status check_overflows(const struct embi_fill *f, uint64_t overflows, emb_err *err)
{
    if (overflows)
        return embi_fail(err, EMB_BAD_DATA, -1, "a new row has a value that %s cannot hold",
                         emb_dtype_name(f->dtype));
    return EMB_OK;
}

/* dst [n] of the table's type = x [n], which is used up. */
static emb_status round_values(const struct embi_fill *f, double *x, size_t n, void *dst,
                               emb_err *err)
{
    uint64_t overflows = 0;
    for (size_t i = 0; !emb_dtype_is_float(f->dtype) && i < n; i++)
        x[i] = rint(x[i]);
    emb_status status = embi_convert(NULL, dst, f->dtype, x, EMB_F64, n, &overflows, err);
    return status ? status : check_overflows(f, overflows, err);
}

/* Sums of the largest numbers overflow even double precision. */
static emb_status check_finite(const struct embi_fill *f, const double *x, size_t n, emb_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return embi_fail(err, EMB_BAD_DATA, -1,
                             "a new row would not be finite: the %s values are too large",
                             emb_dtype_name(f->dtype));
    return EMB_OK;
}

static emb_status mean_row(struct embi_fill *f, emb_err *err)
{
    emb_status status = embi_mean_rows(f->table, f->owners, f->mean, &f->n, err);
    if (status == EMB_BAD_DATA && f->table->layout.rows == 0)
        status = embi_fail(err, EMB_BAD_DATA, -1, "a table without rows has no mean row");
    return status;
}

/* mean [d] = the mean of rows [n]. */
static emb_status mean_of_rows(const struct embi_fill *f, const uint64_t *rows, size_t n,
                               double *mean, emb_err *err)
{
    double *row = malloc(f->d * sizeof *row + 1);
    emb_status status = EMB_OK;
    if (!row)
        return embi_fail_memory(err, f->d * sizeof *row, "a row");
    memset(mean, 0, f->d * sizeof *mean);
    for (size_t i = 0; !status && i < n; i++) {
        status = embi_fetch_row_f64(f->table, rows[i], row, err);
        if (!status && !embi_all_finite(row, embi_dot_f64(row, row, f->d), f->d))
            status = embi_fail(err, EMB_BAD_DATA, (int64_t)i,
                               "row %" PRIu64 " holds NaN or an infinity", rows[i]);
        for (uint32_t c = 0; !status && c < f->d; c++)
            mean[c] += row[c];
    }
    for (uint32_t c = 0; !status && c < f->d; c++)
        mean[c] /= (double)n;
    free(row);
    return status;
}

/* f->same, and what it comes from. */
static emb_status make_same(struct embi_fill *f, emb_err *err)
{
    emb_status status = EMB_OK;
    if (f->o.fill == EMB_FILL_ROWS && f->o.n_fill_rows == 1)
        return embi_fetch(f->table, f->o.fill_rows[0], 1, f->dtype, f->same, err);
    if (f->o.fill == EMB_FILL_ROWS)
        status = mean_of_rows(f, f->o.fill_rows, f->o.n_fill_rows, f->mean, err);
    else if (f->o.fill != EMB_FILL_ZEROS)
        status = mean_row(f, err);
    if (!status)
        status = check_finite(f, f->mean, f->d, err);
    if (status || f->o.fill == EMB_FILL_COVARIANCE)
        return status;
    return round_values(f, f->mean, f->d, f->same, err);
}

/* Does a new row get the mean row, for which fill_table or made_of has nothing else? */
static bool needs_mean(const struct embi_fill *f)
{
    const struct embi_vocab *names;
    emb_err err;
    if (f->o.fill == EMB_FILL_PIECES)
        return f->made_of->any_without;
    if (f->o.fill != EMB_FILL_TABLE)
        return f->o.fill != EMB_FILL_NORMAL;
    if (embi_table_vocab(f->o.fill_table, &names, &err))
        return true;
    return names->n ? f->plan->padding_rows > 0 : f->plan->new_rows > f->o.fill_table->layout.rows;
}

emb_status embi_fill_begin(struct embi_fill *f, emb_ctx *ctx, const emb_table *table,
                           const emb_resize *plan, const emb_resize_opts *opts,
                           const struct embi_made_of *made_of, emb_err *err)
{
    const struct embi_vocab *vocab;
    *f = (struct embi_fill){.ctx = ctx, .table = table, .plan = plan, .made_of = made_of};
    f->o = embi_resize_opts(opts);
    if (f->o.fill == EMB_FILL_PIECES && !made_of)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "a single table has no tokenizer that splits a token's text");
    emb_status status = embi_table_vocab(table, &vocab, err);
    if (status || plan->new_rows == 0)
        return status;
    f->owners = vocab->n ? vocab : NULL;
    f->dtype = table->layout.dtype;
    f->d = table->layout.dims;
    f->row_bytes = f->d * emb_dtype_bytes(f->dtype);
    f->mean = calloc(f->d, sizeof *f->mean);
    f->same = malloc(f->row_bytes);
    uint64_t sums = embi_min(plan->new_rows, embi_fill_step(f->d)) * f->d;
    f->sums = malloc(sums * sizeof *f->sums); /* also scratch of conversions */
    if (!f->mean || !f->same || !f->sums)
        return embi_fail_memory(err, sums * sizeof *f->sums, "new rows");
    return needs_mean(f) ? make_same(f, err) : EMB_OK;
}

void embi_fill_end(struct embi_fill *f)
{
    free(f->mean);
    free(f->same);
    free(f->sums);
}

/* 8-bit floats are rounded from f32, as init does it. */
static emb_status normal_rows(const struct embi_fill *f, uint64_t first, uint64_t n, void *dst,
                              emb_err *err)
{
    emb_init_opts how = {.size = sizeof how,
                         .dist = EMB_NORMAL,
                         .std = f->o.scale,
                         .seed = f->o.seed,
                         .stream = EMBI_STREAM_NORMAL + EMBI_STREAMS * f->number};
    bool direct = f->dtype <= EMB_BF16;
    emb_block block = {.data = direct ? dst : f->sums, .rows = n, .dims = f->d};
    block.dtype = direct ? f->dtype : EMB_F32;
    uint64_t overflows = 0;
    emb_status status = emb_init_rows(f->ctx, &how, first, &block, err);
    if (status || direct)
        return status;
    status = embi_convert(NULL, dst, f->dtype, f->sums, EMB_F32, n * f->d, &overflows, err);
    return status ? status : check_overflows(f, overflows, err);
}

/* One row of fill_table: its bits where the types agree. */
static emb_status row_of_table(const struct embi_fill *f, uint64_t row, void *dst, emb_err *err)
{
    const emb_table *from = f->o.fill_table;
    if (from->layout.dtype == f->dtype)
        return embi_fetch(from, row, 1, f->dtype, dst, err);
    emb_status status = embi_fetch_row_f64(from, row, f->sums, err);
    return status ? status : round_values(f, f->sums, f->d, dst, err);
}

static emb_status rows_of_table(const struct embi_fill *f, uint64_t first, uint64_t n, uint64_t nth,
                                char *dst, emb_err *err)
{
    emb_status status = EMB_OK;
    for (uint64_t i = 0; !status && i < n; i++, dst += f->row_bytes) {
        uint64_t row;
        status = table_row(f->plan, &f->o, first + i, nth + i, &row, err);
        if (!status && row == EMB_ROW_NEW)
            memcpy(dst, f->same, f->row_bytes);
        else if (!status)
            status = row_of_table(f, row, dst, err);
    }
    return status;
}

/* One row from those that it is made of: of one row its bits. */
static emb_status row_of_pieces(const struct embi_fill *f, uint64_t nth, void *dst, emb_err *err)
{
    const struct embi_made_of *m = f->made_of;
    size_t begin = nth ? m->ends[nth - 1] : 0, n = m->ends[nth] - begin;
    if (n == 0) {
        memcpy(dst, f->same, f->row_bytes);
        return EMB_OK;
    }
    if (n == 1)
        return embi_fetch(f->table, m->rows[begin], 1, f->dtype, dst, err);
    emb_status status = mean_of_rows(f, m->rows + begin, n, f->sums, err);
    if (!status)
        status = check_finite(f, f->sums, f->d, err);
    return status ? status : round_values(f, f->sums, f->d, dst, err);
}

static emb_status rows_of_pieces(const struct embi_fill *f, uint64_t n, uint64_t nth, char *dst,
                                 emb_err *err)
{
    emb_status status = EMB_OK;
    for (uint64_t i = 0; !status && i < n; i++, dst += f->row_bytes)
        status = row_of_pieces(f, nth + i, dst, err);
    return status;
}

emb_status embi_fill_rows(const struct embi_fill *f, uint64_t first, uint64_t n, uint64_t nth,
                          void *dst, emb_err *err)
{
    if (f->o.fill == EMB_FILL_NORMAL)
        return normal_rows(f, first, n, dst, err);
    if (f->o.fill == EMB_FILL_TABLE)
        return rows_of_table(f, first, n, nth, dst, err);
    if (f->o.fill == EMB_FILL_PIECES)
        return rows_of_pieces(f, n, nth, dst, err);
    if (f->o.fill == EMB_FILL_COVARIANCE) {
        emb_status status = embi_fill_covariance(f, first, n, err);
        if (!status)
            status = check_finite(f, f->sums, n * f->d, err);
        return status ? status : round_values(f, f->sums, n * f->d, dst, err);
    }
    for (uint64_t i = 0; i < n; i++)
        memcpy((char *)dst + i * f->row_bytes, f->same, f->row_bytes);
    return EMB_OK;
}
