/* io/newfile.c - see newfile.h, and the rules for output files in docs/design.md.
 *
 * Bytes go to a file without a name (O_TMPFILE, open(2)), or, where the file system has no such
 * thing, to one with a temporary name beside the target. commit gives it the name: without FORCE by
 * a call that cannot replace anything (linkat, renameat2 with RENAME_NOREPLACE), with FORCE by
 * rename, so that at every moment the name stands for the whole old file or the whole new one.
 * Everything that can fail for want of space happens before. Directories are held open: a working
 * directory that changes, or a folder that is renamed, does not lead the second half elsewhere.
 */
#include "io/newfile.h"

#include "io/fd.h"
#include "io/out.h"
#include "util/err.h"
#include "util/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40, TRIES_MAX = 100, NAME_IN_TEMP_BYTES = 200 };

struct newfile {
    struct embi_out out;
    int dir;                 /* O_PATH descriptor of the target's directory, or -1       */
    char *name;              /* of the target in it, owned                               */
    char temp[NAME_MAX + 1]; /* a name in dir that the file has for now; "" where none   */
    char *folder;            /* path of dir, owned                                       */
    char *temp_path;         /* of temp, where embi_temp was told of it; owned, or NULL  */
    bool force, sync;
    bool prepared; /* all bytes have arrived */
};

/* The path that `link`, found at `path`, leads to; malloc'd, NULL without memory. */
static char *link_target(const char *path, const char *link)
{
    const char *slash = link[0] == '/' ? NULL : strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    char *target = malloc(n + strlen(link) + 1);
    if (target) {
        memcpy(target, path, n);
        memcpy(target + n, link, strlen(link) + 1);
    }
    return target;
}

/* *end = the path behind all links that end in path's last name, malloc'd. It need not exist. */
static emb_status follow_links(const char *path, char **end, emb_err *err)
{
    char link[PATH_MAX];
    char *at = strdup(path);
    for (int i = 0; at && i < LINKS_MAX; i++) {
        ssize_t n = readlink(at, link, sizeof link - 1);
        if (n < 0) { /* EINVAL: no link. Other trouble comes back when the directory is opened. */
            *end = at;
            return EMB_OK;
        }
        link[n] = '\0';
        char *next = link_target(at, link);
        free(at);
        at = next;
    }
    if (!at)
        return embi_fail_memory(err, strlen(path) + 1, "a path");
    free(at);
    return embi_fail_errno(err, ELOOP, NULL);
}

/* Opens the directory and sets the name of the file that path, free of links, is to be. */
static emb_status set_target(struct newfile *file, const char *path, emb_err *err)
{
    const char *slash = strrchr(path, '/');
    file->name = strdup(slash ? slash + 1 : path);
    file->folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!file->name || !file->folder)
        return embi_fail_memory(err, strlen(path) + 1, "a path");
    file->dir = open(file->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (file->dir < 0)
        return embi_fail_errno(err, errno, NULL);
    return file->name[0] ? EMB_OK : embi_fail_errno(err, ENOENT, NULL);
}

/* The name under which linkat finds the open file: there is no link by descriptor without
 * privilege. */
static void descriptor_path(int fd, char path[32])
{
    snprintf(path, 32, "/proc/self/fd/%d", fd);
}

/* A file without a name, which can be given one later; -1 where that cannot be had. */
static int create_unnamed(int dir, mode_t mode)
{
    char path[32];
    int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (fd < 0)
        return -1;
    descriptor_path(fd, path);
    if (faccessat(AT_FDCWD, path, F_OK, 0) == 0)
        return fd;
    close(fd); /* no /proc here */
    return -1;
}

/* Makes the next temporary name; false when there were enough. */
static bool next_temp(struct newfile *file, int i)
{
    snprintf(file->temp, sizeof file->temp, ".%.*s.tmp.%ld.%d", NAME_IN_TEMP_BYTES, file->name,
             (long)getpid(), i);
    return i < TRIES_MAX;
}

static int open_named(struct newfile *file, mode_t mode)
{
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; fd < 0 && errno == EEXIST && next_temp(file, i); i++)
        fd = openat(file->dir, file->temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
    if (fd < 0)
        file->temp[0] = '\0';
    return fd;
}

