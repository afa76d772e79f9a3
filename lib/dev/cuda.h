/* cuda.h - what the CUDA plugin (lib/cuda) and the library agree on: one struct of functions.
 *
 * The plugin is a shared object of its own, libemb-cuda.so. It opens the driver, libcuda.so.1, by
 * itself, carries its kernels, exports one function, EMBI_CUDA_SYMBOL, and imports nothing from the
 * library. This header is all that both sides share, and includes nothing of either.
 *
 * Calls of one device run one at a time; those of several may run at once. Each returns an enum
 * embi_cuda_result; where that is not EMBI_CUDA_DONE nothing was handed out, and `fault` says why
 * in one line without a full stop.
 */
#ifndef EMBI_DEV_CUDA_H
#define EMBI_DEV_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows with every change of what is below: a plugin of another number is not used. */
#define EMBI_CUDA_ABI 3

enum embi_cuda_result {
    EMBI_CUDA_DONE,
    EMBI_CUDA_STOPPED,     /* embi_cuda_rows.fill said so; there is no fault   */
    EMBI_CUDA_MISSING,     /* no driver, no such device                        */
    EMBI_CUDA_OLD,         /* a device that is older than the kernels can take */
    EMBI_CUDA_FULL,        /* the device has not that much memory              */
    EMBI_CUDA_HOST_MEMORY, /* nor has this machine                             */
    EMBI_CUDA_FAILED       /* the driver refused a call                        */
};

struct embi_cuda_fault {
    char msg[200];
};

/* Types that kernels compute with. Bytes are gathered alone. A row of Q8_0 has its codes first, an
 * int8 each, then its scales, an f16 for every EMBI_CUDA_Q8_NUMBERS of them: so codes can be read
 * 16 bytes at a time, which they cannot in a file, where each scale stands before its codes. */
enum embi_cuda_type {
    EMBI_CUDA_F64,
    EMBI_CUDA_F32,
    EMBI_CUDA_F16,
    EMBI_CUDA_BF16,
    EMBI_CUDA_Q8_0,
    EMBI_CUDA_BYTES
};
enum { EMBI_CUDA_Q8_NUMBERS = 32, EMBI_CUDA_Q8_BYTES = 34 };

/* Writes rows first .. first+n-1 to `to`, `pitch` bytes apart, and zeros behind each of them up to
 * the pitch; false: it could not. */
typedef bool embi_cuda_fill_fn(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch);

/* Gets rows first .. first+n-1 that the device has made, `pitch` bytes apart. */
typedef void embi_cuda_put_fn(void *arg, uint64_t first, uint64_t n, const void *from,
                              uint64_t pitch);

/* Rows that the device is to have. */
struct embi_cuda_rows {
    uint64_t rows, row_bytes;
    enum embi_cuda_type type;
    embi_cuda_fill_fn *fill;
    void *arg;
};

enum embi_cuda_metric { EMBI_CUDA_COSINE, EMBI_CUDA_DOT, EMBI_CUDA_EUCLIDEAN };

/* Queries of length 1, negated where the farthest rows are wanted; ops/interval.h has the words. */
struct embi_cuda_search {
    const float *queries;   /* [n, d]                                        */
    const float *lengths;   /* [n] |q| of the query as it was                */
    const uint32_t *k;      /* [n] how many rows may be better than any other */
    const float *bias;      /* [V] with DOT; NULL: none                      */
    const uint8_t *allowed; /* [V/8] bits; NULL: all rows                  */
    uint64_t rows;          /* only rows below take part                   */
    double bound;           /* g                                           */
    uint32_t n, cap;
    enum embi_cuda_metric metric;
    bool farthest;
    bool matrix; /* by tensor cores: the table is f16, bf16 or Q8_0 */
};

/* A row that may be among the best of its query. */
struct embi_cuda_hit {
    uint64_t row;
    float dot, norm2;
};

/* The caller's arrays. */
struct embi_cuda_found {
    struct embi_cuda_hit *hits; /* [n, cap] in no order                                   */
    uint32_t *counts;           /* [n]; above cap: that query's list is worthless         */
    uint64_t *odd;              /* [V] rows that may answer and whose norm tells nothing, in no
                                   order                                                  */
    uint32_t odd_count;
};

enum embi_cuda_dist { EMBI_CUDA_UNIFORM, EMBI_CUDA_NORMAL, EMBI_CUDA_TRUNCATED };

