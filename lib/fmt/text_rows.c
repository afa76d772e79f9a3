/* text_rows.c - word vectors as text: finds the rows, cuts off their tokens, parses their numbers.
 *
 * Three passes, each only when it is asked for: walk finds line starts at the speed of memchr,
 * tokens counts blanks, rows parses. A number is rounded to f32 once, from its text. A row that
 * breaks the rules is reported by the pass that needs it, with its line (from 1, the header
 * counted) and its row (from 0). Files may be larger than 4 GiB.
 */
#include "fmt/text.h"

#include "num/decimal.h"
#include "num/kern.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

static uint64_t line_number(const struct embi_text *t, uint64_t row)
{
    return row + 1 + t->header;
}

/* ------------------------------------------------------------------------------------------------
 * Walk
 */

/* Offsets of rows, while it is not known how many there will be. */
struct offsets {
    uint64_t *v; /* [cap], n in use */
    uint64_t n, cap;
};

static emb_status add_offset(struct offsets *o, uint64_t offset, emb_err *err)
{
    if (o->n == o->cap) {
        uint64_t cap = o->cap ? 2 * o->cap : 4096; /* at most twice the bytes of the file */
        uint64_t *v = realloc(o->v, cap * sizeof *v);
        if (!v)
            return embi_fail_memory(err, cap * sizeof *v, "rows");
        o->v = v;
        o->cap = cap;
    }
    o->v[o->n++] = offset;
    return EMB_OK;
}

static bool is_blank(const char *line, size_t n)
{
    if (n > 0 && !embi_words_blank(line[0]) && line[0] != '\r')
        return false;
    return embi_line_trim(line, n) == 0;
}

/* Adds the rows from t->body on, up to `limit`. Blank lines are fine where no row follows. */
static emb_status find_rows(const struct embi_text *t, uint64_t size, uint64_t limit,
                            struct offsets *o, emb_err *err)
{
    bool blank = false;
    for (uint64_t at = t->body; at < size && o->n < limit;) {
        size_t n = embi_line_bytes(t->data + at, size - at);
        if (is_blank(t->data + at, n)) {
            blank = true;
        } else if (blank) {
            return embi_fail(err, EMB_BAD_DATA, (int64_t)o->n,
                             "line %" PRIu64 " (row %" PRIu64 "): blank, and rows follow it",
                             line_number(t, o->n), o->n);
        } else {
            emb_status status = add_offset(o, at, err);
            if (status)
                return status;
        }
        at += n + 1;
    }
    return EMB_OK;
}

/* The line of a row, trimmed. */
static emb_str line_of(const struct embi_reader *r, uint64_t row)
{
    const char *s = ((const struct embi_text *)r->state)->data + r->row_offsets[row];
    size_t n = row + 1 < r->rows ? (size_t)(r->row_offsets[row + 1] - r->row_offsets[row] - 1)
                                 : embi_line_bytes(s, r->io->size - r->row_offsets[row]);
    return (emb_str){s, embi_line_trim(s, n)};
}

static emb_status in_line(const struct embi_reader *r, uint64_t row, emb_err *err)
{
    return embi_fail_in(err, "line %" PRIu64 " (row %" PRIu64 ")", line_number(r->state, row), row);
}

static emb_status too_few(const struct embi_reader *r, uint64_t row, size_t found, emb_err *err)
{
    embi_fail(err, EMB_BAD_DATA, (int64_t)row, "expected %" PRIu32 " values, found %zu", r->dims,
              found);
    return in_line(r, row, err);
}

/* A value takes two bytes, with its blank: a header may not claim a d that no line has room for,
 * since memory is asked for by d. */
static emb_status check_dims(const struct embi_reader *r, emb_err *err)
{
    size_t found;
    if (r->rows == 0 || r->dims <= r->io->size / 2)
        return EMB_OK;
    const emb_str line = line_of(r, 0);
    embi_line_values(line.s, line.n, r->dims, &found);
    return too_few(r, 0, found, err);
}

