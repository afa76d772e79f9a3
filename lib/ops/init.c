/* init.c - new rows: emb_init_rows.
 *
 * Checks what was asked against the type of the rows, then fills them row by row; random elements
 * come from draw.h. Rows are independent of each other, so threads change nothing. A request whose
 * values could overflow the type, or would all be rounded to zero, is refused rather than carried
 * out.
 */
#include "dev/gpus.h"
#include "num/dtype.h"
#include "ops/draw.h"
#include "table/table.h"
#include "util/err.h"
#include "util/pool.h"

#include <float.h>
#include <math.h>

#define INLINE_ELEMENTS \
    (1u << 18)                   /* fewer than that are not worth a thread                        */
#define ITEM_ELEMENTS (1u << 16) /* about what one item of the pool fills */
#define TRUNCATED_STD \
    0.87962566103423978 /* of a normal cut at +-2: sqrt(1 - 4 phi(2) / erf(sqrt 2)) */

/* Rows of the block, and how to fill them. */
struct job {
    const struct embi_kern *kern;
    emb_block block;
    uint64_t first;
    uint64_t item_rows;
    emb_dist dist;
    struct embi_draw draw;
    unsigned char
        one[8]; /* the element of EMB_CONSTANT, and 1 for EMB_IDENTITY, in the block's type */
};

static bool is_random(emb_dist dist)
{
    return dist == EMB_NORMAL || dist == EMB_UNIFORM || dist == EMB_TRUNCATED;
}

/* x rounded once to the type, and back. */
static double rounded(emb_dtype dtype, double x, unsigned char element[8])
{
    emb_err err;
    unsigned char bytes[8] = {0};
    embi_convert(NULL, bytes, dtype, &x, EMB_F64, 1, NULL, &err); /* float to float cannot fail */
    if (element)
        memcpy(element, bytes, sizeof bytes);
    return embi_element(bytes, dtype);
}

/* The factor of draw.h's elements, and the largest of those. */
static double scale_of(emb_dist dist, emb_dtype dtype, double std, double *largest)
{
    if (dist == EMB_UNIFORM) {
        *largest = 1;
        return std * sqrt(3.0);
    }
    *largest = dist == EMB_TRUNCATED ? 2 : dtype == EMB_F64 ? 8.58 : 6.67;
    return dist == EMB_TRUNCATED ? std / TRUNCATED_STD : std;
}

static emb_status plan_random(struct job *job, const emb_init_opts *opts, emb_err *err)
{
    emb_dtype dtype = job->block.dtype;
    const char *type = emb_dtype_name(dtype);
    double std = EMBI_HAS(opts, std) ? opts->std : 0, largest;
    if (!(isfinite(std) && std >= 0))
        return embi_fail(err, EMB_BAD_ARG, -1, "the deviation must be a positive number");
    if (std == 0)
        std = 1 / sqrt((double)embi_max(job->block.dims, 1));
    job->draw.scale = scale_of(job->dist, dtype, std, &largest);
    if (!isfinite(rounded(dtype, job->draw.scale * largest, NULL)))
        return embi_fail(err, EMB_BAD_ARG, -1, "the deviation is too large for %s", type);
    if (rounded(dtype, std, NULL) == 0 || rounded(EMB_F32, std, NULL) == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "the deviation is too small for %s", type);
    uint64_t seed = EMBI_HAS(opts, seed) ? opts->seed : 0;
    job->draw.key[0] = (uint32_t)seed;
    job->draw.key[1] = (uint32_t)(seed >> 32);
    job->draw.stream = EMBI_HAS(opts, stream) ? opts->stream : 0;
    job->draw.dist = job->dist;
    job->draw.kern = job->kern;
    return EMB_OK;
}

static emb_status plan(struct job *job, const emb_init_opts *opts, emb_err *err)
{
    const char *type = emb_dtype_name(job->block.dtype);
    size_t size = emb_dtype_bytes(job->block.dtype);
    if (job->block.dtype < EMB_F64 || job->block.dtype > EMB_BF16)
        return embi_fail(err, EMB_BAD_ARG, -1, "new rows can be f64, f32, f16 or bf16, not %s",
                         type);
    if (job->first > EMBI_DRAW_MAX_ROWS || job->block.rows > EMBI_DRAW_MAX_ROWS - job->first)
        return embi_fail(err, EMB_BAD_ARG, -1, "a table can have at most 2^48 rows");
    if (!job->block.stride_bytes)
        job->block.stride_bytes = job->block.dims * size;
    job->dist = EMBI_HAS(opts, dist) ? opts->dist : EMB_NORMAL;
    if (is_random(job->dist))
        return plan_random(job, opts, err);
    double value = job->dist == EMB_IDENTITY ? 1 : 0;
    if (job->dist == EMB_CONSTANT && EMBI_HAS(opts, value))
        value = opts->value;
    else if (job->dist != EMB_CONSTANT && job->dist != EMB_IDENTITY && job->dist != EMB_ZEROS)
        return embi_fail(err, EMB_BAD_ARG, -1, "unknown distribution %d", (int)job->dist);
    if (!isfinite(value))
        return embi_fail(err, EMB_BAD_ARG, -1, "the value must be a finite number");
    if (!isfinite(rounded(job->block.dtype, value, job->one)))
        return embi_fail(err, EMB_BAD_ARG, -1, "the value is too large for %s", type);
    return EMB_OK;
}

