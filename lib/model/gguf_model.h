/* gguf_model.h - what GGUF files say of their model: its sizes, its tokens, its other parts.
 *
 * Implements docs/formats/gguf.md.
 */
#ifndef EMBI_MODEL_GGUF_MODEL_H
#define EMBI_MODEL_GGUF_MODEL_H

#include "fmt/notes.h"
#include "model/config.h"
#include "model/tokenizer.h"
#include "model/weights.h"

struct embi_token_source;

/* Are the weights GGUF? Asks the first file, which must be open. */
bool embi_weights_are_gguf(const struct embi_weights *w);

/* "NAME-00002-of-00003.gguf" taken apart. */
struct embi_gguf_part {
    emb_str name;       /* borrowed */
    uint32_t no, count; /* from 1   */
};

/* False where the file has no such name. */
bool embi_gguf_part_of(const char *file, struct embi_gguf_part *part);

/* Adds the other parts of a split model, whose headers are read: "NAME-00002-of-00003.gguf" lies
 * beside two others. A part that is not there, or cannot be found by the name, is noted in
 * w->missing. EMB_BAD_DATA: the parts contradict each other or their names. Nothing happens where
 * the file is no part. */
emb_status embi_gguf_join(struct embi_weights *w, emb_err *err);

/* The .gguf files of a directory that have no config to say which counts: *name (malloc'd) is the
 * only one, or the first part of the only split model; NULL where there is none. EMB_UNSUPPORTED:
 * there are several, which the message lists. */
emb_status embi_gguf_in_dir(const struct embi_env *env, const char *dir, char **name, emb_err *err);

/* What stands in config.json elsewhere. */
void embi_gguf_config(const struct embi_weights *w, struct embi_config *config);

/* Is there a vocabulary in one of the files? */
bool embi_gguf_has_tokens(const struct embi_weights *w);

/* Its tokens, which are borrowed from the file. */
emb_status embi_gguf_tokens(const struct embi_weights *w, struct embi_tokenizer *t, emb_err *err);

/* What the file with the tokens says of them: scores, types, roles, and all other keys of
 * tokenizer.ggml. */
emb_status embi_gguf_notes(const struct embi_weights *w, struct embi_token_notes *notes,
                           emb_err *err);

/* The same of a file that is open for its vocabulary alone. */
emb_status embi_gguf_notes_in(struct embi_io *file, struct embi_token_notes *notes, emb_err *err);

/* Those of a GGUF file that is opened for its vocabulary alone. EMB_UNSUPPORTED: it has none. */
emb_status embi_read_gguf(struct embi_token_source *src, emb_err *err);

#endif
