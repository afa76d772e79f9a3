/* describe.c - what a table's model is: its size, and whether its head is a table of its own
 * (design.md, D3). All headers are read here, and a stored head is compared with the embedding.
 */
#include "model/model.h"
#include "util/err.h"

/* Of a type that numbers of a model have: floats, blocks, the codes of 8-bit weights, and what is
 * listed only: small floats, complex numbers, blocks that are not computed with. Wider integers are
 * indices. */
static bool is_parameters(const struct embi_tensor *t)
{
    return t->dtype == EMB_DTYPE_NONE || emb_dtype_is_float(t->dtype) ||
           emb_dtype_block(t->dtype) > 1 || t->dtype == EMB_I8 || t->dtype == EMB_U8;
}

static uint64_t params_of(const struct embi_tensor *t)
{
    uint64_t n = 0;
    return is_parameters(t) && embi_shape_count(t->shape, t->ndim, &n) ? n : 0;
}

/* Is tensor i a stored copy of the input embedding? Only names of tables are looked at. */
static emb_status is_copy(struct embi_model *m, size_t i, size_t input, bool *copy, emb_err *err)
{
    int rank;
    enum embi_role role = embi_role_of(m->weights.tensors[i].name, &rank);
    *copy = false;
    if (i == input || (role != EMBI_ROLE_INPUT && role != EMBI_ROLE_HEAD))
        return EMB_OK;
    return embi_weights_same(&m->weights, input, i, copy, err);
}

static emb_status count_params(struct embi_model *m, size_t input, uint64_t *params, emb_err *err)
{
    const struct embi_tensor *t;
    emb_status status = embi_weights_read_all(&m->weights, err);
    *params = 0;
    for (size_t i = 0; !status && i < m->weights.n_tensors; i++) {
        bool copy;
        status = is_copy(m, i, input, &copy, err);
        if (!status)
            status = embi_weights_read(&m->weights, i, &t, err);
        if (!status && !copy)
            *params += params_of(t);
    }
    return status;
}

/* Rows of the stored tables of positions that are as wide as the embedding: an encoder and a
 * decoder may each have one. Called when all headers were read. */
static emb_status count_positions(struct embi_model *m, size_t input, uint64_t *rows, emb_err *err)
{
    const struct embi_tensor *in, *t;
    emb_status status = embi_weights_read(&m->weights, input, &in, err);
    *rows = 0;
    for (size_t i = 0; !status && i < m->weights.n_tensors; i++) {
        if (!embi_names_positions(m->weights.tensors[i].name))
            continue;
        status = embi_weights_read(&m->weights, i, &t, err);
        if (!status && t->ndim == 2 && t->shape[1] == in->shape[1])
            *rows += t->shape[0];
    }
    return status;
}

static emb_status describe(struct embi_model *m, emb_model_info *info, emb_err *err)
{
    size_t input, head;
    emb_status status = embi_choose_input(m, &input, err);
    if (!status)
        status = embi_choose_head(m, input, &head, err);
    if (!status)
        status = embi_model_tied(m, input, head, &info->tied, err);
    if (!status)
        status = count_params(m, input, &info->params, err);
    if (!status)
        status = count_positions(m, input, &info->positions, err);
    if (!status && m->weights.files[0].reader->shards)
        info->params = 0; /* shards have the tables of a model alone */
    return status;
}

emb_status emb_table_model(const emb_table *table, emb_model_info *info, emb_err *err)
{
    struct embi_model *m = table->model.state;
    const struct embi_tensor *t;
    *info = (emb_model_info){.tied = -1};
    if (!m || (!m->dir && !m->config.gguf))
        return EMB_OK;
    const struct embi_weights_file *file = &m->weights.files[0];
    info->type = m->config.type[0] ? m->config.type : NULL;
    emb_status status = embi_weights_read(&m->weights, m->table, &t, err);
    if (status)
        return status;
    info->table_params = params_of(t);
    status = m->part ? EMB_OK : describe(m, info, err);
    if (!status || status == EMB_NO_MEMORY)
        return status;
    embi_log(m->env, EMB_LOG_WARNING, file->named ? file->path : m->dir,
             "nothing is said of the whole model: %s", err->msg);
    info->tied = -1;
    info->params = 0;
    info->positions = 0;
    return EMB_OK;
}
