/* file_edit.c - see file_edit.h. The lists are short: a directory has a handful of files that are
 * edited.
 */
#include "model/file_edit.h"

#include "util/err.h"

#include <stdlib.h>

const struct embi_file_edit *embi_file_edits_find(const struct embi_file_edits *edits,
                                                  const char *name)
{
    for (size_t i = 0; i < edits->n; i++)
        if (strcmp(edits->list[i].name, name) == 0)
            return &edits->list[i];
    return NULL;
}

emb_status embi_file_edits_add(struct embi_file_edits *edits, const char *name,
                               struct embi_file_edit **edit, emb_err *err)
{
    const struct embi_file_edit *old = embi_file_edits_find(edits, name);
    if (old) {
        *edit = &edits->list[old - edits->list];
        return EMB_OK;
    }
    size_t bytes = (edits->n + 1) * sizeof *edits->list;
    struct embi_file_edit *list = realloc(edits->list, bytes);
    if (!list)
        return embi_fail_memory(err, bytes, "a list of files");
    edits->list = list;
    list[edits->n] = (struct embi_file_edit){.name = strdup(name)};
    if (!list[edits->n].name)
        return embi_fail_memory(err, strlen(name) + 1, "a file name");
    *edit = &list[edits->n++];
    return EMB_OK;
}

void embi_file_edits_free(struct embi_file_edits *edits)
{
    for (size_t i = 0; i < edits->n; i++) {
        free(edits->list[i].name);
        embi_buf_free(&edits->list[i].bytes);
    }
    free(edits->list);
    *edits = (struct embi_file_edits){0};
}
