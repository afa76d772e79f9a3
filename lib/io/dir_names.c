/* dir_names.c - see dir_names.h. */
#include "io/dir_names.h"

#include "io/dir.h"
#include "util/err.h"

#include <fcntl.h>
#include <stdlib.h>

emb_status embi_names_add(struct embi_names *names, const char *name, size_t n, emb_err *err)
{
    if (names->n == names->capacity) {
        size_t capacity = names->capacity ? 2 * names->capacity : 16;
        char **list = realloc(names->list, capacity * sizeof *list);
        if (!list)
            return embi_fail_memory(err, capacity * sizeof *list, "file names");
        names->list = list;
        names->capacity = capacity;
    }
    char *copy = strndup(name, n);
    if (!copy)
        return embi_fail_memory(err, n, "a file name");
    names->list[names->n++] = copy;
    return EMB_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void embi_names_sort(struct embi_names *names)
{
    if (names->n)
        qsort(names->list, names->n, sizeof *names->list, by_bytes);
}

emb_status embi_dir_names(const char *path, embi_name_fn *wanted, struct embi_names *names,
                          emb_err *err)
{
    struct embi_dir dir;
    emb_status status = EMB_OK;
    *names = (struct embi_names){0};
    embi_dir_open(&dir, AT_FDCWD, path, true);
    for (const char *name; !status && (name = embi_dir_next(&dir)) != NULL;)
        if (name[0] != '.' && wanted(dir.fd, name))
            status = embi_names_add(names, name, strlen(name), err);
    int sys = embi_dir_close(&dir);
    if (!status && sys)
        status = embi_fail_errno(err, sys, NULL);
    if (!status)
        embi_names_sort(names);
    return status;
}

void embi_names_free(struct embi_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->list[i]);
    free(names->list);
    *names = (struct embi_names){0};
}
