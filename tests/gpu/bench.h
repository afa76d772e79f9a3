/* bench.h - what the cells of bench_main share: a device, memory on it, and how long something takes.
 *
 * Linked with the plugin's own objects, so that kernels are timed where their rows lie, without the
 * way over the bus, which has cells of its own.
 */
#ifndef EMBTOOL_TESTS_GPU_BENCH_H
#define EMBTOOL_TESTS_GPU_BENCH_H

#include "cuda/device.h"
#include "util/pool.h"

enum { NARROW_BYTES = 1200, NARROW_DIMS = 300 }; /* rows of 300 f32 */

typedef int bench_copy_fn(embi_address to, embi_address from, size_t n, void *stream);

struct bench {
    struct embi_cuda_device *d;
    struct embi_cuda_fault fault;
    bench_copy_fn *copy;
    struct embi_pool *pool;
    uint64_t rows; /* of `dims` numbers, of bf16 or q8_0, or of NARROW_BYTES */
    uint32_t dims, queries;
    uint64_t bytes; /* of each of these two, which hold any of these tables */
    embi_address table, out;
    embi_address ids; /* [rows] each row once, in an order that no cache foresees  */
    double copied;    /* bytes a second of the device's own copy, read and written */
    double peak;      /* products a second of its tensor cores, by its data sheet; 0: not known */
    bool failed;
};

/* One thing to time: it starts work in `compute`, or does it all; a result. */
typedef int bench_work_fn(struct bench *b);

/* Prints a cell: how much time it takes, its work waited for, for so many bytes that are read or
 * written. Returns bytes a second; 0, and b->failed, where it fails, which is said. */
double bench_rate(struct bench *b, const char *name, bench_work_fn *work, double bytes);

/* What a cell is a share of, and what share is aimed at; 0: none is. */
struct bench_aim {
    double rate;
    const char *of;
    double share;
};

/* The same with its share. */
void bench_bytes(struct bench *b, const char *name, bench_work_fn *work, double bytes,
                 struct bench_aim aim);

/* The same of products that were asked for, of which tensor cores make each twice: the share is of
 * what these make. A rate of 0: what they can is not known. */
void bench_products(struct bench *b, const char *name, bench_work_fn *work, double products,
                    struct bench_aim aim);

/* The cells. */
void bench_kernels(struct bench *b);
void bench_bus(struct bench *b);

#endif
