/* new_model.h - the inside of emb_new_model: new_model.c settles it, new_model_dir.c writes it. */
#ifndef EMBI_MODEL_NEW_MODEL_H
#define EMBI_MODEL_NEW_MODEL_H

#include "model/blueprints.h"
#include "table/table.h"

struct emb_new_model {
    const struct embi_env *env;
    emb_array arrays[EMB_NEW_TENSORS]; /* ndim 0: there is none                                */
    char *names[EMB_NEW_TENSORS];      /* owned names, of a model that another one is like     */
    char arch[64];                     /* "": none                                             */
    struct embi_buf config;            /* config.json; empty: this is no model                 */
    char *tokenizer;                   /* the directory its files come from, or NULL           */
    uint64_t params;                   /* of the whole model; 0: not known                     */
};

/* new_model_like.c: settles everything by the model directory `like`. */
emb_status embi_new_model_like(emb_ctx *ctx, const char *like, emb_dtype dtype,
                               struct emb_new_model *m, emb_err *err);

/* EMB_EXISTS where --force must not replace what `path` is: only an empty directory, or one with a
 * config.json and without folders, may go. */
emb_status embi_model_replaceable(const struct embi_env *env, const char *path, emb_err *err);

/* Copies config.json (where `config`) and the tokenizer's files out of the directory `from`, as far
 * as they are there, by the names that loaders know. */
struct embi_newdir;
emb_status embi_take_small_files(const struct embi_env *env, const char *from, bool config,
                                 struct embi_newdir *dir, emb_err *err);

/* The numbers in a table. */
uint64_t embi_array_params(const emb_array *array);

#endif