emb_status embi_text_walk(struct embi_reader *r, emb_err *err)
{
    struct embi_text *t = r->state;
    struct offsets o = {0};
    const uint64_t limit = r->opts.limit_rows ? r->opts.limit_rows : UINT64_MAX;
    const void *data;
    emb_status status = embi_io_map(r->io, &data, err);
    if (status)
        return status;
    t->data = data;
    status = find_rows(t, r->io->size, limit, &o, err);
    if (!status && t->header && o.n < limit && o.n != t->header_rows)
        status = embi_fail(err, EMB_BAD_DATA, (int64_t)o.n,
                           "the header says %" PRIu64 " rows, the file has %" PRIu64,
                           t->header_rows, o.n);
    r->rows = o.n;
    r->row_offsets = o.v;
    if (!status)
        status = check_dims(r, err);
    if (status) {
        free(r->row_offsets);
        r->row_offsets = NULL;
        r->rows = 0;
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

/* Tokens whose last word is a number: they are possible ("Apollo 11"), but so is a row with a value
 * too many, which then has a wrong token and wrong numbers. */
struct suspects {
    uint64_t n, row; /* the first one's */
    emb_str token;
};

static void suspect(struct suspects *s, emb_str token, uint64_t row)
{
    size_t at = token.n;
    float x;
    while (at > 0 && !embi_words_blank(token.s[at - 1]))
        at--;
    if (!embi_read_f32(token.s + at, token.n - at, &x))
        return;
    if (s->n++ == 0) {
        s->row = row;
        s->token = token;
    }
}

static emb_status report(const struct embi_reader *r, const struct suspects *s, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    if (s->n == 0)
        return EMB_OK;
    embi_show(shown, s->token);
    if (r->opts.strict) {
        embi_fail(err, EMB_BAD_DATA, (int64_t)s->row,
                  "the token '%s' ends with a number: more than %" PRIu32 " values?", shown,
                  r->dims);
        return in_line(r, s->row, err);
    }
    embi_log(r->env, EMB_LOG_WARNING, r->path,
             "%" PRIu64 " of the tokens end with a number, the first is '%s' in line %" PRIu64
             ": has it more than %" PRIu32 " values?",
             s->n, shown, line_number(r->state, s->row), r->dims);
    return EMB_OK;
}

emb_status embi_text_tokens(struct embi_reader *r, emb_err *err)
{
    struct suspects suspects = {0};
    emb_status status = EMB_OK;
    emb_str *tokens = malloc(r->rows * sizeof *tokens); /* [V]; V offsets were allocated before */
    if (!tokens)
        return embi_fail_memory(err, r->rows * sizeof *tokens, "tokens");
    for (uint64_t row = 0; row < r->rows && !status; row++) {
        size_t found;
        emb_str line = line_of(r, row);
        const char *values = embi_line_values(line.s, line.n, r->dims, &found);
        if (!values) {
            status = too_few(r, row, found, err);
            continue;
        }
        tokens[row] = (emb_str){line.s, (size_t)(values - line.s) - 1};
        if (found > r->dims)
            suspect(&suspects, tokens[row], row);
    }
    if (!status)
        status = report(r, &suspects, err);
    if (status)
        free(tokens);
    else
        r->tokens = tokens;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Numbers
 */

static emb_status not_a_number(const struct embi_reader *r, uint64_t row, emb_str rest,
                               emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    size_t n = 0;
    while (n < rest.n && !embi_words_blank(rest.s[n]))
        n++;
    embi_fail(err, EMB_BAD_DATA, (int64_t)row, "'%s' is not a number",
              embi_show(shown, (emb_str){rest.s, n}));
    return in_line(r, row, err);
}

/* A field that the kernel does not read has others of its kind beside it: so many are read one by
 * one before it is asked again. */
enum { SLOW_FIELDS = 8 };

/* The first number of a row; NULL: there are too few. */
static const char *values_of(const struct embi_reader *r, uint64_t row, emb_str line, size_t *found)
{
    if (r->tokens) /* which were cut off before them */
        return r->tokens[row].s + r->tokens[row].n + 1;
    return embi_line_values(line.s, line.n, r->dims, found);
}

/* One row into dst [d]. */
static emb_status parse_row(const struct embi_reader *r, uint64_t row, float *dst, emb_err *err)
{
    const emb_str line = line_of(r, row);
    const char *end = line.s + line.n;
    /* the scanner stops at the line's end, but is faster the more it may look at */
    const char *file = ((const struct embi_text *)r->state)->data, *file_end = file + r->io->size;
    size_t found = 0;
    const char *p = values_of(r, row, line, &found);
    if (!p)
        return too_few(r, row, found, err);
    for (uint32_t c = 0, slowly = 0; c < r->dims;) {
        size_t used = 0;
        if (slowly == 0 && p - file >= EMBI_FIELDS_BEFORE) {
            c += (uint32_t)r->env->kern->scan_fields(p, (size_t)(file_end - p), dst + c,
                                                     r->dims - c, &used);
            slowly = SLOW_FIELDS;
        } else {
            used = embi_scan_f32(p, (size_t)(file_end - p), dst + c);
            if (used == 0)
                return not_a_number(r, row, (emb_str){p, (size_t)(end - p)}, err);
            slowly -= slowly > 0;
            c++;
        }
        p = used < (size_t)(end - p) ? p + used : end; /* a blank may be behind the last one */
        while (p < end && embi_words_blank(*p))
            p++;
    }
    return p == end ? EMB_OK : not_a_number(r, row, (emb_str){p, (size_t)(end - p)}, err);
}

emb_status embi_text_rows(const struct embi_reader *r, uint64_t first, uint64_t n, float *dst,
                          emb_err *err)
{
    emb_status status = EMB_OK;
    for (uint64_t i = 0; i < n && !status; i++)
        status = parse_row(r, first + i, dst + i * r->dims, err);
    return status;
}
