/* tokenizer_json_model.c - "model" of a tokenizer.json: its vocabulary.
 *
 * BPE, WordPiece and WordLevel have an object token -> id, in any order and with holes; Unigram an
 * array of [piece, score], whose index is the id. Files that do not name their type are told apart
 * by that. The rest is skipped: merges must be JSON, but no more is asked of them (to look at each
 * would take as long as a third of all the reading). In a large file another thread has done so.
 */
#include "model/tokenizer_ahead.h"
#include "model/tokenizer_read.h"

#include "num/decimal.h"
#include "util/err.h"

/* [piece, score] */
static bool read_pair(struct embi_json *j, struct embi_json_value *piece,
                      struct embi_json_value *score)
{
    struct embi_json_value more;
    *score = (struct embi_json_value){0};
    embi_json_enter(j, EMBI_JSON_ARRAY);
    if (!embi_json_item(j) || embi_json_next(j, piece) != EMBI_JSON_STRING || !embi_json_item(j) ||
        embi_json_next(j, score) != EMBI_JSON_NUMBER)
        embi_json_reject(j, piece, "a piece and its score");
    else if (embi_json_item(j) && embi_json_next(j, &more) != EMBI_JSON_ERROR)
        embi_json_reject(j, &more, "a piece and its score, and nothing more");
    return score->kind == EMBI_JSON_NUMBER;
}

static emb_status note_score(struct embi_token_source *src, uint64_t id,
                             const struct embi_json_value *score, emb_err *err)
{
    struct embi_token_note *note = embi_token_note(src, id, err);
    if (!note)
        return err->status;
    (void)embi_read_f32(score->s, score->n, &note->score);
    return EMB_OK;
}

static emb_status read_array(struct embi_token_source *src, struct embi_json *j, uint64_t *entries,
                             emb_err *err)
{
    emb_status status = EMB_OK;
    for (; !status && embi_json_item(j); ++*entries) {
        struct embi_json_value piece = {.s = src->s + embi_json_at(j)}, score;
        emb_str token;
        if (!read_pair(j, &piece, &score))
            return EMB_OK;
        status = embi_token_source_string(src, &piece, &token, err);
        if (!status)
            status = embi_token_put(src, *entries, token, piece.s, err);
        if (!status)
            status = note_score(src, *entries, &score, err);
    }
    src->t->scored = true;
    return status;
}

static bool known_type(const struct embi_json_value *type, bool *array)
{
    *array = embi_json_is(type, "Unigram");
    return *array || embi_json_is(type, "BPE") || embi_json_is(type, "WordPiece") ||
           embi_json_is(type, "WordLevel");
}

struct model {
    struct embi_json_value type, vocab, unknown; /* kind 0: not seen */
};

/* Does the vocabulary have the shape that the type asks for? Called when both may be known. */
static void check_type(struct embi_json *j, const struct model *m)
{
    bool array;
    if (m->type.kind == 0)
        return;
    if (!known_type(&m->type, &array))
        embi_json_reject(j, &m->type, "BPE, WordPiece, WordLevel or Unigram");
    else if (m->vocab.kind != 0 && array != (m->vocab.kind == EMBI_JSON_ARRAY))
        embi_json_reject(j, &m->vocab, array ? "an array [piece, score]" : "an object token: id");
}

static emb_status read_vocab(struct embi_token_source *src, struct embi_json *j, struct model *m,
                             uint64_t *entries, emb_err *err)
{
    if (m->vocab.kind != 0)
        embi_json_reject(j, &m->vocab, "each key once");
    embi_json_next(j, &m->vocab);
    check_type(j, m);
    if (m->vocab.kind == EMBI_JSON_OBJECT)
        return embi_read_token_ids(src, j, entries, err);
    if (m->vocab.kind == EMBI_JSON_ARRAY)
        return read_array(src, j, entries, err);
    embi_json_reject(j, &m->vocab, "an object or an array");
    return EMB_OK;
}

/* Unigram names its unknown piece by id. */
static emb_status note_unknown(struct embi_token_source *src, const struct model *m, emb_err *err)
{
    uint64_t id;
    if (!embi_json_u64(&m->unknown, &id) || id >= src->t->n)
        return EMB_OK;
    struct embi_token_note *note = embi_token_note(src, id, err);
    if (!note)
        return err->status;
    note->type = EMBI_TOKEN_UNKNOWN;
    return EMB_OK;
}

emb_status embi_read_json_model(struct embi_token_source *src, struct embi_json *j,
                                uint64_t *entries, emb_err *err)
{
    struct embi_json_value key;
    struct model m = {0};
    emb_status status = EMB_OK;
    embi_json_enter(j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(j, &key)) {
        if (embi_json_is(&key, "type")) {
            embi_json_next(j, &m.type);
            check_type(j, &m);
        } else if (embi_json_is(&key, "vocab")) {
            status = read_vocab(src, j, &m, entries, err);
        } else if (embi_json_is(&key, "unk_id")) {
            embi_json_next(j, &m.unknown);
        } else if (src->ahead && embi_json_is(&key, "merges")) {
            embi_ahead_skip(src->ahead, j);
        }
    }
    if (!status)
        status = note_unknown(src, &m, err);
    if (!status && m.vocab.kind == 0) {
        struct embi_json_value end = {.s = src->s + embi_json_at(j)};
        embi_json_reject(j, &end, "a model with a key \"vocab\" before this");
    }
    return status;
}
