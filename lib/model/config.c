/* config.c - reads config.json (docs/formats/model.md). A key that holds something odd counts as
 * absent: loaders have read stranger files than this.
 */
#include "model/config.h"

#include "model/config_objects.h"
#include "model/sidecar.h"
#include "util/err.h"
#include "util/json.h"

/* Keys that may hold d. embedding_size and word_embed_proj_dim are narrower than hidden_size. */
const char *const embi_config_width_names[EMBI_CONFIG_WIDTH_NAMES] = {
    "embedding_size", "word_embed_proj_dim", "hidden_size", "n_embd", "d_model", "dim",
    "hidden_dim",
};

static const char *const vocab_names[] = {"vocab_size", "padded_vocab_size", "n_token"};

enum { LEVELS = 3 };

/* What one object says. */
struct level {
    char type[EMBI_MODEL_TYPE_MAX];
    uint64_t vocab_size;
    uint64_t widths[EMBI_CONFIG_WIDTH_NAMES]; /* by embi_config_width_names; 0: not said */
    int tied;
    bool has_pad;
    uint64_t pad;
};

struct parts {
    struct level top;
    struct level text;
    size_t text_at; /* its place in their order; EMBI_CONFIG_NAMES: there is none */
};

static size_t name_in(const char *const *names, size_t n, const struct embi_json_value *key)
{
    size_t i = 0;
    while (i < n && !embi_json_is(key, names[i]))
        i++;
    return i;
}

/* Only what nobody writes, a type with escapes, takes memory, without which it is not known. */
static void take_type(struct level *level, const struct embi_json_value *v)
{
    struct embi_buf text = {0};
    emb_str type = {v->s + 1, v->n - 2};
    if (v->kind != EMBI_JSON_STRING)
        return;
    if (v->escaped) {
        embi_json_string(v, &text);
        type = (emb_str){text.s, text.n};
    }
    if (type.n < sizeof level->type && type.n > 0) {
        memcpy(level->type, type.s, type.n);
        level->type[type.n] = 0;
    }
    embi_buf_free(&text);
}

static void take_value(struct level *level, const struct embi_json_value *key,
                       const struct embi_json_value *v)
{
    size_t width = name_in(embi_config_width_names, EMBI_CONFIG_WIDTH_NAMES, key);
    if (embi_json_is(key, "model_type"))
        take_type(level, v);
    else if (embi_json_is(key, "tie_word_embeddings"))
        level->tied = v->kind == EMBI_JSON_TRUE ? 1 : v->kind == EMBI_JSON_FALSE ? 0 : -1;
    else if (embi_json_is(key, "pad_token_id"))
        level->has_pad = embi_json_u64(v, &level->pad);
    else if (width < EMBI_CONFIG_WIDTH_NAMES)
        embi_json_u64(v, &level->widths[width]);
    else if (name_in(vocab_names, EMBI_LEN(vocab_names), key) < EMBI_LEN(vocab_names))
        embi_json_u64(v, &level->vocab_size);
}

static bool says_something(const struct level *level)
{
    return level->type[0] || level->vocab_size;
}

static void read_object(struct embi_json *j, struct parts *parts, struct level *into, int depth);

/* The value of a key that names a text model, if it is an object. */
static void read_nested(struct embi_json *j, struct parts *parts, size_t at, int depth)
{
    struct level level = {.tied = -1};
    read_object(j, parts, &level, depth + 1);
    if (says_something(&level) && at < parts->text_at) {
        parts->text = level;
        parts->text_at = at;
    }
}

/* Does the next value begin with a brace? The reader is looked at through a copy. */
static bool object_next(const struct embi_json *j)
{
    struct embi_json ahead = *j;
    struct embi_json_value v;
    return embi_json_next(&ahead, &v) == EMBI_JSON_OBJECT;
}

static void read_object(struct embi_json *j, struct parts *parts, struct level *into, int depth)
{
    struct embi_json_value key, v;
    embi_json_enter(j, EMBI_JSON_OBJECT);
    while (embi_json_member(j, &key)) {
        size_t at = embi_config_object_place(&key);
        if (at < EMBI_CONFIG_NAMES && depth + 1 < LEVELS && object_next(j))
            read_nested(j, parts, at, depth);
        else if (embi_json_skip(j, &v))
            take_value(into, &key, &v);
    }
}

static void add_widths(struct embi_config *config, const struct level *level)
{
    for (size_t i = 0; i < EMBI_CONFIG_WIDTH_NAMES; i++)
        if (level->widths[i] && config->n_widths < EMBI_CONFIG_WIDTHS)
            config->widths[config->n_widths++] = level->widths[i];
}

emb_status embi_config_parse(const char *s, size_t n, struct embi_config *config, emb_err *err)
{
    struct parts parts = {.top.tied = -1, .text.tied = -1, .text_at = EMBI_CONFIG_NAMES};
    struct embi_json j;
    *config = (struct embi_config){.tied = -1};
    embi_json_init(&j, s, n, EMBI_JSON_NAN);
    read_object(&j, &parts, &parts.top, 0);
    emb_status status = embi_json_finish(&j, 0, err);
    if (status)
        return status;
    config->found = true;
    memcpy(config->type, parts.top.type, sizeof config->type);
    memcpy(config->text_type, parts.text.type, sizeof config->text_type);
    config->vocab_size = parts.top.vocab_size ? parts.top.vocab_size : parts.text.vocab_size;
    config->tied = parts.top.tied >= 0 ? parts.top.tied : parts.text.tied;
    config->has_pad = parts.top.has_pad;
    config->pad = parts.top.pad;
    add_widths(config, &parts.top);
    add_widths(config, &parts.text);
    return EMB_OK;
}

emb_status embi_config_open(const struct embi_env *env, const char *dir, struct embi_config *config,
                            emb_err *err)
{
    struct embi_sidecar file;
    *config = (struct embi_config){.tied = -1};
    emb_status status = embi_sidecar_open(env, dir, "config.json", &file, err);
    if (status)
        return status;
    if (!file.io) {
        embi_log(env, EMB_LOG_DEBUG, dir, "no config.json: names and shapes alone decide");
        return EMB_OK;
    }
    status = embi_config_parse(file.s, file.n, config, err);
    embi_sidecar_close(&file);
    if (status)
        return embi_fail_in(err, "config.json");
    if (!config->type[0])
        embi_log(env, EMB_LOG_DEBUG, dir, "config.json has no model_type");
    return EMB_OK;
}

bool embi_config_has_width(const struct embi_config *config, uint64_t x)
{
    for (int i = 0; i < config->n_widths; i++)
        if (config->widths[i] == x)
            return true;
    return false;
}
