/* similar_search.c - the nearest rows of each query: which rows may answer, and batches of queries
 * through emb_search.
 *
 * A batch is as large as its hits and vectors allow, or as the input has ready: what came in is
 * answered, and flushed, before more is waited for.
 */
#include "similar.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_QUERIES = 512, HITS_BYTES = 16 << 20 };

struct search {
    struct similar *s;
    struct batch batch;
    struct hits hits;
    uint64_t k;       /* hits kept for each query, at most V                                      */
    uint8_t *allowed; /* bit r%8 of byte r/8: row r may answer; NULL: all                 [V/8]   */
    emb_hit *found;   /* [batch.size, k] */
    size_t *counts;   /* [batch.size] */
    struct embi_buf exclude; /* u64: rows that may not answer ...                                 */
    size_t *ends;            /* ... query i: those before ends[i]                    [batch.size] */
    bool warned;             /* of rows that are not finite                                       */
};

static int no_memory(struct similar *s)
{
    return fail_with(s->run, EXIT_MEMORY, NULL, "out of memory");
}

/* ------------------------------------------------------------------------------------------------
 * Which rows may answer
 */

static int match_tokens(struct search *x)
{
    struct similar *s = x->s;
    struct embi_buf name = {0};
    emb_str token;
    emb_err err;
    if (!s->info.has_tokens)
        return fail_with(s->run, EXIT_DATA, s->run->table_name, "--match: the table has no tokens");
    for (uint64_t row = 0; row < s->info.rows && !name.failed; row++) {
        if (emb_table_token(s->table, row, &token, &err) != EMB_OK || memchr(token.s, 0, token.n))
            continue;
        name.n = 0;
        embi_buf_add(&name, token.s, token.n);
        if (fnmatch(s->opts->match, embi_buf_cstr(&name), 0) == 0)
            x->allowed[row / 8] |= (uint8_t)(1u << row % 8);
    }
    bool failed = name.failed;
    embi_buf_free(&name);
    return failed ? no_memory(s) : EXIT_DONE;
}

static int exclude_tokens(struct search *x)
{
    struct similar *s = x->s;
    int code = EXIT_DONE;
    for (size_t i = 0; !code && i < s->opts->exclude.n; i++) {
        const char *word = s->opts->exclude.v[i];
        struct query q = {0};
        uint64_t row;
        code =
            query_resolve(&s->queries, &q, "--exclude", (emb_str){word, strlen(word)}, false, &row);
        if (!code && !q.code)
            x->allowed[row / 8] &= (uint8_t) ~(1u << row % 8);
        s->code = worse(s->code, q.code);
        query_free(&q);
    }
    return code;
}

static int choose_rows(struct search *x)
{
    struct similar *s = x->s;
    size_t bytes = s->info.rows / 8 + 1;
    if (!s->opts->match && !s->opts->exclude.n)
        return EXIT_DONE;
    x->allowed = malloc(bytes);
    if (!x->allowed)
        return no_memory(s);
    memset(x->allowed, s->opts->match ? 0 : 0xFF, bytes);
    int code = s->opts->match ? match_tokens(x) : EXIT_DONE;
    return code ? code : exclude_tokens(x);
}

