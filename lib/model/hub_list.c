/* hub_list.c - see hub_list.h. Names come from a server, or from a file that others write: those
 * that could lead out of a directory are not taken.
 */
#include "model/hub_list.h"

#include "io/dir.h"
#include "io/io.h"
#include "model/hub_name.h"
#include "util/err.h"
#include "util/json.h"

#include <inttypes.h>
#include <stdlib.h>

enum { FORMAT_VERSION = 1 };

/* The two answers have the same in them under other names. */
struct keys {
    const char *bytes, *blob;
};

static const struct keys of_hub = {"size", "blobId"}, of_cache = {"size", "blob_id"};

struct parser {
    struct embi_hub_list *list;
    struct embi_json json;
    const struct keys *keys;
    size_t capacity;
    bool failed; /* no memory */
};

/* ------------------------------------------------------------------------------------------------
 * One file
 */

static void take_hash(struct parser *p, char hash[EMBI_CHECKSUM_MAX], size_t hex)
{
    struct embi_json_value v;
    char text[EMBI_CHECKSUM_MAX] = "";
    embi_json_next(&p->json, &v);
    if (v.kind == EMBI_JSON_STRING && !v.escaped && v.n == hex + 2)
        memcpy(text, v.s + 1, hex);
    if (embi_checksum_is(text))
        memcpy(hash, text, sizeof text);
}

static void take_bytes(struct parser *p, uint64_t *bytes)
{
    struct embi_json_value v;
    embi_json_skip(&p->json, &v);
    (void)embi_json_u64(&v, bytes);
}

/* "lfs": {"sha256": ..., "size": ...}, or null */
static void take_lfs(struct parser *p, struct embi_hub_file *f)
{
    struct embi_json inside = p->json;
    struct embi_json_value key, v;
    if (embi_json_next(&inside, &v) != EMBI_JSON_OBJECT) {
        embi_json_skip(&p->json, NULL);
        return;
    }
    embi_json_enter(&p->json, EMBI_JSON_OBJECT);
    while (embi_json_member(&p->json, &key))
        if (embi_json_is(&key, "sha256"))
            take_hash(p, f->hash, EMBI_SHA256_HEX);
}

static void take_name(struct parser *p, const struct embi_json_value *v, struct embi_hub_file *f)
{
    struct embi_buf *names = &p->list->names;
    size_t at = names->n;
    if (!embi_json_string(v, names))
        return;
    embi_buf_byte(names, '\0');
    p->failed = p->failed || names->failed;
    if (names->failed)
        return;
    emb_str name = {names->s + at, names->n - 1 - at};
    if (strlen(name.s) == name.n && embi_is_inner_path(name, true))
        f->name = name.s;
}

/* The members of an object, of which some say something of the file. */
static void take_members(struct parser *p, struct embi_hub_file *f)
{
    struct embi_json_value key, v;
    embi_json_enter(&p->json, EMBI_JSON_OBJECT);
    while (embi_json_member(&p->json, &key)) {
        if (embi_json_is(&key, p->keys->bytes))
            take_bytes(p, &f->bytes);
        else if (embi_json_is(&key, p->keys->blob))
            take_hash(p, f->blob, EMBI_GIT_HEX);
        else if (embi_json_is(&key, "lfs_sha256"))
            take_hash(p, f->hash, EMBI_SHA256_HEX);
        else if (embi_json_is(&key, "lfs"))
            take_lfs(p, f);
        else if (embi_json_is(&key, "rfilename")) {
            embi_json_next(&p->json, &v);
            take_name(p, &v, f);
        }
    }
}

static void add(struct parser *p, struct embi_hub_file *f)
{
    struct embi_hub_list *list = p->list;
    if (!f->name)
        return;
    if (list->n == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 32;
        struct embi_hub_file *files = realloc(list->files, capacity * sizeof *files);
        p->failed = p->failed || !files;
        if (!files)
            return;
        list->files = files;
        p->capacity = capacity;
    }
    if (!*f->hash)
        memcpy(f->hash, f->blob, sizeof f->hash);
    list->complete = list->complete && *f->blob && f->bytes != EMBI_HUB_UNKNOWN;
    list->files[list->n++] = *f;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct embi_hub_file *)a)->name, ((const struct embi_hub_file *)b)->name);
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

static bool begin(struct parser *p, const struct keys *keys, const char *s, size_t n,
                  struct embi_hub_list *list)
{
    *p = (struct parser){.list = list, .keys = keys};
    *list = (struct embi_hub_list){.complete = true};
    embi_json_init(&p->json, s, n, 0);
    return embi_buf_room(&list->names, 2 * n + 1) != NULL; /* so that names never move */
}

static emb_status end(struct parser *p, emb_err *err)
{
    emb_status status = embi_json_finish(&p->json, 0, err);
    if (!status && p->failed)
        status = embi_fail_memory(err, p->capacity * sizeof *p->list->files, "a list of files");
    if (!status && p->list->n)
        qsort(p->list->files, p->list->n, sizeof *p->list->files, by_name);
    if (status)
        embi_hub_list_free(p->list);
    return status;
}

static void take_siblings(struct parser *p)
{
    embi_json_enter(&p->json, EMBI_JSON_ARRAY);
    while (embi_json_item(&p->json)) {
        struct embi_hub_file f = {.bytes = EMBI_HUB_UNKNOWN};
        take_members(p, &f);
        add(p, &f);
    }
}

