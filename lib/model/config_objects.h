/* config_objects.h - where in a config.json the text model is described: at the top, and in objects
 * inside it.
 */
#ifndef EMBI_MODEL_CONFIG_OBJECTS_H
#define EMBI_MODEL_CONFIG_OBJECTS_H

#include "util/json.h"

/* A key that names an object with the text model of a larger one: its place in the order of
 * likelihood; EMBI_CONFIG_NAMES for every other key. */
enum { EMBI_CONFIG_NAMES = 7 };
size_t embi_config_object_place(const struct embi_json_value *key);

enum { EMBI_CONFIG_OBJECTS = 16 };

struct embi_config_objects {
    struct embi_json_value list[EMBI_CONFIG_OBJECTS]; /* [n]: spans; [0] is the whole */
    int n;
    int text; /* place in list of the object that describes the text model: the likeliest that is
                 inside, else 0 */
};

/* Finds them in the n bytes at s. Others, a vision_config or what no library knows, are left
 * out. */
emb_status embi_config_objects_find(const char *s, size_t n, struct embi_config_objects *o,
                                    emb_err *err);

/* Those that speak of the text model: the top, and the one inside if there is one. Their number. */
int embi_config_text_objects(const struct embi_config_objects *o,
                             struct embi_json_value objects[2]);

#endif
