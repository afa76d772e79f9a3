/* blueprints.h - what a new model directory of an architecture looks like. */
#ifndef EMBI_MODEL_BLUEPRINTS_H
#define EMBI_MODEL_BLUEPRINTS_H

#include "util/buf.h"

/* Keys are those of config.json; NULL: the architecture has no such thing. */
struct embi_blueprint {
    const char *type;                     /* model_type, and what --arch calls it             */
    const char *model_class;              /* in "architectures"                               */
    const char *tensors[EMB_NEW_TENSORS]; /* names; NULL: there is no such table               */
    const char *dims, *context, *layers, *heads, *kv_heads, *inner;
    uint64_t positions; /* what `context` is where nothing says it           */
    const char *more;   /* further members, as JSON                          */
};

/* That of a type, or NULL. */
const struct embi_blueprint *embi_blueprint_of(const char *type);

/* " gpt2, llama ...": the types there are. */
void embi_blueprint_list(struct embi_buf *out);

/* The sizes that config.json tells. Zeros become small numbers that fit each other. */
struct embi_model_sizes {
    uint64_t rows, dims, layers, heads, kv_heads, inner, context;
    bool untied;
    emb_dtype dtype;
    const char *more; /* further members, as JSON, or NULL */
};

/* Adds config.json as a whole. */
void embi_blueprint_config(const struct embi_blueprint *b, const struct embi_model_sizes *sizes,
                           struct embi_buf *out);

/* "bfloat16": the name that config.json has for a type; NULL for types that no model is kept in. */
const char *embi_torch_dtype(emb_dtype dtype);

#endif
