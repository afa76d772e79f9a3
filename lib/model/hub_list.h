/* hub_list.h - which files a model has on the hub at one commit.
 *
 * The hub says it in its answer of what a revision is; a commit never changes, so the hub's clients
 * keep the list in their cache, CACHE/models--ORG--NAME/trees/COMMIT.json (huggingface_hub 2,
 * "format_version" 1), and so does this.
 */
#ifndef EMBI_MODEL_HUB_LIST_H
#define EMBI_MODEL_HUB_LIST_H

#include "io/checksum.h"
#include "util/buf.h"
#include "util/env.h"

struct embi_hub_file {
    const char *name; /* with the folders it lies in */
    uint64_t bytes;   /* EMBI_HUB_UNKNOWN: not said */
    /* The hash of the content, by which the cache names it (io/checksum.h); "": not said. */
    char hash[EMBI_CHECKSUM_MAX];
    char blob[EMBI_CHECKSUM_MAX]; /* the same where it is git's; of large files, what git has in
                                     their place */
};

#define EMBI_HUB_UNKNOWN UINT64_MAX

struct embi_hub_list {
    struct embi_hub_file *files; /* [n] by name */
    size_t n;
    bool complete; /* each has its bytes and its hash */
    char commit[EMBI_GIT_HEX + 1];
    struct embi_buf names; /* never moves */
};

/* What the hub answers of a revision, the n bytes at s. EMB_BAD_DATA: it is none of its answers. */
emb_status embi_hub_list_parse(const char *s, size_t n, struct embi_hub_list *list, emb_err *err);
void embi_hub_list_free(struct embi_hub_list *list);

/* NULL: there is no such file. */
const struct embi_hub_file *embi_hub_list_find(const struct embi_hub_list *list, emb_str name);

/* The list of the cache, where `folder` is that of the model there; *found. One that cannot be read
 * is as good as none. */
emb_status embi_hub_list_read(const struct embi_env *env, const char *folder, const char *commit,
                              struct embi_hub_list *list, bool *found, emb_err *err);

/* Keeps the list there, if it is complete. */
emb_status embi_hub_list_write(const struct embi_env *env, const char *folder,
                               const struct embi_hub_list *list, emb_err *err);

#endif
