/* logits_top.c - the highest logits of each hidden state: lines for a pipe, columns for people,
 * JSON.
 */
#include "logits.h"
#include "names.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATES = 512, HITS_BYTES = 16 << 20, VECTOR_BYTES = 16 << 20, TOKEN_COLUMNS = 40 };

struct top {
    struct logits_run *l;
    struct out out;
    uint64_t k; /* hits of each, at most V */
    size_t room;
    double *vectors;  /* [room, d] */
    emb_hit *hits;    /* [room, k] */
    size_t *counts;   /* [room] */
    double *log_sums; /* [room]; with --softmax */
    bool warned, begun;
};

static int no_memory(struct top *t)
{
    return fail_with(t->l->run, EXIT_MEMORY, NULL, "out of memory for hidden states");
}

static int make_room(struct top *t)
{
    struct logits_run *l = t->l;
    uint64_t hits, vectors;
    t->k = l->opts->k ? embi_min(l->opts->k, l->info.rows) : l->info.rows;
    if (!embi_mul(embi_max(t->k, 1), sizeof *t->hits, &hits) ||
        !embi_mul(l->info.dims, sizeof *t->vectors, &vectors))
        return no_memory(t);
    uint64_t fit = embi_min(HITS_BYTES / hits, VECTOR_BYTES / embi_max(vectors, 1));
    t->room = (size_t)embi_max(embi_min(fit, MOST_STATES), 1);
    t->vectors = malloc(t->room * vectors + 1);
    t->hits = embi_mul(hits, t->room, &hits) ? malloc(hits) : NULL;
    t->counts = malloc(t->room * sizeof *t->counts);
    t->log_sums = malloc(t->room * sizeof *t->log_sums);
    return t->vectors && t->hits && t->counts && t->log_sums ? EXIT_DONE : no_memory(t);
}

/* ------------------------------------------------------------------------------------------------
 * How they are written
 */

static double probability(const struct top *t, size_t i, const emb_hit *hit)
{
    return exp(hit->score - t->log_sums[i]);
}

static void put_name(struct top *t, uint64_t row)
{
    struct logits_run *l = t->l;
    emb_str token;
    if (l->info.has_tokens && row_token(l->table, row, shows_text(l->run), &token)) {
        out_token(&t->out, token, '\t');
    } else {
        out_text(&t->out, l->info.has_tokens ? "#" : "");
        out_u64(&t->out, row);
    }
}

static void put_lines(struct top *t, uint64_t row, size_t i)
{
    int digits = (int)t->l->opts->digits;
    for (size_t r = 0; r < t->counts[i]; r++) {
        const emb_hit *hit = &t->hits[i * t->k + r];
        out_u64(&t->out, row);
        out_byte(&t->out, '\t');
        put_name(t, hit->row);
        out_byte(&t->out, '\t');
        out_u64(&t->out, hit->row);
        out_byte(&t->out, '\t');
        out_score(&t->out, hit->score, digits);
        if (t->l->opts->softmax) {
            out_byte(&t->out, '\t');
            out_score(&t->out, probability(t, i, hit), digits);
        }
        out_byte(&t->out, '\n');
    }
}

/* A number at the right edge of its column. */
static void put_right(struct top *t, double x, size_t width)
{
    char text[EMB_NUMBER_MAX];
    size_t n = emb_number_digits(text, x, (int)t->l->opts->digits);
    out_fill(&t->out, ' ', 2 + (n < width ? width - n : 0));
    out_bytes(&t->out, text, n);
}

static size_t name_width(struct top *t, uint64_t row)
{
    char text[EMB_NUMBER_MAX];
    emb_str token;
    if (t->l->info.has_tokens && row_token(t->l->table, row, shows_text(t->l->run), &token))
        return out_token_width(&t->out, token, '\t');
    return emb_number_print(text, EMB_U64, &row) + t->l->info.has_tokens;
}

