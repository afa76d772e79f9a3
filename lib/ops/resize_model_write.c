/* resize_model_write.c - emb_model_resize_write: the new directory, file by file, and its name.
 *
 * Shards with tables that change are copied with those tables replaced (fmt/rewrite.h); edited
 * files are written; everything else is taken over. Nothing is ever written through a link or into
 * a file that is there. The directory is opened again before it gets its name.
 */
#include "fmt/rewrite.h"
#include "io/newdir.h"
#include "model/new_model.h"
#include "model/sidecar.h"
#include "ops/resize_model.h"
#include "table/writer.h"
#include "util/err.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* One shard on its way. */
struct shard {
    emb_model_resize *r;
    struct embi_rewrite w;
    struct embi_rewrite_part *parts; /* [n] */
    size_t n;
    void *rows; /* new entries: `room` bytes */
    size_t room;
};

/* ------------------------------------------------------------------------------------------------
 * Entries of one tensor
 */

static emb_status make_room(struct shard *s, size_t bytes, emb_err *err)
{
    if (bytes <= s->room)
        return EMB_OK;
    void *rows = realloc(s->rows, bytes);
    if (!rows)
        return embi_fail_memory(err, bytes, "new rows");
    s->rows = rows;
    s->room = bytes;
    return EMB_OK;
}

static emb_status put_new(struct shard *s, size_t i, uint64_t first, uint64_t n, uint64_t nth,
                          emb_err *err)
{
    uint64_t step = embi_min(n, embi_new_entries_step(s->r, i));
    emb_status status = make_room(s, step * s->w.row_bytes + 1, err);
    for (uint64_t done = 0, part; !status && done < n; done += part) {
        part = embi_min(step, n - done);
        status = embi_new_entries_make(s->r, i, first + done, part, nth + done, s->rows, err);
        if (!status)
            status = embi_rewrite_put(&s->w, s->rows, part, NULL, err);
    }
    return status;
}

