/* encode_model.h - "model" of a tokenizer.json: the vocabulary, and how a word is split into pieces
 * of it. Only for lib/model/encode*.c.
 */
#ifndef EMBI_MODEL_ENCODE_MODEL_H
#define EMBI_MODEL_ENCODE_MODEL_H

#include "model/encode.h"
#include "model/encode_json.h"
#include "model/encode_text.h"
#include "util/map.h"

enum embi_piece_kind { EMBI_BPE, EMBI_WORDPIECE, EMBI_WORDLEVEL, EMBI_UNIGRAM };

/* From two pieces that follow each other to the one that they become. */
struct embi_merges {
    struct embi_merge {
        uint32_t left, right; /* ids */
        uint32_t rank;        /* the lowest is applied first */
        uint32_t id;          /* EMBI_NO_PIECE: the slot is empty */
    } * slots;                /* [mask + 1] */
    uint64_t mask;
};

struct embi_piece_model {
    enum embi_piece_kind kind;
    struct embi_buf strings; /* of pieces that the file writes with escapes; never moves */
    emb_str *pieces;         /* [n] the last of the file first: of equal ones that counts */
    uint32_t *ids;           /* [n] */
    double *scores;          /* [n], or NULL: EMBI_UNIGRAM */
    size_t n, cap;
    struct embi_map map; /* of pieces */
    size_t longest;      /* bytes of the longest piece */
    struct embi_merges merges;

    bool has_unknown;
    bool drops_unknown; /* EMBI_BPE: what has no piece is left out, as no piece is named for it */
    uint32_t unknown;   /* the id of what has no piece */
    double unknown_score;
    struct embi_buf prefix, suffix; /* of pieces that continue a word, of those that end one */
    bool byte_fallback, fuse_unknown, ignore_merges;
    uint64_t most_chars; /* EMBI_WORDPIECE: of a word that is split */
};

/* Reads the value of "model". Pieces point into the text that it is a part of. */
emb_status embi_piece_model_read(const struct embi_json_value *value,
                                 struct embi_piece_model *model, emb_err *err);
void embi_piece_model_free(struct embi_piece_model *model);

/* Place of a piece in pieces, ids, scores; EMBI_MAP_NONE: there is none. */
static inline uint64_t embi_piece_find(const struct embi_piece_model *model, const char *s,
                                       size_t n)
{
    return n > model->longest ? EMBI_MAP_NONE : embi_map_find(&model->map, (emb_str){s, n});
}

/* Appends the ids that a word s [n] of well-formed UTF-8 is split into. EMB_UNSUPPORTED: a part of
 * it has no piece, nor has what is unknown. */
emb_status embi_piece_split(const struct embi_piece_model *model, const char *s, size_t n,
                            struct embi_ids *ids, emb_err *err);

/* One file each. */
emb_status embi_bpe_split(const struct embi_piece_model *model, const char *s, size_t n,
                          struct embi_ids *ids, emb_err *err);
emb_status embi_wordpiece_split(const struct embi_piece_model *model, const char *s, size_t n,
                                struct embi_ids *ids, emb_err *err);
emb_status embi_unigram_split(const struct embi_piece_model *model, const char *s, size_t n,
                              struct embi_ids *ids, emb_err *err);

/* encode_merges.c: reads the value of "merges". */
emb_status embi_merges_read(const struct embi_json_value *value, struct embi_piece_model *model,
                            emb_err *err);
const struct embi_merge *embi_merges_find(const struct embi_merges *merges, uint32_t left,
                                          uint32_t right);

/* Appends the pieces <0xHH> of each byte; false, and nothing appended, where one is missing. */
bool embi_piece_bytes(const struct embi_piece_model *model, const char *s, size_t n,
                      struct embi_ids *ids);

/* Fails for a part s [n] of a word that has no piece. */
emb_status embi_fail_unknown(emb_err *err, const char *s, size_t n);

#endif
