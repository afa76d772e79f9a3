/* torch.h - what the zip form and the old form of PyTorch files have in common: storages, and the
 * list of tensors over them. Only for torch*.c.
 *
 * Specification: torch/serialization.py and torch/_utils.py of PyTorch.
 */
#ifndef EMBI_FMT_TORCH_H
#define EMBI_FMT_TORCH_H

#include "fmt/fmt.h"
#include "fmt/pickle.h"
#include "util/map.h"

struct embi_torch_type {
    const char *storage; /* class of the storage, or NULL: only a dtype */
    const char *name;    /* torch.NAME; NULL: the storage does not say */
    emb_dtype dtype;     /* EMB_DTYPE_NONE: listed, not computed with */
    unsigned bytes;
};

/* What the persistent id of a storage says. */
struct embi_torch_ref {
    const struct embi_torch_type *type;
    emb_str key;
    uint64_t numel;      /* elements of `type`, of the whole storage */
    uint64_t view_first; /* the part that is meant, in elements; the old form only */
    uint64_t view_numel;
};

/* The type that a global names, as a class of storages or as a dtype; NULL: none that is known. */
const struct embi_torch_type *embi_torch_type(const struct embi_pickle *p, embi_pickle_id node,
                                              bool storage);

/* False where the node is not a storage of a known type. */
bool embi_torch_ref(const struct embi_pickle *p, embi_pickle_id node, struct embi_torch_ref *ref);

struct embi_torch_span {
    struct embi_io *io; /* NULL: the file itself */
    uint64_t at, bytes; /* there */
};

/* The storages of a file: where the bytes of each are. */
struct embi_torch_storages {
    emb_str *keys;                 /* [n] */
    struct embi_torch_span *spans; /* [n] */
    size_t n;
    struct embi_map map;
    bool swap; /* big-endian */
};

/* Makes room for `cap` storages. Free after failure too. */
emb_status embi_torch_storages_init(struct embi_torch_storages *s, size_t cap, emb_err *err);
void embi_torch_storages_add(struct embi_torch_storages *s, emb_str key,
                             struct embi_torch_span span);
void embi_torch_storages_free(struct embi_torch_storages *s);

/* Lists the tensors of what was pickled; keys of s must differ. */
emb_status embi_torch_list(struct embi_reader *r, const struct embi_pickle *p,
                           struct embi_torch_storages *s, emb_err *err);

/* torch_legacy.c: the form from before PyTorch 1.6; file [size]. */
bool embi_torch_legacy_is(const unsigned char *head, size_t n);
emb_status embi_torch_legacy_open(struct embi_reader *r, const char *file, size_t size,
                                  emb_err *err);

#endif
