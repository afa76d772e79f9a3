/* assemble_device.c - rows with learned positions added, by a device: what GPT-2 and its like hand
 * to their first block. The sum is one of f32, rounded to the type once, on either side.
 */
#include "num/dtype.h"
#include "ops/assemble.h"
#include "util/err.h"

#include <stdlib.h>

bool embi_assembly_fits_device(const struct emb_assembly *a)
{
    const struct embi_input_layer *l = &a->layer;
    emb_dtype dtype = a->table->layout.dtype;
    return l->steps[0] == EMBI_STEP_POSITION && l->steps[1] == EMBI_STEP_END && a->factor == 0 &&
           l->positions.data && l->positions.dtype == dtype && a->info.dtype == dtype &&
           (dtype == EMB_F32 || dtype == EMB_F16 || dtype == EMB_BF16);
}

/* Rows of positions, which are of the type of the results. */
static bool fill_side(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    struct emb_assembly *a = arg;
    const struct embi_side *side = &a->layer.positions;
    size_t row_bytes = side->dims * emb_dtype_bytes(a->info.dtype);
    for (uint64_t i = 0; i < n; i++) {
        unsigned char *row = (unsigned char *)to + i * pitch;
        const char *from = side->data + (first + i) * side->dims * emb_dtype_bytes(side->dtype);
        if (embi_convert(a->env->kern, row, a->info.dtype, from, side->dtype, side->dims, NULL,
                         &a->side_err))
            return false;
        memset(row + row_bytes, 0, pitch - row_bytes);
    }
    return true;
}

static emb_status status_of(const struct emb_assembly *a, int result,
                            const struct embi_cuda_fault *fault, emb_err *err)
{
    if (result == EMBI_CUDA_STOPPED && a->side_err.status)
        *err = a->side_err;
    else
        return embi_table_device_status(a->table, EMBI_AS_STORED, result, fault, err);
    return err->status;
}

static emb_status send_side(struct emb_assembly *a, emb_err *err)
{
    const struct embi_side *side = &a->layer.positions;
    const struct embi_cuda_rows rows = {.rows = side->rows,
                                        .row_bytes = side->dims * emb_dtype_bytes(a->info.dtype),
                                        .type = embi_device_type(a->info.dtype),
                                        .fill = fill_side,
                                        .arg = a};
    struct embi_cuda_fault fault;
    if (a->side)
        return EMB_OK;
    int result = embi_shared_open(a->device, &rows, true, &a->side, &fault);
    return status_of(a, result, &fault, err);
}

/* Rows of the side; padding has the one before that of position 0. */
static void find_side_rows(const struct embi_assembly_job *job, uint64_t *side_rows)
{
    const struct embi_input_layer *l = &job->a->layer;
    for (size_t i = 0; i < job->n; i++)
        side_rows[i] = job->positions[i] == EMB_POSITION_PADDING ? l->offset - 1
                                                                 : l->offset + job->positions[i];
}

static emb_status make_rows(const struct embi_assembly_job *job, const uint64_t *side_rows,
                            emb_err *err)
{
    struct emb_assembly *a = job->a;
    struct embi_device_sink sink = embi_device_sink_to(a->env, a->info.dtype, job->dst);
    struct embi_shared *there = NULL;
    struct embi_cuda_fault fault;
    emb_status status = embi_table_on_device(a->device, a->table, EMBI_AS_STORED, &there, err);
    if (!status)
        status = send_side(a, err);
    if (status)
        return status;
    int result = embi_shared_gather_sum(there, job->rows, a->side, side_rows, job->n,
                                        embi_device_put, &sink, &fault);
    status = status_of(a, result, &fault, err);
    if (!status && sink.status)
        *err = sink.err;
    return status ? status : sink.status;
}

emb_status embi_assemble_on_device(const struct embi_assembly_job *job, emb_err *err)
{
    struct emb_assembly *a = job->a;
    uint64_t *side_rows = malloc(job->n * sizeof *side_rows + 1);
    if (!side_rows)
        return embi_fail_memory(err, job->n * sizeof *side_rows, "positions");
    find_side_rows(job, side_rows);
    emb_status status = embi_device_ready(a->device, err);
    if (!status)
        status = embi_table_ready(a->table, err);
    if (!status)
        status = make_rows(job, side_rows, err);
    free(side_rows);
    return status;
}

void embi_assembly_leave_device(struct emb_assembly *a)
{
    if (a->side)
        embi_shared_close(a->side);
    a->side = NULL;
}
