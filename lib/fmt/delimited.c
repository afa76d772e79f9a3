/* delimited.c - writes tables for other programs: csv, and the tsv of the Embedding Projector.
 *
 * csv is RFC 4180's: lines end with CR LF, the token stands first, in quotes where it holds a
 * quote, the separator, CR or LF; line 1 names the columns: token, 0, 1, 2 ... A table without
 * tokens has none in its lines either. An empty token is "", a row without one has nothing before
 * its first separator. tsv is numbers alone, parted by tabs: the projector wants the tokens in a
 * second file (beside.c). Numbers are the shortest that read back to the same value of their type.
 */
#include "fmt/beside.h"
#include "fmt/sink.h"

#include "util/err.h"

#include <inttypes.h>

/* One row's numbers, and the end of its line; too little memory shows in the buffer's `failed`. */
static void add_numbers(struct embi_buf *b, const char *values, const emb_array *a, char separator,
                        const char *end)
{
    char *line = embi_buf_room(b, a->shape[1] * (1 + EMB_NUMBER_MAX) + strlen(end));
    if (!line)
        return;
    char *p = embi_print_row(line, a, values, separator);
    memcpy(p, end, strlen(end));
    b->n += (size_t)(p + strlen(end) - line);
}

static bool needs_quotes(emb_str token, char separator)
{
    if (!token.s)
        return false;
    bool needs = token.n == 0;
    for (size_t i = 0; !needs && i < token.n; i++) {
        char c = token.s[i];
        needs = c == separator || c == '"' || c == '\r' || c == '\n';
    }
    return needs;
}

static void add_field(struct embi_buf *b, emb_str token, char separator)
{
    if (!needs_quotes(token, separator)) {
        embi_buf_add(b, token.s, token.n);
        return;
    }
    embi_buf_byte(b, '"');
    for (size_t i = 0; i < token.n; i++) {
        if (token.s[i] == '"')
            embi_buf_byte(b, '"');
        embi_buf_byte(b, token.s[i]);
    }
    embi_buf_byte(b, '"');
}

/* Rows [n_bytes] as lines, each with its token in front where there are tokens. */
static emb_status put_lines(struct embi_sink *s, const void *data, uint64_t n_bytes,
                            const emb_str *tokens, char separator, const char *end, emb_err *err)
{
    const emb_array *a = &s->arrays[0];
    const size_t row_bytes = embi_array_row_bytes(a);
    const char *row = data; /* [rows, d] */
    emb_status status = EMB_OK;
    for (uint64_t r = 0; !status && r < n_bytes / row_bytes; r++, row += row_bytes) {
        if (tokens) {
            add_field(&s->buf, tokens[r], separator);
            embi_buf_byte(&s->buf, separator);
        }
        add_numbers(&s->buf, row, a, separator, end);
        status = embi_sink_flush_full(s, err);
    }
    return status ? status : embi_sink_flush(s, err);
}

/* ------------------------------------------------------------------------------------------------
 * csv
 */

static char csv_separator(const struct embi_sink *s)
{
    return s->separator ? s->separator : ',';
}

static emb_status csv_begin(struct embi_sink *s, emb_err *err)
{
    const char separator = csv_separator(s);
    if (s->header < 0)
        return EMB_OK;
    embi_buf_text(&s->buf, s->tokens ? "token" : "");
    for (uint64_t c = 0; c < s->arrays[0].shape[1]; c++) {
        if (c > 0 || s->tokens)
            embi_buf_byte(&s->buf, separator);
        embi_buf_print(&s->buf, "%" PRIu64, c);
    }
    embi_buf_text(&s->buf, "\r\n");
    return embi_sink_flush(s, err);
}

static emb_status csv_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                          const emb_str *tokens, emb_err *err)
{
    return put_lines(s, data, n_bytes, tokens, csv_separator(s), "\r\n", err);
}

const struct embi_format embi_format_csv = {
    .name = "csv",
    .about = "comma-separated values",
    .exts = " .csv ",
    .caps = EMBI_FMT_WRITE | EMBI_FMT_TOKENS | EMBI_FMT_STREAM | EMBI_FMT_DECIMAL | EMBI_FMT_LINES |
            EMBI_FMT_EXPORT,
    .check = embi_sink_check_table,
    .begin = csv_begin,
    .put = csv_put,
};

/* ------------------------------------------------------------------------------------------------
 * tsv
 */

static emb_status tsv_check(const struct embi_sink *s, emb_err *err)
{
    emb_status status = embi_sink_refuse_tokens(s, err);
    return status ? status : embi_sink_check_table(s, err);
}

static emb_status tsv_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                          const emb_str *tokens, emb_err *err)
{
    (void)tokens; /* refused by the check */
    return put_lines(s, data, n_bytes, NULL, '\t', "\n", err);
}

const struct embi_format embi_format_tsv = {
    .name = "tsv",
    .about = "vectors for the Embedding Projector, with their labels beside them",
    .exts = " .tsv ",
    .caps = EMBI_FMT_WRITE | EMBI_FMT_STREAM | EMBI_FMT_DECIMAL | EMBI_FMT_EXPORT,
    .check = tsv_check,
    .put = tsv_put,
    .beside = embi_beside_labels,
};
