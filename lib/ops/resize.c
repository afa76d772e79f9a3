/* resize.c - emb_resize_write: a table with other rows, into a file of the same format.
 *
 * Rows that stay go from the mapped input to the output as bytes, in runs; new ones are made step
 * by step (fill.c). The output appears in one step, after everything was written, so it may replace
 * the input: that stays mapped, whole and unchanged until the end. Tokens that lie in a file beside
 * the table get a new one beside the output.
 */
#include "ops/resize.h"
#include "fmt/rewrite.h"
#include "fmt/sink.h"
#include "model/model.h"
#include "ops/tokens_file.h"
#include "table/writer.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

struct writing {
    struct embi_rewrite w;
    struct embi_fill fill;
    struct embi_tokens_file beside;
    const emb_table *table;
    const emb_resize *plan;
    size_t row_bytes;
    uint64_t step; /* rows that `rows` has room for */
    void *rows;    /* [step, d] */
    uint64_t made; /* new rows so far */
};

/* Which tensor of its file the table is. */
static emb_status find_tensor(const emb_table *table, size_t *tensor, emb_err *err)
{
    const struct embi_reader *r = table->reader;
    *tensor = 0;
    if (!table->tensor)
        return EMB_OK;
    while (*tensor < r->n_tensors && !embi_str_is(r->tensors[*tensor].name, table->tensor))
        ++*tensor;
    return *tensor < r->n_tensors
               ? EMB_OK
               : embi_fail(err, EMB_UNSUPPORTED, -1, "a tensor with a NUL in its name");
}

bool embi_resize_changes_nothing(const emb_resize *plan)
{
    return plan->rows == plan->old_rows &&
           (plan->rows == 0 || (plan->n_runs == 1 && plan->runs[0].source == 0));
}

/* Heads and input tables with as many rows are said: in a model they belong together. */
static void warn_of_others(const emb_table *table, const emb_resize *plan)
{
    const struct embi_reader *r = table->reader;
    if (embi_resize_changes_nothing(plan))
        return;
    for (size_t i = 0; i < r->n_tensors; i++) {
        const struct embi_tensor *t = &r->tensors[i];
        char shown[EMBI_SHOW_MAX];
        int rank;
        if (!t->name.s || t->ndim != 2 || t->shape[0] != plan->old_rows ||
            embi_str_is(t->name, table->tensor))
            continue;
        enum embi_role role = embi_role_of(t->name, &rank);
        if (role == EMBI_ROLE_HEAD || role == EMBI_ROLE_INPUT)
            embi_log(r->env, EMB_LOG_WARNING, table->path,
                     "%s has %" PRIu64 " rows too and stays as it is", embi_show(shown, t->name),
                     plan->old_rows);
    }
}

/* Rows first .. of the table that lie in the file as they are written. */
static bool lies_ready(const emb_table *t, size_t row_bytes)
{
    return embi_table_direct(t) && !t->layout.row_offsets && t->layout.row_stride == row_bytes;
}

/* n old rows from `first`, which become rows from `to` on. */
static emb_status keep_rows(struct writing *x, uint64_t first, uint64_t n, emb_err *err)
{
    emb_status status = EMB_OK;
    if (x->w.how->kept)
        return x->w.how->kept(&x->w, first, n, err);
    if (lies_ready(x->table, x->row_bytes))
        return embi_rewrite_copy(&x->w, x->table->layout.offset + first * x->row_bytes,
                                 n * x->row_bytes, err);
    for (uint64_t done = 0, part; !status && done < n; done += part) {
        part = embi_min(n - done, embi_min(x->step, EMBI_BLOCK_ROWS));
        status = embi_fetch(x->table, first + done, part, x->table->layout.dtype, x->rows, err);
        if (!status)
            status = embi_rewrite_put(&x->w, x->rows, part, NULL, err);
    }
    return status;
}

static emb_status make_rows(struct writing *x, uint64_t first, uint64_t n, emb_err *err)
{
    emb_status status = EMB_OK;
    for (uint64_t done = 0, part; !status && done < n; done += part) {
        const emb_str *tokens = x->w.sink.tokens ? x->plan->tokens + first + done : NULL;
        part = embi_min(n - done, x->step);
        status = embi_fill_rows(&x->fill, first + done, part, x->made, x->rows, err);
        if (!status)
            status = embi_rewrite_put(&x->w, x->rows, part, tokens, err);
        x->made += part;
    }
    return status;
}

static emb_status write_rows(struct writing *x, emb_err *err)
{
    const emb_resize *plan = x->plan;
    emb_status status = embi_rewrite_begin(&x->w, err);
    uint64_t at = 0;
    for (size_t i = 0; !status && i < plan->n_runs; i++) {
        const emb_row_run *run = &plan->runs[i];
        status = run->source == EMB_ROW_NEW ? make_rows(x, at, run->rows, err)
                                            : keep_rows(x, run->source, run->rows, err);
        at += run->rows;
    }
    return status ? status : embi_rewrite_end(&x->w, err);
}

