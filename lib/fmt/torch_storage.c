/* torch_storage.c - storages of PyTorch files: their types, their ids, and where they lie.
 *
 * A storage is a run of elements that tensors are views of. Specification: torch/storage.py, and
 * persistent_id in torch/serialization.py.
 */
#include "fmt/torch.h"

#include "util/err.h"

#include <stdlib.h>

static const struct embi_torch_type types[] = {
    {"FloatStorage", "float32", EMB_F32, 4},
    {"HalfStorage", "float16", EMB_F16, 2},
    {"BFloat16Storage", "bfloat16", EMB_BF16, 2},
    {"DoubleStorage", "float64", EMB_F64, 8},
    {"CharStorage", "int8", EMB_I8, 1},
    {"ByteStorage", "uint8", EMB_U8, 1},
    {"ShortStorage", "int16", EMB_I16, 2},
    {"IntStorage", "int32", EMB_I32, 4},
    {"LongStorage", "int64", EMB_I64, 8},
    {"BoolStorage", "bool", EMB_BOOL, 1},
    {"ComplexFloatStorage", "complex64", EMB_DTYPE_NONE, 8},
    {"ComplexDoubleStorage", "complex128", EMB_DTYPE_NONE, 16},
    {"QInt8Storage", "qint8", EMB_DTYPE_NONE, 1},
    {"QUInt8Storage", "quint8", EMB_DTYPE_NONE, 1},
    {"QInt32Storage", "qint32", EMB_DTYPE_NONE, 4},
    {"UntypedStorage", NULL, EMB_DTYPE_NONE, 1},
    {NULL, "uint16", EMB_U16, 2},
    {NULL, "uint32", EMB_U32, 4},
    {NULL, "uint64", EMB_U64, 8},
    {NULL, "float8_e4m3fn", EMB_F8_E4M3, 1},
    {NULL, "float8_e5m2", EMB_F8_E5M2, 1},
    {NULL, "float8_e4m3fnuz", EMB_F8_E4M3FNUZ, 1},
    {NULL, "float8_e5m2fnuz", EMB_F8_E5M2FNUZ, 1},
    {NULL, "float8_e8m0fnu", EMB_F8_E8M0, 1},
};

const struct embi_torch_type *embi_torch_type(const struct embi_pickle *p, embi_pickle_id node,
                                              bool storage)
{
    emb_str module, name;
    if (!embi_pickle_global(p, node, &module, &name))
        return NULL;
    if (!embi_str_is(module, "torch") && !(storage && embi_str_is(module, "torch.storage")))
        return NULL;
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        const char *known = storage ? types[i].storage : types[i].name;
        if (known && embi_str_is(name, known))
            return &types[i];
    }
    return NULL;
}

/* A whole number that is not negative. */
static bool take_count(const struct embi_pickle *p, embi_pickle_id node, uint64_t *x)
{
    int64_t i;
    if (!embi_pickle_int(p, node, &i) || i < 0)
        return false;
    *x = (uint64_t)i;
    return true;
}

/* ('storage', TYPE, KEY, LOCATION, NUMEL[, None or (KEY, FIRST, NUMEL)]) */
bool embi_torch_ref(const struct embi_pickle *p, embi_pickle_id node, struct embi_torch_ref *ref)
{
    if (embi_pickle_kind(p, node) != EMBI_PICKLE_STORAGE)
        return false;
    embi_pickle_id id = p->nodes[node].as.list.first, view = embi_pickle_at(p, id, 5);
    emb_str what = embi_pickle_string(p, embi_pickle_at(p, id, 0));
    *ref = (struct embi_torch_ref){.type = embi_torch_type(p, embi_pickle_at(p, id, 1), true),
                                   .key = embi_pickle_string(p, embi_pickle_at(p, id, 2))};
    if (!what.s || !embi_str_is(what, "storage") || !ref->type || !ref->key.s ||
        !take_count(p, embi_pickle_at(p, id, 4), &ref->numel))
        return false;
    ref->view_numel = ref->numel;
    if (embi_pickle_kind(p, view) != EMBI_PICKLE_TUPLE)
        return true;
    return take_count(p, embi_pickle_at(p, view, 1), &ref->view_first) &&
           take_count(p, embi_pickle_at(p, view, 2), &ref->view_numel) &&
           embi_inside(ref->view_first, ref->view_numel, ref->numel);
}

/* ------------------------------------------------------------------------------------------------
 * The storages of a file
 */

emb_status embi_torch_storages_init(struct embi_torch_storages *s, size_t cap, emb_err *err)
{
    *s = (struct embi_torch_storages){0};
    s->keys = calloc(cap + 1, sizeof *s->keys);
    s->spans = calloc(cap + 1, sizeof *s->spans);
    return s->keys && s->spans ? EMB_OK : embi_fail_memory(err, cap, "the list of storages");
}

void embi_torch_storages_add(struct embi_torch_storages *s, emb_str key,
                             struct embi_torch_span span)
{
    s->keys[s->n] = key;
    s->spans[s->n++] = span;
}

void embi_torch_storages_free(struct embi_torch_storages *s)
{
    embi_map_free(&s->map);
    free(s->keys);
    free(s->spans);
    *s = (struct embi_torch_storages){0};
}
