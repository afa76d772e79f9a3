/* fmt.c - the list of formats, and what is the same for all: opening and closing a reader, and
 * turning a tensor into the layout of a table.
 *
 * A new format is one file and one line in the list. Nothing here knows what is inside a file.
 */
#include "fmt/fmt.h"
#include "fmt/shape.h"
#include "fmt/unwrap.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct embi_format *const embi_formats[] = {
    &embi_format_npy,  &embi_format_npz,      &embi_format_safetensors, &embi_format_torch,
    &embi_format_gguf, &embi_format_word2vec, &embi_format_text,        &embi_format_word2vec_text,
    &embi_format_raw,  &embi_format_csv,      &embi_format_tsv,         NULL,
};

/* ------------------------------------------------------------------------------------------------
 * Readers
 */

void embi_reader_close(struct embi_reader *r)
{
    if (!r)
        return;
    if (r->state && r->format->free)
        r->format->free(r->state);
    free(r->tensors);
    free(r->row_offsets);
    free(r->tokens);
    free(r->token_bytes);
    embi_buf_free(&r->names);
    embi_buf_free(&r->metadata);
    embi_io_close(r->io);
    embi_io_close(r->outer);
    free(r->member);
    free(r->inside);
    free(r);
}

/* Chooses the format where none was given, and lets it read its header. */
static emb_status read_header(struct embi_reader *r, emb_err *err)
{
    if (!r->format) {
        emb_status status = embi_format_probe(r->io, embi_reader_name(r), &r->format, err);
        if (!r->format)
            return status;
    }
    if (!(r->format->caps & EMBI_FMT_READ))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s: written, but not read by this version",
                         r->format->name);
    return r->format->open(r, err);
}

emb_status embi_reader_open(const struct embi_env *env, struct embi_io *io, const char *path,
                            const struct embi_format *format, const struct embi_read_opts *opts,
                            struct embi_reader **reader, emb_err *err)
{
    *reader = NULL;
    struct embi_reader *r = calloc(1, sizeof *r);
    if (!r) {
        embi_io_close(io);
        return embi_fail_memory(err, sizeof *r, "a reader");
    }
    r->env = env;
    r->io = io;
    r->format = format;
    r->path = path;
    if (opts)
        r->opts = *opts;
    emb_status status = embi_unwrap(r, err);
    if (!status && read_header(r, err))
        status = embi_io_fail_in(r->io, err);
    if (status == EMB_OK)
        *reader = r;
    else
        embi_reader_close(r);
    return status;
}

/* The names lie one after another in r->names, in the order of the tensors; when the buffer moves,
 * all of them do. It moves seldom, as it grows by doubling. */
static void place_names(struct embi_reader *r)
{
    const char *p = r->names.s;
    for (size_t i = 0; i < r->n_tensors; i++) {
        if (!r->tensors[i].name.s)
            continue;
        r->tensors[i].name.s = p;
        p += r->tensors[i].name.n;
    }
}

/* Room for one more tensor. The capacity is the power of two at or above n_tensors. */
static emb_status more_tensors(struct embi_reader *r, emb_err *err)
{
    size_t n = r->n_tensors;
    if (n & (n - 1))
        return EMB_OK;
    uint64_t bytes;
    bool fits = embi_mul(n ? 2 * (uint64_t)n : 1, sizeof *r->tensors, &bytes);
    struct embi_tensor *tensors = fits ? realloc(r->tensors, (size_t)bytes) : NULL;
    if (!tensors)
        return embi_fail_memory(err, bytes, "the list of tensors");
    r->tensors = tensors;
    return EMB_OK;
}

emb_status embi_reader_add(struct embi_reader *r, emb_str name, const struct embi_tensor *tensor,
                           emb_err *err)
{
    emb_status status = more_tensors(r, err);
    if (status != EMB_OK)
        return status;
    size_t capacity = r->names.cap, at = r->names.n;
    if (name.s) {
        char *room = embi_buf_room(&r->names, name.n + 1);
        if (!room)
            return embi_fail_memory(err, name.n + 1, "a tensor's name");
        memcpy(room, name.s, name.n);
        r->names.n += name.n;
    }
    if (r->names.cap != capacity)
        place_names(r);
    struct embi_tensor *t = &r->tensors[r->n_tensors++];
    *t = *tensor;
    t->name = name.s ? (emb_str){r->names.s + at, name.n} : (emb_str){NULL, 0};
    t->io = t->io ? t->io : r->io;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Layout
 */

/* Memory is asked for by d. Where there are rows the file holds d numbers at least; where there are
 * none, it may claim any d up to this one. */
enum { EMPTY_DIMS_MAX = 1 << 20 };

static emb_status refuse_type(const struct embi_reader *r, const struct embi_tensor *t,
                              emb_err *err)
{
    char name[EMBI_TENSOR_MAX], show[EMBI_SHOW_MAX];
    if (r->format->explain && r->format->explain(r, t, err))
        return embi_fail_in(err, "tensor '%s'", embi_show(show, t->name));
    embi_tensor_show(name, t->name);
    return embi_fail(err, EMB_UNSUPPORTED, -1, "%selements of type %s can be listed only", name,
                     t->type_name);
}

static emb_status check_table(const struct embi_reader *r, const struct embi_tensor *t,
                              emb_err *err)
{
    char shape[EMBI_SHAPE_MAX], name[EMBI_TENSOR_MAX];
    embi_tensor_show(name, t->name);
    embi_shape_show(shape, t->shape, t->ndim);
    if (t->ndim != 2)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%sshape %s is not a table [V, d]", name, shape);
    if (t->shape[1] == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%sshape %s is not a table [V, d]: d is 0", name,
                         shape);
    if (t->shape[1] > UINT32_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%sshape %s: d is above %" PRIu32, name, shape,
                         UINT32_MAX);
    if (t->shape[0] == 0 && t->shape[1] > EMPTY_DIMS_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "%sshape %s: d of a table without rows; more than %d is not believed",
                         name, shape, EMPTY_DIMS_MAX);
    if (t->dtype == EMB_DTYPE_NONE)
        return refuse_type(r, t, err);
    if (t->shape[1] % emb_dtype_block(t->dtype))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "%sshape %s: d is not a multiple of %" PRIu32 ", the block of %s", name,
                         shape, emb_dtype_block(t->dtype), emb_dtype_name(t->dtype));
    return EMB_OK;
}

