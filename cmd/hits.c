/* hits.c - hits as lines for a pipe, as columns for people, or as JSON. Arrays are hits_array.c's.
 */
#include "miss.h"
#include "similar.h"

#include <math.h>
#include <string.h>

enum { BAR_COLUMNS = 30, TOKEN_COLUMNS = 40 };

const char *metric_name(const struct similar *s)
{
    static const char *const names[] = {"cosine", "dot", "euclidean"};
    return names[s->metric];
}

static emb_str label_of(const struct query *q)
{
    return (emb_str){q->label.s, q->label.n};
}

/* False for a row without a token. */
static bool token_of(const struct similar *s, uint64_t row, emb_str *token)
{
    emb_err err;
    return s->info.has_tokens && emb_table_token(s->table, row, token, &err) == EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Lines and columns
 */

/* A row's token as it is to be printed; false for a row without one. */
static bool shown_token(const struct hits *h, uint64_t row, emb_str *token)
{
    return h->s->info.has_tokens && row_token(h->s->table, row, shows_text(h->s->run), token);
}

/* A row's token, else its id (`#5` where others have tokens). */
static void put_name(struct hits *h, uint64_t row)
{
    emb_str token;
    if (shown_token(h, row, &token)) {
        out_token(&h->out, token, '\t');
        return;
    }
    if (h->s->info.has_tokens)
        out_byte(&h->out, '#');
    out_u64(&h->out, row);
}

static size_t digits_of(uint64_t x)
{
    size_t n = 1;
    while (x >= 10) {
        x /= 10;
        n++;
    }
    return n;
}

static size_t name_width(struct hits *h, uint64_t row)
{
    emb_str token;
    if (shown_token(h, row, &token))
        return out_token_width(&h->out, token, '\t');
    return digits_of(row) + h->s->info.has_tokens;
}

static size_t score_width(const struct hits *h, double score)
{
    char text[EMB_NUMBER_MAX];
    return emb_number_digits(text, score, (int)h->s->opts->digits);
}

static void put_lines(struct hits *h, const struct query *q, const emb_hit *hits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out_token(&h->out, label_of(q), '\t');
        out_byte(&h->out, '\t');
        put_name(h, hits[i].row);
        out_byte(&h->out, '\t');
        out_u64(&h->out, hits[i].row);
        out_byte(&h->out, '\t');
        out_score(&h->out, hits[i].score, (int)h->s->opts->digits);
        out_byte(&h->out, '\n');
    }
}

struct columns {
    size_t name, id, score; /* widths                                                             */
    size_t bar;             /* of the longest bar                                                 */
    double largest;         /* the score whose bar is that long                                   */
};

static void measure(struct hits *h, const emb_hit *hits, size_t n, struct columns *c)
{
    *c = (struct columns){.largest = h->s->metric == EMB_COSINE ? 1 : 0};
    for (size_t i = 0; i < n; i++) {
        c->name = embi_max(c->name, name_width(h, hits[i].row));
        c->id = embi_max(c->id, digits_of(hits[i].row));
        c->score = embi_max(c->score, score_width(h, hits[i].score));
        c->largest = fmax(c->largest, fabs(hits[i].score));
    }
    c->name = embi_min(c->name, TOKEN_COLUMNS);
    size_t used = 2 + c->name + 2 + c->id + 2 + c->score + 2;
    size_t columns = h->s->run->columns;
    c->bar = columns > used ? embi_min(columns - used, BAR_COLUMNS) : 0;
}

/* A bar behind the score, which was just printed. */
static void put_bar(struct hits *h, const struct columns *c, double score)
{
    double share = c->largest > 0 ? fabs(score) / c->largest : 0;
    size_t n = (size_t)(share * (double)c->bar + 0.5);
    if (n)
        out_fill(&h->out, ' ', 2 + c->score - score_width(h, score));
    for (size_t i = 0; i < n; i++)
        out_text(&h->out, h->s->run->env.plain ? "#" : "\u2587");
}

static void put_heading(struct hits *h, const struct query *q)
{
    bool plain = h->s->run->env.plain;
    emb_str label = label_of(q), token;
    if (h->begun)
        out_byte(&h->out, '\n');
    out_text(&h->out, plain ? "" : "\033[1m");
    out_token(&h->out, label, '\t');
    out_text(&h->out, plain ? "" : "\033[0m");
    if (q->is_row && token_of(h->s, query_term(q, 0).row, &token) &&
        !embi_str_equal(label, token)) {
        out_text(&h->out, "  ");
        out_token(&h->out, token, '\t');
    }
    out_byte(&h->out, '\n');
}

