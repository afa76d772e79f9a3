/* tokenizer_add.c - new entries in the files that list added tokens. An entry has the keys of the
 * entry before it, in their order; the flags are those with which every loader finds the token as
 * one piece: normalized, lstrip, rstrip and single_word are false.
 */
#include "model/tokenizer_change.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------------
 * One entry
 */

enum key {
    KEY_ID,
    KEY_CONTENT,
    KEY_SINGLE,
    KEY_LSTRIP,
    KEY_RSTRIP,
    KEY_NORMALIZED,
    KEY_SPECIAL,
    KEYS
};

static const struct {
    const char *name;
    unsigned flag;
} keys[KEYS] = {
    [KEY_ID] = {"id", 0},
    [KEY_CONTENT] = {"content", 0},
    [KEY_SINGLE] = {"single_word", EMBI_TOKEN_SINGLE_WORD},
    [KEY_LSTRIP] = {"lstrip", EMBI_TOKEN_LSTRIP},
    [KEY_RSTRIP] = {"rstrip", EMBI_TOKEN_RSTRIP},
    [KEY_NORMALIZED] = {"normalized", EMBI_TOKEN_NORMALIZED},
    [KEY_SPECIAL] = {"special", EMBI_TOKEN_SPECIAL},
};

/* As the libraries write them; the id of an entry of added_tokens_decoder is its key. */
static const enum key json_order[] = {KEY_ID,     KEY_CONTENT,    KEY_SINGLE, KEY_LSTRIP,
                                      KEY_RSTRIP, KEY_NORMALIZED, KEY_SPECIAL};
static const enum key decoder_order[] = {KEY_CONTENT, KEY_LSTRIP, KEY_NORMALIZED,
                                         KEY_RSTRIP,  KEY_SINGLE, KEY_SPECIAL};

struct order {
    enum key keys[KEYS];
    size_t n;
};

static void order_add(struct order *order, enum key key)
{
    for (size_t i = 0; i < order->n; i++)
        if (order->keys[i] == key)
            return;
    order->keys[order->n++] = key;
}

/* The order of the entry `like` (n 0: there is none), and at its end what it lacks. */
static struct order order_of(const struct embi_json_value *like, const enum key *usual, size_t n)
{
    struct order order = {0};
    struct embi_json j;
    struct embi_json_value key;
    embi_json_init(&j, like->s, like->n, EMBI_JSON_NAN);
    if (like->n > 0)
        embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (like->n > 0 && embi_json_member(&j, &key))
        for (size_t i = 0; i < n; i++)
            if (embi_json_is(&key, keys[usual[i]].name))
                order_add(&order, usual[i]);
    for (size_t i = 0; i < n; i++)
        order_add(&order, usual[i]);
    return order;
}

static void put_entry(struct embi_json_append *a, const struct order *order,
                      const struct embi_token_fill *token)
{
    embi_json_append_enter(a, '{');
    for (size_t i = 0; i < order->n; i++) {
        enum key key = order->keys[i];
        embi_json_append_key(a, (emb_str){keys[key].name, strlen(keys[key].name)});
        if (key == KEY_ID)
            embi_buf_print(a->out, "%" PRIu64, token->id);
        else if (key == KEY_CONTENT)
            embi_json_quote(a->out, token->text.s, token->text.n, NULL);
        else
            embi_buf_text(a->out, token->flags & keys[key].flag ? "true" : "false");
    }
    embi_json_append_leave(a);
}

/* ------------------------------------------------------------------------------------------------
 * tokenizer.json
 */

static emb_status read_list(const struct embi_json_value *v, enum embi_token_form form,
                            struct embi_token_list *list, emb_err *err)
{
    struct embi_json j;
    embi_json_init(&j, v->s, v->n, EMBI_JSON_NAN);
    emb_status status = embi_token_list_read(list, &j, form, err);
    return status ? status : embi_json_finish(&j, 0, err);
}

static bool goes_into(const struct embi_token_fill *token, enum embi_token_file file)
{
    return (token->files & EMBI_TOKENS_BIT(file)) != 0;
}

/* Entries of consecutive tokens that belong before the same one. */
static void put_group(const struct embi_tokenizer_change *c, size_t *i,
                      const struct embi_json_value *array, const struct embi_token_list *list,
                      struct embi_json_edits *edits)
{
    const struct embi_token_entry *before = c->add[*i].before;
    size_t last = list->n;
    struct embi_json_value none = {0};
    struct order order =
        order_of(last ? &list->items[last - 1].item : &none, json_order, EMBI_LEN(json_order));
    struct embi_json_append a;
    if (before) /* the same place of the same list, read anew */
        embi_json_append_before(&a, edits, array,
                                &list->items[before - c->sources.lists[0].items].item);
    else
        embi_json_append_begin(&a, edits, array);
    for (; *i < c->n_add && c->add[*i].before == before; ++*i) {
        if (!goes_into(&c->add[*i], EMBI_TOKENS_OF_JSON))
            continue;
        embi_json_append_item(&a);
        put_entry(&a, &order, &c->add[*i]);
    }
    embi_json_append_end(&a);
}

static emb_status add_to_array(const struct embi_tokenizer_change *c, struct embi_text_edit *text,
                               emb_err *err)
{
    struct embi_token_list list = {0};
    struct embi_json_value array;
    emb_status status = embi_change_container(c, text, "added_tokens", "[]", &array, err);
    if (!status)
        status = read_list(&array, EMBI_TOKENS_ARRAY, &list, err);
    for (size_t i = 0; !status && i < c->n_add;)
        put_group(c, &i, &array, &list, &text->json);
    embi_token_list_free(&list);
    return status;
}

