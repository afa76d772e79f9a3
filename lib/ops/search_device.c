/* search_device.c - candidates by a device: it multiplies, and says which rows may be among the
 * best of a query (lib/cuda/select.cuh); those go among the candidates of the fast way, as if the
 * kernels of this CPU had found them, and are scored canonically.
 */
#include "num/dtype.h"
#include "num/kern.h"
#include "ops/search_fast.h"
#include "table/device.h"
#include "util/err.h"
#include "util/loop.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_MATRIX 16 /* queries that fill enough of a tile for tensor cores */
#define LEAST_HITS   1024

/* Numbers whose products a tensor core adds up (lib/cuda/launch.h); of q8_0 those of one scale. */
#define MATRIX_BLOCK   128
#define CODES_OF_SCALE 32

/* Tensor cores add products exactly, then cut the sum to about 23 bits; of how many products at a
 * time, and in what order, is not said (Fasi et al., "Numerical behavior of NVIDIA tensor cores",
 * PeerJ CS 2021). Taken here: every one of the 2 n additions of a block of n loses 2^-22 of the
 * largest sum, and those between blocks round as f32 does. A query as two numbers of the type
 * keeps 2^-17 of bf16, and of f16 2^-22 where nothing is below its smallest number, 2^-24.
 *
 * Codes of q8_0 are exact in f16, and queries go with them as for f16. The sum of a block is
 * multiplied by the block's scale in the same rounding that adds it to the others, so the bound is
 * that of blocks of 32. */
static double matrix_bound(emb_dtype dtype, uint32_t d)
{
    uint32_t block = dtype == EMB_Q8_0 ? CODES_OF_SCALE : MATRIX_BLOCK, blocks = d / block + 1;
    double sums = 2 * block * 0x1p-22 + blocks * 0x1p-24;
    double query = dtype == EMB_BF16 ? 0x1p-17 : 0x1p-22 + 0x1p-24 * sqrt((double)d);
    return 1.02 * (sums + query);
}

double embi_device_bound(emb_dtype dtype, uint32_t d, size_t n, bool *matrix)
{
    *matrix = n >= LEAST_MATRIX && (dtype == EMB_F16 || dtype == EMB_BF16 || dtype == EMB_Q8_0);
    double lanes = embi_dot_bound(d); /* of norms, and of the products with few queries */
    return fmax(lanes, *matrix ? matrix_bound(dtype, d) : embi_any_order_bound(d));
}

/* What goes to the device and comes back. */
struct arrays {
    float *lengths, *bias;
    uint32_t *k;
    struct embi_shared_found found;
    uint32_t cap;
};

static void free_arrays(struct arrays *a)
{
    free(a->lengths);
    free(a->bias);
    free(a->k);
    free(a->found.hits);
    free(a->found.counts);
    free(a->found.odd);
}

/* Excluded rows take part on the device, so as many more may be better. */
static uint32_t rows_before(const struct embi_search *s, size_t number)
{
    size_t excluded = 0;
    if (s->exclude)
        excluded =
            s->opts.exclude_ends[number] - (number == 0 ? 0 : s->opts.exclude_ends[number - 1]);
    return (uint32_t)embi_min(s->k + excluded, UINT32_MAX / 2);
}

