/* tokenizer_json.c - the reader of tokenizer.json, the file of the tokenizers library, and what
 * tells the JSON files apart (docs/formats/tokenizers.md).
 *
 * One walk over the text, which is checked whole: everything that is not used is skipped, but must
 * be JSON. added_tokens stands before the vocabulary that decides their ids, so they are kept until
 * the end.
 */
#include "model/tokenizer_added.h"
#include "model/tokenizer_ahead.h"

#include "util/err.h"
#include "util/loop.h"

enum { SEEN_MODEL = 1, SEEN_ADDED = 2, SEEN_DECODER = 4 };

enum { AHEAD_BYTES = 1 << 20 };

struct reading {
    struct embi_token_source *src;
    struct embi_json j;
    struct embi_added_list added;
    uint64_t entries; /* of model.vocab, as the loaders count them */
    unsigned seen;
    bool decoder; /* one is given, not null */
};

static emb_status read_added(struct reading *r, emb_err *err)
{
    struct embi_json_value v;
    emb_status status = EMB_OK;
    if (embi_json_next(&r->j, &v) == EMBI_JSON_NULL)
        return EMB_OK;
    if (v.kind != EMBI_JSON_ARRAY)
        embi_json_reject(&r->j, &v, "an array of added tokens");
    while (!status && embi_json_item(&r->j)) {
        struct embi_added item = {0};
        status = embi_added_read(r->src, &r->j, &item, err);
        if (!status)
            status = embi_added_push(&r->added, &item, err);
    }
    return status;
}

static unsigned bit_of(const struct embi_json_value *key)
{
    return embi_json_is(key, "model")          ? SEEN_MODEL
           : embi_json_is(key, "added_tokens") ? SEEN_ADDED
           : embi_json_is(key, "decoder")      ? SEEN_DECODER
                                               : 0;
}

static emb_status read_member(struct reading *r, const struct embi_json_value *key, emb_err *err)
{
    unsigned bit = bit_of(key);
    if (r->seen & bit)
        embi_json_reject(&r->j, key, "each key once");
    r->seen |= bit;
    switch (bit) {
    case SEEN_MODEL: return embi_read_json_model(r->src, &r->j, &r->entries, err);
    case SEEN_ADDED: return read_added(r, err);
    case SEEN_DECODER: return embi_read_json_decoder(r->src, &r->j, &r->decoder, err);
    }
    return EMB_OK;
}

static emb_status read_all(struct reading *r, emb_err *err)
{
    struct embi_json_value key;
    emb_status status = EMB_OK;
    embi_json_init(&r->j, r->src->s, r->src->n, 0);
    embi_json_enter(&r->j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&r->j, &key))
        status = read_member(r, &key, err);
    if (!status)
        status = embi_json_finish(&r->j, 0, err);
    if (!status && !(r->seen & SEEN_MODEL))
        status = embi_fail(err, EMB_BAD_DATA, -1, "tokenizer: there is no key \"model\"");
    return status;
}

struct two {
    struct reading *r;
    struct embi_ahead ahead;
};

static emb_status read_or_check(void *arg, size_t item, int worker, emb_err *err)
{
    struct two *two = arg;
    emb_status status = EMB_OK;
    (void)worker;
    if (item == 0) {
        status = read_all(two->r, err);
        embi_ahead_stop(&two->ahead);
    } else {
        embi_ahead_run(&two->ahead);
    }
    return status;
}

/* A large file is worth a second thread: that takes a tenth of a millisecond to start. */
static emb_status read_text(struct reading *r, emb_err *err)
{
    struct embi_token_source *src = r->src;
    struct embi_pool *pool = src->env->pool;
    if (src->n < AHEAD_BYTES || !pool || embi_pool_threads(pool) < 2)
        return read_all(r, err);
    struct two two = {.r = r};
    embi_ahead_begin(&two.ahead, src->s, src->n);
    src->ahead = &two.ahead;
    emb_status status = embi_loop(pool, 2, read_or_check, &two, err);
    src->ahead = NULL;
    embi_ahead_end(&two.ahead);
    return status;
}

emb_status embi_read_tokenizer_json(struct embi_token_source *src, emb_err *err)
{
    struct reading r = {.src = src};
    emb_status status = read_text(&r, err);
    if (!status)
        status = embi_added_by_rule(src, &r.added, r.entries, err);
    if (!status && !r.decoder)
        src->t->pieces = embi_pieces_guess(src->t->tokens, src->t->n);
    embi_added_free(&r.added);
    return status;
}

/* The first member that differs decides: vocab.json has numbers only; the others have known keys,
 * whose values are no numbers. A file that is cut short before that is none. */
enum embi_tokenizer_kind embi_sniff_json(const char *s, size_t n)
{
    struct embi_json j;
    struct embi_json_value key, v;
    embi_json_init(&j, s, n, 0);
    if (!embi_json_enter(&j, EMBI_JSON_OBJECT))
        return EMBI_TOKENIZER_NONE;
    bool empty = true;
    for (; embi_json_member(&j, &key); empty = false) {
        struct embi_json here = j;
        enum embi_json_kind kind = embi_json_next(&here, &v);
        if (kind == EMBI_JSON_NUMBER)
            return EMBI_TOKENIZER_VOCAB_JSON;
        if (kind == EMBI_JSON_OBJECT && embi_json_is(&key, "model"))
            return EMBI_TOKENIZER_JSON;
        if (kind == EMBI_JSON_ARRAY && embi_json_is(&key, "added_tokens"))
            return EMBI_TOKENIZER_JSON;
        if ((kind == EMBI_JSON_OBJECT && embi_json_is(&key, "config")) ||
            (kind == EMBI_JSON_ARRAY && embi_json_is(&key, "vocab")))
            return EMBI_TOKENIZER_TEKKEN;
    }
    empty = empty && embi_json_finish(&j, 0, &(emb_err){0}) == EMB_OK;
    return empty ? EMBI_TOKENIZER_VOCAB_JSON : EMBI_TOKENIZER_NONE;
}
