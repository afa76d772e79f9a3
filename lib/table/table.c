/* table.c - a table's life, and its rows where they lie.
 *
 * Row addresses come from the layout alone; nothing here knows a format. Laziness is hidden: a
 * table is const to its users, and what is found out on first use (rows of a walked file, the
 * mapping) does not change what it is.
 */
#include "table/table.h"
#include "num/dtype.h"
#include "table/device.h"
#include "util/err.h"

#include <stdlib.h>

/* The one place where the const of the public interface is taken off. */
static emb_table *lazily(const emb_table *table)
{
    return (emb_table *)table;
}

static emb_status take_name(emb_table *t, emb_str name, emb_err *err)
{
    if (!name.s)
        return EMB_OK;
    t->tensor = malloc(name.n + 1);
    if (!t->tensor)
        return embi_fail_memory(err, name.n + 1, "a tensor name");
    memcpy(t->tensor, name.s, name.n);
    t->tensor[name.n] = 0;
    return EMB_OK;
}

/* The table of a format whose rows are found by walking. */
static void use_walked(emb_table *t)
{
    t->layout.dtype = EMB_F32;
    t->layout.dims = t->reader->dims;
    t->layout.col_stride = sizeof(float);
    t->io = t->reader->io;
    t->own_tokens = true;
}

static emb_status use_tensor(emb_table *t, size_t tensor, emb_err *err)
{
    const struct embi_reader *r = t->reader;
    emb_status status = embi_reader_layout(r, tensor, &t->layout, err);
    if (status)
        return status;
    t->io = r->tensors[tensor].io;
    t->ndim = r->tensors[tensor].ndim;
    memcpy(t->shape, r->tensors[tensor].shape, sizeof t->shape);
    t->own_tokens = r->n_tokens && r->n_tokens == t->layout.rows;
    if (r->n_tokens && !t->own_tokens)
        embi_log(t->env, EMB_LOG_NOTE, t->path,
                 "its %llu tokens are not those of this table, which has %llu rows",
                 (unsigned long long)r->n_tokens, (unsigned long long)t->layout.rows);
    return take_name(t, r->tensors[tensor].name, err);
}

emb_status embi_table_new(const emb_ctx *ctx, struct embi_reader *reader, size_t tensor,
                          uint64_t limit_rows, emb_table **table, emb_err *err)
{
    emb_table *t = calloc(1, sizeof *t);
    if (!t) {
        embi_reader_close(reader);
        return embi_fail_memory(err, sizeof *t, "a table");
    }
    t->env = &ctx->env;
    t->reader = reader;
    t->limit_rows = limit_rows;
    t->path = strdup(reader->path);
    emb_status status = t->path ? EMB_OK : embi_fail_memory(err, strlen(reader->path), "a path");
    if (!status && reader->format->walk)
        use_walked(t);
    else if (!status)
        status = use_tensor(t, tensor, err);
    if (status) {
        emb_table_close(t);
        return status;
    }
    reader->path = t->path;
    *table = t;
    return EMB_OK;
}

void emb_table_close(emb_table *t)
{
    if (!t)
        return;
    embi_table_off_device(t);
    embi_vocab_free(&t->vocab);
    embi_reader_close(t->reader);
    if (t->model.free)
        t->model.free(t->model.state);
    free(t->decoded);
    free(t->tensor);
    free(t->path);
    free(t);
}

static emb_status walk(emb_table *t, emb_err *err)
{
    struct embi_reader *r = t->reader;
    if (!r->format->walk || r->walked)
        return EMB_OK;
    if (r->format->walk(r, err))
        return embi_io_fail_in(r->io, err);
    r->walked = true;
    t->layout.rows = r->rows;
    t->layout.row_offsets = r->row_offsets;
    return EMB_OK;
}

emb_status embi_table_lay_out(const emb_table *table, emb_err *err)
{
    emb_table *t = lazily(table);
    if (t->laid_out)
        return EMB_OK;
    emb_status status = walk(t, err);
    if (status)
        return status;
    if (t->limit_rows)
        t->layout.rows = embi_min(t->layout.rows, t->limit_rows);
    const void *data;
    if (embi_io_view(t->io, &data, err))
        return embi_io_fail_in(t->io, err);
    t->map = data;
    t->laid_out = true;
    return EMB_OK;
}