static emb_status make_arrays(const struct embi_pass *p, struct arrays *a, emb_err *err)
{
    const struct embi_search *s = p->s;
    size_t n = p->queries.n, lists = n * (size_t)s->device->n;
    a->cap = (uint32_t)(LEAST_HITS + 8 * s->k);
    a->lengths = malloc(n * sizeof *a->lengths);
    a->k = malloc(n * sizeof *a->k);
    a->bias = s->opts.bias ? malloc(s->rows * sizeof *a->bias) : NULL;
    a->found.hits = malloc(lists * a->cap * sizeof *a->found.hits);
    a->found.counts = calloc(lists, sizeof *a->found.counts);
    a->found.odd = malloc(s->rows * sizeof *a->found.odd);
    if (!a->lengths || !a->k || (s->opts.bias && !a->bias) || !a->found.hits || !a->found.counts ||
        !a->found.odd)
        return embi_fail_memory(err, lists * a->cap * sizeof *a->found.hits, "candidates");
    for (size_t q = 0; q < n; q++) {
        a->lengths[q] = (float)sqrt(p->queries.norm2[q]);
        a->k[q] = rows_before(s, p->queries.number[q]);
    }
    for (uint64_t row = 0; a->bias && row < s->rows; row++)
        a->bias[row] = (float)s->opts.bias[row];
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Rows less a center, which no table on the device is
 */

struct centered {
    const struct embi_search *s;
    emb_err err;
    /* of one call of `fill`: */
    uint64_t first, pitch;
    unsigned char *to;
};

static emb_status center_row(void *arg, size_t i, int worker, emb_err *err)
{
    const struct centered *c = arg;
    uint32_t d = c->s->dims;
    unsigned char *row = c->to + i * c->pitch;
    double *x = malloc(d * sizeof *x + 1);
    (void)worker;
    if (!x)
        return embi_fail_memory(err, d * sizeof *x, "a row");
    emb_status status = embi_fetch_row_f64(c->s->table, c->first + i, x, err);
    embi_subtract(x, c->s->opts.center, d);
    embi_to_f32(c->s->table->env->kern, (float *)(void *)row, x, EMB_F64, d);
    memset(row + d * sizeof(float), 0, c->pitch - d * sizeof(float));
    free(x);
    return status;
}

static bool fill_centered(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    struct centered *c = arg;
    c->first = first;
    c->pitch = pitch;
    c->to = to;
    return embi_loop(c->s->table->env->pool, n, center_row, c, &c->err) == EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The search
 */

static int search(const struct embi_pass *p, struct embi_shared *there, struct arrays *a,
                  struct embi_cuda_fault *fault)
{
    static const enum embi_cuda_metric metrics[] = {[EMB_COSINE] = EMBI_CUDA_COSINE,
                                                    [EMB_DOT] = EMBI_CUDA_DOT,
                                                    [EMB_EUCLIDEAN] = EMBI_CUDA_EUCLIDEAN};
    const struct embi_search *s = p->s;
    const struct embi_cuda_search what = {.queries = p->units,
                                          .lengths = a->lengths,
                                          .k = a->k,
                                          .bias = a->bias,
                                          .allowed = s->opts.allowed,
                                          .rows = s->rows,
                                          .bound = s->bound,
                                          .n = (uint32_t)p->queries.n,
                                          .cap = a->cap,
                                          .metric = metrics[s->opts.metric],
                                          .farthest = s->opts.farthest,
                                          .matrix = s->matrix};
    return embi_shared_search(there, &what, &a->found, fault);
}

static emb_status search_table(const struct embi_pass *p, struct arrays *a, emb_err *err)
{
    const struct embi_search *s = p->s;
    struct embi_shared *there;
    struct embi_cuda_fault fault;
    emb_status status = embi_table_on_device(s->device, s->table, EMBI_AS_NUMBERS, &there, err);
    if (status)
        return status;
    int result = search(p, there, a, &fault);
    return embi_table_device_status(s->table, EMBI_AS_NUMBERS, result, &fault, err);
}

static emb_status search_centered(const struct embi_pass *p, struct arrays *a, emb_err *err)
{
    const struct embi_search *s = p->s;
    struct centered c = {.s = s};
    const struct embi_cuda_rows rows = {.rows = s->rows,
                                        .row_bytes = s->dims * sizeof(float),
                                        .type = EMBI_CUDA_F32,
                                        .fill = fill_centered,
                                        .arg = &c};
    struct embi_shared *there;
    struct embi_cuda_fault fault;
    int result = embi_shared_open(s->device, &rows, false, &there, &fault);
    if (result == EMBI_CUDA_DONE) {
        result = search(p, there, a, &fault);
        embi_shared_close(there);
    }
    if (result != EMBI_CUDA_STOPPED)
        return embi_device_status(result, &fault, err);
    *err = c.err;
    return err->status;
}

/* What a GPU lists for a query goes to its candidates, which overflow if one of the lists does. */
static void take_hits(const struct embi_pass *p, struct embi_worker *w, const struct arrays *a,
                      int gpu, size_t q)
{
    const size_t list = (size_t)gpu * p->queries.n + q;
    const struct embi_cuda_hit *hits = a->found.hits + list * a->cap;
    if (a->found.counts[list] > a->cap)
        w->candidates[q].overflow = true;
    for (uint32_t i = 0; !w->candidates[q].overflow && i < a->found.counts[list]; i++)
        embi_piece_put(p, w, q, hits[i].row, hits[i].dot, hits[i].norm2);
}

emb_status embi_search_on_device(const struct embi_pass *p, emb_err *err)
{
    struct arrays a = {0};
    struct embi_worker *w = &p->workers[0];
    emb_status status = make_arrays(p, &a, err);
    if (!status)
        status = p->s->opts.center ? search_centered(p, &a, err) : search_table(p, &a, err);
    for (int gpu = 0; !status && gpu < p->s->device->n; gpu++)
        for (size_t q = 0; q < p->queries.n; q++)
            take_hits(p, w, &a, gpu, q);
    for (uint64_t i = 0; !status && i < a.found.odd_count; i++)
        status = embi_piece_score(p, w, a.found.odd[i], err);
    free_arrays(&a);
    return status;
}
