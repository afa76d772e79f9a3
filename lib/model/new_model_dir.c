/* new_model_dir.c - the directory of a new model: config.json, the tokenizer's files, and a writer
 * for model.safetensors. The directory takes its name when the writer is committed.
 */
#include "io/newdir.h"
#include "io/place.h"
#include "model/new_model.h"
#include "model/sidecar.h"
#include "model/weights.h"
#include "table/writer.h"
#include "util/err.h"

#include <stdlib.h>

/* The files of a tokenizer, by the names that loaders know. */
static const char *const tokenizer_files[] = {
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
    "tekken.json",
    "chat_template.jinja",
    "chat_template.json",
};

static emb_status copy_file(const struct embi_env *env, const char *from, const char *name,
                            struct embi_newdir *dir, emb_err *err)
{
    struct embi_sidecar file;
    emb_status status = embi_sidecar_open(env, from, name, &file, err);
    if (status)
        return status;
    if (file.io)
        status = embi_newdir_add(dir, name, file.s, file.n, err);
    embi_sidecar_close(&file);
    return status;
}

/* Files of ranks have the name of their vocabulary. */
static bool is_ranks(int dir, const char *name)
{
    (void)dir;
    return embi_ends_in(name + 1, ".tiktoken"); /* with a name before it */
}

static emb_status copy_ranks(const struct embi_env *env, const char *from, struct embi_newdir *dir,
                             emb_err *err)
{
    struct embi_names names;
    emb_status status = embi_path_names(env, from, is_ranks, &names, err);
    if (status)
        embi_fail_in(err, "the tokenizer's directory");
    for (size_t i = 0; !status && i < names.n; i++)
        status = copy_file(env, from, names.list[i], dir, err);
    embi_names_free(&names);
    return status;
}

emb_status embi_take_small_files(const struct embi_env *env, const char *from, bool config,
                                 struct embi_newdir *dir, emb_err *err)
{
    emb_status status = config ? copy_file(env, from, "config.json", dir, err) : EMB_OK;
    for (size_t i = 0; !status && i < EMBI_LEN(tokenizer_files); i++)
        status = copy_file(env, from, tokenizer_files[i], dir, err);
    return status ? status : copy_ranks(env, from, dir, err);
}

static emb_status fill(const struct emb_new_model *m, struct embi_newdir *dir, emb_err *err)
{
    emb_status status = embi_newdir_add(dir, "config.json", m->config.s, m->config.n, err);
    return status || !m->tokenizer ? status
                                   : embi_take_small_files(m->env, m->tokenizer, false, dir, err);
}

/* A slip of the hand must not cost more than a model: what is replaced is one, with a config and
 * weights by the names that loaders know, and holds no folders of anything else. */
emb_status embi_model_replaceable(const struct embi_env *env, const char *path, emb_err *err)
{
    unsigned seen;
    emb_status status = embi_dir_look(path, &seen, err);
    bool model = embi_sidecar_exists(env, path, "config.json") && embi_weights_in(env, path);
    if (status || !seen || (model && !(seen & EMBI_DIR_FOLDERS)))
        return status;
    return embi_fail(err, EMB_EXISTS, -1, "exists, and %s: --force does not replace that",
                     seen & EMBI_DIR_FOLDERS ? "there are folders in it"
                                             : "is no model's directory");
}

/* A table without a config is no model. */
static emb_status check_model(const struct emb_new_model *m, emb_err *err)
{
    if (m->config.n)
        return EMB_OK;
    if (!m->arch[0])
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "a directory is a model: it needs an architecture, as --arch says one");
    return embi_fail(err, EMB_BAD_ARG, -1, "a model can be f64, f32, f16 or bf16, not %s",
                     emb_dtype_name(m->arrays[EMB_NEW_EMBEDDING].dtype));
}

static emb_status commit_dir(void *state, emb_err *err)
{
    return embi_newdir_commit(state, err);
}

static void close_dir(void *state)
{
    embi_newdir_close(state);
}

static emb_status open_weights(emb_ctx *ctx, const struct emb_new_model *m, struct embi_newdir *dir,
                               emb_writer **writer, emb_err *err)
{
    emb_array arrays[EMB_NEW_TENSORS];
    size_t n = 0;
    char *path;
    emb_write_opts opts = {.size = sizeof opts,
                           .format = "safetensors",
                           .sync = embi_newdir_mode(dir) & EMBI_IO_SYNC ? 1 : -1};
    for (int t = 0; t < EMB_NEW_TENSORS; t++)
        if (m->arrays[t].ndim)
            arrays[n++] = m->arrays[t];
    emb_status status = embi_path_join(embi_newdir_path(dir), "model.safetensors", &path, err);
    if (status)
        return status;
    status = emb_writer_open(ctx, path, arrays, n, &opts, writer, err);
    free(path);
    return status ? embi_fail_in(err, "model.safetensors") : EMB_OK;
}

emb_status emb_writer_open_model(emb_ctx *ctx, const char *path, const emb_new_model *m,
                                 const emb_write_opts *opts, emb_writer **writer, emb_err *err)
{
    struct embi_newdir *dir;
    unsigned mode = embi_write_mode(opts);
    emb_status status =
        mode & EMBI_IO_FORCE ? embi_model_replaceable(&ctx->env, path, err) : EMB_OK;
    if (!status)
        status = check_model(m, err);
    if (!status)
        status = embi_newdir_open(&ctx->env, path, mode, &dir, err);
    if (status)
        return status;
    status = fill(m, dir, err);
    if (!status)
        status = open_weights(ctx, m, dir, writer, err);
    if (status) {
        embi_newdir_close(dir);
        return status;
    }
    struct embi_writer_owner owner = {dir, commit_dir, close_dir};
    embi_writer_own(*writer, &owner);
    return EMB_OK;
}
