/* logits.c - an output table as what makes logits: its bias, what the model does besides, and the
 * highest logits, which are a search.
 *
 * Ranks come from the canonical dot products (search.h) plus the bias; factors and caps rise with
 * them, so they are applied to the few scores that are handed out.
 */
#include "ops/logits.h"

#include "model/head_scale.h"
#include "model/vocab_tensors.h"
#include "num/dtype.h"
#include "ops/search.h"
#include "util/err.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

/* Tensor i of the model, [V] or [1, V], as l->bias. */
static emb_status read_bias(emb_logits *l, struct embi_model *m, size_t i, emb_err *err)
{
    const struct embi_tensor *t;
    const void *data;
    uint64_t stored = l->table->shape[0]; /* with limit_rows more than are looked at */
    uint64_t rows = l->table->layout.rows;
    emb_status status = embi_weights_read(&m->weights, i, &t, err);
    if (status)
        return status;
    uint64_t entries = t->shape[t->ndim - 1];
    if (entries != stored)
        return embi_fail(err, EMB_BAD_DATA, -1, "%llu entries, the output table has %llu rows",
                         (unsigned long long)entries, (unsigned long long)stored);
    if (!emb_dtype_is_float(t->dtype) || t->swap || t->strided)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "a bias that is no plain list of floats (%s)",
                         t->type_name);
    l->bias = calloc(rows + 1, sizeof *l->bias);
    if (!l->bias)
        return embi_fail_memory(err, rows * sizeof *l->bias, "the bias");
    status = embi_io_map(t->io, &data, err);
    if (status)
        return embi_io_fail_in(t->io, err);
    status =
        emb_convert(l->bias, EMB_F64, (const char *)data + t->offset, t->dtype, rows, NULL, err);
    for (uint64_t r = 0; !status && r < rows; r++)
        if (!isfinite(l->bias[r]))
            status =
                embi_fail(err, EMB_BAD_DATA, (int64_t)r,
                          "the entry of row %llu is NaN or an infinity", (unsigned long long)r);
    return status;
}

static emb_status find_bias(emb_logits *l, struct embi_model *m, emb_err *err)
{
    size_t i;
    emb_status status = embi_output_bias_find(m, l->table->shape[0], &i, err);
    if (status || i == EMBI_NO_TENSOR)
        return status;
    char shown[EMBI_SHOW_MAX];
    emb_str name = m->weights.tensors[i].name;
    l->bias_name = strndup(name.s, name.n);
    l->info.bias = l->bias_name;
    if (!l->bias_name)
        return embi_fail_memory(err, name.n, "a tensor name");
    return read_bias(l, m, i, err) ? embi_fail_in(err, "%s", embi_show(shown, name)) : EMB_OK;
}

/* What the model does besides. Not to know it is a failure only where it is to be done. */
static emb_status find_scale(emb_logits *l, const struct embi_model *m, emb_err *err)
{
    struct embi_head_scale scale = {1, 1, 0};
    emb_status status = embi_head_scale_open(m->env, m->dir, &m->config, l->info.dims, &scale, err);
    l->info.known = status == EMB_OK;
    l->info.type = m->config.type[0] ? m->config.type : NULL;
    if (l->info.known) {
        l->info.hidden_scale = scale.hidden;
        l->info.scale = scale.scale;
        l->info.soft_cap = scale.cap;
    }
    return !l->as_model && status == EMB_UNSUPPORTED ? EMB_OK : status;
}

static emb_status open_logits(emb_logits *l, emb_err *err)
{
    struct embi_model *m = l->table->model.state;
    emb_status status = embi_table_ready(l->table, err);
    if (status)
        return status;
    if (!(l->temperature > 0) || !isfinite(l->temperature))
        return embi_fail(err, EMB_BAD_ARG, -1, "temperature %g: expected a number above 0",
                         l->temperature);
    l->info.rows = l->table->layout.rows;
    l->info.dims = l->table->layout.dims;
    if (!m || !m->output)
        return l->as_model ? embi_fail(err, EMB_UNSUPPORTED, -1,
                                       "a table alone says of no model what it does")
                           : EMB_OK;
    status = find_bias(l, m, err);
    return status ? status : find_scale(l, m, err);
}

