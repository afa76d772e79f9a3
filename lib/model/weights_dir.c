/* weights_dir.c - which files of a directory hold the weights (docs/formats/model.md, "weights").
 */
#include "model/weights.h"

#include "io/place.h"
#include "model/gguf_model.h"
#include "model/shards.h"
#include "model/sidecar.h"
#include "util/err.h"

#include <stdlib.h>

#define SINGLE       "model.safetensors"
#define INDEX        "model.safetensors.index.json"
#define TORCH_SINGLE "pytorch_model.bin"
#define TORCH_INDEX  "pytorch_model.bin.index.json"

/* Weights that are not read, as loaders name them. */
static const struct {
    const char *name, *what;
} others[] = {
    {"consolidated.00.pth", "a part of a PyTorch checkpoint"},
    {"tf_model.h5", "TensorFlow weights"},
    {"flax_model.msgpack", "Flax weights"},
    {"model.onnx", "an ONNX model"},
};

/* Names that loaders know, in their order: a single file wins over the index beside it, safetensors
 * over PyTorch's own. */
static const struct {
    const char *single, *index;
} kinds[] = {{SINGLE, INDEX}, {TORCH_SINGLE, TORCH_INDEX}};

bool embi_weights_in(const struct embi_env *env, const char *dir)
{
    for (size_t i = 0; i < EMBI_LEN(kinds); i++)
        if (embi_sidecar_exists(env, dir, kinds[i].single) ||
            embi_sidecar_exists(env, dir, kinds[i].index))
            return true;
    return embi_shards_in(env, dir);
}

static emb_status open_index(const char *dir, const char *index, struct embi_weights *w,
                             emb_err *err)
{
    struct embi_sidecar file;
    emb_status status = embi_sidecar_open(w->env, dir, index, &file, err);
    if (status)
        return status;
    status = embi_index_parse(file.s, file.n, dir, w, err);
    embi_sidecar_close(&file);
    return status ? embi_fail_in(err, "%s", index) : EMB_OK;
}

/* One file is all: its header says what the tensors are. */
static emb_status open_single(const char *dir, const char *name, struct embi_weights *w,
                              emb_err *err)
{
    emb_status status = embi_weights_add_file(w, dir, (emb_str){name, strlen(name)}, err);
    return status ? status : embi_weights_read_all(w, err);
}

static emb_status choose_single(const char *dir, const char *single, const char *index,
                                struct embi_weights *w, emb_err *err)
{
    static const char both[] = "%s and %s are both here: the loaders' rule takes %s";
    if (!embi_sidecar_exists(w->env, dir, index))
        return open_single(dir, single, w, err);
    if (w->opts.strict)
        return embi_fail(err, EMB_BAD_DATA, -1, both, single, index, single);
    embi_log(w->env, EMB_LOG_WARNING, dir, both, single, index, single);
    return open_single(dir, single, w, err);
}

static bool is_safetensors(int dir, const char *name)
{
    (void)dir;
    return embi_ends_in(name, ".safetensors");
}

/* There is nothing that can be read: what is there instead? */
static emb_status fail_without(const struct embi_env *env, const char *dir, emb_err *err)
{
    for (size_t i = 0; i < EMBI_LEN(others); i++)
        if (embi_sidecar_exists(env, dir, others[i].name))
            return embi_fail(err, EMB_UNSUPPORTED, -1,
                             "the weights are in %s, %s: not read by this version; convert it to "
                             "safetensors",
                             others[i].name, others[i].what);
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "is a directory without weights: neither " SINGLE " nor " INDEX);
}

/* A GGUF model, where there is no other. */
static emb_status open_gguf(const char *dir, struct embi_weights *w, emb_err *err)
{
    char *name;
    emb_status status = embi_gguf_in_dir(w->env, dir, &name, err);
    if (status)
        return status;
    status = name ? open_single(dir, name, w, err) : fail_without(w->env, dir, err);
    free(name);
    return status ? status : embi_gguf_join(w, err);
}

static emb_status open_only_one(const char *dir, struct embi_weights *w, emb_err *err)
{
    struct embi_names names;
    emb_status status = embi_path_names(w->env, dir, is_safetensors, &names, err);
    if (!status && names.n == 0)
        status = open_gguf(dir, w, err);
    else if (!status && names.n > 1)
        status = embi_fail(err, EMB_UNSUPPORTED, -1,
                           "%zu *.safetensors and no " INDEX ": name one of them", names.n);
    else if (!status)
        status = open_single(dir, names.list[0], w, err);
    embi_names_free(&names);
    return status;
}

/* Weights whose names say nothing in particular. */
static emb_status open_others(const char *dir, struct embi_weights *w, emb_err *err)
{
    bool shards;
    emb_status status = embi_shards_open(dir, w, &shards, err);
    return status || shards ? status : open_only_one(dir, w, err);
}

emb_status embi_weights_open(const struct embi_env *env, const char *dir,
                             const struct embi_read_opts *opts, struct embi_weights *w,
                             emb_err *err)
{
    size_t i = 0;
    emb_status status;
    *w = (struct embi_weights){.env = env, .opts = *opts};
    while (i < EMBI_LEN(kinds) && !embi_sidecar_exists(env, dir, kinds[i].single) &&
           !embi_sidecar_exists(env, dir, kinds[i].index))
        i++;
    if (i == EMBI_LEN(kinds))
        status = open_others(dir, w, err);
    else if (embi_sidecar_exists(env, dir, kinds[i].single))
        status = choose_single(dir, kinds[i].single, kinds[i].index, w, err);
    else
        status = open_index(dir, kinds[i].index, w, err);
    if (status)
        embi_weights_free(w);
    return status;
}
