/* torch_tensor.c - from the tree of a pickle to the list of tensors of a PyTorch file.
 *
 * A tensor is the call of one of PyTorch's functions that rebuild tensors, written down: its
 * arguments are looked at, nothing is called. Values that are no tensors are passed over; a tensor
 * that depends on an object is left out with a warning; one that leaves its storage is an error.
 * Specification: torch/_utils.py (_rebuild_tensor and its kind) and torch/_tensor.py.
 */
#include "fmt/shape.h"
#include "fmt/torch.h"

#include "util/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* An expanded tensor (stride 0) may be larger than its file, but not by any amount: what is done
 * with it takes time and memory by its size. */
#define EXPANDED_MAX_BYTES ((uint64_t)4 << 20)

#define WRAPPED_MAX   8 /* calls around a tensor */
#define CONTAINED_MAX 4 /* dicts around a state_dict */

/* Arguments of a call that makes a tensor, by what they are. */
struct recipe {
    embi_pickle_id args;
    bool v3; /* args[6] is the type */
};

struct lister {
    struct embi_reader *r;
    const struct embi_pickle *p;
    const struct embi_torch_storages *storages;
    emb_str name; /* of the tensor at hand */
};

static emb_status fail(const struct lister *l, emb_err *err, const char *what)
{
    char name[EMBI_TENSOR_MAX];
    return embi_fail(err, EMB_BAD_DATA, -1, "%s%s", embi_tensor_show(name, l->name), what);
}

static void leave_out(const struct lister *l, const char *why)
{
    char name[EMBI_TENSOR_MAX];
    embi_log(l->r->env, EMB_LOG_WARNING, l->r->path, "%s%s: left out",
             embi_tensor_show(name, l->name), why);
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 */

/* The callable and arguments of a call; wrappers that hand on a tensor are taken off. */
static bool unwrap(const struct embi_pickle *p, embi_pickle_id node, embi_pickle_id *callable,
                   embi_pickle_id *args)
{
    for (int i = 0; i < WRAPPED_MAX; i++) {
        if (embi_pickle_kind(p, node) != EMBI_PICKLE_CALL)
            return false;
        *callable = p->nodes[node].as.list.first;
        *args = p->nodes[node].as.list.last;
        if (embi_pickle_names(p, *callable, "torch._tensor", "_rebuild_from_type_v2")) {
            *callable = embi_pickle_at(p, *args, 0);
            *args = embi_pickle_at(p, *args, 2);
        }
        if (!embi_pickle_names(p, *callable, "torch._utils", "_rebuild_parameter") &&
            !embi_pickle_names(p, *callable, "torch._utils", "_rebuild_parameter_with_state"))
            return true;
        node = embi_pickle_at(p, *args, 0);
    }
    return false;
}

static bool is_tensor(const struct embi_pickle *p, embi_pickle_id node, struct recipe *recipe)
{
    embi_pickle_id callable;
    if (!unwrap(p, node, &callable, &recipe->args))
        return false;
    recipe->v3 = embi_pickle_names(p, callable, "torch._utils", "_rebuild_tensor_v3");
    return recipe->v3 || embi_pickle_names(p, callable, "torch._utils", "_rebuild_tensor_v2") ||
           embi_pickle_names(p, callable, "torch._utils", "_rebuild_tensor");
}

/* A tensor of a kind that is not read: sparse, quantised, on no device ... */
static bool is_other_tensor(const struct embi_pickle *p, embi_pickle_id node)
{
    static const char start[] = "_rebuild_";
    embi_pickle_id callable, args;
    emb_str module, name;
    return unwrap(p, node, &callable, &args) && embi_pickle_global(p, callable, &module, &name) &&
           module.n >= 6 && memcmp(module.s, "torch.", 6) == 0 && name.n >= sizeof start - 1 &&
           memcmp(name.s, start, sizeof start - 1) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * One tensor
 */

/* Numbers of a tuple, none negative; at most EMBI_MAX_DIMS. */
static emb_status read_numbers(const struct lister *l, embi_pickle_id tuple, uint64_t *numbers,
                               int *n, emb_err *err)
{
    embi_pickle_id item;
    int64_t x;
    for (*n = 0; (item = embi_pickle_at(l->p, tuple, (size_t)*n)) != EMBI_PICKLE_END; ++*n) {
        if (*n == EMBI_MAX_DIMS)
            return fail(l, err, "more than 8 dimensions");
        if (!embi_pickle_int(l->p, item, &x) || x < 0)
            return fail(l, err, "expected sizes and strides that are not negative");
        numbers[*n] = (uint64_t)x;
    }
    return EMB_OK;
}

/* Does a stride differ from that of an array without gaps? Those that are never used are set to
 * what that array has. */
static bool set_strides(struct embi_tensor *t)
{
    uint64_t next = 1; /* cannot overflow: the count of elements does not */
    t->strided = false;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] <= 1)
            t->strides[i] = next;
        t->strided = t->strided || t->strides[i] != next;
        next *= t->shape[i];
    }
    return t->strided;
}