static void put_screen(struct top *t, uint64_t row, size_t i)
{
    bool plain = t->l->run->env.plain;
    size_t widest = 0;
    const emb_hit *hits = t->hits + i * t->k;
    for (size_t r = 0; r < t->counts[i]; r++)
        widest = embi_max(widest, name_width(t, hits[r].row));
    widest = embi_min(widest, TOKEN_COLUMNS);
    out_text(&t->out, t->begun ? "\n" : "");
    out_print(&t->out, "%srow %" PRIu64 "%s\n", plain ? "" : "\033[1m", row,
              plain ? "" : "\033[0m");
    for (size_t r = 0; r < t->counts[i]; r++) {
        size_t width = name_width(t, hits[r].row);
        out_text(&t->out, "  ");
        put_name(t, hits[r].row);
        out_fill(&t->out, ' ', width < widest ? widest - width : 0);
        put_right(t, (double)hits[r].row, 8);
        put_right(t, hits[r].score, 10);
        if (t->l->opts->softmax)
            put_right(t, probability(t, i, &hits[r]), 12);
        out_byte(&t->out, '\n');
    }
    t->begun = true;
}

static void put_json(struct top *t, uint64_t row, size_t i)
{
    struct out *out = &t->out;
    int digits = (int)t->l->opts->digits;
    out_print(out, "{\"row\":%" PRIu64 ",\"hits\":[", row);
    for (size_t r = 0; r < t->counts[i]; r++) {
        const emb_hit *hit = &t->hits[i * t->k + r];
        out_text(out, r ? ",{" : "{");
        if (t->l->info.has_tokens)
            out_json_row_token(out, t->l->table, hit->row);
        out_print(out, "\"id\":%" PRIu64 ",\"score\":", hit->row);
        out_json_score(out, hit->score, digits);
        if (t->l->opts->softmax) {
            out_text(out, ",\"probability\":");
            out_json_score(out, probability(t, i, hit), digits);
        }
        out_byte(out, '}');
    }
    out_text(out, "]}\n");
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

/* Hidden states first .. first+n-1. */
static int answer(struct top *t, uint64_t first, size_t n)
{
    struct logits_run *l = t->l;
    emb_block h = {t->vectors, n, l->info.dims, EMB_F64, 0};
    emb_search_info info = {0};
    emb_err err;
    int code = logits_hidden(l, first, n, t->vectors);
    if (code)
        return code;
    if (emb_logits_top(l->logits, &h, t->k, t->hits, t->counts, &info, &err) != EMB_OK ||
        (l->opts->softmax && emb_logits_log_sums(l->logits, &h, t->log_sums, &err) != EMB_OK))
        return logits_failed(l, first, &err);
    if (info.nonfinite_rows && !t->warned)
        warn(l->run, l->run->table_name, "rows left out as non-finite (NaN or infinite): %" PRIu64,
             info.nonfinite_rows);
    t->warned = t->warned || info.nonfinite_rows;
    bool screen = l->run->out_tty && is_stream(l->run->common->output);
    for (size_t i = 0; i < n; i++)
        (strcmp(l->format, "json") == 0 ? put_json
         : screen                       ? put_screen
                                        : put_lines)(t, first + i, i);
    progress_add(&l->progress, n);
    return t->out.code;
}

static int answer_all(struct top *t)
{
    struct logits_run *l = t->l;
    int code = load_tokens(l->run, l->table, &l->info);
    for (uint64_t first = 0; !code && first < l->hidden_info.rows; first += t->room)
        code = answer(t, first, (size_t)embi_min(t->room, l->hidden_info.rows - first));
    return code;
}

int logits_top(struct logits_run *l)
{
    struct top t = {.l = l};
    int code = out_open(l->run, l->run->common->output, &t.out);
    if (!code)
        code = make_room(&t);
    progress_begin(&l->progress, l->run, l->hidden_info.rows,
                   emb_dtype_row_bytes(EMB_F64, l->info.dims));
    if (!code)
        code = answer_all(&t);
    progress_end(&l->progress);
    free(t.vectors);
    free(t.hits);
    free(t.counts);
    free(t.log_sums);
    return out_close(&t.out, code);
}
