/* check_roles.c - the roles of special tokens (bos, eos, pad ...): is the id that config.json gives
 * a role that of the tokenizer's token, does generation_config.json agree, and is each token in a
 * vocabulary at all?
 */
#include "ops/check_model.h"

#include "model/positions.h"
#include "model/text_edit.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

/* The first EMBI_CHECK_ROLES have an id in config.json that is compared. */
const char *const embi_check_role_names[] = {"bos", "eos", "pad", "unk", "sep", "cls", "mask"};

/* ------------------------------------------------------------------------------------------------
 * The token of a role
 */

/* The text that a tokenizer file gives a role, behind its flags; of no kind where it has none. */
static emb_status role_text(const struct embi_sidecar *file, const char *role,
                            struct embi_json_value *text, emb_err *err)
{
    char key[16];
    *text = (struct embi_json_value){0};
    if (!file->io)
        return EMB_OK;
    (void)snprintf(key, sizeof key, "%s_token", role);
    emb_status status = embi_json_member_of(file->s, file->n, key, text, err);
    if (!status && text->kind == EMBI_JSON_OBJECT)
        status = embi_json_member_of(text->s, text->n, "content", text, err);
    if (text->kind != EMBI_JSON_STRING)
        *text = (struct embi_json_value){0};
    return status;
}

/* The id of the token with that text; false: no token has it. */
static bool find_text(const struct embi_checking *c, const struct embi_json_value *text,
                      uint64_t *id, emb_str *token)
{
    for (*id = 0; *id < c->tokenizer.n; ++*id) {
        *token = c->tokenizer.tokens[*id];
        if (token->s && embi_json_equals(text, *token))
            return true;
    }
    return false;
}

/* The token that tokenizer_config.json gives a role, and its id; false where there is none. */
static bool role_token(const struct embi_checking *c, const struct embi_role_files *f,
                       const char *role, uint64_t *id, emb_str *token)
{
    struct embi_json_value text;
    emb_err ignored; /* of a file that check_vocabulary reads and refuses */
    return role_text(&f->tokenizer, role, &text, &ignored) == EMB_OK && text.kind != 0 &&
           find_text(c, &text, id, token);
}

const char *embi_check_mend_role(struct embi_checking *c, const struct embi_role_files *f,
                                 const char *role, struct embi_buf *mend)
{
    uint64_t id;
    emb_str token;
    if (c->tokens_stay || !role_token(c, f, role, &id, &token) || id >= c->rows ||
        memchr(token.s, '\0', token.n))
        return NULL;
    if (strcmp(role, "pad") == 0 && embi_positions_follow_pad(&c->model->config) &&
        id != embi_positions_pad(&c->model->config))
        return NULL;
    embi_buf_print(mend, "--role %s=", role);
    embi_buf_quoted(mend, token.s, token.n);
    embi_buf_text(mend, " " EMBI_MEND);
    const char *options = embi_buf_cstr(mend);
    c->failed |= mend->failed;
    return options;
}

/* ------------------------------------------------------------------------------------------------
 * Ids
 */