/* Elements of rows first .. as ops/draw.h specifies them. */
struct embi_cuda_draw {
    uint64_t first, rows;
    double scale;
    uint32_t key[2], stream, dims;
    enum embi_cuda_type type;
    enum embi_cuda_dist dist;
};

/* Sums of rows: target s becomes ((target s + grad ends[s-1]) + ...) + grad (ends[s] - 1); f64 in
 * f64, the others in f32, each sum rounded as it is made, f16 and bf16 to their type at the end.
 * Segments, and what is added to them, come in order; put gets the sums. */
struct embi_cuda_scatter {
    const uint64_t *ends; /* [segments] none empty */
    uint64_t segments;
    uint32_t dims;
    enum embi_cuda_type type;
    embi_cuda_fill_fn *fill_targets, *fill_grads;
    embi_cuda_put_fn *put;
    void *arg; /* of all three */
};

enum embi_cuda_pooling { EMBI_CUDA_SUM, EMBI_CUDA_MAX };

/* Rows taken into the vectors of several sequences, as emb_pool_add does it, in f64 and in their
 * order: those of sequence b are rows ids[ends[b-1]] .. ids[ends[b] - 1]. */
struct embi_cuda_pool {
    const uint64_t *ids;    /* [ends[bags-1]]                                */
    const uint64_t *ends;   /* [bags]                                        */
    const double *weights;  /* [ends[bags-1]] of sums; NULL: all are 1       */
    const uint64_t *counts; /* [bags] rows that a vector has already         */
    double *sums;           /* [bags, d] the vectors, where they have any; in and out */
    uint64_t bags;
    uint32_t dims;
    enum embi_cuda_pooling how;
};

struct embi_cuda_device;
struct embi_cuda_table;

struct embi_cuda {
    uint32_t abi, size; /* EMBI_CUDA_ABI, sizeof(struct embi_cuda) */

    /* How many devices the driver has, which is loaded for it; some may be too old. */
    int (*count)(int *n, struct embi_cuda_fault *fault);

    /* Device number `ordinal` of the driver; with it the driver is loaded. */
    int (*open)(int ordinal, struct embi_cuda_device **device, struct embi_cuda_fault *fault);
    void (*close)(struct embi_cuda_device *device);

    /* "NVIDIA H200, compute capability 9.0, 139 GiB, driver 12.8". */
    const char *(*about)(const struct embi_cuda_device *device);

    /* How many rows of so many bytes a table may have that is to lie there as a whole. */
    int (*room)(struct embi_cuda_device *device, uint64_t row_bytes, uint64_t *rows,
                struct embi_cuda_fault *fault);

    /* Gives the device a table: all of it, where there is room (*resident), and else a part at a
     * time, whenever it is needed. `rows` stays as it is until table_close. */
    int (*table_open)(struct embi_cuda_device *device, const struct embi_cuda_rows *rows,
                      struct embi_cuda_table **table, bool *resident,
                      struct embi_cuda_fault *fault);
    void (*table_close)(struct embi_cuda_table *table);

    /* put gets row ids[i] as row i; ids are below rows. */
    int (*gather)(struct embi_cuda_table *table, const uint64_t *ids, size_t n,
                  embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault);

    /* put gets row ids[i] + side row side_ids[i] as row i, each number rounded to f32 and then to
     * the type of both tables, which is f32, f16 or bf16. */
    int (*gather_sum)(struct embi_cuda_table *table, const uint64_t *ids,
                      struct embi_cuda_table *side, const uint64_t *side_ids, size_t n,
                      embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault);

    int (*pool)(struct embi_cuda_table *table, const struct embi_cuda_pool *pool,
                struct embi_cuda_fault *fault);

    int (*search)(struct embi_cuda_table *table, const struct embi_cuda_search *search,
                  struct embi_cuda_found *found, struct embi_cuda_fault *fault);

    int (*draw)(struct embi_cuda_device *device, const struct embi_cuda_draw *draw,
                embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault);

    int (*scatter)(struct embi_cuda_device *device, const struct embi_cuda_scatter *scatter,
                   struct embi_cuda_fault *fault);
};

#define EMBI_CUDA_SYMBOL "embi_cuda_plugin"
typedef const struct embi_cuda *embi_cuda_plugin_fn(void);

#endif
