/* query.c - reads queries: words are resolved to rows here, vectors are made elsewhere.
 */
#include "query.h"
#include "expr.h"
#include "miss.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { PLACE_MAX = 48 };

size_t query_count(const struct query *q)
{
    return q->terms.n / sizeof(struct term);
}

struct term query_term(const struct query *q, size_t i)
{
    struct term term;
    memcpy(&term, q->terms.s + i * sizeof term, sizeof term);
    return term;
}

void query_free(struct query *q)
{
    embi_buf_free(&q->label);
    embi_buf_free(&q->terms);
    embi_buf_free(&q->error);
    embi_buf_free(&q->unknown);
}

static void begin(struct query *q, const char *label, size_t n)
{
    q->label.n = q->terms.n = q->error.n = q->unknown.n = 0;
    q->is_row = false;
    q->code = EXIT_DONE;
    embi_buf_add(&q->label, label, n);
}

void query_reject(struct run *run, struct query *q, const char *format, ...)
{
    char why[400];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    q->code = fail_with(run, EXIT_DATA, NULL, "%s", why);
    q->error.n = 0;
    embi_buf_text(&q->error, why);
}

/* ------------------------------------------------------------------------------------------------
 * Words
 */

static int find(struct queries *s, struct query *q, emb_str word, uint64_t *row)
{
    if (!s->info->has_tokens)
        return fail_with(
            s->run, EXIT_DATA, s->run->table_name,
            "the table has no tokens: name rows by id ('#0', '#1' ...), or say --vocab FILE");
    int code = find_token(s->run, s->table, word, row);
    if (code != EXIT_NO)
        return code;
    if (!q->code) { /* of several, the first one counts */
        q->code = EXIT_NO;
        embi_buf_add(&q->unknown, word.s, word.n);
    }
    return EXIT_DONE;
}

int query_resolve(struct queries *s, struct query *q, const char *place, emb_str word,
                  bool is_token, uint64_t *row)
{
    char range[RANGE_MAX];
    *row = 0;
    if (is_token || word.n < 2 || word.s[0] != '#')
        return find(s, q, word, row);
    switch (id_read(word.s + 1, word.n - 1, s->info->rows, row)) {
    case ID_OK: return EXIT_DONE;
    case ID_OUTSIDE:
        query_reject(s->run, q, "%s: id %.*s is outside %s", place, (int)embi_min(word.n - 1, 40),
                     word.s + 1, id_range(range, s->info->rows));
        return EXIT_DONE;
    case ID_NONE: break;
    }
    return find(s, q, word, row); /* #tag, ##cat */
}

static int add_term(struct queries *s, struct query *q, const char *place, emb_str word,
                    double weight)
{
    struct term term = {.weight = weight};
    int code = query_resolve(s, q, place, word, false, &term.row);
    embi_buf_add(&q->terms, &term, sizeof term);
    return code;
}

/* A query for one row. */
static int read_word(struct queries *s, struct query *q, const char *place, emb_str word,
                     bool is_token)
{
    struct term term = {.weight = 1};
    begin(q, word.s, word.n);
    q->is_row = true;
    int code = query_resolve(s, q, place, word, is_token, &term.row);
    embi_buf_add(&q->terms, &term, sizeof term);
    return code;
}

static emb_str string(const char *cstr)
{
    return (emb_str){cstr, strlen(cstr)};
}

/* ------------------------------------------------------------------------------------------------
 * Arguments
 */

static int read_expr(struct queries *s, struct query *q, const char *text)
{
    struct expr e = {.at = text};
    struct expr_term term;
    int code = EXIT_DONE;
    begin(q, text, strlen(text));
    while (!code && expr_next(&e, &term) == EXPR_TERM)
        code = add_term(s, q, "--expr", term.word, term.weight);
    if (q->code == EXIT_NO &&
        (memchr(q->unknown.s, '+', q->unknown.n) || memchr(q->unknown.s, '-', q->unknown.n)))
        note(s->run, NULL, "in --expr blanks part words and signs: 'king - man + woman'");
    return code;
}

/* A is to B as C is to ?: B - A + C. */
static int read_analogy(struct queries *s, struct query *q, const struct opt_item *abc)
{
    static const int order[] = {1, 0, 2};
    static const char *const signs[] = {"", " - ", " + "};
    int code = EXIT_DONE;
    begin(q, "", 0);
    for (int i = 0; !code && i < 3; i++) {
        const char *word = abc[order[i]].s;
        embi_buf_text(&q->label, signs[i]);
        embi_buf_text(&q->label, word);
        code = add_term(s, q, "--analogy", string(word), i == 1 ? -1 : 1);
    }
    return code;
}

static int read_id(struct queries *s, struct query *q)
{
    char label[24];
    int n = snprintf(label, sizeof label, "#%" PRIu64, s->first);
    s->in_span = s->first < s->last;
    s->first++;
    return read_word(s, q, "--id", (emb_str){label, (size_t)n}, false);
}

static int read_argument(struct queries *s, struct query *q)
{
    const struct opt_item *item = &s->run->items.v[s->item];
    char place[PLACE_MAX];
    if (s->in_span)
        return read_id(s, q);
    s->item += item->tag == QUERY_ANALOGY ? 3 : 1;
    switch (item->tag) {
    case QUERY_EXPR: return read_expr(s, q, item->s);
    case QUERY_ANALOGY: return read_analogy(s, q, item);
    case QUERY_TOKEN: return read_word(s, q, "--token", string(item->s), true);
    case QUERY_ID: {
        int code = id_span(s->run, item->s, s->info->rows, &s->first, &s->last);
        return code ? code : read_id(s, q);
    }
    default: break;
    }
    snprintf(place, sizeof place, "argument %d", item->at);
    int code = read_word(s, q, place, string(item->s), false);
    if (code == EXIT_DATA || q->code == EXIT_NO)
        miss_hint(s->run, item->s);
    if (q->code == EXIT_NO && (strstr(item->s, " + ") || strstr(item->s, " - ")))
        note(s->run, NULL, "--expr takes sums of rows");
    return code;
}

