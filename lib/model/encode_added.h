/* encode_added.h - added tokens, which are cut out of a text before it is split. Only for
 * lib/model/encode*.c.
 */
#ifndef EMBI_MODEL_ENCODE_ADDED_H
#define EMBI_MODEL_ENCODE_ADDED_H

#include "model/encode_normal.h"
#include "model/encode_text.h"
#include "model/sidecar.h"
#include "model/token_list.h"
#include "model/tokenizer.h"

struct embi_added_piece {
    emb_str text; /* as it is looked for: of a normalised one what it is normalised to */
    uint32_t id;
    unsigned flags; /* EMBI_TOKEN_... */
};

enum { EMBI_ADDED_FILES = 3 };

struct embi_added_pieces {
    struct embi_added_piece *v; /* [n] those that count where two are the same text first */
    size_t n;
    struct embi_sidecar files[EMBI_ADDED_FILES];
    struct embi_token_list lists[EMBI_ADDED_FILES];
    struct embi_buf normal; /* texts that were normalised */
    struct embi_regex *word;
};

/* Reads what tokenizer.json lists, and after it what only tokenizer_config.json and
 * added_tokens.json do. t knows the ids; those past `rows` are left out. */
emb_status embi_added_pieces_open(const struct embi_env *env, const char *dir,
                                  const struct embi_tokenizer *t, uint64_t rows,
                                  const struct embi_normals *normals,
                                  struct embi_added_pieces *added, emb_err *err);
void embi_added_pieces_free(struct embi_added_pieces *added);

/* Cuts s [n] at the added tokens that are normalised, or at those that are not. */
emb_status embi_added_cut(const struct embi_added_pieces *added, bool normalized, const char *s,
                          size_t n, bool first, struct embi_parts *out, emb_err *err);

#endif
