/* config.h - what config.json says about the tables of a model.
 *
 * Only a hint: the tensors say what is true. Where sizes stand differs between model types, and a
 * model of several parts keeps those of its text model in an object of their own. Implements
 * docs/formats/model.md, "config.json".
 */
#ifndef EMBI_MODEL_CONFIG_H
#define EMBI_MODEL_CONFIG_H

#include "util/env.h"

enum { EMBI_CONFIG_WIDTHS = 16, EMBI_CONFIG_WIDTH_NAMES = 7, EMBI_MODEL_TYPE_MAX = 64 };

/* The keys of those numbers, the one that is most likely d first. */
extern const char *const embi_config_width_names[EMBI_CONFIG_WIDTH_NAMES];

struct embi_config {
    bool found;                          /* there is a config.json                           */
    bool gguf;                           /* it was said by GGUF files                        */
    char type[EMBI_MODEL_TYPE_MAX];      /* model_type, or ""                                */
    char text_type[EMBI_MODEL_TYPE_MAX]; /* that of the text model inside, or ""             */
    uint64_t vocab_size;                 /* 0: not said                                      */
    uint64_t widths[EMBI_CONFIG_WIDTHS]; /* [n_widths] numbers that may be d: hidden_size ... */
    int n_widths;
    int tied;     /* tie_word_embeddings: 1, 0; -1: not said */
    bool has_pad; /* pad_token_id is a number, at the top */
    uint64_t pad;
};

/* Reads dir/config.json; without one *config is empty. EMB_BAD_DATA with the place: it is not JSON.
 * NaN and Infinity, as Python writes them, are read. */
emb_status embi_config_open(const struct embi_env *env, const char *dir, struct embi_config *config,
                            emb_err *err);

/* The same for the n bytes at s. */
emb_status embi_config_parse(const char *s, size_t n, struct embi_config *config, emb_err *err);

/* Is x one of the widths? */
bool embi_config_has_width(const struct embi_config *config, uint64_t x);

#endif
