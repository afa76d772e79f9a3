/* io/newdir.c - see newdir.h.
 *
 * Names are relative to a descriptor of the parent directory, which stays open: a working directory
 * that changes, or a folder that is renamed, does not lead the second half elsewhere. (Files inside
 * are made by path, by whoever makes them.) What is removed is removed by descriptor as well, and
 * symbolic links are removed, never followed.
 */
#include "io/newdir.h"

#include "io/dir.h"
#include "io/lock.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES_MAX = 100, NAME_IN_TEMP_BYTES = 200 };

struct embi_newdir {
    const struct embi_env *env;
    int parent;              /* descriptor of the directory that holds the target, or -1      */
    char *target;            /* path of the target, without links or slashes at its end       */
    const char *name;        /* its last part, inside target                                  */
    char *path;              /* of the temporary directory; the parent's is its beginning     */
    size_t parent_bytes;     /* of that beginning, up to and with the slash                   */
    char temp[NAME_MAX + 1]; /* its name in parent; "" where there is none                    */
    bool exists;             /* the target is there, and a directory                          */
    int lock;                /* on the temporary directory                                    */
    int target_lock;         /* on what is to be replaced; of EXCHANGE the caller has it      */
    struct stat replaced;    /* what is to be replaced                                        */
    int mode;                /* permissions of what was there; -1: nothing was                */
    bool force, sync, exchange;
};

