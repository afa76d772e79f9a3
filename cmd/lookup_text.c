/* lookup_text.c - rows as text or JSON lines. Rows leave as they are asked for: whenever the input
 * pauses, what is there is flushed, so that embtool can answer another program.
 */
#include "lookup.h"
#include "miss.h"

#include <inttypes.h>
#include <string.h>

/* `#5` for a row of a table with tokens that has none. */
static void put_label(struct lookup *l, struct out *out, enum label label, uint64_t row)
{
    emb_str token;
    if (label == LABEL_NONE)
        return;
    if (label == LABEL_ID) {
        out_u64(out, row);
    } else if (row_token(l->table, row, shows_text(l->run), &token)) {
        out_token(out, token, ' ');
    } else {
        out_byte(out, '#');
        out_u64(out, row);
    }
    out_byte(out, ' ');
}

static void put_json(struct lookup *l, struct out *out, uint64_t row, const char *vector)
{
    emb_str asked;
    out_byte(out, '{');
    if (rows_asked(&l->rows, &asked))
        out_json_token(out, "query", asked);
    out_text(out, "\"id\":");
    out_u64(out, row);
    out_byte(out, ',');
    if (l->info.has_tokens)
        out_json_row_token(out, l->table, row);
    out_text(out, "\"vector\":");
    out_json_elements(out, l->dtype, vector, l->dims);
    out_text(out, "}\n");
}

/* Only in JSON, where each token that was asked for has its line. */
static void put_unknown(struct lookup *l, struct out *out)
{
    emb_str asked = {"", 0};
    rows_asked(&l->rows, &asked);
    out_byte(out, '{');
    out_json_token(out, "query", asked);
    miss_json(out, l->run, l->table, asked);
    out_text(out, "}\n");
}

static int put_rows(struct lookup *l, struct out *out, enum label label, size_t at, size_t n)
{
    size_t row_bytes = l->dims * emb_dtype_bytes(l->dtype);
    bool json = strcmp(l->format, "json") == 0;
    const uint64_t *rows = l->ids + at;
    int code = lookup_fetch(l, rows, l->lines ? l->lines + at : NULL, n);
    for (size_t i = 0; !code && i < n; i++) {
        const char *vector = l->block + i * row_bytes;
        if (json) {
            put_json(l, out, rows[i], vector);
        } else {
            put_label(l, out, label, rows[i]);
            out_elements(out, l->dtype, vector, l->dims, ' ');
            out_byte(out, '\n');
        }
        code = out->code;
    }
    progress_add(&l->progress, n);
    return code;
}

/* How many rows of a block can be fetched together, from the first on: those before an unknown one.
 */
static size_t count_known(const struct lookup *l, const uint64_t *rows, size_t n)
{
    size_t known = 0, max = (size_t)embi_min(n, l->block_rows);
    while (known < max && rows[known] != ROW_UNKNOWN)
        known++;
    return known;
}

static int put_read(struct lookup *l, struct out *out, enum label label, size_t n)
{
    int code = n ? lookup_ahead(l, l->ids, 0, n) : EXIT_DONE;
    for (size_t at = 0; !code && at < n;) {
        size_t known = count_known(l, l->ids + at, n - at);
        if (known)
            code = put_rows(l, out, label, at, known);
        else
            put_unknown(l, out);
        code = worse(code, out->code);
        at += known ? known : 1;
    }
    return code;
}

/* Lines are counted from 1, as in messages. */
struct pooled {
    struct lookup *l;
    struct out *out;
};

static int put_pooled(void *arg, uint64_t line, uint64_t count, const char *vector)
{
    struct pooled *p = arg;
    struct lookup *l = p->l;
    if (strcmp(l->format, "json") == 0) {
        out_print(p->out, "{\"line\":%" PRIu64 ",\"tokens\":%" PRIu64 ",\"vector\":", line + 1,
                  count);
        out_json_elements(p->out, l->dtype, vector, l->dims);
        out_text(p->out, "}\n");
        return p->out->code;
    }
    if (l->opts->label != LABEL_NONE) {
        out_u64(p->out, line + 1);
        out_byte(p->out, ' ');
    }
    out_elements(p->out, l->dtype, vector, l->dims, ' ');
    out_byte(p->out, '\n');
    return p->out->code;
}

/* Lines of one id are one sequence, unless some line has more: which was it then? */
static int check_single(struct lookup *l)
{
    const struct sequences *s = &l->rows.ids.sequences;
    bool counts = l->inputs.assembly && l->inputs.info->counts && l->opts->pool < 0;
    if (!counts || l->rows.kind != ROWS_IDS || l->rows.ids.kind != IDS_TEXT || s->first != 1 ||
        s->odd == 0)
        return EXIT_DONE;
    return fail_with(
        l->run, EXIT_DATA, l->rows.ids.in.path,
        "ids: line %" PRIu64 " has %" PRIu64
        " ids, the first one 1: positions are counted along lines, or over lines of one "
        "id each",
        s->odd + 1, s->odd_length);
}

/* What was read, n ids of it. */
static int put_chunk(struct lookup *l, struct out *out, enum label label, size_t n)
{
    struct pooled pooled = {l, out};
    if (l->opts->pool >= 0)
        return lookup_pool(l, l->ids, l->lines, n, put_pooled, &pooled);
    int code = check_single(l);
    return code ? code : put_read(l, out, label, n);
}

static enum label choose_label(const struct lookup *l)
{
    if (l->opts->label >= 0)
        return (enum label)l->opts->label;
    return l->info.has_tokens ? LABEL_TOKEN : LABEL_ID;
}

/* A file may be read by a program that does not know the escapes. */
static void report_escapes(const struct lookup *l, const struct out *out)
{
    if (out->path && out->escaped)
        note(l->run, out->path,
             "%" PRIu64 " tokens are escaped (\\x20 for a blank); --raw-tokens writes them as they "
             "are",
             out->escaped);
}

int lookup_text(struct lookup *l)
{
    struct out out;
    enum label label = choose_label(l);
    bool tokens = l->opts->pool < 0 && (label == LABEL_TOKEN || strcmp(l->format, "json") == 0);
    int code = tokens ? load_tokens(l->run, l->table, &l->info) : EXIT_DONE;
    if (code)
        return code;
    code = out_open(l->run, l->opts->common.output, &out);
    while (!code && !l->rows.ended) {
        size_t n;
        code = rows_read(&l->rows, l->ids, l->lines, LOOKUP_IDS, &n);
        if (!code)
            code = put_chunk(l, &out, label, n);
        if (!code && l->rows.paused)
            code = out_flush(&out);
    }
    if (!code)
        code = lookup_end_input(l);
    code = out_close(&out, code);
    if (code <= EXIT_NO)
        report_escapes(l, &out);
    return code;
}
