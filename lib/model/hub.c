/* hub.c - see hub.h. A model of the hub is a folder of the cache and a place (io/place.h): a file
 * that is not in the folder is looked for in the list of what the hub has, and comes from there.
 *
 * What the cache knows is not asked for again: neither what a revision is, nor what a commit holds.
 * A folder with weights that has no list was filled by others, and is taken as it is.
 */
#include "model/hub.h"

#include "io/place.h"
#include "model/hub_ask.h"
#include "model/hub_store.h"
#include "model/weights.h"
#include "table/table.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct hub_place {
    struct embi_place place;
    char *folder; /* of the model, in the cache */
    char commit[EMBI_COMMIT_HEX + 1];
    struct embi_hub_list list;
    struct embi_hub_name name; /* borrowed from url */
    char *url;
    bool asks; /* the asker was begun */
    struct embi_hub_asker asker;
};

/* ------------------------------------------------------------------------------------------------
 * Files of a model
 */

static emb_status fail_offline(const struct embi_env *env, emb_err *err)
{
    return embi_fail(err, EMB_IO, -1,
                     "not in the hub's cache at %s, and HF_HUB_OFFLINE forbids the network",
                     env->hub.cache);
}

static emb_status begin_asking(struct hub_place *h, emb_err *err)
{
    if (h->asks)
        return EMB_OK;
    if (h->place.env->hub.offline)
        return fail_offline(h->place.env, err);
    emb_status status = embi_hub_asker_begin(&h->asker, h->place.env, &h->name, err);
    h->asks = !status;
    if (status)
        embi_hub_asker_free(&h->asker);
    return status;
}

/* Rows of these are found without the rest of the file. */
static bool is_read_in_ranges(const char *name)
{
    return embi_ends_in(name, ".safetensors") || embi_ends_in(name, ".gguf") ||
           embi_ends_in(name, ".npy");
}

/* Without them there is no answer, and who opens them offline hears why. Of other files those are
 * there then that the cache has. */
static bool is_weights(const char *name)
{
    return is_read_in_ranges(name) || embi_ends_in(name, ".bin");
}

/* The file on the hub, or NULL: there is none, or nobody may ask for it. */
static const struct embi_hub_file *on_hub(const struct hub_place *h, const char *name)
{
    if (h->place.env->hub.offline && !is_weights(name))
        return NULL;
    return embi_hub_list_find(&h->list, (emb_str){name, strlen(name)});
}

static emb_status bring(struct hub_place *h, const struct embi_hub_file *file, emb_err *err)
{
    struct embi_hub_question q;
    emb_status status = begin_asking(h, err);
    if (status)
        return status;
    status = embi_hub_ask_file(&h->asker, h->commit, file, &q, err);
    if (!status)
        status = embi_hub_store(h->place.env, h->folder, h->commit, file, &q.address, err);
    embi_buf_free(&q.url);
    return status;
}

static emb_status open_ranges(struct hub_place *h, const struct embi_hub_file *file,
                              struct embi_io **io, emb_err *err)
{
    struct embi_hub_question q;
    emb_status status = begin_asking(h, err);
    if (status)
        return status;
    status = embi_hub_ask_file(&h->asker, h->commit, file, &q, err);
    if (!status)
        status = embi_remote_open(h->place.env, &q.address, io, err);
    embi_buf_free(&q.url);
    return status;
}

static emb_status hub_place_open(struct embi_place *place, const char *name, struct embi_io **io,
                                 emb_err *err)
{
    struct hub_place *h = (struct hub_place *)place;
    struct embi_buf path = {0};
    const struct embi_hub_file *file = on_hub(h, name);
    embi_buf_print(&path, "%s/%s", place->dir, name);
    const char *local = embi_buf_cstr(&path);
    bool there = access(local, F_OK) == 0;
    bool ranges = !there && file && is_read_in_ranges(name);
    emb_status status = path.failed ? embi_fail_memory(err, path.n, "a path") : EMB_OK;
    if (!status && ranges)
        status = open_ranges(h, file, io, err);
    else if (!status && !there && file)
        status = bring(h, file, err);
    if (status) /* the list has it: whatever the reason, it is not that there is no such file */
        err->sys = 0;
    else if (!ranges)
        status = embi_io_open_path(place->env, local, io, err);
    embi_buf_free(&path);
    return status;
}

static bool hub_place_has(struct embi_place *place, const char *name)
{
    return on_hub((struct hub_place *)place, name) != NULL;
}

static emb_status hub_place_names(struct embi_place *place, const char *folder,
                                  struct embi_names *names, emb_err *err)
{
    const struct hub_place *h = (struct hub_place *)place;
    size_t n = strlen(folder);
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < h->list.n; i++) {
        const char *name = h->list.files[i].name;
        if (n > 0 && (strncmp(name, folder, n) != 0 || name[n] != '/'))
            continue;
        name += n > 0 ? n + 1 : 0;
        if (!strchr(name, '/'))
            status = embi_names_add(names, name, strlen(name), err);
    }
    return status;
}

