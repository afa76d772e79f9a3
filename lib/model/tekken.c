/* tekken.c - the reader of Mistral's tekken.json.
 *
 * The first config.default_num_special_tokens ids are special: those that special_tokens names by
 * rank, and <SPECIAL_n> for the rest. After them come the tokens of `vocab`, id = rank + that
 * number; only ranks below config.default_vocab_size minus that number count.
 */
#include "model/tokenizer_read.h"

#include "util/base64.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_SPECIAL = 1 << 16, SPECIAL_NAME_BYTES = 24 };

struct tekken {
    struct embi_token_source *src;
    struct embi_json j;
    uint64_t specials; /* ids 0 .. specials-1 */
    uint64_t rows;     /* V                   */
};

/* ------------------------------------------------------------------------------------------------
 * config
 */

static void read_config(struct tekken *t, struct embi_json *j)
{
    struct embi_json_value key, v;
    uint64_t *to;
    embi_json_enter(j, EMBI_JSON_OBJECT);
    while (embi_json_member(j, &key)) {
        to = embi_json_is(&key, "default_vocab_size")           ? &t->rows
             : embi_json_is(&key, "default_num_special_tokens") ? &t->specials
                                                                : NULL;
        if (to && embi_json_next(j, &v) != EMBI_JSON_NULL && !embi_json_u64(&v, to))
            embi_json_reject(j, &v, "a count");
    }
}

/* The counts decide what an entry of `vocab` is, so they are looked for first: mostly they stand at
 * the beginning. Errors show in the second walk. */
static emb_status find_config(struct tekken *t, emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key;
    bool found = false;
    t->specials = t->rows = UINT64_MAX;
    embi_json_init(&j, t->src->s, t->src->n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!found && embi_json_member(&j, &key)) {
        found = embi_json_is(&key, "config");
        if (found)
            read_config(t, &j);
    }
    if (j.expected) /* the reader has failed */
        return embi_json_finish(&j, 0, err);
    if (t->specials == UINT64_MAX)
        return embi_fail(err, EMB_BAD_DATA, -1,
                         "tekken: there is no config.default_num_special_tokens");
    if (t->specials > MOST_SPECIAL || t->specials > t->rows)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "tekken: expected at most %d special tokens, and no more than tokens, "
                         "found %" PRIu64,
                         MOST_SPECIAL, t->specials);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * vocab and special_tokens
 */

struct entry {
    struct embi_json_value rank, bytes, text; /* kind 0: not there */
    const char *at;
};

static void read_entry(struct embi_json *j, struct entry *e)
{
    struct embi_json_value key;
    *e = (struct entry){0};
    embi_json_enter(j, EMBI_JSON_OBJECT);
    e->at = j->s + embi_json_at(j) - 1;
    while (embi_json_member(j, &key)) {
        if (embi_json_is(&key, "rank"))
            embi_json_next(j, &e->rank);
        else if (embi_json_is(&key, "token_bytes"))
            embi_json_next(j, &e->bytes);
        else if (embi_json_is(&key, "token_str"))
            embi_json_next(j, &e->text);
    }
}

static emb_status put_once(struct tekken *t, uint64_t id, emb_str token, const struct entry *e,
                           emb_err *err)
{
    uint64_t before = t->src->t->count;
    emb_status status = embi_token_put(t->src, id, token, e->at, err);
    if (!status && t->src->t->count == before)
        status = embi_fail(err, EMB_BAD_DATA, e->at - t->src->s,
                           "tekken: byte %" PRId64 ": this rank was there before",
                           (int64_t)(e->at - t->src->s));
    return status;
}

static emb_status put_bytes(struct tekken *t, const struct entry *e, uint64_t rank, emb_err *err)
{
    emb_str text;
    size_t bytes = 0;
    emb_status status = embi_token_source_string(t->src, &e->bytes, &text, err);
    if (status)
        return status;
    char *room = embi_token_source_take(t->src, embi_base64_room(text.n));
    if (!room || !embi_base64_decode(text.s, text.n, room, &bytes)) {
        embi_json_reject(&t->j, &e->bytes, "base64");
        return EMB_OK;
    }
    return put_once(t, rank + t->specials, (emb_str){room, bytes}, e, err);
}

