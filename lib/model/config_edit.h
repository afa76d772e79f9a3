/* config_edit.h - sizes in config.json and in an index of shards after rows were added or cut.
 *
 * Only the numbers change: every other byte of the files stays. Implements docs/formats/model.md,
 * "config.json" and "weights".
 */
#ifndef EMBI_MODEL_CONFIG_EDIT_H
#define EMBI_MODEL_CONFIG_EDIT_H

#include "model/file_edit.h"
#include "util/env.h"

struct embi_config_rows {
    uint64_t old_rows, rows; /* of the embedding */
    uint64_t per_layer;      /* of embed_tokens_per_layer; 0: there is none */
};

/* The keys that count rows of the embedding (vocab_size at the top and in the text model inside,
 * decoder_vocab_size of shared tables ...) get the new number where they had the old one; where
 * none had, the text model's vocab_size was wrong and gets it too. Where the number of rows stays,
 * so do those keys, but vocab_size at the top and in the text model is put right. So is always
 * vocab_size_per_layer_input, which counts rows of another table.
 * Without a config.json, or such a key, nothing happens but a warning. */
emb_status embi_config_edit_rows(const struct embi_env *env, const char *dir,
                                 const struct embi_config_rows *rows, struct embi_file_edits *edits,
                                 emb_err *err);

/* What an index of shards says of all tensors. */
struct embi_index_totals {
    uint64_t bytes;      /* of all tensors; 0: not known, as a shard cannot be read */
    uint64_t params;     /* numbers in them; 0: not known, or not all of them are floats */
    int64_t more_bytes;  /* of the bytes: what was added */
    int64_t more_params; /* the same in numbers */
};

/* total_size of the index `name` becomes the bytes, or where they are not known grows (or shrinks)
 * by what was added. So does total_parameters, but where nothing was added it stays: it may leave
 * out what a file does not tell apart. A key that is not there is not made; one that holds
 * something odd stays, with a warning if it should have changed. */
emb_status embi_index_edit_totals(const struct embi_env *env, const char *dir, const char *name,
                                  const struct embi_index_totals *totals,
                                  struct embi_file_edits *edits, emb_err *err);

#endif
