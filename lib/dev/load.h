/* load.h - plugins: shared objects that bring a dependency of their own, looked for in given
 * directories and loaded when they are first needed.
 *
 * A plugin NAME is the file libemb-NAME.so in the first of these directories that has it. Nothing
 * is looked for elsewhere: not where the system keeps libraries, and never in the current
 * directory. Plugins are loaded with all their symbols bound and none of them visible to others,
 * and never unloaded.
 */
#ifndef EMBI_DEV_LOAD_H
#define EMBI_DEV_LOAD_H

#include "dev/blas.h"
#include "io/transport.h"
#include "util/env.h"

/* Of a context: where to look, and what came of it. */
struct embi_plugins {
    char *dirs;                             /* or NULL: no plugins */
    bool blas_tried;                        /* then there is the one or the other: */
    const struct embi_blas *blas;           /* what the BLAS plugin gave, */
    emb_err blas_err;                       /* why there is none */
    const struct embi_transport *transport; /* what the HTTP plugin gave; NULL: not loaded */
};

/* dirs: absolute paths separated by ':' (others among them do not count), or NULL: no plugins. */
emb_status embi_plugins_new(const char *dirs, struct embi_plugins **plugins, emb_err *err);
void embi_plugins_free(struct embi_plugins *plugins);

/* Is there a file for this plugin? */
bool embi_plugin_there(const struct embi_plugins *plugins, const char *name);

/* Loads the plugin and finds its one symbol. EMB_DEVICE says why there is none; `missing` are the
 * words for a file that is not there. */
emb_status embi_plugin_load(const struct embi_plugins *plugins, const char *name,
                            const char *missing, const char *symbol, void **address, emb_err *err);

/* Is what plugin NAME gave, an interface of so many bytes, of the number and the size that this
 * library knows? EMB_DEVICE. */
emb_status embi_plugin_check(const char *name, uint32_t abi, uint32_t size, uint32_t known_abi,
                             size_t known_size, emb_err *err);

/* blas.c: the BLAS plugin of the context, loaded at the first call; EMB_DEVICE as above, every time
 * where it failed once. */
emb_status embi_blas_get(const struct embi_env *env, const struct embi_blas **blas, emb_err *err);

/* transport.c: the HTTP plugin of the context, loaded at the first call; EMB_DEVICE as above. */
emb_status embi_transport_get(const struct embi_env *env, const struct embi_transport **transport,
                              emb_err *err);

/* Does the library behind it use this CPU's vector units? OpenBLAS takes models that are newer than
 * itself for a very old one, and is then not worth a choice. */
bool embi_blas_is_current(const struct embi_env *env, const struct embi_blas *blas);

#endif