static emb_status read_vocab(struct tekken *t, emb_err *err)
{
    emb_status status = EMB_OK;
    struct entry e;
    uint64_t rank;
    embi_json_enter(&t->j, EMBI_JSON_ARRAY);
    while (!status && embi_json_item(&t->j)) {
        read_entry(&t->j, &e);
        if (t->j.expected)
            break;
        if (!embi_token_id(&t->j, e.rank.kind ? &e.rank : &(struct embi_json_value){.s = e.at},
                           &rank))
            break;
        if (rank >= t->rows - t->specials)
            continue;
        if (e.bytes.kind == EMBI_JSON_STRING)
            status = put_bytes(t, &e, rank, err);
        else
            embi_json_reject(&t->j, &(struct embi_json_value){.s = e.at}, "token_bytes");
    }
    return status;
}

static emb_status read_specials(struct tekken *t, emb_err *err)
{
    emb_status status = EMB_OK;
    struct embi_json_value v;
    struct entry e;
    uint64_t rank;
    if (embi_json_next(&t->j, &v) == EMBI_JSON_NULL)
        return EMB_OK;
    if (v.kind != EMBI_JSON_ARRAY)
        embi_json_reject(&t->j, &v, "an array of special tokens");
    while (!status && embi_json_item(&t->j)) {
        emb_str token;
        read_entry(&t->j, &e);
        if (t->j.expected)
            break;
        if (!embi_json_u64(&e.rank, &rank) || rank >= t->specials ||
            e.text.kind != EMBI_JSON_STRING) {
            embi_json_reject(&t->j, &(struct embi_json_value){.s = e.at},
                             "token_str and a rank among the special tokens");
            break;
        }
        status = embi_token_source_string(t->src, &e.text, &token, err);
        if (!status)
            status = put_once(t, rank, token, &e, err);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */

static emb_status name_the_rest(struct tekken *t, emb_err *err)
{
    emb_status status = EMB_OK;
    for (uint64_t id = 0; !status && id < t->specials; id++) {
        char name[SPECIAL_NAME_BYTES];
        if (id < t->src->t->n && t->src->t->tokens[id].s)
            continue;
        size_t n = (size_t)snprintf(name, sizeof name, "<SPECIAL_%" PRIu64 ">", id);
        char *room = embi_token_source_take(t->src, n);
        if (!room)
            return embi_fail(err, EMB_BUG, -1, "no room for special tokens");
        memcpy(room, name, n);
        status = embi_token_put(t->src, id, (emb_str){room, n}, t->src->s, err);
    }
    return status;
}

static emb_status read_all(struct tekken *t, emb_err *err)
{
    struct embi_json_value key;
    emb_status status = EMB_OK;
    embi_json_init(&t->j, t->src->s, t->src->n, 0);
    embi_json_enter(&t->j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&t->j, &key)) {
        if (embi_json_is(&key, "vocab"))
            status = read_vocab(t, err);
        else if (embi_json_is(&key, "special_tokens"))
            status = read_specials(t, err);
    }
    return status ? status : embi_json_finish(&t->j, 0, err);
}

emb_status embi_read_tekken(struct embi_token_source *src, emb_err *err)
{
    struct tekken t = {.src = src};
    emb_status status = find_config(&t, err);
    if (!status) /* twice: base64 that has escapes goes there too, before its bytes */
        status = embi_token_source_room(src, 2 * src->n + t.specials * SPECIAL_NAME_BYTES, err);
    if (!status)
        status = read_all(&t, err);
    if (!status)
        status = name_the_rest(&t, err);
    src->t->next_id = src->t->n;
    return status;
}
