/* model_dir.h - the directory of the model that a user means. */
#ifndef EMBI_MODEL_MODEL_DIR_H
#define EMBI_MODEL_MODEL_DIR_H

#include "util/base.h"

/* url: a directory, a file in one, which must have a config.json, or hf://org/model in the hub's
 * cache (hub_cache may be NULL). *dir is malloc'd, and may be set after a failure too. EMB_IO: it
 * is not there. */
emb_status embi_model_dir(const char *hub_cache, const char *url, char **dir, emb_err *err);

#endif
