/* gguf_dir.c - which of the .gguf files in a directory is meant: the only one, or the only model
 * that is split into parts.
 */
#include "model/gguf_model.h"

#include "io/dir.h"
#include "util/buf.h"
#include "util/err.h"

#include <fcntl.h>
#include <stdlib.h>

enum { LISTED_MAX = 6 };

struct names {
    char **list; /* [n] */
    size_t n, capacity;
};

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->list[i]);
    free(names->list);
}

static emb_status add_name(struct names *names, const char *name, emb_err *err)
{
    if (names->n == names->capacity) {
        size_t capacity = names->capacity ? 2 * names->capacity : 16;
        char **list = realloc(names->list, capacity * sizeof *list);
        if (!list)
            return embi_fail_memory(err, capacity * sizeof *list, "file names");
        names->list = list;
        names->capacity = capacity;
    }
    names->list[names->n] = strdup(name);
    if (!names->list[names->n])
        return embi_fail_memory(err, strlen(name), "a file name");
    names->n++;
    return EMB_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The *.gguf of a directory, by name. */
static emb_status read_names(const char *path, struct names *names, emb_err *err)
{
    struct embi_dir dir;
    emb_status status = EMB_OK;
    embi_dir_open(&dir, AT_FDCWD, path, true);
    for (const char *file; !status && (file = embi_dir_next(&dir)) != NULL;)
        if (file[0] != '.' && embi_ends_in(file, ".gguf"))
            status = add_name(names, file, err);
    int sys = embi_dir_close(&dir);
    if (!status && sys)
        status = embi_fail_errno(err, sys, NULL);
    if (!status && names->n)
        qsort(names->list, names->n, sizeof *names->list, by_name);
    return status;
}

static bool are_parts_of_one(const char *a, const char *b)
{
    struct embi_gguf_part p, q;
    return embi_gguf_part_of(a, &p) && embi_gguf_part_of(b, &q) && p.count == q.count &&
           embi_str_equal(p.name, q.name);
}

/* Leaves the first file of each model in the list. */
static void keep_models(struct names *names)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->n; i++) {
        size_t k = 0;
        while (k < kept && !are_parts_of_one(names->list[k], names->list[i]))
            k++;
        if (k < kept)
            free(names->list[i]);
        else
            names->list[kept++] = names->list[i];
    }
    names->n = kept;
}

static emb_status fail_several(const struct names *names, emb_err *err)
{
    struct embi_buf list = {0};
    char shown[EMBI_SHOW_MAX];
    for (size_t i = 0; i < names->n && i < LISTED_MAX; i++)
        embi_buf_print(&list, "%s%s", i ? ", " : "",
                       embi_show(shown, (emb_str){names->list[i], strlen(names->list[i])}));
    if (names->n > LISTED_MAX)
        embi_buf_print(&list, " and %zu more", names->n - LISTED_MAX);
    embi_fail(err, EMB_UNSUPPORTED, -1, "%zu GGUF models are here: name one of %s", names->n,
              embi_buf_cstr(&list));
    embi_buf_free(&list);
    return EMB_UNSUPPORTED;
}

emb_status embi_gguf_in_dir(const char *dir, char **name, emb_err *err)
{
    struct names names = {0};
    *name = NULL;
    emb_status status = read_names(dir, &names, err);
    if (!status)
        keep_models(&names);
    if (!status && names.n > 1)
        status = fail_several(&names, err);
    if (!status && names.n == 1) {
        *name = names.list[0];
        names.n = 0;
    }
    free_names(&names);
    return status;
}
