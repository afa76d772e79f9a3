/* logits_softmax.c - probabilities: the logarithm of a sum of exponentials, in double precision,
 * whatever the number of rows. NaN takes no part.
 */
#include "ops/logits.h"

#include "util/err.h"
#include "util/loop.h"

#include <math.h>
#include <stdlib.h>

#define TILE_BYTES   (16u << 20) /* of logits of all hidden states */
#define SUM_FOR_POOL (1u << 17)  /* of logits: about 1 ms */

/* sum = exp(x - largest) over what was seen so far. */
struct log_sum {
    double largest, sum;
};

static void add(struct log_sum *s, const float *x, size_t n)
{
    double largest = s->largest;
    for (size_t i = 0; i < n; i++)
        largest = x[i] > largest ? (double)x[i] : largest;
    if (largest == -INFINITY)
        return;
    double sum = s->sum > 0 ? s->sum * exp(s->largest - largest) : 0;
    for (size_t i = 0; i < n; i++)
        sum += isnan(x[i]) ? 0 : exp((double)x[i] - largest);
    *s = (struct log_sum){largest, sum};
}

/* Rows of logits [n, width], each of which takes one item of the pool. */
struct softmax {
    float *x;
    size_t width, stride;
    struct log_sum *sums; /* [n] */
};

static emb_status add_row(void *arg, size_t row, int worker, emb_err *err)
{
    const struct softmax *s = arg;
    (void)worker, (void)err;
    add(&s->sums[row], s->x + row * s->stride, s->width);
    return EMB_OK;
}

static emb_status normalise_row(void *arg, size_t row, int worker, emb_err *err)
{
    const struct softmax *s = arg;
    struct log_sum sum = {-INFINITY, 0};
    float *x = s->x + row * s->stride;
    (void)worker, (void)err;
    add(&sum, x, s->width);
    double log_sum = sum.largest + log(sum.sum);
    for (size_t i = 0; i < s->width; i++)
        x[i] = (float)exp((double)x[i] - log_sum);
    return EMB_OK;
}

static struct embi_pool *pool_for(const emb_logits *l, uint64_t n, uint64_t width)
{
    return n * width < SUM_FOR_POOL ? NULL : l->table->env->pool;
}

/* All tiles of rows, one after another. */
static emb_status add_tiles(const emb_logits *l, const emb_block *h, uint64_t tile,
                            struct softmax *s, emb_err *err)
{
    struct embi_pool *pool = pool_for(l, h->rows, tile);
    emb_status status = EMB_OK;
    for (uint64_t first = 0; !status && first < l->info.rows; first += tile) {
        s->width = embi_min(tile, l->info.rows - first);
        status = emb_logits_rows(l, h, first, s->width, NULL, s->x, s->stride, err);
        if (!status)
            status = embi_loop(pool, h->rows, add_row, s, err);
    }
    return status;
}

emb_status emb_logits_log_sums(const emb_logits *l, const emb_block *h, double *log_sums,
                               emb_err *err)
{
    size_t n = embi_max(h->rows, 1);
    uint64_t tile = embi_max(TILE_BYTES / (n * sizeof(float)), EMBI_BLOCK_ROWS), bytes;
    tile = embi_max(embi_min(tile, l->info.rows), 1);
    if (!embi_mul(tile * sizeof(float), n, &bytes))
        return embi_fail_memory(err, UINT64_MAX, "logits");
    struct softmax s = {.x = malloc(bytes), .stride = tile, .sums = malloc(n * sizeof *s.sums)};
    if (!s.x || !s.sums) {
        free(s.x);
        free(s.sums);
        return embi_fail_memory(err, bytes, "logits");
    }
    for (size_t i = 0; i < n; i++)
        s.sums[i] = (struct log_sum){-INFINITY, 0};
    emb_status status = add_tiles(l, h, tile, &s, err);
    for (size_t i = 0; !status && i < h->rows; i++)
        log_sums[i] = s.sums[i].largest + log(s.sums[i].sum);
    free(s.x);
    free(s.sums);
    return status;
}

emb_status emb_logits_softmax(const emb_logits *l, emb_block *rows, emb_err *err)
{
    size_t row_bytes = rows->dims * sizeof(float);
    size_t stride = rows->stride_bytes ? rows->stride_bytes : row_bytes;
    if (rows->dtype != EMB_F32 || stride % sizeof(float))
        return embi_fail(err, EMB_BAD_ARG, -1, "probabilities of %s: expected rows of f32",
                         emb_dtype_name(rows->dtype));
    struct softmax s = {.x = rows->data, .width = rows->dims, .stride = stride / sizeof(float)};
    return embi_loop(pool_for(l, rows->rows, rows->dims), rows->rows, normalise_row, &s, err);
}
