/* check_config.c - sizes and special ids in config.json and generation_config.json, beside the
 * tables and the tokenizer.
 */
#include "ops/check_model.h"

#include "model/config_objects.h"
#include "model/text_edit.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------------------------
 * Sizes
 */

static void check_size(struct embi_checking *c, const char *key, const struct embi_json_value *v,
                       uint64_t rows, const char *table)
{
    uint64_t x;
    if (embi_json_u64(v, &x) && x != rows)
        embi_check_say(c, "config", EMBI_MEND,
                       "config.json: %s is %" PRIu64 ", %s has %" PRIu64 " rows", key, x, table,
                       rows);
}

/* vocab_size counts what is put out, where that is less than what is taken in. */
static void check_vocab_size(struct embi_checking *c, const struct embi_json_value *v)
{
    size_t head = c->vocab.head;
    uint64_t x;
    bool of_head = head != EMBI_NO_TENSOR && embi_json_u64(v, &x) &&
                   x == c->vocab.list[head].rows &&
                   strncmp(c->model->config.type, "mllama", 6) == 0;
    if (!of_head)
        check_size(c, "vocab_size", v, c->rows, c->name);
}

static void check_per_layer(struct embi_checking *c, const struct embi_json_value *v)
{
    char shown[EMBI_SHOW_MAX];
    for (size_t i = 0; i < c->vocab.n; i++) {
        const struct embi_vocab_tensor *t = &c->vocab.list[i];
        if (t->role == EMBI_VOCAB_PER_LAYER)
            check_size(c, "vocab_size_per_layer_input", v, t->rows,
                       embi_show(shown, c->model->weights.tensors[t->tensor].name));
    }
}

static emb_status check_object(struct embi_checking *c, const struct embi_json_value *object,
                               emb_err *err)
{
    struct embi_json_value v;
    emb_status status = embi_json_member_of(object->s, object->n, "vocab_size", &v, err);
    if (!status)
        check_vocab_size(c, &v);
    if (!status)
        status = embi_json_member_of(object->s, object->n, "vocab_size_per_layer_input", &v, err);
    if (!status)
        check_per_layer(c, &v);
    return status;
}

