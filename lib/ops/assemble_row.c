/* assemble_row.c - the steps that make one row; see assemble.h.
 *
 * A row is read where it lies in the file, and each step writes it to where it will stay, so a row
 * with one step is touched once. Between steps it is of the type of the results, to which each step
 * rounds, as libraries do that keep tensors in it.
 */
#include "ops/assemble.h"

#include "dev/blas.h"
#include "num/dtype.h"
#include "util/err.h"

#include <math.h>

/* A row in the making. */
struct maker {
    const struct embi_assembly_job *job;
    const struct emb_assembly *a;
    const struct embi_assembly_room *room;
    size_t i;      /* the token          */
    const void *x; /* [dims] the row now */
    void *out;     /* [dims] where a step writes it; may be x */
    uint32_t dims;
    const void *next; /* a row that is to be asked for; NULL: none, or it was */
};

void embi_assembly_round(const struct emb_assembly *a, void *out, const void *x, size_t n)
{
    if (a->info.dtype == EMB_BF16)
        a->env->kern->bf16_from_f32(out, x, n);
    else if (a->info.dtype == EMB_F16)
        a->env->kern->f16_from_f32(out, x, n);
    else if (out != x)
        memcpy(out, x, n * embi_work_bytes(a));
}

/* ------------------------------------------------------------------------------------------------
 * Steps
 */

/* Can a kernel take numbers from there? f16 and bf16 may lie anywhere. */
static bool is_aligned(const struct emb_assembly *a, const void *p)
{
    const size_t bytes = emb_dtype_bytes(a->info.dtype);
    return bytes < sizeof(float) || (uintptr_t)p % bytes == 0;
}

/* The token's row: where it lies, or read into `out`. */
static emb_status begin_row(struct maker *m, emb_err *err)
{
    const struct emb_assembly *a = m->a;
    uint64_t row = m->job->rows[m->i];
    m->dims = a->table->layout.dims;
    if (embi_table_direct(a->table) && a->table->layout.dtype == a->info.dtype) {
        m->x = embi_table_row(a->table, row);
        if (is_aligned(a, m->x))
            return EMB_OK;
    }
    m->x = m->out;
    return embi_fetch(a->table, row, 1, a->info.dtype, m->out, err);
}

static void times_f64(double *out, const double *x, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] * factor;
}

