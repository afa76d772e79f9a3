/* dir_names.h - the names in a directory that somebody wants, in the order of their bytes: that of
 * the directory itself is chance.
 */
#ifndef EMBI_IO_DIR_NAMES_H
#define EMBI_IO_DIR_NAMES_H

#include "util/base.h"

struct embi_names {
    char **list; /* [n], each malloc'd */
    size_t n, capacity;
};

/* Is the name wanted? dir: the directory, for the ...at calls. */
typedef bool embi_name_fn(int dir, const char *name);

/* Names that begin with a dot are never listed. Free with embi_names_free, after failure too.
 * EMB_IO: the directory cannot be read. */
emb_status embi_dir_names(const char *path, embi_name_fn *wanted, struct embi_names *names,
                          emb_err *err);

/* One more name [n], from elsewhere; names may be {0} before. */
emb_status embi_names_add(struct embi_names *names, const char *name, size_t n, emb_err *err);
void embi_names_sort(struct embi_names *names);
void embi_names_free(struct embi_names *names);

#endif
