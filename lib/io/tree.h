/* tree.h - what a directory holds, down to the last folder, as a list.
 *
 * The list is made before anything is written, so that what appears in the directory meanwhile (a
 * new directory inside it, say) is no part of it.
 */
#ifndef EMBI_IO_TREE_H
#define EMBI_IO_TREE_H

#include "io/io.h"

#include <time.h>

enum embi_tree_kind {
    EMBI_TREE_FILE,   /* a regular file */
    EMBI_TREE_FOLDER, /* comes before what is in it */
    EMBI_TREE_LINK,   /* a symbolic link that is kept as it is */
    EMBI_TREE_OTHER   /* a pipe, a socket, a device */
};

struct embi_tree_entry {
    char *name; /* relative to the directory, with slashes */
    enum embi_tree_kind kind;
    unsigned mode;           /* permissions */
    uint64_t bytes;          /* of a file */
    struct timespec changed; /* its last modification */
};

struct embi_tree {
    struct embi_tree_entry *list; /* [n] by name */
    size_t n, cap;
};

/* follow: symbolic links are what they lead to (EMB_IO where they lead round in a circle); one that
 * leads nowhere stays a link. Otherwise all links are links. Messages begin with the name. */
emb_status embi_tree_read(const char *dir, bool follow, struct embi_tree *tree, emb_err *err);
void embi_tree_free(struct embi_tree *tree);

/* The first entry, by name, that is in one list alone or is another file than it was; NULL:
 * none. */
const char *embi_tree_difference(const struct embi_tree *before, const struct embi_tree *after);

#endif
