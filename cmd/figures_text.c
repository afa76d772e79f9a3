/* figures_text.c - the figures of `embtool stats` for people, and as TAB-separated lines for a
 * pipe. */
#include "figures.h"

#include <math.h>
#include <string.h>

enum { KEY_WIDTH = 16, BAR_WIDTH = 40, DIGITS = 6 };

static void key(const struct figures *f, struct out *out, const char *name)
{
    out_text(out, name);
    if (f->run->out_tty)
        out_fill(out, ' ', KEY_WIDTH - embi_min(strlen(name), KEY_WIDTH - 1));
    else
        out_byte(out, '\t');
}

static void count(const struct figures *f, struct out *out, const char *name, uint64_t x)
{
    key(f, out, name);
    out_u64(out, x);
    out_byte(out, '\n');
}

static void text(const struct figures *f, struct out *out, const char *name, const char *s)
{
    key(f, out, name);
    out_token(out, (emb_str){s, strlen(s)}, '\t');
    out_byte(out, '\n');
}

/* A row as its id and, where there is one, its token. */
static void name_row(const struct figures *f, struct out *out, uint64_t row)
{
    emb_str token;
    emb_err err;
    out_byte(out, '\t');
    out_u64(out, row);
    if (emb_table_token(f->table, row, &token, &err) == EMB_OK) {
        out_byte(out, '\t');
        out_token(out, token, '\t');
    }
}

static void number(const struct figures *f, struct out *out, const char *name, double x)
{
    key(f, out, name);
    out_score(out, x, DIGITS);
    out_byte(out, '\n');
}

static void extreme(const struct figures *f, struct out *out, const char *name, double x,
                    uint64_t row)
{
    key(f, out, name);
    out_score(out, x, DIGITS);
    if (f->stats.finite_rows)
        name_row(f, out, row);
    out_byte(out, '\n');
}

static void describe(const struct figures *f, struct out *out)
{
    const emb_table_info *i = &f->info;
    text(f, out, "path", i->path);
    text(f, out, "format", i->format);
    if (i->tensor)
        text(f, out, "tensor", i->tensor);
    text(f, out, "dtype", emb_dtype_name(i->dtype));
    count(f, out, "rows", i->rows);
    count(f, out, "dims", i->dims);
    count(f, out, "bytes", i->bytes);
    count(f, out, "params", i->rows * i->dims);
    if (i->has_tokens)
        count(f, out, "tokens", f->tokens);
    if (f->model.tied >= 0)
        text(f, out, "tied", f->model.tied ? "yes" : "no");
    if (f->model.params) {
        count(f, out, "model_params", f->model.params);
        number(f, out, "share", (double)f->model.table_params / (double)f->model.params);
    }
}

static void values(const struct figures *f, struct out *out)
{
    const emb_stats *s = &f->stats;
    number(f, out, "mean", s->mean);
    number(f, out, "std", s->std);
    number(f, out, "min", s->min);
    number(f, out, "max", s->max);
    extreme(f, out, "norm.min", s->norm_min, s->norm_min_row);
    number(f, out, "norm.p05", s->norm_p05);
    number(f, out, "norm.median", s->norm_median);
    number(f, out, "norm.p95", s->norm_p95);
    extreme(f, out, "norm.max", s->norm_max, s->norm_max_row);
    number(f, out, "norm.mean", s->norm_mean);
}

static void odd(const struct figures *f, struct out *out)
{
    static const char *const names[ODD_KINDS] = {"zero_rows", "nonfinite_rows", "duplicate_rows",
                                                 "unowned_rows"};
    for (int kind = 0; kind < ODD_KINDS; kind++)
        if (kind != ODD_UNOWNED || f->info.has_tokens)
            count(f, out, names[kind], odd_rows(f, (enum odd)kind));
}

static void list_odd(const struct figures *f, struct out *out)
{
    for (int kind = 0; f->rows && kind < ODD_KINDS; kind++) {
        const uint64_t *list = odd_list(f, (enum odd)kind);
        for (uint64_t i = 0; list && i < odd_rows(f, (enum odd)kind); i++) {
            out_text(out, odd_name((enum odd)kind));
            name_row(f, out, list[i]);
            out_byte(out, '\n');
        }
    }
}

static void spectrum(const struct figures *f, struct out *out)
{
    const emb_spectrum *s = &f->spectrum;
    if (!f->with_spectrum)
        return;
    number(f, out, "mean_cosine", s->mean_cosine);
    number(f, out, "effective_rank", s->effective_rank);
    out_text(out, "singular_value\tvalue\tshare\n");
    for (size_t i = 0; i < f->listed; i++) {
        out_u64(out, i + 1);
        out_byte(out, '\t');
        out_score(out, s->values[i], DIGITS);
        out_byte(out, '\t');
        out_score(out, s->shares[i], DIGITS);
        out_byte(out, '\n');
    }
}

static void columns(const struct figures *f, struct out *out)
{
    const emb_stats *s = &f->stats;
    if (!f->columns)
        return;
    out_text(out, "column\tmean\tstd\tmin\tmax\n");
    for (uint32_t c = 0; c < f->info.dims; c++) {
        const double of_column[] = {s->col_mean[c], s->col_std[c], s->col_min[c], s->col_max[c]};
        out_u64(out, c);
        for (size_t i = 0; i < EMBI_LEN(of_column); i++) {
            out_byte(out, '\t');
            out_score(out, of_column[i], DIGITS);
        }
        out_byte(out, '\n');
    }
}

/* Norms as bars of at most BAR_WIDTH columns; for eyes only. */
static void histogram(const struct figures *f, struct out *out)
{
    const emb_stats *s = &f->stats;
    const size_t bins = EMBI_LEN(s->histogram);
    uint64_t most = 0;
    if (!f->run->out_tty || s->finite_rows == 0 || s->norm_min == s->norm_max)
        return;
    for (size_t i = 0; i < bins; i++)
        most = embi_max(most, s->histogram[i]);
    out_text(out, "\nnorm            rows\n");
    for (size_t i = 0; i < bins; i++) {
        double step = (s->norm_max - s->norm_min) / (double)bins;
        char at[EMB_NUMBER_MAX];
        size_t n = emb_number_digits(at, s->norm_min + step * (double)i, 4);
        out_bytes(out, at, n);
        out_fill(out, ' ', KEY_WIDTH - embi_min(n, KEY_WIDTH - 1));
        for (uint64_t bar = 0; bar < (s->histogram[i] * BAR_WIDTH + most - 1) / most; bar++)
            out_text(out, "\u2588");
        out_byte(out, ' ');
        out_u64(out, s->histogram[i]);
        out_byte(out, '\n');
    }
}

void figures_text(const struct figures *f, struct out *out)
{
    describe(f, out);
    values(f, out);
    odd(f, out);
    list_odd(f, out);
    spectrum(f, out);
    columns(f, out);
    histogram(f, out);
}
