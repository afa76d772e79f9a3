/* similar_scores.c - scores of named rows with each other: --pairs, and --matrix.
 */
#include "similar.h"

#include <string.h>

enum { MOST_QUERIES = 512, SCORE_COLUMNS = 9 };

static bool is_json(const struct similar *s)
{
    return strcmp(s->format, "json") == 0;
}

static emb_str string_of(const struct embi_buf *b)
{
    return (emb_str){b->s, b->n};
}

static void put_score(struct similar *s, struct out *out, const double *a, const double *b)
{
    double score = emb_score(a, b, s->info.dims, s->metric);
    if (is_json(s))
        out_json_score(out, score, (int)s->opts->digits);
    else
        out_score(out, score, (int)s->opts->digits);
}

/* ------------------------------------------------------------------------------------------------
 * Pairs
 */

/* `{"a":"cat","b":"dog","ids":[5450,2926],"metric":"cosine","score":0.92}`, or an error. */
static void json_pair(struct batch *b, struct out *out, size_t i)
{
    struct similar *s = b->s;
    const struct query *pair = &b->queries[i];
    size_t d = s->info.dims;
    out_byte(out, '{');
    out_json_token(out, "a", string_of(&pair[0].label));
    out_json_token(out, "b", string_of(&pair[1].label));
    if (pair[0].code || pair[1].code) {
        hits_json_error(out, s, pair[0].code ? &pair[0] : &pair[1]);
    } else {
        out_text(out, "\"ids\":[");
        out_u64(out, query_term(&pair[0], 0).row);
        out_byte(out, ',');
        out_u64(out, query_term(&pair[1], 0).row);
        out_print(out, "],\"metric\":\"%s\",\"score\":", metric_name(s));
        put_score(s, out, b->vectors + i * d, b->vectors + (i + 1) * d);
    }
    out_text(out, "}\n");
}

static void text_pair(struct batch *b, struct out *out, size_t i)
{
    const struct query *pair = &b->queries[i];
    size_t d = b->s->info.dims;
    if (pair[0].code || pair[1].code)
        return;
    for (size_t t = 0; t < 2; t++) {
        out_token(out, string_of(&pair[t].label), '\t');
        out_byte(out, '\t');
    }
    put_score(b->s, out, b->vectors + i * d, b->vectors + (i + 1) * d);
    out_byte(out, '\n');
}

int similar_pairs(struct similar *s)
{
    struct batch b;
    struct out out;
    int code = out_open(s->run, s->opts->common.output, &out);
    if (code)
        return out_close(&out, code);
    code = batch_new(&b, s, MOST_QUERIES);
    b.size &= ~(size_t)1; /* a pair is never cut */
    while (!code && !s->queries.ended) {
        code = batch_read(&b);
        for (size_t i = 0; !code && i < b.n; i += 2) {
            if (is_json(s))
                json_pair(&b, &out, i);
            else
                text_pair(&b, &out, i);
            code = out.code;
        }
        if (!code && s->queries.paused)
            code = out_flush(&out);
    }
    batch_free(&b);
    return out_close(&out, worse(code, s->code));
}

/* ------------------------------------------------------------------------------------------------
 * The matrix
 */

struct matrix {
    struct similar *s;
    struct out out;
    size_t n;                /* rows that were named and found                                    */
    struct embi_buf vectors; /* f64 [n, d] */
    struct embi_buf ids;     /* u64 [n] */
    struct embi_buf labels;  /* their bytes, one after the other ...                              */
    struct embi_buf ends;    /* ... and where each ends                            size_t [n]     */
};

static emb_str label_at(const struct matrix *m, size_t i)
{
    const size_t *ends = (const size_t *)(const void *)m->ends.s;
    size_t begin = i ? ends[i - 1] : 0;
    return (emb_str){m->labels.s + begin, ends[i] - begin};
}

static const double *vector_at(const struct matrix *m, size_t i)
{
    return (const double *)(const void *)m->vectors.s + i * m->s->info.dims;
}