int queries_check(struct run *run)
{
    for (size_t i = 0; i < run->items.n; i++) {
        const struct opt_item *item = &run->items.v[i];
        struct expr e = {.at = item->s};
        struct expr_term term;
        enum expr_event event = EXPR_TERM;
        while (item->tag == QUERY_EXPR && event == EXPR_TERM)
            event = expr_next(&e, &term);
        if (event == EXPR_BAD)
            return usage_error(run, "--expr '%s': %s", item->s, e.why);
    }
    return EXIT_DONE;
}

/* How many queries the arguments make. Ids out of range are seen here, before any answer. */
static int count_arguments(struct queries *s)
{
    int code = EXIT_DONE;
    const struct opt_items *items = &s->run->items;
    s->total = 0;
    for (size_t i = 0; !code && i < items->n; i += items->v[i].tag == QUERY_ANALOGY ? 3 : 1) {
        uint64_t first = 0, last = 0;
        if (items->v[i].tag == QUERY_ID)
            code = id_span(s->run, items->v[i].s, s->info->rows, &first, &last);
        s->total += last - first + 1;
    }
    return code;
}

/* ------------------------------------------------------------------------------------------------
 * Lines, and whole tables
 */

static int read_pair(struct queries *s, struct query *q, const char *place, emb_str line)
{
    const char *tab = memchr(line.s, '\t', line.n);
    size_t n = tab ? (size_t)(tab - line.s) : 0;
    if (!tab)
        return fail_with(s->run, EXIT_DATA, NULL, "%s: expected two tokens with a tab between",
                         place);
    int code = read_word(s, &q[0], place, (emb_str){line.s, n}, false);
    if (code)
        return code;
    return read_word(s, &q[1], place, (emb_str){tab + 1, line.n - n - 1}, false);
}

/* What ends the run comes after the answers to the lines before it, wherever input has paused: it
 * is kept for the next call. */
static int read_lines(struct queries *s, struct query *q, size_t max, size_t *n)
{
    size_t step = s->pairs ? 2 : 1;
    char place[PLACE_MAX];
    emb_str line;
    while (!s->failed && *n + step <= max) {
        switch (input_line(&s->in, &line, &s->failed)) {
        case INPUT_END: s->ended = true; return EXIT_DONE;
        case INPUT_PAUSE: s->paused = true; return EXIT_DONE;
        case INPUT_FAILED: continue;
        case INPUT_LINE: break;
        }
        snprintf(place, sizeof place, "line %" PRIu64, ++s->line);
        s->failed =
            s->pairs ? read_pair(s, q + *n, place, line) : read_word(s, q + *n, place, line, false);
        if (!s->failed)
            *n += step;
    }
    return *n ? EXIT_DONE : s->failed;
}

/* A row of the table, or of the file of vectors, whose name it then has. */
static void read_row(struct queries *s, struct query *q)
{
    const emb_table *table = s->vectors ? s->vectors : s->table;
    struct term term = {s->next++, 1};
    emb_str token;
    emb_err err;
    begin(q, "", 0);
    q->row = term.row;
    if (emb_table_token(table, term.row, &token, &err) == EMB_OK)
        embi_buf_add(&q->label, token.s, token.n);
    else
        embi_buf_print(&q->label, s->vectors ? "%" PRIu64 : "#%" PRIu64, term.row);
    q->is_row = !s->vectors;
    if (q->is_row)
        embi_buf_add(&q->terms, &term, sizeof term);
}

int queries_read(struct queries *s, struct query *q, size_t max, size_t *n)
{
    int code = EXIT_DONE;
    *n = 0;
    s->paused = false;
    if (s->kind == QUERIES_LINES)
        return read_lines(s, q, max, n);
    for (; !code && *n < max && !s->ended; ++*n) {
        if (s->kind == QUERIES_ARGUMENTS)
            code = read_argument(s, &q[*n]);
        else
            read_row(s, &q[*n]);
        s->ended = --s->total == 0;
    }
    return code;
}

int queries_open(struct queries *s, struct run *run, const emb_table *table,
                 const emb_table_info *info, enum queries_kind kind, const char *path)
{
    *s = (struct queries){.run = run, .table = table, .info = info, .kind = kind};
    int code = EXIT_DONE;
    switch (kind) {
    case QUERIES_LINES: s->total = EMB_ROWS_UNKNOWN; return input_open(&s->in, run, path);
    case QUERIES_ARGUMENTS: code = count_arguments(s); break;
    case QUERIES_TABLE: s->total = info->rows; break;
    case QUERIES_VECTORS:
        code = open_other_table(run, path, &s->vectors, &s->vectors_info);
        s->total = s->vectors_info.rows;
        watch_file(run, run->table_name);
        break;
    }
    s->ended = s->total == 0;
    if (!code && s->vectors && s->vectors_info.dims != info->dims)
        code = fail_with(run, EXIT_DATA, path, "vectors of %u dimensions; the table has %u",
                         s->vectors_info.dims, info->dims);
    return code;
}

void queries_close(struct queries *s)
{
    if (s->kind == QUERIES_LINES)
        input_close(&s->in);
    emb_table_close(s->vectors);
}
