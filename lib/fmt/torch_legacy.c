/* torch_legacy.c - PyTorch files from before 1.6: five pickles one after another, then storages.
 *
 * The pickles are a magic number, a version, facts about the machine, the object, and the keys of
 * the storages, which follow in that order: a count of 8 bytes, then the elements. What an element
 * is stands only at the places that use a storage. Specification: _legacy_save in
 * torch/serialization.py.
 */
#include "fmt/torch.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

enum { VERSION = 1001 };

static const char magic[] = "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.";

bool embi_torch_legacy_is(const unsigned char *head, size_t n)
{
    return n >= sizeof magic - 1 && memcmp(head, magic, sizeof magic - 1) == 0;
}

struct legacy {
    const char *file; /* [size] */
    size_t size, at;  /* at: after the pickles that were read */
    struct embi_torch_storages storages;
    struct embi_pickle object, keys;
};

static emb_status next_pickle(struct legacy *f, struct embi_pickle *p, emb_err *err)
{
    emb_status status = embi_pickle_read(f->file + f->at, f->size - f->at, f->at, p, err);
    f->at += p->end;
    return status;
}

static emb_status read_version(struct legacy *f, emb_err *err)
{
    struct embi_pickle p;
    int64_t version = 0;
    uint64_t at = f->at;
    emb_status status = next_pickle(f, &p, err);
    if (!status && (!embi_pickle_int(&p, p.root, &version) || version != VERSION))
        status = embi_fail(err, EMB_UNSUPPORTED, (int64_t)at,
                           "a PyTorch file of the old form, version %" PRId64 ": only %d is known",
                           version, VERSION);
    embi_pickle_free(&p);
    return status;
}

static emb_status read_machine(struct legacy *f, emb_err *err)
{
    struct embi_pickle p;
    uint64_t at = f->at;
    emb_status status = next_pickle(f, &p, err);
    if (!status) {
        embi_pickle_id little = embi_pickle_get(&p, p.root, "little_endian");
        if (embi_pickle_kind(&p, little) != EMBI_PICKLE_BOOL)
            status = embi_fail(err, EMB_BAD_DATA, (int64_t)at, "little_endian is not said");
        else
            f->storages.swap = p.nodes[little].as.number == 0;
    }
    embi_pickle_free(&p);
    return status;
}

/* The storage that key names: its element's size comes from a reference in the object. */
static emb_status add_storage(struct legacy *f, emb_str key, const struct embi_map *known,
                              const unsigned *element_bytes, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    uint64_t i = embi_map_find(known, key), at = f->at, bytes;
    embi_show(show, key);
    if (i == EMBI_MAP_NONE)
        return embi_fail(err, EMB_UNSUPPORTED, (int64_t)at,
                         "storage '%s': its type is not one that is read", show);
    if (!embi_inside(at, 8, f->size))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)at, "storage '%s': the file ends before it",
                         show);
    if (!embi_mul(embi_le64(f->file + at), element_bytes[i], &bytes) ||
        !embi_inside(at + 8, bytes, f->size))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)at, "storage '%s': the file ends inside it",
                         show);
    embi_torch_storages_add(&f->storages, key, (struct embi_torch_span){NULL, at + 8, bytes});
    f->at = (size_t)(at + 8 + bytes);
    return EMB_OK;
}

/* Walks over the storages in the order of their keys. */
static emb_status walk_storages(struct legacy *f, const struct embi_map *known,
                                const unsigned *element_bytes, emb_err *err)
{
    const struct embi_pickle *p = &f->keys;
    emb_status status = EMB_OK;
    bool swap = f->storages.swap;
    if (embi_pickle_kind(p, p->root) != EMBI_PICKLE_LIST)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)f->at, "expected a list of storage keys");
    status = embi_torch_storages_init(&f->storages, p->nodes[p->root].as.list.n, err);
    f->storages.swap = swap;
    uint32_t item = p->nodes[p->root].as.list.first;
    for (; !status && item != EMBI_PICKLE_END; item = p->items[item].next) {
        emb_str key = embi_pickle_string(p, p->items[item].node);
        status = key.s ? add_storage(f, key, known, element_bytes, err)
                       : embi_fail(err, EMB_BAD_DATA, (int64_t)f->at, "a storage key is no string");
    }
    return status;
}

/* The sizes of elements, by key, from all references in the object. */
static emb_status find_storages(struct legacy *f, emb_err *err)
{
    const struct embi_pickle *p = &f->object;
    struct embi_map known = {0};
    struct embi_torch_storages refs;
    unsigned *element_bytes = calloc(p->n_storages + 1, sizeof *element_bytes);
    emb_status status = embi_torch_storages_init(&refs, p->n_storages, err);
    if (!status && !element_bytes)
        status = embi_fail_memory(err, p->n_storages * sizeof *element_bytes, "storage types");
    for (size_t i = 0; !status && element_bytes && i < p->n_storages; i++) {
        struct embi_torch_ref ref;
        if (!embi_torch_ref(p, p->storages[i], &ref))
            continue;
        element_bytes[refs.n] = ref.type->bytes;
        embi_torch_storages_add(&refs, ref.key, (struct embi_torch_span){0});
    }
    if (!status)
        status = embi_map_build(&known, refs.keys, refs.n, err);
    if (!status && element_bytes)
        status = walk_storages(f, &known, element_bytes, err);
    embi_map_free(&known);
    embi_torch_storages_free(&refs);
    free(element_bytes);
    return status;
}

emb_status embi_torch_legacy_open(struct embi_reader *r, const char *file, size_t size,
                                  emb_err *err)
{
    struct legacy f = {.file = file, .size = size, .at = sizeof magic - 1};
    emb_status status = read_version(&f, err);
    if (!status)
        status = read_machine(&f, err);
    if (!status)
        status = next_pickle(&f, &f.object, err);
    if (!status)
        status = next_pickle(&f, &f.keys, err);
    if (!status)
        status = find_storages(&f, err);
    if (!status)
        status = embi_torch_list(r, &f.object, &f.storages, err);
    embi_torch_storages_free(&f.storages);
    embi_pickle_free(&f.object);
    embi_pickle_free(&f.keys);
    return status;
}
