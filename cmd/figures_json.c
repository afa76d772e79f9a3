/* figures_json.c - the figures of `embtool stats` as one JSON object (docs/commands/stats.md). */
#include "figures.h"

#include <string.h>

enum { SHORTEST = 0 };

static void key(struct out *out, const char *name)
{
    out_print(out, "\"%s\":", name);
}

static void text(struct out *out, const char *name, const char *s)
{
    key(out, name);
    if (s)
        out_json_string(out, (emb_str){s, strlen(s)});
    else
        out_text(out, "null");
    out_byte(out, ',');
}

static void count(struct out *out, const char *name, uint64_t x)
{
    key(out, name);
    out_u64(out, x);
    out_byte(out, ',');
}

static void number(struct out *out, const char *name, double x)
{
    key(out, name);
    out_json_score(out, x, SHORTEST);
    out_byte(out, ',');
}

/* Members so far end in a comma; this takes the place of the last one. */
static void last_number(struct out *out, const char *name, double x, const char *end)
{
    key(out, name);
    out_json_score(out, x, SHORTEST);
    out_text(out, end);
}

/* Nulls where the table is part of no model. */
static void describe_model(const emb_model_info *m, struct out *out)
{
    if (m->tied < 0)
        text(out, "tied", NULL);
    else
        out_print(out, "\"tied\":%s,", m->tied ? "true" : "false");
    if (m->params) {
        count(out, "model_params", m->params);
        number(out, "share", (double)m->table_params / (double)m->params);
    } else {
        text(out, "model_params", NULL);
        text(out, "share", NULL);
    }
}

static void describe(const struct figures *f, struct out *out)
{
    const emb_table_info *i = &f->info;
    text(out, "path", i->path);
    text(out, "format", i->format);
    text(out, "tensor", i->tensor);
    text(out, "dtype", emb_dtype_name(i->dtype));
    count(out, "rows", i->rows);
    count(out, "dims", i->dims);
    count(out, "bytes", i->bytes);
    count(out, "params", i->rows * i->dims);
    if (i->has_tokens)
        count(out, "tokens", f->tokens);
    else
        text(out, "tokens", NULL);
    describe_model(&f->model, out);
}

static void values(const struct figures *f, struct out *out)
{
    const emb_stats *s = &f->stats;
    number(out, "mean", s->mean);
    number(out, "std", s->std);
    number(out, "min", s->min);
    number(out, "max", s->max);
    out_text(out, "\"norm\":{");
    number(out, "min", s->norm_min);
    number(out, "p05", s->norm_p05);
    number(out, "median", s->norm_median);
    number(out, "p95", s->norm_p95);
    number(out, "max", s->norm_max);
    last_number(out, "mean", s->norm_mean, "},");
}

static void list(struct out *out, const char *name, const uint64_t *rows, uint64_t n)
{
    key(out, name);
    out_byte(out, '[');
    for (uint64_t i = 0; i < n; i++) {
        if (i)
            out_byte(out, ',');
        out_u64(out, rows[i]);
    }
    out_text(out, "],");
}

static void odd(const struct figures *f, struct out *out)
{
    static const char *const counts[ODD_KINDS] = {"zero_rows", "nonfinite_rows", "duplicate_rows",
                                                  "unowned_rows"};
    static const char *const lists[ODD_KINDS] = {"zero_ids", "nonfinite_ids", "duplicate_ids",
                                                 "unowned_ids"};
    for (int kind = 0; kind < ODD_KINDS; kind++) {
        uint64_t n = odd_rows(f, (enum odd)kind);
        const uint64_t *rows = odd_list(f, (enum odd)kind);
        if (kind == ODD_UNOWNED && !f->info.has_tokens)
            text(out, counts[kind], NULL);
        else
            count(out, counts[kind], n);
        if (f->rows)
            list(out, lists[kind], rows, rows ? n : 0);
    }
}

static void numbers(struct out *out, const char *name, const double *x, size_t n, const char *end)
{
    key(out, name);
    out_byte(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            out_byte(out, ',');
        out_json_score(out, x[i], SHORTEST);
    }
    out_text(out, end);
}

static void spectrum(const struct figures *f, struct out *out)
{
    const emb_spectrum *s = &f->spectrum;
    if (!f->with_spectrum)
        return;
    out_text(out, "\"spectrum\":{");
    number(out, "mean_cosine", s->mean_cosine);
    number(out, "effective_rank", s->effective_rank);
    numbers(out, "singular_values", s->values, f->listed, "],");
    numbers(out, "shares", s->shares, f->listed, "]},");
}

static void columns(const struct figures *f, struct out *out)
{
    const emb_stats *s = &f->stats;
    if (!f->columns)
        return;
    out_text(out, "\"columns\":[");
    for (uint32_t c = 0; c < f->info.dims; c++) {
        out_text(out, c ? ",{" : "{");
        number(out, "mean", s->col_mean[c]);
        number(out, "std", s->col_std[c]);
        number(out, "min", s->col_min[c]);
        last_number(out, "max", s->col_max[c], "}");
    }
    out_text(out, "],");
}

/* What the library warned of while it read the table, one line each. */
static void warnings(const struct figures *f, struct out *out)
{
    const struct embi_buf *b = &f->run->warnings;
    const char *separator = "";
    out_text(out, "\"warnings\":[");
    for (size_t at = 0; at < b->n;) {
        size_t n = strlen(b->s + at);
        out_text(out, separator);
        out_json_string(out, (emb_str){b->s + at, n});
        separator = ",";
        at += n + 1;
    }
    out_byte(out, ']');
}

void figures_json(const struct figures *f, struct out *out)
{
    out_byte(out, '{');
    describe(f, out);
    values(f, out);
    odd(f, out);
    spectrum(f, out);
    columns(f, out);
    warnings(f, out);
    out_text(out, "}\n");
}