static void sum_f64(double *out, const double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

/* The row that the first step asks for. */
static const void *take_next(struct maker *m)
{
    const void *next = m->next;
    m->next = NULL;
    return next;
}

static void multiply(struct maker *m)
{
    const struct embi_kern *kern = m->a->env->kern;
    const float factor = (float)m->a->factor;
    if (m->a->factor == 0)
        return;
    switch (m->a->info.dtype) {
    case EMB_F64: times_f64(m->out, m->x, m->a->factor, m->dims); break;
    case EMB_F16: kern->times_f16(m->out, m->x, factor, m->dims, take_next(m)); break;
    case EMB_BF16: kern->times_bf16(m->out, m->x, factor, m->dims, take_next(m)); break;
    default: kern->times_f32(m->out, m->x, factor, m->dims, take_next(m)); break;
    }
    m->x = m->out;
}

static void add(struct maker *m, const void *y)
{
    const struct embi_kern *kern = m->a->env->kern;
    switch (m->a->info.dtype) {
    case EMB_F64: sum_f64(m->out, m->x, y, m->dims); break;
    case EMB_F16: kern->sum_f16(m->out, m->x, y, m->dims, take_next(m)); break;
    case EMB_BF16: kern->sum_bf16(m->out, m->x, y, m->dims, take_next(m)); break;
    default: kern->sum_f32(m->out, m->x, y, m->dims, take_next(m)); break;
    }
    m->x = m->out;
}

/* A row of a table beside the token's. Where results are of f16 or bf16, all tables are. */
static const void *side_row(const struct maker *m, const struct embi_side *side, uint64_t row)
{
    size_t row_bytes = side->dims * emb_dtype_bytes(side->dtype);
    const char *p = side->data + row * row_bytes;
    if (side->dtype == m->a->info.dtype && is_aligned(m->a, p))
        return p;
    if (m->a->wide)
        embi_to_f64((double *)(void *)m->room->side, p, side->dtype, side->dims);
    else
        embi_to_f32(m->a->env->kern, (float *)(void *)m->room->side, p, side->dtype, side->dims);
    return m->room->side;
}

/* Padding has the row before that of position 0; of computed ones zeros, which change nothing. */
static void add_position(struct maker *m)
{
    const struct embi_input_layer *l = &m->a->layer;
    uint64_t t = m->job->positions[m->i];
    bool padding = t == EMB_POSITION_PADDING;
    if (l->positions.data)
        add(m, side_row(m, &l->positions, padding ? l->offset - 1 : l->offset + t));
    else if (!padding)
        add(m, embi_waves_row(m->a, t));
}

/* Mean of x and sum of squared differences from it; docs/numerics.md has the order. */
static void moments_f32(const struct embi_kern *kern, const float *x, uint32_t d, double *mean,
                        double *m2)
{
    struct embi_row_sums sums;
    kern->row_sums(x, d, &sums);
    *mean = sums.sum / d;
    *m2 = sums.norm2 - sums.sum * *mean;
    if (*m2 >= sums.norm2 / 16)
        return;
    *m2 = 0;
    for (uint32_t c = 0; c < d; c++)
        *m2 += ((double)x[c] - *mean) * ((double)x[c] - *mean);
}

static void moments_f64(const double *x, uint32_t d, double *mean, double *m2)
{
    double sum = 0;
    for (uint32_t c = 0; c < d; c++)
        sum += x[c];
    *mean = sum / d;
    *m2 = 0;
    for (uint32_t c = 0; c < d; c++)
        *m2 += (x[c] - *mean) * (x[c] - *mean);
}

/* 1 / the standard deviation. */
static double factor_of(const struct maker *m, double m2)
{
    return 1 / sqrt(m2 / m->dims + m->a->layer.eps);
}

static void normalize_f64(struct maker *m)
{
    const double *x = m->x, *weight = (const double *)(const void *)m->a->norm_weight,
                 *bias = (const double *)(const void *)m->a->norm_bias;
    double mean, m2, *out = m->out;
    moments_f64(x, m->dims, &mean, &m2);
    const double factor = factor_of(m, m2);
    for (uint32_t c = 0; c < m->dims; c++)
        out[c] = (x[c] - mean) * factor * weight[c] + bias[c];
}

/* Rows of f16 and bf16 are widened for it, and rounded behind it. */
static void normalize_f32(struct maker *m)
{
    const struct emb_assembly *a = m->a;
    const emb_dtype dtype = a->info.dtype;
    const void *weight = a->norm_weight, *bias = a->norm_bias;
    float *work = dtype == EMB_F32 ? m->out : (float *)(void *)m->room->work;
    const float *x = dtype == EMB_F32 ? m->x : work;
    double mean, m2;
    if (dtype == EMB_F16)
        a->env->kern->f32_from_f16(work, m->x, m->dims);
    else if (dtype == EMB_BF16)
        a->env->kern->f32_from_bf16(work, m->x, m->dims);
    moments_f32(a->env->kern, x, m->dims, &mean, &m2);
    a->env->kern->norm_f32(work, x, mean, factor_of(m, m2), weight, bias, m->dims);
    embi_assembly_round(a, m->out, work, m->dims);
}

static void normalize(struct maker *m)
{
    if (m->a->wide)
        normalize_f64(m);
    else
        normalize_f32(m);
    m->x = m->out;
}

static void take_step(struct maker *m, enum embi_input_step step)
{
    const uint64_t *types = m->job->types;
    switch (step) {
    case EMBI_STEP_END:
    case EMBI_STEP_PROJECT: break; /* that of many rows together */
    case EMBI_STEP_TYPE: add(m, side_row(m, &m->a->layer.types, types ? types[m->i] : 0)); break;
    case EMBI_STEP_POSITION: add_position(m); break;
    case EMBI_STEP_NORM: normalize(m); break;
    }
}

/* Those from `from` on, before `to`. */
static void take_steps(struct maker *m, size_t from, size_t to)
{
    const enum embi_input_step *steps = m->a->layer.steps;
    for (size_t s = from; s < to && steps[s] != EMBI_STEP_END; s++)
        take_step(m, steps[s]);
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

static char *place_of(const struct maker *m)
{
    return (char *)m->job->dst->data + m->i * m->job->stride;
}

/* Where steps write: to the row's place, if it is of their type. */
static void choose_out(struct maker *m)
{
    bool in_place = m->job->dst->dtype == m->a->info.dtype && is_aligned(m->a, place_of(m));
    m->out = in_place ? place_of(m) : m->room->row;
}

static emb_status end_row(struct maker *m, emb_err *err)
{
    char *place = place_of(m);
    return m->x == place ? EMB_OK
                         : embi_convert(m->a->env->kern, place, m->job->dst->dtype, m->x,
                                        m->a->info.dtype, m->dims, NULL, err);
}

/* The row that comes some after token i is to be asked for, if there is one before `end`: where it
 * is of the type of the results, along with the first step on this one. */
static void look_ahead(struct maker *m, size_t end)
{
    const emb_table *t = m->a->table;
    m->next = NULL;
    if (!embi_table_direct(t) || end - m->i <= EMBI_ROWS_AHEAD)
        return;
    const uint64_t row = m->job->rows[m->i + EMBI_ROWS_AHEAD];
    if (t->layout.dtype == m->a->info.dtype)
        m->next = embi_table_row(t, row);
    else
        embi_table_ask_row(t, row);
}

/* The rows that an item begins with, which none before them has asked for. */
static void ask_first(const struct maker *m, size_t begin, size_t end)
{
    end = embi_min(end, begin + EMBI_ROWS_AHEAD);
    for (size_t i = begin; embi_table_direct(m->a->table) && i < end; i++)
        embi_table_ask_row(m->a->table, m->job->rows[i]);
}

/* Where no step has done so. */
static void ask_ahead(struct maker *m)
{
    if (take_next(m))
        embi_table_ask_row(m->a->table, m->job->rows[m->i + EMBI_ROWS_AHEAD]);
}

static emb_status make_rows(struct maker *m, size_t begin, size_t end, emb_err *err)
{
    emb_status status = EMB_OK;
    ask_first(m, begin, end);
    for (m->i = begin; !status && m->i < end; m->i++) {
        look_ahead(m, end);
        choose_out(m);
        status = begin_row(m, err);
        if (status)
            return status;
        multiply(m);
        take_steps(m, 0, EMBI_INPUT_STEPS);
        ask_ahead(m);
        status = end_row(m, err);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * With a projection, rows of a part go to it together
 */

static size_t project_step(const struct emb_assembly *a)
{
    size_t s = 0;
    while (a->layer.steps[s] != EMBI_STEP_PROJECT)
        s++;
    return s;
}

/* A row of the product, rounded to the work type and to that of the results. */
static emb_status narrow(struct maker *m, const double *from, emb_err *err)
{
    const struct emb_assembly *a = m->a;
    emb_status status = embi_convert(a->env->kern, m->room->work, embi_work_dtype(a), from, EMB_F64,
                                     m->dims, NULL, err);
    embi_assembly_round(a, m->out, m->room->work, m->dims);
    m->x = m->out;
    return status;
}

static emb_status make_part(struct maker *m, size_t begin, size_t end, emb_err *err)
{
    const struct emb_assembly *a = m->a;
    size_t project = project_step(a), d = a->layer.project.dims, wide = a->layer.project.rows;
    emb_status status = EMB_OK;
    for (m->i = begin; !status && m->i < end; m->i++) {
        look_ahead(m, end);
        m->out = m->room->row;
        status = begin_row(m, err);
        if (status)
            return status;
        multiply(m);
        take_steps(m, 0, project);
        ask_ahead(m);
        embi_to_f64(m->room->narrow + (m->i - begin) * d, m->x, a->info.dtype, m->dims);
    }
    embi_project(a, m->job->blas, m->room->narrow, end - begin, m->room->project);
    for (m->i = begin; !status && m->i < end; m->i++) {
        m->dims = (uint32_t)wide;
        choose_out(m);
        status = narrow(m, m->room->project + (m->i - begin) * wide, err);
        take_steps(m, project + 1, EMBI_INPUT_STEPS);
        if (!status)
            status = end_row(m, err);
    }
    return status;
}

emb_status embi_assemble_rows(const struct embi_assembly_job *job, size_t begin, size_t end,
                              const struct embi_assembly_room *room, emb_err *err)
{
    struct maker m = {.job = job, .a = job->a, .room = room};
    emb_status status = EMB_OK;
    if (!job->a->project)
        return make_rows(&m, begin, end, err);
    for (size_t at = begin; !status && at < end; at += EMBI_PROJECT_ROWS)
        status = make_part(&m, at, embi_min(at + EMBI_PROJECT_ROWS, end), err);
    return status;
}
