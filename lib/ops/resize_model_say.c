/* resize_model_say.c - the plan of a model's resize in the form of emb.h: tensors, files, warnings.
 */
#include "ops/resize_model.h"

#include "util/err.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

emb_status embi_model_resize_warn(emb_model_resize *r, emb_err *err, const char *format, ...)
{
    char *line = NULL;
    va_list args;
    size_t bytes = (r->plan.n_warnings + 1) * sizeof *r->warnings;
    char **list = realloc(r->warnings, bytes);
    if (!list)
        return embi_fail_memory(err, bytes, "a warning");
    r->warnings = list;
    va_start(args, format);
    int n = vasprintf(&line, format, args);
    va_end(args);
    if (n < 0)
        return embi_fail_memory(err, strlen(format), "a warning");
    list[r->plan.n_warnings++] = line;
    r->plan.warnings = (const char *const *)list;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Tensors
 */

static emb_status say_tensor(emb_model_resize *r, size_t i, emb_err *err)
{
    const struct embi_weights *w = &r->m->weights;
    const struct embi_vocab_tensor *v = &r->v.list[i];
    const struct embi_tensor *t = embi_model_resize_tensor(r, i);
    emb_model_tensor *said = &r->tensors[r->plan.n_tensors];
    *said = (emb_model_tensor){.name = strndup(t->name.s, t->name.n),
                               .file = w->files[w->tensors[v->tensor].file].name,
                               .role = embi_vocab_role_name(&r->v, i),
                               .dtype = t->dtype,
                               .ndim = t->ndim};
    if (!said->name)
        return embi_fail_memory(err, t->name.n, "a tensor's name");
    r->plan.n_tensors++;
    for (int axis = 0; axis < t->ndim; axis++) {
        said->old_shape[axis] = t->shape[axis];
        said->shape[axis] = axis == v->axis ? r->rows.rows : t->shape[axis];
    }
    return EMB_OK;
}

static emb_status say_tensors(emb_model_resize *r, emb_err *err)
{
    emb_status status = EMB_OK;
    if (r->tensors)
        return EMB_OK;
    r->tensors = calloc(r->v.n, sizeof *r->tensors);
    if (!r->tensors)
        return embi_fail_memory(err, r->v.n * sizeof *r->tensors, "a plan");
    for (size_t i = 0; !status && i < r->v.n; i++)
        if (r->entries[i].changes)
            status = say_tensor(r, i, err);
    r->plan.tensors = r->tensors;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

/* What the tensors in a file of weights grow by, modulo 2^64. */
static uint64_t growth(const emb_model_resize *r, size_t file)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < r->v.n; i++) {
        const struct embi_vocab_tensor *v = &r->v.list[i];
        if (r->entries[i].changes && r->m->weights.tensors[v->tensor].file == file && v->rows)
            sum += (r->rows.rows - v->rows) * (embi_model_resize_tensor(r, i)->bytes / v->rows);
    }
    return sum;
}

static void say_file(emb_model_resize *r, const struct embi_tree_entry *e)
{
    emb_model_file *said = &r->files[r->plan.n_files++];
    const char *inside = embi_model_resize_inside(r, e->name);
    const struct embi_file_edit *edit = inside ? embi_file_edits_find(&r->edits, inside) : NULL;
    size_t shard = embi_model_resize_shard(r, e->name);
    *said = (emb_model_file){e->name, EMB_FILE_KEPT, false, e->bytes};
    if (e->kind == EMBI_TREE_OTHER && !r->mo.in_place) {
        said->fate = EMB_FILE_LEFT_OUT;
    } else if (edit) {
        said->fate = EMB_FILE_EDITED;
        said->bytes = edit->bytes.n;
    } else if (shard != SIZE_MAX) {
        said->fate = EMB_FILE_REWRITTEN;
        said->bytes = r->m->weights.files[shard].reader->io->size + growth(r, shard);
    }
}

