/* tokenizer_roles.c - a token becomes the pad, eos ... token of a model: its text in the
 * tokenizer's files, its id in config.json and generation_config.json.
 *
 * A key that is there gets the new value wherever it is; one that loaders look for is made. A list
 * of ids (several tokens may end a text) keeps the others, an object with flags keeps the flags.
 */
#include "model/tokenizer_change.h"

#include "model/config_objects.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *name;
    bool made; /* models of every kind know this id */
} roles[] = {{"bos", true},  {"eos", true},  {"pad", true},  {"unk", false},
             {"sep", false}, {"cls", false}, {"mask", false}};

enum { KEY_MAX = 24 };

/* The value that a key gets: a text, or an id. */
struct value {
    char key[KEY_MAX];
    bool made;
    emb_str text; /* s NULL: the id */
    uint64_t id;
};

static void put_value(struct embi_buf *out, const struct value *x)
{
    if (x->text.s)
        embi_json_quote(out, x->text.s, x->text.n, NULL);
    else
        embi_buf_print(out, "%" PRIu64, x->id);
}

static bool is_value(const struct embi_json_value *v, const struct value *x)
{
    uint64_t id = 0;
    return x->text.s ? embi_json_equals(v, x->text) : embi_json_u64(v, &id) && id == x->id;
}