emb_status embi_hub_list_parse(const char *s, size_t n, struct embi_hub_list *list, emb_err *err)
{
    struct parser p;
    struct embi_json_value key;
    char commit[EMBI_CHECKSUM_MAX] = "";
    bool listed = false;
    if (!begin(&p, &of_hub, s, n, list))
        return embi_fail_memory(err, n, "a list of files");
    embi_json_enter(&p.json, EMBI_JSON_OBJECT);
    while (embi_json_member(&p.json, &key)) {
        if (embi_json_is(&key, "sha"))
            take_hash(&p, commit, EMBI_GIT_HEX);
        else if (!listed && embi_json_is(&key, "siblings")) {
            listed = true;
            take_siblings(&p);
        }
    }
    emb_status status = end(&p, err);
    if (status || (*commit && listed)) {
        memcpy(list->commit, commit, sizeof list->commit);
        return status;
    }
    embi_hub_list_free(list);
    return embi_fail(err, EMB_BAD_DATA, -1, "no commit (\"sha\"), or no files (\"siblings\")");
}

void embi_hub_list_free(struct embi_hub_list *list)
{
    free(list->files);
    embi_buf_free(&list->names);
    *list = (struct embi_hub_list){0};
}

const struct embi_hub_file *embi_hub_list_find(const struct embi_hub_list *list, emb_str name)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t i = low + (high - low) / 2, n = strlen(list->files[i].name);
        int order = memcmp(list->files[i].name, name.s, n < name.n ? n : name.n);
        if (order == 0 && n == name.n)
            return &list->files[i];
        if (order < 0 || (order == 0 && n < name.n))
            low = i + 1;
        else
            high = i;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * In the cache
 */

static const char *tree_path(struct embi_buf *path, const char *folder, const char *commit)
{
    embi_buf_print(path, "%s/trees/%s.json", folder, commit);
    return embi_buf_cstr(path);
}

static emb_status parse_tree(const char *s, size_t n, struct embi_hub_list *list, emb_err *err)
{
    struct parser p;
    struct embi_json_value key, v;
    uint64_t version = 0;
    if (!begin(&p, &of_cache, s, n, list))
        return embi_fail_memory(err, n, "a list of files");
    embi_json_enter(&p.json, EMBI_JSON_OBJECT);
    while (embi_json_member(&p.json, &key)) {
        if (embi_json_is(&key, "format_version"))
            take_bytes(&p, &version);
        else if (embi_json_is(&key, "files")) {
            embi_json_enter(&p.json, EMBI_JSON_OBJECT);
            while (embi_json_member(&p.json, &v)) {
                struct embi_hub_file f = {.bytes = EMBI_HUB_UNKNOWN};
                take_name(&p, &v, &f);
                take_members(&p, &f);
                add(&p, &f);
            }
        }
    }
    emb_status status = end(&p, err);
    if (status || (version == FORMAT_VERSION && list->complete))
        return status;
    embi_hub_list_free(list);
    return embi_fail(err, EMB_BAD_DATA, -1, "of another version");
}

emb_status embi_hub_list_read(const struct embi_env *env, const char *folder, const char *commit,
                              struct embi_hub_list *list, bool *found, emb_err *err)
{
    struct embi_buf path = {0};
    struct embi_io *io = NULL;
    const void *data;
    const char *name = tree_path(&path, folder, commit);
    emb_status status = path.failed ? embi_fail_memory(err, strlen(folder), "a path")
                                    : embi_io_open_path(env, name, &io, err);
    if (!status && io && (status = embi_io_map(io, &data, err)) == EMB_OK)
        status = parse_tree(data, (size_t)io->size, list, err);
    *found = status == EMB_OK;
    if (*found)
        memcpy(list->commit, commit, EMBI_GIT_HEX + 1);
    embi_io_close(io);
    embi_buf_free(&path);
    return status == EMB_NO_MEMORY ? status : EMB_OK;
}

static void print_tree(const struct embi_hub_list *list, struct embi_buf *text)
{
    embi_buf_print(text, "{\n \"format_version\": %d,\n \"files\": {", FORMAT_VERSION);
    for (size_t i = 0; i < list->n; i++) {
        const struct embi_hub_file *f = &list->files[i];
        embi_buf_text(text, i ? ",\n  " : "\n  ");
        embi_json_quote(text, f->name, strlen(f->name), NULL);
        embi_buf_print(text, ": {\n   \"size\": %" PRIu64 ",\n   \"blob_id\": \"%s\"", f->bytes,
                       f->blob);
        if (strlen(f->hash) == EMBI_SHA256_HEX)
            embi_buf_print(text, ",\n   \"lfs_sha256\": \"%s\",\n   \"lfs_size\": %" PRIu64,
                           f->hash, f->bytes);
        embi_buf_text(text, "\n  }");
    }
    embi_buf_text(text, "\n }\n}");
}

emb_status embi_hub_list_write(const struct embi_env *env, const char *folder,
                               const struct embi_hub_list *list, emb_err *err)
{
    struct embi_buf path = {0}, text = {0};
    struct embi_io *io = NULL;
    if (!list->complete)
        return EMB_OK;
    const char *name = tree_path(&path, folder, list->commit);
    print_tree(list, &text);
    emb_status status =
        path.failed || text.failed ? embi_fail_memory(err, text.n, "a list of files") : EMB_OK;
    int sys = status ? 0 : embi_dir_make_above(name);
    if (sys)
        status = embi_fail_errno(err, sys, name);
    if (!status)
        status = embi_io_open(env, name, EMBI_IO_WRITE | EMBI_IO_FORCE, &io, err);
    if (!status)
        status = embi_io_append(io, text.s, text.n, err);
    if (!status)
        status = embi_io_commit(io, err);
    embi_io_close(io);
    embi_buf_free(&path);
    embi_buf_free(&text);
    return status;
}