/* Holes inside the vocabulary. */
static emb_status add_to_vocab(const struct embi_tokenizer_change *c, struct embi_text_edit *text,
                               emb_err *err)
{
    struct embi_json_value model, vocab;
    struct embi_json_append a;
    if (c->n_add == 0 || !c->add[0].in_vocab) /* they come first */
        return EMB_OK;
    emb_status status = embi_json_member_of(text->json.s, text->json.n, "model", &model, err);
    if (!status)
        status = embi_json_member_of(model.s, model.n, "vocab", &vocab, err);
    if (status)
        return status;
    embi_json_append_begin(&a, &text->json, &vocab);
    for (size_t i = 0; i < c->n_add && c->add[i].in_vocab; i++) {
        embi_json_append_key(&a, c->add[i].text);
        embi_buf_print(a.out, "%" PRIu64, c->add[i].id);
    }
    embi_json_append_end(&a);
    return embi_text_edit_keep(text, c->edits, err);
}

static emb_status add_to_json(const struct embi_tokenizer_change *c, emb_err *err)
{
    struct embi_text_edit text;
    emb_status status = embi_change_open(c, "tokenizer.json", &text, err);
    if (!status)
        status = add_to_vocab(c, &text, err);
    if (!status)
        status = add_to_array(c, &text, err);
    if (!status)
        status = embi_text_edit_keep(&text, c->edits, err);
    embi_text_edit_close(&text);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * tokenizer_config.json, added_tokens.json
 */

static void put_decoder(struct embi_text_edit *text, const struct embi_json_value *object,
                        const struct embi_json_value *like, const struct embi_token_fill *list,
                        size_t n)
{
    struct order order = order_of(like, decoder_order, EMBI_LEN(decoder_order));
    struct embi_json_append a;
    embi_json_append_begin(&a, &text->json, object);
    for (size_t i = 0; i < n; i++) {
        char id[24];
        if (!goes_into(&list[i], EMBI_TOKENS_OF_CONFIG))
            continue;
        int length = snprintf(id, sizeof id, "%" PRIu64, list[i].id);
        embi_json_append_key(&a, (emb_str){id, (size_t)length});
        put_entry(&a, &order, &list[i]);
    }
    embi_json_append_end(&a);
}

emb_status embi_decoder_append(const struct embi_tokenizer_change *c,
                               const struct embi_token_fill *list, size_t n, emb_err *err)
{
    struct embi_text_edit text;
    struct embi_json_value object, none = {0};
    struct embi_token_list old = {0};
    emb_status status = embi_change_open(c, "tokenizer_config.json", &text, err);
    if (!status)
        status = embi_change_container(c, &text, "added_tokens_decoder", "{}", &object, err);
    if (!status)
        status = read_list(&object, EMBI_TOKENS_DECODER, &old, err);
    if (!status) {
        put_decoder(&text, &object, old.n ? &old.items[old.n - 1].item : &none, list, n);
        status = embi_text_edit_keep(&text, c->edits, err);
    }
    embi_token_list_free(&old);
    embi_text_edit_close(&text);
    return status;
}

emb_status embi_added_append(const struct embi_tokenizer_change *c,
                             const struct embi_token_fill *list, size_t n, emb_err *err)
{
    struct embi_text_edit text;
    struct embi_json_value root;
    struct embi_json_append a;
    emb_status status = embi_change_open(c, "added_tokens.json", &text, err);
    if (!status && !text.json.s)
        embi_text_edit_make(&text);
    if (!status)
        status = embi_text_edit_root(&text, &root, err);
    if (!status) {
        embi_json_append_begin(&a, &text.json, &root);
        for (size_t i = 0; i < n; i++) {
            if (!goes_into(&list[i], EMBI_TOKENS_OF_ADDED))
                continue;
            embi_json_append_key(&a, list[i].text);
            embi_buf_print(a.out, "%" PRIu64, list[i].id);
        }
        embi_json_append_end(&a);
        status = embi_text_edit_keep(&text, c->edits, err);
    }
    embi_text_edit_close(&text);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Lists of special tokens
 */

static void put_special(const struct embi_tokenizer_change *c, struct embi_text_edit *text,
                        const struct embi_json_value *array)
{
    struct embi_json_append a;
    embi_json_append_begin(&a, &text->json, array);
    for (size_t i = 0; i < c->changes->n_add; i++) {
        const struct embi_new_token *token = &c->changes->add[i];
        if (!token->special)
            continue;
        embi_json_append_item(&a);
        embi_json_quote(a.out, token->text.s, token->text.n, NULL);
    }
    embi_json_append_end(&a);
}

emb_status embi_special_append(const struct embi_tokenizer_change *c, const char *name,
                               const char *key, emb_err *err)
{
    struct embi_text_edit text;
    struct embi_json_value array = {0};
    emb_status status = embi_change_open(c, name, &text, err);
    if (!status && text.json.s)
        status = embi_change_container(c, &text, key, "[]", &array, err);
    if (!status && array.kind == EMBI_JSON_ARRAY) {
        put_special(c, &text, &array);
        status = embi_text_edit_keep(&text, c->edits, err);
    }
    embi_text_edit_close(&text);
    return status;
}

emb_status embi_tokenizer_add(struct embi_tokenizer_change *c, emb_err *err)
{
    emb_status status = c->sources.json ? add_to_json(c, err) : EMB_OK;
    if (!status && c->sources.lists[EMBI_TOKENS_OF_CONFIG].found)
        status = embi_decoder_append(c, c->add, c->n_add, err);
    if (!status && c->sources.lists[EMBI_TOKENS_OF_ADDED].found)
        status = embi_added_append(c, c->add, c->n_add, err);
    return status;
}
