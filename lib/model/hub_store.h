/* hub_store.h - the cache of the hub's clients, in the layout of huggingface_hub:
 *
 *     CACHE/models--ORG--NAME/refs/REVISION          a commit
 *                             snapshots/COMMIT/FILE  a link to
 *                             blobs/HASH             a content
 *                             trees/COMMIT.json      which files there are (hub_list.h)
 *     CACHE/.locks/models--ORG--NAME/HASH.lock       held while a content comes
 *
 * Only hub*.c include this.
 */
#ifndef EMBI_MODEL_HUB_STORE_H
#define EMBI_MODEL_HUB_STORE_H

#include "io/remote.h"
#include "model/hub_list.h"
#include "model/hub_name.h"

/* CACHE/models--ORG--NAME in *path, in place of what was there. */
void embi_hub_folder(struct embi_buf *path, const char *cache, const struct embi_hub_name *name);

/* The commit that a revision stands for; false if the cache does not know it. */
bool embi_hub_commit(const char *folder, emb_str revision, char commit[EMBI_COMMIT_HEX + 1]);

/* Makes it known there. */
emb_status embi_hub_keep_commit(const struct embi_env *env, const char *folder, emb_str revision,
                                const char *commit, emb_err *err);

/* Brings one file: afterwards snapshots/COMMIT/FILE is there. `address` is where it comes from. */
emb_status embi_hub_store(const struct embi_env *env, const char *folder, const char *commit,
                          const struct embi_hub_file *file, const struct embi_address *address,
                          emb_err *err);

#endif
