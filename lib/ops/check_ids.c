/* check_ids.c - ids of special tokens in config.json and generation_config.json, beside the number
 * of rows. What the roles of tokens say of each other is check_roles.c's.
 */
#include "ops/check_model.h"

#include "model/text_edit.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

/* The options that mend an id; NULL: none do. */
static const char *mend_key(struct embi_checking *c, const struct embi_role_files *f,
                            const struct embi_json_value *key, struct embi_buf *mend)
{
    for (size_t i = 0; i < EMBI_CHECK_ROLES; i++) {
        char id_key[24];
        (void)snprintf(id_key, sizeof id_key, "%s_token_id", embi_check_role_names[i]);
        if (embi_json_is(key, id_key))
            return embi_check_mend_role(c, f, embi_check_role_names[i], mend);
    }
    return NULL;
}

/* An id that a token has: rows up to it mend that. Else the token that has the role does. */
static const char *mend_range(struct embi_checking *c, const struct embi_role_files *f,
                              const struct embi_json_value *key, uint64_t id, struct embi_buf *mend)
{
    if (id < c->tokenizer.n && c->tokenizer.tokens[id].s)
        return embi_check_mend_rows(c, EMBI_MEND);
    return key ? mend_key(c, f, key, mend) : NULL;
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
static void check_range(struct embi_checking *c, const struct embi_role_files *f, const char *file,
                        const struct embi_json_value *key, const struct embi_json_value *v)
{
    struct embi_json j;
    struct embi_json_value item;
    struct embi_buf mend = {0};
    uint64_t id;
    if (embi_json_u64(v, &id) && id >= c->rows)
        say_range(c, file, key, id, mend_range(c, f, key, id, &mend));
    embi_buf_free(&mend);
    if (v->kind != EMBI_JSON_ARRAY)
        return;
    embi_json_init(&j, v->s, v->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (embi_json_item(&j) && embi_json_skip(&j, &item))
        if (embi_json_u64(&item, &id) && id >= c->rows)
            say_range(c, file, key, id, mend_range(c, f, NULL, id, &mend));
}

static emb_status check_ids_of(struct embi_checking *c, const struct embi_role_files *f,
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

static emb_status check_ranges(struct embi_checking *c, const struct embi_role_files *f,
                               emb_err *err)
{
    struct embi_json_value whole;
    emb_status status = EMB_OK;
    for (int i = 0; !status && i < c->n_objects; i++)
        status = check_ids_of(c, f, "config.json", &c->objects[i], err);
    if (status || !f->generation.io)
        return status;
    whole = (struct embi_json_value){.s = f->generation.s, .n = f->generation.n};
    status = check_ids_of(c, f, "generation_config.json", &whole, err);
    return status ? embi_fail_in(err, "generation_config.json") : EMB_OK;
}

emb_status embi_check_ids(struct embi_checking *c, emb_err *err)
{
    struct embi_role_files f = {0};
    const char *dir = c->model->dir;
    emb_status status =
        embi_sidecar_open(c->env, dir, "generation_config.json", &f.generation, err);
    if (!status)
        status = embi_sidecar_open(c->env, dir, "tokenizer_config.json", &f.tokenizer, err);
    if (!status)
        status = embi_sidecar_open(c->env, dir, "special_tokens_map.json", &f.map, err);
    if (!status)
        status = check_ranges(c, &f, err);
    if (!status)
        status = embi_check_roles(c, &f, err);
    embi_sidecar_close(&f.generation);
    embi_sidecar_close(&f.tokenizer);
    embi_sidecar_close(&f.map);
    return status;
}
