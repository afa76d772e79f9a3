/* device.c - see device.h. */
#include "table/device.h"

#include "num/blocks.h"
#include "num/dtype.h"
#include "util/err.h"
#include "util/loop.h"

#include <stdlib.h>

enum { ITEM_ROWS = 64 };

/* One form of a table: where its rows come from, for the plugin. */
struct source {
    const emb_table *table;
    emb_dtype dtype;
    emb_err err; /* what stopped them */
    struct embi_shared *there;
};

struct embi_on_device {
    struct source sources[EMBI_FORMS];
};

/* ------------------------------------------------------------------------------------------------
 * To the device
 */

struct fill {
    const emb_table *table;
    emb_dtype as;
    uint64_t first, n, row_bytes, pitch;
    unsigned char *to;
};

/* Room for a row of blocks, which a device has in another order; *room is NULL for other types. */
static emb_status row_of_blocks(emb_dtype dtype, uint64_t row_bytes, unsigned char **room,
                                emb_err *err)
{
    *room = dtype == EMB_Q8_0 ? malloc(row_bytes + 1) : NULL;
    return dtype == EMB_Q8_0 && !*room ? embi_fail_memory(err, row_bytes, "a row") : EMB_OK;
}

static emb_status fill_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct fill *f = arg;
    uint64_t end = embi_min((item + 1) * ITEM_ROWS, f->n);
    unsigned char *blocks;
    emb_status status = row_of_blocks(f->as, f->row_bytes, &blocks, err);
    (void)worker;
    for (uint64_t i = item * ITEM_ROWS; !status && i < end; i++) {
        unsigned char *row = f->to + i * f->pitch;
        status = embi_fetch(f->table, f->first + i, 1, f->as, blocks ? blocks : row, err);
        if (blocks && !status)
            embi_q8_0_split(row, blocks, f->row_bytes);
        memset(row + f->row_bytes, 0, f->pitch - f->row_bytes);
    }
    free(blocks);
    return status;
}

emb_status embi_device_fill(const emb_table *table, emb_dtype as, uint64_t first, uint64_t n,
                            void *to, uint64_t pitch, emb_err *err)
{
    struct fill f = {.table = table, .as = as, .first = first, .n = n, .pitch = pitch, .to = to};
    f.row_bytes = emb_dtype_row_bytes(as, table->layout.dims);
    return embi_loop(table->env->pool, (n + ITEM_ROWS - 1) / ITEM_ROWS, fill_item, &f, err);
}

static bool fill_rows(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    struct source *s = arg;
    return embi_device_fill(s->table, s->dtype, first, n, to, pitch, &s->err) == EMB_OK;
}

emb_dtype embi_device_dtype(emb_dtype stored)
{
    return stored == EMB_F16 || stored == EMB_BF16 || stored == EMB_Q8_0 ? stored : EMB_F32;
}

enum embi_cuda_type embi_device_type(emb_dtype dtype)
{
    switch (dtype) {
    case EMB_F64: return EMBI_CUDA_F64;
    case EMB_F32: return EMBI_CUDA_F32;
    case EMB_F16: return EMBI_CUDA_F16;
    case EMB_BF16: return EMBI_CUDA_BF16;
    case EMB_Q8_0: return EMBI_CUDA_Q8_0;
    default: return EMBI_CUDA_BYTES;
    }
}

/* The one place, beside table.c, where the const of the public interface is taken off: that a
 * device has the table does not change what it is. */
static emb_status begin(const emb_table *table, emb_err *err)
{
    emb_table *t = (emb_table *)table;
    if (t->on_device)
        return EMB_OK;
    t->on_device = calloc(1, sizeof *t->on_device);
    if (!t->on_device)
        return embi_fail_memory(err, sizeof *t->on_device, "a table on a device");
    return EMB_OK;
}

/* Of most types both forms are one. */
static struct source *source_of(const emb_table *table, enum embi_form form)
{
    emb_dtype stored = table->layout.dtype;
    return &table->on_device->sources[embi_device_dtype(stored) == stored ? EMBI_AS_STORED : form];
}

emb_status embi_table_device_status(const emb_table *table, enum embi_form form, int result,
                                    const struct embi_cuda_fault *fault, emb_err *err)
{
    if (result != EMBI_CUDA_STOPPED)
        return embi_device_status(result, fault, err);
    *err = source_of(table, form)->err;
    return err->status;
}

/* What each GPU has, or would have if there were room. */
static void say_where(const struct source *s)
{
    const emb_device *d = s->there->device;
    for (int i = 0; i < d->n; i++) {
        const struct embi_share *share = &s->there->shares[i];
        if (share->rows > 0)
            embi_log(s->table->env, EMB_LOG_DEBUG, s->table->path,
                     share->resident ? "cuda:%d has rows %llu..%llu"
                                     : "cuda:%d has too little room for rows %llu..%llu: they are "
                                       "copied a part at a time",
                     d->gpus[i].ordinal, (unsigned long long)share->first,
                     (unsigned long long)(share->first + share->rows - 1));
    }
}