static bool list_has(const struct embi_json_value *v, uint64_t id)
{
    struct embi_json j;
    struct embi_json_value item;
    uint64_t x;
    if (v->kind == EMBI_JSON_NUMBER)
        return embi_json_u64(v, &x) && x == id;
    embi_json_init(&j, v->s, v->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (embi_json_item(&j) && embi_json_skip(&j, &item))
        if (embi_json_u64(&item, &x) && x == id)
            return true;
    return false;
}

/* The value at the top, or where that lacks the key in the text model inside. */
static emb_status config_member(const struct embi_checking *c, const char *key,
                                struct embi_json_value *v, emb_err *err)
{
    emb_status status = EMB_OK;
    *v = (struct embi_json_value){0};
    for (int i = 0; !status && v->kind == 0 && i < c->n_objects; i++)
        status = embi_json_member_of(c->objects[i].s, c->objects[i].n, key, v, err);
    return status;
}

struct role_ids {
    const char *role;
    char key[24];
    struct embi_json_value config, generation; /* of no kind: not said */
};

static emb_status read_ids(const struct embi_checking *c, const struct embi_role_files *f,
                           struct role_ids *ids, emb_err *err)
{
    ids->generation = (struct embi_json_value){0};
    (void)snprintf(ids->key, sizeof ids->key, "%s_token_id", ids->role);
    emb_status status = config_member(c, ids->key, &ids->config, err);
    if (!status && f->generation.io)
        status =
            embi_json_member_of(f->generation.s, f->generation.n, ids->key, &ids->generation, err);
    return status;
}

/* Is the id of the role that of the tokenizer's token? One of the two files is enough: a generation
 * may end at more tokens than a text does. */
static void check_token_id(struct embi_checking *c, const struct embi_role_files *f,
                           const struct role_ids *ids)
{
    struct embi_buf mend = {0};
    char shown[EMBI_SHOW_MAX];
    uint64_t id, said;
    emb_str token;
    if (!embi_json_u64(&ids->config, &said) || said >= c->rows ||
        !role_token(c, f, ids->role, &id, &token) || said == id ||
        (ids->generation.kind != 0 && list_has(&ids->generation, id)))
        return;
    embi_check_say(c, "special id", embi_check_mend_role(c, f, ids->role, &mend),
                   "config.json: %s is %" PRIu64 ", tokenizer_config.json says that the token is "
                   "'%s', whose id is %" PRIu64,
                   ids->key, said, embi_show(shown, token), id);
    embi_buf_free(&mend);
}

/* An id below `rows`, that is also in `other` if there is one? */
static bool is_id(const struct embi_json_value *v, uint64_t rows,
                  const struct embi_json_value *other)
{
    uint64_t x;
    return embi_json_u64(v, &x) && x < rows && (!other || list_has(other, x));
}

/* How many of an id, or of a list of ids, are such. */
static size_t count_ids(const struct embi_json_value *v, uint64_t rows,
                        const struct embi_json_value *other)
{
    struct embi_json j;
    struct embi_json_value item;
    size_t n = 0;
    if (v->kind != EMBI_JSON_ARRAY)
        return is_id(v, rows, other);
    embi_json_init(&j, v->s, v->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (embi_json_item(&j) && embi_json_skip(&j, &item))
        n += is_id(&item, rows, other);
    return n;
}

/* generation_config.json wins where text is made, config.json elsewhere: they may differ in length,
 * but have an id in common. Which one is meant is known where the tokenizer says it. */
static void check_generation(struct embi_checking *c, const struct embi_role_files *f,
                             const struct role_ids *ids)
{
    struct embi_buf mend = {0};
    char a[EMBI_SHOW_MAX], b[EMBI_SHOW_MAX];
    uint64_t id;
    emb_str token;
    if (!count_ids(&ids->config, c->rows, NULL) || !count_ids(&ids->generation, c->rows, NULL) ||
        count_ids(&ids->generation, c->rows, &ids->config))
        return;
    bool known = role_token(c, f, ids->role, &id, &token) && list_has(&ids->generation, id);
    embi_check_say(c, "special id", known ? embi_check_mend_role(c, f, ids->role, &mend) : NULL,
                   "generation_config.json: %s is %s, config.json says %s", ids->key,
                   embi_show(a, (emb_str){ids->generation.s, ids->generation.n}),
                   embi_show(b, (emb_str){ids->config.s, ids->config.n}));
    embi_buf_free(&mend);
}

static emb_status check_ids(struct embi_checking *c, const struct embi_role_files *f, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && c->config.io && i < EMBI_CHECK_ROLES; i++) {
        struct role_ids ids = {.role = embi_check_role_names[i]};
        status = read_ids(c, f, &ids, err);
        if (!status && c->has_tokenizer)
            check_token_id(c, f, &ids);
        if (!status)
            check_generation(c, f, &ids);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Vocabularies
 */

static void say_unknown(struct embi_checking *c, const char *file, const char *role, emb_str text)
{
    struct embi_buf mend = {0};
    char shown[EMBI_SHOW_MAX];
    const char *options = NULL;
    if (!c->tokens_stay && !c->rows_stay && !memchr(text.s, '\0', text.n)) {
        embi_buf_text(&mend, "--add-token ");
        embi_buf_quoted(&mend, text.s, text.n);
        embi_buf_text(&mend, " --special " EMBI_MEND);
        options = embi_buf_cstr(&mend);
        c->failed |= mend.failed;
    }
    embi_check_say(c, "tokenizer", options,
                   "%s: %s_token is '%s', which is in no vocabulary: loaders give it an id of "
                   "their own",
                   file, role, embi_show(shown, text));
    embi_buf_free(&mend);
}

/* first: what another file has said of the role. */
static void check_text(struct embi_checking *c, const char *file, const char *role,
                       const struct embi_json_value *v, const struct embi_json_value *first)
{
    struct embi_buf text = {0};
    emb_str token;
    uint64_t id;
    if (v->kind != 0 && !find_text(c, v, &id, &token) && embi_json_string(v, &text) && text.n &&
        !(first && embi_json_equals(first, (emb_str){text.s, text.n})))
        say_unknown(c, file, role, (emb_str){text.s, text.n});
    c->failed |= text.failed;
    embi_buf_free(&text);
}

/* Do the two tokenizer files give the role the same token? */
static void check_same(struct embi_checking *c, const struct embi_role_files *f, const char *role,
                       const struct embi_json_value *text, const struct embi_json_value *again)
{
    struct embi_buf a = {0}, b = {0}, mend = {0};
    char shown[EMBI_SHOW_MAX], other[EMBI_SHOW_MAX];
    if (text->kind == EMBI_JSON_STRING && again->kind == EMBI_JSON_STRING &&
        embi_json_string(text, &a) && embi_json_string(again, &b) &&
        !embi_str_equal((emb_str){a.s, a.n}, (emb_str){b.s, b.n}))
        embi_check_say(c, "tokenizer", embi_check_mend_role(c, f, role, &mend),
                       "special_tokens_map.json: %s_token is '%s', tokenizer_config.json says '%s'",
                       role, embi_show(other, (emb_str){b.s, b.n}),
                       embi_show(shown, (emb_str){a.s, a.n}));
    c->failed |= a.failed || b.failed;
    embi_buf_free(&a);
    embi_buf_free(&b);
    embi_buf_free(&mend);
}

/* Classes that read a SentencePiece model or ranks bring special tokens of their own. */
static bool lists_all(const struct embi_checking *c)
{
    enum embi_tokenizer_kind kind = c->tokenizer.kind;
    return c->has_tokenizer && (kind == EMBI_TOKENIZER_JSON || kind == EMBI_TOKENIZER_VOCAB_JSON ||
                                kind == EMBI_TOKENIZER_LINES);
}

static emb_status check_vocabulary(struct embi_checking *c, const struct embi_role_files *f,
                                   emb_err *err)
{
    for (size_t i = 0; c->has_tokenizer && i < EMBI_CHECK_ROLE_NAMES; i++) {
        const char *role = embi_check_role_names[i];
        struct embi_json_value text, again;
        if (role_text(&f->tokenizer, role, &text, err))
            return embi_fail_in(err, "tokenizer_config.json");
        if (role_text(&f->map, role, &again, err))
            return embi_fail_in(err, "special_tokens_map.json");
        check_same(c, f, role, &text, &again);
        if (!lists_all(c))
            continue;
        check_text(c, "tokenizer_config.json", role, &text, NULL);
        check_text(c, "special_tokens_map.json", role, &again, &text);
    }
    return EMB_OK;
}

emb_status embi_check_roles(struct embi_checking *c, const struct embi_role_files *f, emb_err *err)
{
    emb_status status = check_vocabulary(c, f, err);
    return status ? status : check_ids(c, f, err);
}
