/* pickle.h - what a Python pickle says, without doing it: a tree of inert nodes.
 *
 * Nothing is imported, called or built: a call in the pickle is a node that names the callable and
 * its arguments. Containers may hold themselves (a pickle can say so), so who walks the tree bounds
 * its own depth. Only for torch*.c. Specification: Python's pickletools, protocols 2 to 4.
 */
#ifndef EMBI_FMT_PICKLE_H
#define EMBI_FMT_PICKLE_H

#include "util/base.h"

enum embi_pickle_kind {
    EMBI_PICKLE_OPAQUE, /* floats, bytes, long integers, objects: nothing that is needed */
    EMBI_PICKLE_NONE,
    EMBI_PICKLE_BOOL,
    EMBI_PICKLE_INT,
    EMBI_PICKLE_STRING,
    EMBI_PICKLE_GLOBAL,
    EMBI_PICKLE_TUPLE,
    EMBI_PICKLE_LIST,   /* a set too */
    EMBI_PICKLE_DICT,   /* an OrderedDict too; items are key, value, key, value ... */
    EMBI_PICKLE_CALL,   /* first: the callable, last: its arguments */
    EMBI_PICKLE_STORAGE /* a persistent id; first: the id */
};

typedef uint32_t embi_pickle_id;

struct embi_pickle_node {
    enum embi_pickle_kind kind;
    uint32_t depth; /* when it was made */
    union {
        int64_t number; /* BOOL, INT */
        struct {
            const char *s; /* STRING; GLOBAL: MODULE LF NAME, or NULL and two strings in the pair */
            uint64_t bytes;
        } text;
        struct {
            uint32_t first, last, n; /* containers: places in items; CALL, STORAGE: nodes */
        } list;
    } as;
    embi_pickle_id pair[2]; /* GLOBAL of two strings */
};

struct embi_pickle_item {
    embi_pickle_id node;
    uint32_t next;
};

#define EMBI_PICKLE_END UINT32_MAX /* no item, no node */

struct embi_pickle {
    struct embi_pickle_node *nodes; /* [n_nodes] */
    struct embi_pickle_item *items; /* [n_items] */
    embi_pickle_id *storages;       /* [n_storages]: every STORAGE node */
    size_t n_nodes, nodes_cap, n_items, items_cap, n_storages, storages_cap;
    embi_pickle_id root;
    size_t end; /* after STOP, in the bytes that were read */
};

/* Reads the pickle at the start of s [n], which must outlive it; `origin` is its place in the file,
 * for err->at and the words "byte N". Free with embi_pickle_free, after failure too. */
emb_status embi_pickle_read(const char *s, size_t n, uint64_t origin, struct embi_pickle *p,
                            emb_err *err);
void embi_pickle_free(struct embi_pickle *p);

/* The kind of a node; OPAQUE for EMBI_PICKLE_END. */
enum embi_pickle_kind embi_pickle_kind(const struct embi_pickle *p, embi_pickle_id node);

/* Item i of a container, or EMBI_PICKLE_END. */
embi_pickle_id embi_pickle_at(const struct embi_pickle *p, embi_pickle_id node, size_t i);

/* The value of a DICT's first key that is this string, or EMBI_PICKLE_END. */
embi_pickle_id embi_pickle_get(const struct embi_pickle *p, embi_pickle_id node, const char *key);

/* The text of a STRING; {NULL, 0} for other nodes. */
emb_str embi_pickle_string(const struct embi_pickle *p, embi_pickle_id node);

/* Is it an INT? */
bool embi_pickle_int(const struct embi_pickle *p, embi_pickle_id node, int64_t *x);

/* Is it this GLOBAL? */
bool embi_pickle_names(const struct embi_pickle *p, embi_pickle_id node, const char *module,
                       const char *name);

/* A GLOBAL's module and name; false for other nodes. */
bool embi_pickle_global(const struct embi_pickle *p, embi_pickle_id node, emb_str *module,
                        emb_str *name);

#endif
