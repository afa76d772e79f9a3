/* tokenizer_old.c - new tokens where no file lists added tokens in the form that loaders ask for
 * first: directories without tokenizer.json whose tokenizer_config.json has no
 * added_tokens_decoder, as they were saved for years.
 *
 * Best is to give tokenizer_config.json that list, since it alone says the flags of a token.
 * Loaders then look at special_tokens_map.json and added_tokens.json no more: the list has to hold
 * all of the latter, and the roles of the former must stand in tokenizer_config.json too. Else
 * added_tokens.json has to do.
 */
#include "model/tokenizer_change.h"

#include "util/err.h"

#include <stdlib.h>

/* Classes that number tokens of their own behind the vocabulary, which no file has. */
static const char *const own_tokens[] = {
    "T5Tokenizer",     "MT5Tokenizer",    "MBartTokenizer",  "MBart50Tokenizer",
    "NllbTokenizer",   "M2M100Tokenizer", "XGLMTokenizer",   "UdopTokenizer",
    "PLBartTokenizer", "ByT5Tokenizer",   "CanineTokenizer", "PerceiverTokenizer"};

static emb_status refuse_own_tokens(const struct embi_tokenizer_change *c, emb_err *err)
{
    struct embi_text_edit config;
    struct embi_json_value class = {0};
    emb_status status = embi_change_open(c, "tokenizer_config.json", &config, err);
    if (!status && config.json.s)
        status = embi_json_member_of(config.json.s, config.json.n, "tokenizer_class", &class, err);
    for (size_t i = 0; !status && i < EMBI_LEN(own_tokens); i++)
        if (embi_json_is(&class, own_tokens[i]))
            status = embi_fail(err, EMB_UNSUPPORTED, -1,
                               "the class %s has tokens of its own, whose ids no file here says: "
                               "expected a tokenizer.json, or added_tokens_decoder",
                               own_tokens[i]);
    embi_text_edit_close(&config);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Roles
 */

/* The tokens of special_tokens_map.json, if there is one. */
static emb_status read_roles(const struct embi_text_edit *map, struct embi_token_list *roles,
                             emb_err *err)
{
    struct embi_json j;
    if (!map->json.s)
        return EMB_OK;
    embi_json_init(&j, map->json.s, map->json.n, EMBI_JSON_NAN);
    emb_status status = embi_token_roles_read(roles, &j, err);
    if (!status)
        status = embi_json_finish(&j, 0, err);
    return status ? embi_fail_in(err, "%s", map->name) : EMB_OK;
}

/* Is every role of special_tokens_map.json also in tokenizer_config.json? */
static emb_status roles_are_in(const struct embi_text_edit *map,
                               const struct embi_text_edit *config, bool *all, emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    struct embi_buf name = {0};
    emb_status status = EMB_OK;
    *all = config->json.s != NULL;
    if (!map->json.s || !*all)
        return EMB_OK;
    embi_json_init(&j, map->json.s, map->json.n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key)) {
        name.n = 0;
        embi_json_string(&key, &name);
        status = embi_json_member_of(config->json.s, config->json.n, embi_buf_cstr(&name), &v, err);
        *all = *all && v.kind != 0;
    }
    embi_buf_free(&name);
    return status ? status : embi_json_finish(&j, 0, err);
}

/* ------------------------------------------------------------------------------------------------
 * The two ways
 */

static int by_id(const void *a, const void *b)
{
    const struct embi_token_fill *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* added_tokens_decoder with all that added_tokens.json has and the new ones. The flags of the old
 * ones are those that loaders choose: a role's, else plain text that is normalised. */
static emb_status make_decoder(const struct embi_tokenizer_change *c,
                               const struct embi_token_list *roles, emb_err *err)
{
    const struct embi_token_list *old = &c->sources.lists[EMBI_TOKENS_OF_ADDED];
    size_t n = old->n + c->n_add;
    struct embi_token_fill *all = calloc(n + 1, sizeof *all);
    if (!all)
        return embi_fail_memory(err, n * sizeof *all, "added tokens");
    for (size_t i = 0; i < old->n; i++) {
        const struct embi_token_entry *role = embi_token_list_find(roles, old->items[i].text);
        all[i] = (struct embi_token_fill){
            .id = old->items[i].id,
            .text = old->items[i].text,
            .flags = role ? role->flags : EMBI_TOKEN_NORMALIZED,
        };
    }
    memcpy(all + old->n, c->add, c->n_add * sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i].files = EMBI_TOKENS_BIT(EMBI_TOKENS_OF_CONFIG);
    qsort(all, n, sizeof *all, by_id);
    emb_status status = embi_decoder_append(c, all, n, err);
    free(all);
    return status;
}

static emb_status add_to_plain_list(const struct embi_tokenizer_change *c, bool map, emb_err *err)
{
    bool special = false;
    for (size_t i = 0; i < c->n_add; i++) {
        c->add[i].files |= EMBI_TOKENS_BIT(EMBI_TOKENS_OF_ADDED);
        special = special || (c->add[i].flags & EMBI_TOKEN_SPECIAL);
    }
    emb_status status = embi_added_append(c, c->add, c->n_add, err);
    if (!status && special && map)
        status =
            embi_special_append(c, "special_tokens_map.json", "additional_special_tokens", err);
    return status;
}

static emb_status choose_way(const struct embi_tokenizer_change *c, struct embi_text_edit *map,
                             struct embi_text_edit *config, struct embi_token_list *roles,
                             emb_err *err)
{
    bool decoder = false;
    emb_status status = embi_change_open(c, "special_tokens_map.json", map, err);
    if (!status)
        status = embi_change_open(c, "tokenizer_config.json", config, err);
    if (!status)
        status = read_roles(map, roles, err);
    if (!status)
        status = roles_are_in(map, config, &decoder, err);
    if (status)
        return status;
    if (!decoder)
        return add_to_plain_list(c, map->json.s != NULL, err);
    status = make_decoder(c, roles, err);
    if (!status && c->sources.lists[EMBI_TOKENS_OF_ADDED].found)
        status = embi_added_append(c, c->add, c->n_add, err);
    return status;
}

emb_status embi_tokenizer_add_old(struct embi_tokenizer_change *c, emb_err *err)
{
    struct embi_text_edit map = {0}, config = {0};
    struct embi_token_list roles = {0};
    emb_status status = refuse_own_tokens(c, err);
    if (!status)
        status = choose_way(c, &map, &config, &roles, err);
    embi_token_list_free(&roles);
    embi_text_edit_close(&map);
    embi_text_edit_close(&config);
    return status;
}