static void put_screen(struct hits *h, const struct query *q, const emb_hit *hits, size_t n)
{
    struct columns c;
    measure(h, hits, n, &c);
    put_heading(h, q);
    for (size_t i = 0; i < n; i++) {
        size_t name = name_width(h, hits[i].row);
        out_text(&h->out, "  ");
        put_name(h, hits[i].row);
        out_fill(&h->out, ' ', 2 + (name < c.name ? c.name - name : 0));
        out_fill(&h->out, ' ', c.id - digits_of(hits[i].row));
        out_u64(&h->out, hits[i].row);
        out_text(&h->out, "  ");
        out_score(&h->out, hits[i].score, (int)h->s->opts->digits);
        put_bar(h, &c, hits[i].score);
        out_byte(&h->out, '\n');
    }
    if (n == 0)
        out_text(&h->out, "  no hits\n");
}

/* ------------------------------------------------------------------------------------------------
 * JSON
 */

void hits_json_error(struct out *out, const struct similar *s, const struct query *q)
{
    emb_str unknown = {q->unknown.s, q->unknown.n};
    if (q->code == EXIT_NO && !embi_str_equal(unknown, label_of(q)))
        out_json_token(out, "token", unknown);
    if (q->code == EXIT_NO) {
        miss_json(out, s->run, s->table, unknown);
        return;
    }
    out_text(out, "\"error\":");
    out_json_string(out, (emb_str){q->error.s, q->error.n});
}

/* The rows a query is made of: `"id":5,"piece":"cat",`, or a list of terms. */
static void json_terms(struct hits *h, const struct query *q)
{
    struct out *out = &h->out;
    emb_str token;
    size_t n = query_count(q);
    if (!q->is_row && n)
        out_text(out, "\"terms\":[");
    for (size_t i = 0; i < n; i++) {
        struct term term = query_term(q, i);
        out_text(out, q->is_row ? "\"id\":" : i ? ",{\"id\":" : "{\"id\":");
        out_u64(out, term.row);
        out_byte(out, ',');
        if (token_of(h->s, term.row, &token))
            out_json_token(out, "piece", token);
        if (q->is_row)
            continue;
        out_text(out, "\"weight\":");
        out_json_score(out, term.weight, 0);
        out_byte(out, '}');
    }
    if (!q->is_row && n)
        out_text(out, "],");
}

static void json_hit(struct hits *h, const emb_hit *hit)
{
    out_byte(&h->out, '{');
    if (h->s->info.has_tokens)
        out_json_row_token(&h->out, h->s->table, hit->row);
    out_text(&h->out, "\"id\":");
    out_u64(&h->out, hit->row);
    out_text(&h->out, ",\"score\":");
    out_json_score(&h->out, hit->score, (int)h->s->opts->digits);
    out_byte(&h->out, '}');
}

static void put_json(struct hits *h, const struct query *q, const emb_hit *hits, size_t n)
{
    struct out *out = &h->out;
    out_byte(out, '{');
    out_json_token(out, "query", label_of(q));
    if (q->code) {
        hits_json_error(out, h->s, q);
        out_text(out, "}\n");
        return;
    }
    json_terms(h, q);
    out_print(out, "\"metric\":\"%s\",", metric_name(h->s));
    if (h->s->opts->method == METHOD_MUL)
        out_text(out, "\"method\":\"mul\",");
    out_text(out, "\"hits\":[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            out_byte(out, ',');
        json_hit(h, &hits[i]);
    }
    out_text(out, "]}\n");
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

int hits_open(struct hits *h, struct similar *s, uint64_t k)
{
    const char *path = s->opts->common.output;
    *h = (struct hits){.s = s, .k = k};
    if (strcmp(s->format, "json") == 0)
        h->kind = HITS_JSON;
    else if (strcmp(s->format, "text") != 0)
        h->kind = HITS_ARRAYS;
    else
        h->kind = s->run->out_tty && is_stream(path) ? HITS_SCREEN : HITS_LINES;
    if (h->kind == HITS_ARRAYS)
        return arrays_open(h);
    int code = load_tokens(s->run, s->table, &s->info);
    if (code)
        h->s = NULL; /* there is nothing to close */
    return code ? code : out_open(s->run, path, &h->out);
}

int hits_put(struct hits *h, const struct query *q, const emb_hit *hits, size_t n)
{
    switch (h->kind) {
    case HITS_ARRAYS: return arrays_put(h, hits, n);
    case HITS_JSON: put_json(h, q, hits, n); break;
    case HITS_LINES: put_lines(h, q, hits, n); break;
    case HITS_SCREEN:
        if (!q->code)
            put_screen(h, q, hits, n);
        h->begun = h->begun || !q->code;
        break;
    }
    return h->out.code;
}

int hits_flush(struct hits *h)
{
    return h->kind == HITS_ARRAYS ? EXIT_DONE : out_flush(&h->out);
}

int hits_close(struct hits *h, int code)
{
    if (!h->s) /* hits_open was not reached */
        return code;
    return h->kind == HITS_ARRAYS ? arrays_close(h, code) : out_close(&h->out, code);
}
