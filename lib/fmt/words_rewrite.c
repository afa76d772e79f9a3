/* words_rewrite.c - word-vector files with other rows: rows that stay keep their bytes.
 *
 * word2vec, binary: a row is its word, a space, its numbers and, in the file that is written, LF.
 * Text: a row is its line, whatever it looks like; of the header line, where there is one, the
 * count changes and nothing else. New rows have the form of the format's writer. A last line
 * without LF gets one.
 */
#include "fmt/rewrite.h"
#include "fmt/text.h"

#include "util/err.h"

#include <inttypes.h>

static emb_status count_kept(struct embi_rewrite *w, uint64_t n)
{
    ((struct embi_words_sink *)w->sink.state)->rows += n;
    return EMB_OK;
}

static emb_status word2vec_end(struct embi_rewrite *w, emb_err *err)
{
    return embi_words_finish(&w->sink, err);
}

static emb_status word2vec_begin(struct embi_rewrite *w, emb_err *err)
{
    return embi_words_begin_header(&w->sink, err);
}

static emb_status word2vec_kept(struct embi_rewrite *w, uint64_t first, uint64_t n, emb_err *err)
{
    const uint64_t row_bytes = embi_array_row_bytes(&w->array);
    emb_status status = EMB_OK;
    for (uint64_t r = first; !status && r < first + n; r++) {
        uint64_t at = (uint64_t)((const unsigned char *)w->r->tokens[r].s - w->file);
        status = embi_rewrite_copy(w, at, w->r->row_offsets[r] + row_bytes - at, err);
        if (!status)
            status = embi_io_append(w->sink.io, "\n", 1, err);
    }
    return status ? status : count_kept(w, n);
}

/* Line 1 with another count. */
static emb_status write_header(struct embi_rewrite *w, uint64_t bytes, emb_err *err)
{
    const char *s = (const char *)w->file;
    uint64_t at = 0;
    while (at < bytes && embi_words_blank(s[at]))
        at++;
    embi_buf_add(&w->sink.buf, s, at);
    embi_buf_print(&w->sink.buf, "%" PRIu64, w->array.shape[0]);
    while (at < bytes && s[at] >= '0' && s[at] <= '9')
        at++;
    embi_buf_add(&w->sink.buf, s + at, bytes - at);
    return embi_sink_flush(&w->sink, err);
}

static emb_status text_begin(struct embi_rewrite *w, emb_err *err)
{
    const struct embi_text *t = w->r->state;
    emb_status status =
        t->header ? embi_words_begin(&w->sink, err) : embi_text_begin(&w->sink, err);
    return status || !t->header ? status : write_header(w, t->body, err);
}

/* The first lines of a file without a header still have to show d. */
static emb_status guard_kept(struct embi_rewrite *w, uint64_t first, uint64_t n, emb_err *err)
{
    emb_status status = EMB_OK;
    const char *s = (const char *)w->file;
    for (uint64_t r = 0; !status && r < embi_min(n, EMBI_WORDS_SAMPLE); r++) {
        uint64_t at = w->r->row_offsets[first + r];
        status =
            embi_text_guard(&w->sink, s + at, embi_line_bytes(s + at, w->r->io->size - at), err);
    }
    return status;
}

/* Rows that follow each other are one piece of the file. */
static emb_status text_kept(struct embi_rewrite *w, uint64_t first, uint64_t n, emb_err *err)
{
    const uint64_t *at = w->r->row_offsets, size = w->r->io->size, last = first + n - 1;
    const char *s = (const char *)w->file;
    uint64_t end_of_last = at[last] + embi_line_bytes(s + at[last], size - at[last]);
    emb_status status = guard_kept(w, first, n, err);
    if (!status)
        status = embi_rewrite_copy(w, at[first], end_of_last - at[first], err);
    if (!status)
        status = embi_io_append(w->sink.io, "\n", 1, err);
    return status ? status : count_kept(w, n);
}

static emb_status text_end(struct embi_rewrite *w, emb_err *err)
{
    emb_status status = embi_text_guard_end(&w->sink, err);
    return status ? status : embi_words_finish(&w->sink, err);
}

const struct embi_rewriter embi_rewriter_word2vec = {&embi_format_word2vec, word2vec_begin,
                                                     word2vec_kept, word2vec_end};
const struct embi_rewriter embi_rewriter_text = {&embi_format_text, text_begin, text_kept,
                                                 text_end};
