/* encode.h - a text split into the pieces of a model's tokenizer, as its own library would do it
 * with encode(text, add_special_tokens=False): added tokens are cut out, the rest is normalised,
 * parted into words, and each word split into pieces of the vocabulary.
 *
 *     struct embi_encoder *e;
 *     status = embi_encoder_open(env, dir, tokenizer, rows, &e, err);
 *     struct embi_ids ids = {0};
 *     status = embi_encode(e, text, &ids, err);
 *     ... ids.v[0 .. ids.n) ...
 *     embi_ids_free(&ids);
 *     embi_encoder_free(e);
 *
 * What a file asks for and is not known here is refused by name: a text is split as it should be,
 * or not at all. Implements docs/formats/tokenizers.md, "Splitting text".
 */
#ifndef EMBI_MODEL_ENCODE_H
#define EMBI_MODEL_ENCODE_H

#include "model/tokenizer.h"

/* The longest text that is split. */
#define EMBI_ENCODE_MOST (64u << 10)

struct embi_encoder;

/* Ids of pieces, in the order of the text. */
struct embi_ids {
    uint32_t *v; /* [n] */
    size_t n, cap;
    bool failed; /* there was no memory for them */
};

void embi_ids_add(struct embi_ids *ids, uint32_t id);
void embi_ids_free(struct embi_ids *ids);

/* Opens the tokenizer of a model directory, which t was read from (and is not needed after this),
 * and whose table has `rows` rows: added tokens with ids past them are no pieces. EMB_UNSUPPORTED:
 * there is no tokenizer.json, or it asks for what is not known. EMB_BAD_DATA: it is malformed. */
emb_status embi_encoder_open(const struct embi_env *env, const char *dir,
                             const struct embi_tokenizer *t, uint64_t rows,
                             struct embi_encoder **encoder, emb_err *err);
void embi_encoder_free(struct embi_encoder *encoder);

/* Appends the ids of the pieces of a text. EMB_BAD_ARG: it is not UTF-8, or too long.
 * EMB_UNSUPPORTED: a part of it has no piece, and the tokenizer no piece for what is unknown. In
 * one thread at a time. */
emb_status embi_encode(const struct embi_encoder *encoder, emb_str text, struct embi_ids *ids,
                       emb_err *err);

/* The id for what has no piece; false: there is none. */
bool embi_encoder_unknown(const struct embi_encoder *encoder, uint32_t *id);

#endif
