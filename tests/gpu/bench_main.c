/* bench_main.c - what the kernels of the plugin take on this machine's GPU, and what the bus does:
 * bench_main [ROWS [DIMS [QUERIES]]]. Prints a line a cell: bytes or products in a second, and the
 * share of the device's own copy, or of the bus's, in the same run. Without a device it prints
 * `skipped: no device`.
 *
 * A cell runs REPEATS times after a first one that is not counted; the median counts. Before all of
 * them the device copies WARMING times, so that its clocks are up.
 */
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 9, WARMING = 100, MILLION = 1 << 20 };

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

/* All that was begun, over the bus too. */
static int wait_for_work(struct bench *b)
{
    int result = EMBI_CALL(b->d, &b->fault, cuStreamSynchronize, b->d->copy);
    return result ? result : EMBI_CALL(b->d, &b->fault, cuStreamSynchronize, b->d->compute);
}

/* The median; below 0, and said, where it fails. */
static double seconds_of(struct bench *b, const char *name, bench_work_fn *work)
{
    double seconds[REPEATS];
    for (int i = -1; i < REPEATS; i++) {
        double begin = now();
        if (work(b) || wait_for_work(b)) {
            printf("%-36s failed: %s\n", name, b->fault.msg);
            b->failed = true;
            return -1;
        }
        if (i >= 0)
            seconds[i] = now() - begin;
    }
    qsort(seconds, REPEATS, sizeof *seconds, by_size);
    return seconds[REPEATS / 2];
}

double bench_rate(struct bench *b, const char *name, bench_work_fn *work, double bytes)
{
    double seconds = seconds_of(b, name, work);
    if (seconds >= 0)
        printf("%-36s %8.1f GB/s %9.3f ms\n", name, bytes / seconds / 1e9, seconds * 1e3);
    return seconds > 0 ? bytes / seconds : 0;
}

static void say_share(double share, struct bench_aim aim)
{
    if (aim.rate > 0)
        printf("  %.2f of %s", share, aim.of);
    if (aim.rate > 0 && aim.share > 0)
        printf(" (aim %.2f)", aim.share);
    printf("\n");
}

void bench_bytes(struct bench *b, const char *name, bench_work_fn *work, double bytes,
                 struct bench_aim aim)
{
    double seconds = seconds_of(b, name, work);
    if (seconds < 0)
        return;
    printf("%-36s %8.1f GB/s %9.3f ms", name, bytes / seconds / 1e9, seconds * 1e3);
    say_share(bytes / seconds / aim.rate, aim);
}

void bench_products(struct bench *b, const char *name, bench_work_fn *work, double products,
                    struct bench_aim aim)
{
    double seconds = seconds_of(b, name, work);
    if (seconds < 0)
        return;
    printf("%-36s %8.1f TFLOP/s %6.3f ms", name, 2 * products / seconds / 1e12, seconds * 1e3);
    say_share(2 * products / seconds / aim.rate, aim);
}

/* ------------------------------------------------------------------------------------------------
 * What tensor cores can
 */

/* Products of f16 or bf16, added up in f32, in a cycle of an SM, by NVIDIA's data sheets of A100,
 * H100 and B200 (312, 989 and 2250 TFLOP/s of 108, 132 and 148 SMs at 1.41, 1.83 and 1.86 GHz). Of
 * other devices it is not the capability alone that says. */
static double products_per_cycle(int major, int minor)
{
    if (minor != 0)
        return 0;
    return major == 8 ? 1024 : major == 9 ? 2048 : major == 10 ? 4096 : 0;
}

