/* tokens_file.c - see tokens_file.h. The order of the two names matters: a table that speaks of
 * tokens never appears before they do. What the tokens replace is kept under a second name until
 * the table is there, and put back if it does not come.
 */
#include "ops/tokens_file.h"

#include "table/writer.h"
#include "util/err.h"
#include "util/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool embi_has_beside(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0)
        return false;
    return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

emb_status embi_refuse_source(const emb_table *table, const char *path, emb_err *err)
{
    if (!is_same(path, table->path) && !is_same(path, table->reader->path))
        return EMB_OK;
    return embi_fail(err, EMB_BAD_ARG, -1, "is the file that is read: name another one");
}

/* The tokens of a table that stays would become those of another one. */
static emb_status check_own(const struct embi_tokens_file *f, const emb_table *table,
                            const char *target, emb_err *err)
{
    const struct embi_beside *own = embi_beside_of(table->reader);
    char *path;
    if (!own || is_same(target, table->path))
        return EMB_OK;
    emb_status status = embi_beside_path(table->path, own->ending, &path, err);
    if (!status && is_same(f->path, path))
        status = embi_fail(err, EMB_BAD_ARG, -1,
                           "has the tokens of the table that is read: name another output");
    free(path);
    return status;
}

emb_status embi_tokens_file_plan(struct embi_tokens_file *f, const struct embi_beside *kind,
                                 const emb_table *table, const char *target, emb_err *err)
{
    *f = (struct embi_tokens_file){.kind = kind};
    if (!kind)
        return EMB_OK;
    if (!embi_has_beside(target))
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "the tokens lie in a file beside the table: name a file");
    emb_status status = embi_beside_path(target, kind->ending, &f->path, err);
    if (status)
        return status;
    status = embi_refuse_source(table, f->path, err);
    if (!status)
        status = check_own(f, table, target, err);
    return status ? embi_fail_in(err, "%s", f->path) : EMB_OK;
}

emb_status embi_tokens_file_write(struct embi_tokens_file *f, const emb_table *table,
                                  const emb_str *tokens, uint64_t n, const emb_write_opts *wopts,
                                  emb_err *err)
{
    if (!f->kind)
        return EMB_OK;
    emb_status status = embi_io_open(table->env, f->path, embi_write_mode(wopts), &f->io, err);
    return status ? status : embi_beside_write(f->kind, f->io, tokens, n, err);
}

/* The number of the file that has that name; 0: there is none. */
static ino_t file_at(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* ------------------------------------------------------------------------------------------------
 * Two names that change together
 */

enum { TEMP_NAMES = 100, TEMP_BYTES = 64, NAME_IN_TEMP_BYTES = 200 };

/* File systems that know no second names, or no more of them: there what is replaced is gone. */
static bool has_no_links(int sys)
{
    return sys == EPERM || sys == EOPNOTSUPP || sys == ENOSYS || sys == EMLINK;
}

/* Gives what is replaced a second name beside it. */
static int link_old(struct embi_tokens_file *f)
{
    const char *slash = strrchr(f->name, '/'), *last = slash ? slash + 1 : f->name;
    int folder = (int)(last - f->name), sys = EEXIST;
    size_t n = strlen(f->name) + TEMP_BYTES;
    f->kept = malloc(n);
    if (!f->kept)
        return ENOMEM;
    for (int i = 0; sys == EEXIST && i < TEMP_NAMES; i++) {
        (void)snprintf(f->kept, n, "%.*s.%.*s.tmp.%ld.%d", folder, f->name, NAME_IN_TEMP_BYTES,
                       last, (long)getpid(), i);
        sys = linkat(AT_FDCWD, f->name, AT_FDCWD, f->kept, 0) == 0 ? 0 : errno;
    }
    return sys;
}

static void forget_kept(struct embi_tokens_file *f)
{
    free(f->kept);
    f->kept = NULL;
}

static emb_status keep_old(struct embi_tokens_file *f, emb_err *err)
{
    f->name = realpath(f->path, NULL);
    int sys = f->name ? link_old(f) : errno;
    if (sys == 0)
        return EMB_OK;
    forget_kept(f);
    if (has_no_links(sys))
        return EMB_OK;
    return sys == ENOMEM ? embi_fail_memory(err, strlen(f->path), "a path")
                         : embi_fail_errno(err, sys, NULL);
}

/* What had the name before gets it back. */
static void take_back(struct embi_tokens_file *f)
{
    if (!f->old)
        (void)unlink(f->path);
    else if (f->kept && file_at(f->path) != f->old)
        (void)renameat(AT_FDCWD, f->kept, AT_FDCWD, f->name);
    else if (f->kept)
        (void)unlink(f->kept);
    forget_kept(f);
}

emb_status embi_tokens_file_commit(struct embi_tokens_file *f, const char *target, emb_err *err)
{
    if (!f->kind)
        return EMB_OK;
    emb_status status = embi_io_prepare(f->io, err);
    if (status)
        return status;
    embi_signals_block(&f->signals);
    f->old_table = file_at(target);
    f->old = file_at(f->path);
    if (f->old)
        status = keep_old(f, err);
    if (!status && embi_io_commit(f->io, err)) {
        status = err->status;
        if (f->old) /* else there is nothing, or what somebody else has put there meanwhile */
            take_back(f);
    }
    if (status)
        embi_signals_restore(&f->signals);
    return status;
}

void embi_tokens_file_end(struct embi_tokens_file *f, const char *target)
{
    if (!f->kind)
        return;
    if (file_at(target) == f->old_table)
        take_back(f);
    else if (f->kept)
        (void)unlink(f->kept);
    forget_kept(f);
    embi_signals_restore(&f->signals);
}

void embi_tokens_file_free(struct embi_tokens_file *f)
{
    embi_io_close(f->io);
    free(f->path);
    free(f->name);
    free(f->kept);
    *f = (struct embi_tokens_file){0};
}
