/* target.h - what a user typed for a table or a model, taken apart: path, path#tensor (a path that
 * exists with the # in its name wins), hf:// names, addresses, "-" for standard input.
 */
#ifndef EMBI_MODEL_TARGET_H
#define EMBI_MODEL_TARGET_H

#include "model/model.h"

struct embi_target {
    char *memory;         /* a copy of what was typed, cut at the # */
    char *path;           /* the same, or malloc'd: where hf:// leads */
    const char *tensor;   /* from the options, or NULL */
    const char *fragment; /* what stands behind the #, inside memory; or NULL */
    bool listing;         /* what is there is only listed (embi_read_opts); set after the open */
};

/* Free it with embi_target_free, after failure too. */
emb_status embi_target_open(const emb_ctx *ctx, const char *url, const emb_open_opts *opts,
                            struct embi_target *target, emb_err *err);
void embi_target_free(struct embi_target *target);

bool embi_target_is_dir(const emb_ctx *ctx, const struct embi_target *target);

/* The directory as a model, with what the options say of its files. */
emb_status embi_target_model(const emb_ctx *ctx, const struct embi_target *target,
                             const emb_open_opts *opts, struct embi_model **model, emb_err *err);

/* The tensor that was named, or NULL. Of a zip, which `reader` is then, the # names a member, and a
 * second # or an option the tensor in it. */
const char *embi_target_tensor(const struct embi_target *target, const struct embi_reader *reader);

/* The file `path`: the target's own, or one in its directory. */
emb_status embi_target_reader(const emb_ctx *ctx, const struct embi_target *target,
                              const char *path, const emb_open_opts *opts,
                              struct embi_reader **reader, emb_err *err);

#endif
