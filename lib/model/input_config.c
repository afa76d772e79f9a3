/* input_config.c - see input_config.h. Of a model of several parts the object of the text model
 * wins over the top, key by key.
 */
#include "model/input_config.h"

#include "model/config_objects.h"
#include "model/sidecar.h"
#include "util/err.h"
#include "util/json.h"

#include <math.h>

static emb_status refuse(emb_err *err, const struct embi_json_value *key, const char *expected,
                         const struct embi_json_value *v)
{
    char name[EMBI_SHOW_MAX], found[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_DATA, -1, "%s: expected %s, found %s",
                     embi_show(name, (emb_str){key->s + 1, key->n - 2}), expected,
                     embi_show(found, (emb_str){v->s, v->n}));
}

static double *number_of(struct embi_input_config *c, const struct embi_json_value *key)
{
    const struct {
        const char *name;
        double *to;
    } keys[] = {
        {"embedding_multiplier", &c->embedding_multiplier},
        {"layer_norm_eps", &c->eps},
        {"layer_norm_epsilon", &c->eps},
        {"norm_eps", &c->eps},
        {"max_position_embeddings", &c->max_positions},
        {"hidden_size", &c->hidden_size},
        {"type_vocab_size", &c->types},
    };
    for (size_t i = 0; i < EMBI_LEN(keys); i++)
        if (embi_json_is(key, keys[i].name))
            return keys[i].to;
    return NULL;
}

static enum embi_said *switch_of(struct embi_input_config *c, const struct embi_json_value *key)
{
    if (embi_json_is(key, "scale_embedding"))
        return &c->scale_embedding;
    if (embi_json_is(key, "position_biased_input"))
        return &c->position_biased_input;
    return embi_json_is(key, "alibi") ? &c->alibi : NULL;
}

static emb_status take_key(struct embi_input_config *c, const struct embi_json_value *key,
                           const struct embi_json_value *v, emb_err *err)
{
    double *number = number_of(c, key), x;
    enum embi_said *said = switch_of(c, key);
    if (v->kind == EMBI_JSON_NULL)
        return EMB_OK;
    if (embi_json_is(key, "position_embedding_type"))
        c->other_positions = !embi_json_is(v, "absolute");
    if (said && v->kind != EMBI_JSON_TRUE && v->kind != EMBI_JSON_FALSE)
        return refuse(err, key, "true or false", v);
    if (said)
        *said = v->kind == EMBI_JSON_TRUE ? EMBI_YES : EMBI_NO;
    if (!number)
        return EMB_OK;
    if (v->kind != EMBI_JSON_NUMBER || !emb_number_parse((emb_str){v->s, v->n}, EMB_F64, &x) ||
        !isfinite(x) || x < 0)
        return refuse(err, key, "a number, 0 or more", v);
    *number = x;
    return EMB_OK;
}

static emb_status read_object(struct embi_input_config *c, const struct embi_json_value *object,
                              emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    emb_status status = EMB_OK;
    embi_json_init(&j, object->s, object->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key) && embi_json_skip(&j, &v))
        status = take_key(c, &key, &v, err);
    return status;
}

static void say_nothing(struct embi_input_config *c)
{
    *c = (struct embi_input_config){
        .scale_embedding = EMBI_UNSAID, .position_biased_input = EMBI_UNSAID, .alibi = EMBI_UNSAID};
}

emb_status embi_input_config_parse(const char *s, size_t n, struct embi_input_config *config,
                                   emb_err *err)
{
    struct embi_config_objects found;
    struct embi_json_value objects[2];
    say_nothing(config);
    emb_status status = embi_config_objects_find(s, n, &found, err);
    int count = status ? 0 : embi_config_text_objects(&found, objects);
    for (int i = 0; !status && i < count; i++)
        status = read_object(config, &objects[i], err);
    return status;
}

emb_status embi_input_config_open(const struct embi_env *env, const char *dir,
                                  struct embi_input_config *config, emb_err *err)
{
    struct embi_sidecar file;
    say_nothing(config);
    emb_status status = embi_sidecar_open(env, dir, "config.json", &file, err);
    if (status || !file.io)
        return status;
    status = embi_input_config_parse(file.s, file.n, config, err);
    embi_sidecar_close(&file);
    return status ? embi_fail_in(err, "config.json") : EMB_OK;
}
