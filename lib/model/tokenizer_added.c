/* tokenizer_added.c - the ids of added tokens (docs/formats/tokenizers.md, "added tokens").
 *
 * Is a content in the vocabulary already? Mostly its written id answers that. Only for the rest the
 * vocabulary is walked over once, and only tokens that have the length and the first byte of one of
 * them are hashed: an index of the whole vocabulary would take longer than all the reading.
 */
#include "model/tokenizer_added.h"

#include "util/err.h"
#include "util/map.h"

#include <inttypes.h>
#include <stdlib.h>

emb_status embi_added_push(struct embi_added_list *list, const struct embi_added *item,
                           emb_err *err)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct embi_added *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return embi_fail_memory(err, capacity * sizeof *items, "added tokens");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = *item;
    return EMB_OK;
}

void embi_added_free(struct embi_added_list *list)
{
    free(list->items);
    *list = (struct embi_added_list){0};
}

emb_status embi_added_read(struct embi_token_source *src, struct embi_json *j,
                           struct embi_added *item, emb_err *err)
{
    struct embi_json_value key, v, content = {0};
    embi_json_enter(j, EMBI_JSON_OBJECT);
    item->at = src->s + embi_json_at(j) - 1;
    while (embi_json_member(j, &key)) {
        if (embi_json_is(&key, "content")) {
            embi_json_next(j, &content);
            if (content.kind != EMBI_JSON_STRING)
                embi_json_reject(j, &content, "a string");
        } else if (embi_json_is(&key, "id")) {
            embi_json_next(j, &v);
            item->has_id = embi_token_id(j, &v, &item->id);
        } else if (embi_json_is(&key, "special")) {
            embi_json_next(j, &v);
            item->special = v.kind == EMBI_JSON_TRUE;
        }
    }
    if (content.kind == EMBI_JSON_STRING)
        return embi_token_source_string(src, &content, &item->content, err);
    struct embi_json_value object = {.s = item->at, .n = 1};
    embi_json_reject(j, &object, "an added token with its content");
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Which contents are in the vocabulary
 */

struct places {
    emb_str *contents;    /* [n] of the list; s NULL for what is dropped */
    uint64_t *ids;        /* [n] in the vocabulary, or EMBI_MAP_NONE     */
    struct embi_map *map; /* of contents                                 */
};

/* Of the contents that are looked for: lengths[first byte] has the bit min(length, 63). */
enum { FIRST_BYTES = 256 };

static void places_free(struct places *p)
{
    free(p->contents);
    free(p->ids);
    embi_map_free(p->map);
}

static uint64_t length_bit(emb_str s)
{
    return UINT64_C(1) << embi_min(s.n, 63);
}

/* Settles what stands under its written id; true if something is left. */
static bool settle_by_id(struct places *p, const struct embi_tokenizer *t,
                         const struct embi_added_list *list, uint64_t lengths[FIRST_BYTES])
{
    bool left = false;
    for (size_t i = 0; i < list->n; i++) {
        const struct embi_added *a = &list->items[i];
        p->ids[i] = EMBI_MAP_NONE;
        if (a->content.n == 0)
            continue;
        p->contents[i] = a->content;
        if (a->has_id && a->id < t->n && t->tokens[a->id].s &&
            embi_str_equal(t->tokens[a->id], a->content)) {
            p->ids[i] = a->id;
            continue;
        }
        lengths[(unsigned char)a->content.s[0]] |= length_bit(a->content);
        left = true;
    }
    return left;
}

static void walk(struct places *p, const struct embi_tokenizer *t,
                 const uint64_t lengths[FIRST_BYTES])
{
    for (uint64_t id = 0; id < t->n; id++) {
        emb_str token = t->tokens[id];
        if (token.n == 0 || !(lengths[(unsigned char)token.s[0]] & length_bit(token)))
            continue;
        uint64_t i = embi_map_find(p->map, token);
        if (i != EMBI_MAP_NONE)
            p->ids[i] = id;
    }
}

static emb_status find_places(struct places *p, const struct embi_tokenizer *t,
                              const struct embi_added_list *list, emb_err *err)
{
    p->contents = calloc(list->n + 1, sizeof *p->contents);
    p->ids = calloc(list->n + 1, sizeof *p->ids);
    if (!p->contents || !p->ids)
        return embi_fail_memory(err, list->n * sizeof *p->contents, "added tokens");
    uint64_t lengths[FIRST_BYTES] = {0};
    bool left = settle_by_id(p, t, list, lengths);
    emb_status status = embi_map_build(p->map, p->contents, list->n, err);
    if (!status && left)
        walk(p, t, lengths);
    return status;
}

/* The kind of an added token, where its model does not know better. */
static emb_status note_added(struct embi_token_source *src, const struct embi_added *a, uint64_t id,
                             emb_err *err)
{
    struct embi_token_note *note = embi_token_note(src, id, err);
    if (!note)
        return err->status;
    if (note->type != EMBI_TOKEN_UNKNOWN && note->type != EMBI_TOKEN_BYTE &&
        note->type != EMBI_TOKEN_CONTROL)
        note->type = a->special ? EMBI_TOKEN_CONTROL : EMBI_TOKEN_USER_DEFINED;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * tokenizer.json
 */

/* What went differently from what the file says. */
struct moved {
    uint64_t n, to;
    const struct embi_added *first;
};

static void note_moved(struct moved *moved, const struct embi_added *a, uint64_t id)
{
    if (a->has_id && a->id != id && moved->n++ == 0) {
        moved->first = a;
        moved->to = id;
    }
}

static void report_moved(const struct embi_token_source *src, const struct moved *moved)
{
    char shown[EMBI_SHOW_MAX];
    if (moved->n > 0)
        embi_log(src->env, EMB_LOG_WARNING, src->path,
                 "%" PRIu64 " added tokens get other ids than written: '%s' is %" PRIu64
                 ", the file says %" PRIu64,
                 moved->n, embi_show(shown, moved->first->content), moved->to, moved->first->id);
}

/* An added token takes its id even from a piece of the model: that is what the loaders show. */
static emb_status put_over(struct embi_token_source *src, const struct embi_added *a, uint64_t id,
                           emb_err *err)
{
    struct embi_tokenizer *t = src->t;
    if (id >= t->n || !t->tokens[id].s)
        return embi_token_put(src, id, a->content, a->at, err);
    if (!embi_str_equal(t->tokens[id], a->content)) {
        embi_token_conflict_add(src, id, a->content, t->tokens[id]);
        t->tokens[id] = a->content;
    }
    return EMB_OK;
}

emb_status embi_added_by_rule(struct embi_token_source *src, const struct embi_added_list *list,
                              uint64_t entries, emb_err *err)
{
    struct embi_map map = {0};
    struct places p = {.map = &map};
    struct moved moved = {0};
    uint64_t next = entries;
    emb_status status = find_places(&p, src->t, list, err);
    for (size_t i = 0; !status && i < list->n; i++) {
        const struct embi_added *a = &list->items[i];
        if (a->content.n == 0)
            continue;
        uint64_t *id = &p.ids[embi_map_find(p.map, a->content)]; /* of the first such content */
        if (p.ids[i] != EMBI_MAP_NONE)
            *id = p.ids[i];
        if (*id == EMBI_MAP_NONE)
            *id = next;
        status = put_over(src, a, *id, err);
        if (!status)
            status = note_added(src, a, *id, err);
        note_moved(&moved, a, *id);
        next = embi_max(next, *id + 1);
    }
    if (!status) {
        report_moved(src, &moved);
        src->t->next_id = next;
    }
    places_free(&p);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * tokenizer_config.json and added_tokens.json
 */

/* What has the id already stays, and its note. */
static emb_status add_by_id(struct embi_token_source *src, const struct embi_added *a, emb_err *err)
{
    emb_status status = embi_token_put(src, a->id, a->content, a->at, err);
    if (status || !embi_str_equal(src->t->tokens[a->id], a->content))
        return status;
    return note_added(src, a, a->id, err);
}

emb_status embi_added_by_id(struct embi_token_source *src, const struct embi_added_list *list,
                            emb_err *err)
{
    struct embi_map map = {0};
    struct places p = {.map = &map};
    struct moved moved = {0};
    emb_status status = find_places(&p, src->t, list, err);
    for (size_t i = 0; !status && i < list->n; i++) {
        const struct embi_added *a = &list->items[i];
        if (a->content.n == 0)
            continue;
        if (p.ids[i] != EMBI_MAP_NONE && p.ids[i] != a->id)
            note_moved(&moved, a, p.ids[i]);
        else
            status = add_by_id(src, a, err);
        src->t->next_id = embi_max(src->t->next_id, src->t->n);
    }
    if (!status)
        report_moved(src, &moved);
    places_free(&p);
    return status;
}
