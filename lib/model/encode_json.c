/* encode_json.c - see encode_json.h. */
#include "model/encode_json.h"

#include "util/err.h"
#include "util/regex.h"

enum { MOST_NESTED = 16 }; /* Sequences inside Sequences */

struct embi_json_value embi_member(const struct embi_json_value *object, const char *key)
{
    struct embi_json j;
    struct embi_json_value name, found = {0};
    if (object->kind != EMBI_JSON_OBJECT)
        return found;
    embi_json_init(&j, object->s, object->n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_member(&j, &name))
        if (embi_json_is(&name, key))
            embi_json_skip(&j, &found);
    return found;
}

bool embi_is_given(const struct embi_json_value *v)
{
    return v->kind != EMBI_JSON_ERROR && v->kind != EMBI_JSON_NULL;
}

emb_status embi_member_bool(const struct embi_json_value *object, const char *key, bool missing,
                            bool *out, emb_err *err)
{
    struct embi_json_value v = embi_member(object, key);
    *out = embi_is_given(&v) ? v.kind == EMBI_JSON_TRUE : missing;
    if (!embi_is_given(&v) || v.kind == EMBI_JSON_TRUE || v.kind == EMBI_JSON_FALSE)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, -1, "\"%s\": expected true or false", key);
}

emb_status embi_member_string(const struct embi_json_value *object, const char *key, bool optional,
                              struct embi_buf *out, emb_err *err)
{
    struct embi_json_value v = embi_member(object, key);
    if (optional && !embi_is_given(&v))
        return EMB_OK;
    if (v.kind != EMBI_JSON_STRING)
        return embi_fail(err, EMB_BAD_DATA, -1, "\"%s\": expected a string", key);
    embi_json_string(&v, out);
    return out->failed ? embi_fail_memory(err, v.n, "a string") : EMB_OK;
}

emb_status embi_member_pattern(const struct embi_json_value *object, struct embi_regex **pattern,
                               emb_err *err)
{
    struct embi_json_value v = embi_member(object, "pattern");
    struct embi_json_value plain = embi_member(&v, "String"), regex = embi_member(&v, "Regex");
    struct embi_buf text = {0};
    bool literal = plain.kind == EMBI_JSON_STRING;
    if (literal == (regex.kind == EMBI_JSON_STRING))
        return embi_fail(err, EMB_BAD_DATA, -1,
                         "\"pattern\": expected an object with a \"String\" or a \"Regex\"");
    embi_json_string(literal ? &plain : &regex, &text);
    emb_str s = {embi_buf_cstr(&text), text.n};
    emb_status status = text.failed ? embi_fail_memory(err, v.n, "a pattern")
                        : literal   ? embi_regex_literal(s, pattern, err)
                                    : embi_regex_compile(s, pattern, err);
    embi_buf_free(&text);
    return status;
}

static emb_status read_steps(const struct embi_json_value *value, const char *key,
                             embi_step_fn *read, void *arg, unsigned depth, emb_err *err)
{
    struct embi_json_value type = embi_member(value, "type");
    struct embi_json_value list = embi_member(value, key), step;
    emb_status status = EMB_OK;
    struct embi_json j;
    if (!embi_json_is(&type, "Sequence"))
        return read(arg, value, err);
    if (list.kind != EMBI_JSON_ARRAY || depth == MOST_NESTED)
        return embi_fail(err, EMB_BAD_DATA, -1, "a Sequence: expected a list \"%s\"", key);
    embi_json_init(&j, list.s, list.n, 0);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (!status && embi_json_item(&j)) {
        embi_json_skip(&j, &step);
        status = read_steps(&step, key, read, arg, depth + 1, err);
    }
    return status;
}

emb_status embi_steps_read(const struct embi_json_value *value, const char *key, embi_step_fn *read,
                           void *arg, emb_err *err)
{
    return embi_is_given(value) ? read_steps(value, key, read, arg, 0, err) : EMB_OK;
}

emb_status embi_fail_type(const char *what, const struct embi_json_value *step, emb_err *err)
{
    struct embi_json_value type = embi_member(step, "type");
    char shown[EMBI_SHOW_MAX];
    if (type.kind != EMBI_JSON_STRING)
        return embi_fail(err, EMB_BAD_DATA, -1, "a %s without a \"type\"", what);
    return embi_fail(err, EMB_UNSUPPORTED, -1, "the %s %s is not known", what,
                     embi_show(shown, (emb_str){type.s + 1, type.n - 2}));
}
