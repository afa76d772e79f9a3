/* shard.c - a table, or the tables of a model, cut for tensor parallelism: what will be written.
 * shard_write.c writes it; model/shards.c reads it again.
 */
#include "ops/shard.h"

#include "model/sidecar.h"
#include "model/vocab_tensors.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * Tensors
 */

static emb_status refuse_type(const emb_table *table, emb_err *err)
{
    emb_dtype dtype = table->layout.dtype;
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "shards are safetensors files, which cannot hold %s: convert the table first",
                     emb_dtype_name(dtype));
}

static enum embi_shard_cut cut_of(const emb_shards *s, bool bias)
{
    if (bias)
        return s->kind.dims ? EMBI_CUT_NONE : EMBI_CUT_COLUMNS;
    return s->kind.dims ? EMBI_CUT_COLUMNS : EMBI_CUT_ROWS;
}

/* Appends an open table; ndim and shape: of the stored tensor. There is room. */
static void append(emb_shards *s, const emb_table *table, emb_table *own, const char *role,
                   bool bias, int ndim)
{
    const struct embi_layout *l = &table->layout;
    size_t i = s->plan.n_tensors++;
    enum embi_shard_cut cut = cut_of(s, bias);
    s->sources[i] = (struct embi_shard_source){table, own, cut};
    emb_shards_tensor *t = &s->tensors[i];
    *t = (emb_shards_tensor){.name = table->tensor ? table->tensor : "embedding.weight",
                             .role = role,
                             .dtype = l->dtype,
                             .ndim = ndim,
                             .shape = {l->rows, l->dims}};
    if (ndim == 1)
        t->shape[0] = l->dims;
    memcpy(t->shard_shape, t->shape, sizeof t->shape);
    if (cut != EMBI_CUT_NONE)
        t->shard_shape[cut == EMBI_CUT_COLUMNS && ndim == 2] = s->plan.part;
    s->plan.rows += l->rows * (cut == EMBI_CUT_ROWS ? 1 : s->o.parts);
}

static emb_status check_shape(const emb_shards *s, const emb_table *t, bool bias, emb_err *err)
{
    const struct embi_layout *e = &s->table->layout, *l = &t->layout;
    uint64_t rows = bias ? l->dims : l->rows;
    if (rows != e->rows)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "%s has %" PRIu64 " %s, the embedding has %" PRIu64 " rows", t->tensor,
                         rows, bias ? "entries" : "rows", e->rows);
    if (!bias && l->dims != e->dims)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "%s has rows of %" PRIu32 " numbers, the embedding of %" PRIu32, t->tensor,
                         l->dims, e->dims);
    return emb_dtype_block(l->dtype) > 1 ? refuse_type(t, err) : EMB_OK;
}

/* One more tensor of the model. */
static emb_status add_tensor(emb_shards *s, const struct embi_vocab_tensors *v, size_t i,
                             emb_err *err)
{
    const struct embi_vocab_tensor *t = &v->list[i];
    emb_str name = s->model->weights.tensors[t->tensor].name;
    bool bias = t->role == EMBI_VOCAB_BIAS;
    char *copy = strndup(name.s, name.n);
    emb_open_opts opts = {.size = sizeof opts, .tensor = copy, .flat = true};
    emb_table *own;
    if (!copy)
        return embi_fail_memory(err, name.n, "a name");
    emb_status status = emb_table_open(s->ctx, s->model->dir, &opts, &own, err);
    if (!status) {
        status = embi_table_ready(own, err);
        if (!status)
            status = check_shape(s, own, bias, err);
        if (status)
            emb_table_close(own);
    }
    if (!status)
        append(s, own, own, embi_vocab_role_name(v, i), bias, own->ndim);
    free(copy);
    return status;
}

/* All but the embedding, which is s->table. */
static emb_status add_others(emb_shards *s, const struct embi_vocab_tensors *v, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 1; !status && i < v->n; i++) {
        if (v->list[i].role == EMBI_VOCAB_PER_LAYER)
            embi_log(&s->ctx->env, EMB_LOG_WARNING, s->model->dir,
                     "its tables of each layer are not cut, and no part of the shards");
        else
            status = add_tensor(s, v, i, err);
    }
    return status;
}

static emb_status take_room(emb_shards *s, size_t n, emb_err *err)
{
    s->sources = calloc(n, sizeof *s->sources);
    s->tensors = calloc(n, sizeof *s->tensors);
    return s->sources && s->tensors ? EMB_OK
                                    : embi_fail_memory(err, n * sizeof *s->tensors, "tensors");
}

