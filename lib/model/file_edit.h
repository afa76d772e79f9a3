/* file_edit.h - new contents of files of a model directory, made in memory before anything is
 * written.
 *
 * Who edits a file adds an entry; who writes the directory takes the bytes in place of the old
 * file's, and every file that is not listed as it was. {0} is the empty list.
 */
#ifndef EMBI_MODEL_FILE_EDIT_H
#define EMBI_MODEL_FILE_EDIT_H

#include "util/buf.h"

struct embi_file_edit {
    char *name;            /* inside the directory, without a slash; malloc'd */
    struct embi_buf bytes; /* the whole new content */
};

struct embi_file_edits {
    struct embi_file_edit *list; /* [n] */
    size_t n;
};

/* Adds an empty entry for `name`, which is copied, or hands out the one that is there: later edits
 * of a file begin with what earlier ones made of it. *edit is valid until the next call. */
emb_status embi_file_edits_add(struct embi_file_edits *edits, const char *name,
                               struct embi_file_edit **edit, emb_err *err);

/* The entry of that name, or NULL. */
const struct embi_file_edit *embi_file_edits_find(const struct embi_file_edits *edits,
                                                  const char *name);

void embi_file_edits_free(struct embi_file_edits *edits);

#endif
