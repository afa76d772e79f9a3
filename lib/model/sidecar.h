/* sidecar.h - the small files that lie in a model directory beside the weights. */
#ifndef EMBI_MODEL_SIDECAR_H
#define EMBI_MODEL_SIDECAR_H

#include "io/io.h"

struct embi_sidecar {
    struct embi_io *io; /* NULL: there is no such file */
    const char *s;      /* [n] its content */
    size_t n;
};

/* Opens dir/name and has its bytes in memory. A file that is not there is no failure; a Git LFS
 * pointer in its place is one. Messages begin with name. */
emb_status embi_sidecar_open(const struct embi_env *env, const char *dir, const char *name,
                             struct embi_sidecar *file, emb_err *err);
void embi_sidecar_close(struct embi_sidecar *file);

/* EMB_UNSUPPORTED for a FIFO: what lies in a directory is not opened by the user's wish, and would
 * be waited for without end. What is not there is no error. */
emb_status embi_refuse_fifo(const char *path, emb_err *err);

/* Is there something called dir/name? */
bool embi_sidecar_exists(const struct embi_env *env, const char *dir, const char *name);

/* The path of something that is there, without links in it, malloc'd. */
emb_status embi_path_real(const char *path, char **real, emb_err *err);

/* The directory that a path says its last name lies in, malloc'd. */
emb_status embi_path_dir(const char *path, char **dir, emb_err *err);

/* "dir/name", malloc'd. */
emb_status embi_path_join(const char *dir, const char *name, char **path, emb_err *err);

#endif