emb_status emb_logits_open(const emb_table *table, const emb_logits_opts *opts, emb_logits **logits,
                           emb_err *err)
{
    emb_logits *l = calloc(1, sizeof *l);
    *logits = NULL;
    if (!l)
        return embi_fail_memory(err, sizeof *l, "logits");
    l->table = table;
    l->as_model = EMBI_HAS(opts, as_model) && opts->as_model;
    l->temperature = EMBI_HAS(opts, temperature) && opts->temperature != 0 ? opts->temperature : 1;
    l->device = EMBI_HAS(opts, device) ? opts->device : NULL;
    l->info.hidden_scale = l->info.scale = 1;
    emb_status status = open_logits(l, err);
    if (status)
        emb_logits_close(l);
    else
        *logits = l;
    return status;
}

void emb_logits_close(emb_logits *l)
{
    if (!l)
        return;
    free(l->bias);
    free(l->bias_name);
    free(l);
}

const emb_logits_info *emb_logits_describe(const emb_logits *l)
{
    return &l->info;
}

/* ------------------------------------------------------------------------------------------------
 * What is shared
 */

double embi_logit_of(const emb_logits *l, double x)
{
    if (l->as_model) {
        double cap = l->info.soft_cap;
        x *= l->info.scale;
        x = cap > 0 ? cap * tanh(x / cap) : x;
    }
    return x / l->temperature;
}

void embi_logits_hidden(const emb_logits *l, const emb_block *h, size_t i, double *v)
{
    size_t row_bytes = h->dims * emb_dtype_bytes(h->dtype);
    double scale = embi_logits_hidden_scale(l);
    embi_to_f64(v, (const char *)h->data + i * (h->stride_bytes ? h->stride_bytes : row_bytes),
                h->dtype, h->dims);
    for (uint32_t c = 0; c < h->dims; c++)
        v[c] *= scale;
}

emb_status embi_logits_check(const emb_logits *l, const emb_block *h, emb_err *err)
{
    if (h->dtype != EMB_F32 && h->dtype != EMB_F64)
        return embi_fail(err, EMB_BAD_ARG, -1, "hidden states of type %s; f32 or f64 expected",
                         emb_dtype_name(h->dtype));
    if (h->dims != l->info.dims)
        return embi_fail(err, EMB_BAD_ARG, -1, "hidden states of %u numbers; the table has %u",
                         h->dims, l->info.dims);
    double *v = malloc(h->dims * sizeof *v + 1);
    if (!v)
        return embi_fail_memory(err, h->dims * sizeof *v, "a hidden state");
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < h->rows; i++) {
        embi_logits_hidden(l, h, i, v);
        if (!embi_all_finite(v, NAN, h->dims))
            status = embi_fail(err, EMB_BAD_DATA, (int64_t)i,
                               "hidden state %zu holds NaN or an infinity", i);
    }
    free(v);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The highest
 */

emb_status emb_logits_top(const emb_logits *l, const emb_block *h, uint64_t k, emb_hit *hits,
                          size_t *counts, emb_search_info *info, emb_err *err)
{
    const emb_search_opts opts = {
        .size = sizeof opts, .k = k, .metric = EMB_DOT, .bias = l->bias, .device = l->device};
    uint64_t bytes;
    emb_status status = embi_logits_check(l, h, err);
    if (status)
        return status;
    if (!embi_mul(h->rows * sizeof(double), h->dims, &bytes))
        return embi_fail_memory(err, UINT64_MAX, "hidden states");
    double *queries = malloc(bytes + 1); /* [n, d] */
    if (!queries)
        return embi_fail_memory(err, bytes, "hidden states");
    for (size_t i = 0; i < h->rows; i++)
        embi_logits_hidden(l, h, i, queries + i * h->dims);
    emb_block block = {queries, h->rows, h->dims, EMB_F64, 0};
    status = emb_search(l->table, &block, &opts, hits, counts, info, err);
    uint64_t width = k == 0 ? l->info.rows : embi_min(k, l->info.rows);
    for (size_t i = 0; !status && i < h->rows; i++)
        for (size_t r = 0; r < counts[i]; r++)
            hits[i * width + r].score = embi_logit_of(l, hits[i * width + r].score);
    free(queries);
    return status;
}