static emb_status put_entries(struct shard *s, size_t i, emb_err *err)
{
    const emb_resize *plan = &s->r->rows;
    const uint64_t at = embi_model_resize_tensor(s->r, i)->offset, bytes = s->w.row_bytes;
    emb_status status = EMB_OK;
    uint64_t row = 0, nth = 0;
    for (size_t k = 0; !status && k < plan->n_runs; k++) {
        const emb_row_run *run = &plan->runs[k];
        if (run->source == EMB_ROW_NEW) {
            status = put_new(s, i, row, run->rows, nth, err);
            nth += run->rows;
        } else {
            status = embi_rewrite_copy(&s->w, at + run->source * bytes, run->rows * bytes, err);
        }
        row += run->rows;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * One shard
 */

static emb_status find_parts(struct shard *s, size_t file, emb_err *err)
{
    const emb_model_resize *r = s->r;
    s->parts = calloc(r->v.n, sizeof *s->parts);
    if (!s->parts)
        return embi_fail_memory(err, r->v.n * sizeof *s->parts, "a list of tensors");
    for (size_t i = 0; i < r->v.n; i++)
        if (r->entries[i].changes && r->m->weights.tensors[r->v.list[i].tensor].file == file)
            s->parts[s->n++] = (struct embi_rewrite_part){embi_model_resize_tensor(r, i),
                                                          r->v.list[i].axis, r->rows.rows, 0};
    return embi_rewrite_init_parts(&s->w, r->m->weights.files[file].reader, s->parts, s->n, err);
}

/* The tensor that a part is; parts are in the order of the file. */
static size_t tensor_of(const struct shard *s, size_t part)
{
    size_t i = 0;
    while (embi_model_resize_tensor(s->r, i) != s->parts[part].table)
        i++;
    return i;
}

static emb_status write_parts(struct shard *s, emb_err *err)
{
    emb_status status = embi_io_reserve(s->w.sink.io, embi_rewrite_size(&s->w), err);
    if (!status)
        status = embi_rewrite_begin(&s->w, err);
    for (size_t i = 0; !status && i < s->n; i++) {
        if (i > 0)
            status = embi_rewrite_next(&s->w, err);
        if (!status)
            status = put_entries(s, tensor_of(s, i), err);
    }
    if (!status)
        status = embi_rewrite_end(&s->w, err);
    return status ? status : embi_io_commit(s->w.sink.io, err);
}

static emb_status write_shard(emb_model_resize *r, struct embi_newdir *dir, size_t file,
                              const char *to, emb_err *err)
{
    struct shard s = {.r = r};
    struct embi_io *io = NULL;
    emb_status status = find_parts(&s, file, err);
    if (!status)
        status = embi_io_open(embi_newdir_env(dir), to, embi_newdir_mode(dir), &io, err);
    if (!status) {
        s.w.sink.io = io;
        status = write_parts(&s, err);
    }
    embi_rewrite_free(&s.w);
    embi_io_close(io);
    free(s.parts);
    free(s.rows);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All files
 */

/* In place by another user, root say, nothing changes hands. Elsewhere files are of who runs it. */
static emb_status keep_owner(const emb_model_resize *r, const struct stat *old, const char *to,
                             emb_err *err)
{
    struct stat st;
    if (!r->mo.in_place ||
        (lstat(to, &st) == 0 && st.st_uid == old->st_uid && st.st_gid == old->st_gid))
        return EMB_OK;
    if (lchown(to, old->st_uid, old->st_gid) == 0)
        return EMB_OK;
    /* for root alone; EINVAL: an id that a container does not know */
    bool forbidden = errno == EPERM || errno == EINVAL || errno == ENOTSUP;
    return forbidden ? EMB_OK : embi_fail_errno(err, errno, NULL);
}

/* The owner and the permissions of the old file, behind links, for the new one. */
static emb_status keep_mode(const emb_model_resize *r, const char *from, const char *to,
                            emb_err *err)
{
    struct stat st;
    if (stat(from, &st) != 0)
        return EMB_OK;
    emb_status status = keep_owner(r, &st, to, err);
    if (status || chmod(to, st.st_mode & 07777) == 0 || errno == EPERM || errno == ENOTSUP)
        return status;
    return embi_fail_errno(err, errno, NULL);
}

/* What does not change. What is no file, folder or link stays behind if it is not in place. */
static emb_status take_file(emb_model_resize *r, struct embi_newdir *dir,
                            const struct embi_tree_entry *e, const char *from, const char *to,
                            emb_err *err)
{
    struct stat st;
    if (e->kind == EMBI_TREE_OTHER && !r->mo.in_place)
        return EMB_OK;
    emb_status status = embi_newdir_take(dir, r->root, e, r->mo.link || r->mo.in_place, err);
    return status || lstat(from, &st) != 0 ? status : keep_owner(r, &st, to, err);
}

static emb_status write_entry(emb_model_resize *r, struct embi_newdir *dir,
                              const struct embi_tree_entry *e, const char *from, const char *to,
                              emb_err *err)
{
    const char *inside = embi_model_resize_inside(r, e->name);
    const struct embi_file_edit *edit = inside ? embi_file_edits_find(&r->edits, inside) : NULL;
    size_t shard = embi_model_resize_shard(r, e->name);
    emb_status status;
    if (!edit && shard == SIZE_MAX)
        return take_file(r, dir, e, from, to, err);
    if (edit)
        status = embi_newdir_add(dir, e->name, edit->bytes.s, edit->bytes.n, err);
    else if ((status = write_shard(r, dir, shard, to, err)) != EMB_OK)
        embi_fail_in(err, "%s", e->name);
    return status ? status : keep_mode(r, from, to, err);
}

static emb_status write_file(emb_model_resize *r, struct embi_newdir *dir,
                             const struct embi_tree_entry *e, emb_err *err)
{
    struct embi_buf from = {0}, to = {0};
    embi_buf_print(&from, "%s/%s", r->root, e->name);
    embi_buf_print(&to, "%s/%s", embi_newdir_path(dir), e->name);
    const char *old = embi_buf_cstr(&from), *path = embi_buf_cstr(&to);
    emb_status status = from.failed || to.failed ? embi_fail_memory(err, from.n + to.n, "a path")
                                                 : write_entry(r, dir, e, old, path, err);
    embi_buf_free(&from);
    embi_buf_free(&to);
    return status;
}

/* A file that was not there, `name` in the directory. In place it is whose the model is. */
static emb_status write_new_file(emb_model_resize *r, struct embi_newdir *dir, const char *name,
                                 const struct embi_buf *bytes, emb_err *err)
{
    struct embi_buf to = {0};
    struct stat st;
    emb_status status = embi_newdir_add(dir, name, bytes->s, bytes->n, err);
    if (status || stat(r->root, &st) != 0)
        return status;
    embi_buf_print(&to, "%s/%s", embi_newdir_path(dir), name);
    const char *path = embi_buf_cstr(&to);
    status = to.failed ? embi_fail_memory(err, to.n, "a path") : keep_owner(r, &st, path, err);
    embi_buf_free(&to);
    return status;
}

/* Edited files that were not there. */
static emb_status write_new_files(emb_model_resize *r, struct embi_newdir *dir, emb_err *err)
{
    emb_status status = EMB_OK;
    struct embi_buf name = {0};
    for (size_t i = 0; !status && i < r->edits.n; i++) {
        const struct embi_file_edit *e = &r->edits.list[i];
        bool there = false;
        name.n = 0;
        embi_buf_print(&name, "%s%s", r->inside, e->name);
        const char *path = embi_buf_cstr(&name);
        for (size_t k = 0; !there && k < r->tree.n; k++)
            there = strcmp(r->tree.list[k].name, path) == 0;
        if (name.failed)
            status = embi_fail_memory(err, name.n, "a path");
        else if (!there)
            status = write_new_file(r, dir, path, &e->bytes, err);
    }
    embi_buf_free(&name);
    return status;
}

/* What has come into the directory since it was listed would be gone with it. */
static emb_status check_unchanged(const emb_model_resize *r, emb_err *err)
{
    struct embi_tree now;
    emb_status status = r->mo.in_place ? embi_tree_read(r->root, false, &now, err) : EMB_OK;
    if (status || !r->mo.in_place)
        return status;
    const char *name = embi_tree_difference(&r->tree, &now);
    if (name)
        status = embi_fail(err, EMB_IO, -1,
                           "%s changed while the model was resized: nothing is replaced", name);
    embi_tree_free(&now);
    return status;
}

static emb_status fill(emb_model_resize *r, struct embi_newdir *dir, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < r->tree.n; i++)
        status = write_file(r, dir, &r->tree.list[i], err);
    if (!status)
        status = write_new_files(r, dir, err);
    if (!status) /* or the next check would blame us */
        status = check_unchanged(r, err);
    if (!status)
        status = embi_model_resize_check(r, embi_newdir_path(dir), err);
    if (!status)
        status = check_unchanged(r, err);
    if (!status)
        status = embi_newdir_close_folders(dir, &r->tree, err);
    return status ? status : embi_newdir_commit(dir, err);
}

/* ------------------------------------------------------------------------------------------------
 * The target
 */

/* The directory that holds `path`, without links. */
static emb_status parent_of(const char *path, char **real, emb_err *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    char *parent = n ? strndup(path, n) : strdup(".");
    if (!parent)
        return embi_fail_memory(err, n, "a path");
    emb_status status = embi_path_real(parent, real, err);
    free(parent);
    return status;
}

/* Neither the directory itself nor anything in it. What is not there is in nothing. */
static emb_status check_outside(const emb_model_resize *r, const char *path, emb_err *err)
{
    size_t n = strlen(r->root);
    char *real = NULL, *parent = NULL;
    emb_status status = embi_path_real(path, &real, err);
    if (!status || status == EMB_IO)
        status = parent_of(real ? real : path, &parent, err);
    if (!status && real && strcmp(real, r->root) == 0)
        status = embi_fail(err, EMB_EXISTS, -1, "is the model itself: --in-place replaces it");
    else if (parent && !status && strncmp(parent, r->root, n) == 0 &&
             (!parent[n] || parent[n] == '/'))
        status = embi_fail(err, EMB_BAD_ARG, -1, "lies inside the model's own directory");
    free(real);
    free(parent);
    return status;
}

/* Names are exchanged within a file system; what is mounted has its name outside. */
static emb_status check_in_place(const emb_model_resize *r, emb_err *err)
{
    struct stat st, above;
    char *parent = NULL;
    emb_status status = parent_of(r->root, &parent, err);
    if (status || !parent)
        return status;
    bool mounted = stat(r->root, &st) == 0 && stat(parent, &above) == 0 &&
                   (st.st_dev != above.st_dev || st.st_ino == above.st_ino);
    free(parent);
    if (!mounted)
        return EMB_OK;
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "is where a file system is mounted, so it cannot be replaced in place: write "
                     "to another directory (-o)");
}

static emb_status check_target(const emb_model_resize *r, const char *path, unsigned mode,
                               emb_err *err)
{
    if (r->mo.in_place)
        return path ? embi_fail(err, EMB_BAD_ARG, -1, "in place, and to a path as well")
                    : check_in_place(r, err);
    if (!path)
        return embi_fail(err, EMB_BAD_ARG, -1, "no directory to write to");
    emb_status status = check_outside(r, path, err);
    return status || !(mode & EMBI_IO_FORCE) ? status
                                             : embi_model_replaceable(&r->ctx->env, path, err);
}

emb_status emb_model_resize_write(emb_model_resize *r, const char *path,
                                  const emb_write_opts *wopts, emb_err *err)
{
    struct embi_newdir *dir;
    unsigned mode = embi_write_mode(wopts);
    emb_status status = check_target(r, path, mode, err);
    if (!status && r->mo.in_place && !r->plan.changes)
        embi_newdir_clear(&r->ctx->env, r->root);
    if (status || (r->mo.in_place && !r->plan.changes))
        return status;
    if (r->mo.in_place) {
        path = r->root;
        mode |= EMBI_IO_FORCE | EMBI_IO_EXCHANGE;
    }
    status = embi_newdir_open(&r->ctx->env, path, mode, &dir, err);
    if (status)
        return status;
    status = fill(r, dir, err);
    embi_newdir_close(dir);
    return status;
}