static bool list_has(const struct embi_json_value *list, const struct value *x)
{
    struct embi_json j;
    struct embi_json_value v;
    embi_json_init(&j, list->s, list->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (embi_json_item(&j) && embi_json_skip(&j, &v))
        if (is_value(&v, x))
            return true;
    return false;
}

/* A token may be written with its flags, as an object: what counts is its content then. */
static struct embi_json_value value_of(const struct embi_json_value *v)
{
    struct embi_json_value content;
    emb_err ignored;
    if (v->kind != EMBI_JSON_OBJECT ||
        embi_json_member_of(v->s, v->n, "content", &content, &ignored) != EMB_OK ||
        content.kind != EMBI_JSON_STRING)
        return *v;
    return content;
}

static void set_value(struct embi_json_edits *e, const struct embi_json_value *v,
                      const struct value *x)
{
    struct embi_json_append a;
    struct embi_buf json = {0};
    if (v->kind == EMBI_JSON_ARRAY) {
        if (list_has(v, x))
            return;
        embi_json_append_begin(&a, e, v);
        embi_json_append_item(&a);
        put_value(a.out, x);
        embi_json_append_end(&a);
    } else if (!is_value(v, x)) {
        put_value(&json, x);
        embi_json_edit_replace(e, v, json.s, json.n);
        e->bytes.failed |= json.failed;
        embi_buf_free(&json);
    }
}

static void make_value(struct embi_json_edits *e, const struct embi_json_value *object,
                       const struct value *x)
{
    struct embi_json_append a;
    embi_json_append_begin(&a, e, object);
    embi_json_append_key(&a, (emb_str){x->key, strlen(x->key)});
    put_value(a.out, x);
    embi_json_append_end(&a);
}

/* Sets the key in each of the objects that has it; where none has, it is made in the last. */
static emb_status set_in(struct embi_text_edit *text, const struct embi_json_value *objects, int n,
                         const struct value *x, emb_err *err)
{
    emb_status status = EMB_OK;
    bool found = false;
    for (int i = 0; !status && i < n; i++) {
        struct embi_json_value v;
        status = embi_json_member_of(objects[i].s, objects[i].n, x->key, &v, err);
        if (status || v.kind == 0)
            continue;
        found = true;
        v = value_of(&v);
        set_value(&text->json, &v, x);
    }
    if (!status && !found && x->made)
        make_value(&text->json, &objects[n - 1], x);
    return status ? embi_fail_in(err, "%s", text->name) : EMB_OK;
}

/* In a file whose root has the key. `made`: the file itself is made too if it is not there. */
static emb_status set_in_file(const struct embi_tokenizer_change *c, const char *name, bool made,
                              const struct value *x, emb_err *err)
{
    struct embi_text_edit text;
    struct embi_json_value root;
    emb_status status = embi_change_open(c, name, &text, err);
    if (!status && !text.json.s && made)
        embi_text_edit_make(&text);
    if (!status && text.json.s) {
        status = embi_text_edit_root(&text, &root, err);
        if (!status)
            status = set_in(&text, &root, 1, x, err);
        if (!status)
            status = embi_text_edit_keep(&text, c->edits, err);
    }
    embi_text_edit_close(&text);
    return status;
}

/* At the top and in the text model inside, but not in other models that may be there. */
static emb_status set_in_config(const struct embi_tokenizer_change *c, const struct value *x,
                                emb_err *err)
{
    struct embi_text_edit text;
    struct embi_config_objects o;
    emb_status status = embi_change_open(c, "config.json", &text, err);
    if (!status && text.json.s) {
        status = embi_config_objects_find(text.json.s, text.json.n, &o, err);
        if (status) {
            embi_fail_in(err, "config.json");
        } else {
            struct embi_json_value objects[2];
            int n = embi_config_text_objects(&o, objects);
            status = set_in(&text, objects, n, x, err);
        }
        if (!status)
            status = embi_text_edit_keep(&text, c->edits, err);
    }
    embi_text_edit_close(&text);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Which token
 */

/* Its id when all changes are made. */
static uint64_t id_of(const struct embi_tokenizer_change *c, emb_str text)
{
    const struct embi_tokenizer_changes *changes = c->changes;
    for (size_t i = 0; i < changes->n_add; i++)
        if (embi_str_equal(changes->add[i].text, text))
            return changes->add[i].id;
    for (size_t i = 0; i < changes->n_renames; i++) {
        if (embi_str_equal(changes->renames[i].to, text))
            return embi_token_sources_find(&c->sources, changes->renames[i].from);
        if (embi_str_equal(changes->renames[i].from, text))
            return EMBI_MAP_NONE;
    }
    return embi_token_sources_find(&c->sources, text);
}

static emb_status find_role(const char *name, size_t *role, emb_err *err)
{
    for (*role = 0; *role < EMBI_LEN(roles); ++*role)
        if (strcmp(name, roles[*role].name) == 0)
            return EMB_OK;
    return embi_fail(err, EMB_BAD_ARG, -1,
                     "there is no role '%s': expected bos, eos, pad, unk, sep, cls or mask", name);
}

/* Position 0 of some models stands behind the row of the pad id: with another pad id every token
 * would get another position, or none that the table has. */
static emb_status check_pad(const struct embi_tokenizer_change *c, const struct embi_token_role *r,
                            uint64_t id, emb_err *err)
{
    const uint64_t *pad = c->changes->pad;
    char shown[EMBI_SHOW_MAX];
    if (!pad || strcmp(r->role, "pad") != 0 || id == *pad)
        return EMB_OK;
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "pad: '%s' has the id %" PRIu64 ", and this model counts positions from its "
                     "pad id, %" PRIu64 ": with another one it computes something else",
                     embi_show(shown, r->token), id, *pad);
}

emb_status embi_tokenizer_role(struct embi_tokenizer_change *c, const struct embi_token_role *r,
                               emb_err *err)
{
    struct value text = {.text = r->token, .made = true}, id = {.id = id_of(c, r->token)};
    char shown[EMBI_SHOW_MAX];
    size_t role;
    emb_status status = find_role(r->role, &role, err);
    if (status)
        return status;
    if (id.id == EMBI_MAP_NONE)
        return embi_fail(err, EMB_NOT_FOUND, -1,
                         "%s: '%s' is not in the vocabulary; --add-token adds it", r->role,
                         embi_show(shown, r->token));
    status = check_pad(c, r, id.id, err);
    if (status)
        return status;
    id.made = roles[role].made;
    (void)snprintf(text.key, sizeof text.key, "%s_token", r->role);
    (void)snprintf(id.key, sizeof id.key, "%s_token_id", r->role);
    status = set_in_file(c, "tokenizer_config.json", true, &text, err);
    if (!status)
        status = set_in_file(c, "special_tokens_map.json", false, &text, err);
    if (!status)
        status = set_in_config(c, &id, err);
    if (!status)
        status = set_in_file(c, "generation_config.json", false, &id, err);
    return status;
}