/* The rows of a query do not answer it. */
static void exclude_query(struct search *x, const struct query *q)
{
    for (size_t t = 0; !x->s->opts->include_query && t < query_count(q); t++) {
        uint64_t row = query_term(q, t).row;
        embi_buf_add(&x->exclude, &row, sizeof row);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Search
 */

static void search_opts(const struct search *x, emb_search_opts *o)
{
    const struct similar *s = x->s;
    *o = (emb_search_opts){.size = sizeof *o,
                           .k = x->k,
                           .metric = s->metric,
                           .farthest = s->opts->farthest,
                           .has_min_score = s->opts->has_min_score,
                           .min_score = s->opts->min_score,
                           .restrict_rows = s->opts->restrict_rows,
                           .allowed = x->allowed,
                           .exclude = (const uint64_t *)(const void *)x->exclude.s,
                           .exclude_ends = x->ends,
                           .center = s->center,
                           .backend = (emb_backend)s->opts->backend,
                           .device = s->run->device};
}

static int searched(struct search *x, emb_status status, const emb_search_info *info,
                    const emb_err *err)
{
    struct similar *s = x->s;
    if (status != EMB_OK)
        return fail(s->run, s->run->table_name, err);
    if (info->nonfinite_rows && !x->warned)
        warn(s->run, s->run->table_name, "rows left out as non-finite (NaN or infinite): %" PRIu64,
             info->nonfinite_rows);
    x->warned = x->warned || info->nonfinite_rows;
    return EXIT_DONE;
}

/* Query i alone, by 3CosMul; its hits come to place `at`. */
static int search_mul(struct search *x, size_t i, size_t at)
{
    struct similar *s = x->s;
    emb_search_opts opts;
    emb_search_info info;
    emb_err err;
    size_t n;
    x->exclude.n = 0;
    exclude_query(x, &x->batch.queries[i]);
    x->ends[0] = x->exclude.n / sizeof(uint64_t);
    int code = batch_terms(&x->batch, i, &n);
    if (code)
        return code;
    search_opts(x, &opts);
    emb_block terms = {.data = x->batch.terms, .rows = n, .dims = s->info.dims, .dtype = EMB_F64};
    emb_status status = emb_search_mul(s->table, &terms, x->batch.weights, &opts,
                                       x->found + at * x->k, &x->counts[at], &info, &err);
    return searched(x, status, &info, &err);
}

/* The n vectors at the front of the batch. */
static int search_add(struct search *x, size_t n)
{
    emb_search_opts opts;
    emb_search_info info;
    emb_err err;
    emb_block queries = {
        .data = x->batch.vectors, .rows = n, .dims = x->s->info.dims, .dtype = EMB_F64};
    search_opts(x, &opts);
    emb_status status = emb_search(x->s->table, &queries, &opts, x->found, x->counts, &info, &err);
    return searched(x, status, &info, &err);
}

/* Queries that can be answered, in order, take places 0, 1, 2 ... of found and counts. */
static int search_batch(struct search *x)
{
    struct batch *b = &x->batch;
    size_t d = x->s->info.dims, n = 0;
    bool mul = x->s->opts->method == METHOD_MUL;
    int code = EXIT_DONE;
    x->exclude.n = 0;
    for (size_t i = 0; !code && i < b->n; i++) {
        if (b->queries[i].code)
            continue;
        if (mul) {
            code = search_mul(x, i, n++);
            continue;
        }
        memmove(b->vectors + n * d, b->vectors + i * d, d * sizeof *b->vectors);
        exclude_query(x, &b->queries[i]);
        x->ends[n++] = x->exclude.n / sizeof(uint64_t);
    }
    if (!code && x->exclude.failed)
        code = no_memory(x->s);
    return code || mul || n == 0 ? code : search_add(x, n);
}

static int answer_batch(struct search *x)
{
    const struct batch *b = &x->batch;
    size_t at = 0;
    int code = search_batch(x);
    for (size_t i = 0; !code && i < b->n; i++) {
        const struct query *q = &b->queries[i];
        size_t place = q->code ? 0 : at++;
        code = hits_put(&x->hits, q, x->found + place * x->k, q->code ? 0 : x->counts[place]);
    }
    progress_add(&x->s->progress, b->n);
    return code;
}

static int make_room(struct search *x)
{
    struct similar *s = x->s;
    uint64_t bytes = 0;
    x->k = s->opts->has_restrict ? embi_min(s->opts->restrict_rows, s->info.rows) : s->info.rows;
    x->k = s->opts->k ? embi_min(s->opts->k, x->k) : x->k;
    if (!embi_mul(embi_max(x->k, 1), sizeof *x->found, &bytes))
        return no_memory(s);
    int code = batch_new(&x->batch, s, (size_t)embi_min(MOST_QUERIES, HITS_BYTES / bytes));
    if (code)
        return code;
    x->found = embi_mul(bytes, x->batch.size, &bytes) ? malloc(bytes) : NULL;
    x->counts = malloc(x->batch.size * sizeof *x->counts);
    x->ends = malloc(x->batch.size * sizeof *x->ends);
    return x->found && x->counts && x->ends ? EXIT_DONE : no_memory(s);
}

int similar_search(struct similar *s)
{
    struct search x = {.s = s};
    int code = make_room(&x);
    if (!code)
        code = choose_rows(&x);
    if (!code)
        code = hits_open(&x.hits, s, x.k);
    while (!code && !s->queries.ended) {
        code = batch_read(&x.batch);
        if (!code)
            code = answer_batch(&x);
        if (!code && s->queries.paused)
            code = hits_flush(&x.hits);
    }
    code = hits_close(&x.hits, worse(code, s->code));
    if (x.batch.left_out)
        warn(s->run, s->run->table_name,
             "rows that asked nothing, being zero or non-finite: %" PRIu64, x.batch.left_out);
    batch_free(&x.batch);
    embi_buf_free(&x.exclude);
    free(x.allowed);
    free(x.found);
    free(x.counts);
    free(x.ends);
    return code;
}