static bool in_tree(const emb_model_resize *r, const char *inside)
{
    for (size_t i = 0; i < r->tree.n; i++) {
        const char *name = embi_model_resize_inside(r, r->tree.list[i].name);
        if (name && strcmp(name, inside) == 0)
            return true;
    }
    return false;
}

/* A file that was not there, by its name in the root. */
static emb_status say_new_file(emb_model_resize *r, const struct embi_file_edit *e, emb_err *err)
{
    char *name;
    if (asprintf(&name, "%s%s", r->inside, e->name) < 0)
        return embi_fail_memory(err, strlen(e->name), "a file name");
    r->files[r->plan.n_files++] = (emb_model_file){name, EMB_FILE_EDITED, true, e->bytes.n};
    return EMB_OK;
}

static emb_status say_files(emb_model_resize *r, emb_err *err)
{
    size_t n = r->tree.n + r->edits.n + 1;
    emb_model_file *files = realloc(r->files, n * sizeof *files);
    if (!files)
        return embi_fail_memory(err, n * sizeof *files, "a plan");
    r->plan.files = r->files = files;
    for (size_t i = 0; i < r->tree.n; i++)
        if (r->tree.list[i].kind != EMBI_TREE_FOLDER)
            say_file(r, &r->tree.list[i]);
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < r->edits.n; i++)
        if (!in_tree(r, r->edits.list[i].name))
            status = say_new_file(r, &r->edits.list[i], err);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Warnings
 */

/* What else may hold the tables, by its name in the directory. */
static const struct {
    const char *pattern;
    bool folder;
    const char *what;
} stale[] = {
    {"consolidated*.safetensors", false, "the same weights"},
    {"consolidated*.pth", false, "the same weights"},
    {"pytorch_model*.bin", false, "the same weights"},
    {"tf_model.h5", false, "the same weights"},
    {"flax_model.msgpack", false, "the same weights"},
    {"*.gguf", false, "the same weights"},
    {"*.onnx", false, "the same weights"},
    {"original", true, "the same weights"},
    {"onnx", true, "the same weights"},
    {"adapter_model*", false, "an adapter for the old tables"},
    {"tekken.json", false, "another vocabulary, which some loaders prefer"},
};

static emb_status warn_of_stale(emb_model_resize *r, const struct embi_tree_entry *e, emb_err *err)
{
    const char *inside = embi_model_resize_inside(r, e->name);
    bool folder = e->kind == EMBI_TREE_FOLDER;
    for (size_t i = 0; inside && i < EMBI_LEN(stale); i++)
        if (folder == stale[i].folder && fnmatch(stale[i].pattern, inside, FNM_PATHNAME) == 0)
            return embi_model_resize_warn(r, err, "%s%s holds %s, and stays as it is", e->name,
                                          folder ? "/" : "", stale[i].what);
    return EMB_OK;
}

static emb_status warn_of_files(emb_model_resize *r, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < r->tree.n; i++) {
        const struct embi_tree_entry *e = &r->tree.list[i];
        if (e->kind == EMBI_TREE_OTHER && !r->mo.in_place)
            status = embi_model_resize_warn(
                r, err, "%s is a pipe, a socket or a device, and is left out", e->name);
        else if (r->plan.n_tensors)
            status = warn_of_stale(r, e, err);
    }
    return status;
}

emb_status embi_model_resize_say(emb_model_resize *r, emb_err *err)
{
    r->plan.dir = r->root;
    r->plan.rows = &r->rows;
    r->plan.special = r->special;
    r->plan.pieces = r->pieces;
    r->plan.fills = r->fills.list;
    r->plan.n_fills = r->fills.n;
    emb_status status = say_tensors(r, err);
    if (!status)
        status = say_files(r, err);
    if (!status)
        status = warn_of_files(r, err);
    r->plan.changes = r->plan.n_tensors || r->edits.n;
    return status;
}
