/* assemble_row.c - the steps that make one row; see assemble.h.
 *
 * A row is read where it lies in the file, and each step writes it to where it will stay, so a row
 * of f32 with one step is touched once. A step computes in the work type and is rounded to the type
 * of the results, as libraries do that keep tensors in it.
 */
#include "ops/assemble.h"

#include "dev/blas.h"
#include "num/dtype.h"
#include "util/err.h"

#include <math.h>

enum { PREFETCH_ROWS = 4, CACHE_LINE = 64, PREFETCH_BYTES = 4096 };

/* A row in the making. */
struct maker {
    const struct embi_assembly_job *job;
    const struct emb_assembly *a;
    const struct embi_assembly_room *room;
    size_t i;      /* the token          */
    const void *x; /* [dims] the row now */
    void *out;     /* [dims] where a step writes it; may be x */
    uint32_t dims;
    bool last; /* no step comes after the next one */
};

void embi_assembly_round(const struct emb_assembly *a, void *x, size_t n, void *half)
{
    const struct embi_kern *kern = a->env->kern;
    if (a->info.dtype == EMB_BF16) {
        kern->bf16_from_f32(half, x, n);
        kern->f32_from_bf16(x, half, n);
    } else if (a->info.dtype == EMB_F16) {
        kern->f16_from_f32(half, x, n);
        kern->f32_from_f16(x, half, n);
    }
}

/* A step has written the row. What goes to its type next is rounded by that. */
static void written(struct maker *m)
{
    if (!m->last || m->job->dst->dtype != m->a->info.dtype)
        embi_assembly_round(m->a, m->out, m->dims, m->room->half);
    m->x = m->out;
}

/* ------------------------------------------------------------------------------------------------
 * Steps
 */

static bool is_aligned(const struct emb_assembly *a, const void *p)
{
    return (uintptr_t)p % embi_work_bytes(a) == 0;
}

/* The token's row in the work type: where it lies, or read into `out`. */
static emb_status begin_row(struct maker *m, emb_err *err)
{
    const struct emb_assembly *a = m->a;
    uint64_t row = m->job->rows[m->i];
    m->dims = a->table->layout.dims;
    if (embi_table_direct(a->table) && a->table->layout.dtype == embi_work_dtype(a)) {
        m->x = embi_table_row(a->table, row);
        if (is_aligned(a, m->x))
            return EMB_OK;
    }
    m->x = m->out;
    return embi_fetch(a->table, row, 1, embi_work_dtype(a), m->out, err);
}

static void multiply(struct maker *m)
{
    m->last = m->a->layer.steps[0] == EMBI_STEP_END;
    if (m->a->factor == 0)
        return;
    if (m->a->wide)
        for (uint32_t c = 0; c < m->dims; c++)
            ((double *)m->out)[c] = ((const double *)m->x)[c] * m->a->factor;
    else
        m->a->env->kern->times_f32(m->out, m->x, (float)m->a->factor, m->dims);
    written(m);
}

static void add(struct maker *m, const void *y)
{
    if (m->a->wide)
        for (uint32_t c = 0; c < m->dims; c++)
            ((double *)m->out)[c] = ((const double *)m->x)[c] + ((const double *)y)[c];
    else
        m->a->env->kern->sum_f32(m->out, m->x, y, m->dims);
    written(m);
}

