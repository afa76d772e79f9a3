/* io/dir.c - see dir.h. getdents64(2) itself, since readdir(3) takes memory and locks. */
#include "io/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

void embi_dir_open(struct embi_dir *dir, int parent, const char *name, bool links)
{
    dir->at = dir->n = 0;
    dir->fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (links ? 0 : O_NOFOLLOW));
    dir->sys = dir->fd < 0 ? errno : 0;
}

/* False: there are no more. */
static bool fill(struct embi_dir *dir)
{
    ssize_t got = dir->sys ? 0 : getdents64(dir->fd, dir->entries.bytes, sizeof dir->entries);
    if (got < 0)
        dir->sys = errno;
    dir->at = 0;
    dir->n = got > 0 ? (size_t)got : 0;
    return got > 0;
}

bool embi_is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

const char *embi_dir_next(struct embi_dir *dir)
{
    while (dir->at < dir->n || fill(dir)) {
        const char *entry = dir->entries.bytes + dir->at;
        unsigned short length;
        memcpy(&length, entry + offsetof(struct dirent64, d_reclen), sizeof length);
        dir->at += length;
        if (!embi_is_dots(entry + offsetof(struct dirent64, d_name)))
            return entry + offsetof(struct dirent64, d_name);
    }
    return NULL;
}

int embi_dir_close(struct embi_dir *dir)
{
    if (dir->fd >= 0)
        close(dir->fd);
    dir->fd = -1;
    return dir->sys;
}

/* A directory that its owner may not write to is made so: what is in it is to go. */
static void make_writable(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
        (void)fchmod(fd, (st.st_mode & 07777) | S_IRWXU);
}

static int remove_at(int parent, const char *name, int depth)
{
    struct embi_dir dir;
    if (unlinkat(parent, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return errno;
    if (depth == DEPTH_MAX)
        return ELOOP;
    embi_dir_open(&dir, parent, name, false);
    if (dir.fd >= 0)
        make_writable(dir.fd);
    for (const char *inner; !dir.sys && (inner = embi_dir_next(&dir)) != NULL;) {
        int sys = remove_at(dir.fd, inner, depth + 1);
        dir.sys = dir.sys ? dir.sys : sys;
    }
    int sys = embi_dir_close(&dir);
    return sys ? sys : unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

int embi_dir_remove(int parent, const char *name)
{
    return remove_at(parent, name, 0);
}

/* A directory that may be written but not read cannot be opened for fsync. */
int embi_dir_sync(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : errno;
    int sys = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return sys;
}

/* Those inside first. */
static int sync_folders(int parent, const char *name, int depth)
{
    struct embi_dir dir;
    int sys = 0;
    embi_dir_open(&dir, parent, name, false);
    for (const char *e; !sys && depth < DEPTH_MAX && (e = embi_dir_next(&dir)) != NULL;)
        sys = sync_folders(dir.fd, e, depth + 1);
    bool folder = dir.fd >= 0;
    embi_dir_close(&dir);
    return folder && !sys ? embi_dir_sync(parent, name) : sys;
}

int embi_dir_sync_all(int parent, const char *name)
{
    return sync_folders(parent, name, 0);
}

int embi_dir_make_above(const char *path)
{
    char above[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof above)
        return ENAMETOOLONG;
    memcpy(above, path, n + 1);
    for (char *slash = strchr(above + 1, '/'); n && slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(above, 0777) != 0 && errno != EEXIST && access(above, F_OK) != 0)
            return errno;
        *slash = '/';
    }
    return 0;
}

void emb_temp_remove(const char *path)
{
    embi_dir_remove(AT_FDCWD, path);
}