static emb_status copy(emb_device *device, struct source *s, enum embi_form form, emb_err *err)
{
    const struct embi_layout *l = &s->table->layout;
    struct embi_cuda_fault fault;
    const struct embi_cuda_rows rows = {.rows = l->rows,
                                        .row_bytes = emb_dtype_row_bytes(s->dtype, l->dims),
                                        .type = embi_device_type(s->dtype),
                                        .fill = fill_rows,
                                        .arg = s};
    int result = embi_shared_open(device, &rows, false, &s->there, &fault);
    emb_status status = embi_table_device_status(s->table, form, result, &fault, err);
    if (!status)
        say_where(s);
    return status;
}

emb_status embi_table_on_device(emb_device *device, const emb_table *table, enum embi_form form,
                                struct embi_shared **there, emb_err *err)
{
    emb_status status = begin(table, err);
    if (status)
        return status;
    struct source *s = source_of(table, form);
    if (!s->there) {
        s->table = table;
        s->dtype =
            form == EMBI_AS_STORED ? table->layout.dtype : embi_device_dtype(table->layout.dtype);
        status = copy(device, s, form, err);
    }
    *there = s->there;
    return status;
}

void embi_table_off_device(emb_table *table)
{
    struct embi_on_device *on = table->on_device;
    for (int form = 0; on && form < EMBI_FORMS; form++)
        if (on->sources[form].there)
            embi_shared_close(on->sources[form].there);
    free(on);
    table->on_device = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Rows from the device
 */

struct embi_device_sink embi_device_sink_to(const struct embi_env *env, emb_dtype dtype,
                                            emb_block *dst)
{
    size_t row_bytes = (size_t)emb_dtype_row_bytes(dst->dtype, dst->dims);
    return (struct embi_device_sink){.env = env,
                                     .dtype = dtype,
                                     .dst = dst,
                                     .stride = dst->stride_bytes ? dst->stride_bytes : row_bytes};
}

static emb_status put_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct embi_device_sink *s = arg;
    uint64_t end = embi_min((item + 1) * ITEM_ROWS, s->n);
    size_t row_bytes = (size_t)emb_dtype_row_bytes(s->dtype, s->dst->dims);
    unsigned char *blocks;
    emb_status status = row_of_blocks(s->dtype, row_bytes, &blocks, err);
    (void)worker;
    for (uint64_t i = item * ITEM_ROWS; !status && i < end; i++) {
        uint64_t place = s->places ? s->places[i] : s->first + i;
        unsigned char *to = (unsigned char *)s->dst->data + place * s->stride;
        const unsigned char *row = s->from + i * s->pitch;
        if (blocks)
            embi_q8_0_join(blocks, row, row_bytes);
        row = blocks ? blocks : row;
        if (s->dst->dtype == s->dtype)
            memcpy(to, row, row_bytes);
        else
            status = embi_convert(s->env->kern, to, s->dst->dtype, row, s->dtype, s->dst->dims,
                                  NULL, err);
    }
    free(blocks);
    return status;
}

void embi_device_put(void *sink, const uint64_t *places, uint64_t first, uint64_t n,
                     const void *from, uint64_t pitch)
{
    struct embi_device_sink *s = sink;
    s->from = from;
    s->places = places;
    s->first = first;
    s->n = n;
    s->pitch = pitch;
    if (!s->status)
        s->status = embi_loop(s->env->pool, (n + ITEM_ROWS - 1) / ITEM_ROWS, put_item, s, &s->err);
}

emb_status emb_device_gather(emb_device *device, const emb_table *table, const uint64_t *rows,
                             size_t n, emb_block *dst, emb_err *err)
{
    struct embi_shared *there = NULL;
    struct embi_cuda_fault fault;
    if (!device || device->named.optional)
        return emb_table_gather(table, rows, n, dst, err);
    emb_status status = embi_device_ready(device, err);
    if (!status)
        status = embi_gather_check(table, rows, n, dst, err);
    if (!status)
        status = embi_table_ready(table, err);
    if (!status)
        status = embi_table_on_device(device, table, EMBI_AS_STORED, &there, err);
    if (status)
        return status;
    struct embi_device_sink sink = embi_device_sink_to(table->env, table->layout.dtype, dst);
    int result = embi_shared_gather(there, rows, n, embi_device_put, &sink, &fault);
    status = embi_table_device_status(table, EMBI_AS_STORED, result, &fault, err);
    if (!status && sink.status)
        *err = sink.err;
    return status ? status : sink.status;
}
