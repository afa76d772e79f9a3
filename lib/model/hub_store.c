/* hub_store.c - see hub_store.h. Parts of names become parts of paths: hub_name.c and hub_list.c
 * let none through that could lead out of the cache; what a file of the cache says is checked here.
 */
#include "model/hub_store.h"

#include "io/dir.h"
#include "io/download.h"
#include "io/lock.h"
#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void embi_hub_folder(struct embi_buf *path, const char *cache, const struct embi_hub_name *name)
{
    path->n = 0;
    embi_buf_print(path, "%s/models--", cache);
    if (name->org.n)
        embi_buf_print(path, "%.*s--", (int)name->org.n, name->org.s);
    embi_buf_add(path, name->model.s, name->model.n);
    embi_buf_cstr(path);
}

/* ------------------------------------------------------------------------------------------------
 * Revisions
 */

/* FOLDER/refs/REVISION, in which %2F is a slash; false: it would be no path in there. */
static bool ref_path(struct embi_buf *path, const char *folder, emb_str revision)
{
    embi_buf_print(path, "%s/refs/", folder);
    size_t n = path->n;
    for (size_t i = 0; i < revision.n; i++) {
        bool slash = revision.n - i >= 3 && strncasecmp(revision.s + i, "%2F", 3) == 0;
        embi_buf_byte(path, slash ? '/' : revision.s[i]);
        i += slash ? 2 : 0;
    }
    embi_buf_cstr(path);
    return !path->failed && embi_is_inner_path((emb_str){path->s + n, path->n - n}, false);
}

bool embi_hub_commit(const char *folder, emb_str revision, char commit[EMBI_COMMIT_HEX + 1])
{
    struct embi_buf path = {0};
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* a FIFO is not waited for */
    commit[EMBI_COMMIT_HEX] = '\0';
    if (embi_is_commit(revision)) {
        memcpy(commit, revision.s, EMBI_COMMIT_HEX);
        return true;
    }
    int fd = ref_path(&path, folder, revision) ? open(path.s, flags) : -1;
    ssize_t got = fd < 0 ? -1 : read(fd, commit, EMBI_COMMIT_HEX);
    if (fd >= 0)
        close(fd);
    embi_buf_free(&path);
    return got == EMBI_COMMIT_HEX && embi_is_commit((emb_str){commit, EMBI_COMMIT_HEX});
}

