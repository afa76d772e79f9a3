/* lock.c - see lock.h. */
#include "io/lock.h"

#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES_MAX = 10 };

static int lock(int fd, bool alone)
{
    int rc;
    do
        rc = flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

/* Does the name still stand for what fd has open? An exchange of names may have come between. */
static bool still_named(int parent, const char *name, int fd)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstatat(parent, name, &b, 0) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

emb_status embi_lock_dir(int parent, const char *name, bool alone, int *fd, emb_err *err)
{
    int sys = ENOENT;
    *fd = EMBI_NO_LOCK;
    for (int i = 0; i < TRIES_MAX; i++) {
        int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            return embi_fail_errno(err, errno, NULL);
        sys = lock(dir, alone);
        if (sys == 0 && still_named(parent, name, dir)) {
            *fd = dir;
            return EMB_OK;
        }
        close(dir);
        if (sys == EWOULDBLOCK)
            break;
        if (sys != 0)
            return EMB_OK;
    }
    embi_fail(err, EMB_IO, -1, "another run of embtool is at work on this directory");
    err->sys = EWOULDBLOCK;
    return EMB_IO;
}

emb_status embi_lock_file(const struct embi_env *env, const char *path, int *fd, emb_err *err)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0664);
    if (*fd < 0)
        return embi_fail_errno(err, errno, path);
    int sys = lock(*fd, true);
    if (sys == EWOULDBLOCK) {
        embi_log(env, EMB_LOG_NOTE, path, "another process has it: waiting");
        while ((sys = flock(*fd, LOCK_EX) == 0 ? 0 : errno) == EINTR)
            ;
    }
    if (sys) {
        close(*fd);
        *fd = EMBI_NO_LOCK;
    }
    return EMB_OK;
}

void embi_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}