/* The number of the last element, counted from element 0 of the tensor. */
static bool last_element(const struct embi_tensor *t, uint64_t *last)
{
    *last = 0;
    for (int i = 0; i < t->ndim; i++) {
        uint64_t step;
        if (!embi_mul(t->shape[i] - 1, t->strides[i], &step) || !embi_add(*last, step, last))
            return false;
    }
    return true;
}

/* Do all elements lie in the storage, which lies where its span says? first: element 0 in the
 * storage. */
static emb_status place(const struct lister *l, struct embi_tensor *t, unsigned element,
                        const struct embi_torch_ref *ref, uint64_t first, emb_err *err)
{
    const struct embi_torch_storages *s = l->storages;
    uint64_t i = embi_map_find(&s->map, ref->key), count, bytes, last, begin;
    if (i == EMBI_MAP_NONE)
        return fail(l, err, "its storage is not in the file");
    if (!embi_mul(ref->numel, ref->type->bytes, &bytes) || bytes > s->spans[i].bytes)
        return fail(l, err, "its storage is shorter than it says");
    begin = ref->view_first * ref->type->bytes; /* the view is inside the storage */
    bytes = ref->view_numel * ref->type->bytes;
    if (!embi_shape_count(t->shape, t->ndim, &count) || !embi_mul(count, element, &t->bytes))
        return fail(l, err, "the shape is too large");
    t->io = s->spans[i].io;
    t->offset = s->spans[i].at + begin;
    if (count == 0)
        return EMB_OK;
    if (!last_element(t, &last) || !embi_add(last, first, &last) || last >= bytes / element)
        return fail(l, err, "elements lie outside its storage");
    uint64_t held = embi_max(l->r->io->size, s->spans[i].bytes);
    if (t->bytes > embi_max(held, EXPANDED_MAX_BYTES))
        return fail(l, err, "expanded to far more than is in the file");
    t->offset += first * element;
    if (set_strides(t))
        t->bytes = (last - first + 1) * element;
    return EMB_OK;
}

/* The type of the elements; NULL where it cannot be known. */
static const struct embi_torch_type *element_type(const struct lister *l,
                                                  const struct recipe *recipe,
                                                  const struct embi_torch_ref *ref)
{
    if (recipe->v3)
        return embi_torch_type(l->p, embi_pickle_at(l->p, recipe->args, 6), false);
    return ref->type->name ? ref->type : NULL;
}

static emb_status add_tensor(struct lister *l, const struct recipe *recipe, emb_err *err)
{
    struct embi_tensor t = {0};
    struct embi_torch_ref ref;
    int64_t first;
    int n = 0;
    if (!embi_torch_ref(l->p, embi_pickle_at(l->p, recipe->args, 0), &ref)) {
        leave_out(l, "its storage is not one that is read");
        return EMB_OK;
    }
    const struct embi_torch_type *type = element_type(l, recipe, &ref);
    if (!type) {
        leave_out(l, "elements of a type that is not known");
        return EMB_OK;
    }
    if (!embi_pickle_int(l->p, embi_pickle_at(l->p, recipe->args, 1), &first) || first < 0)
        return fail(l, err, "expected an offset that is not negative");
    emb_status status =
        read_numbers(l, embi_pickle_at(l->p, recipe->args, 2), t.shape, &t.ndim, err);
    if (!status)
        status = read_numbers(l, embi_pickle_at(l->p, recipe->args, 3), t.strides, &n, err);
    if (!status && n != t.ndim)
        status = fail(l, err, "expected as many strides as sizes");
    if (!status)
        status = place(l, &t, type->bytes, &ref, (uint64_t)first, err);
    if (status)
        return status;
    t.dtype = type->dtype;
    t.swap = l->storages->swap && type->bytes > 1;
    (void)snprintf(t.type_name, sizeof t.type_name, "%s", type->name);
    return embi_reader_add(l->r, l->name, &t, err);
}

