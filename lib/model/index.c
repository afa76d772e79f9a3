/* index.c - model.safetensors.index.json: {"metadata": {...}, "weight_map": {tensor: file}}.
 *
 * An index comes with a download and names files: a name may be that of a file beside it and
 * nothing else. The metadata say nothing that is needed here, and are written in many odd ways, so
 * they are only checked to be JSON.
 */
#include "model/weights.h"

#include "util/err.h"
#include "util/json.h"
#include "util/map.h"

#include <stdlib.h>

struct parser {
    struct embi_weights *w;
    const char *dir;
    struct embi_json json;
    size_t capacity; /* of w->tensors */
    size_t last;     /* the file of the tensor before: mostly the next one's too */
    bool seen;       /* weight_map */
};

static bool is_plain_file_name(emb_str name)
{
    if (name.n == 0 || embi_str_is(name, ".") || embi_str_is(name, ".."))
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (name.s[i] == '/' || name.s[i] == '\\' || name.s[i] == 0)
            return false;
    return true;
}

/* The characters of a key or string; they go into w->names, which has room for all of them. */
static emb_str take_string(struct parser *p, const struct embi_json_value *v)
{
    struct embi_buf *names = &p->w->names;
    size_t at = names->n;
    embi_json_string(v, names);
    return (emb_str){names->s + at, names->n - at};
}

static emb_status find_file(struct parser *p, emb_str name, int64_t at, size_t *file, emb_err *err)
{
    struct embi_weights *w = p->w;
    char shown[EMBI_SHOW_MAX];
    if (w->n_files && embi_str_is(name, w->files[p->last].name)) {
        *file = p->last;
        return EMB_OK;
    }
    if (!is_plain_file_name(name))
        return embi_fail(err, EMB_BAD_DATA, at,
                         "weight_map: '%s' is not the name of a file in this directory",
                         embi_show(shown, name));
    for (*file = 0; *file < w->n_files; ++*file)
        if (embi_str_is(name, w->files[*file].name))
            break;
    p->last = *file;
    return *file < w->n_files ? EMB_OK : embi_weights_add_file(w, p->dir, name, err);
}

static emb_status more_tensors(struct parser *p, emb_err *err)
{
    struct embi_weights *w = p->w;
    if (w->n_tensors < p->capacity)
        return EMB_OK;
    size_t capacity = p->capacity ? 2 * p->capacity : 256;
    struct embi_weights_tensor *tensors = realloc(w->tensors, capacity * sizeof *tensors);
    if (!tensors)
        return embi_fail_memory(err, capacity * sizeof *tensors, "the list of tensors");
    w->tensors = tensors;
    p->capacity = capacity;
    return EMB_OK;
}

static emb_status add_entry(struct parser *p, const struct embi_json_value *key, emb_err *err)
{
    struct embi_json_value v;
    size_t file = 0;
    emb_str name = take_string(p, key);
    embi_json_next(&p->json, &v);
    if (v.kind != EMBI_JSON_STRING) {
        embi_json_reject(&p->json, &v, "the name of a file");
        return EMB_OK;
    }
    size_t names = p->w->names.n;
    emb_status status = find_file(p, take_string(p, &v), v.s - p->json.s, &file, err);
    p->w->names.n = names; /* add_file has its own copy */
    if (!status)
        status = more_tensors(p, err);
    if (!status)
        p->w->tensors[p->w->n_tensors++] = (struct embi_weights_tensor){name, file, EMBI_NO_TENSOR};
    return status;
}

static emb_status read_map(struct parser *p, emb_err *err)
{
    struct embi_json_value key;
    emb_status status = EMB_OK;
    p->seen = true;
    embi_json_enter(&p->json, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&p->json, &key))
        status = add_entry(p, &key, err);
    return status;
}

/* A tensor that is in two files: which one counts cannot be known. */
static emb_status refuse_duplicates(const struct embi_weights *w, emb_err *err)
{
    struct embi_map map = {0};
    emb_str *names = calloc(w->n_tensors + 1, sizeof *names);
    if (!names)
        return embi_fail_memory(err, w->n_tensors * sizeof *names, "tensor names");
    for (size_t i = 0; i < w->n_tensors; i++)
        names[i] = w->tensors[i].name;
    emb_status status = embi_map_build(&map, names, w->n_tensors, err);
    for (size_t i = 0; !status && map.duplicates && i < w->n_tensors; i++) {
        char shown[EMBI_SHOW_MAX];
        if (embi_map_find(&map, names[i]) != i)
            status = embi_fail(err, EMB_BAD_DATA, -1, "weight_map: tensor '%s' is there twice",
                               embi_show(shown, names[i]));
    }
    embi_map_free(&map);
    free(names);
    return status;
}

static emb_status read_index(struct parser *p, emb_err *err)
{
    struct embi_json_value key;
    emb_status status = EMB_OK;
    embi_json_enter(&p->json, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&p->json, &key))
        if (!p->seen && embi_json_is(&key, "weight_map"))
            status = read_map(p, err);
    if (!status)
        status = embi_json_finish(&p->json, 0, err);
    if (!status && p->w->n_tensors == 0)
        status = embi_fail(err, EMB_BAD_DATA, -1, "no weight_map, or an empty one");
    return status ? status : refuse_duplicates(p->w, err);
}

emb_status embi_index_parse(const char *s, size_t n, const char *dir, struct embi_weights *w,
                            emb_err *err)
{
    struct parser p = {.w = w, .dir = dir};
    if (!embi_buf_room(&w->names, n + 1)) /* so that names never move */
        return embi_fail_memory(err, n, "tensor names");
    embi_json_init(&p.json, s, n, EMBI_JSON_NAN);
    return read_index(&p, err);
}
