/* pickle_machine.c - see pickle_machine.h.
 *
 * Every node and item is paid for by a byte of the pickle, so that memory is bounded by its size.
 * Depth is that of a node when it was made: a container that grows later counts what it then holds.
 */
#include "fmt/pickle_machine.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

#define NODES_MAX ((size_t)1 << 26)

emb_status embi_pickle_fail(struct embi_pickle_machine *m, const char *what)
{
    uint64_t at = m->origin + m->op_at;
    return embi_fail(m->err, EMB_BAD_DATA, (int64_t)at, "pickle: byte %" PRIu64 ": %s", at, what);
}

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

/* Room for element n of an array of `size`-byte elements. */
emb_status embi_pickle_grow(struct embi_pickle_machine *m, void *array, size_t n, size_t *cap,
                            size_t size)
{
    void *old;
    if (n < *cap)
        return EMB_OK;
    size_t more = *cap ? 2 * *cap : 64;
    memcpy(&old, array, sizeof old);
    void *bigger = realloc(old, more * size); /* counts are below 2^32: no overflow */
    if (!bigger)
        return embi_fail_memory(m->err, more * size, "a pickle");
    memcpy(array, &bigger, sizeof bigger);
    *cap = more;
    /* cppcheck-suppress memleak ; the array has the memory now */
    return EMB_OK;
}

emb_status embi_pickle_push_id(struct embi_pickle_machine *m, embi_pickle_id node)
{
    emb_status status = embi_pickle_grow(m, &m->stack, m->height, &m->stack_cap, sizeof *m->stack);
    if (!status)
        m->stack[m->height++] = node;
    return status;
}

emb_status embi_pickle_push(struct embi_pickle_machine *m, struct embi_pickle_node node)
{
    struct embi_pickle *p = m->p;
    if (p->n_nodes == NODES_MAX)
        return embi_pickle_fail(m, "too many objects");
    if (node.depth > EMBI_PICKLE_DEPTH_MAX)
        return embi_pickle_fail(m, "objects are nested too deep");
    emb_status status = embi_pickle_grow(m, &p->nodes, p->n_nodes, &p->nodes_cap, sizeof *p->nodes);
    if (status)
        return status;
    p->nodes[p->n_nodes] = node;
    return embi_pickle_push_id(m, (embi_pickle_id)p->n_nodes++);
}

emb_status embi_pickle_push_kind(struct embi_pickle_machine *m, enum embi_pickle_kind kind)
{
    struct embi_pickle_node node = {.kind = kind};
    if (kind >= EMBI_PICKLE_TUPLE)
        node.as.list.first = node.as.list.last = EMBI_PICKLE_END;
    return embi_pickle_push(m, node);
}

emb_status embi_pickle_push_number(struct embi_pickle_machine *m, enum embi_pickle_kind kind,
                                   int64_t x)
{
    return embi_pickle_push(m, (struct embi_pickle_node){.kind = kind, .as.number = x});
}

/* ------------------------------------------------------------------------------------------------
 * Arguments and stack
 */

/* The next n bytes of the pickle. */
emb_status embi_pickle_take(struct embi_pickle_machine *m, uint64_t n, const char **bytes)
{
    if (n > m->n - m->at)
        return embi_pickle_fail(m, "the pickle ends inside this opcode");
    *bytes = m->s + m->at;
    m->at += (size_t)n;
    return EMB_OK;
}

/* A little-endian number of 1, 2, 4 or 8 bytes. */
emb_status embi_pickle_take_number(struct embi_pickle_machine *m, unsigned bytes, uint64_t *x)
{
    const char *p = NULL;
    emb_status status = embi_pickle_take(m, bytes, &p);
    *x = 0;
    if (!status && p)
        memcpy(x, p, bytes);
    return status;
}

/* Values above the last mark, or all there are. */
size_t embi_pickle_above_mark(const struct embi_pickle_machine *m)
{
    return m->height - (m->n_marks ? m->marks[m->n_marks - 1] : 0);
}

emb_status embi_pickle_need(struct embi_pickle_machine *m, size_t n)
{
    return embi_pickle_above_mark(m) < n ? embi_pickle_fail(m, "the stack holds too few values")
                                         : EMB_OK;
}

/* The last mark ends; the values above it stay on the stack, n of them. */
emb_status embi_pickle_end_mark(struct embi_pickle_machine *m, size_t *n)
{
    if (!m->n_marks)
        return embi_pickle_fail(m, "no mark was set");
    *n = embi_pickle_above_mark(m);
    m->n_marks--;
    return EMB_OK;
}

struct embi_pickle_node *embi_pickle_node_at(struct embi_pickle_machine *m, size_t from_top)
{
    return &m->p->nodes[m->stack[m->height - from_top]];
}

emb_status embi_pickle_add_item(struct embi_pickle_machine *m, embi_pickle_id to,
                                embi_pickle_id node)
{
    struct embi_pickle *p = m->p;
    emb_status status = embi_pickle_grow(m, &p->items, p->n_items, &p->items_cap, sizeof *p->items);
    if (status)
        return status;
    if (p->n_items / 2 >= m->at) /* OrderedDict(PAIRS), again and again of one list */
        return embi_pickle_fail(m, "too many objects");
    struct embi_pickle_node *list = &p->nodes[to];
    uint32_t item = (uint32_t)p->n_items++;
    p->items[item] = (struct embi_pickle_item){node, EMBI_PICKLE_END};
    if (list->as.list.n++)
        p->items[list->as.list.last].next = item;
    else
        list->as.list.first = item;
    list->as.list.last = item;
    if (p->nodes[node].depth >= list->depth)
        list->depth = p->nodes[node].depth + 1;
    return list->depth > EMBI_PICKLE_DEPTH_MAX ? embi_pickle_fail(m, "objects are nested too deep")
                                               : EMB_OK;
}

/* Moves the top n values into `to`, if that is a container of this kind; calls and objects take
 * them and forget. */
emb_status embi_pickle_move_items(struct embi_pickle_machine *m, embi_pickle_id to,
                                  enum embi_pickle_kind kind, size_t n)
{
    enum embi_pickle_kind found = m->p->nodes[to].kind;
    emb_status status = EMB_OK;
    if (found != kind && found != EMBI_PICKLE_CALL && found != EMBI_PICKLE_OPAQUE)
        return embi_pickle_fail(m, "items are added to what cannot hold them");
    if (kind == EMBI_PICKLE_DICT && n % 2)
        return embi_pickle_fail(m, "a key without a value");
    for (size_t i = n; found == kind && !status && i > 0; i--)
        status = embi_pickle_add_item(m, to, m->stack[m->height - i]);
    m->height -= n;
    return status;
}

/* The top n values become a tuple. */
emb_status embi_pickle_make_tuple(struct embi_pickle_machine *m, size_t n)
{
    emb_status status = embi_pickle_push_kind(m, EMBI_PICKLE_TUPLE);
    if (status)
        return status;
    embi_pickle_id tuple = m->stack[--m->height];
    status = embi_pickle_move_items(m, tuple, EMBI_PICKLE_TUPLE, n);
    return status ? status : embi_pickle_push_id(m, tuple);
}
