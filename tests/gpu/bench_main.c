/* bench_main.c - what the kernels of the plugin take on this machine's GPU, beside the device's own
 * copy in the same run: bench_main [ROWS]. Prints a line a cell: bytes or products in a second, and
 * the share of the copy's rate, both counted in bytes that are read or written. Products are those
 * that were asked for: the matrix kernel multiplies twice, with a query's high and low part. Without
 * a device it prints `skipped: no device`.
 *
 * Linked with the plugin's own objects, so that kernels are timed where their rows lie, without the
 * way over the bus. A cell runs REPEATS times after a first one that is not counted; the median
 * counts.
 */
#include "cuda/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 9, GATHERED = 1 << 20, QUERIES = 1024 };

typedef int copy_fn(embi_address to, embi_address from, size_t n, void *stream);

struct bench {
    struct embi_cuda_device *d;
    struct embi_cuda_fault fault;
    copy_fn *copy;
    uint64_t rows;
    embi_address table, out, ids;
    double copied; /* bytes a second, read and written */
};

/* One thing to time: it starts work in `compute`. */
typedef int work_fn(struct bench *b, uint64_t row_bytes);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int wait_for_work(struct bench *b)
{
    return EMBI_CALL(b->d, &b->fault, cuStreamSynchronize, b->d->compute);
}

/* The median of the seconds that it takes; below 0 where it failed. */
static double seconds_of(struct bench *b, work_fn *work, uint64_t row_bytes)
{
    double seconds[REPEATS];
    for (int i = -1; i < REPEATS; i++) {
        double begin = now();
        if (work(b, row_bytes) || wait_for_work(b))
            return -1;
        if (i >= 0)
            seconds[i] = now() - begin;
    }
    qsort(seconds, REPEATS, sizeof *seconds, by_size);
    return seconds[REPEATS / 2];
}

/* ------------------------------------------------------------------------------------------------
 * Cells
 */

static int copy(struct bench *b, uint64_t bytes)
{
    int code = b->copy(b->out, b->table, bytes, b->d->compute);
    return embi_driver_result(&b->d->driver, code, "cuMemcpyDtoDAsync", &b->fault);
}

static int gather(struct bench *b, uint64_t row_bytes)
{
    const struct embi_gather_args args = {.table = b->table,
                                          .pitch = embi_pitch_of(row_bytes),
                                          .ids = b->ids,
                                          .out = b->out,
                                          .out_pitch = row_bytes,
                                          .n = GATHERED,
                                          .row_bytes = row_bytes};
    return embi_cuda_device_launch(
        b->d, embi_gather_wide_kernel, &args,
        embi_cuda_device_blocks(b->d, GATHERED, EMBI_BLOCK_THREADS / EMBI_WARP), 1, &b->fault);
}

/* Each row gets one gradient, which is a row of the table as well. */
static int scatter(struct bench *b, uint64_t row_bytes)
{
    const struct embi_scatter_args args = {.table = b->out,
                                           .pitch = row_bytes,
                                           .grads = b->table,
                                           .grads_pitch = row_bytes,
                                           .ends = b->ids,
                                           .segments = GATHERED,
                                           .dims = (uint32_t)(row_bytes / 4),
                                           .type = EMBI_CUDA_F32};
    return embi_cuda_device_launch(
        b->d, embi_scatter_kernel, &args,
        embi_cuda_device_blocks(b->d, GATHERED, EMBI_BLOCK_THREADS / EMBI_WARP), 1, &b->fault);
}

static int one_query(struct bench *b, uint64_t row_bytes)
{
    const struct embi_products_args args = {.table = b->table,
                                            .pitch = row_bytes,
                                            .rows = b->rows,
                                            .numbers = row_bytes / 2,
                                            .queries = b->table,
                                            .queries_pitch = 2 * row_bytes,
                                            .out = b->out,
                                            .ld = b->rows,
                                            .n = 1,
                                            .type = EMBI_CUDA_BF16};
    return embi_cuda_device_launch(
        b->d, embi_products_one_kernel, &args,
        embi_cuda_device_blocks(b->d, b->rows, EMBI_BLOCK_THREADS / EMBI_WARP), 1, &b->fault);
}

