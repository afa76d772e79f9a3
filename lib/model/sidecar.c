/* sidecar.c - see sidecar.h. Knows nothing of what is in the files but the first line of a Git LFS
 * pointer, which stands in the place of any file that was not pulled.
 */
#include "model/sidecar.h"

#include "io/place.h"
#include "util/err.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Into a block of ours; a realpath that lacks memory all the same may not say so. */
emb_status embi_path_real(const char *path, char **real, emb_err *err)
{
    char block[PATH_MAX];
    *real = NULL;
    errno = 0;
    if (!realpath(path, block))
        return errno ? embi_fail_errno(err, errno, NULL)
                     : embi_fail_memory(err, sizeof block, "a path");
    *real = strdup(block);
    return *real ? EMB_OK : embi_fail_memory(err, strlen(block), "a path");
}

emb_status embi_path_dir(const char *path, char **dir, emb_err *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        *dir = strdup(".");
    else
        *dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    return *dir ? EMB_OK : embi_fail_memory(err, strlen(path), "a path");
}

emb_status embi_path_join(const char *dir, const char *name, char **path, emb_err *err)
{
    size_t n = strlen(dir), m = strlen(name);
    bool slash = n > 0 && dir[n - 1] != '/';
    *path = malloc(n + m + 2);
    if (!*path)
        return embi_fail_memory(err, n + m + 2, "a path");
    memcpy(*path, dir, n);
    if (slash)
        (*path)[n++] = '/';
    memcpy(*path + n, name, m + 1);
    return EMB_OK;
}

emb_status embi_refuse_fifo(const char *path, emb_err *err)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISFIFO(st.st_mode))
        return EMB_OK;
    return embi_fail(err, EMB_UNSUPPORTED, -1, "is a FIFO, not a file of a model");
}

bool embi_sidecar_exists(const struct embi_env *env, const char *dir, const char *name)
{
    char path[PATH_MAX]; /* the system takes no longer one */
    int n = snprintf(path, sizeof path, "%s%s%s", dir, *dir ? "/" : "", name);
    return n > 0 && n < PATH_MAX && embi_path_exists(env, path);
}

static emb_status refuse_pointer(const struct embi_sidecar *file, emb_err *err)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/";
    size_t n = sizeof pointer - 1;
    if (file->n < n || memcmp(file->s, pointer, n) != 0)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, 0,
                     "a Git LFS pointer: the file itself was not pulled; run git lfs pull");
}

emb_status embi_sidecar_open(const struct embi_env *env, const char *dir, const char *name,
                             struct embi_sidecar *file, emb_err *err)
{
    char *path;
    const void *data;
    *file = (struct embi_sidecar){0};
    emb_status status = embi_path_join(dir, name, &path, err);
    if (status)
        return status;
    status = embi_refuse_fifo(path, err);
    if (!status)
        status = embi_io_open(env, path, EMBI_IO_READ, &file->io, err);
    free(path);
    if (status == EMB_IO && (err->sys == ENOENT || err->sys == ENOTDIR))
        return EMB_OK;
    if (!status && (status = embi_io_map(file->io, &data, err)) == EMB_OK) {
        file->s = data;
        file->n = (size_t)file->io->size;
        status = refuse_pointer(file, err);
    }
    if (!status)
        return EMB_OK;
    embi_sidecar_close(file);
    return embi_fail_in(err, "%s", name);
}

void embi_sidecar_close(struct embi_sidecar *file)
{
    embi_io_close(file->io);
    *file = (struct embi_sidecar){0};
}