/* A file with a temporary name, which the program is told of; -1 and errno. */
static int create_named(struct newfile *file, mode_t mode)
{
    sigset_t before;
    size_t n = strlen(file->folder) + sizeof file->temp + 1;
    file->temp_path = malloc(n);
    if (!file->temp_path)
        return -1;
    embi_signals_block(&before);
    int fd = open_named(file, mode);
    if (fd >= 0) {
        snprintf(file->temp_path, n, "%s/%s", file->folder, file->temp);
        embi_temp(file->out.io.env, file->temp_path, true);
    }
    embi_signals_restore(&before);
    return fd;
}

/* The temporary name is gone. */
static void forget_temp(struct newfile *file)
{
    sigset_t before;
    file->temp[0] = '\0';
    if (!file->temp_path)
        return;
    embi_signals_block(&before);
    embi_temp(file->out.io.env, file->temp_path, false);
    embi_signals_restore(&before);
}

/* The owner and the group of the file that is replaced, or the group alone, as far as that is
 * allowed: to root, and to members of the group. */
static void keep_owner(int fd, const struct stat *old)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_uid == old->st_uid && st.st_gid == old->st_gid)
        return;
    if (fchown(fd, old->st_uid, old->st_gid) != 0)
        (void)!fchown(fd, (uid_t)-1, old->st_gid);
}

/* Creates the file. One that replaces another gets its owner and its mode at once, so that nobody
 * who may not read the old one can read the new; failing that (a file system without modes) it
 * stays private. The mode comes last: a new owner takes bits of it away. */
static int create(struct newfile *file, const struct stat *old)
{
    mode_t mode = old ? 0600 : 0666;
    int fd = create_unnamed(file->dir, mode);
    if (fd < 0)
        fd = create_named(file, mode);
    if (fd >= 0 && old) {
        keep_owner(fd, old);
        fchmod(fd, old->st_mode & 07777);
    }
    return fd;
}

/* Sees that all bytes have arrived, and reports what close would: on some file systems a full disk
 * shows only there, and then it would be too late. Closing a second descriptor asks the same. */
static int settle(const struct newfile *file)
{
    if (file->sync && fsync(file->out.fd) != 0)
        return errno;
    int twin = embi_fd_twin(file->out.fd, 0);
    return twin >= 0 && close(twin) == 0 ? 0 : errno;
}

/* Gives the file without a name a temporary one, since rename needs one. */
static int link_temp(struct newfile *file)
{
    char path[32];
    int sys = EEXIST;
    descriptor_path(file->out.fd, path);
    for (int i = 0; sys == EEXIST && next_temp(file, i); i++) {
        int rc = linkat(AT_FDCWD, path, file->dir, file->temp, AT_SYMLINK_FOLLOW);
        sys = rc == 0 ? 0 : errno;
    }
    if (sys != 0)
        file->temp[0] = '\0';
    return sys;
}

/* The name goes to the new file, whatever it stood for. */
static int replace(struct newfile *file)
{
    if (file->temp[0] == '\0') {
        int sys = link_temp(file);
        if (sys != 0)
            return sys;
    }
    if (renameat(file->dir, file->temp, file->dir, file->name) != 0)
        return errno;
    forget_temp(file);
    return 0;
}

/* A file that was without a name has a temporary one only while no signal can end the program. */
static int replace_at_once(struct newfile *file)
{
    sigset_t before;
    embi_signals_block(&before);
    int sys = replace(file);
    if (sys && !file->temp_path && file->temp[0]) {
        unlinkat(file->dir, file->temp, 0);
        file->temp[0] = '\0';
    }
    embi_signals_restore(&before);
    return sys;
}

