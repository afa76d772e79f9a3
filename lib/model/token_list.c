/* token_list.c - see token_list.h. */
#include "model/token_list.h"

#include "model/tokenizer_read.h"
#include "util/err.h"

#include <stdlib.h>

static const struct {
    const char *name;
    unsigned flag;
} flags[] = {
    {"single_word", EMBI_TOKEN_SINGLE_WORD}, {"lstrip", EMBI_TOKEN_LSTRIP},
    {"rstrip", EMBI_TOKEN_RSTRIP},           {"normalized", EMBI_TOKEN_NORMALIZED},
    {"special", EMBI_TOKEN_SPECIAL},
};

/* The characters of entry->content; those with escapes go into `strings`, which never moves. */
static emb_status take_text(struct embi_token_list *list, const struct embi_json *j,
                            struct embi_token_entry *entry, emb_err *err)
{
    const struct embi_json_value *v = &entry->content;
    struct embi_buf *b = &list->strings;
    entry->text = (emb_str){v->s + 1, v->n - 2};
    if (!v->escaped)
        return EMB_OK;
    if (!b->s && !embi_buf_room(b, (size_t)(j->end - j->s)))
        return embi_fail_memory(err, (uint64_t)(j->end - j->s), "tokens");
    size_t before = b->n;
    embi_json_string(v, b);
    entry->text = (emb_str){b->s + before, b->n - before};
    return EMB_OK;
}

static emb_status push(struct embi_token_list *list, const struct embi_token_entry *entry,
                       emb_err *err)
{
    if (entry->text.n == 0)
        return EMB_OK;
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct embi_token_entry *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return embi_fail_memory(err, capacity * sizeof *items, "added tokens");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = *entry;
    return EMB_OK;
}

static void take_member(struct embi_json *j, const struct embi_json_value *key,
                        struct embi_token_entry *entry, bool *has_id)
{
    struct embi_json_value v;
    if (!embi_json_skip(j, &v))
        return;
    if (embi_json_is(key, "content"))
        entry->content = v;
    else if (embi_json_is(key, "id"))
        *has_id = embi_token_id(j, &v, &entry->id);
    for (size_t i = 0; i < EMBI_LEN(flags); i++)
        if (v.kind == EMBI_JSON_TRUE && embi_json_is(key, flags[i].name))
            entry->flags |= flags[i].flag;
}

/* {"content": ..., "id": ...}; the id may have been the key. */
static void read_object(struct embi_json *j, struct embi_token_entry *entry, bool has_id)
{
    struct embi_json_value key;
    embi_json_enter(j, EMBI_JSON_OBJECT);
    entry->item = (struct embi_json_value){.kind = EMBI_JSON_OBJECT, .s = j->p - 1};
    while (embi_json_member(j, &key))
        take_member(j, &key, entry, &has_id);
    entry->item.n = (size_t)(j->p - entry->item.s);
    if (entry->content.kind != EMBI_JSON_STRING || !has_id)
        embi_json_reject(j, &entry->item, "an added token with its content and id");
}

static bool next_entry(struct embi_json *j, enum embi_token_form form,
                       struct embi_token_entry *entry)
{
    struct embi_json_value key, v;
    *entry = (struct embi_token_entry){0};
    if (form == EMBI_TOKENS_ARRAY) {
        if (!embi_json_item(j))
            return false;
        read_object(j, entry, false);
    } else if (!embi_json_member(j, &key)) {
        return false;
    } else if (form == EMBI_TOKENS_DECODER) {
        struct embi_json_value number = {EMBI_JSON_NUMBER, false, key.s + 1, key.n - 2};
        if (embi_token_id(j, &number, &entry->id)) /* escapes are no digits */
            read_object(j, entry, true);
    } else {
        embi_json_next(j, &v);
        embi_token_id(j, &v, &entry->id);
        entry->content = entry->item = key;
    }
    return j->expected == NULL;
}

static emb_status index_texts(struct embi_token_list *list, emb_err *err)
{
    list->texts = calloc(list->n + 1, sizeof *list->texts);
    if (!list->texts)
        return embi_fail_memory(err, list->n * sizeof *list->texts, "added tokens");
    for (size_t i = 0; i < list->n; i++)
        list->texts[i] = list->items[i].text;
    return embi_map_build(&list->map, list->texts, list->n, err);
}

emb_status embi_token_list_read(struct embi_token_list *list, struct embi_json *j,
                                enum embi_token_form form, emb_err *err)
{
    struct embi_token_entry entry;
    emb_status status = EMB_OK;
    if (list->found) {
        struct embi_json_value again = {.s = j->p};
        embi_json_reject(j, &again, "one list of added tokens");
    }
    list->found = true;
    embi_json_enter(j, form == EMBI_TOKENS_ARRAY ? EMBI_JSON_ARRAY : EMBI_JSON_OBJECT);
    while (!status && next_entry(j, form, &entry)) {
        status = take_text(list, j, &entry, err);
        if (!status)
            status = push(list, &entry, err);
    }
    return status || j->expected ? status : index_texts(list, err);
}

/* One token of a role, or a list of them; what is neither is passed over. */
static emb_status read_role(struct embi_token_list *list, struct embi_json *j, emb_err *err)
{
    struct embi_token_entry entry = {0};
    struct embi_json ahead = *j;
    emb_status status = EMB_OK;
    enum embi_json_kind kind = embi_json_next(&ahead, &entry.content);
    if (kind == EMBI_JSON_ARRAY) {
        embi_json_enter(j, EMBI_JSON_ARRAY);
        while (!status && embi_json_item(j))
            status = read_role(list, j, err);
        return status;
    }
    if (kind == EMBI_JSON_STRING) {
        embi_json_next(j, &entry.content);
    } else if (kind == EMBI_JSON_OBJECT) {
        entry.content = (struct embi_json_value){0};
        read_object(j, &entry, true);
    } else {
        embi_json_skip(j, NULL);
        return EMB_OK;
    }
    if (j->expected)
        return EMB_OK;
    entry.flags |= EMBI_TOKEN_SPECIAL;
    status = take_text(list, j, &entry, err);
    return status ? status : push(list, &entry, err);
}

emb_status embi_token_roles_read(struct embi_token_list *list, struct embi_json *j, emb_err *err)
{
    struct embi_json_value key;
    emb_status status = EMB_OK;
    list->found = true;
    embi_json_enter(j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(j, &key))
        status = read_role(list, j, err);
    return status || j->expected ? status : index_texts(list, err);
}

void embi_token_list_free(struct embi_token_list *list)
{
    free(list->items);
    free(list->texts);
    embi_map_free(&list->map);
    embi_buf_free(&list->strings);
    *list = (struct embi_token_list){.file = list->file};
}

const struct embi_token_entry *embi_token_list_find(const struct embi_token_list *list,
                                                    emb_str text)
{
    uint64_t i = list->texts ? embi_map_find(&list->map, text) : EMBI_MAP_NONE;
    return i == EMBI_MAP_NONE ? NULL : &list->items[i];
}