/* ------------------------------------------------------------------------------------------------
 * The dict of tensors
 */

static bool holds_tensors(const struct embi_pickle *p, embi_pickle_id node)
{
    struct recipe recipe;
    if (embi_pickle_kind(p, node) != EMBI_PICKLE_DICT)
        return false;
    uint32_t item = p->nodes[node].as.list.first;
    while (item != EMBI_PICKLE_END) {
        item = p->items[item].next;
        if (is_tensor(p, p->items[item].node, &recipe))
            return true;
        item = p->items[item].next;
    }
    return false;
}

/* The dict inside `node` that training scripts put a state_dict into, or EMBI_PICKLE_END. */
static embi_pickle_id inner_dict(const struct embi_pickle *p, embi_pickle_id node, bool of_tensors)
{
    static const char *const keys[] = {"state_dict", "model", "module", "model_state_dict", "net"};
    for (size_t i = 0; i < EMBI_LEN(keys); i++) {
        embi_pickle_id value = embi_pickle_get(p, node, keys[i]);
        if (embi_pickle_kind(p, value) == EMBI_PICKLE_DICT &&
            (!of_tensors || holds_tensors(p, value)))
            return value;
    }
    return EMBI_PICKLE_END;
}

static embi_pickle_id find_dict(const struct embi_pickle *p, embi_pickle_id node)
{
    for (int i = 0; i < CONTAINED_MAX; i++) {
        embi_pickle_id inner = inner_dict(p, node, true);
        if (inner == EMBI_PICKLE_END && !holds_tensors(p, node))
            inner = inner_dict(p, node, false);
        if (inner == EMBI_PICKLE_END)
            break;
        node = inner;
    }
    return node;
}

static emb_status list_dict(struct lister *l, embi_pickle_id dict, emb_err *err)
{
    const struct embi_pickle *p = l->p;
    emb_status status = EMB_OK;
    if (embi_pickle_kind(p, dict) != EMBI_PICKLE_DICT)
        return EMB_OK;
    uint32_t item = p->nodes[dict].as.list.first;
    while (!status && item != EMBI_PICKLE_END) {
        struct recipe recipe;
        l->name = embi_pickle_string(p, p->items[item].node);
        item = p->items[item].next;
        embi_pickle_id value = p->items[item].node;
        item = p->items[item].next;
        if (!l->name.s)
            continue;
        if (!is_tensor(p, value, &recipe)) {
            if (is_other_tensor(p, value))
                leave_out(l, "a tensor of a kind that is not read");
        } else if (!embi_utf8_valid(l->name.s, l->name.n)) {
            status = fail(l, err, "the name is not UTF-8");
        } else {
            status = add_tensor(l, &recipe, err);
        }
    }
    return status;
}

static emb_status check_names(struct lister *l, emb_err *err)
{
    const struct embi_reader *r = l->r;
    size_t n = r->n_tensors, twin = n;
    emb_str *names = calloc(n + 1, sizeof *names);
    if (!names)
        return embi_fail_memory(err, n * sizeof *names, "tensor names");
    for (size_t i = 0; i < n; i++)
        names[i] = r->tensors[i].name;
    emb_status status = embi_find_twin(names, n, &twin, err);
    if (!status && twin < n) {
        l->name = names[twin];
        status = fail(l, err, "is there twice");
    }
    free(names);
    return status;
}

emb_status embi_torch_list(struct embi_reader *r, const struct embi_pickle *p,
                           struct embi_torch_storages *s, emb_err *err)
{
    struct lister l = {.r = r, .p = p, .storages = s, .name = {"", 0}};
    struct recipe recipe;
    emb_status status = embi_map_build(&s->map, s->keys, s->n, err);
    if (!status && is_tensor(p, p->root, &recipe))
        status = add_tensor(&l, &recipe, err);
    else if (!status)
        status = list_dict(&l, find_dict(p, p->root), err);
    if (!status && r->n_tensors == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "a PyTorch file without a dict of tensors: torch.save of a state_dict, or "
                         "safetensors, can be read");
    return status ? status : check_names(&l, err);
}