static int collect(struct matrix *m, struct batch *b)
{
    size_t d = m->s->info.dims;
    int code = EXIT_DONE;
    while (!code && !m->s->queries.ended) {
        code = batch_read(b);
        for (size_t i = 0; !code && i < b->n; i++) {
            const struct query *q = &b->queries[i];
            if (q->code)
                continue;
            uint64_t row = query_term(q, 0).row;
            embi_buf_add(&m->vectors, b->vectors + i * d, d * sizeof *b->vectors);
            embi_buf_add(&m->ids, &row, sizeof row);
            embi_buf_add(&m->labels, q->label.s, q->label.n);
            embi_buf_add(&m->ends, &m->labels.n, sizeof m->labels.n);
            m->n++;
        }
    }
    bool failed = m->vectors.failed || m->ids.failed || m->labels.failed || m->ends.failed;
    return failed ? fail_with(m->s->run, EXIT_MEMORY, NULL, "out of memory for the rows") : code;
}

static void text_matrix(struct matrix *m)
{
    struct out *out = &m->out;
    for (size_t j = 0; j < m->n; j++) {
        out_byte(out, '\t');
        out_token(out, label_at(m, j), '\t');
    }
    out_byte(out, '\n');
    for (size_t i = 0; i < m->n && !out->code; i++) {
        out_token(out, label_at(m, i), '\t');
        for (size_t j = 0; j < m->n; j++) {
            out_byte(out, '\t');
            put_score(m->s, out, vector_at(m, i), vector_at(m, j));
        }
        out_byte(out, '\n');
    }
}

/* A cell of column j, at its right edge. */
static void put_right(struct matrix *m, emb_str text, size_t j)
{
    size_t label = out_token_width(&m->out, label_at(m, j), '\t');
    size_t column = 2 + embi_max(label, SCORE_COLUMNS);
    size_t width = out_token_width(&m->out, text, '\t');
    out_fill(&m->out, ' ', column > width ? column - width : 1);
    out_token(&m->out, text, '\t');
}

/* The same in columns, for people. */
static void screen_matrix(struct matrix *m)
{
    struct out *out = &m->out;
    size_t first = 0;
    for (size_t i = 0; i < m->n; i++)
        first = embi_max(first, out_token_width(out, label_at(m, i), '\t'));
    out_fill(out, ' ', first);
    for (size_t j = 0; j < m->n; j++)
        put_right(m, label_at(m, j), j);
    out_byte(out, '\n');
    for (size_t i = 0; i < m->n && !out->code; i++) {
        out_token(out, label_at(m, i), '\t');
        out_fill(out, ' ', first - out_token_width(out, label_at(m, i), '\t'));
        for (size_t j = 0; j < m->n; j++) {
            char text[EMB_NUMBER_MAX];
            double score =
                emb_score(vector_at(m, i), vector_at(m, j), m->s->info.dims, m->s->metric);
            put_right(m, (emb_str){text, emb_number_digits(text, score, (int)m->s->opts->digits)},
                      j);
        }
        out_byte(out, '\n');
    }
}

static void json_matrix(struct matrix *m)
{
    struct out *out = &m->out;
    out_text(out, "{\"tokens\":[");
    for (size_t i = 0; i < m->n; i++) {
        if (i)
            out_byte(out, ',');
        out_json_string(out, label_at(m, i));
    }
    out_text(out, "],\"ids\":");
    out_json_elements(out, EMB_U64, m->ids.s, m->n);
    out_print(out, ",\"metric\":\"%s\",\"scores\":[", metric_name(m->s));
    for (size_t i = 0; i < m->n && !out->code; i++) {
        out_text(out, i ? ",[" : "[");
        for (size_t j = 0; j < m->n; j++) {
            if (j)
                out_byte(out, ',');
            put_score(m->s, out, vector_at(m, i), vector_at(m, j));
        }
        out_byte(out, ']');
    }
    out_text(out, "]}\n");
}

int similar_matrix(struct similar *s)
{
    struct batch b;
    struct matrix m = {.s = s};
    const char *path = s->opts->common.output;
    int code = out_open(s->run, path, &m.out);
    if (code)
        return out_close(&m.out, code);
    code = batch_new(&b, s, MOST_QUERIES);
    if (!code)
        code = collect(&m, &b);
    if (!code && is_json(s))
        json_matrix(&m);
    else if (!code && m.n)
        (s->run->out_tty && is_stream(path) ? screen_matrix : text_matrix)(&m);
    batch_free(&b);
    embi_buf_free(&m.vectors);
    embi_buf_free(&m.ids);
    embi_buf_free(&m.labels);
    embi_buf_free(&m.ends);
    return out_close(&m.out, worse(code, s->code));
}
