/* assemble.c - the input of a model, made of rows of its tables: emb_assembly_*.
 *
 * What is done comes from model/input_layer.h. Here an assembly is opened, tokens are checked
 * before anything is written, and items of rows go to the threads; assemble_row.c has the
 * arithmetic.
 */
#include "ops/assemble.h"

#include "dev/load.h"
#include "num/dtype.h"
#include "util/err.h"
#include "util/loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* One item: blocks of a megabyte are to be shared evenly. And what is worth a second thread, as in
 * table/gather.c. */
enum { ITEM_ROWS = 64, PARALLEL_BYTES = 512 << 10 };

/* Of tables that are added, converted when they are opened. */
enum { COPY_BYTES = 32 << 20 };

/* Products that are worth loading the BLAS plugin. */
#define BLAS_PRODUCTS 1e8

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

/* The type that rows of this one are computed in, and rounded to. */
static emb_dtype result_of(emb_dtype dtype)
{
    bool kept = dtype == EMB_F64 || dtype == EMB_F16 || dtype == EMB_BF16;
    return kept ? dtype : EMB_F32;
}

/* Of two tables that meet in a sum: the wider type, f32 for f16 and bf16. */
static emb_dtype joined(emb_dtype a, const struct embi_side *side)
{
    emb_dtype b = side->data ? result_of(side->dtype) : a;
    if (a == b)
        return a;
    return a == EMB_F64 || b == EMB_F64 ? EMB_F64 : EMB_F32;
}

static void choose_types(struct emb_assembly *a)
{
    const struct embi_input_layer *l = &a->layer;
    emb_dtype dtype = result_of(a->table->layout.dtype);
    const struct embi_side *const sides[] = {&l->positions, &l->types,   &l->norm,
                                             &l->norm_bias, &l->project, &l->project_bias};
    for (size_t i = 0; i < EMBI_LEN(sides); i++)
        dtype = joined(dtype, sides[i]);
    a->info.dtype = dtype;
    a->wide = dtype == EMB_F64;
}

/* A number as a type has it. */
static double rounded(const struct emb_assembly *a, double x, emb_dtype dtype)
{
    double y = x;
    char element[sizeof(double)];
    emb_err err;
    if (embi_convert(a->env->kern, element, dtype, &x, EMB_F64, 1, NULL, &err) == EMB_OK)
        (void)embi_convert(a->env->kern, &y, EMB_F64, element, dtype, 1, NULL, &err);
    return y;
}

static emb_status choose_factor(struct emb_assembly *a, const emb_assembly_opts *o, emb_err *err)
{
    bool own = a->layer.scale == 0;
    double x = own ? o->scale : a->layer.scale;
    if (own && o->scale_root)
        x = sqrt((double)a->table->layout.dims);
    bool to_result = own || a->layer.scale_rounded;
    a->factor = rounded(a, x, to_result ? a->info.dtype : embi_work_dtype(a));
    return isfinite(a->factor) && (a->factor != 0) == (x != 0)
               ? EMB_OK
               : embi_fail(err, EMB_BAD_ARG, -1, "a factor of %g is none in %s", x,
                           emb_dtype_name(a->info.dtype));
}

static void describe(struct emb_assembly *a)
{
    static const char *const ways[] = {
        [EMBI_POS_NONE] = "no", [EMBI_POS_ROTARY] = "rotary", [EMBI_POS_RELATIVE] = "relative"};
    const struct embi_input_layer *l = &a->layer;
    for (size_t i = 0; i < EMBI_INPUT_STEPS; i++)
        a->info.counts = a->info.counts || l->steps[i] == EMBI_STEP_POSITION;
    a->info.dims = l->dims;
    a->info.positions = a->info.counts ? l->n_positions : 0;
    a->info.types = l->types.data ? l->types.rows : 0;
    a->info.attention = l->not_added ? ways[l->kind] : NULL;
}