/* Bytes from the first element of a row to the end of its last one. */
static uint64_t row_extent(const struct embi_layout *l)
{
    size_t size = emb_dtype_bytes(l->dtype); /* of a block type 0 */
    return size && l->dims ? (l->dims - 1) * l->col_stride + size : embi_layout_row_bytes(l);
}

static struct embi_span row_span(const struct embi_layout *l, uint64_t row)
{
    return (struct embi_span){embi_layout_row_at(l, row), row_extent(l)};
}

/* Are there rows that have to be brought? Those that are parsed were walked over: all is there. */
static bool is_far(const emb_table *t)
{
    return embi_io_is_far(t->io) && !t->reader->format->rows && t->layout.rows > 0;
}

emb_status embi_table_ready(const emb_table *t, emb_err *err)
{
    emb_status status = embi_table_lay_out(t, err);
    if (status || !is_far(t))
        return status;
    struct embi_span all = row_span(&t->layout, 0), last = row_span(&t->layout, t->layout.rows - 1);
    all.n = last.off + last.n - all.off;
    return embi_io_need(t->io, &all, 1, err);
}

emb_status embi_table_ready_rows(const emb_table *t, const uint64_t *rows, size_t n, emb_err *err)
{
    emb_status status = embi_table_lay_out(t, err);
    if (status || !is_far(t))
        return status;
    if (t->layout.row_stride < t->layout.col_stride) /* every row is all over the table */
        return embi_table_ready(t, err);
    struct embi_span *spans = malloc((n + 1) * sizeof *spans);
    if (!spans)
        return embi_fail_memory(err, n * sizeof *spans, "the places of rows");
    for (size_t i = 0; i < n; i++)
        spans[i] = row_span(&t->layout, rows[i]);
    status = embi_io_need(t->io, spans, n, err);
    free(spans);
    return status;
}

bool embi_table_direct(const emb_table *t)
{
    return !t->reader->format->rows && !t->layout.swap &&
           t->layout.col_stride == emb_dtype_bytes(t->layout.dtype); /* of a block type 0, both */
}

bool embi_table_even(const emb_table *t)
{
    return embi_table_direct(t) && !t->layout.row_offsets && t->layout.row_stride > 0;
}

const void *embi_table_row(const emb_table *t, uint64_t row)
{
    return t->map + embi_layout_row_at(&t->layout, row);
}

void embi_table_forget(const emb_table *t, uint64_t first, uint64_t n)
{
    const struct embi_layout *l = &t->layout;
    if (!l->row_offsets && l->row_stride >= l->col_stride)
        embi_io_forget(t->io, l->offset + first * l->row_stride, n * l->row_stride);
    else if (l->row_offsets && t->reader->format->walk && n > 0) /* rows lie in their order */
        embi_io_forget(t->io, l->row_offsets[first],
                       l->row_offsets[first + n - 1] - l->row_offsets[first]);
}

bool emb_table_map(const emb_table *t, emb_block *view)
{
    emb_err err;
    if (embi_table_ready(t, &err) || !embi_table_even(t))
        return false;
    *view = (emb_block){
        .data = (void *)(t->map + t->layout.offset),
        .rows = t->layout.rows,
        .dims = t->layout.dims,
        .dtype = t->layout.dtype,
        .stride_bytes = t->layout.row_stride,
    };
    return true;
}

emb_status emb_table_describe(const emb_table *t, emb_table_info *info, emb_err *err)
{
    emb_status status = embi_table_lay_out(t, err);
    if (status)
        return status;
    const struct embi_format *format = t->reader->format;
    *info = (emb_table_info){
        .rows = t->layout.rows,
        .dims = t->layout.dims,
        .dtype = t->layout.dtype,
        .bytes = format->rows ? t->io->size : t->layout.rows * embi_layout_row_bytes(&t->layout),
        .has_tokens = t->own_tokens || t->vocab.source.load,
        .format = format->name,
        .tensor = t->tensor,
        .path = t->path,
        .packed = t->reader->inside != NULL,
        .text = (format->caps & EMBI_FMT_DECIMAL) != 0,
        .word_rows = (format->caps & EMBI_FMT_TOKENS) != 0,
        .ndim = t->ndim ? t->ndim : 2,
        .shards = t->reader->shards,
        .shape = {t->layout.rows, t->layout.dims},
    };
    if (t->ndim)
        memcpy(info->shape, t->shape, sizeof info->shape);
    return EMB_OK;
}
