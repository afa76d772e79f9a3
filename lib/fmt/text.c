/* text.c - word vectors as text, GloVe's form and word2vec's: what the file's beginning tells.
 *
 * A row is a line, "token v1 ... vd"; word2vec's form has the line "V D" first, GloVe's has nothing
 * before its rows. Without a header d is what most of the first lines agree on, since a token may
 * hold blanks and numbers. Only LF ends a line (a CR before it is dropped); blanks are 0x20 and
 * tabs, repeated or at a line's end they do no harm. Passes over the rows: text.h.
 */
#include "fmt/text.h"

#include "num/decimal.h"
#include "util/err.h"

#include <stdlib.h>

/* What a thread takes at a time; smaller files are not worth a second one. */
#define PIECE_BYTES (UINT64_C(2) << 20)

enum {
    SAMPLE_LINES = EMBI_WORDS_SAMPLE,
    SAMPLE_LINES_MIN = EMBI_WORDS_SAMPLE_MIN, /* more is read until there are so many */
    SAMPLE_BYTES = 1 << 18,
    SAMPLE_BYTES_MAX = 1 << 24
};

/* The lines of a piece of a file, one after another. */
struct lines {
    const char *s;
    size_t n, at;
};

static bool next_line(struct lines *l, emb_str *line)
{
    if (l->at >= l->n)
        return false;
    size_t n = embi_line_bytes(l->s + l->at, l->n - l->at);
    *line = (emb_str){l->s + l->at, embi_line_trim(l->s + l->at, n)};
    l->at += n + 1;
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * Header or row?
 */

static bool all_digits(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && s[i] >= '0' && s[i] <= '9')
        i++;
    return i == n;
}

/* After "V 1" and with rows of two fields both readings are possible: a header, or a row of a table
 * with d = 1. It is a row only if all of these tokens look like numbers too and V is not the count.
 */
static bool is_header_of_one_dim(struct lines rows, bool whole, uint64_t count)
{
    uint64_t n = 0;
    emb_str line;
    while (next_line(&rows, &line)) {
        size_t token = 0;
        while (token < line.n && !embi_words_blank(line.s[token]))
            token++;
        if (!all_digits(line.s, token))
            return true;
        n += line.n > 0;
    }
    return !whole || n == count;
}

static bool any_has_numbers(struct lines rows, uint64_t dims)
{
    emb_str line;
    for (int i = 0; i < SAMPLE_LINES && next_line(&rows, &line); i++)
        if (embi_line_numbers(line.s, line.n) == dims)
            return true;
    return false;
}

/* Is line 1 of s[0, n), which may be the whole file, a header? Two whole numbers make one, unless
 * line 2 has two fields as well and so may have the same form. */
static bool is_header(const char *s, size_t n, bool whole, struct embi_words_header *h)
{
    if (!embi_words_header(s, n, h))
        return false;
    struct lines rows = {s, n, h->bytes}, l = rows;
    emb_str second;
    if (!next_line(&l, &second) || second.n == 0)
        return true;
    size_t fields = embi_line_fields(second.s, second.n) + !embi_words_blank(second.s[0]);
    if (fields != 2)
        return true;
    return h->dims == 1 ? is_header_of_one_dim(rows, whole, h->rows)
                        : any_has_numbers(rows, h->dims);
}

/* ------------------------------------------------------------------------------------------------
 * How many numbers a row has
 */

/* The most frequent count of numbers at the end of a line, the smaller of two; 0 if no line has
 * any. *n_lines is how many lines were looked at, *votes how many of them have that count. */
static size_t common_numbers(struct lines l, size_t *n_lines, size_t *votes)
{
    size_t counts[SAMPLE_LINES], n = 0, best = 0;
    emb_str line;
    *n_lines = *votes = 0;
    while (*n_lines < SAMPLE_LINES && next_line(&l, &line)) {
        size_t numbers = embi_line_numbers(line.s, line.n);
        *n_lines += line.n > 0;
        if (numbers)
            counts[n++] = numbers;
    }
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        for (size_t j = 0; j < n; j++)
            same += counts[j] == counts[i];
        if (same > *votes || (same == *votes && counts[i] < best)) {
            *votes = same;
            best = counts[i];
        }
    }
    return best;
}

/* No word, as `nan` and `inf` may be. */
static bool is_number(emb_str token)
{
    float x;
    return token.n > 0 && token.s[0] < 'A' && embi_read_f32(token.s, token.n, &x);
}

/* How many lines there are if the token of each is a number, and not all are whole numbers: ids are
 * the tokens of some tables. Else 0. */
static size_t count_numbers(struct lines l, uint32_t dims)
{
    size_t n = 0, found;
    bool whole = true;
    emb_str line;
    for (; n < SAMPLE_LINES && next_line(&l, &line) && line.n; n++) {
        const char *values = embi_line_values(line.s, line.n, dims, &found);
        emb_str token = {line.s, values ? (size_t)(values - line.s) - 1 : 0};
        if (!is_number(token))
            return 0;
        whole = whole && all_digits(token.s, token.n);
    }
    return whole ? 0 : n;
}

