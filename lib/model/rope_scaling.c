/* rope_scaling.c - the keys of rope_scaling, from JSON and from a command line (rope_config.h).
 */
#include "model/rope_config.h"

#include "util/err.h"

#include <math.h>
#include <stdlib.h>

/* "mrope" gives tokens of text the angles of the default kind, and "su" is what LongRoPE was called
 * first. */
static const struct {
    const char *name;
    enum embi_rope_type type;
} types[] = {
    {"default", EMBI_ROPE_DEFAULT}, {"linear", EMBI_ROPE_LINEAR}, {"dynamic", EMBI_ROPE_DYNAMIC},
    {"ntk", EMBI_ROPE_NTK},         {"yarn", EMBI_ROPE_YARN},     {"longrope", EMBI_ROPE_LONGROPE},
    {"llama3", EMBI_ROPE_LLAMA3},   {"mrope", EMBI_ROPE_DEFAULT}, {"su", EMBI_ROPE_LONGROPE},
};

#define AT(member) offsetof(struct embi_rope_scaling, member)

static const struct {
    const char *name;
    size_t at;
} numbers[] = {
    {"factor", AT(factor)},
    {"alpha", AT(alpha)},
    {"attention_factor", AT(attention_factor)},
    {"beta_fast", AT(beta_fast)},
    {"beta_slow", AT(beta_slow)},
    {"mscale", AT(mscale)},
    {"mscale_all_dim", AT(mscale_all_dim)},
    {"low_freq_factor", AT(low_freq_factor)},
    {"high_freq_factor", AT(high_freq_factor)},
    {"short_mscale", AT(short_mscale)},
    {"long_mscale", AT(long_mscale)},
    {"original_max_position_embeddings", AT(original_positions)},
    {"max_position_embeddings", AT(max_positions)},
};

void embi_rope_scaling_free(struct embi_rope_scaling *s)
{
    free(s->short_factor.v);
    free(s->long_factor.v);
    *s = (struct embi_rope_scaling){0};
}

const char *embi_rope_type_name(enum embi_rope_type type)
{
    return types[type].name;
}

/* ------------------------------------------------------------------------------------------------
 * One key
 */

static emb_status not_a(emb_err *err, const char *what, const struct embi_json_value *v)
{
    char show[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_DATA, -1, "expected %s, found %s", what,
                     embi_show(show, (emb_str){v->s, v->n}));
}

emb_status embi_rope_number(const struct embi_json_value *v, double *x, emb_err *err)
{
    *x = 0;
    if (v->kind == EMBI_JSON_NULL)
        return EMB_OK;
    bool number = v->kind == EMBI_JSON_NUMBER &&
                  emb_number_parse((emb_str){v->s, v->n}, EMB_F64, x) && isfinite(*x) && *x >= 0;
    return number ? EMB_OK : not_a(err, "a number, 0 or more", v);
}

static emb_status take_type(const struct embi_json_value *v, enum embi_rope_type *type,
                            emb_err *err)
{
    if (v->kind == EMBI_JSON_NULL)
        return EMB_OK;
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        if (embi_json_is(v, types[i].name)) {
            *type = types[i].type;
            return EMB_OK;
        }
    }
    char show[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "%s: expected default, linear, dynamic, ntk, yarn, longrope or llama3",
                     embi_show(show, (emb_str){v->s, v->n}));
}

/* Commas tell how many there are at most. */
static emb_status take_list(const struct embi_json_value *v, struct embi_rope_list *list,
                            emb_err *err)
{
    size_t most = 1;
    struct embi_json j;
    struct embi_json_value item;
    emb_status status = EMB_OK;
    free(list->v);
    *list = (struct embi_rope_list){NULL, 0};
    if (v->kind == EMBI_JSON_NULL)
        return EMB_OK;
    if (v->kind != EMBI_JSON_ARRAY)
        return not_a(err, "a list of numbers", v);
    for (size_t i = 0; i < v->n; i++)
        most += v->s[i] == ',';
    list->v = calloc(most, sizeof *list->v);
    if (!list->v)
        return embi_fail_memory(err, most * sizeof *list->v, "a list of factors");
    embi_json_init(&j, v->s, v->n, 0);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (!status && embi_json_item(&j) && embi_json_skip(&j, &item)) {
        status = item.kind == EMBI_JSON_NULL ? not_a(err, "a number", &item)
                                             : embi_rope_number(&item, &list->v[list->n], err);
        list->n++;
    }
    return status;
}

static emb_status take_truncate(const struct embi_json_value *v, bool *no_truncate, emb_err *err)
{
    *no_truncate = v->kind == EMBI_JSON_FALSE;
    if (v->kind != EMBI_JSON_FALSE && v->kind != EMBI_JSON_TRUE && v->kind != EMBI_JSON_NULL)
        return not_a(err, "true or false", v);
    return EMB_OK;
}

