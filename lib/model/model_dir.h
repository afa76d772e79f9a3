/* model_dir.h - the directory of the model that a user means. */
#ifndef EMBI_MODEL_MODEL_DIR_H
#define EMBI_MODEL_MODEL_DIR_H

#include "util/env.h"

/* url: a directory, a file in one, which must have a config.json, hf://org/model, or an address
 * with a slash at its end. *dir is malloc'd, and may be set after a failure too. EMB_IO: it is not
 * there. */
emb_status embi_model_dir(const struct embi_env *env, const char *url, char **dir, emb_err *err);

#endif
