/* scatter.c - gradient rows added to rows of a table: emb_scatter_add.
 *
 * Gradients are put in the order of their rows first, those of one row in the order they came
 * (stable radix sort, Knuth, "The Art of Computer Programming" 3, 5.2.5). A segment is what goes to
 * one row; segments are independent of each other, so threads and devices change nothing.
 */
#include "dev/gpus.h"
#include "num/dtype.h"
#include "num/kern.h"
#include "table/device.h"
#include "util/err.h"
#include "util/loop.h"
#include "util/pool.h"

#include <stdlib.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, ITEM_SEGMENTS = 64 };

#define INLINE_BYTES (1u << 19) /* fewer bytes than that are not worth a thread */

struct scatter {
    const struct embi_env *env;
    emb_block table, grads; /* with their strides                                  */
    uint64_t *order;        /* [n] gradients, by their rows                        */
    uint64_t *rows;         /* [segments]                                          */
    uint64_t *ends;         /* [segments] in `order`                               */
    uint64_t n, segments;
    float *scratch; /* [workers, 2, d], for types that are added in f32    */
};

/* ------------------------------------------------------------------------------------------------
 * Order
 */

/* to = from, stably in the order of one digit of their rows. */
static void sort_by_digit(const uint64_t *rows, uint64_t n, int shift, const uint64_t *from,
                          uint64_t *to)
{
    uint64_t begins[DIGITS] = {0}, sum = 0;
    for (uint64_t i = 0; i < n; i++)
        begins[rows[from[i]] >> shift & (DIGITS - 1)]++;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        uint64_t count = begins[digit];
        begins[digit] = sum;
        sum += count;
    }
    for (uint64_t i = 0; i < n; i++)
        to[begins[rows[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
}

/* s->order holds the n gradients that count; `spare` is as long. */
static void sort(struct scatter *s, const uint64_t *rows, uint64_t *spare)
{
    uint64_t *from = s->order, *to = spare, *other;
    for (int shift = 0; shift < 64 && (s->table.rows - 1) >> shift != 0; shift += DIGIT_BITS) {
        sort_by_digit(rows, s->n, shift, from, to);
        other = from;
        from = to;
        to = other;
    }
    if (from != s->order)
        memcpy(s->order, from, s->n * sizeof *from);
}

static void cut(struct scatter *s, const uint64_t *rows)
{
    for (uint64_t i = 0; i < s->n; i++) {
        if (i == 0 || rows[s->order[i]] != rows[s->order[i - 1]])
            s->rows[s->segments++] = rows[s->order[i]];
        s->ends[s->segments - 1] = i + 1;
    }
}

/* Gradients of frozen rows take no part. */
static emb_status put_in_order(struct scatter *s, const uint64_t *rows, const uint8_t *frozen,
                               emb_err *err)
{
    uint64_t n = s->grads.rows, *spare = malloc(n * sizeof *spare + 1);
    s->order = malloc(n * sizeof *s->order + 1);
    s->rows = malloc(n * sizeof *s->rows + 1);
    s->ends = malloc(n * sizeof *s->ends + 1);
    if (!spare || !s->order || !s->rows || !s->ends) {
        free(spare);
        return embi_fail_memory(err, 4 * n * sizeof *spare, "the order of gradients");
    }
    for (uint64_t i = 0; i < n; i++)
        if (!frozen || !(frozen[rows[i] / 8] >> rows[i] % 8 & 1))
            s->order[s->n++] = i;
    if (s->n > 0) {
        sort(s, rows, spare);
        cut(s, rows);
    }
    free(spare);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * By the CPU
 */

static char *row_of(const emb_block *block, uint64_t row)
{
    return (char *)block->data + row * block->stride_bytes;
}

static uint64_t begin_of(const struct scatter *s, uint64_t segment)
{
    return segment == 0 ? 0 : s->ends[segment - 1];
}

static void add_f64(const struct scatter *s, uint64_t segment)
{
    char *to = row_of(&s->table, s->rows[segment]);
    for (uint64_t i = begin_of(s, segment); i < s->ends[segment]; i++) {
        const char *from = row_of(&s->grads, s->order[i]);
        for (uint32_t c = 0; c < s->table.dims; c++) {
            double sum, more;
            memcpy(&sum, to + c * sizeof sum, sizeof sum);
            memcpy(&more, from + c * sizeof more, sizeof more);
            sum += more;
            memcpy(to + c * sizeof sum, &sum, sizeof sum);
        }
    }
}

/* Through f32, which changes nothing of rows that are of it. */
static void add_f32(const struct scatter *s, uint64_t segment, float *sum, float *more)
{
    const struct embi_kern *kern = s->env->kern;
    char *to = row_of(&s->table, s->rows[segment]);
    emb_dtype dtype = s->table.dtype;
    uint32_t d = s->table.dims;
    emb_err ignored;
    embi_to_f32(kern, sum, to, dtype, d);
    for (uint64_t i = begin_of(s, segment); i < s->ends[segment]; i++) {
        embi_to_f32(kern, more, row_of(&s->grads, s->order[i]), dtype, d);
        kern->sum_f32(sum, sum, more, d, NULL);
    }
    embi_convert(kern, to, dtype, sum, EMB_F32, d, NULL, &ignored); /* float to float cannot fail */
}

static void add_item(void *arg, size_t item, int worker)
{
    const struct scatter *s = arg;
    uint64_t end = embi_min((item + 1) * ITEM_SEGMENTS, s->segments);
    size_t d = s->table.dims;
    float *sum = s->scratch + (size_t)worker * 2 * d;
    for (uint64_t segment = item * ITEM_SEGMENTS; segment < end; segment++)
        if (s->table.dtype == EMB_F64)
            add_f64(s, segment);
        else
            add_f32(s, segment, sum, sum + d);
}

static emb_status add_by_cpu(struct scatter *s, emb_err *err)
{
    size_t items = (size_t)((s->segments + ITEM_SEGMENTS - 1) / ITEM_SEGMENTS);
    bool small = s->n * s->grads.stride_bytes < INLINE_BYTES;
    size_t workers = small ? 1 : (size_t)embi_pool_threads(s->env->pool);
    s->scratch = malloc(workers * 2 * s->table.dims * sizeof *s->scratch + 1);
    if (!s->scratch)
        return embi_fail_memory(err, workers * 2 * s->table.dims * sizeof *s->scratch, "sums");
    for (size_t i = 0; small && i < items; i++)
        add_item(s, i, 0);
    if (!small)
        embi_pool_run(s->env->pool, items, add_item, s);
    free(s->scratch);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * By a device
 */

/* Rows of a block, by a list of their numbers. */
static bool fill_from(const emb_block *block, const uint64_t *rows, uint64_t n, char *to,
                      uint64_t pitch)
{
    size_t row_bytes = block->dims * emb_dtype_bytes(block->dtype);
    for (uint64_t i = 0; i < n; i++) {
        memcpy(to + i * pitch, row_of(block, rows[i]), row_bytes);
        memset(to + i * pitch + row_bytes, 0, pitch - row_bytes);
    }
    return true;
}

static bool fill_targets(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    const struct scatter *s = arg;
    return fill_from(&s->table, s->rows + first, n, to, pitch);
}

static bool fill_grads(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    const struct scatter *s = arg;
    return fill_from(&s->grads, s->order + first, n, to, pitch);
}

static void put_sums(void *arg, uint64_t first, uint64_t n, const void *from, uint64_t pitch)
{
    const struct scatter *s = arg;
    size_t row_bytes = s->table.dims * emb_dtype_bytes(s->table.dtype);
    for (uint64_t i = 0; i < n; i++)
        memcpy(row_of(&s->table, s->rows[first + i]), (const char *)from + i * pitch, row_bytes);
}

static emb_status add_by_device(struct scatter *s, emb_device *device, emb_err *err)
{
    const struct embi_cuda_scatter what = {.ends = s->ends,
                                           .segments = s->segments,
                                           .dims = s->table.dims,
                                           .type = embi_device_type(s->table.dtype),
                                           .fill_targets = fill_targets,
                                           .fill_grads = fill_grads,
                                           .put = put_sums,
                                           .arg = s};
    struct embi_cuda_fault fault;
    emb_status status = embi_device_ready(device, err);
    if (status)
        return status;
    return embi_device_status(embi_gpus_scatter(device, &what, &fault), &fault, err);
}

/* ------------------------------------------------------------------------------------------------
 * The call
 */

static emb_status check(const struct scatter *s, const uint64_t *rows, emb_err *err)
{
    emb_dtype dtype = s->table.dtype;
    if (dtype < EMB_F64 || dtype > EMB_BF16)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "gradients are added to f64, f32, f16 or bf16, not %s",
                         emb_dtype_name(dtype));
    if (s->grads.dtype != dtype || s->grads.dims != s->table.dims)
        return embi_fail(
            err, EMB_BAD_ARG, -1, "gradients: expected rows of %u numbers of %s, found %u of %s",
            s->table.dims, emb_dtype_name(dtype), s->grads.dims, emb_dtype_name(s->grads.dtype));
    for (uint64_t i = 0; i < s->grads.rows; i++)
        if (rows[i] >= s->table.rows)
            return embi_fail(err, EMB_RANGE, (int64_t)i, "row %llu: the table has %llu rows",
                             (unsigned long long)rows[i], (unsigned long long)s->table.rows);
    return EMB_OK;
}

emb_status emb_scatter_add(emb_ctx *ctx, emb_block *table, const uint64_t *rows,
                           const emb_block *grads, const emb_scatter_opts *opts, emb_err *err)
{
    struct scatter s = {.env = &ctx->env, .table = *table, .grads = *grads};
    emb_device *device = EMBI_HAS(opts, device) ? opts->device : NULL;
    emb_status status = check(&s, rows, err);
    if (status)
        return status;
    size_t row_bytes = s.table.dims * emb_dtype_bytes(s.table.dtype);
    s.table.stride_bytes = s.table.stride_bytes ? s.table.stride_bytes : row_bytes;
    s.grads.stride_bytes = s.grads.stride_bytes ? s.grads.stride_bytes : row_bytes;
    status = put_in_order(&s, rows, EMBI_HAS(opts, frozen) ? opts->frozen : NULL, err);
    if (!status && s.segments > 0 && device && !device->named.optional)
        status = add_by_device(&s, device, err);
    else if (!status && s.segments > 0)
        status = add_by_cpu(&s, err);
    free(s.order);
    free(s.rows);
    free(s.ends);
    return status;
}