/* Can elements of f32 be drawn where they go, which draw.h fills by fours? */
static bool takes_fours(const struct job *job, const unsigned char *dst)
{
    return job->block.dtype == EMB_F32 && job->block.dims % 4 == 0 &&
           (uintptr_t)dst % sizeof(float) == 0;
}

/* Else through a small array, because dst may be at any address. */
static void random_tile(const struct job *job, uint64_t row, uint32_t column, uint32_t n,
                        unsigned char *dst)
{
    emb_err err;
    if (job->block.dtype == EMB_F64) {
        double tile[EMBI_DRAW_TILE];
        embi_draw_f64(&job->draw, row, column, n, tile);
        memcpy(dst, tile, n * sizeof *tile);
    } else {
        float tile[EMBI_DRAW_TILE];
        embi_draw_f32(&job->draw, row, column, n, tile);
        embi_convert(job->kern, dst, job->block.dtype, tile, EMB_F32, n, NULL, &err);
    }
}

static void random_row(const struct job *job, uint64_t row, unsigned char *dst)
{
    size_t size = emb_dtype_bytes(job->block.dtype);
    bool in_place = takes_fours(job, dst);
    for (uint32_t done = 0, n; done < job->block.dims; done += n) {
        unsigned char *to = dst + done * size;
        n = (uint32_t)embi_min(job->block.dims - done, EMBI_DRAW_TILE);
        if (in_place)
            embi_draw_f32(&job->draw, row, done, n, (float *)(void *)to);
        else
            random_tile(job, row, done, n, to);
    }
}

static void fill_row(const struct job *job, uint64_t row, unsigned char *dst)
{
    size_t size = emb_dtype_bytes(job->block.dtype);
    uint32_t d = job->block.dims;
    if (is_random(job->dist)) {
        random_row(job, row, dst);
    } else if (job->dist == EMB_CONSTANT) {
        for (uint32_t c = 0; c < d; c++)
            memcpy(dst + c * size, job->one, size);
    } else {
        memset(dst, 0, d * size); /* +0 in every float type */
        if (job->dist == EMB_IDENTITY && row < d)
            memcpy(dst + row * size, job->one, size);
    }
}

static void fill_item(void *arg, size_t item, int worker)
{
    const struct job *job = arg;
    (void)worker;
    uint64_t begin = item * job->item_rows;
    uint64_t end = embi_min(begin + job->item_rows, job->block.rows);
    for (uint64_t r = begin; r < end; r++)
        fill_row(job, job->first + r,
                 (unsigned char *)job->block.data + r * job->block.stride_bytes);
}

/* What a device has drawn goes to its place. */
static void put_drawn(void *arg, uint64_t first, uint64_t n, const void *from, uint64_t pitch)
{
    const struct job *job = arg;
    for (uint64_t i = 0; i < n; i++)
        memcpy((char *)job->block.data + (first + i) * job->block.stride_bytes,
               (const char *)from + i * pitch, pitch);
}

static emb_status draw_on_device(emb_device *device, struct job *job, emb_err *err)
{
    static const enum embi_cuda_dist dists[] = {[EMB_NORMAL] = EMBI_CUDA_NORMAL,
                                                [EMB_UNIFORM] = EMBI_CUDA_UNIFORM,
                                                [EMB_TRUNCATED] = EMBI_CUDA_TRUNCATED};
    static const enum embi_cuda_type types[] = {[EMB_F64] = EMBI_CUDA_F64,
                                                [EMB_F32] = EMBI_CUDA_F32,
                                                [EMB_F16] = EMBI_CUDA_F16,
                                                [EMB_BF16] = EMBI_CUDA_BF16};
    const struct embi_cuda_draw draw = {.first = job->first,
                                        .rows = job->block.rows,
                                        .scale = job->draw.scale,
                                        .key = {job->draw.key[0], job->draw.key[1]},
                                        .stream = job->draw.stream,
                                        .dims = job->block.dims,
                                        .type = types[job->block.dtype],
                                        .dist = dists[job->dist]};
    struct embi_cuda_fault fault;
    emb_status status = embi_device_ready(device, err);
    if (status)
        return status;
    return embi_device_status(embi_gpus_draw(device, &draw, put_drawn, job, &fault), &fault, err);
}

emb_status emb_init_rows(emb_ctx *ctx, const emb_init_opts *opts, uint64_t first, emb_block *block,
                         emb_err *err)
{
    struct job job = {.kern = ctx->env.kern, .block = *block, .first = first};
    emb_status status = plan(&job, opts, err);
    if (status || block->rows == 0 || block->dims == 0)
        return status;
    uint64_t elements;
    if (!embi_mul(block->rows, block->dims, &elements))
        return embi_fail(err, EMB_BAD_ARG, -1, "the block is too large");
    emb_device *device = EMBI_HAS(opts, device) ? opts->device : NULL;
    if (device && !device->named.optional && is_random(job.dist))
        return draw_on_device(device, &job, err);
    job.item_rows = embi_max(ITEM_ELEMENTS / block->dims, 1);
    size_t items = (block->rows - 1) / job.item_rows + 1;
    if (elements >= INLINE_ELEMENTS && ctx->env.pool)
        embi_pool_run(ctx->env.pool, items, fill_item, &job);
    else
        for (size_t i = 0; i < items; i++)
            fill_item(&job, i, 0);
    return EMB_OK;
}