emb_status embi_check_config(struct embi_checking *c, emb_err *err)
{
    struct embi_sidecar file;
    struct embi_config_objects found;
    struct embi_json_value objects[2];
    emb_status status = embi_sidecar_open(c->env, c->model->dir, "config.json", &file, err);
    if (status || !file.io)
        return status;
    status = embi_config_objects_find(file.s, file.n, &found, err);
    int n = status ? 0 : embi_config_text_objects(&found, objects);
    for (int i = 0; !status && i < n; i++)
        status = check_object(c, &objects[i], err);
    embi_sidecar_close(&file);
    return status ? embi_fail_in(err, "config.json") : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Special ids
 */

struct role_files {
    struct embi_sidecar tokenizer, config, generation;
};

/* The roles whose ids are compared with the tokenizer's tokens. */
static const char *const roles[] = {"bos", "eos", "pad"};

/* The token that tokenizer_config.json gives a role, and its id; false where there is none. */
static bool role_token(const struct embi_checking *c, const struct role_files *f, const char *role,
                       uint64_t *id, emb_str *token)
{
    struct embi_json_value text = {0};
    char key[16];
    emb_err ignored;
    (void)snprintf(key, sizeof key, "%s_token", role);
    if (!f->tokenizer.io ||
        embi_json_member_of(f->tokenizer.s, f->tokenizer.n, key, &text, &ignored) != EMB_OK)
        return false;
    if (text.kind == EMBI_JSON_OBJECT)
        (void)embi_json_member_of(text.s, text.n, "content", &text, &ignored);
    for (*id = 0; *id < c->tokenizer.n; ++*id) {
        *token = c->tokenizer.tokens[*id];
        if (token->s && embi_json_equals(&text, *token))
            return true;
    }
    return false;
}

/* The options that give the role to the tokenizer's own token; NULL where it has none that counts,
 * or one that no command line can hold. */
static const char *mend_role(struct embi_checking *c, const struct role_files *f, const char *role,
                             struct embi_buf *mend)
{
    uint64_t id;
    emb_str token;
    if (!role_token(c, f, role, &id, &token) || id >= c->rows || memchr(token.s, '\0', token.n))
        return NULL;
    embi_buf_print(mend, "--role %s=", role);
    embi_buf_quoted(mend, token.s, token.n);
    embi_buf_text(mend, " " EMBI_MEND);
    const char *options = embi_buf_cstr(mend);
    c->failed |= mend->failed;
    return options;
}

static const char *mend_key(struct embi_checking *c, const struct role_files *f,
                            const struct embi_json_value *key, struct embi_buf *mend)
{
    for (size_t i = 0; i < EMBI_LEN(roles); i++) {
        char id_key[24];
        (void)snprintf(id_key, sizeof id_key, "%s_token_id", roles[i]);
        if (embi_json_is(key, id_key))
            return mend_role(c, f, roles[i], mend);
    }
    return NULL;
}

static void say_range(struct embi_checking *c, const char *file, const struct embi_json_value *key,
                      uint64_t id, const char *mend)
{
    char shown[EMBI_SHOW_MAX];
    embi_check_say(c, "special id", mend,
                   "%s: %s is %" PRIu64 ", the embedding %s has %" PRIu64 " rows", file,
                   embi_show(shown, (emb_str){key->s + 1, key->n - 2}), id, c->name, c->rows);
}

/* An id, or a list of ids, beside the number of rows. Negative ones stand for none. A role never
 * takes an id out of a list, so nothing mends one there. */
static void check_range(struct embi_checking *c, const struct role_files *f, const char *file,
                        const struct embi_json_value *key, const struct embi_json_value *v)
{
    struct embi_json j;
    struct embi_json_value item;
    struct embi_buf mend = {0};
    uint64_t id;
    if (embi_json_u64(v, &id) && id >= c->rows)
        say_range(c, file, key, id, mend_key(c, f, key, &mend));
    embi_buf_free(&mend);
    if (v->kind != EMBI_JSON_ARRAY)
        return;
    embi_json_init(&j, v->s, v->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (embi_json_item(&j) && embi_json_skip(&j, &item))
        if (embi_json_u64(&item, &id) && id >= c->rows)
            say_range(c, file, key, id, NULL);
}

static emb_status check_ids_of(struct embi_checking *c, const struct role_files *f,
                               const char *file, const struct embi_json_value *object, emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    embi_json_init(&j, object->s, object->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_member(&j, &key))
        if ((embi_json_key_ends_in(&key, "_token_id") ||
             embi_json_key_ends_in(&key, "_token_index")) &&
            embi_json_skip(&j, &v))
            check_range(c, f, file, &key, &v);
    return embi_json_finish(&j, 0, err);
}

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
static emb_status config_member(const struct role_files *f, const char *key,
                                struct embi_json_value *v, emb_err *err)
{
    struct embi_config_objects found;
    struct embi_json_value objects[2];
    emb_status status = embi_config_objects_find(f->config.s, f->config.n, &found, err);
    int n = status ? 0 : embi_config_text_objects(&found, objects);
    *v = (struct embi_json_value){0};
    for (int i = 0; !status && v->kind == 0 && i < n; i++)
        status = embi_json_member_of(objects[i].s, objects[i].n, key, v, err);
    return status;
}

/* Is the id of the role that of the tokenizer's token? One of the two files is enough: a generation
 * may end at more tokens than a text does. */
static emb_status check_role(struct embi_checking *c, const struct role_files *f, const char *role,
                             emb_err *err)
{
    struct embi_json_value in_config, in_generation = {0};
    struct embi_buf mend = {0};
    char key[24], shown[EMBI_SHOW_MAX];
    uint64_t id, said;
    emb_str token;
    (void)snprintf(key, sizeof key, "%s_token_id", role);
    emb_status status = config_member(f, key, &in_config, err);
    if (!status && f->generation.io)
        status = embi_json_member_of(f->generation.s, f->generation.n, key, &in_generation, err);
    if (status || !embi_json_u64(&in_config, &said) || said >= c->rows ||
        !role_token(c, f, role, &id, &token) || said == id ||
        (in_generation.kind != 0 && list_has(&in_generation, id)))
        return status;
    embi_check_say(c, "special id", mend_role(c, f, role, &mend),
                   "config.json: %s is %" PRIu64 ", tokenizer_config.json says that the token is "
                   "'%s', whose id is %" PRIu64,
                   key, said, embi_show(shown, token), id);
    embi_buf_free(&mend);
    return EMB_OK;
}

static emb_status check_roles(struct embi_checking *c, const struct role_files *f, emb_err *err)
{
    emb_status status = EMB_OK;
    if (!f->config.io || !c->has_tokenizer)
        return EMB_OK;
    for (size_t i = 0; !status && i < EMBI_LEN(roles); i++)
        status = check_role(c, f, roles[i], err);
    return status;
}

static emb_status check_ranges(struct embi_checking *c, const struct role_files *f, emb_err *err)
{
    struct embi_config_objects found;
    struct embi_json_value objects[2], whole;
    emb_status status = EMB_OK;
    if (f->config.io) {
        status = embi_config_objects_find(f->config.s, f->config.n, &found, err);
        int n = status ? 0 : embi_config_text_objects(&found, objects);
        for (int i = 0; !status && i < n; i++)
            status = check_ids_of(c, f, "config.json", &objects[i], err);
    }
    if (status || !f->generation.io)
        return status;
    whole = (struct embi_json_value){.s = f->generation.s, .n = f->generation.n};
    status = check_ids_of(c, f, "generation_config.json", &whole, err);
    return status ? embi_fail_in(err, "generation_config.json") : EMB_OK;
}

emb_status embi_check_ids(struct embi_checking *c, emb_err *err)
{
    struct role_files f = {0};
    const char *dir = c->model->dir;
    emb_status status = embi_sidecar_open(c->env, dir, "config.json", &f.config, err);
    if (!status)
        status = embi_sidecar_open(c->env, dir, "generation_config.json", &f.generation, err);
    if (!status)
        status = embi_sidecar_open(c->env, dir, "tokenizer_config.json", &f.tokenizer, err);
    if (!status)
        status = check_ranges(c, &f, err);
    if (!status)
        status = check_roles(c, &f, err);
    embi_sidecar_close(&f.config);
    embi_sidecar_close(&f.generation);
    embi_sidecar_close(&f.tokenizer);
    return status;
}