/* Is the table the embedding of a model's directory, as it is stored there? */
static emb_status find_model(emb_shards *s, emb_err *err)
{
    struct embi_model *m = s->table->model.state;
    size_t input;
    if (!m || !m->dir || !m->root_bytes || s->table->limit_rows ||
        s->table->layout.rows != s->table->shape[0])
        return EMB_OK;
    if (!m->config.found)
        return EMB_OK;
    emb_status status = embi_choose_input(m, &input, err);
    if (!status && input == m->table)
        s->model = m;
    return status;
}

static emb_status add_tensors(emb_shards *s, emb_err *err)
{
    struct embi_vocab_tensors v = {0};
    emb_status status = find_model(s, err);
    if (!status && s->model)
        status = embi_vocab_tensors_find(s->model, &v, err);
    if (!status)
        status = take_room(s, v.n + 1, err);
    if (!status) {
        append(s, s->table, NULL, s->model ? "embedding" : "table", false, 2);
        status = add_others(s, &v, err);
    }
    embi_vocab_tensors_free(&v);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Tokens, the plan
 */

/* They go where those of the first file, saved by itself, would: a model's tokenizer is copied. */
static emb_status plan_tokens(emb_shards *s, emb_err *err)
{
    char name[EMBI_SHARD_NAME_BYTES], *path;
    if (s->model) {
        s->plan.tokens = s->table->vocab.source.load ? "tokenizer" : NULL;
        return EMB_OK;
    }
    emb_status status = embi_path_join(s->path, embi_shard_name(name, 0, s->o.parts), &path, err);
    if (status)
        return status;
    emb_save_opts opts = {.size = sizeof opts, .format = "safetensors", .lossy = s->o.lossy};
    status = emb_save_open(s->ctx, s->table, path, &opts, &s->save, err);
    free(path);
    if (status)
        return status;
    const emb_save_plan *plan = emb_save_plan_of(s->save);
    if (plan->dtype != s->table->layout.dtype)
        return refuse_type(s->table, err);
    s->plan.tokens = s->save->beside.kind ? s->save->beside.kind->ending : NULL;
    s->plan.losses = plan->losses;
    s->plan.n_losses = plan->n_losses;
    return EMB_OK;
}

static emb_status plan(emb_shards *s, emb_err *err)
{
    const struct embi_layout *l = &s->table->layout;
    if (s->o.parts < 1 || s->o.parts > EMB_SHARDS_MAX)
        return embi_fail(err, EMB_BAD_ARG, -1, "%" PRIu32 " shards: expected 1 to %d", s->o.parts,
                         EMB_SHARDS_MAX);
    emb_status status = embi_table_ready(s->table, err);
    if (status)
        return status;
    if (emb_dtype_block(l->dtype) > 1)
        return refuse_type(s->table, err);
    bool dims = s->o.axis == EMB_SHARD_DIMS;
    s->kind =
        (struct embi_shard){.dims = dims, .size = s->o.parts, .total = dims ? l->dims : l->rows};
    s->plan.parts = s->o.parts;
    s->plan.axis = s->o.axis;
    s->plan.total = s->kind.total;
    s->plan.part = embi_shard_part(s->kind.total, s->kind.size);
    status = add_tensors(s, err);
    s->plan.tensors = s->tensors;
    return status ? status : plan_tokens(s, err);
}

emb_status emb_shards_open(emb_ctx *ctx, const emb_table *table, const char *path,
                           const emb_shards_opts *opts, emb_shards **shards, emb_err *err)
{
    emb_shards *s = calloc(1, sizeof *s);
    *shards = NULL;
    if (!s)
        return embi_fail_memory(err, sizeof *s, "shards");
    s->ctx = ctx;
    s->table = table;
    if (opts)
        memcpy(&s->o, opts, embi_min(opts->size, sizeof s->o));
    s->path = strdup(path);
    emb_status status = s->path ? plan(s, err) : embi_fail_memory(err, strlen(path), "a path");
    if (status)
        emb_shards_close(s);
    else
        *shards = s;
    return status;
}

const emb_shards_plan *emb_shards_plan_of(const emb_shards *shards)
{
    return &shards->plan;
}

void emb_shards_part(const emb_shards *shards, uint32_t rank, uint64_t *first, uint64_t *count)
{
    struct embi_shard s = shards->kind;
    s.rank = rank;
    embi_shard_place(&s);
    *first = s.first;
    *count = s.count;
}

void emb_shards_close(emb_shards *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->plan.n_tensors; i++)
        emb_table_close(s->sources[i].own);
    emb_save_close(s->save);
    free(s->sources);
    free(s->tensors);
    free(s->path);
    free(s);
}
