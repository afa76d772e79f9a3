/* word2vec.c - reads the binary form of word2vec.
 *
 * Line 1 is "V D"; then, for each row, a word, one space, D little-endian f32. The original tool
 * ends a row with LF, others do not: LFs before a word are skipped, so no word begins with one.
 * Rows have no fixed size and are found by walking; nothing is allocated for V rows before V rows
 * are known to fit the file. Words are bytes and are not looked into.
 */
#include "fmt/words.h"

#include "util/err.h"
#include "util/large.h"

#include <inttypes.h>
#include <stdlib.h>

struct state {
    struct embi_words_header header;
};

/* Bytes that text may hold: no control characters but tab, LF and CR. */
static bool is_text(unsigned char c)
{
    return (c >= 0x20 && c != 0x7F) || c == '\t' || c == '\n' || c == '\r';
}

/* Is the first row text? Its line must end with d numbers, or with some where the head is cut. */
static bool row_is_text(const char *s, size_t n, bool cut, uint64_t dims)
{
    size_t line = embi_line_bytes(s, n);
    bool whole = line < n || !cut;
    if (!whole)
        while (line > 0 && !embi_words_blank(s[line - 1]))
            line--;
    uint64_t wanted = whole ? dims : embi_min(dims, 2);
    return embi_line_numbers(s, embi_line_trim(s, line)) >= wanted;
}

/* Do the numbers that follow the first word hold a byte that no text holds? */
static bool row_is_binary(const char *s, size_t n, uint64_t dims)
{
    size_t i = 0;
    while (i < n && s[i] == '\n')
        i++;
    while (i < n && s[i] != ' ')
        i++;
    if (i == n)
        return false;
    uint64_t bytes;
    if (!embi_mul(dims, sizeof(float), &bytes))
        return false;
    size_t end = i + 1 + (size_t)embi_min(bytes, n - i - 1);
    for (i++; i < end; i++)
        if (!is_text((unsigned char)s[i]))
            return true;
    return false;
}

static int word2vec_probe(const unsigned char *head, size_t n, uint64_t size, const char *ext)
{
    struct embi_words_header h;
    const char *s = (const char *)head;
    if (!embi_words_header(s, n, &h))
        return 0;
    if (h.dims > 0 && row_is_text(s + h.bytes, n - h.bytes, n < size, h.dims))
        return 0;
    if (row_is_binary(s + h.bytes, n - h.bytes, h.dims))
        return 70;
    return strcmp(ext, ".bin") == 0 ? 45 : 0;
}

/* Can n rows fit? A row has at least its space and its numbers. */
static bool rows_fit(const struct embi_words_header *h, uint64_t n, uint64_t size)
{
    uint64_t bytes;
    return embi_mul(n, 1 + h->dims * sizeof(float), &bytes) && embi_inside(h->bytes, bytes, size);
}

static emb_status word2vec_open(struct embi_reader *r, emb_err *err)
{
    char head[EMBI_PROBE_BYTES];
    size_t n = (size_t)embi_min(r->io->size, sizeof head);
    emb_status status = embi_io_pread(r->io, head, n, 0, err);
    if (status)
        return status;
    struct state *state = malloc(sizeof *state);
    if (!state)
        return embi_fail_memory(err, sizeof *state, "a word2vec file");
    r->state = state;
    if (!embi_words_header(head, n, &state->header))
        return embi_fail(err, EMB_BAD_DATA, 0, "line 1: expected two numbers, rows and dims");
    status = embi_words_header_check(&state->header, err);
    if (status)
        return status;
    r->dims = (uint32_t)state->header.dims;
    if (rows_fit(&state->header, state->header.rows, r->io->size))
        r->rows = state->header.rows;
    return EMB_OK;
}

/* The file does not hold the row that should begin at s; n bytes are left. */
static emb_status cut_row(uint64_t row, const char *s, size_t n, const struct embi_words_header *h,
                          emb_err *err)
{
    const char *space = n ? memchr(s, ' ', embi_min(n, EMBI_WORD_MAX)) : NULL;
    if (!space && n >= EMBI_WORD_MAX)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)row,
                         "row %" PRIu64 ": no space within %d bytes ends its word", row,
                         EMBI_WORD_MAX);
    if (n == 0)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)row,
                         "the header says %" PRIu64 " rows, the file has %" PRIu64, h->rows, row);
    if (!space)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)row,
                         "row %" PRIu64 ": the file ends inside its word (the header says %" PRIu64
                         " rows)",
                         row, h->rows);
    size_t values = (n - (size_t)(space + 1 - s)) / sizeof(float);
    return embi_fail(err, EMB_BAD_DATA, (int64_t)row,
                     "row %" PRIu64 ": expected %" PRIu64
                     " values, found %zu (the header says %" PRIu64 " rows, the file has %" PRIu64
                     ")",
                     row, h->dims, values, h->rows, row);
}

