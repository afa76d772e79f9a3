/* logits_rows.c - products of hidden states with rows of the output table, as f32 [n, rows].
 *
 * Rows are taken in pieces that fit the caches, widened to f32 where they are not stored so; the
 * products are those of search (num/kern.h). No copy of the table is made. The sums of a piece do
 * not depend on threads, but on the instruction set.
 */
#include "ops/logits.h"

#include "num/dtype.h"
#include "ops/search_fast.h"
#include "util/err.h"
#include "util/loop.h"

#include <math.h>
#include <stdlib.h>

#define ITEM_BYTES      (1u << 20) /* of rows in f32, that a worker takes at once */
#define INLINE_PRODUCTS 1.6e7      /* below about 2 ms of work no thread is started */

struct scratch {
    const void *rows[EMBI_BLOCK_ROWS];
    float *block;    /* [piece_rows, d], where rows are not used in place */
    float *products; /* [piece_rows, lanes] */
};

/* At most EMBI_MOST_BATCH hidden states with the rows first .. end-1. */
struct product {
    const emb_logits *l;
    float *hidden; /* [n, d] */
    float *packed; /* [panels][d][EMBI_PANEL]: those after the singles */
    size_t n, singles, panels;
    bool in_place;
    embi_products_fn *products;
    uint64_t first, end, piece_rows, item_rows;
    const double *log_sums; /* [n], or NULL */
    float *out;             /* [n, end - first] at a distance of stride */
    size_t stride;
    struct scratch *scratch; /* [n_workers] */
    int n_workers;
};

/* ------------------------------------------------------------------------------------------------
 * A piece
 */

static emb_status load(const struct product *p, struct scratch *s, uint64_t first, size_t n,
                       emb_err *err)
{
    const emb_table *t = p->l->table;
    size_t d = t->layout.dims;
    for (size_t i = 0; i < n; i++)
        s->rows[i] = p->in_place ? embi_table_row(t, first + i) : (const void *)(s->block + i * d);
    return p->in_place ? EMB_OK : embi_fetch(t, first, n, EMB_F32, s->block, err);
}

/* From products to what was asked for, in place: rows first .. of hidden state q. */
static void finish(const struct product *p, size_t q, uint64_t first, size_t n, float *x)
{
    const emb_logits *l = p->l;
    for (size_t i = 0; !embi_logits_plain(l) && i < n; i++)
        x[i] = (float)embi_logit_of(l, (double)x[i] + (l->bias ? l->bias[first + i] : 0));
    for (size_t i = 0; p->log_sums && i < n; i++)
        x[i] = (float)exp((double)x[i] - p->log_sums[q]);
}

static emb_status multiply(const struct product *p, struct scratch *s, uint64_t first, size_t n,
                           emb_err *err)
{
    const emb_table *t = p->l->table;
    const struct embi_kern *kern = t->env->kern;
    uint32_t d = t->layout.dims;
    size_t lanes = p->panels * EMBI_PANEL, next_bytes = 0;
    uint64_t last = embi_min(first + n + p->piece_rows, p->end);
    const void *next = embi_next_rows(t, first + n, last, &next_bytes);
    float *out = p->out + (first - p->first);
    emb_status status = load(p, s, first, n, err);
    if (status)
        return status;
    if (p->singles > 0)
        p->products(s->rows, n, d, p->hidden, p->singles, p->in_place && !lanes ? next : NULL, out,
                    p->stride, NULL);
    if (lanes > 0)
        kern->panels(s->rows, n, d, p->packed, p->panels, next, next_bytes, s->products);
    for (size_t q = p->singles; q < p->n; q++)
        for (size_t i = 0; i < n; i++)
            out[q * p->stride + i] = s->products[i * lanes + (q - p->singles)];
    for (size_t q = 0; q < p->n; q++)
        finish(p, q, first, n, out + q * p->stride);
    return EMB_OK;
}

static emb_status multiply_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct product *p = arg;
    uint64_t at = p->first + item * p->item_rows, end = embi_min(at + p->item_rows, p->end);
    emb_status status = EMB_OK;
    for (; !status && at < end; at += p->piece_rows)
        status = multiply(p, &p->scratch[worker], at, embi_min(p->piece_rows, end - at), err);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

