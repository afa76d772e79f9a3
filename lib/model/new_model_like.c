/* new_model_like.c - a new model with the tables, the configuration and the tokenizer of another.
 *
 * The embedding, the output table where one is stored that is not the embedding, and the table of
 * learned positions where there is one. config.json stays as it is, byte for byte, but for the type
 * of the numbers where another one is asked for.
 */
#include "model/model.h"
#include "model/new_model.h"
#include "model/sidecar.h"
#include "util/err.h"
#include "util/json.h"

#include <stdio.h>
#include <stdlib.h>

static emb_status take(struct emb_new_model *n, int tensor, struct embi_model *m, size_t i,
                       emb_dtype dtype, emb_err *err)
{
    const struct embi_tensor *t;
    emb_str name = m->weights.tensors[i].name;
    emb_status status = embi_weights_read(&m->weights, i, &t, err);
    if (status)
        return status;
    n->names[tensor] = strndup(name.s, name.n);
    if (!n->names[tensor])
        return embi_fail_memory(err, name.n, "a name");
    n->arrays[tensor] = (emb_array){.name = n->names[tensor],
                                    .dtype = dtype ? dtype : t->dtype,
                                    .ndim = 2,
                                    .shape = {t->shape[0], t->shape[1]}};
    return EMB_OK;
}

static emb_status take_head(struct emb_new_model *n, struct embi_model *m, emb_dtype dtype,
                            emb_err *err)
{
    size_t head;
    int tied = -1;
    emb_status status = embi_choose_head(m, m->table, &head, err);
    if (!status)
        status = embi_model_tied(m, m->table, head, &tied, err);
    if (status || head == EMBI_NO_TENSOR || tied == 1)
        return status;
    return take(n, EMB_NEW_HEAD, m, head, dtype, err);
}

/* The first that fits. */
static emb_status take_positions(struct emb_new_model *n, struct embi_model *m, emb_dtype dtype,
                                 emb_err *err)
{
    for (size_t i = 0; i < m->weights.n_tensors; i++) {
        const struct embi_tensor *t;
        if (!embi_names_positions(m->weights.tensors[i].name))
            continue;
        emb_status status = embi_weights_read(&m->weights, i, &t, err);
        if (status)
            return status;
        if (t->ndim == 2 && t->shape[1] == n->arrays[EMB_NEW_EMBEDDING].shape[1])
            return take(n, EMB_NEW_POSITIONS, m, i, dtype, err);
    }
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The configuration
 */

/* Copies the text, with the values of "torch_dtype" and "dtype" exchanged for `type`. */
static emb_status retype(const char *s, size_t n, const char *type, struct embi_buf *out,
                         emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    const char *at = s;
    embi_json_init(&j, s, n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_member(&j, &key)) {
        bool typed = embi_json_is(&key, "torch_dtype") || embi_json_is(&key, "dtype");
        if (!embi_json_skip(&j, &v) || !typed)
            continue;
        embi_buf_add(out, at, (size_t)(v.s - at));
        embi_buf_print(out, "\"%s\"", type);
        at = v.s + v.n;
    }
    embi_buf_add(out, at, (size_t)(s + n - at));
    return embi_json_finish(&j, 0, err);
}

static emb_status take_config(struct emb_new_model *n, const struct embi_model *m, emb_dtype dtype,
                              emb_err *err)
{
    struct embi_sidecar file;
    const char *type = dtype ? embi_torch_dtype(dtype) : NULL;
    emb_status status = embi_sidecar_open(m->env, m->dir, "config.json", &file, err);
    if (status)
        return status;
    if (!file.io)
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "there is no config.json in it");
    else if (type)
        status = retype(file.s, file.n, type, &n->config, err);
    else
        embi_buf_add(&n->config, file.s, file.n);
    embi_sidecar_close(&file);
    if (!status && n->config.failed)
        status = embi_fail_memory(err, n->config.n, "config.json");
    return status;
}

static emb_status take_tokenizer(struct emb_new_model *n, const struct embi_model *m, emb_err *err)
{
    bool found = false;
    emb_status status = n->tokenizer ? EMB_OK : embi_tokenizer_in_dir(m->env, m->dir, &found, err);
    if (status || !found)
        return status;
    n->tokenizer = strdup(m->dir);
    return n->tokenizer ? EMB_OK : embi_fail_memory(err, strlen(m->dir), "a path");
}

/* ------------------------------------------------------------------------------------------------
 * The model
 */

/* All other tensors of the model stay as many as they are. */
static emb_status take_params(struct emb_new_model *n, const emb_table *table, emb_err *err)
{
    emb_model_info info;
    emb_status status = emb_table_model(table, &info, err);
    if (status)
        return status;
    n->params = info.params;
    snprintf(n->arch, sizeof n->arch, "%s", info.type ? info.type : "");
    return EMB_OK;
}

static emb_status take_all(struct emb_new_model *n, const emb_table *table, emb_dtype dtype,
                           emb_err *err)
{
    struct embi_model *m = table->model.state;
    if (!m || !m->dir)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "is no model directory");
    emb_status status = take(n, EMB_NEW_EMBEDDING, m, m->table, dtype, err);
    if (!status)
        status = take_positions(n, m, dtype, err);
    if (!status)
        status = take_head(n, m, dtype, err);
    if (!status)
        status = take_config(n, m, dtype, err);
    if (!status)
        status = take_tokenizer(n, m, err);
    return status ? status : take_params(n, table, err);
}

emb_status embi_new_model_like(emb_ctx *ctx, const char *like, emb_dtype dtype,
                               struct emb_new_model *n, emb_err *err)
{
    emb_table *table;
    emb_status status = emb_table_open(ctx, like, NULL, &table, err);
    if (!status) {
        status = take_all(n, table, dtype, err);
        emb_table_close(table);
    }
    return status ? embi_fail_in(err, "%s", like) : EMB_OK;
}