#define CACHE_LINE 64

/* Steps over n rows from *at on. offsets [n] and tokens [n] may both be NULL: then it only looks
 * whether the rows are there. *at is then the byte after the last row. */
static emb_status find_rows(const struct embi_words_header *h, const char *data, uint64_t size,
                            uint64_t n, uint64_t *at, uint64_t *offsets, emb_str *tokens,
                            emb_err *err)
{
    const uint64_t row_bytes = h->dims * sizeof(float);
    const uint64_t ahead =
        32 * (row_bytes + 8); /* about 32 rows: memory is slower than this loop */
    const char *p = data + *at, *end = data + size;
    for (uint64_t row = 0; row < n; row++) {
        if ((uint64_t)(end - p) > ahead + CACHE_LINE) { /* a word may begin in either line */
            __builtin_prefetch(p + ahead);
            __builtin_prefetch(p + ahead + CACHE_LINE);
        }
        while (p < end && *p == '\n')
            p++;
        size_t left = (size_t)(end - p);
        const char *space = left ? memchr(p, ' ', embi_min(left, EMBI_WORD_MAX)) : NULL;
        if (!space || (uint64_t)(end - space - 1) < row_bytes)
            return cut_row(row, p, left, h, err);
        if (offsets && tokens) {
            offsets[row] = (uint64_t)(space + 1 - data);
            tokens[row] = (emb_str){p, (size_t)(space - p)};
        }
        p = space + 1 + row_bytes;
    }
    *at = (uint64_t)(p - data);
    return EMB_OK;
}

/* After the last row only LFs may follow. */
static emb_status check_end(const struct embi_words_header *h, const char *data, uint64_t size,
                            uint64_t at, emb_err *err)
{
    uint64_t last = at;
    while (at < size && data[at] == '\n')
        at++;
    if (at == size)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, (int64_t)last,
                     "the header says %" PRIu64 " rows, which end at byte %" PRIu64
                     "; the file has %" PRIu64 " bytes",
                     h->rows, last, size);
}

static emb_status word2vec_walk(struct embi_reader *r, emb_err *err)
{
    const struct embi_words_header *h = &((const struct state *)r->state)->header;
    const uint64_t n = r->opts.limit_rows ? embi_min(h->rows, r->opts.limit_rows) : h->rows;
    uint64_t size = r->io->size, at = h->bytes;
    uint64_t *offsets = NULL; /* [n] */
    emb_str *tokens = NULL;   /* [n] */
    const void *data;
    emb_status status = embi_io_map(r->io, &data, err);
    if (status)
        return status;
    if (!rows_fit(h, n, size)) /* fails, and says at which row */
        return find_rows(h, data, size, n, &at, NULL, NULL, err);
    offsets = embi_large_alloc(n * sizeof *offsets);
    tokens = embi_large_alloc(n * sizeof *tokens);
    if (!offsets || !tokens)
        status = embi_fail_memory(err, n * (sizeof *offsets + sizeof *tokens), "rows");
    if (!status)
        status = find_rows(h, data, size, n, &at, offsets, tokens, err);
    if (!status && n == h->rows)
        status = check_end(h, data, size, at, err);
    if (status) {
        free(offsets);
        free(tokens);
        return status;
    }
    r->rows = n;
    r->row_offsets = offsets;
    r->tokens = tokens;
    return EMB_OK;
}

/* Words may be as long as is read. */
static uint64_t word2vec_most(const struct embi_reader *r)
{
    const struct embi_words_header *h = &((const struct state *)r->state)->header;
    uint64_t bytes;
    bool fits = embi_mul(h->dims, sizeof(float), &bytes) &&
                embi_add(bytes, EMBI_WORD_MAX + 2, &bytes) && embi_mul(bytes, h->rows, &bytes) &&
                embi_add(bytes, h->bytes, &bytes);
    return fits ? bytes : 0;
}

const struct embi_format embi_format_word2vec = {
    .name = "word2vec",
    .about = "word2vec, binary",
    .exts = " .bin ",
    .caps = EMBI_FMT_READ | EMBI_FMT_WRITE | EMBI_FMT_TOKENS,
    .probe = word2vec_probe,
    .open = word2vec_open,
    .most = word2vec_most,
    .walk = word2vec_walk,
    .check = embi_word2vec_check,
    .begin = embi_words_begin_header,
    .put = embi_word2vec_put,
    .finish = embi_words_finish,
    .refuses = embi_word2vec_refuses,
    .breaks = {" \n", 2},
    .free = free,
};
