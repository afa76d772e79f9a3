/* cost.c - what a table costs: parameters, bytes, traffic, and its share of a GPU (emb_cost_of).
 *
 * Whole numbers throughout, exact or refused. The formulas are those of docs/commands/plan.md.
 */
#include "num/dtype.h"
#include "util/err.h"

#include <inttypes.h>
#include <math.h>

/* A product or sum that 64 bits do not hold shows in `failed`; later ones do not matter then. */
struct sums {
    bool failed;
};

static uint64_t times(struct sums *s, uint64_t a, uint64_t b)
{
    uint64_t out = 0;
    s->failed |= !embi_mul(a, b, &out);
    return out;
}

static uint64_t plus(struct sums *s, uint64_t a, uint64_t b)
{
    uint64_t out = 0;
    s->failed |= !embi_add(a, b, &out);
    return out;
}

/* a b / c, rounded up: the quotient fits where the product may not. */
static uint64_t times_over(struct sums *s, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t whole = times(s, a / c, b), rest = times(s, a % c, b);
    return plus(s, whole, rest / c + (rest % c > 0));
}

/* Numbers of [B, L, ...]. */
static emb_dtype activation_dtype(emb_dtype dtype)
{
    return emb_dtype_is_float(dtype) ? dtype : EMB_F32;
}

static void count_params(struct sums *s, const emb_cost_opts *o, emb_cost *c)
{
    c->table_params = times(s, o->rows, o->dims);
    c->position_params = times(s, o->positions, o->dims);
    c->head_params = o->untied ? c->table_params : 0;
    c->tied_params = plus(s, c->table_params, c->position_params);
    c->untied_params = plus(s, c->tied_params, c->table_params);
    c->params = o->untied ? c->untied_params : c->tied_params;
    c->share = o->total_params ? (double)c->params / (double)o->total_params : NAN;
}

/* Rows of all tables, each of which is `rows` long where it is one of tokens. */
static uint64_t all_rows(struct sums *s, const emb_cost_opts *o, uint64_t rows)
{
    return plus(s, o->positions, times(s, rows, o->untied ? 2 : 1));
}

static void count_bytes(struct sums *s, const emb_cost_opts *o, emb_cost *c)
{
    c->lookup_bytes = emb_dtype_row_bytes(o->dtype, o->dims);
    c->bytes = times(s, all_rows(s, o, o->rows), c->lookup_bytes);
    c->bytes_f32 = times(s, c->params, emb_dtype_bytes(EMB_F32));
    c->bytes_f16 = times(s, c->params, emb_dtype_bytes(EMB_F16));
    c->bytes_bf16 = times(s, c->params, emb_dtype_bytes(EMB_BF16));
    c->bytes_i8 = times(s, c->params, emb_dtype_bytes(EMB_I8));
    c->one_hot_ratio = (double)o->rows / o->dims;
}

static void count_step(struct sums *s, const emb_cost_opts *o, emb_cost *c)
{
    uint64_t batch = o->batch ? o->batch : 1, length = o->length ? o->length : 1;
    c->activation_bytes = c->logits_bytes = EMB_COST_UNKNOWN;
    if (!o->batch && !o->length)
        return;
    uint64_t column =
        times(s, times(s, batch, length), emb_dtype_bytes(activation_dtype(o->dtype)));
    c->activation_bytes = times(s, column, o->dims);
    c->logits_bytes = times(s, column, o->rows);
}

/* Adafactor keeps a row and a column of each table (Shazeer and Stern 2018). */
static uint64_t optimizer_numbers(struct sums *s, const emb_cost_opts *o, const emb_cost *c)
{
    uint64_t tables = 1 + (o->untied ? 1 : 0) + (o->positions ? 1 : 0);
    switch (o->optimizer) {
    case EMB_OPTIMIZER_NONE:
    case EMB_SGD: return 0;
    case EMB_ADAM:
    case EMB_ADAMW: return times(s, c->params, 2);
    case EMB_ADAFACTOR: return plus(s, all_rows(s, o, o->rows), times(s, tables, o->dims));
    default: return c->params;
    }
}

static void count_gpus(struct sums *s, const emb_cost_opts *o, emb_cost *c)
{
    if (!o->gpus)
        return;
    c->gpu_rows = o->rows / o->gpus + (o->rows % o->gpus > 0);
    c->padding_rows = times(s, c->gpu_rows, o->gpus) - o->rows;
    uint64_t rows = all_rows(s, o, c->gpu_rows);
    c->gpu_params = times(s, rows, o->dims);
    c->gpu_bytes = times(s, rows, c->lookup_bytes);
    c->message_bytes = c->ring_bytes = c->activation_bytes;
    if (c->message_bytes != EMB_COST_UNKNOWN)
        c->ring_bytes = times_over(s, c->message_bytes, times(s, 2, o->gpus - 1), o->gpus);
}

static emb_status check(const emb_cost_opts *o, emb_err *err)
{
    if (!o->rows || !o->dims)
        return embi_fail(err, EMB_BAD_ARG, -1, "a table of %" PRIu64 " x %u has no numbers",
                         o->rows, o->dims);
    if (!emb_dtype_row_bytes(o->dtype, o->dims))
        return embi_fail(err, EMB_BAD_ARG, -1, "rows of %u numbers are no whole blocks of %s",
                         o->dims, emb_dtype_name(o->dtype));
    return EMB_OK;
}

emb_status emb_cost_of(const emb_cost_opts *opts, emb_cost *cost, emb_err *err)
{
    struct sums s = {false};
    emb_cost_opts o = {0};
    *cost = (emb_cost){0};
    memcpy(&o, opts, embi_min(opts->size, sizeof o));
    o.dtype = o.dtype ? o.dtype : EMB_F32;
    emb_status status = check(&o, err);
    if (status)
        return status;
    count_params(&s, &o, cost);
    count_bytes(&s, &o, cost);
    count_step(&s, &o, cost);
    cost->optimizer_bytes =
        o.optimizer ? times(&s, optimizer_numbers(&s, &o, cost), emb_dtype_bytes(EMB_F32))
                    : EMB_COST_UNKNOWN;
    count_gpus(&s, &o, cost);
    if (s.failed)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "the numbers are too large: more than 2^64 of something");
    if (o.total_params && o.total_params < cost->params)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "the model has %" PRIu64
                         " parameters in all, and its tables alone %" PRIu64,
                         o.total_params, cost->params);
    return EMB_OK;
}
