/* index.c - an index of shards, *.index.json: {"metadata": {...}, "weight_map": {tensor: file}}.
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
    emb_str *files;  /* [w->n_tensors] the name of each tensor's file */
    size_t capacity; /* of w->tensors and files */
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

static emb_status more_tensors(struct parser *p, emb_err *err)
{
    struct embi_weights *w = p->w;
    if (w->n_tensors < p->capacity)
        return EMB_OK;
    size_t capacity = p->capacity ? 2 * p->capacity : 256;
    struct embi_weights_tensor *tensors = realloc(w->tensors, capacity * sizeof *tensors);
    if (tensors)
        w->tensors = tensors;
    emb_str *files = realloc(p->files, capacity * sizeof *files);
    if (files)
        p->files = files;
    if (!tensors || !files)
        return embi_fail_memory(err, capacity * sizeof *tensors, "the list of tensors");
    p->capacity = capacity;
    return EMB_OK;
}

static emb_status add_entry(struct parser *p, const struct embi_json_value *key, emb_err *err)
{
    struct embi_weights *w = p->w;
    struct embi_json_value v;
    char shown[EMBI_SHOW_MAX];
    emb_str name = take_string(p, key);
    embi_json_next(&p->json, &v);
    if (v.kind != EMBI_JSON_STRING) {
        embi_json_reject(&p->json, &v, "the name of a file");
        return EMB_OK;
    }
    emb_str file = take_string(p, &v);
    if (!is_plain_file_name(file))
        return embi_fail(err, EMB_BAD_DATA, v.s - p->json.s,
                         "weight_map: '%s' is not the name of a file in this directory",
                         embi_show(shown, file));
    emb_status status = more_tensors(p, err);
    if (status)
        return status;
    p->files[w->n_tensors] = file;
    w->tensors[w->n_tensors++] = (struct embi_weights_tensor){name, 0, EMBI_NO_TENSOR};
    return EMB_OK;
}

/* Each file once, in the order in which they are named. */
static emb_status take_files(struct parser *p, emb_err *err)
{
    struct embi_weights *w = p->w;
    struct embi_map map = {0};
    emb_status status = embi_map_build(&map, p->files, w->n_tensors, err);
    for (size_t i = 0; !status && i < w->n_tensors; i++) {
        size_t first = (size_t)embi_map_find(&map, p->files[i]);
        w->tensors[i].file = first < i ? w->tensors[first].file : w->n_files;
        if (first == i)
            status = embi_weights_add_file(w, p->dir, p->files[i], err);
    }
    embi_map_free(&map);
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
    p->w->indexed = true;
    if (!status && (status = embi_weights_names_differ(p->w, err)) == EMB_BAD_DATA)
        embi_fail_in(err, "weight_map");
    return status ? status : take_files(p, err);
}

emb_status embi_index_parse(const char *s, size_t n, const char *dir, struct embi_weights *w,
                            emb_err *err)
{
    struct parser p = {.w = w, .dir = dir};
    if (!embi_buf_room(&w->names, n + 1)) /* so that names never move */
        return embi_fail_memory(err, n, "tensor names");
    embi_json_init(&p.json, s, n, EMBI_JSON_NAN);
    emb_status status = read_index(&p, err);
    free(p.files);
    return status;
}