/* A matrix of numbers has no tokens, and reads as a table of one dimension less. */
static emb_status check_tokens(struct embi_reader *r, const struct embi_buf *sample, emb_err *err)
{
    static const char what[] = "a matrix without tokens? its first column was taken for them; "
                               "numpy.save makes an .npy file of it";
    size_t n = count_numbers((struct lines){sample->s, sample->n, 0}, r->dims);
    if (n == 0)
        return EMB_OK;
    if (r->opts.strict)
        return embi_fail(err, EMB_BAD_DATA, 0, "the first %zu tokens are numbers: %s", n, what);
    embi_log(r->env, EMB_LOG_WARNING, r->path, "the first %zu tokens are numbers: %s", n, what);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Probe
 */

static bool looks_like_text(const unsigned char *head, size_t n)
{
    size_t controls = 0;
    if (memchr(head, 0, n))
        return false;
    for (size_t i = 0; i < n; i++)
        controls += (head[i] < 0x20 && head[i] != '\t' && head[i] != '\n' && head[i] != '\r') ||
                    head[i] == 0x7F;
    return controls <= n / 10;
}

/* Without what may be half a field, or half a line if there are whole ones. */
static size_t drop_cut(const char *s, size_t n)
{
    size_t whole = n;
    while (whole > 0 && s[whole - 1] != '\n')
        whole--;
    if (whole > 0)
        return whole;
    while (n > 0 && !embi_words_blank(s[n - 1]))
        n--;
    return n;
}

/* Bids stay below those of formats that have magic bytes. */
static int text_probe(const unsigned char *head, size_t n, uint64_t size, const char *ext)
{
    const char *s = (const char *)head;
    struct embi_words_header h;
    if (!looks_like_text(head, n))
        return 0;
    if (n < size)
        n = drop_cut(s, n);
    bool header = is_header(s, n, n == size, &h);
    size_t lines, votes;
    size_t dims = common_numbers((struct lines){s, n, header ? h.bytes : 0}, &lines, &votes);
    if (header)
        return lines == 0 || votes > 0 ? 40 : 30;
    if (dims >= 2 && 2 * votes > lines)
        return 30;
    if (2 * votes > lines)
        return 20;
    bool named = !strcmp(ext, ".txt") || !strcmp(ext, ".vec") || !strcmp(ext, ".glove");
    return named ? 10 : 0;
}

/* ------------------------------------------------------------------------------------------------
 * Open
 */

/* Reads the beginning of the file, cut after a line: several lines if they are not very long. */
static emb_status read_sample(struct embi_io *io, struct embi_buf *b, emb_err *err)
{
    for (uint64_t want = SAMPLE_BYTES;; want *= 4) {
        size_t n = (size_t)embi_min(io->size, want), lines = 0;
        b->n = 0;
        char *s = embi_buf_room(b, n);
        if (!s)
            return embi_fail_memory(err, n, "the first lines");
        emb_status status = embi_io_pread(io, s, n, 0, err);
        b->n = n;
        if (status || n == io->size)
            return status;
        size_t cut = n;
        while (cut > 0 && s[cut - 1] != '\n')
            cut--;
        for (size_t at = 0; at < cut; lines++)
            at += embi_line_bytes(s + at, cut - at) + 1;
        b->n = cut;
        if (lines >= SAMPLE_LINES_MIN || (lines > 0 && want >= SAMPLE_BYTES_MAX))
            return EMB_OK;
        if (want >= SAMPLE_BYTES_MAX)
            return embi_fail(err, EMB_BAD_DATA, 0, "line 1: longer than %d MiB",
                             SAMPLE_BYTES_MAX >> 20);
    }
}

static emb_status find_dims(struct embi_reader *r, const struct embi_buf *sample, emb_err *err)
{
    struct embi_text *t = r->state;
    struct embi_words_header h;
    size_t lines, votes;
    if (is_header(sample->s, sample->n, sample->n == r->io->size, &h)) {
        emb_status status = embi_words_header_check(&h, err);
        if (status)
            return status;
        t->header = true;
        t->header_rows = h.rows;
        t->body = h.bytes;
        r->dims = (uint32_t)h.dims;
        return EMB_OK;
    }
    size_t dims = common_numbers((struct lines){sample->s, sample->n, 0}, &lines, &votes);
    if (dims == 0)
        return embi_fail(err, EMB_BAD_DATA, 0, "line 1: expected a token and numbers, found %s",
                         lines       ? "no number at its end"
                         : sample->n ? "blank lines only"
                                     : "an empty file");
    r->dims = (uint32_t)dims; /* a sample has fewer than 2^32 bytes */
    return EMB_OK;
}

static emb_status text_open(struct embi_reader *r, emb_err *err)
{
    struct embi_buf sample = {0};
    struct embi_text *t = r->state = calloc(1, sizeof *t);
    if (!t)
        return embi_fail_memory(err, sizeof *t, "a text file");
    t->piece_bytes = PIECE_BYTES;
    emb_status status = read_sample(r->io, &sample, err);
    if (!status)
        status = find_dims(r, &sample, err);
    if (!status && !t->header)
        status = check_tokens(r, &sample, err);
    embi_buf_free(&sample);
    return status;
}

const struct embi_format embi_format_text = {
    .name = "text",
    .about = "word vectors as text: GloVe, word2vec (.vec)",
    .exts = " .txt ",
    .caps = EMBI_FMT_READ | EMBI_FMT_WRITE | EMBI_FMT_TOKENS | EMBI_FMT_STREAM | EMBI_FMT_DECIMAL |
            EMBI_FMT_LINES,
    .probe = text_probe,
    .open = text_open,
    .walk = embi_text_walk,
    .tokens = embi_text_tokens,
    .rows = embi_text_rows,
    .check = embi_words_check,
    .begin = embi_text_begin,
    .put = embi_text_put,
    .finish = embi_text_finish,
    .refuses = embi_text_refuses,
    .breaks = {"\n\0", 2},
    .free = free,
};
