/* rewrite.c - see rewrite.h: what is the same for all formats, and raw files, whose bytes before the
 * rows and behind them stay.
 *
 * Nothing of a table is checked anew: what was read in a format can be written in it.
 */
#include "fmt/rewrite.h"

#include "util/err.h"

static emb_status raw_begin(struct embi_rewrite *w, emb_err *err)
{
    return embi_rewrite_copy(w, 0, w->table->offset, err);
}

static emb_status raw_end(struct embi_rewrite *w, emb_err *err)
{
    uint64_t end = w->table->offset + w->table->bytes;
    return embi_rewrite_copy(w, end, w->r->io->size - end, err);
}

static const struct embi_rewriter rewriter_raw = {&embi_format_raw, raw_begin, NULL, raw_end};

static const struct embi_rewriter *const rewriters[] = {
    &embi_rewriter_npy, &embi_rewriter_safetensors, &embi_rewriter_word2vec, &embi_rewriter_text,
    &rewriter_raw,
};

emb_status embi_rewrite_init(struct embi_rewrite *w, const struct embi_reader *r, size_t tensor,
                             const struct embi_layout *layout, uint64_t rows, emb_err *err)
{
    const void *file;
    *w = (struct embi_rewrite){.r = r, .sink = {.env = r->env, .format = r->format, .n = 1}};
    for (size_t i = 0; i < EMBI_LEN(rewriters); i++)
        if (rewriters[i]->format == r->format)
            w->how = rewriters[i];
    if (!w->how)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s files cannot be rewritten", r->format->name);
    emb_status status = embi_io_map(r->io, &file, err);
    if (status)
        return status;
    w->file = file;
    w->table = r->format->walk ? NULL : &r->tensors[tensor];
    w->array = (emb_array){.name = "table", .dtype = layout->dtype, .ndim = 2};
    w->array.shape[0] = rows;
    w->array.shape[1] = layout->dims;
    w->sink.arrays = &w->array;
    w->sink.tokens = r->format->caps & EMBI_FMT_TOKENS;
    return EMB_OK;
}

emb_status embi_rewrite_begin(struct embi_rewrite *w, emb_err *err)
{
    return w->how->begin(w, err);
}

emb_status embi_rewrite_put(struct embi_rewrite *w, const void *rows, uint64_t n,
                            const emb_str *tokens, emb_err *err)
{
    return w->sink.format->put(&w->sink, rows, n * embi_array_row_bytes(&w->array), tokens, err);
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
    return n ? embi_io_append(w->sink.io, w->file + off, (size_t)n, err) : EMB_OK;
}