emb_status embi_hub_keep_commit(const struct embi_env *env, const char *folder, emb_str revision,
                                const char *commit, emb_err *err)
{
    struct embi_buf path = {0};
    struct embi_io *io = NULL;
    char known[EMBI_COMMIT_HEX + 1];
    emb_status status = EMB_OK;
    if (embi_hub_commit(folder, revision, known) && strcmp(known, commit) == 0)
        return EMB_OK;
    int sys = ref_path(&path, folder, revision) ? embi_dir_make_above(path.s) : EINVAL;
    if (sys)
        status = embi_fail_errno(err, sys, "the hub's cache");
    if (!status)
        status = embi_io_open(env, path.s, EMBI_IO_WRITE | EMBI_IO_FORCE, &io, err);
    if (!status)
        status = embi_io_append(io, commit, EMBI_COMMIT_HEX, err);
    if (!status)
        status = embi_io_commit(io, err);
    embi_io_close(io);
    embi_buf_free(&path);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

struct storing {
    const struct embi_env *env;
    const char *folder;
    const struct embi_hub_file *file;
    struct embi_buf blob, incomplete, lock, link;
    char key[EMBI_CHECKSUM_MAX]; /* what its lock and its file are called while it comes */
};

/* Where no hash is known a file has that of where it lies. */
static void choose_key(struct storing *s, const char *commit)
{
    struct embi_checksum c;
    memcpy(s->key, s->file->hash, sizeof s->key);
    if (*s->key)
        return;
    embi_checksum_begin(&c, false, 0);
    embi_checksum_add(&c, commit, strlen(commit));
    embi_checksum_add(&c, s->file->name, strlen(s->file->name));
    embi_checksum_end(&c, s->key);
}

/* Paths, and the directories that they lie in. */
static emb_status make_paths(struct storing *s, const char *commit, emb_err *err)
{
    const char *last = strrchr(s->folder, '/');
    embi_buf_print(&s->blob, "%s/blobs/%s", s->folder, s->key);
    embi_buf_print(&s->incomplete, "%s/blobs/%s.embtool.incomplete", s->folder, s->key);
    embi_buf_print(&s->lock, "%.*s/.locks%s/%s.lock", (int)(last - s->folder), s->folder, last,
                   s->key);
    embi_buf_print(&s->link, "%s/snapshots/%s/%s", s->folder, commit, s->file->name);
    struct embi_buf *paths[] = {&s->blob, &s->incomplete, &s->lock, &s->link};
    for (size_t i = 0; i < EMBI_LEN(paths); i++) {
        const char *path = embi_buf_cstr(paths[i]);
        if (paths[i]->failed)
            return embi_fail_memory(err, strlen(s->folder), "a path");
        int sys = embi_dir_make_above(path);
        if (sys)
            return embi_fail_errno(err, sys, path);
    }
    return EMB_OK;
}

/* The link's own text: up to the folder of the model, and down to the blob. */
static emb_status make_link(const struct storing *s, emb_err *err)
{
    struct embi_buf to = {0};
    const char *blob = strrchr(s->blob.s, '/') + 1;
    embi_buf_text(&to, "../../");
    for (const char *c = s->file->name; *c; c++)
        if (*c == '/')
            embi_buf_text(&to, "../");
    embi_buf_print(&to, "blobs/%s", blob);
    const char *text = embi_buf_cstr(&to);
    int sys = to.failed ? ENOMEM : symlink(text, s->link.s) == 0 ? 0 : errno;
    if (sys == EEXIST && access(s->link.s, F_OK) != 0) /* it leads nowhere */
        sys = unlink(s->link.s) == 0 && symlink(text, s->link.s) == 0 ? 0 : errno;
    else if (sys == EPERM) /* a file system without links */
        sys = rename(s->blob.s, s->link.s) == 0 ? 0 : errno;
    embi_buf_free(&to);
    return sys && sys != EEXIST ? embi_fail_errno(err, sys, s->link.s) : EMB_OK;
}

static emb_status download_blob(struct storing *s, const struct embi_address *address, emb_err *err)
{
    struct embi_download f = {.env = s->env,
                              .address = *address,
                              .name = s->file->name,
                              .path = s->incomplete.s,
                              .bytes = s->file->bytes,
                              .hash = *s->file->hash ? s->file->hash : NULL};
    emb_status status = embi_download(&f, err);
    if (status)
        return status;
    s->blob.n = (size_t)(strrchr(s->blob.s, '/') + 1 - s->blob.s);
    embi_buf_text(&s->blob, f.found);
    embi_buf_cstr(&s->blob);
    if (s->blob.failed)
        return embi_fail_memory(err, s->blob.n, "a path");
    return rename(s->incomplete.s, s->blob.s) == 0 ? EMB_OK
                                                   : embi_fail_errno(err, errno, s->blob.s);
}

static emb_status store_locked(struct storing *s, const struct embi_address *address, emb_err *err)
{
    int lock;
    if (access(s->link.s, F_OK) == 0)
        return EMB_OK;
    emb_status status = embi_lock_file(s->env, s->lock.s, &lock, err);
    if (status)
        return status;
    bool there = access(s->link.s, F_OK) == 0; /* another process was sooner */
    if (!there && access(s->blob.s, F_OK) != 0)
        status = download_blob(s, address, err);
    if (!there && !status)
        status = make_link(s, err);
    embi_unlock(lock);
    return status;
}

emb_status embi_hub_store(const struct embi_env *env, const char *folder, const char *commit,
                          const struct embi_hub_file *file, const struct embi_address *address,
                          emb_err *err)
{
    struct storing s = {.env = env, .folder = folder, .file = file};
    choose_key(&s, commit);
    emb_status status = make_paths(&s, commit, err);
    if (!status)
        status = store_locked(&s, address, err);
    embi_buf_free(&s.blob);
    embi_buf_free(&s.incomplete);
    embi_buf_free(&s.lock);
    embi_buf_free(&s.link);
    return status;
}
