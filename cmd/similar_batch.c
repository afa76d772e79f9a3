/* similar_batch.c - the vectors of queries, in double precision: rows of the table, weighted sums
 * of them, or rows of a file, each with the center subtracted.
 */
#include "similar.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENTS = 1 << 22 };

static int no_memory(struct similar *s)
{
    return fail_with(s->run, EXIT_MEMORY, NULL, "out of memory for the queries");
}

int batch_new(struct batch *b, struct similar *s, size_t most)
{
    size_t d = s->info.dims;
    *b = (struct batch){.s = s};
    b->size = (size_t)embi_max(2, embi_min(most, MOST_ELEMENTS / embi_max(d, 1)));
    b->queries = calloc(b->size, sizeof *b->queries);
    b->vectors = malloc(b->size * d * sizeof *b->vectors + 1);
    return b->queries && b->vectors ? EXIT_DONE : no_memory(s);
}

void batch_free(struct batch *b)
{
    for (size_t i = 0; b->queries && i < b->size; i++)
        query_free(&b->queries[i]);
    free(b->queries);
    free(b->vectors);
    free(b->terms);
    free(b->weights);
}

static int make_room(struct batch *b, size_t terms)
{
    if (terms <= b->term_rows)
        return EXIT_DONE;
    free(b->terms);
    free(b->weights);
    b->terms = malloc(terms * b->s->info.dims * sizeof *b->terms + 1);
    b->weights = malloc(terms * sizeof *b->weights);
    b->term_rows = b->terms && b->weights ? terms : 0;
    return b->term_rows ? EXIT_DONE : no_memory(b->s);
}

static int fetch(struct batch *b, const emb_table *table, const char *path, uint64_t row,
                 double *vector)
{
    struct similar *s = b->s;
    emb_err err;
    emb_block block = {.data = vector, .rows = 1, .dims = s->info.dims, .dtype = EMB_F64};
    if (emb_table_gather(table, &row, 1, &block, &err) != EMB_OK)
        return fail(s->run, path, &err);
    for (uint32_t i = 0; s->center && i < s->info.dims; i++)
        vector[i] -= s->center[i];
    return EXIT_DONE;
}

int batch_terms(struct batch *b, size_t i, size_t *n)
{
    struct similar *s = b->s;
    const struct query *q = &b->queries[i];
    *n = embi_max(query_count(q), 1);
    int code = make_room(b, *n);
    if (!code && query_count(q) == 0) {
        b->weights[0] = 1;
        return fetch(b, s->queries.vectors, s->opts->vectors, q->row, b->terms);
    }
    for (size_t t = 0; !code && t < *n; t++) {
        struct term term = query_term(q, t);
        b->weights[t] = term.weight;
        code = fetch(b, s->table, s->run->table_name, term.row, b->terms + t * s->info.dims);
    }
    return code;
}

/* What a vector is that cannot be searched for, or NULL. */
static const char *fault_of(const double *vector, uint32_t d, bool zero_is_bad)
{
    bool zero = true;
    for (uint32_t i = 0; i < d; i++) {
        if (!isfinite(vector[i]))
            return "not finite";
        zero = zero && vector[i] == 0;
    }
    return zero && zero_is_bad ? "zero" : NULL;
}

/* Rows that --all comes upon are no one's mistake: they are counted, and nothing is said of each.
 */
static void reject(struct batch *b, struct query *q, const char *fault)
{
    const char *label = embi_buf_cstr(&q->label);
    if (b->s->queries.kind != QUERIES_TABLE) {
        query_reject(b->s->run, q, "the query vector of '%s' is %s", label, fault);
        return;
    }
    q->code = EXIT_DATA;
    embi_buf_print(&q->error, "the query vector of '%s' is %s", label, fault);
    b->left_out++;
}

static void reject_term(struct batch *b, struct query *q, size_t t, const char *fault)
{
    emb_str token;
    emb_err err;
    uint64_t row = query_term(q, t).row;
    if (emb_table_token(b->s->table, row, &token, &err) != EMB_OK)
        query_reject(b->s->run, q, "'%s': the vector of #%" PRIu64 " is %s",
                     embi_buf_cstr(&q->label), row, fault);
    else
        query_reject(b->s->run, q, "'%s': the vector of '%.*s' is %s", embi_buf_cstr(&q->label),
                     (int)embi_min(token.n, 120), token.s, fault);
}

/* Under cosine a term of a sum counts by its direction alone, unless --raw-terms. */
static bool unit_terms(const struct similar *s)
{
    return s->metric == EMB_COSINE && !s->opts->raw_terms;
}

/* The first term of a sum that spoils it; NULL if none does. */
static const char *fault_of_terms(const struct batch *b, size_t n, size_t *at)
{
    const struct similar *s = b->s;
    bool zero_is_bad = unit_terms(s) || s->opts->method == METHOD_MUL;
    const char *fault = NULL;
    for (*at = 0; *at < n; ++*at) {
        fault = fault_of(b->terms + *at * s->info.dims, s->info.dims, zero_is_bad);
        if (fault)
            break;
    }
    return fault;
}

/* The vector of query i from its n terms. Scores of named rows take a zero row as a search takes
 * one: it scores 0. With 3CosMul the terms stay apart, and there is no one vector. */
static int make_vector(struct batch *b, size_t i, size_t n)
{
    struct similar *s = b->s;
    struct query *q = &b->queries[i];
    uint32_t d = s->info.dims;
    double *vector = b->vectors + i * d;
    bool one = q->is_row || query_count(q) == 0, scores = s->opts->pairs || s->opts->matrix;
    emb_block block = {.data = b->terms, .rows = n, .dims = d, .dtype = EMB_F64};
    const char *fault = NULL;
    size_t at;
    emb_err err;
    if (!one && (fault = fault_of_terms(b, n, &at)) != NULL) {
        reject_term(b, q, at, fault);
        return EXIT_DONE;
    }
    if (!one && s->opts->method == METHOD_MUL)
        return EXIT_DONE;
    if (one)
        memcpy(vector, b->terms, d * sizeof *vector);
    else if (emb_combine(&block, b->weights, unit_terms(s), vector, &err) != EMB_OK)
        return fail(s->run, s->run->table_name, &err);
    fault = fault_of(vector, d, s->metric == EMB_COSINE && !scores);
    if (fault)
        reject(b, q, fault);
    return EXIT_DONE;
}

static int read_vector(struct batch *b, size_t i)
{
    struct query *q = &b->queries[i];
    size_t n;
    if (q->label.failed || q->terms.failed || q->error.failed || q->unknown.failed)
        return no_memory(b->s);
    if (q->code)
        return EXIT_DONE;
    int code = batch_terms(b, i, &n);
    return code ? code : make_vector(b, i, n);
}

int batch_read(struct batch *b)
{
    struct similar *s = b->s;
    int code = queries_read(&s->queries, b->queries, b->size, &b->n);
    for (size_t i = 0; !code && i < b->n; i++) {
        code = read_vector(b, i);
        if (s->queries.kind != QUERIES_TABLE)
            s->code = worse(s->code, b->queries[i].code);
    }
    return code;
}