static void hub_place_free(struct embi_place *place)
{
    struct hub_place *h = (struct hub_place *)place;
    embi_hub_list_free(&h->list);
    if (h->asks)
        embi_hub_asker_free(&h->asker);
    free(h->folder);
    free(h->url);
    free(h);
}

static const struct embi_place_kind kind = {
    .open = hub_place_open, .has = hub_place_has, .names = hub_place_names, .free = hub_place_free};

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

/* A model that is being looked for. */
struct opening {
    const struct embi_env *env;
    struct hub_place *place;
    struct embi_hub_name name;
    struct embi_buf folder;
};

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* hf://gpt2/config.json: the first part is the model if the cache knows it as one. */
static void settle_org(struct opening *o)
{
    struct embi_hub_name without = o->name;
    embi_hub_folder(&o->folder, o->env->hub.cache, &o->name);
    if (is_dir(embi_buf_cstr(&o->folder)) || !embi_hub_without_org(&without))
        return;
    embi_hub_folder(&o->folder, o->env->hub.cache, &without);
    if (is_dir(embi_buf_cstr(&o->folder)))
        o->name = without;
    else
        embi_hub_folder(&o->folder, o->env->hub.cache, &o->name);
}

/* CACHE/models--ORG--NAME/snapshots/COMMIT, and the file of the name in it. */
static char *new_path(const struct opening *o, bool file)
{
    char *path;
    emb_str inside = file ? o->name.file : (emb_str){"", 0};
    int n = asprintf(&path, "%s/snapshots/%s%s%.*s", o->folder.s, o->place->commit,
                     inside.n ? "/" : "", (int)inside.n, inside.s);
    return n < 0 ? NULL : path;
}

static emb_status new_place(struct opening *o, const char *url, emb_err *err)
{
    struct hub_place *h = calloc(1, sizeof *h);
    if (!h)
        return embi_fail_memory(err, sizeof *h, "a model of the hub");
    o->place = h;
    h->place.kind = &kind;
    h->place.env = o->env;
    h->url = strdup(url);
    return h->url && embi_hub_parse(h->url, &o->name)
               ? EMB_OK
               : embi_fail_memory(err, strlen(url), "a model of the hub");
}

/* Looks whether the cache has what the name says. *found: it does, or has a list of it. */
static emb_status look_in_cache(struct opening *o, bool *found, emb_err *err)
{
    struct hub_place *h = o->place;
    bool listed;
    *found = false;
    if (!embi_hub_commit(o->folder.s, o->name.revision, h->commit))
        return EMB_OK;
    emb_status status = embi_hub_list_read(o->env, o->folder.s, h->commit, &h->list, &listed, err);
    if (status)
        return status;
    char *path = new_path(o, true);
    if (!path)
        return embi_fail_memory(err, o->folder.n, "a path");
    bool whole = o->env->hub.offline || o->name.file.n > 0 || embi_weights_in(o->env, path);
    *found = listed || (whole && access(path, F_OK) == 0);
    free(path);
    return EMB_OK;
}

/* Asks the hub; the first word may be the model itself. */
static emb_status ask(struct opening *o, emb_err *err)
{
    struct hub_place *h = o->place;
    struct embi_hub_name without = o->name;
    bool no_model;
    h->name = o->name;
    emb_status status = begin_asking(h, err);
    if (status)
        return status;
    bool known = *h->commit != '\0';
    emb_str revision = known ? (emb_str){h->commit, EMBI_COMMIT_HEX} : o->name.revision;
    status = embi_hub_ask_revision(&h->asker, revision, &h->list, &no_model, err);
    if (!status && known && strcmp(h->commit, h->list.commit) != 0)
        return embi_fail(err, EMB_IO, -1, "expected commit %s, the hub has %s", h->commit,
                         h->list.commit);
    if (!status || !no_model || known || !embi_hub_without_org(&without))
        return status;
    const emb_err first = *err;
    embi_hub_asker_free(&h->asker);
    h->asks = false;
    h->name = o->name = without;
    embi_hub_folder(&o->folder, o->env->hub.cache, &without);
    status = begin_asking(h, err);
    if (!status)
        status = embi_hub_ask_revision(&h->asker, o->name.revision, &h->list, &no_model, err);
    if (status && no_model)
        *err = first;
    return status;
}

/* What the hub said becomes known in the cache. A cache that cannot be written to is found out
 * where a file must go there. */
static void keep_answer(struct opening *o)
{
    struct hub_place *h = o->place;
    emb_err err;
    memcpy(h->commit, h->list.commit, sizeof h->commit);
    emb_status status =
        embi_hub_keep_commit(o->env, o->folder.s, o->name.revision, h->commit, &err);
    if (!status)
        status = embi_hub_list_write(o->env, o->folder.s, &h->list, &err);
    if (status)
        embi_log(o->env, EMB_LOG_DEBUG, o->folder.s, "%s", err.msg);
}