static emb_status take(struct embi_rope_scaling *s, const struct embi_json_value *key,
                       const struct embi_json_value *v, bool *known, emb_err *err)
{
    *known = true;
    if (embi_json_is(key, "rope_type") || embi_json_is(key, "type"))
        return take_type(v, &s->type, err);
    if (embi_json_is(key, "truncate"))
        return take_truncate(v, &s->no_truncate, err);
    if (embi_json_is(key, "short_factor"))
        return take_list(v, &s->short_factor, err);
    if (embi_json_is(key, "long_factor"))
        return take_list(v, &s->long_factor, err);
    for (size_t i = 0; i < EMBI_LEN(numbers); i++) {
        void *number = (char *)s + numbers[i].at;
        if (embi_json_is(key, numbers[i].name))
            return embi_rope_number(v, number, err);
    }
    *known = false;
    return EMB_OK;
}

emb_status embi_rope_scaling_take(struct embi_rope_scaling *s, const struct embi_json_value *key,
                                  const struct embi_json_value *value, bool *known, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    emb_status status = take(s, key, value, known, err);
    return status ? embi_fail_in(err, "%s", embi_show(show, (emb_str){key->s + 1, key->n - 2}))
                  : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * A command line
 */

/* Text as a value of JSON, in `quoted`, which is freed in any case. */
static emb_status as_string(emb_str text, struct embi_buf *quoted, struct embi_json_value *v,
                            emb_err *err)
{
    struct embi_json j;
    embi_json_quote(quoted, text.s, text.n, NULL);
    if (quoted->failed)
        return embi_fail_memory(err, text.n, "a word");
    embi_json_init(&j, quoted->s, quoted->n, 0);
    embi_json_next(&j, v);
    return EMB_OK;
}

static emb_status as_value(emb_str text, struct embi_json_value *v, emb_err *err)
{
    struct embi_json j;
    embi_json_init(&j, text.s, text.n, 0);
    embi_json_skip(&j, v);
    return embi_json_finish(&j, 0, err)
               ? embi_fail(err, EMB_BAD_ARG, -1, "expected a number, true, false or [a list]")
               : EMB_OK;
}

static emb_status take_typed(struct embi_rope_scaling *s, emb_str key, emb_str value, emb_err *err)
{
    struct embi_buf quoted = {0};
    struct embi_json_value k = {0}, v = {0};
    char show[EMBI_SHOW_MAX];
    bool known = false;
    emb_status status = as_string(key, &quoted, &k, err);
    if (!status)
        status = as_value(value, &v, err);
    if (!status)
        status = take(s, &k, &v, &known, err);
    if (!status && !known)
        status = embi_fail(err, EMB_BAD_ARG, -1, "there is no such key");
    embi_buf_free(&quoted);
    return status ? embi_fail_in(err, "%s", embi_show(show, key)) : EMB_OK;
}

/* The length of one key=value: to the next comma outside brackets. */
static size_t pair_length(const char *s)
{
    size_t n = 0;
    for (int open = 0; s[n] && (open > 0 || s[n] != ','); n++)
        open += (s[n] == '[') - (s[n] == ']');
    return n;
}

static emb_status take_pair(struct embi_rope_scaling *s, emb_str pair, bool alone, emb_err *err)
{
    const char *equals = memchr(pair.s, '=', pair.n);
    if (!equals && alone)
        return take_typed(s, (emb_str){"factor", 6}, pair, err);
    if (!equals)
        return embi_fail(err, EMB_BAD_ARG, -1, "expected TYPE:key=value,key=value");
    size_t n = (size_t)(equals - pair.s);
    return take_typed(s, (emb_str){pair.s, n}, (emb_str){equals + 1, pair.n - n - 1}, err);
}

static emb_status parse(const char *text, struct embi_rope_scaling *s, emb_err *err)
{
    size_t n = strcspn(text, ":");
    struct embi_buf quoted = {0};
    struct embi_json_value type = {0};
    emb_status status = as_string((emb_str){text, n}, &quoted, &type, err);
    if (!status)
        status = take_type(&type, &s->type, err);
    embi_buf_free(&quoted);
    const char *at = text[n] ? text + n + 1 : text + n;
    for (bool first = true; !status && *at; first = false) {
        size_t m = pair_length(at);
        status = take_pair(s, (emb_str){at, m}, first && !at[m], err);
        at += m + (at[m] == ',');
    }
    return status;
}

emb_status embi_rope_scaling_parse(const char *text, struct embi_rope_scaling *s, emb_err *err)
{
    *s = (struct embi_rope_scaling){0};
    emb_status status = parse(text, s, err);
    if (status && status != EMB_NO_MEMORY)
        err->status = EMB_BAD_ARG;
    return status ? embi_fail_in(err, "scaling") : EMB_OK;
}