static int many_queries(struct bench *b, uint64_t row_bytes)
{
    const struct embi_matrix_args args = {.table = b->table,
                                          .pitch = row_bytes,
                                          .rows = b->rows,
                                          .numbers = row_bytes / 2,
                                          .high = b->table,
                                          .low = b->table,
                                          .queries_pitch = row_bytes,
                                          .out = b->out,
                                          .ld = b->rows,
                                          .n = QUERIES,
                                          .type = EMBI_CUDA_BF16};
    return embi_cuda_device_launch(b->d, embi_products_matrix_kernel, &args,
                                   (b->rows + EMBI_MATRIX_ROWS - 1) / EMBI_MATRIX_ROWS,
                                   QUERIES / EMBI_MATRIX_QUERIES, &b->fault);
}

/* ------------------------------------------------------------------------------------------------
 * The run
 */

/* moved: bytes that are read and written. */
static void report_bytes(struct bench *b, const char *name, double seconds, double moved)
{
    if (seconds < 0)
        printf("%-32s failed: %s\n", name, b->fault.msg);
    else
        printf("%-32s %8.1f GB/s %8.3f ms  %.2f of the copy\n", name, moved / seconds / 1e9,
               seconds * 1e3, moved / seconds / b->copied);
}

static void report_products(struct bench *b, const char *name, double seconds, double products)
{
    if (seconds < 0)
        printf("%-32s failed: %s\n", name, b->fault.msg);
    else
        printf("%-32s %8.1f TFLOP/s %8.3f ms\n", name, 2 * products / seconds / 1e12,
               seconds * 1e3);
}

/* Ids in an order that no cache foresees, each once; `ordered`: the ends of segments of one. */
static int send_ids(struct bench *b, bool ordered)
{
    uint64_t *ids = malloc(GATHERED * sizeof *ids);
    int result = EMBI_CUDA_HOST_MEMORY;
    for (uint64_t i = 0; ids && i < GATHERED; i++)
        ids[i] = ordered ? i + 1 : i * 2654435761u % GATHERED % b->rows;
    if (ids)
        result = embi_cuda_device_send(b->d, EMBI_BUFFER_IDS, ids, GATHERED * sizeof *ids, &b->ids,
                                       &b->fault);
    if (!result)
        result = wait_for_work(b);
    free(ids);
    return result;
}

static int measure(struct bench *b, uint64_t bytes)
{
    const uint64_t row = 8192;
    int result = embi_cuda_device_reserve(b->d, EMBI_BUFFER_ROWS, bytes, &b->table, &b->fault);
    if (!result)
        result = embi_cuda_device_reserve(b->d, EMBI_BUFFER_OUT, bytes, &b->out, &b->fault);
    if (!result)
        result = EMBI_CALL(b->d, &b->fault, cuMemsetD8Async, b->table, 0x3c, bytes, b->d->compute);
    if (!result)
        result = send_ids(b, false);
    double seconds = result ? -1 : seconds_of(b, copy, bytes);
    if (seconds < 0)
        return 1;
    b->copied = 2 * (double)bytes / seconds;
    report_bytes(b, "copy", seconds, 2 * (double)bytes);
    report_bytes(b, "gather, rows of 8192 bytes", seconds_of(b, gather, row),
                 2.0 * GATHERED * (double)row);
    report_bytes(b, "gather, rows of 1200 bytes", seconds_of(b, gather, 1200),
                 2.0 * GATHERED * 1200);
    report_bytes(b, "1 query, bf16, d 4096", seconds_of(b, one_query, row),
                 (double)b->rows * (double)row);
    report_products(b, "1024 queries, bf16, d 4096", seconds_of(b, many_queries, row),
                    (double)b->rows * 4096 * QUERIES);
    result = send_ids(b, true);
    report_bytes(b, "scatter-add, f32, d 300", result ? -1 : seconds_of(b, scatter, 1216),
                 3.0 * GATHERED * 1216);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench b = {.rows = argc > 1 ? strtoull(argv[1], NULL, 10) : GATHERED};
    if (b.rows == 0 || embi_cuda_device_open(0, &b.d, &b.fault)) {
        printf("skipped: no device: %s\n", b.rows ? b.fault.msg : "no rows");
        return 0;
    }
    void *address = dlsym(b.d->driver.object, "cuMemcpyDtoDAsync_v2");
    memcpy(&b.copy, &address, sizeof address);
    printf("%s\n", b.d->about);
    int failed = !address || embi_cuda_device_enter(b.d, &b.fault);
    if (!failed) {
        failed = measure(&b, b.rows * 8192);
        embi_cuda_device_leave(b.d, EMBI_CUDA_DONE, &b.fault);
    }
    if (failed)
        printf("failed: %s\n", b.fault.msg);
    embi_cuda_device_close(b.d);
    return failed;
}
