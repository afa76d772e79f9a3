/* similar.h - what the files of the similar command share. Nobody else includes it.
 */
#ifndef EMBTOOL_SIMILAR_H
#define EMBTOOL_SIMILAR_H

#include "out.h"
#include "progress.h"
#include "query.h"

enum method { METHOD_ADD, METHOD_MUL };

struct similar_opts {
    struct common common;
    uint64_t k, restrict_rows, digits;
    double min_score;
    const char *match, *vectors, *tokens_file;
    struct opt_list exclude;
    int metric, method, backend; /* places in their lists: emb_metric, enum method, emb_backend */
    bool has_min_score, has_restrict, farthest, include_query, pairs, matrix, center, all,
        raw_terms, tokens;
};

struct similar {
    struct run *run;
    const struct similar_opts *opts;
    emb_table *table;
    emb_table_info info;
    const char *format;
    emb_metric metric;
    double *center; /* [d], or NULL */
    struct queries queries;
    struct progress progress;
    int code; /* the worst that happened to a query so far */
};

/* ------------------------------------------------------------------------------------------------
 * similar_batch.c: some queries and their vectors
 */
struct batch {
    struct similar *s;
    struct query *queries; /* [size] */
    double *vectors;       /* [size, d]; of queries with a code, nothing */
    double *terms;         /* [term_rows, d]: those of the last query */
    double *weights;       /* [term_rows] */
    size_t size, n, term_rows;
    uint64_t left_out; /* rows of --all that are zero or not finite, and so cannot ask */
};

/* Room for up to `most` queries, fewer where vectors are long. */
int batch_new(struct batch *b, struct similar *s, size_t most);
void batch_free(struct batch *b);

/* The next queries with their vectors: b->n of them, 0 where the input pauses or ends. Vectors that
 * cannot be used give their query a code. */
int batch_read(struct batch *b);

/* b->terms [n, d] (the center subtracted) and b->weights [n] of query i. */
int batch_terms(struct batch *b, size_t i, size_t *n);

/* ------------------------------------------------------------------------------------------------
 * The three things that are asked of them
 */

/* similar_search.c: the nearest rows of each query. */
int similar_search(struct similar *s);

/* similar_scores.c: scores of named rows with each other. */
int similar_pairs(struct similar *s);
int similar_matrix(struct similar *s);

/* ------------------------------------------------------------------------------------------------
 * hits.c, hits_array.c: how hits are written
 */
enum hits_kind { HITS_LINES, HITS_SCREEN, HITS_JSON, HITS_ARRAYS };

struct hits {
    struct similar *s;
    enum hits_kind kind;
    uint64_t k;     /* places for each query */
    struct out out; /* all but HITS_ARRAYS */
    bool begun;     /* something was printed */

    emb_writer *writer;          /* HITS_ARRAYS; NULL until the shape is known */
    struct embi_buf ids, scores; /* i64, f64 [Q, k]; ids only while there is no writer */
    uint64_t queries;            /* Q so far */
};

int hits_open(struct hits *h, struct similar *s, uint64_t k);

/* The n <= k hits of a query, best first; none where q->code is set. */
int hits_put(struct hits *h, const struct query *q, const emb_hit *hits, size_t n);
int hits_flush(struct hits *h);

/* Completes the output, as out_close does. */
int hits_close(struct hits *h, int code);

/* `"error":"...","suggestions":[...]` of a query with a code. */
void hits_json_error(struct out *out, const struct similar *s, const struct query *q);

const char *metric_name(const struct similar *s);

int arrays_open(struct hits *h);
int arrays_put(struct hits *h, const emb_hit *hits, size_t n);
int arrays_close(struct hits *h, int code);

#endif
