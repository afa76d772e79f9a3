/* model.c - a model's life: what is opened for a directory, for a file in one, for a file alone.
 */
#include "model/model.h"

#include "io/place.h"
#include "model/architectures.h"
#include "model/gguf_model.h"
#include "model/sidecar.h"
#include "util/err.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static emb_status new_model(const struct embi_env *env, struct embi_model **model, emb_err *err)
{
    *model = calloc(1, sizeof **model);
    if (!*model)
        return embi_fail_memory(err, sizeof **model, "a model");
    (*model)->env = env;
    (*model)->config.tied = -1;
    (*model)->table = EMBI_NO_TENSOR;
    return EMB_OK;
}

void embi_model_free(struct embi_model *m)
{
    if (!m)
        return;
    embi_tokenizer_free(&m->tokenizer);
    embi_weights_free(&m->weights);
    free(m->dir);
    free(m);
}

/* The directory that the user means, without slashes at its end. */
static emb_status note_root(struct embi_model *m, const char *dir, emb_err *err)
{
    struct stat st;
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    m->root_bytes = n;
    if (stat(dir, &st) != 0)
        return embi_path_is_dir(m->env, dir) ? EMB_OK : embi_fail_errno(err, errno, NULL);
    m->root_id[0] = st.st_dev;
    m->root_id[1] = st.st_ino;
    return EMB_OK;
}

/* sentence-transformers may keep the model proper in a folder of its own. */
static emb_status find_dir(const struct embi_env *env, const char *dir, char **found, emb_err *err)
{
    static const char *const folders[] = {"0_Transformer", "0_StaticEmbedding"};
    *found = NULL;
    for (size_t i = 0; i < EMBI_LEN(folders) && !embi_weights_in(env, dir); i++) {
        emb_status status = embi_path_join(dir, folders[i], found, err);
        if (status || embi_weights_in(env, *found))
            return status;
        free(*found);
        *found = NULL;
    }
    *found = strdup(dir);
    size_t n = *found ? strlen(*found) : 0;
    while (n > 1 && (*found)[n - 1] == '/') /* of "dir/" */
        (*found)[--n] = 0;
    return *found ? EMB_OK : embi_fail_memory(err, strlen(dir), "a path");
}

