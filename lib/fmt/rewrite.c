/* rewrite.c - see rewrite.h: what is the same for all formats, and raw files, whose bytes before
 * the rows and behind them stay.
 *
 * Nothing of a table is checked anew: what was read in a format can be written in it.
 */
#include "fmt/rewrite.h"

#include "util/err.h"

#include <stdlib.h>

enum { SMALL_COPY_BYTES = 1 << 16 }; /* below it a call of the system costs more than the bytes */

static emb_status raw_begin(struct embi_rewrite *w, emb_err *err)
{
    return embi_rewrite_copy(w, 0, w->parts[0].table->offset, err);
}

static emb_status raw_end(struct embi_rewrite *w, emb_err *err)
{
    uint64_t end = embi_part_end(w->parts);
    return embi_rewrite_copy(w, end, w->r->io->size - end, err);
}

static const struct embi_rewriter rewriter_raw = {&embi_format_raw, raw_begin, NULL, raw_end};

static const struct embi_rewriter *const rewriters[] = {
    &embi_rewriter_npy, &embi_rewriter_safetensors, &embi_rewriter_word2vec, &embi_rewriter_text,
    &rewriter_raw,
};

static const struct embi_rewriter *rewriter_of(const struct embi_format *format)
{
    for (size_t i = 0; i < EMBI_LEN(rewriters); i++)
        if (rewriters[i]->format == format)
            return rewriters[i];
    return NULL;
}

static emb_status refuse_format(const struct embi_format *format, emb_err *err)
{
    return embi_fail(err, EMB_UNSUPPORTED, -1, "%s files cannot be rewritten", format->name);
}

emb_status embi_rewrite_allowed(const struct embi_format *format, emb_dtype dtype, emb_err *err)
{
    if (!rewriter_of(format))
        return refuse_format(format, err);
    return emb_dtype_block(dtype) > 1
               ? embi_fail(err, EMB_UNSUPPORTED, -1, "blocks of %s cannot be rewritten",
                           emb_dtype_name(dtype))
               : EMB_OK;
}

static emb_status init(struct embi_rewrite *w, const struct embi_reader *r, emb_err *err)
{
    const void *file;
    *w = (struct embi_rewrite){.r = r, .sink = {.env = r->env, .format = r->format, .n = 1}};
    w->how = rewriter_of(r->format);
    if (!w->how)
        return refuse_format(r->format, err);
    emb_status status = embi_io_map(r->io, &file, err);
    w->file = status ? NULL : file;
    return status;
}

emb_status embi_rewrite_init(struct embi_rewrite *w, const struct embi_reader *r, size_t tensor,
                             const struct embi_layout *layout, uint64_t rows, emb_err *err)
{
    emb_status status = init(w, r, err);
    if (!status)
        status = embi_rewrite_allowed(r->format, layout->dtype, err);
    if (status)
        return status;
    w->array = (emb_array){.name = "table", .dtype = layout->dtype, .ndim = 2};
    w->array.shape[0] = rows;
    w->array.shape[1] = layout->dims;
    w->sink.arrays = &w->array;
    w->sink.tokens = r->format->caps & EMBI_FMT_TOKENS;
    w->row_bytes = embi_array_row_bytes(&w->array);
    if (r->format->walk)
        return EMB_OK;
    w->one = (struct embi_rewrite_part){&r->tensors[tensor], 0, rows, w->row_bytes};
    w->parts = &w->one;
    w->n_parts = 1;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Several tables
 */

/* Tables of no bytes come before one that begins at the same place. */
static int by_place(const void *a, const void *b)
{
    const struct embi_tensor *x = ((const struct embi_rewrite_part *)a)->table;
    const struct embi_tensor *y = ((const struct embi_rewrite_part *)b)->table;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static emb_status measure(const struct embi_rewrite *w, struct embi_rewrite_part *part,
                          uint64_t *total, emb_err *err)
{
    const struct embi_tensor *t = part->table;
    uint64_t bytes;
    bool fits = true;
    part->entry_bytes = emb_dtype_bytes(t->dtype);
    for (int i = part->axis + 1; i < t->ndim; i++)
        fits = fits && embi_mul(part->entry_bytes, t->shape[i], &part->entry_bytes);
    if (fits && embi_mul(part->length, part->entry_bytes, &bytes) &&
        embi_add(*total, bytes, total) && *total <= INT64_MAX - w->r->io->size)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_ARG, -1, "a table of so many rows has no size");
}

emb_status embi_rewrite_init_parts(struct embi_rewrite *w, const struct embi_reader *r,
                                   struct embi_rewrite_part *parts, size_t n, emb_err *err)
{
    uint64_t total = 0;
    emb_status status = init(w, r, err);
    if (!status && r->format != &embi_format_safetensors)
        status = refuse_format(r->format, err);
    w->parts = parts;
    w->n_parts = n;
    qsort(parts, n, sizeof *parts, by_place);
    for (size_t i = 0; !status && i < n; i++)
        status = measure(w, &parts[i], &total, err);
    if (!status && n)
        w->row_bytes = parts[0].entry_bytes;
    return status;
}

uint64_t embi_rewrite_size(const struct embi_rewrite *w)
{
    uint64_t size = w->r->io->size;
    for (size_t i = 0; i < w->n_parts; i++)
        size += w->parts[i].length * w->parts[i].entry_bytes - w->parts[i].table->bytes;
    return size;
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

emb_status embi_rewrite_begin(struct embi_rewrite *w, emb_err *err)
{
    return w->how->begin(w, err);
}

emb_status embi_rewrite_put(struct embi_rewrite *w, const void *rows, uint64_t n,
                            const emb_str *tokens, emb_err *err)
{
    return w->sink.format->put(&w->sink, rows, n * w->row_bytes, tokens, err);
}

emb_status embi_rewrite_next(struct embi_rewrite *w, emb_err *err)
{
    uint64_t end = embi_part_end(&w->parts[w->current]);
    w->current++;
    w->row_bytes = w->parts[w->current].entry_bytes;
    return embi_rewrite_copy(w, end, w->parts[w->current].table->offset - end, err);
}

emb_status embi_rewrite_end(struct embi_rewrite *w, emb_err *err)
{
    return w->how->end ? w->how->end(w, err) : EMB_OK;
}

void embi_rewrite_free(struct embi_rewrite *w)
{
    if (w->sink.state && w->sink.format->free)
        w->sink.format->free(w->sink.state);
    w->sink.state = NULL;
    embi_buf_free(&w->sink.buf);
}

emb_status embi_rewrite_copy(struct embi_rewrite *w, uint64_t off, uint64_t n, emb_err *err)
{
    if (n < SMALL_COPY_BYTES)
        return n ? embi_io_append(w->sink.io, w->file + off, (size_t)n, err) : EMB_OK;
    return embi_io_append_from(w->sink.io, w->r->io, off, n, err);
}
