/* hub.h - hf:// names, and where the Hugging Face hub's clients keep what they downloaded. */
#ifndef EMBI_MODEL_HUB_H
#define EMBI_MODEL_HUB_H

#include "util/base.h"

/* The path of what `hf://org/model[@revision][/file]` names, malloc'd, by the layout of the cache
 * directory (docs/formats/model.md, "hf://"). Nothing is downloaded: EMB_IO where it is not there.
 * cache may be NULL. Old models have no org. */
emb_status embi_hub_path(const char *cache, const char *url, char **path, emb_err *err);

#endif