/* The name goes to the new file, EEXIST if it stands for something. */
static int appear(struct newfile *file)
{
    char path[32];
    if (file->temp[0] == '\0') {
        descriptor_path(file->out.fd, path);
        int rc = linkat(AT_FDCWD, path, file->dir, file->name, AT_SYMLINK_FOLLOW);
        return rc == 0 ? 0 : errno;
    }
    if (renameat2(file->dir, file->temp, file->dir, file->name, RENAME_NOREPLACE) == 0) {
        forget_temp(file);
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    /* A second name; close takes the first away. */
    return linkat(file->dir, file->temp, file->dir, file->name, 0) == 0 ? 0 : errno;
}

/* The name itself is on the disk once its directory is. A directory that may be written but not
 * read cannot be opened for that. */
static int sync_directory(const struct newfile *file)
{
    int fd = openat(file->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : errno;
    int sys = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return sys;
}

static emb_status fail_exists(emb_err *err)
{
    return embi_fail(err, EMB_EXISTS, -1, "exists; --force overwrites it");
}

/* Are n bytes more than the file system has left? Asked first, since fallocate takes what there is
 * before it fails, and nobody else could write meanwhile. */
static bool is_too_large(int fd, uint64_t n)
{
    struct statvfs st;
    return fstatvfs(fd, &st) == 0 && st.f_blocks > 0 && n / st.f_frsize > st.f_bavail;
}

/* Blocks for n bytes, without changing the size. File systems that cannot keep them for us are not
 * asked further: the writes will tell. */
static emb_status newfile_reserve(struct embi_io *io, uint64_t n, emb_err *err)
{
    struct newfile *file = (struct newfile *)io;
    int sys = 0;
    if (n > INT64_MAX)
        sys = EFBIG;
    else if (is_too_large(file->out.fd, n))
        sys = ENOSPC;
    else if (n && fallocate(file->out.fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)n) != 0)
        sys = errno;
    if (sys != ENOSPC && sys != EDQUOT && sys != EFBIG)
        return EMB_OK;
    return embi_fail_errno(err, sys, NULL);
}

static emb_status newfile_prepare(struct embi_io *io, emb_err *err)
{
    struct newfile *file = (struct newfile *)io;
    emb_status status = file->prepared ? EMB_OK : embi_out_flush(io, err);
    if (!status && !file->prepared)
        status = embi_out_check(&file->out, settle(file), err);
    file->prepared = status == EMB_OK;
    return status;
}

static emb_status newfile_commit(struct embi_io *io, emb_err *err)
{
    struct newfile *file = (struct newfile *)io;
    emb_status status = newfile_prepare(io, err);
    if (status != EMB_OK)
        return status;
    int sys = file->force ? replace_at_once(file) : appear(file);
    if (sys == EEXIST && !file->force)
        return fail_exists(err);
    if (sys == 0)
        io->caps &= ~(unsigned)EMBI_IO_CAN_PATCH;
    if (sys != 0 || !file->sync)
        return embi_out_check(&file->out, sys, err);
    sys = sync_directory(file);
    return sys == 0 ? EMB_OK : embi_fail_errno(err, sys, EMBI_IO_IS_THERE);
}

static void newfile_close(struct embi_io *io)
{
    struct newfile *file = (struct newfile *)io;
    embi_out_end(&file->out);
    if (file->temp[0] != '\0') {
        unlinkat(file->dir, file->temp, 0);
        forget_temp(file);
    }
    if (file->dir >= 0)
        close(file->dir);
    free(file->temp_path);
    free(file->folder);
    free(file->name);
    free(file);
}

static const struct embi_scheme scheme_newfile = {
    .name = "file",
    .append = embi_out_append,
    .append_fd = embi_out_append_fd,
    .extend = embi_out_extend,
    .place = embi_out_place,
    .filled = embi_out_filled,
    .patch = embi_out_patch,
    .prepare = newfile_prepare,
    .commit = newfile_commit,
    .flush = embi_out_flush,
    .reserve = newfile_reserve,
    .close = newfile_close,
};

/* Decides what is to happen to what is there, and creates the file. */
static emb_status begin(struct newfile *file, unsigned mode, emb_err *err)
{
    struct stat st;
    bool exists = fstatat(file->dir, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && errno != ENOENT)
        return embi_fail_errno(err, errno, NULL);
    file->force = mode & EMBI_IO_FORCE;
    file->sync = !(mode & EMBI_IO_NO_SYNC) && (exists || mode & EMBI_IO_SYNC);
    if (exists && !file->force)
        return fail_exists(err);
    int fd = create(file, exists ? &st : NULL);
    if (fd < 0)
        return embi_fail_errno(err, errno, NULL);
    emb_status status = embi_out_init(&file->out, &scheme_newfile, file->out.io.env, fd, err);
    file->out.io.caps = EMBI_IO_CAN_PATCH;
    return status;
}

emb_status embi_newfile_open(const struct embi_env *env, const char *path, unsigned mode,
                             struct embi_io **io, emb_err *err)
{
    char *end = NULL;
    *io = NULL;
    struct newfile *file = calloc(1, sizeof *file);
    if (!file)
        return embi_fail_memory(err, sizeof *file, "an open file");
    file->dir = file->out.fd = -1;
    file->out.io.env = env;
    emb_status status = follow_links(path, &end, err);
    if (end)
        status = set_target(file, end, err);
    if (end && status == EMB_OK)
        status = begin(file, mode, err);
    free(end);
    if (status == EMB_OK)
        *io = &file->out.io;
    else
        newfile_close(&file->out.io);
    return status;
}
