/* resize_model_rows.c - new entries of each tensor of a model: tables by their own rows (fill.c),
 * biases by a rule, copies as what they copy; and a look at how near new rows are to others.
 */
#include "num/dtype.h"
#include "ops/near.h"
#include "ops/resize_model.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BIAS_STEP = 1 << 16, SAMPLE_ROWS = 16 };

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

/* The embedding's tokens, for other tables of the same rows. */
static emb_status load_tokens(void *state, const emb_str **tokens, uint64_t *n, emb_err *err)
{
    const struct embi_vocab *vocab;
    emb_status status = embi_table_vocab(state, &vocab, err);
    *tokens = status ? NULL : vocab->tokens;
    *n = status ? 0 : vocab->total;
    return status;
}

/* A table of the model beside the embedding. What there was to warn of was said of the
 * embedding. */
static emb_status open_table(emb_model_resize *r, size_t i, emb_err *err)
{
    struct embi_vocab_source source = {.state = (void *)r->table, .load = load_tokens};
    const struct embi_tensor *t = embi_model_resize_tensor(r, i);
    char *name = strndup(t->name.s, t->name.n);
    emb_open_opts opts = {.size = sizeof opts, .tensor = name};
    if (!name)
        return embi_fail_memory(err, t->name.n, "a tensor's name");
    emb_status status = emb_table_open(&r->quiet, r->root, &opts, &r->entries[i].opened, err);
    free(name);
    if (!status)
        embi_table_use_source(r->entries[i].opened, &source);
    return status;
}

static const emb_table *table_of(const emb_model_resize *r, size_t i)
{
    return i == 0 ? r->table : r->entries[i].opened;
}

