/* new_model.c - what a new model is: from a preset, sizes and a tokenizer to tables and a config.
 *
 * Everything that can be refused is refused here, before a file exists.
 */
#include "model/new_model.h"

#include "model/tokenizer.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What was asked for, with the preset's numbers where nothing else was said. */
struct wish {
    const emb_preset *preset; /* or NULL */
    const char *arch;         /* or NULL: none */
    uint64_t rows, dims, positions, multiple;
    bool untied;
    emb_dtype dtype;
};

uint64_t embi_array_params(const emb_array *a)
{
    return a->ndim ? a->shape[0] * a->shape[1] : 0;
}

static void make_wish(const emb_new_model_opts *o, struct wish *w)
{
    static const emb_preset none;
    const emb_preset *p = EMBI_HAS(o, preset) ? o->preset : NULL;
    *w = (struct wish){.preset = p};
    p = p ? p : &none;
    w->rows = EMBI_HAS(o, rows) && o->rows ? o->rows : p->rows;
    w->dims = EMBI_HAS(o, dims) && o->dims ? o->dims : p->dims;
    w->positions = EMBI_HAS(o, positions) && o->positions ? o->positions : p->positions;
    w->multiple = EMBI_HAS(o, row_multiple) ? o->row_multiple : 0;
    w->untied = p->untied || (EMBI_HAS(o, untied) && o->untied);
    w->dtype = EMBI_HAS(o, dtype) && o->dtype ? o->dtype : p->dtype ? p->dtype : EMB_F32;
    w->arch = EMBI_HAS(o, arch) && o->arch ? o->arch : p->arch;
    if (!w->arch && !w->preset)
        w->arch = w->positions ? "gpt2" : "llama";
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

/* One more than the largest id of the tokenizer in the directory. */
static emb_status count_ids(const struct embi_env *env, const char *dir, uint64_t *ids,
                            emb_err *err)
{
    struct embi_tokenizer t;
    bool found;
    emb_status status = embi_tokenizer_open_dir(env, dir, &t, &found, err);
    if (status)
        return embi_fail_in(err, "%s", dir);
    *ids = t.n;
    embi_tokenizer_free(&t);
    if (!found || *ids == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s: there is no tokenizer in it", dir);
    return EMB_OK;
}

static emb_status settle_rows(struct wish *w, uint64_t ids, emb_err *err)
{
    if (!w->rows)
        w->rows = ids;
    if (!w->rows || !w->dims)
        return embi_fail(err, EMB_BAD_ARG, -1, "a model needs rows and dimensions");
    if (w->rows < ids)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "%" PRIu64 " rows are fewer than the tokenizer's %" PRIu64 " ids", w->rows,
                         ids);
    if (w->multiple && !embi_add(w->rows, w->multiple - 1, &w->rows))
        return embi_fail(err, EMB_BAD_ARG, -1, "a multiple of %" PRIu64 " is too large",
                         w->multiple);
    if (w->multiple)
        w->rows -= w->rows % w->multiple;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Tables and config
 */

static emb_status set_array(struct emb_new_model *m, const struct wish *w,
                            const struct embi_blueprint *b, int tensor, uint64_t rows, emb_err *err)
{
    uint64_t bytes = emb_dtype_bytes(w->dtype);
    const char *name = b ? b->tensors[tensor] : NULL;
    if (b && !name)
        return embi_fail(err, EMB_BAD_ARG, -1, "%s has no table of learned positions", b->type);
    if (!embi_mul(bytes, rows, &bytes) || !embi_mul(bytes, w->dims, &bytes) || bytes > INT64_MAX)
        return embi_fail(err, EMB_BAD_ARG, -1, "a table of %" PRIu64 " x %" PRIu64 " has no size",
                         rows, w->dims);
    m->arrays[tensor] =
        (emb_array){.name = name, .dtype = w->dtype, .ndim = 2, .shape = {rows, w->dims}};
    return EMB_OK;
}

static emb_status set_arrays(struct emb_new_model *m, const struct wish *w,
                             const struct embi_blueprint *b, emb_err *err)
{
    if (!b && (w->positions || w->untied))
        return embi_fail(err, EMB_BAD_ARG, -1, "%s is one table: further ones need an architecture",
                         w->preset->name);
    emb_status status = set_array(m, w, b, EMB_NEW_EMBEDDING, w->rows, err);
    if (!status && w->positions)
        status = set_array(m, w, b, EMB_NEW_POSITIONS, w->positions, err);
    if (!status && w->untied)
        status = set_array(m, w, b, EMB_NEW_HEAD, w->rows, err);
    return status;
}

/* The blocks of a preset are those of its architecture. */
static emb_status set_config(struct emb_new_model *m, const struct wish *w,
                             const struct embi_blueprint *b, emb_err *err)
{
    struct embi_model_sizes sizes = {.rows = w->rows,
                                     .dims = w->dims,
                                     .context = w->positions,
                                     .untied = w->untied,
                                     .dtype = w->dtype};
    const emb_preset *p = w->preset;
    if (!b || !embi_torch_dtype(w->dtype))
        return EMB_OK;
    if (p && p->arch && strcmp(p->arch, b->type) == 0) {
        sizes.layers = p->layers;
        sizes.heads = p->heads;
        sizes.kv_heads = p->kv_heads;
        sizes.inner = p->inner;
        sizes.context = w->positions ? w->positions : p->context;
        sizes.more = p->config;
    }
    embi_blueprint_config(b, &sizes, &m->config);
    return m->config.failed ? embi_fail_memory(err, m->config.n, "config.json") : EMB_OK;
}

/* The preset's total, with its tables exchanged for ours. */
static void count_params(struct emb_new_model *m, const struct wish *w)
{
    const emb_preset *p = w->preset;
    if (!p || !p->params)
        return;
    m->params = p->params - (p->rows * (p->untied ? 2 : 1) + p->positions) * p->dims;
    for (int t = 0; t < EMB_NEW_TENSORS; t++)
        m->params += embi_array_params(&m->arrays[t]);
}

static emb_status unknown_arch(const char *arch, emb_err *err)
{
    struct embi_buf list = {0};
    char shown[EMBI_SHOW_MAX];
    embi_blueprint_list(&list);
    embi_fail(err, EMB_BAD_ARG, -1, "architecture %s: expected one of %s",
              embi_show(shown, (emb_str){arch, strlen(arch)}), embi_buf_cstr(&list));
    embi_buf_free(&list);
    return EMB_BAD_ARG;
}

static emb_status settle(struct emb_new_model *m, struct wish *w, emb_err *err)
{
    const struct embi_blueprint *b = w->arch ? embi_blueprint_of(w->arch) : NULL;
    uint64_t ids = 0;
    if (w->arch && !b)
        return unknown_arch(w->arch, err);
    if (b)
        snprintf(m->arch, sizeof m->arch, "%s", b->type);
    emb_status status = m->tokenizer ? count_ids(m->env, m->tokenizer, &ids, err) : EMB_OK;
    if (!status)
        status = settle_rows(w, ids, err);
    if (!status)
        status = set_arrays(m, w, b, err);
    if (!status)
        status = set_config(m, w, b, err);
    if (!status)
        count_params(m, w);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The object
 */

static emb_status check_like(const emb_new_model_opts *o, emb_err *err)
{
    if ((EMBI_HAS(o, preset) && o->preset) || (EMBI_HAS(o, arch) && o->arch) ||
        (EMBI_HAS(o, rows) && o->rows) || (EMBI_HAS(o, dims) && o->dims) ||
        (EMBI_HAS(o, positions) && o->positions) || (EMBI_HAS(o, untied) && o->untied) ||
        (EMBI_HAS(o, row_multiple) && o->row_multiple))
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "a model like another one has its shape, tables and architecture");
    return EMB_OK;
}

static emb_status settle_like(emb_ctx *ctx, const emb_new_model_opts *o, struct emb_new_model *m,
                              emb_err *err)
{
    uint64_t ids = 0;
    emb_status status = check_like(o, err);
    if (!status && m->tokenizer)
        status = count_ids(m->env, m->tokenizer, &ids, err);
    if (!status)
        status = embi_new_model_like(ctx, o->like, EMBI_HAS(o, dtype) ? o->dtype : EMB_DTYPE_NONE,
                                     m, err);
    if (!status && ids > m->arrays[EMB_NEW_EMBEDDING].shape[0])
        status = embi_fail(err, EMB_BAD_ARG, -1,
                           "%" PRIu64 " rows are fewer than the tokenizer's %" PRIu64 " ids",
                           m->arrays[EMB_NEW_EMBEDDING].shape[0], ids);
    return status;
}

emb_status emb_new_model_open(emb_ctx *ctx, const emb_new_model_opts *opts, emb_new_model **model,
                              emb_err *err)
{
    struct wish w;
    emb_status status = EMB_OK;
    struct emb_new_model *m = calloc(1, sizeof *m);
    if (!m)
        return embi_fail_memory(err, sizeof *m, "a model");
    m->env = &ctx->env;
    if (EMBI_HAS(opts, tokenizer) && opts->tokenizer) {
        m->tokenizer = strdup(opts->tokenizer);
        if (!m->tokenizer)
            status = embi_fail_memory(err, strlen(opts->tokenizer), "a path");
    }
    make_wish(opts, &w);
    if (!status)
        status = EMBI_HAS(opts, like) && opts->like ? settle_like(ctx, opts, m, err)
                                                    : settle(m, &w, err);
    if (status)
        emb_new_model_close(m);
    else
        *model = m;
    return status;
}

void emb_new_model_close(emb_new_model *m)
{
    if (!m)
        return;
    for (int t = 0; t < EMB_NEW_TENSORS; t++)
        free(m->names[t]);
    embi_buf_free(&m->config);
    free(m->tokenizer);
    free(m);
}

const emb_array *emb_new_model_array(const emb_new_model *m, int tensor)
{
    bool there = tensor >= 0 && tensor < EMB_NEW_TENSORS && m->arrays[tensor].ndim;
    return there ? &m->arrays[tensor] : NULL;
}

uint64_t emb_new_model_params(const emb_new_model *m)
{
    return m->params;
}

const char *emb_new_model_arch(const emb_new_model *m)
{
    return m->arch[0] ? m->arch : NULL;
}