/* A row of a table beside the token's, in the work type. */
static const void *side_row(const struct maker *m, const struct embi_side *side, uint64_t row)
{
    size_t row_bytes = side->dims * emb_dtype_bytes(side->dtype);
    const char *p = side->data + row * row_bytes;
    if (side->dtype == embi_work_dtype(m->a) && is_aligned(m->a, p))
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

/* Mean and sum of squared differences from it; docs/numerics.md has the order. */
static void moments(const struct maker *m, double *mean, double *m2)
{
    const uint32_t d = m->dims;
    struct embi_row_sums sums = {0};
    if (!m->a->wide)
        m->a->env->kern->row_sums(m->x, d, &sums);
    for (uint32_t c = 0; m->a->wide && c < d; c++)
        sums.sum += ((const double *)m->x)[c];
    *mean = sums.sum / d;
    *m2 = sums.norm2 - sums.sum * *mean;
    if (!m->a->wide && *m2 >= sums.norm2 / 16)
        return;
    *m2 = 0;
    for (uint32_t c = 0; c < d; c++) {
        double x = m->a->wide ? ((const double *)m->x)[c] : (double)((const float *)m->x)[c];
        *m2 += (x - *mean) * (x - *mean);
    }
}

static void normalize(struct maker *m)
{
    const struct emb_assembly *a = m->a;
    const void *weight = a->norm_weight, *bias = a->norm_bias;
    double mean, m2;
    moments(m, &mean, &m2);
    double factor = 1 / sqrt(m2 / m->dims + a->layer.eps);
    if (!a->wide)
        a->env->kern->norm_f32(m->out, m->x, mean, factor, weight, bias, m->dims);
    for (uint32_t c = 0; a->wide && c < m->dims; c++)
        ((double *)m->out)[c] =
            (((const double *)m->x)[c] - mean) * factor * ((const double *)weight)[c] +
            ((const double *)bias)[c];
    written(m);
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
    for (size_t s = from; s < to && steps[s] != EMBI_STEP_END; s++) {
        m->last = s + 1 == EMBI_INPUT_STEPS || steps[s + 1] == EMBI_STEP_END;
        take_step(m, steps[s]);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

static char *place_of(const struct maker *m)
{
    return (char *)m->job->dst->data + m->i * m->job->stride;
}

/* Where steps write: to the row's place, if it is of the work type. */
static void choose_out(struct maker *m)
{
    bool in_place = m->job->dst->dtype == embi_work_dtype(m->a) && is_aligned(m->a, place_of(m));
    m->out = in_place ? place_of(m) : m->room->row;
}

static emb_status end_row(struct maker *m, emb_err *err)
{
    char *place = place_of(m);
    emb_dtype dtype = m->job->dst->dtype;
    if (m->x == place)
        return EMB_OK;
    if (dtype == embi_work_dtype(m->a)) {
        memcpy(place, m->x, m->dims * embi_work_bytes(m->a));
        return EMB_OK;
    }
    return embi_convert(m->a->env->kern, place, dtype, m->x, embi_work_dtype(m->a), m->dims, NULL,
                        err);
}

static void prefetch_row(const struct embi_assembly_job *job, size_t i, size_t end)
{
    const emb_table *t = job->a->table;
    if (!embi_table_direct(t) || end - i <= PREFETCH_ROWS)
        return;
    const char *p = embi_table_row(t, job->rows[i + PREFETCH_ROWS]);
    size_t row_bytes = embi_layout_row_bytes(&t->layout);
    for (size_t at = 0; at < row_bytes && at < PREFETCH_BYTES; at += CACHE_LINE)
        __builtin_prefetch(p + at, 0, 2);
}

static emb_status make_rows(struct maker *m, size_t begin, size_t end, emb_err *err)
{
    emb_status status = EMB_OK;
    for (m->i = begin; !status && m->i < end; m->i++) {
        prefetch_row(m->job, m->i, end);
        choose_out(m);
        status = begin_row(m, err);
        if (status)
            return status;
        multiply(m);
        take_steps(m, 0, EMBI_INPUT_STEPS);
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

/* A row as f64, for the matrix. */
static void widen(const struct maker *m, double *to)
{
    embi_to_f64(to, m->x, embi_work_dtype(m->a), m->dims);
}

/* A row of the product, rounded to the work type and to that of the results. */
static emb_status narrow(struct maker *m, const double *from, emb_err *err)
{
    emb_status status = embi_convert(m->a->env->kern, m->out, embi_work_dtype(m->a), from, EMB_F64,
                                     m->dims, NULL, err);
    m->last = false;
    written(m);
    return status;
}

static emb_status make_part(struct maker *m, size_t begin, size_t end, emb_err *err)
{
    const struct emb_assembly *a = m->a;
    size_t project = project_step(a), d = a->layer.project.dims, wide = a->layer.project.rows;
    emb_status status = EMB_OK;
    for (m->i = begin; !status && m->i < end; m->i++) {
        prefetch_row(m->job, m->i, end);
        m->out = m->room->row;
        status = begin_row(m, err);
        if (status)
            return status;
        multiply(m);
        take_steps(m, 0, project);
        widen(m, m->room->narrow + (m->i - begin) * d);
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
                              int worker, emb_err *err)
{
    struct maker m = {.job = job, .a = job->a, .room = &job->a->rooms[worker]};
    emb_status status = EMB_OK;
    if (!job->a->project)
        return make_rows(&m, begin, end, err);
    for (size_t at = begin; !status && at < end; at += EMBI_PROJECT_ROWS)
        status = make_part(&m, at, embi_min(at + EMBI_PROJECT_ROWS, end), err);
    return status;
}
