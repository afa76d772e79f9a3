/* gguf_tensors.c - the tensor infos of a GGUF file.
 *
 * Sizes stand in a file with the fastest-moving axis first; a table with ne = [d, V] is listed as
 * [V, d]. As in ggml, tensors lie one after another in the order of the infos, each padded to the
 * alignment. Whether the file reaches so far is asked when a tensor is read: the header of a file
 * that is cut can be whole.
 */
#include "fmt/gguf_read.h"
#include "fmt/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NAME_MAX_BYTES = 63, /* as in ggml, whose names end with a NUL */
    AXES_MAX = 4
};

/* What one info says. */
struct info {
    emb_str name;
    uint32_t ndim;
    uint64_t shape[AXES_MAX]; /* [ndim], the slowest axis first, which the file has last */
    const struct embi_gguf_type *type;
    uint64_t bytes;
    uint64_t offset;             /* from the start of the data */
    int64_t shape_at, offset_at; /* in the file */
};

static emb_status read_name(struct embi_gguf_place *p, size_t i, struct info *info, emb_err *err)
{
    char what[48], shown[EMBI_SHOW_MAX];
    int64_t at = (int64_t)p->at;
    (void)snprintf(what, sizeof what, "name of tensor %zu", i + 1);
    emb_status status = embi_gguf_text(p, what, &info->name, err);
    if (!status && info->name.n > NAME_MAX_BYTES)
        return embi_fail(err, EMB_BAD_DATA, at,
                         "tensor '%s': a name of %zu bytes, at most %d are allowed",
                         embi_show(shown, info->name), info->name.n, NAME_MAX_BYTES);
    return status;
}

static emb_status read_shape(struct embi_gguf_place *p, struct info *info, emb_err *err)
{
    info->shape_at = (int64_t)p->at;
    emb_status status = embi_gguf_u32(p, "number of axes", &info->ndim, err);
    if (!status && info->ndim > AXES_MAX)
        return embi_fail(err, EMB_BAD_DATA, info->shape_at,
                         "%" PRIu32 " axes, at most %d are allowed", info->ndim, AXES_MAX);
    for (uint32_t k = 0; !status && k < info->ndim; k++)
        status = embi_gguf_length(p, "shape", &info->shape[info->ndim - 1 - k], err);
    return status;
}

static emb_status read_type(struct embi_gguf_place *p, struct info *info, emb_err *err)
{
    uint32_t number;
    int64_t at = (int64_t)p->at;
    emb_status status = embi_gguf_u32(p, "element type", &number, err);
    if (status)
        return status;
    info->type = embi_gguf_type(number);
    if (!info->type)
        return embi_fail(err, EMB_BAD_DATA, at, "element type %" PRIu32 " is none of ggml's",
                         number);
    return EMB_OK;
}

/* Bytes by shape and type. Sizes are signed in ggml, and so is what they make. */
static emb_status measure(struct info *info, emb_err *err)
{
    const struct embi_gguf_type *type = info->type;
    uint64_t n = 1, width = info->ndim ? info->shape[info->ndim - 1] : 1;
    char shape[EMBI_SHAPE_MAX];
    embi_shape_show(shape, info->shape, (int)info->ndim);
    bool fits = embi_shape_count(info->shape, (int)info->ndim, &n) && n <= INT64_MAX &&
                embi_mul(n / type->elements, type->bytes, &info->bytes) && info->bytes <= INT64_MAX;
    for (uint32_t k = 0; k < info->ndim; k++)
        fits = fits && info->shape[k] <= INT64_MAX;
    if (!fits)
        return embi_fail(err, EMB_BAD_DATA, info->shape_at, "shape %s of %s is too large", shape,
                         type->name);
    if (width % type->elements)
        return embi_fail(err, EMB_BAD_DATA, info->shape_at,
                         "shape %s: rows of %" PRIu64 " are no whole blocks of %s, which have %d "
                         "elements",
                         shape, width, type->name, type->elements);
    return EMB_OK;
}