/* The vector of a side in the work type; zeros where there is none. */
static emb_status copy_vector(struct emb_assembly *a, const struct embi_side *side, uint32_t dims,
                              char **copy, emb_err *err)
{
    *copy = calloc(dims, embi_work_bytes(a));
    if (!*copy)
        return embi_fail_memory(err, dims * embi_work_bytes(a), "a LayerNorm");
    return side->data ? embi_convert(a->env->kern, *copy, embi_work_dtype(a), side->data,
                                     side->dtype, dims, NULL, err)
                      : EMB_OK;
}

/* A small table in another type, or at an odd place, is converted once. */
static emb_status copy_side(struct emb_assembly *a, struct embi_side *side, char **copy,
                            emb_err *err)
{
    const emb_dtype dtype = a->info.dtype;
    const size_t bytes = emb_dtype_bytes(dtype);
    uint64_t n = side->rows * side->dims; /* no more than bytes of the file */
    bool ready = side->dtype == dtype && (uintptr_t)side->data % bytes == 0;
    if (!side->data || ready || n > COPY_BYTES / bytes)
        return EMB_OK;
    *copy = malloc(n * bytes + 1);
    if (!*copy)
        return embi_fail_memory(err, n * bytes, "rows that are added");
    emb_status status =
        embi_convert(a->env->kern, *copy, dtype, side->data, side->dtype, n, NULL, err);
    side->data = *copy;
    side->dtype = dtype;
    return status;
}

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static emb_status make_rooms(struct emb_assembly *a, emb_err *err)
{
    size_t workers = (size_t)embi_pool_threads(a->env->pool);
    size_t row = aligned(a->widest * emb_dtype_bytes(a->info.dtype));
    size_t work = aligned(a->widest * embi_work_bytes(a));
    size_t rows = a->project ? aligned(a->widest * EMBI_PROJECT_ROWS * sizeof(double)) : 0;
    size_t bytes = 2 * row + work + 2 * rows;
    a->rooms = calloc(workers, sizeof *a->rooms);
    a->n_rooms = workers;
    a->memory = malloc(workers * bytes);
    if (!a->rooms || !a->memory)
        return embi_fail_memory(err, workers * bytes, "rows");
    for (size_t i = 0; i < workers; i++) {
        char *at = a->memory + i * bytes;
        a->rooms[i] =
            (struct embi_assembly_room){.row = at, .side = at + row, .work = at + 2 * row};
        if (!rows)
            continue;
        a->rooms[i].narrow = (double *)(void *)(at + 2 * row + work);
        a->rooms[i].project = (double *)(void *)(at + 2 * row + work + rows);
    }
    return EMB_OK;
}

static emb_status load(struct emb_assembly *a, emb_err *err)
{
    struct embi_input_layer *l = &a->layer;
    emb_status status = copy_side(a, &l->positions, &a->positions, err);
    if (!status)
        status = copy_side(a, &l->types, &a->types, err);
    a->widest = (uint32_t)embi_max(a->table->layout.dims, l->dims);
    a->waves.dims = l->project.data ? l->dims : a->table->layout.dims;
    a->waves.layout = l->sinusoidal                ? EMBI_SINUSOID_PAIRS
                      : l->kind == EMBI_POS_HALVES ? EMBI_SINUSOID_HALVES
                                                   : EMBI_SINUSOID_TENSOR2TENSOR;
    if (!status && l->norm.data)
        status = copy_vector(a, &l->norm, l->norm.dims, &a->norm_weight, err);
    if (!status && l->norm.data)
        status = copy_vector(a, &l->norm_bias, l->norm.dims, &a->norm_bias, err);
    if (!status && l->project.data)
        status = embi_project_open(a, err);
    return status ? status : make_rooms(a, err);
}

static emb_status check_opts(const emb_assembly_opts *o, emb_err *err)
{
    if (o->input_layer && (o->positions || o->scale != 0 || o->scale_root || o->layer_norm))
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "the input of a model has positions, a scale and a LayerNorm of its own");
    if (o->scale != 0 && o->scale_root)
        return embi_fail(err, EMB_BAD_ARG, -1, "two scales: which one?");
    return isfinite(o->scale) ? EMB_OK : embi_fail(err, EMB_BAD_ARG, -1, "a scale of %g", o->scale);
}