/* At the highest clock, which a device that is hot does not keep. */
static int find_peak(struct bench *b)
{
    enum { CLOCK_KHZ = 13 }; /* CU_DEVICE_ATTRIBUTE_CLOCK_RATE */
    int major = 0, minor = 0, khz = 0;
    int result =
        EMBI_CALL(b->d, &b->fault, cuDeviceGetAttribute, &major, EMBI_DRIVER_MAJOR, b->d->number);
    if (!result)
        result = EMBI_CALL(b->d, &b->fault, cuDeviceGetAttribute, &minor, EMBI_DRIVER_MINOR,
                           b->d->number);
    if (!result)
        result = EMBI_CALL(b->d, &b->fault, cuDeviceGetAttribute, &khz, CLOCK_KHZ, b->d->number);
    b->peak = products_per_cycle(major, minor) * b->d->sms * 1e3 * khz;
    if (!result && b->peak > 0)
        printf("tensor cores: %.0f TFLOP/s, of %u SMs at %d MHz\n", 2 * b->peak / 1e12, b->d->sms,
               khz / 1000);
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

/* A permutation, since the number is a prime above any that is asked for. */
static int send_ids(struct bench *b)
{
    uint64_t *ids = malloc(b->rows * sizeof *ids);
    int result = EMBI_CUDA_HOST_MEMORY;
    for (uint64_t i = 0; ids && i < b->rows; i++)
        ids[i] = i * 2654435761u % b->rows;
    if (ids)
        result = embi_cuda_device_send(b->d, EMBI_BUFFER_IDS, ids, b->rows * sizeof *ids, &b->ids,
                                       &b->fault);
    if (!result)
        result = wait_for_work(b);
    free(ids);
    return result;
}

/* Random numbers, for what a device's arithmetic takes depends on its operands. */
static int draw(struct bench *b)
{
    const struct embi_draw_args args = {.out = b->table,
                                        .out_pitch = b->dims * sizeof(uint16_t),
                                        .rows = b->bytes / (b->dims * sizeof(uint16_t)),
                                        .scale = 0.02,
                                        .key = {7, 11},
                                        .dims = b->dims,
                                        .type = EMBI_CUDA_BF16,
                                        .dist = EMBI_CUDA_NORMAL};
    return embi_cuda_device_launch(b->d, embi_draw_kernel, &args,
                                   embi_cuda_device_blocks(b->d, b->bytes / 8, EMBI_BLOCK_THREADS),
                                   1, &b->fault);
}

static int copy(struct bench *b)
{
    int code = b->copy(b->out, b->table, b->bytes, b->d->compute);
    return embi_driver_result(&b->d->driver, code, "cuMemcpyDtoDAsync", &b->fault);
}

static int warm_up(struct bench *b)
{
    int result = EMBI_CUDA_DONE;
    for (int i = 0; !result && i < WARMING; i++)
        result = copy(b);
    return result ? result : wait_for_work(b);
}

/* What a row takes: as one of the tables, or its products. */
static uint64_t most_bytes(const struct bench *b)
{
    const uint64_t narrow = embi_pitch_of(NARROW_BYTES), wide = b->dims * sizeof(uint16_t);
    const uint64_t products = b->queries * sizeof(float), rows = wide > narrow ? wide : narrow;
    return rows > products ? rows : products;
}

static void measure(struct bench *b)
{
    b->bytes = b->rows * most_bytes(b);
    int result = embi_cuda_device_reserve(b->d, EMBI_BUFFER_ROWS, b->bytes, &b->table, &b->fault);
    if (!result)
        result = embi_cuda_device_reserve(b->d, EMBI_BUFFER_OUT, b->bytes, &b->out, &b->fault);
    if (!result)
        result = send_ids(b);
    if (!result)
        result = draw(b);
    if (!result)
        result = find_peak(b);
    if (!result)
        result = warm_up(b);
    if (result)
        printf("failed: %s\n", b->fault.msg);
    else
        b->copied = bench_rate(b, "copy", copy, 2 * (double)b->bytes);
    b->failed |= b->copied <= 0;
    if (b->failed)
        return;
    bench_kernels(b);
    bench_bus(b);
}

static uint64_t number(int argc, char **argv, int i, uint64_t otherwise)
{
    return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    struct bench b = {.rows = number(argc, argv, 1, MILLION),
                      .dims = (uint32_t)number(argc, argv, 2, 4096),
                      .queries = (uint32_t)number(argc, argv, 3, 1024)};
    emb_err err;
    if (b.rows == 0 || b.dims == 0 || b.dims % 32 || b.queries == 0) {
        fprintf(stderr, "expected rows, dims that are a multiple of 32, queries\n");
        return 2;
    }
    if (embi_cuda_device_open(0, &b.d, &b.fault)) {
        printf("skipped: no device: %s\n", b.fault.msg);
        return 0;
    }
    void *address = dlsym(b.d->driver.object, "cuMemcpyDtoDAsync_v2");
    memcpy(&b.copy, &address, sizeof address);
    printf("%s\n", b.d->about);
    b.failed = !address || embi_pool_new(0, &b.pool, &err) || embi_cuda_device_enter(b.d, &b.fault);
    if (!b.failed) {
        measure(&b);
        b.failed |= embi_cuda_device_leave(b.d, EMBI_CUDA_DONE, &b.fault) != EMBI_CUDA_DONE;
    }
    embi_pool_free(b.pool);
    embi_cuda_device_close(b.d);
    return b.failed;
}