static emb_status read_info(struct embi_gguf_place *p, struct info *info, emb_err *err)
{
    emb_status status = read_shape(p, info, err);
    if (!status)
        status = read_type(p, info, err);
    if (!status)
        status = measure(info, err);
    info->offset_at = (int64_t)p->at;
    return status ? status : embi_gguf_u64(p, "offset", &info->offset, err);
}

/* Is the tensor where the one before it ends? *end is that place, and then its own end, padded. */
static emb_status check_offset(const struct info *info, uint64_t alignment, uint64_t *end,
                               emb_err *err)
{
    if (info->offset != *end)
        return embi_fail(err, EMB_BAD_DATA, info->offset_at,
                         "expected the offset %" PRIu64 ", behind the tensor before it, found "
                         "%" PRIu64,
                         *end, info->offset);
    if (!embi_add(*end, info->bytes, end) || !embi_add(*end, alignment - 1, end) ||
        *end > INT64_MAX)
        return embi_fail(err, EMB_BAD_DATA, info->shape_at,
                         "the tensors up to here have 2^63 bytes or more");
    *end -= *end % alignment;
    return EMB_OK;
}

static emb_status add_tensor(struct embi_reader *r, const struct info *info, bool swap,
                             emb_err *err)
{
    struct embi_tensor t = {.dtype = info->type->dtype,
                            .ndim = (int)info->ndim,
                            .offset = info->offset,
                            .bytes = info->bytes,
                            .swap = swap};
    for (int k = 0; k < t.ndim; k++)
        t.shape[k] = info->shape[k];
    (void)snprintf(t.type_name, sizeof t.type_name, "%s", info->type->name);
    return embi_reader_add(r, info->name, &t, err);
}

/* Makes places in the file of offsets. */
static emb_status place_data(const struct embi_gguf_place *p, struct embi_reader *r,
                             uint64_t alignment, emb_err *err)
{
    uint64_t data = p->at + (alignment - p->at % alignment) % alignment;
    for (size_t i = 0; i < r->n_tensors; i++)
        if (!embi_add(r->tensors[i].offset, data, &r->tensors[i].offset))
            return embi_fail(err, EMB_BAD_DATA, (int64_t)p->at, "tensors lie behind byte 2^64");
    return EMB_OK;
}

static emb_status check_names(const struct embi_reader *r, emb_err *err)
{
    emb_str *names = calloc(r->n_tensors + 1, sizeof *names);
    if (!names)
        return embi_fail_memory(err, r->n_tensors * sizeof *names, "tensor names");
    for (size_t i = 0; i < r->n_tensors; i++)
        names[i] = r->tensors[i].name;
    emb_status status = embi_gguf_differ(names, r->n_tensors, "tensor", err);
    free(names);
    return status;
}

static emb_status read_tensor(struct embi_gguf_place *p, struct embi_reader *r, uint64_t alignment,
                              uint64_t *end, emb_err *err)
{
    struct info info = {0};
    char shown[EMBI_SHOW_MAX];
    emb_status status = read_name(p, r->n_tensors, &info, err);
    if (status)
        return status;
    status = read_info(p, &info, err);
    if (!status)
        status = check_offset(&info, alignment, end, err);
    if (status)
        return embi_fail_in(err, "tensor '%s'", embi_show(shown, info.name));
    return add_tensor(r, &info, p->swap, err);
}

emb_status embi_gguf_read_tensors(struct embi_gguf_place *p, struct embi_reader *r, uint64_t n,
                                  uint64_t alignment, emb_err *err)
{
    uint64_t end = 0, length = p->version > 1 ? sizeof(uint64_t) : sizeof(uint32_t);
    /* an empty name, no axes, a type, an offset */
    emb_status status = embi_gguf_believe(p, "tensor_count", n,
                                          length + 2 * sizeof(uint32_t) + sizeof(uint64_t), err);
    for (uint64_t i = 0; !status && i < n; i++)
        status = read_tensor(p, r, alignment, &end, err);
    if (!status)
        status = check_names(r, err);
    return status ? status : place_data(p, r, alignment, err);
}