emb_status emb_assembly_open(emb_ctx *ctx, const emb_table *table, const emb_assembly_opts *opts,
                             emb_assembly **assembly, emb_err *err)
{
    emb_assembly_opts o = {.size = sizeof o};
    if (opts)
        memcpy(&o, opts, embi_min(opts->size, sizeof o));
    emb_status status = check_opts(&o, err);
    if (!status)
        status = embi_table_ready(table, err);
    if (status)
        return status;
    emb_assembly *a = calloc(1, sizeof *a);
    if (!a)
        return embi_fail_memory(err, sizeof *a, "an assembly");
    a->table = table;
    a->env = &ctx->env;
    struct embi_input_wants wants = {o.input_layer, o.positions, o.types, o.layer_norm};
    status = embi_input_layer_open(table, &wants, &a->layer, err);
    if (!status) {
        choose_types(a);
        describe(a);
        status = choose_factor(a, &o, err);
    }
    if (!status && o.device && !o.device->named.optional && embi_assembly_fits_device(a))
        a->device = o.device;
    a->info.on_device = a->device != NULL;
    if (!status)
        status = load(a, err);
    if (status)
        emb_assembly_close(a);
    else
        *assembly = a;
    return status;
}

void emb_assembly_close(emb_assembly *a)
{
    if (!a)
        return;
    embi_assembly_leave_device(a);
    free(a->positions);
    free(a->types);
    free(a->norm_weight);
    free(a->norm_bias);
    free(a->project);
    free(a->project_bias);
    free(a->waves.rows);
    free(a->rooms);
    free(a->memory);
    free(a);
}

const emb_assembly_info *emb_assembly_describe(const emb_assembly *a)
{
    return &a->info;
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

void emb_assembly_count(const emb_assembly *a, const uint64_t *rows, size_t n, bool padding,
                        uint64_t *next, uint64_t *positions)
{
    bool hidden = padding && a->layer.padding == EMBI_PAD_MASK;
    for (size_t i = 0; i < n; i++) {
        bool pad = hidden || (a->layer.padding == EMBI_PAD_ID && rows[i] == a->layer.pad);
        positions[i] = pad ? EMB_POSITION_PADDING : (*next)++;
    }
}

/* Is there a row for tokens that are padding? */
static bool has_padding(const struct emb_assembly *a)
{
    const struct embi_input_layer *l = &a->layer;
    return l->padding != EMBI_PAD_NONE && (!l->positions.data || l->offset - 1 < l->positions.rows);
}

static emb_status check_positions(const struct embi_assembly_job *job, emb_err *err)
{
    const emb_assembly *a = job->a;
    char name[EMBI_SHOW_MAX];
    emb_str of = a->layer.positions.name;
    for (size_t i = 0; a->info.counts && i < job->n; i++) {
        uint64_t t = job->positions[i];
        if (t < a->info.positions || (t == EMB_POSITION_PADDING && has_padding(a)))
            continue;
        if (t == EMB_POSITION_PADDING)
            return embi_fail(err, EMB_RANGE, (int64_t)i,
                             "a token that is padding: there is no row for these%s%s",
                             of.s ? " in " : "", of.s ? embi_show(name, of) : "");
        return embi_fail(err, EMB_RANGE, (int64_t)i,
                         "position %" PRIu64 ": expected one below %" PRIu64 "%s%s", t,
                         a->info.positions, of.s ? ", for which there are rows in " : "",
                         of.s ? embi_show(name, of) : "");
    }
    return EMB_OK;
}

static emb_status check_types(const struct embi_assembly_job *job, emb_err *err)
{
    const emb_assembly *a = job->a;
    if (!job->types || !a->info.types)
        return EMB_OK;
    for (size_t i = 0; i < job->n; i++)
        if (job->types[i] >= a->info.types)
            return embi_fail(err, EMB_RANGE, (int64_t)i,
                             "token type %" PRIu64 " is outside 0..%" PRIu64, job->types[i],
                             a->info.types - 1);
    return EMB_OK;
}

static emb_status check(const struct embi_assembly_job *job, emb_err *err)
{
    const emb_assembly *a = job->a;
    emb_block like_table = *job->dst;
    like_table.dims = a->table->layout.dims;
    if (job->dst->dims != a->info.dims || job->dst->rows < job->n ||
        emb_dtype_bytes(job->dst->dtype) == 0)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "expected room for [%zu, %u] numbers, found [%" PRIu64 ", %u] of type %s",
                         job->n, a->info.dims, job->dst->rows, job->dst->dims,
                         emb_dtype_name(job->dst->dtype));
    if (a->info.counts && !job->positions)
        return embi_fail(err, EMB_BAD_ARG, -1, "positions are needed");
    emb_status status = embi_gather_check(a->table, job->rows, job->n, &like_table, err);
    if (!status)
        status = check_positions(job, err);
    return status ? status : check_types(job, err);
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

/* No more items than calls that BLAS bears at a time. */
static size_t item_rows(const struct embi_assembly_job *job)
{
    return job->blas ? embi_max(ITEM_ROWS, job->n / EMBI_BLAS_CALLS + 1) : ITEM_ROWS;
}

static emb_status make_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct embi_assembly_job *job = arg;
    size_t step = item_rows(job), begin = item * step;
    return embi_assemble_rows(job, begin, embi_min(begin + step, job->n), &job->a->rooms[worker],
                              err);
}