/* ------------------------------------------------------------------------------------------------
 * Tokens beside the table
 */

/* The metadata stay and name a kind of file, which must hold the new tokens as well. */
static emb_status check_beside(const struct embi_beside *kind, const emb_str *tokens, uint64_t n,
                               emb_err *err)
{
    size_t twin = n;
    char shown[EMBI_SHOW_MAX];
    emb_status status = kind->unique ? embi_find_twin(tokens, n, &twin, err) : EMB_OK;
    for (uint64_t i = 0; !status && i < n; i++) {
        const char *why = kind->refuses(tokens[i]);
        if (i == twin)
            why = "it is there twice";
        if (why)
            return embi_fail(err, EMB_UNSUPPORTED, -1, "row %" PRIu64 ": %s cannot hold '%s': %s",
                             i, kind->ending, embi_show(shown, tokens[i]), why);
    }
    return status;
}

static emb_status plan_beside(struct writing *x, const char *path, emb_err *err)
{
    const struct embi_beside *kind = embi_beside_of(x->table->reader);
    emb_status status = embi_tokens_file_plan(&x->beside, kind, x->table, path, err);
    if (status || !kind)
        return status;
    if (!x->plan->tokens)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "its tokens lay beside it in a file of the ending %s: put that back, or "
                         "name tokens with --vocab",
                         kind->ending);
    return check_beside(kind, x->plan->tokens, x->plan->n_tokens, err);
}

emb_status emb_resize_beside(const emb_table *table, const char *path, char **beside, emb_err *err)
{
    const struct embi_beside *kind = embi_beside_of(table->reader);
    *beside = NULL;
    return kind && embi_has_beside(path) ? embi_beside_path(path, kind->ending, beside, err)
                                         : EMB_OK;
}

/* The message is about the table's own file. */
static emb_status fail_beside(const struct writing *x, emb_err *err)
{
    if (err->status != EMB_EXISTS)
        return embi_fail_in(err, "%s", x->beside.path);
    return embi_fail(err, EMB_EXISTS, -1, "needs %s, which exists; --force overwrites it",
                     x->beside.path);
}

/* Both names appear, the table's last. */
static emb_status commit(struct writing *x, const char *path, emb_err *err)
{
    emb_status status = embi_io_prepare(x->w.sink.io, err);
    if (status)
        return status;
    if (embi_tokens_file_commit(&x->beside, path, err))
        return fail_beside(x, err);
    status = embi_io_commit(x->w.sink.io, err);
    embi_tokens_file_end(&x->beside, path);
    return status;
}

/* All that can fail before there is a file. */
static emb_status prepare(struct writing *x, emb_ctx *ctx, const emb_resize_opts *opts,
                          emb_err *err)
{
    const struct embi_layout *layout = &x->table->layout;
    const struct embi_vocab *vocab;
    size_t tensor;
    emb_status status = embi_table_vocab(x->table, &vocab, err);
    if (!status)
        status = find_tensor(x->table, &tensor, err);
    if (!status)
        status = embi_rewrite_init(&x->w, x->table->reader, tensor, layout, x->plan->rows, err);
    if (!status)
        status = embi_fill_begin(&x->fill, ctx, x->table, x->plan, opts, NULL, err);
    if (status)
        return status;
    x->row_bytes = layout->dims * emb_dtype_bytes(layout->dtype);
    x->step = embi_min(embi_fill_step(layout->dims), embi_max(x->plan->new_rows, EMBI_BLOCK_ROWS));
    x->rows = malloc(x->step * x->row_bytes);
    return x->rows ? EMB_OK : embi_fail_memory(err, x->step * x->row_bytes, "a block of rows");
}

emb_status emb_resize_write(emb_ctx *ctx, const emb_table *table, const emb_resize *plan,
                            const emb_resize_opts *opts, const char *path,
                            const emb_write_opts *wopts, emb_err *err)
{
    struct writing x = {.table = table, .plan = plan};
    emb_status status = prepare(&x, ctx, opts, err);
    if (!status)
        status = plan_beside(&x, path, err);
    if (!status)
        warn_of_others(table, plan);
    if (!status)
        status = embi_io_open(&ctx->env, path, embi_write_mode(wopts), &x.w.sink.io, err);
    if (!status &&
        embi_tokens_file_write(&x.beside, table, plan->tokens, plan->n_tokens, wopts, err))
        status = fail_beside(&x, err);
    if (!status)
        status = write_rows(&x, err);
    if (!status)
        status = commit(&x, path, err);
    embi_rewrite_free(&x.w);
    embi_io_close(x.w.sink.io);
    embi_tokens_file_free(&x.beside);
    embi_fill_end(&x.fill);
    free(x.rows);
    return status;
}
