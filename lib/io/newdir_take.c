/* newdir_take.c - what a new directory takes over from another one (newdir.h).
 *
 * Files are copied inside the kernel, or get a second name; never a link, which may lead into a
 * cache that others read. Folders stay writable for their owner, as they are yet to be filled.
 */
#include "io/newdir.h"

#include "util/buf.h"
#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* The whole content of one file into another. */
static emb_status copy_bytes(struct embi_io *to, struct embi_io *from, emb_err *err)
{
    emb_status status = embi_io_reserve(to, from->size, err);
    if (!status)
        status = embi_io_append_from(to, from, 0, from->size, err);
    return status ? status : embi_io_commit(to, err);
}

static emb_status copy_file(const struct embi_newdir *d, const char *from, const char *to,
                            unsigned mode, emb_err *err)
{
    struct embi_io *in, *out;
    emb_status status = embi_io_open(embi_newdir_env(d), from, EMBI_IO_READ, &in, err);
    if (status)
        return status;
    status = embi_io_open(embi_newdir_env(d), to, embi_newdir_mode(d), &out, err);
    if (!status) {
        status = copy_bytes(out, in, err);
        embi_io_close(out);
    }
    embi_io_close(in);
    if (!status && chmod(to, mode) != 0 && errno != EPERM && errno != ENOTSUP)
        status = embi_fail_errno(err, errno, NULL);
    return status;
}

static emb_status copy_link(const char *from, const char *to, emb_err *err)
{
    char link[PATH_MAX];
    ssize_t n = readlink(from, link, sizeof link - 1);
    if (n >= 0)
        link[n] = '\0';
    return n >= 0 && symlink(link, to) == 0 ? EMB_OK : embi_fail_errno(err, errno, NULL);
}

static emb_status make_folder(const char *to, unsigned mode, emb_err *err)
{
    if (mkdir(to, 0700) != 0 || chmod(to, mode | S_IRWXU) != 0)
        return embi_fail_errno(err, errno, NULL);
    return EMB_OK;
}

/* What has no content to copy can have a second name all the same. */
static emb_status take_other(const char *from, const char *to, bool link, emb_err *err)
{
    if (link && linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0)
        return EMB_OK;
    return embi_fail(err, EMB_UNSUPPORTED, -1, "is no file, folder or link, and cannot be copied");
}

/* A second name for the file itself, at the end of all links; else a copy. */
static emb_status take_file(const struct embi_newdir *d, const char *from, const char *to,
                            unsigned mode, bool link, emb_err *err)
{
    if (link && linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0)
        return EMB_OK;
    return copy_file(d, from, to, mode, err);
}

static emb_status take(const struct embi_newdir *d, const char *from, const char *to,
                       const struct embi_tree_entry *e, bool link, emb_err *err)
{
    switch (e->kind) {
    case EMBI_TREE_FILE: return take_file(d, from, to, e->mode, link, err);
    case EMBI_TREE_FOLDER: return make_folder(to, e->mode, err);
    case EMBI_TREE_LINK: return copy_link(from, to, err);
    case EMBI_TREE_OTHER: break;
    }
    return take_other(from, to, link, err);
}

emb_status embi_newdir_take(struct embi_newdir *d, const char *from,
                            const struct embi_tree_entry *e, bool link, emb_err *err)
{
    struct embi_buf source = {0}, target = {0};
    emb_status status;
    embi_buf_print(&source, "%s/%s", from, e->name);
    embi_buf_print(&target, "%s/%s", embi_newdir_path(d), e->name);
    const char *whole = embi_buf_cstr(&source), *to = embi_buf_cstr(&target);
    if (source.failed || target.failed)
        status = embi_fail_memory(err, strlen(from) + strlen(e->name), "a path");
    else
        status = take(d, whole, to, e, link, err);
    embi_buf_free(&source);
    embi_buf_free(&target);
    return status ? embi_fail_in(err, "%s", e->name) : EMB_OK;
}

/* The list has a folder before those in it; the last one comes first here. */
emb_status embi_newdir_close_folders(struct embi_newdir *d, const struct embi_tree *tree,
                                     emb_err *err)
{
    emb_status status = EMB_OK;
    struct embi_buf path = {0};
    for (size_t i = tree->n; !status && i-- > 0;) {
        const struct embi_tree_entry *e = &tree->list[i];
        if (e->kind != EMBI_TREE_FOLDER || (e->mode & S_IRWXU) == S_IRWXU)
            continue;
        path.n = 0;
        embi_buf_print(&path, "%s/%s", embi_newdir_path(d), e->name);
        const char *to = embi_buf_cstr(&path);
        if (path.failed)
            status = embi_fail_memory(err, path.n, "a path");
        else if (chmod(to, e->mode) != 0)
            status = embi_fail_errno(err, errno, e->name);
    }
    embi_buf_free(&path);
    return status;
}