/* Our own loops do as well, more slowly; without the plugin nobody is told. */
static void choose_blas(struct embi_assembly_job *job)
{
    const emb_assembly *a = job->a;
    emb_err err;
    if (!a->project || (double)job->n * a->table->layout.dims * a->info.dims < BLAS_PRODUCTS)
        return;
    if (embi_blas_get(a->env, &job->blas, &err) != EMB_OK ||
        !embi_blas_is_current(a->env, job->blas))
        job->blas = NULL;
}

static emb_status run(const struct embi_assembly_job *whole, size_t from, size_t n, emb_err *err)
{
    struct embi_assembly_job job = *whole;
    emb_block dst = *whole->dst;
    if (dst.data)
        dst.data = (char *)dst.data + from * whole->stride;
    job.rows += from;
    job.positions = whole->positions ? whole->positions + from : NULL;
    job.types = whole->types ? whole->types + from : NULL;
    job.n = n;
    job.dst = &dst;
    choose_blas(&job);
    if (job.writer)
        return embi_assembly_put(&job, err);
    size_t step = item_rows(&job);
    bool large = job.blas || n * whole->stride >= PARALLEL_BYTES;
    return embi_loop(large ? whole->a->env->pool : NULL, (n + step - 1) / step, make_item, &job,
                     err);
}

emb_status embi_assembly_make(struct embi_assembly_job *job, emb_err *err)
{
    emb_assembly *a = job->a;
    const bool waves = a->info.counts && !a->layer.positions.data;
    emb_status status = check(job, err);
    if (!status && a->device && !job->writer)
        return embi_assemble_on_device(job, err);
    for (size_t at = 0, part; !status && at < job->n; at += part) {
        part = job->n - at;
        if (waves)
            status = embi_waves_cover(a, job->positions + at, job->n - at, &part, err);
        if (!status)
            status = run(job, at, part, err);
    }
    return status;
}

emb_status emb_assembly_rows(const emb_assembly *assembly, const uint64_t *rows,
                             const uint64_t *positions, const uint64_t *types, size_t n,
                             emb_block *dst, emb_err *err)
{
    size_t row_bytes = (size_t)emb_dtype_row_bytes(dst->dtype, dst->dims);
    struct embi_assembly_job job = {
        .a = (emb_assembly *)(uintptr_t)assembly, /* logically const: rows are kept */
        .rows = rows,
        .positions = positions,
        .types = types,
        .n = n,
        .dst = dst,
        .stride = dst->stride_bytes ? dst->stride_bytes : row_bytes};
    return embi_assembly_make(&job, err);
}
