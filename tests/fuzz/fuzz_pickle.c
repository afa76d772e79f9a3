/* fuzz_pickle.c - a pickle as a tree: every node and item that a node names is there, every text lies in
 * the bytes.
 */
#include "fuzz.h"

#include "fmt/pickle.h"

static void check_id(const struct embi_pickle *p, embi_pickle_id node)
{
    CHECK(node < p->n_nodes || node == EMBI_PICKLE_END);
}

static void check_container(const struct embi_pickle *p, const struct embi_pickle_node *node)
{
    uint32_t n = 0;
    for (uint32_t i = node->as.list.first; i != EMBI_PICKLE_END; i = p->items[i].next, n++) {
        CHECK(i < p->n_items && n < node->as.list.n);
        check_id(p, p->items[i].node);
        CHECK(p->items[i].next != EMBI_PICKLE_END || i == node->as.list.last);
    }
    CHECK(n == node->as.list.n && (node->kind != EMBI_PICKLE_DICT || n % 2 == 0));
}

static void check_text(emb_str text, const char *s, size_t n)
{
    CHECK(!text.s || (text.s >= s && text.s + text.n <= s + n));
}

static void check_node(const struct embi_pickle *p, embi_pickle_id id, const char *s, size_t n)
{
    const struct embi_pickle_node *node = &p->nodes[id];
    emb_str module = {0}, name = {0};
    switch (node->kind) {
    case EMBI_PICKLE_TUPLE:
    case EMBI_PICKLE_LIST:
    case EMBI_PICKLE_DICT: check_container(p, node); break;
    case EMBI_PICKLE_CALL:
        check_id(p, node->as.list.last);
        check_id(p, node->as.list.first);
        break;
    case EMBI_PICKLE_STORAGE: check_id(p, node->as.list.first); break;
    case EMBI_PICKLE_GLOBAL:
        if (embi_pickle_global(p, id, &module, &name)) {
            check_text(module, s, n);
            check_text(name, s, n);
        }
        break;
    default: check_text(embi_pickle_string(p, id), s, n);
    }
    embi_pickle_get(p, id, "state_dict");
    check_id(p, embi_pickle_at(p, id, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_pickle p;
    emb_err err;
    char *s = fuzz_copy(data, size);
    if (fuzz_went_well(embi_pickle_read(s, size, 0, &p, &err), &err)) {
        CHECK(p.end <= size && p.root < p.n_nodes);
        for (size_t i = 0; i < p.n_storages; i++)
            CHECK(p.storages[i] < p.n_nodes &&
                  embi_pickle_kind(&p, p.storages[i]) == EMBI_PICKLE_STORAGE);
        for (size_t i = 0; i < p.n_nodes; i++)
            check_node(&p, (embi_pickle_id)i, s, size);
    }
    embi_pickle_free(&p);
    free(s);
    return 0;
}
