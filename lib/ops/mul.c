/* mul.c - emb_search_mul: analogies by 3CosMul.
 *
 * O. Levy and Y. Goldberg, "Linguistic Regularities in Sparse and Explicit Word Representations",
 * CoNLL 2014, equation 4, with weights as exponents: each cosine is moved to 0..1, positive terms
 * multiply, negative ones divide, and 0.001 keeps the divisor from zero. All in double precision
 * over every row, by the exact way of search.
 */
#include "num/dtype.h"
#include "ops/search.h"
#include "util/err.h"

#include <math.h>
#include <stdlib.h>

#define EPSILON 0.001

struct terms {
    double *v;             /* [n, d] */
    double *norm2;         /* [n]    */
    const double *weights; /* [n] */
    size_t n;
    uint32_t d;
};

/* x^w for x >= 0, w > 0; the weight 1, which almost all have, needs no pow. */
static double power(double x, double w)
{
    return w == 1 ? x : pow(x, w);
}

static void score_row(const void *arg, const double *x, double norm2, double *scores)
{
    const struct terms *t = arg;
    double above = 1, below = 1;
    for (size_t i = 0; i < t->n; i++) {
        double cosine = embi_score(x, norm2, t->v + i * t->d, t->norm2[i], t->d, EMB_COSINE);
        double s = (1 + cosine) / 2, w = t->weights[i];
        if (w > 0)
            above *= power(s, w);
        else if (w < 0)
            below *= power(s, -w) + EPSILON;
    }
    scores[0] = above / below;
}

static emb_status load_terms(struct terms *t, const emb_block *block, emb_err *err)
{
    uint64_t bytes = block->rows * block->dims * sizeof *t->v;
    size_t stride = block->dims * emb_dtype_bytes(block->dtype);
    if (block->stride_bytes)
        stride = block->stride_bytes;
    t->v = malloc(bytes + 1);
    t->norm2 = malloc(block->rows * sizeof *t->norm2 + 1);
    if (!t->v || !t->norm2)
        return embi_fail_memory(err, bytes, "terms");
    for (size_t i = 0; i < block->rows; i++) {
        double *v = t->v + i * t->d;
        embi_to_f64(v, (const unsigned char *)block->data + i * stride, block->dtype, t->d);
        t->norm2[i] = embi_dot_f64(v, v, t->d);
        if (!embi_all_finite(v, t->norm2[i], t->d) || !isfinite(t->weights[i]))
            return embi_fail(err, EMB_BAD_DATA, (int64_t)i,
                             "term %zu or its weight is NaN or an infinity", i);
        if (embi_all_zero(v, t->d))
            return embi_fail(err, EMB_BAD_DATA, (int64_t)i, "term %zu is zero: it has no direction",
                             i);
    }
    return EMB_OK;
}

static emb_status check(const struct embi_search *s, const emb_block *terms, emb_err *err)
{
    if (s->opts.metric != EMB_COSINE)
        return embi_fail(err, EMB_BAD_ARG, -1, "3CosMul is defined for cosine alone");
    if (s->opts.backend == EMB_BACKEND_BLAS)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "3CosMul is no product of matrices: BLAS has no part in it");
    if (!emb_dtype_is_float(terms->dtype))
        return embi_fail(err, EMB_BAD_ARG, -1, "terms of type %s; a float type expected",
                         emb_dtype_name(terms->dtype));
    if (terms->dims != s->dims)
        return embi_fail(err, EMB_BAD_ARG, -1, "terms of %u dimensions; the table has %u",
                         terms->dims, s->dims);
    return EMB_OK;
}

emb_status emb_search_mul(const emb_table *table, const emb_block *terms, const double *weights,
                          const emb_search_opts *opts, emb_hit *hits, size_t *count,
                          emb_search_info *info, emb_err *err)
{
    struct embi_search s;
    struct terms t = {.weights = weights, .n = terms->rows, .d = terms->dims};
    const size_t number = 0;
    emb_status status = embi_search_begin(&s, table, opts, 1, err);
    if (!status)
        status = check(&s, terms, err);
    if (!status)
        status = load_terms(&t, terms, err);
    if (!status)
        status = embi_search_exact(&s, 1, &number, score_row, &t, hits, count, err);
    if (!status && info)
        *info = (emb_search_info){.nonfinite_rows = s.nonfinite_rows};
    free(t.v);
    free(t.norm2);
    embi_search_end(&s);
    return status;
}