static emb_status begin_table(emb_model_resize *r, size_t i, emb_err *err)
{
    struct embi_new_entries *e = &r->entries[i];
    emb_resize_opts o = r->o;
    emb_status status = i == 0 ? EMB_OK : open_table(r, i, err);
    if (i > 0 && o.fill == EMB_FILL_TABLE)
        o.fill = EMB_FILL_MEAN;
    if (!status)
        status = embi_table_ready(table_of(r, i), err);
    if (!status)
        status = embi_fill_check(table_of(r, i), &r->rows, &o, err);
    if (status)
        return status;
    e->filled = true;
    status = embi_fill_begin(&e->fill, r->ctx, table_of(r, i), &r->rows, &o, &r->made_of, err);
    e->fill.number = (uint32_t)i;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Biases
 */

/* Zero, or the mean of the entries of the rows that new rows are made of. */
static emb_status begin_bias(emb_model_resize *r, size_t i, emb_err *err)
{
    const struct embi_tensor *t = embi_model_resize_tensor(r, i);
    const struct embi_weights *w = &r->m->weights;
    size_t file = w->tensors[r->v.list[i].tensor].file, bytes = emb_dtype_bytes(t->dtype);
    unsigned char *entry = r->entries[i].entry;
    const void *data;
    double sum = 0, x;
    emb_status status = embi_io_map(w->files[file].reader->io, &data, err);
    if (status || r->o.fill != EMB_FILL_ROWS)
        return status;
    const char *values = (const char *)data + t->offset;
    if (r->o.n_fill_rows == 1) {
        memcpy(entry, values + r->o.fill_rows[0] * bytes, bytes);
        return EMB_OK;
    }
    for (size_t k = 0; !status && k < r->o.n_fill_rows; k++) {
        status =
            emb_convert(&x, EMB_F64, values + r->o.fill_rows[k] * bytes, t->dtype, 1, NULL, err);
        sum += status ? 0 : x;
    }
    sum /= (double)r->o.n_fill_rows;
    return status ? status : emb_convert(entry, t->dtype, &sum, EMB_F64, 1, NULL, err);
}

/* ------------------------------------------------------------------------------------------------
 * How near new rows are
 */

/* The first new rows that follow each other, at most SAMPLE_ROWS of them (one, where all are
 * equal), as x [*n, d]; *first is the row of the first. */
static emb_status sample(emb_model_resize *r, uint64_t *first, size_t *n, double **x, emb_err *err)
{
    const struct embi_fill *f = &r->entries[0].fill;
    const emb_row_run *run = r->rows.runs;
    bool equal = r->o.fill == EMB_FILL_MEAN || r->o.fill == EMB_FILL_ROWS;
    for (*first = 0; run->source != EMB_ROW_NEW; run++)
        *first += run->rows;
    uint64_t differ = run->rows; /* rows without a token are made of no pieces */
    if (r->o.fill == EMB_FILL_PIECES)
        differ = embi_max(1, embi_min(run->rows, r->rows.new_rows - r->rows.padding_rows));
    *n = equal ? 1 : (size_t)embi_min(SAMPLE_ROWS, differ);
    *n = (size_t)embi_min(*n, embi_fill_step(f->d));
    void *rows = malloc(*n * f->row_bytes);
    *x = malloc(*n * f->d * sizeof **x);
    emb_status status = EMB_OK;
    if (!rows || !*x)
        status = embi_fail_memory(err, *n * f->d * sizeof **x, "new rows");
    if (!status)
        status = embi_fill_rows(f, *first, *n, 0, rows, err);
    if (!status)
        status = emb_convert(*x, EMB_F64, rows, f->dtype, *n * f->d, NULL, err);
    free(rows);
    return status;
}

static emb_status warn_of_sample(emb_model_resize *r, uint64_t first, size_t n, const double *x,
                                 emb_err *err)
{
    const struct embi_fill *f = &r->entries[0].fill;
    uint64_t rows[SAMPLE_ROWS];
    size_t a, b, i = 0;
    emb_status status = EMB_OK;
    if (n > 1 && embi_near_each_other(x, n, f->d, &a, &b))
        status = embi_model_resize_warn(
            r, err, "new rows %" PRIu64 " and %" PRIu64 " are nearly equal (cosine above 1 - 1e-6)",
            first + a, first + b);
    if (!status)
        status = embi_near_rows(r->table, f->owners, x, n, rows, err);
    while (!status && i < n && rows[i] == EMB_ROW_NEW)
        i++;
    if (status || i == n)
        return status;
    return embi_model_resize_warn(
        r, err, "new row %" PRIu64 " is nearly equal to row %" PRIu64 " (cosine above 1 - 1e-6)",
        first + i, rows[i]);
}

/* What is known without looking. */
static emb_status warn_of_equal(emb_model_resize *r, emb_err *err)
{
    uint64_t n = r->rows.new_rows;
    const char *train = "train them, or use --init covariance";
    if (r->o.fill == EMB_FILL_ROWS && r->o.n_fill_rows == 1)
        return embi_model_resize_warn(r, err, "%" PRIu64 " new row%s equal to row %" PRIu64, n,
                                      n == 1 ? " is" : "s are", r->o.fill_rows[0]);
    if (n == 1)
        return EMB_OK;
    if (r->o.fill == EMB_FILL_MEAN)
        return embi_model_resize_warn(
            r, err, "the %" PRIu64 " new rows are equal (the mean row): %s", n, train);
    if (r->o.fill == EMB_FILL_ROWS)
        return embi_model_resize_warn(
            r, err, "the %" PRIu64 " new rows are equal (the mean of %zu rows): %s", n,
            r->o.n_fill_rows, train);
    if (r->o.fill == EMB_FILL_ZEROS)
        return embi_model_resize_warn(r, err, "the %" PRIu64 " new rows are equal (zeros): %s", n,
                                      train);
    return EMB_OK;
}

static emb_status warn_of_near(emb_model_resize *r, emb_err *err)
{
    uint64_t first;
    size_t n;
    double *x = NULL;
    if (r->rows.new_rows == 0)
        return EMB_OK;
    emb_status status = warn_of_equal(r, err);
    bool known = r->o.fill == EMB_FILL_ZEROS || r->o.fill == EMB_FILL_NORMAL ||
                 (r->o.fill == EMB_FILL_ROWS && r->o.n_fill_rows == 1);
    if (status || known)
        return status;
    status = sample(r, &first, &n, &x, err);
    if (!status)
        status = warn_of_sample(r, first, n, x, err);
    free(x);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All tensors
 */

emb_status embi_new_entries_begin(emb_model_resize *r, emb_err *err)
{
    emb_status status = EMB_OK;
    char shown[EMBI_SHOW_MAX];
    for (size_t i = 0; !status && i < r->v.n; i++) {
        if (!r->entries[i].changes || r->v.list[i].leader != i)
            continue;
        status =
            r->v.list[i].role == EMBI_VOCAB_BIAS ? begin_bias(r, i, err) : begin_table(r, i, err);
        if (status && i > 0)
            embi_fail_in(err, "%s", embi_show(shown, embi_model_resize_tensor(r, i)->name));
    }
    if (!status && r->v.n && r->entries[0].changes)
        status = warn_of_near(r, err);
    return status;
}

void embi_new_entries_end(emb_model_resize *r)
{
    for (size_t i = 0; r->entries && i < r->v.n; i++) {
        if (r->entries[i].filled)
            embi_fill_end(&r->entries[i].fill);
        emb_table_close(r->entries[i].opened);
    }
}

uint64_t embi_new_entries_step(const emb_model_resize *r, size_t i)
{
    size_t leader = r->v.list[i].leader;
    return r->v.list[i].role == EMBI_VOCAB_BIAS ? BIAS_STEP
                                                : embi_fill_step(r->entries[leader].fill.d);
}

emb_status embi_new_entries_make(const emb_model_resize *r, size_t i, uint64_t first, uint64_t n,
                                 uint64_t nth, void *dst, emb_err *err)
{
    const struct embi_new_entries *e = &r->entries[r->v.list[i].leader];
    size_t bytes = emb_dtype_bytes(embi_model_resize_tensor(r, i)->dtype);
    if (r->v.list[i].role != EMBI_VOCAB_BIAS)
        return embi_fill_rows(&e->fill, first, n, nth, dst, err);
    for (uint64_t k = 0; k < n; k++)
        memcpy((char *)dst + k * bytes, e->entry, bytes);
    return EMB_OK;
}