emb_status embi_dir_look(const char *path, unsigned *seen, emb_err *err)
{
    struct embi_dir dir;
    struct stat st;
    *seen = 0;
    embi_dir_open(&dir, AT_FDCWD, path, true);
    for (const char *name; (name = embi_dir_next(&dir)) != NULL;) {
        bool known = fstatat(dir.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        *seen |= known && S_ISDIR(st.st_mode) ? EMBI_DIR_FOLDERS : EMBI_DIR_FILES;
    }
    int sys = embi_dir_close(&dir);
    return sys && sys != ENOENT && sys != ENOTDIR ? embi_fail_errno(err, sys, NULL) : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

static emb_status fail_exists(emb_err *err)
{
    return embi_fail(err, EMB_EXISTS, -1, "exists; --force overwrites it");
}

/* The path without slashes at its end, behind links where it leads somewhere. */
static emb_status settle_target(struct embi_newdir *d, const char *path, emb_err *err)
{
    struct stat st;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    d->target = strndup(path, n);
    if (!d->target)
        return embi_fail_memory(err, n + 1, "a path");
    d->exists = stat(d->target, &st) == 0;
    if (d->exists && !S_ISDIR(st.st_mode))
        return embi_fail(err, EMB_EXISTS, -1, "exists, and is no directory");
    if (d->exists && lstat(d->target, &st) == 0 && S_ISLNK(st.st_mode)) {
        char *real = realpath(d->target, NULL);
        if (!real)
            return embi_fail_errno(err, errno, NULL);
        free(d->target);
        d->target = real;
    }
    const char *slash = strrchr(d->target, '/');
    d->name = slash ? slash + 1 : d->target;
    if (d->name[0] == '\0' || embi_is_dots(d->name))
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "a directory is replaced from outside: give it by its name");
    return EMB_OK;
}

/* Opens the directory that holds the target, and makes room for the path of the temporary one. */
static emb_status open_parent(struct embi_newdir *d, emb_err *err)
{
    size_t n = d->parent_bytes = (size_t)(d->name - d->target);
    d->path = malloc(n + NAME_MAX + 2);
    if (!d->path)
        return embi_fail_memory(err, n + NAME_MAX + 2, "a path");
    memcpy(d->path, n ? d->target : ".", n ? n : 1);
    d->path[n ? n : 1] = '\0';
    d->parent = open(d->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return d->parent < 0 ? embi_fail_errno(err, errno, NULL) : EMB_OK;
}

/* temp has the name now. Here and in forget_temp signals are blocked, since the name appeared. */
static void remember_temp(struct embi_newdir *d)
{
    memcpy(d->path + d->parent_bytes, d->temp, strlen(d->temp) + 1);
    embi_temp(d->env, d->path, true);
}

static void forget_temp(struct embi_newdir *d)
{
    d->temp[0] = '\0';
    embi_temp(d->env, d->path, false);
}

/* Calls make for temporary names until one is free; 0 or errno. */
static int with_temp(struct embi_newdir *d, char name[NAME_MAX + 1],
                     int (*make)(struct embi_newdir *d, const char *name))
{
    int sys = EEXIST;
    for (int i = 0; (sys == EEXIST || sys == ENOTEMPTY) && i < TRIES_MAX; i++) {
        snprintf(name, NAME_MAX + 1, ".%.*s.tmp.%ld.%d", NAME_IN_TEMP_BYTES, d->name,
                 (long)getpid(), i);
        sys = make(d, name);
    }
    if (sys)
        name[0] = '\0';
    return sys;
}

/* The new directory is locked, so that nobody takes it for a leftover. EEXIST: somebody did. */
static int make_dir(struct embi_newdir *d, const char *name)
{
    emb_err err;
    if (mkdirat(d->parent, name, 0777) != 0)
        return errno;
    if (embi_lock_dir(d->parent, name, true, &d->lock, &err) == EMB_OK)
        return 0;
    unlinkat(d->parent, name, AT_REMOVEDIR);
    return err.sys == EWOULDBLOCK || err.sys == ENOENT ? EEXIST : err.sys;
}

/* ".NAME.tmp.PID.N" */
static bool is_temp_name(const struct embi_newdir *d, const char *name)
{
    char begin[NAME_MAX + 1];
    int n = snprintf(begin, sizeof begin, ".%.*s.tmp.", NAME_IN_TEMP_BYTES, d->name);
    if (strncmp(name, begin, (size_t)n) != 0)
        return false;
    size_t pid = strspn(name + n, "0123456789");
    const char *dot = name + n + pid;
    return pid && *dot == '.' && dot[1] && dot[1 + strspn(dot + 1, "0123456789")] == '\0';
}

/* Removes what killed runs have left: what looks so and is locked by nobody. */
static void remove_leftovers(const struct embi_newdir *d)
{
    struct embi_dir dir;
    embi_dir_open(&dir, d->parent, ".", false);
    for (const char *name; (name = embi_dir_next(&dir)) != NULL;) {
        int lock;
        emb_err err;
        if (!is_temp_name(d, name) || embi_lock_dir(d->parent, name, true, &lock, &err) != EMB_OK)
            continue;
        if (lock != EMBI_NO_LOCK && embi_dir_remove(d->parent, name) == 0)
            embi_log(d->env, EMB_LOG_NOTE, d->target,
                     "%s, left by a run that was ended, is removed", name);
        embi_unlock(lock);
    }
    embi_dir_close(&dir);
}

/* The owner of what is replaced, where that is allowed: to root alone, and EINVAL says that a
 * container does not know the user. 0 or errno. */
static int keep_owner(const struct embi_newdir *d, const struct stat *old)
{
    struct stat st;
    if (fstatat(d->parent, d->temp, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == old->st_uid &&
        st.st_gid == old->st_gid)
        return 0;
    if (fchownat(d->parent, d->temp, old->st_uid, old->st_gid, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    return errno == EPERM || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

/* No run that is at work in it loses it, and no two replace it at a time. */
static emb_status lock_target(struct embi_newdir *d, emb_err *err)
{
    if (!d->exists || !d->force)
        return EMB_OK;
    emb_status status =
        d->exchange ? EMB_OK : embi_lock_dir(d->parent, d->name, true, &d->target_lock, err);
    if (!status && fstatat(d->parent, d->name, &d->replaced, 0) != 0)
        status = embi_fail_errno(err, errno, NULL);
    return status;
}

static emb_status make_temp(struct embi_newdir *d, emb_err *err)
{
    struct stat st;
    sigset_t before;
    embi_signals_block(&before);
    int sys = with_temp(d, d->temp, make_dir);
    if (!sys)
        remember_temp(d);
    embi_signals_restore(&before);
    if (sys)
        return embi_fail_errno(err, sys, NULL);
    if (!d->exists || stat(d->target, &st) != 0)
        return EMB_OK;
    if ((sys = keep_owner(d, &st)) != 0)
        return embi_fail_errno(err, sys, NULL);
    d->mode = (int)(st.st_mode & 07777);
    fchmodat(d->parent, d->temp, (mode_t)d->mode | S_IRWXU, 0);
    return EMB_OK;
}

static emb_status fail_mounted(emb_err *err)
{
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "is where a file system is mounted, so it cannot be replaced: write to "
                     "another directory");
}

/* A rename would fail in the end. One part of a file system that is mounted in another looks like
 * a folder here, and does. */
static emb_status refuse_mounted(const struct embi_newdir *d, emb_err *err)
{
    struct stat st, above;
    if (!d->exists || fstatat(d->parent, d->name, &st, 0) != 0 || fstat(d->parent, &above) != 0 ||
        st.st_dev == above.st_dev)
        return EMB_OK;
    return fail_mounted(err);
}

emb_status embi_newdir_open(const struct embi_env *env, const char *path, unsigned mode,
                            struct embi_newdir **dir, emb_err *err)
{
    unsigned seen = 0;
    struct embi_newdir *d = calloc(1, sizeof *d);
    if (!d)
        return embi_fail_memory(err, sizeof *d, "a directory");
    d->env = env;
    d->parent = -1;
    d->lock = d->target_lock = EMBI_NO_LOCK;
    d->mode = -1;
    d->force = mode & EMBI_IO_FORCE;
    d->exchange = mode & EMBI_IO_EXCHANGE;
    emb_status status = settle_target(d, path, err);
    if (!status && d->exists)
        status = embi_dir_look(d->target, &seen, err);
    bool full = seen != 0;
    d->sync = !(mode & EMBI_IO_NO_SYNC) && (full || mode & EMBI_IO_SYNC);
    if (!status && full && !d->force)
        status = fail_exists(err);
    if (!status)
        status = open_parent(d, err);
    if (!status)
        status = refuse_mounted(d, err);
    if (!status)
        status = lock_target(d, err);
    if (!status)
        remove_leftovers(d);
    if (!status)
        status = make_temp(d, err);
    if (status)
        embi_newdir_close(d);
    else
        *dir = d;
    return status;
}

void embi_newdir_clear(const struct embi_env *env, const char *path)
{
    struct embi_newdir d = {.env = env, .parent = -1};
    emb_err err;
    if (settle_target(&d, path, &err) == EMB_OK && open_parent(&d, &err) == EMB_OK)
        remove_leftovers(&d);
    if (d.parent >= 0)
        close(d.parent);
    free(d.path);
    free(d.target);
}

/* ------------------------------------------------------------------------------------------------
 * Files in it
 */

const struct embi_env *embi_newdir_env(const struct embi_newdir *d)
{
    return d->env;
}

const char *embi_newdir_path(const struct embi_newdir *d)
{
    return d->path;
}

unsigned embi_newdir_mode(const struct embi_newdir *d)
{
    return EMBI_IO_WRITE | (d->sync ? EMBI_IO_SYNC : EMBI_IO_NO_SYNC);
}

static emb_status write_file(const struct embi_newdir *d, const char *path, const void *bytes,
                             size_t n, emb_err *err)
{
    struct embi_io *io;
    emb_status status = embi_io_open(d->env, path, embi_newdir_mode(d), &io, err);
    if (status)
        return status;
    status = embi_io_append(io, bytes, n, err);
    if (!status)
        status = embi_io_commit(io, err);
    embi_io_close(io);
    return status;
}

emb_status embi_newdir_add(struct embi_newdir *d, const char *name, const void *bytes, size_t n,
                           emb_err *err)
{
    struct embi_buf path = {0};
    embi_buf_print(&path, "%s/%s", d->path, name);
    const char *full = embi_buf_cstr(&path);
    emb_status status =
        path.failed ? embi_fail_memory(err, path.n, "a path") : write_file(d, full, bytes, n, err);
    embi_buf_free(&path);
    return status ? embi_fail_in(err, "%s", name) : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The name
 */

/* The name goes to the new directory, if it stands for nothing or for an empty directory. */
static int appear(struct embi_newdir *d)
{
    int rc = -1;
    if (!d->exists)
        rc = renameat2(d->parent, d->temp, d->parent, d->name, RENAME_NOREPLACE);
    /* rename itself replaces no directory that holds something */
    if (rc != 0 && (d->exists || errno == EINVAL || errno == ENOSYS))
        rc = renameat(d->parent, d->temp, d->parent, d->name);
    if (rc != 0)
        return errno;
    forget_temp(d);
    return 0;
}

/* Moves the target aside; for file systems that cannot exchange names. */
static int move_aside(struct embi_newdir *d, const char *name)
{
    struct stat st;
    if (fstatat(d->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return EEXIST;
    return renameat(d->parent, d->name, d->parent, name) == 0 ? 0 : errno;
}

static int replace_in_two_steps(struct embi_newdir *d)
{
    char old[NAME_MAX + 1];
    int sys = with_temp(d, old, move_aside);
    if (sys)
        return sys;
    if (renameat(d->parent, d->temp, d->parent, d->name) != 0) {
        sys = errno;
        if (renameat(d->parent, old, d->parent, d->name) != 0)
            embi_log(d->env, EMB_LOG_WARNING, d->target, "what was there is now %s beside it", old);
        return sys;
    }
    forget_temp(d);
    memcpy(d->temp, old, sizeof old);
    remember_temp(d);
    return 0;
}

/* The names change hands; temp then names what was replaced. */
static int replace(struct embi_newdir *d)
{
    if (renameat2(d->parent, d->temp, d->parent, d->name, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno == ENOENT && !d->exchange) { /* somebody took the target away */
        d->exists = false;
        return appear(d);
    }
    bool unknown = errno == EINVAL || errno == ENOSYS;
    return unknown && !d->exchange ? replace_in_two_steps(d) : errno;
}

/* Does the name stand for something else than what was locked? That it is gone is no loss. */
static bool is_another(const struct embi_newdir *d)
{
    struct stat st;
    return d->exists && d->force && fstatat(d->parent, d->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (st.st_dev != d->replaced.st_dev || st.st_ino != d->replaced.st_ino);
}

/* No signal ends the program between two steps. */
static int take_name(struct embi_newdir *d)
{
    sigset_t before;
    embi_signals_block(&before);
    int sys = d->exists && d->force ? replace(d) : appear(d);
    embi_signals_restore(&before);
    return sys;
}

/* Removes what has the temporary name; 0 or errno. */
static int remove_temp(struct embi_newdir *d)
{
    sigset_t before;
    if (!d->temp[0])
        return 0;
    int sys = embi_dir_remove(d->parent, d->temp);
    embi_signals_block(&before);
    forget_temp(d);
    embi_signals_restore(&before);
    return sys;
}

static void remove_replaced(struct embi_newdir *d)
{
    char name[NAME_MAX + 1];
    memcpy(name, d->temp, sizeof name);
    if (remove_temp(d))
        embi_log(d->env, EMB_LOG_WARNING, d->target,
                 "what it replaced could not be removed: it is %s beside it", name);
}

/* Failing that (a file system without modes) it keeps what it has. */
static void take_mode(const struct embi_newdir *d)
{
    if (d->mode >= 0 && ((mode_t)d->mode & S_IRWXU) != S_IRWXU)
        fchmodat(d->parent, d->temp, (mode_t)d->mode, 0);
}

emb_status embi_newdir_commit(struct embi_newdir *d, emb_err *err)
{
    take_mode(d);
    int sys = d->sync ? embi_dir_sync_all(d->parent, d->temp) : 0;
    if (!sys && is_another(d))
        return embi_fail(err, EMB_IO, -1, "was replaced by another run meanwhile: start again");
    if (!sys)
        sys = take_name(d);
    if (sys == EEXIST || sys == ENOTEMPTY || sys == ENOTDIR)
        return fail_exists(err);
    if (sys == EBUSY)
        return fail_mounted(err);
    if (d->exchange && (sys == EINVAL || sys == ENOSYS))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "the file system cannot exchange two names, so nothing is replaced in "
                         "place: write to another directory (-o)");
    if (sys)
        return embi_fail_errno(err, sys, NULL);
    if (d->sync && (sys = embi_dir_sync(d->parent, ".")) != 0)
        return embi_fail_errno(err, sys, EMBI_IO_IS_THERE);
    remove_replaced(d);
    return EMB_OK;
}

void embi_newdir_close(struct embi_newdir *d)
{
    if (!d)
        return;
    remove_temp(d);
    embi_unlock(d->lock);
    embi_unlock(d->target_lock);
    if (d->parent >= 0)
        close(d->parent);
    free(d->path);
    free(d->target);
    free(d);
}