static bool has_file(const struct opening *o)
{
    const struct embi_hub_list *list = &o->place->list;
    emb_str file = o->name.file;
    bool found = embi_hub_list_find(list, file) != NULL;
    for (size_t i = 0; !found && i < list->n; i++)
        found =
            strncmp(list->files[i].name, file.s, file.n) == 0 && list->files[i].name[file.n] == '/';
    return found;
}

/* The place is known from now on, unless it is already. */
static emb_status settle(struct opening *o, char **path, emb_err *err)
{
    struct hub_place *h = o->place;
    const char *name;
    *path = new_path(o, true);
    h->place.dir = new_path(o, false);
    h->folder = strdup(o->folder.s);
    if (!*path || !h->place.dir || !h->folder)
        return embi_fail_memory(err, o->folder.n, "a path");
    if (o->name.file.n && access(*path, F_OK) != 0 && !has_file(o))
        return embi_fail(err, EMB_IO, -1, "there is no file %.*s in this model",
                         (int)o->name.file.n, o->name.file.s);
    if (h->list.n == 0 || embi_place_of(o->env, h->place.dir, &name))
        return EMB_OK;
    h->name = o->name;
    embi_place_add(o->env, &h->place);
    o->place = NULL;
    return EMB_OK;
}

static emb_status open_name(struct opening *o, char **path, emb_err *err)
{
    bool found;
    settle_org(o);
    if (o->folder.failed)
        return embi_fail_memory(err, o->folder.n, "a path");
    emb_status status = look_in_cache(o, &found, err);
    if (status)
        return status;
    if (!found) {
        status = ask(o, err);
        if (status)
            return status;
        keep_answer(o);
    }
    return settle(o, path, err);
}

emb_status embi_hub_open(const struct embi_env *env, const char *url, char **path, emb_err *err)
{
    struct opening o = {.env = env};
    struct embi_hub_name name;
    *path = NULL;
    if (!embi_hub_parse(url, &name))
        return embi_fail(err, EMB_BAD_ARG, -1, "expected hf://org/model[@revision][/file]");
    if (!env->hub.cache)
        return embi_fail(err, EMB_IO, -1,
                         "there is no hub's cache: neither HF_HOME nor HOME is set");
    emb_status status = new_place(&o, url, err);
    if (!status)
        status = open_name(&o, path, err);
    if (o.place) {
        free(o.place->place.dir);
        hub_place_free(&o.place->place);
    }
    embi_buf_free(&o.folder);
    if (!status)
        return EMB_OK;
    free(*path);
    *path = NULL;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All of a model
 */

static bool has_safetensors(const struct embi_hub_list *list)
{
    size_t i = 0;
    while (i < list->n && !embi_ends_in(list->files[i].name, ".safetensors"))
        i++;
    return i < list->n;
}

/* Weights that loaders pass over where there are safetensors. */
static bool is_other_weights(const char *name)
{
    static const char *const endings[] = {".bin",       ".pt",      ".pth",  ".ckpt",
                                          ".h5",        ".msgpack", ".ot",   ".onnx",
                                          ".onnx_data", ".tflite",  ".gguf", ".mlmodel"};
    size_t i = 0;
    while (i < EMBI_LEN(endings) && !embi_ends_in(name, endings[i]))
        i++;
    return i < EMBI_LEN(endings);
}

/* Of the model that the path lies in; nothing where that is no place. */
static emb_status bring_all(const struct embi_env *env, const char *path, emb_err *err)
{
    const char *inside;
    struct embi_place *place = embi_place_of(env, path, &inside);
    emb_status status = EMB_OK;
    if (!place || place->kind != &kind)
        return EMB_OK;
    struct hub_place *h = (struct hub_place *)place;
    if (!has_safetensors(&h->list))
        return EMB_OK;
    for (size_t i = 0; !status && i < h->list.n; i++) {
        const struct embi_hub_file *file = &h->list.files[i];
        char *local;
        if (file->name[0] == '.' || is_other_weights(file->name))
            continue;
        if (asprintf(&local, "%s/%s", place->dir, file->name) < 0)
            return embi_fail_memory(err, strlen(file->name), "a path");
        bool there = access(local, F_OK) == 0;
        free(local);
        if (!there && (status = bring(h, file, err)) != EMB_OK)
            embi_fail_in(err, "%s", file->name);
    }
    return status;
}

emb_status emb_hub_bring(emb_ctx *ctx, const char *url, emb_err *err)
{
    char *path = NULL;
    if (!emb_is_hub_name(url))
        return bring_all(&ctx->env, url, err);
    emb_status status = embi_hub_open(&ctx->env, url, &path, err);
    if (!status)
        status = bring_all(&ctx->env, path, err);
    free(path);
    return status;
}
