/* hub.h - models of the Hugging Face hub: hf:// names, and where they lead.
 *
 * What the cache of the hub's clients has is taken from there. What it has not is asked of the hub:
 * which commit a revision is and which files it has, then the files, when they are opened. Small
 * ones come whole, into that cache, in the layout that huggingface_hub knows and under its locks;
 * of large ones whose rows can be found in them the ranges come that are needed. Implements
 * docs/formats/model.md, "hf://".
 */
#ifndef EMBI_MODEL_HUB_H
#define EMBI_MODEL_HUB_H

#include "util/env.h"

/* The path of what `hf://org/model[@revision][/file]` names, malloc'd: a folder of the cache or a
 * file in one, which may be a place (io/place.h) of which files are on the hub. EMB_IO: it is
 * neither in the cache nor on the hub, or nobody may ask. Old models have no org. */
emb_status embi_hub_open(const struct embi_env *env, const char *url, char **path, emb_err *err);

#endif
