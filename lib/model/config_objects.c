/* config_objects.c - see config_objects.h.
 */
#include "model/config_objects.h"

/* Objects that hold the text model of a larger one, the likeliest first. */
static const char *const names[EMBI_CONFIG_NAMES] = {
    "text_config", "decoder",         "generator",      "text_encoder",
    "llm_config",  "language_config", "thinker_config",
};

enum { LEVELS = 2 };

size_t embi_config_object_place(const struct embi_json_value *key)
{
    size_t i = 0;
    while (i < EMBI_CONFIG_NAMES && !embi_json_is(key, names[i]))
        i++;
    return i;
}

/* The objects of these names in one that is listed. */
static void find_inside(struct embi_config_objects *o, int parent, int level, size_t *best)
{
    struct embi_json j;
    struct embi_json_value key, v;
    embi_json_init(&j, o->list[parent].s, o->list[parent].n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_member(&j, &key)) {
        size_t place = embi_config_object_place(&key);
        if (place == EMBI_CONFIG_NAMES || !embi_json_skip(&j, &v) || v.kind != EMBI_JSON_OBJECT ||
            o->n == EMBI_CONFIG_OBJECTS)
            continue;
        int here = o->n++;
        o->list[here] = v;
        if (place < *best || (level > 0 && o->text == parent)) {
            *best = place;
            o->text = here;
        }
        if (level + 1 < LEVELS)
            find_inside(o, here, level + 1, best);
    }
}

emb_status embi_config_objects_find(const char *s, size_t n, struct embi_config_objects *o,
                                    emb_err *err)
{
    struct embi_json j;
    size_t best = EMBI_CONFIG_NAMES;
    *o = (struct embi_config_objects){.n = 1};
    embi_json_init(&j, s, n, EMBI_JSON_NAN);
    if (embi_json_skip(&j, &o->list[0]) && o->list[0].kind != EMBI_JSON_OBJECT)
        embi_json_reject(&j, &o->list[0], "an object");
    emb_status status = embi_json_finish(&j, 0, err);
    if (!status)
        find_inside(o, 0, 0, &best);
    return status;
}

int embi_config_text_objects(const struct embi_config_objects *o, struct embi_json_value objects[2])
{
    objects[0] = o->list[0];
    objects[1] = o->list[o->text];
    return o->text > 0 ? 2 : 1;
}
