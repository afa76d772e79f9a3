/* ids.c - lists of row ids that stand in .npy files.
 *
 * The header is the npy format's business; here elements of any integer type become u64, in chunks,
 * so that a list of any length takes little memory. Lists in Fortran order are read through a map
 * of the file. Nothing wraps: an id is below `rows` or an error.
 */
#include "fmt/fmt.h"
#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK_BYTES = 1 << 16, MAX_AXES = 3 };

struct emb_ids {
    struct embi_reader *reader;
    const struct embi_tensor *t; /* the list */
    uint64_t count, next;        /* ids in all; the next one to be read */
    const char *map;             /* the file, if ids do not lie in the order they are read in */
    char chunk[CHUNK_BYTES];
};

static bool is_integer(emb_dtype dtype)
{
    return dtype >= EMB_I8 && dtype <= EMB_U64;
}

static bool is_signed(emb_dtype dtype)
{
    return dtype == EMB_I8 || dtype == EMB_I16 || dtype == EMB_I32 || dtype == EMB_I64;
}

static emb_status open_io(const struct embi_env *env, const char *path, const void *data, size_t n,
                          struct embi_io **io, emb_err *err)
{
    if (path)
        return embi_io_open(env, path, EMBI_IO_READ, io, err);
    return embi_io_memory(env, data, n, NULL, io, err);
}

/* What the header says must be a list of integers. */
static emb_status check(emb_ids *ids, emb_err *err)
{
    const struct embi_tensor *t = ids->t;
    if (!is_integer(t->dtype))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "numbers of type %s are not ids: expected integers", t->type_name);
    if (t->ndim < 1 || t->ndim > MAX_AXES)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "expected 1 to 3 axes, found %d", t->ndim);
    if (!embi_shape_count(t->shape, t->ndim, &ids->count))
        return embi_fail(err, EMB_BAD_DATA, -1, "the shape has no size");
    if (t->fortran && t->ndim > 1) {
        const void *map;
        emb_status status = embi_io_map(ids->reader->io, &map, err);
        ids->map = map;
        return status;
    }
    return EMB_OK;
}

emb_status emb_ids_open(emb_ctx *ctx, const char *path, const void *data, size_t n, emb_ids **out,
                        emb_err *err)
{
    struct embi_io *io;
    struct embi_read_opts opts = {0};
    emb_ids *ids = calloc(1, sizeof *ids);
    if (!ids)
        return embi_fail_memory(err, sizeof *ids, "a list of ids");
    emb_status status = open_io(&ctx->env, path, data, n, &io, err);
    if (status == EMB_OK)
        status = embi_reader_open(&ctx->env, io, path, &embi_format_npy, &opts, &ids->reader, err);
    if (status == EMB_OK) {
        ids->t = &ids->reader->tensors[0];
        status = check(ids, err);
    }
    if (status != EMB_OK) {
        emb_ids_close(ids);
        return embi_fail_in(err, "ids");
    }
    *out = ids;
    return EMB_OK;
}

void emb_ids_close(emb_ids *ids)
{
    if (ids)
        embi_reader_close(ids->reader);
    free(ids);
}

int emb_ids_shape(const emb_ids *ids, uint64_t shape[MAX_AXES])
{
    memcpy(shape, ids->t->shape, (size_t)ids->t->ndim * sizeof *shape);
    return ids->t->ndim;
}

/* Place in the file, in elements, of the item that row-major order counts as `item`. */
static uint64_t fortran_place(const struct embi_tensor *t, uint64_t item)
{
    uint64_t index[MAX_AXES] = {0}, place = 0;
    for (int axis = t->ndim - 1; axis >= 0; axis--) {
        index[axis] = item % t->shape[axis];
        item /= t->shape[axis];
    }
    for (int axis = t->ndim - 1; axis >= 0; axis--)
        place = place * t->shape[axis] + index[axis];
    return place;
}

/* The next n elements as they are stored, into the chunk. */
static emb_status load(emb_ids *ids, size_t n, size_t element, emb_err *err)
{
    const struct embi_tensor *t = ids->t;
    if (!ids->map)
        return embi_io_pread(ids->reader->io, ids->chunk, n * element,
                             t->offset + ids->next * element, err);
    for (size_t i = 0; i < n; i++) {
        uint64_t place = fortran_place(t, ids->next + i);
        memcpy(ids->chunk + i * element, ids->map + t->offset + place * element, element);
    }
    return EMB_OK;
}

static emb_status outside(emb_err *err, uint64_t item, uint64_t id, bool negative, uint64_t rows)
{
    char text[24], range[32] = "a table of no rows";
    if (negative)
        snprintf(text, sizeof text, "%" PRId64, (int64_t)id);
    else
        snprintf(text, sizeof text, "%" PRIu64, id);
    if (rows)
        snprintf(range, sizeof range, "0..%" PRIu64, rows - 1);
    return embi_fail(err, EMB_RANGE, (int64_t)item, "ids: item %" PRIu64 ": %s is outside %s",
                     item + 1, text, range);
}

/* n ids from the chunk. Signed ones go through i64, so that a negative one is seen for what it is.
 */
static emb_status decode(emb_ids *ids, uint64_t rows, uint64_t *out, size_t n, emb_err *err)
{
    emb_dtype dtype = ids->t->dtype;
    bool with_sign = is_signed(dtype);
    emb_status status =
        embi_convert(NULL, out, with_sign ? EMB_I64 : EMB_U64, ids->chunk, dtype, n, NULL, err);
    for (size_t i = 0; status == EMB_OK && i < n; i++) {
        bool negative = with_sign && out[i] >> 63;
        if (negative || out[i] >= rows)
            status = outside(err, ids->next + i, out[i], negative, rows);
    }
    return status;
}

emb_status emb_ids_read(emb_ids *ids, uint64_t rows, uint64_t *out, size_t n, emb_err *err)
{
    size_t element = emb_dtype_bytes(ids->t->dtype);
    if (n > ids->count - ids->next)
        return embi_fail(err, EMB_BAD_ARG, -1, "ids: %zu were asked for, %" PRIu64 " are left", n,
                         ids->count - ids->next);
    while (n) {
        size_t step = (size_t)embi_min(n, CHUNK_BYTES / element);
        emb_status status = load(ids, step, element, err);
        if (status == EMB_OK && ids->t->swap)
            embi_swap_bytes(ids->chunk, element, step);
        if (status == EMB_OK)
            status = decode(ids, rows, out, step, err);
        if (status != EMB_OK)
            return status;
        ids->next += step;
        out += step;
        n -= step;
    }
    return EMB_OK;
}
