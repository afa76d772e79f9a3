/* tokens_file.c - see tokens_file.h. The order of the two names matters: a table that speaks of
 * tokens never appears before they do.
 */
#include "ops/tokens_file.h"

#include "table/writer.h"
#include "util/err.h"

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

emb_status embi_tokens_file_commit(struct embi_tokens_file *f, const char *target, emb_err *err)
{
    if (!f->kind)
        return EMB_OK;
    f->old_table = file_at(target);
    f->old = file_at(f->path);
    return embi_io_commit(f->io, err);
}

void embi_tokens_file_undo(struct embi_tokens_file *f, const char *target)
{
    if (f->kind && !f->old && file_at(target) == f->old_table)
        (void)unlink(f->path);
}

void embi_tokens_file_free(struct embi_tokens_file *f)
{
    embi_io_close(f->io);
    free(f->path);
    *f = (struct embi_tokens_file){0};
}
