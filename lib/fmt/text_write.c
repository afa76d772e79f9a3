/* text_write.c - writes word vectors as text: a line for each row, "token v v v", with GloVe's form
 * (no header; format "text") and word2vec's ("V D" first; format "word2vec-text").
 *
 * Numbers are the shortest that read back to the same value of their type. A token may hold
 * anything but LF and NUL, blanks included: readers that take the last d fields as numbers find it
 * again. What d is they find by themselves where there is no header, so that form is not written
 * where they would find another.
 */
#include "fmt/sink.h"
#include "fmt/words.h"
#include "io/inflate.h"
#include "io/zip_read.h"
#include "util/err.h"

#include <stdlib.h>

static bool is_blank_separated(const struct embi_sink *s)
{
    return !s->separator || embi_words_blank(s->separator);
}

static emb_status begin(struct embi_sink *s, bool header, emb_err *err)
{
    emb_status status = header ? embi_words_begin_header(s, err) : embi_words_begin(s, err);
    struct embi_words_sink *w = s->state;
    if (status)
        return status;
    w->bare = !header;
    w->guarded = w->bare && is_blank_separated(s);
    return EMB_OK;
}

emb_status embi_text_begin(struct embi_sink *s, emb_err *err)
{
    return begin(s, s->header > 0, err);
}

static emb_status begin_word2vec(struct embi_sink *s, emb_err *err)
{
    return begin(s, s->header >= 0, err);
}

static emb_status refuse_bare(const struct embi_words_sink *w, const char *why, emb_err *err)
{
    return embi_fail(err, EMB_BAD_DATA, (int64_t)w->rows,
                     "text without a header cannot hold these rows: %s (word2vec-text has one)",
                     why);
}

/* Readers take the count of numbers that most of the first lines end with, of two the smaller. */
static bool shows_dims(const struct embi_words_sink *w)
{
    return 2 * w->plain >= w->seen;
}

static const char too_many_numbers[] = "most of the first tokens end with a number";

emb_status embi_text_guard(struct embi_sink *sink, const char *s, size_t n, emb_err *err)
{
    struct embi_words_sink *w = sink->state;
    struct embi_words_header header;
    if (!w->guarded || w->seen == EMBI_WORDS_SAMPLE)
        return EMB_OK;
    if (w->seen == 0 && embi_words_header(s, n, &header))
        return refuse_bare(w, "the first reads as a header", err);
    if (w->seen == 0 &&
        (embi_is_zip((const unsigned char *)s, n) || embi_is_gzip((const unsigned char *)s, n)))
        return refuse_bare(w, "the first begins as a packed file does", err);
    w->plain += embi_line_numbers(s, embi_line_trim(s, n)) == sink->arrays[0].shape[1];
    w->seen++;
    return w->seen < EMBI_WORDS_SAMPLE_MIN || shows_dims(w) ? EMB_OK
                                                            : refuse_bare(w, too_many_numbers, err);
}

emb_status embi_text_guard_end(struct embi_sink *sink, emb_err *err)
{
    const struct embi_words_sink *w = sink->state;
    return !w->guarded || shows_dims(w) ? EMB_OK : refuse_bare(w, too_many_numbers, err);
}

emb_status embi_text_finish(struct embi_sink *s, emb_err *err)
{
    const struct embi_words_sink *w = s->state;
    return w->bare ? embi_text_guard_end(s, err) : embi_words_finish(s, err);
}

const char *embi_text_refuses(emb_str token)
{
    const char *why = embi_words_refuses(token);
    if (why)
        return why;
    if (memchr(token.s, '\n', token.n))
        return "a newline ends a row";
    return memchr(token.s, 0, token.n) ? "a file with a NUL is not taken for text" : NULL;
}

/* One line; too little memory shows in the buffer's `failed`. values [d], elements of `dtype`. */
static void add_line(struct embi_buf *b, emb_str token, const char *values, const emb_array *a,
                     char separator)
{
    char *line = embi_buf_room(b, token.n + a->shape[1] * (1 + EMB_NUMBER_MAX) + 2);
    if (!line)
        return;
    memcpy(line, token.s, token.n);
    line[token.n] = separator;
    char *p = embi_print_row(line + token.n + 1, a, values, separator);
    *p++ = '\n';
    b->n += (size_t)(p - line);
}

emb_status embi_text_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                         const emb_str *tokens, emb_err *err)
{
    const emb_array *a = &s->arrays[0];
    struct embi_words_sink *state = s->state;
    const size_t row_bytes = a->shape[1] * emb_dtype_bytes(a->dtype);
    const char *row = data; /* [rows, d] */
    const uint64_t rows = n_bytes / row_bytes;
    for (uint64_t r = 0; r < rows; r++, row += row_bytes, state->rows++) {
        emb_status status = embi_words_token(s, tokens[r], state->rows, err);
        if (status)
            return status;
        size_t at = s->buf.n;
        add_line(&s->buf, tokens[r], row, a, s->separator ? s->separator : ' ');
        if (!s->buf.failed && (status = embi_text_guard(s, s->buf.s + at, s->buf.n - at - 1, err)))
            return status;
        status = embi_sink_flush_full(s, err);
        if (status)
            return status;
    }
    return embi_sink_flush(s, err);
}

const struct embi_format embi_format_word2vec_text = {
    .name = "word2vec-text",
    .about = "word2vec, text with a header line",
    .exts = " .vec ",
    .caps = EMBI_FMT_WRITE | EMBI_FMT_TOKENS | EMBI_FMT_DECIMAL | EMBI_FMT_LINES,
    .check = embi_words_check,
    .begin = begin_word2vec,
    .put = embi_text_put,
    .finish = embi_text_finish,
    .refuses = embi_text_refuses,
    .breaks = {"\n\0", 2},
    .free = free,
};
