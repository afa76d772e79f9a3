/* rope_config.c - what config.json says of rotary positions; see rope_config.h.
 *
 * Newer files have all of it in rope_parameters, older ones rope_theta beside rope_scaling, the
 * oldest neither: then it is the model type that says how queries and keys turn.
 */
#include "model/rope_config.h"

#include "model/config_objects.h"
#include "model/sidecar.h"
#include "util/err.h"

#include <math.h>

enum { TYPE_MAX = 64 };

/* Model types whose source has rotary positions, and what their files may leave out. Types that
 * pair channel 2i with 2i + 1 are those whose source does so. */
static const struct defaults {
    const char *types; /* between blanks */
    double base, partial;
    emb_rope_style style;
} defaults[] = {
    {" gptj codegen ", 10000, 0, EMB_ROPE_GPTJ},
    {" gpt_neox gpt_neox_japanese ", 10000, 0.25, EMB_ROPE_NEOX},
    {" phi persimmon nemotron ", 10000, 0.5, EMB_ROPE_NEOX},
    {" stablelm ", 10000, 0.25, EMB_ROPE_NEOX},
    {" glm glm4 ", 10000, 0.5, EMB_ROPE_GPTJ},
    {" cohere cohere2 ernie4_5 ernie4_5_moe helium deepseek_v2 deepseek_v3 llama4 llama4_text ",
     10000, 0, EMB_ROPE_GPTJ},
    {" mixtral ", 1e6, 0, EMB_ROPE_NEOX},
    {" llama mistral qwen2 qwen2_moe qwen3 qwen3_moe gemma gemma2 phi3 olmo olmo2 starcoder2 "
     "granite internlm2 baichuan ",
     10000, 0, EMB_ROPE_NEOX},
};

/* What objects of a config say, before it is made of it what is asked for. */
struct reading {
    struct embi_rope_config *config;
    char type[TYPE_MAX];
    bool said; /* a key of rotary positions is there */
    double width, heads;
    double head, rope_head;    /* channels of a head; of the part of it that turns alone */
    double original_positions; /* beside rope_scaling */
};

static const struct defaults *defaults_of(const char *type)
{
    char word[TYPE_MAX + 2];
    size_t n = strlen(type);
    word[0] = ' ';
    memcpy(word + 1, type, n);
    memcpy(word + 1 + n, " ", 2);
    for (size_t i = 0; n && !strchr(type, ' ') && i < EMBI_LEN(defaults); i++)
        if (strstr(defaults[i].types, word))
            return &defaults[i];
    return NULL;
}

/* A type with escapes is none that is known. */
static void take_type(struct reading *r, const struct embi_json_value *v)
{
    if (v->kind != EMBI_JSON_STRING || v->escaped || v->n - 2 >= TYPE_MAX)
        return;
    memcpy(r->type, v->s + 1, v->n - 2);
    r->type[v->n - 2] = 0;
}

/* ------------------------------------------------------------------------------------------------
 * Keys
 */

/* rope_scaling and rope_parameters, which may hold an object for each kind of layer instead. */
static emb_status take_rope_object(struct reading *r, const struct embi_json_value *object,
                                   emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    emb_status status = EMB_OK;
    bool known;
    embi_json_init(&j, object->s, object->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key) && embi_json_skip(&j, &v)) {
        char show[EMBI_SHOW_MAX];
        if (embi_json_is(&key, "rope_theta"))
            status = embi_rope_number(&v, &r->config->base, err);
        else if (embi_json_is(&key, "partial_rotary_factor"))
            status = embi_rope_number(&v, &r->config->partial, err);
        else if (v.kind == EMBI_JSON_OBJECT)
            status = embi_fail(err, EMB_UNSUPPORTED, -1,
                               "layers turn differently (%s ...): say --base and --scaling without "
                               "a model",
                               embi_show(show, (emb_str){key.s + 1, key.n - 2}));
        else
            status = embi_rope_scaling_take(&r->config->scaling, &key, &v, &known, err);
    }
    return status;
}