/* Blocks lie one after another, and no number of one has a place of its own. */
static emb_status block_layout(const struct embi_tensor *t, struct embi_layout *layout,
                               emb_err *err)
{
    if (t->strided || t->fortran)
        return embi_fail(err, EMB_BUG, -1, "blocks of %s that are not in rows",
                         emb_dtype_name(t->dtype));
    layout->row_stride = emb_dtype_row_bytes(t->dtype, layout->dims);
    return EMB_OK;
}

/* How many rows of a tensor with rows one after another does the file hold? */
static uint64_t whole_rows(const struct embi_tensor *t)
{
    bool in_order = t->ndim == 2 && t->shape[0] > 0 && !t->fortran && !t->strided;
    uint64_t row = in_order ? t->bytes / t->shape[0] : 0;
    return row && t->offset < t->io->size ? (t->io->size - t->offset) / row : 0;
}

emb_status embi_reader_whole(const struct embi_reader *r, size_t i, emb_err *err)
{
    const struct embi_tensor *t = &r->tensors[i];
    char name[EMBI_TENSOR_MAX], some[64] = "";
    uint64_t rows = whole_rows(t);
    if (t->bytes == 0 || embi_inside(t->offset, t->bytes, t->io->size))
        return EMB_OK;
    if (rows)
        (void)snprintf(some, sizeof some, "; its first %" PRIu64 " rows are there", rows);
    return embi_fail(err, EMB_BAD_DATA, (int64_t)t->offset,
                     "%sexpected %" PRIu64 " bytes at %" PRIu64 ", the file ends at %" PRIu64 "%s",
                     embi_tensor_show(name, t->name), t->bytes, t->offset, t->io->size, some);
}

/* Is all there that will be read? */
static emb_status check_data(const struct embi_reader *r, size_t i, emb_err *err)
{
    uint64_t limit = r->opts.limit_rows;
    bool enough = limit && limit <= whole_rows(&r->tensors[i]);
    return enough ? EMB_OK : embi_reader_whole(r, i, err);
}

/* [A, B, d] as [A B, d], [d] as [1, d]. Only where these rows lie one after another. */
static emb_status flatten(struct embi_tensor *t, emb_err *err)
{
    char shape[EMBI_SHAPE_MAX], name[EMBI_TENSOR_MAX];
    uint64_t rows;
    if (t->ndim == 2 || t->ndim == 0)
        return EMB_OK;
    if (t->ndim > 2 && (t->fortran || t->strided))
        return embi_fail(
            err, EMB_UNSUPPORTED, -1, "%sshape %s is not stored in C order, row after row",
            embi_tensor_show(name, t->name), embi_shape_show(shape, t->shape, t->ndim));
    if (!embi_shape_count(t->shape, t->ndim - 1, &rows))
        return embi_fail(err, EMB_BAD_DATA, -1, "%sthe shape has no size",
                         embi_tensor_show(name, t->name));
    t->shape[1] = t->shape[t->ndim - 1];
    t->shape[0] = rows;
    t->strides[1] = t->strides[0];
    t->ndim = 2;
    t->fortran = false;
    return EMB_OK;
}

emb_status embi_reader_layout(const struct embi_reader *r, size_t i, struct embi_layout *layout,
                              emb_err *err)
{
    if (i >= r->n_tensors)
        return embi_fail(err, EMB_BUG, -1, "tensor %zu of %zu", i, r->n_tensors);
    struct embi_tensor table = r->tensors[i], *t = &table;
    emb_status status = r->opts.flat ? flatten(t, err) : EMB_OK;
    if (status == EMB_OK)
        status = check_table(r, t, err);
    if (status == EMB_OK)
        status = check_data(r, i, err);
    if (status != EMB_OK)
        return status;
    uint64_t element = emb_dtype_bytes(t->dtype), rows = t->shape[0], dims = t->shape[1];
    *layout = (struct embi_layout){.dtype = t->dtype,
                                   .rows = rows,
                                   .dims = (uint32_t)dims,
                                   .offset = t->offset,
                                   .swap = t->swap};
    if (emb_dtype_block(t->dtype) > 1)
        return block_layout(t, layout, err);
    if (t->strided) {
        layout->row_stride = t->strides[0] * element;
        layout->col_stride = t->strides[1] * element;
        return EMB_OK;
    }
    /* rows * dims * element is at most the size of the file: formats check that in open */
    layout->row_stride = t->fortran ? element : dims * element;
    layout->col_stride = t->fortran ? rows * element : element;
    return EMB_OK;
}
