/* web_dir.h - a model directory on a server: an http:// or https:// address with a slash at its
 * end, of which files are known by their names alone.
 */
#ifndef EMBI_MODEL_WEB_DIR_H
#define EMBI_MODEL_WEB_DIR_H

#include "util/env.h"

/* Makes the address a place (io/place.h), if it is one of a directory; nothing is asked for yet. */
emb_status embi_web_dir_open(const struct embi_env *env, const char *url, emb_err *err);

#endif
