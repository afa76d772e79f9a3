/* place.h - directories of which files are elsewhere: on the Hugging Face hub, on a server.
 *
 * A place has a path as any directory has, and what opens files in it opens paths: embi_io_open
 * asks the places of the context first. Whoever looks which files there are asks here, since the
 * system does not know them. Places live as long as the context.
 */
#ifndef EMBI_IO_PLACE_H
#define EMBI_IO_PLACE_H

#include "io/dir_names.h"
#include "io/io.h"

struct embi_place;

struct embi_place_kind {
    /* The file `name` in it, which may lie in folders. EMB_IO with ENOENT: there is none. */
    emb_status (*open)(struct embi_place *place, const char *name, struct embi_io **io,
                       emb_err *err);
    /* Is there a file of that name? Where that cannot be found out the answer is yes: who opens it
     * sees why not. */
    bool (*has)(struct embi_place *place, const char *name);
    /* Adds the names of the files in `folder`, "" or "a/b". NULL: nobody can know them. */
    emb_status (*names)(struct embi_place *place, const char *folder, struct embi_names *names,
                        emb_err *err);
    void (*free)(struct embi_place *place);
};

/* The part that every place has, first in a struct of its own. */
struct embi_place {
    const struct embi_place_kind *kind;
    const struct embi_env *env;
    struct embi_place *next;
    char *dir; /* malloc'd, without a slash at its end */
};

struct embi_places {
    struct embi_place *first;
};

/* Takes the place over. */
void embi_place_add(const struct embi_env *env, struct embi_place *place);
void embi_places_free(struct embi_places *places);

/* The place that the path lies in, with *name inside it ("": the place itself), or NULL. */
struct embi_place *embi_place_of(const struct embi_env *env, const char *path, const char **name);

/* Is there something at the path, or dir/name? */
bool embi_path_exists(const struct embi_env *env, const char *path);

/* Is it a directory, as far as the system or a place knows? */
bool embi_path_is_dir(const struct embi_env *env, const char *path);

/* embi_dir_names of a directory anywhere: `wanted` is asked with dir -1 for files of a place. A
 * place whose names nobody knows has none. */
emb_status embi_path_names(const struct embi_env *env, const char *path, embi_name_fn *wanted,
                           struct embi_names *names, emb_err *err);

#endif
