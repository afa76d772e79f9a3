/* text_edit.c - see text_edit.h.
 */
#include "model/text_edit.h"

#include "util/err.h"

static const char empty_object[] = "{}\n";

emb_status embi_text_edit_open(struct embi_text_edit *t, const struct embi_env *env,
                               const char *dir, const char *name,
                               const struct embi_file_edits *edits, emb_err *err)
{
    const struct embi_file_edit *earlier = embi_file_edits_find(edits, name);
    *t = (struct embi_text_edit){.name = name};
    if (earlier) {
        t->json.s = earlier->bytes.s;
        t->json.n = earlier->bytes.n;
        return EMB_OK;
    }
    emb_status status = embi_sidecar_open(env, dir, name, &t->file, err);
    if (!status && t->file.io) {
        t->json.s = t->file.n ? t->file.s : "";
        t->json.n = t->file.n;
    }
    return status;
}

void embi_text_edit_make(struct embi_text_edit *t)
{
    t->json.s = empty_object;
    t->json.n = sizeof empty_object - 1;
}

emb_status embi_text_edit_keep(struct embi_text_edit *t, struct embi_file_edits *edits,
                               emb_err *err)
{
    struct embi_buf text = {0};
    struct embi_file_edit *edit;
    if (t->json.count == 0 && !t->json.bytes.failed)
        return EMB_OK;
    emb_status status = embi_json_edits_apply(&t->json, &text, err);
    if (!status)
        status = embi_file_edits_add(edits, t->name, &edit, err);
    if (status) {
        embi_buf_free(&text);
        return embi_fail_in(err, "%s", t->name);
    }
    embi_buf_free(&edit->bytes);
    edit->bytes = text;
    t->json.s = text.s;
    t->json.n = text.n;
    t->json.count = t->json.bytes.n = 0;
    return EMB_OK;
}

void embi_text_edit_close(struct embi_text_edit *t)
{
    embi_json_edits_free(&t->json);
    embi_sidecar_close(&t->file);
    *t = (struct embi_text_edit){0};
}

emb_status embi_json_member_of(const char *s, size_t n, const char *key, struct embi_json_value *v,
                               emb_err *err)
{
    struct embi_json j;
    struct embi_json_value name;
    *v = (struct embi_json_value){0};
    embi_json_init(&j, s, n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_member(&j, &name))
        if (embi_json_is(&name, key))
            embi_json_skip(&j, v);
    return embi_json_finish(&j, 0, err);
}

bool embi_json_key_ends_in(const struct embi_json_value *key, const char *end)
{
    size_t n = strlen(end);
    return key->n >= n + 2 && memcmp(key->s + key->n - 1 - n, end, n) == 0;
}

emb_status embi_text_edit_root(const struct embi_text_edit *t, struct embi_json_value *root,
                               emb_err *err)
{
    struct embi_json j;
    embi_json_init(&j, t->json.s, t->json.n, EMBI_JSON_NAN);
    if (embi_json_skip(&j, root) && root->kind != EMBI_JSON_OBJECT)
        embi_json_reject(&j, root, "an object");
    emb_status status = embi_json_finish(&j, 0, err);
    return status ? embi_fail_in(err, "%s", t->name) : EMB_OK;
}
