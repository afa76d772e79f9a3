/* pickle_tree.c - questions to the tree that pickle.c made, see pickle.h.
 *
 * Every question may be asked of any node, so that who reads a tree checks what it finds by asking.
 */
#include "fmt/pickle.h"

#include <stdlib.h>

void embi_pickle_free(struct embi_pickle *p)
{
    free(p->nodes);
    free(p->items);
    free(p->storages);
    *p = (struct embi_pickle){0};
}

enum embi_pickle_kind embi_pickle_kind(const struct embi_pickle *p, embi_pickle_id node)
{
    return node < p->n_nodes ? p->nodes[node].kind : EMBI_PICKLE_OPAQUE;
}

embi_pickle_id embi_pickle_at(const struct embi_pickle *p, embi_pickle_id node, size_t i)
{
    enum embi_pickle_kind kind = embi_pickle_kind(p, node);
    if (kind != EMBI_PICKLE_TUPLE && kind != EMBI_PICKLE_LIST)
        return EMBI_PICKLE_END;
    uint32_t item = p->nodes[node].as.list.first;
    for (; i > 0 && item != EMBI_PICKLE_END; i--)
        item = p->items[item].next;
    return item == EMBI_PICKLE_END ? EMBI_PICKLE_END : p->items[item].node;
}

embi_pickle_id embi_pickle_get(const struct embi_pickle *p, embi_pickle_id node, const char *key)
{
    if (embi_pickle_kind(p, node) != EMBI_PICKLE_DICT)
        return EMBI_PICKLE_END;
    uint32_t item = p->nodes[node].as.list.first;
    while (item != EMBI_PICKLE_END) {
        emb_str found = embi_pickle_string(p, p->items[item].node);
        item = p->items[item].next; /* items of a dict come in pairs */
        if (found.s && embi_str_is(found, key))
            return p->items[item].node;
        item = p->items[item].next;
    }
    return EMBI_PICKLE_END;
}

emb_str embi_pickle_string(const struct embi_pickle *p, embi_pickle_id node)
{
    if (embi_pickle_kind(p, node) != EMBI_PICKLE_STRING)
        return (emb_str){NULL, 0};
    return (emb_str){p->nodes[node].as.text.s, (size_t)p->nodes[node].as.text.bytes};
}

bool embi_pickle_int(const struct embi_pickle *p, embi_pickle_id node, int64_t *x)
{
    if (embi_pickle_kind(p, node) != EMBI_PICKLE_INT)
        return false;
    *x = p->nodes[node].as.number;
    return true;
}

bool embi_pickle_global(const struct embi_pickle *p, embi_pickle_id node, emb_str *module,
                        emb_str *name)
{
    if (embi_pickle_kind(p, node) != EMBI_PICKLE_GLOBAL)
        return false;
    const struct embi_pickle_node *g = &p->nodes[node];
    if (!g->as.text.s) {
        *module = embi_pickle_string(p, g->pair[0]);
        *name = embi_pickle_string(p, g->pair[1]);
        return true;
    }
    const char *lf = memchr(g->as.text.s, '\n', (size_t)g->as.text.bytes);
    size_t n = (size_t)(lf - g->as.text.s);
    *module = (emb_str){g->as.text.s, n};
    *name = (emb_str){lf + 1, (size_t)g->as.text.bytes - n - 1};
    return true;
}

bool embi_pickle_names(const struct embi_pickle *p, embi_pickle_id node, const char *module,
                       const char *name)
{
    emb_str a, b;
    return embi_pickle_global(p, node, &a, &b) && embi_str_is(a, module) && embi_str_is(b, name);
}