static void plan(struct product *p)
{
    const emb_table *t = p->l->table;
    const struct embi_kern *kern = t->env->kern;
    emb_dtype dtype = t->layout.dtype;
    embi_plan_queries(p->n, &p->singles, &p->panels);
    bool narrow = (dtype == EMB_F16 || dtype == EMB_BF16) && p->panels == 0; /* panels want f32 */
    p->in_place = embi_table_direct(t) && (dtype == EMB_F32 || narrow);
    p->products = !p->in_place || dtype == EMB_F32 ? kern->products_f32
                  : dtype == EMB_F16               ? kern->products_f16
                                                   : kern->products_bf16;
    size_t element = p->in_place ? emb_dtype_bytes(dtype) : sizeof(float);
    uint64_t row_bytes = embi_max(1, t->layout.dims * element);
    p->piece_rows = embi_piece_rows(p->panels, row_bytes);
    p->item_rows = embi_max(1, ITEM_BYTES / (row_bytes * EMBI_BLOCK_ROWS)) * EMBI_BLOCK_ROWS;
}

static void free_product(struct product *p)
{
    for (int w = 0; p->scratch && w < p->n_workers; w++) {
        free(p->scratch[w].block);
        free(p->scratch[w].products);
    }
    free(p->scratch);
    free(p->hidden);
    free(p->packed);
}

static emb_status alloc_product(struct product *p, emb_err *err)
{
    size_t d = p->l->info.dims, lanes = p->panels * EMBI_PANEL;
    p->hidden = malloc(p->n * d * sizeof *p->hidden + 1);
    p->packed = malloc(lanes * d * sizeof *p->packed + 1);
    p->scratch = calloc((size_t)p->n_workers, sizeof *p->scratch);
    bool there = p->hidden && p->packed && p->scratch;
    for (int w = 0; there && w < p->n_workers; w++) {
        struct scratch *s = &p->scratch[w];
        s->block = malloc((p->in_place ? 0 : p->piece_rows * d) * sizeof *s->block + 1);
        s->products = malloc(p->piece_rows * lanes * sizeof *s->products + 1);
        there = s->block && s->products;
    }
    return there ? EMB_OK
                 : embi_fail_memory(err, (p->n + lanes) * d * sizeof *p->hidden, "hidden states");
}

/* h [n, d] in f32 and in panels. */
static emb_status take_hidden(struct product *p, const emb_block *h, size_t first, emb_err *err)
{
    size_t d = h->dims;
    double *v = malloc(d * sizeof *v + 1);
    if (!v)
        return embi_fail_memory(err, d * sizeof *v, "a hidden state");
    for (size_t q = 0; q < p->n; q++) {
        embi_logits_hidden(p->l, h, first + q, v);
        for (size_t c = 0; c < d; c++)
            p->hidden[q * d + c] = (float)v[c];
    }
    embi_panels_pack(p->packed, p->hidden + p->singles * d, p->n - p->singles, h->dims);
    free(v);
    return EMB_OK;
}

static emb_status run(struct product *p, const emb_block *h, size_t first, emb_err *err)
{
    const emb_table *t = p->l->table;
    double products = (double)(p->end - p->first) * t->layout.dims * (double)p->n;
    struct embi_pool *pool = products < INLINE_PRODUCTS ? NULL : t->env->pool;
    plan(p);
    p->n_workers = pool ? embi_pool_threads(pool) : 1;
    emb_status status = alloc_product(p, err);
    if (!status)
        status = take_hidden(p, h, first, err);
    size_t items = (p->end - p->first + p->item_rows - 1) / p->item_rows;
    if (!status)
        status = embi_loop(pool, items, multiply_item, p, err);
    free_product(p);
    return status;
}

emb_status emb_logits_rows(const emb_logits *l, const emb_block *h, uint64_t first, uint64_t rows,
                           const double *log_sums, float *out, size_t stride, emb_err *err)
{
    emb_status status = embi_logits_check(l, h, err);
    if (!status && !embi_inside(first, rows, l->info.rows))
        status = embi_fail(err, EMB_RANGE, -1, "logits: rows %llu + %llu, the table has %llu",
                           (unsigned long long)first, (unsigned long long)rows,
                           (unsigned long long)l->info.rows);
    if (!status)
        status = embi_table_will_scan(l->table, err);
    for (size_t i = 0; !status && i < h->rows; i += EMBI_MOST_BATCH) {
        struct product p = {.l = l,
                            .n = embi_min(EMBI_MOST_BATCH, h->rows - i),
                            .first = first,
                            .end = first + rows,
                            .log_sums = log_sums ? log_sums + i : NULL,
                            .out = out + i * stride,
                            .stride = stride};
        status = run(&p, h, i, err);
    }
    return status;
}
