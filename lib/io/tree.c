/* tree.c - see tree.h. Folders are opened by path, one at a time on the way down; how deep is
 * bounded, which also ends circles of links.
 */
#include "io/tree.h"

#include "io/dir.h"
#include "util/buf.h"
#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 64 };

struct reading {
    struct embi_tree *tree;
    const char *dir;
    bool follow;
};

static emb_status read_folder(const struct reading *r, const char *name, int depth, emb_err *err);

void embi_tree_free(struct embi_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        free(tree->list[i].name);
    free(tree->list);
    *tree = (struct embi_tree){0};
}

static emb_status add(struct embi_tree *tree, const char *name, const struct stat *st, emb_err *err)
{
    if (tree->n == tree->cap) {
        size_t cap = tree->cap ? 2 * tree->cap : 16;
        struct embi_tree_entry *list = realloc(tree->list, cap * sizeof *list);
        if (!list)
            return embi_fail_memory(err, cap * sizeof *list, "a list of files");
        tree->list = list;
        tree->cap = cap;
    }
    struct embi_tree_entry *e = &tree->list[tree->n];
    *e = (struct embi_tree_entry){
        .name = strdup(name), .mode = st->st_mode & 07777, .changed = st->st_mtim};
    if (!e->name)
        return embi_fail_memory(err, strlen(name) + 1, "a file name");
    e->kind = S_ISREG(st->st_mode)   ? EMBI_TREE_FILE
              : S_ISDIR(st->st_mode) ? EMBI_TREE_FOLDER
              : S_ISLNK(st->st_mode) ? EMBI_TREE_LINK
                                     : EMBI_TREE_OTHER;
    e->bytes = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
    tree->n++;
    return EMB_OK;
}

/* An entry of the open folder, `name` seen from the directory; `last` inside the folder. */
static emb_status read_entry(const struct reading *r, int folder, const char *last,
                             const char *name, int depth, emb_err *err)
{
    struct stat st, end;
    if (fstatat(folder, last, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return embi_fail_errno(err, errno, name);
    if (S_ISLNK(st.st_mode) && r->follow) {
        if (fstatat(folder, last, &end, 0) == 0)
            st = end;
        else if (errno != ENOENT)
            return embi_fail_errno(err, errno, name);
    }
    emb_status status = add(r->tree, name, &st, err);
    return status || !S_ISDIR(st.st_mode) ? status : read_folder(r, name, depth + 1, err);
}

static emb_status read_names(const struct reading *r, struct embi_dir *dir, const char *name,
                             int depth, emb_err *err)
{
    emb_status status = EMB_OK;
    struct embi_buf path = {0};
    for (const char *e; !status && (e = embi_dir_next(dir)) != NULL;) {
        path.n = 0;
        embi_buf_print(&path, "%s%s%s", name, *name ? "/" : "", e);
        const char *inside = embi_buf_cstr(&path);
        status = path.failed ? embi_fail_memory(err, path.n, "a path")
                             : read_entry(r, dir->fd, e, inside, depth, err);
    }
    embi_buf_free(&path);
    return status;
}

/* name "": the directory itself. What cannot be read to its end would be lost in silence. */
static emb_status read_folder(const struct reading *r, const char *name, int depth, emb_err *err)
{
    struct embi_dir dir;
    struct embi_buf path = {0};
    if (depth > DEPTH_MAX)
        return embi_fail_errno(err, ELOOP, name);
    embi_buf_print(&path, "%s/%s", r->dir, name);
    const char *whole = embi_buf_cstr(&path);
    if (path.failed)
        return embi_fail_memory(err, path.n, "a path");
    embi_dir_open(&dir, AT_FDCWD, whole, true);
    embi_buf_free(&path);
    emb_status status = read_names(r, &dir, name, depth, err);
    int sys = embi_dir_close(&dir);
    return status || !sys ? status : embi_fail_errno(err, sys, *name ? name : NULL);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct embi_tree_entry *)a)->name,
                  ((const struct embi_tree_entry *)b)->name);
}

emb_status embi_tree_read(const char *dir, bool follow, struct embi_tree *tree, emb_err *err)
{
    struct reading r = {tree, dir, follow};
    *tree = (struct embi_tree){0};
    emb_status status = read_folder(&r, "", 0, err);
    if (status)
        embi_tree_free(tree);
    else if (tree->n)
        qsort(tree->list, tree->n, sizeof *tree->list, by_name);
    return status;
}

static bool same_entry(const struct embi_tree_entry *a, const struct embi_tree_entry *b)
{
    bool same_time =
        a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
    return strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->bytes == b->bytes &&
           (a->kind != EMBI_TREE_FILE || same_time);
}

const char *embi_tree_difference(const struct embi_tree *before, const struct embi_tree *after)
{
    size_t i = 0, n = before->n < after->n ? before->n : after->n;
    while (i < n && same_entry(&before->list[i], &after->list[i]))
        i++;
    if (i < n && by_name(&before->list[i], &after->list[i]) > 0)
        return after->list[i].name;
    return i < before->n ? before->list[i].name : i < after->n ? after->list[i].name : NULL;
}