/* Keys with a number, wherever it goes; `rope`: they are there for rotary positions alone. */
static double *number_of(struct reading *r, const struct embi_json_value *key, bool *rope)
{
    struct embi_rope_config *c = r->config;
    const struct {
        const char *name;
        double *to;
        bool rope;
    } keys[] = {
        {"rope_theta", &c->base, true},
        {"global_rope_theta", &c->base, true},
        {"rotary_emb_base", &c->base, true},
        {"partial_rotary_factor", &c->partial, true},
        {"rotary_pct", &c->partial, true},
        {"rotary_dim", &c->rotary_dims, true},
        {"qk_rope_head_dim", &r->rope_head, true},
        {"head_dim", &r->head, false},
        {"hidden_size", &r->width, false},
        {"n_embd", &r->width, false},
        {"num_attention_heads", &r->heads, false},
        {"n_head", &r->heads, false},
        {"max_position_embeddings", &c->max_positions, false},
        {"n_positions", &c->max_positions, false},
        {"original_max_position_embeddings", &r->original_positions, false},
    };
    for (size_t i = 0; i < EMBI_LEN(keys); i++) {
        if (embi_json_is(key, keys[i].name)) {
            *rope = keys[i].rope;
            return keys[i].to;
        }
    }
    return NULL;
}

static emb_status take_key(struct reading *r, const struct embi_json_value *key,
                           const struct embi_json_value *v, emb_err *err)
{
    bool rope = false,
         object = embi_json_is(key, "rope_scaling") || embi_json_is(key, "rope_parameters");
    double *to = number_of(r, key, &rope), x = 0;
    r->said |= rope || (object && v->kind == EMBI_JSON_OBJECT);
    if (object && v->kind == EMBI_JSON_OBJECT)
        return take_rope_object(r, v, err);
    if (object && v->kind != EMBI_JSON_NULL)
        return embi_fail(err, EMB_BAD_DATA, -1, "expected an object or null");
    if (embi_json_is(key, "model_type"))
        take_type(r, v);
    emb_status status = to ? embi_rope_number(v, &x, err) : EMB_OK;
    if (to && !status && x > 0)
        *to = x;
    return status;
}

static emb_status read_object(struct reading *r, const struct embi_json_value *object, emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    emb_status status = EMB_OK;
    embi_json_init(&j, object->s, object->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key) && embi_json_skip(&j, &v)) {
        char show[EMBI_SHOW_MAX];
        status = take_key(r, &key, &v, err);
        if (status)
            embi_fail_in(err, "%s", embi_show(show, (emb_str){key.s + 1, key.n - 2}));
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What follows from them
 */

static emb_status conclude(struct reading *r, emb_err *err)
{
    struct embi_rope_config *c = r->config;
    const struct defaults *d = defaults_of(r->type);
    if (!d && !r->said)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "nothing is said of rotary positions (model type %s)",
                         r->type[0] ? r->type : "unknown");
    c->style = d ? d->style : EMB_ROPE_NEOX;
    if (c->base == 0)
        c->base = d ? d->base : 0;
    if (c->partial == 0)
        c->partial = d ? d->partial : 0;
    c->head_dims = r->rope_head > 0 ? r->rope_head
                   : r->head > 0    ? r->head
                   : r->heads > 0   ? floor(r->width / r->heads)
                                    : 0;
    if (r->original_positions > 0)
        c->scaling.original_positions = r->original_positions;
    return EMB_OK;
}

emb_status embi_rope_config_parse(const char *s, size_t n, struct embi_rope_config *config,
                                  emb_err *err)
{
    struct reading r = {.config = config};
    struct embi_config_objects found;
    struct embi_json_value objects[2];
    *config = (struct embi_rope_config){0};
    emb_status status = embi_config_objects_find(s, n, &found, err);
    int count = status ? 0 : embi_config_text_objects(&found, objects);
    for (int i = 0; !status && i < count; i++)
        status = read_object(&r, &objects[i], err);
    return status ? status : conclude(&r, err);
}

emb_status embi_rope_config_open(const struct embi_env *env, const char *dir,
                                 struct embi_rope_config *config, emb_err *err)
{
    struct embi_sidecar file;
    *config = (struct embi_rope_config){0};
    emb_status status = embi_sidecar_open(env, dir, "config.json", &file, err);
    if (status)
        return status;
    if (!file.io)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "expected a model: found no config.json");
    status = embi_rope_config_parse(file.s, file.n, config, err);
    embi_sidecar_close(&file);
    return status ? embi_fail_in(err, "config.json") : EMB_OK;
}