emb_status embi_model_open_dir(const struct embi_env *env, const char *dir,
                               const struct embi_read_opts *opts, struct embi_model **model,
                               emb_err *err)
{
    struct embi_model *m;
    emb_status status = new_model(env, &m, err);
    if (status)
        return status;
    status = note_root(m, dir, err);
    if (!status)
        status = find_dir(env, dir, &m->dir, err);
    if (!status)
        status = embi_config_open(env, m->dir, &m->config, err);
    if (!status)
        status = embi_weights_open(env, m->dir, opts, &m->weights, err);
    if (!status && embi_weights_are_gguf(&m->weights))
        embi_gguf_config(&m->weights, &m->config);
    if (status)
        embi_model_free(m);
    else
        *model = m;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * A file and what lies beside it
 */

/* Is the file one of several that together are the model? */
static bool is_part(const struct embi_model *m)
{
    const char *name = m->weights.files[0].name;
    return strcmp(name, "model.safetensors") != 0 && strcmp(name, "pytorch_model.bin") != 0 &&
           embi_weights_in(m->env, m->dir);
}

/* A directory is a model's if it has a config.json, and files of named tensors are its weights. */
static emb_status look_beside(struct embi_model *m, const struct embi_reader *reader, emb_err *err)
{
    emb_status status = EMB_OK;
    if (!(reader->format->caps & EMBI_FMT_NAMES) || reader->outer || strcmp(reader->path, "-") == 0)
        return EMB_OK;
    status = embi_path_dir(reader->path, &m->dir, err);
    if (status)
        return status;
    if (!embi_sidecar_exists(m->env, m->dir, "config.json")) {
        free(m->dir);
        m->dir = NULL;
        return EMB_OK;
    }
    m->part = is_part(m);
    return embi_config_open(m->env, m->dir, &m->config, err);
}

emb_status embi_model_open_file(struct embi_reader *reader, struct embi_model **model, emb_err *err)
{
    struct embi_model *m;
    emb_status status = new_model(reader->env, &m, err);
    if (status) {
        embi_reader_close(reader);
        return status;
    }
    status = embi_weights_of_reader(reader, &m->weights, err);
    if (!status)
        status = look_beside(m, reader, err);
    if (!status && embi_weights_are_gguf(&m->weights)) {
        embi_gguf_config(&m->weights, &m->config);
        m->part = false;
    }
    if (status)
        embi_model_free(m);
    else
        *model = m;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

static void free_model(void *state)
{
    embi_model_free(state);
}

emb_status embi_model_table(const emb_ctx *ctx, struct embi_model *m, uint64_t limit_rows,
                            emb_table **table, emb_err *err)
{
    const struct embi_tensor *tensor;
    emb_status status = embi_weights_read(&m->weights, m->table, &tensor, err);
    if (!status)
        status = embi_refuse_quantised(&m->weights, m->table, err);
    if (!status)
        status = embi_refuse_transposed(m, m->table, err);
    if (!status) {
        size_t at = m->weights.tensors[m->table].at;
        status = embi_table_new(ctx, embi_weights_lend(&m->weights, m->table), at, limit_rows,
                                table, err);
    }
    if (status) {
        embi_model_free(m);
        return status;
    }
    (*table)->model.state = m;
    (*table)->model.free = free_model;
    return EMB_OK;
}

emb_status embi_refuse_transposed(struct embi_model *m, size_t i, emb_err *err)
{
    const struct embi_tensor *t;
    char shown[EMBI_SHOW_MAX];
    uint64_t rows = m->config.vocab_size;
    emb_status status = embi_weights_read(&m->weights, i, &t, err);
    if (status || t->ndim != 2 || !rows || t->shape[0] == rows || t->shape[1] != rows ||
        !embi_config_has_width(&m->config, t->shape[0]))
        return status;
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "%s is stored as [d, V] = [%llu, %llu], as a layer's kernel: not read by this "
                     "version",
                     embi_show(shown, m->weights.tensors[i].name), (unsigned long long)t->shape[0],
                     (unsigned long long)t->shape[1]);
}

/* ------------------------------------------------------------------------------------------------
 * Rows by token id
 */

/* mapping [T] as row offsets, each checked. */
static emb_status read_mapping(struct embi_model *m, size_t i, const struct embi_layout *layout,
                               uint64_t *offsets, emb_err *err)
{
    const struct embi_tensor *t;
    const void *data;
    emb_status status = embi_weights_read(&m->weights, i, &t, err);
    if (!status)
        status = embi_io_map(t->io, &data, err);
    if (!status)
        status = emb_convert(offsets, EMB_U64, (const char *)data + t->offset, t->dtype,
                             t->shape[0], NULL, err);
    if (status)
        return embi_fail_in(err, "mapping");
    for (uint64_t r = 0; r < t->shape[0]; r++) {
        if (offsets[r] >= layout->rows)
            return embi_fail(err, EMB_BAD_DATA, (int64_t)r,
                             "mapping: token %llu has row %llu, the table has %llu rows",
                             (unsigned long long)r, (unsigned long long)offsets[r],
                             (unsigned long long)layout->rows);
        offsets[r] = layout->offset + offsets[r] * layout->row_stride;
    }
    return EMB_OK;
}

static bool is_integer(emb_dtype dtype)
{
    return !emb_dtype_is_float(dtype) && emb_dtype_bytes(dtype) > 0 && dtype != EMB_BOOL;
}

emb_status embi_model_map_rows(struct embi_model *m, emb_table *table, emb_err *err)
{
    const struct embi_tensor *t;
    size_t i = embi_weights_find(&m->weights, (emb_str){"mapping", 7});
    if (i == EMBI_NO_TENSOR || embi_architecture_of(&m->config))
        return EMB_OK;
    emb_status status = embi_weights_read(&m->weights, i, &t, err);
    if (status || t->ndim != 1 || !is_integer(t->dtype))
        return status;
    uint64_t n = t->shape[0]; /* at most the bytes of the file */
    uint64_t *offsets = malloc((n + 1) * sizeof *offsets);
    if (!offsets)
        return embi_fail_memory(err, n * sizeof *offsets, "the mapping");
    status = read_mapping(m, i, &table->layout, offsets, err);
    if (status) {
        free(offsets);
        return status;
    }
    embi_log(m->env, EMB_LOG_NOTE, m->dir, "%llu tokens share %llu rows, by the tensor 'mapping'",
             (unsigned long long)n, (unsigned long long)table->layout.rows);
    table->reader->row_offsets = offsets; /* the reader frees them */
    table->layout.row_offsets = offsets;
    table->layout.rows = n;
    return EMB_OK;
}
