/* launch.h - what the host gives each kernel: one struct, by value. Both sides include this file,
 * so neither can mistake the other.
 *
 * Addresses are of device memory and stand as uint64_t. Rows of a table lie `pitch` bytes apart, a
 * multiple of EMBI_PITCH, at an aligned address, and what lies behind a row is zero: kernels read
 * 16 bytes at a time and need not look where a row ends. Of Q8_0 codes come first, a multiple of 32
 * of them, then the scales (dev/cuda.h): a row of d numbers is d + d / 16 bytes, 4352 for 4096.
 */
#ifndef EMBI_CUDA_LAUNCH_H
#define EMBI_CUDA_LAUNCH_H

#include "dev/cuda.h"
#include "util/both.h"

/* One step of the matrix kernel, 32 numbers of 16 bits. */
enum { EMBI_PITCH = 64 };

EMBI_BOTH static inline uint64_t embi_pitch_of(uint64_t row_bytes)
{
    return (row_bytes + EMBI_PITCH - 1) / EMBI_PITCH * EMBI_PITCH;
}

/* Of a number; of Q8_0, of its code. */
EMBI_BOTH static inline uint32_t embi_cuda_type_bytes(uint32_t type)
{
    if (type == EMBI_CUDA_Q8_0)
        return 1;
    return type == EMBI_CUDA_F64 ? 8 : type == EMBI_CUDA_F32 ? 4 : 2;
}

/* Numbers that a kernel finds in a row: those of its padding too, which are zero, but for Q8_0. */
EMBI_BOTH static inline uint64_t embi_cuda_numbers(uint32_t type, uint64_t row_bytes)
{
    if (type == EMBI_CUDA_Q8_0)
        return row_bytes / EMBI_CUDA_Q8_BYTES * EMBI_CUDA_Q8_NUMBERS;
    return embi_pitch_of(row_bytes) / embi_cuda_type_bytes(type);
}

/* Threads of a block, of every kernel but the matrix one. */
enum { EMBI_BLOCK_THREADS = 256, EMBI_WARP = 32 };

/* Where number i of a query lies for kernels in which a lane takes 16 bytes of a row, `per_lane`
 * numbers, at a time: 4 of each lane, then the next 4 of each, so that a warp reads 512 bytes of a
 * query from one place. A query has EMBI_WARP * per_lane numbers, or a multiple. */
EMBI_BOTH static inline uint64_t embi_query_place(uint64_t i, uint32_t per_lane)
{
    const uint64_t unit = i / per_lane, lane = unit % EMBI_WARP;
    const uint64_t four = unit / EMBI_WARP * (per_lane / 4) + i % per_lane / 4;
    return (four * EMBI_WARP + lane) * 4 + i % 4;
}

/* out[places[i]] = table[ids[i]] for n rows of row_bytes. */
struct embi_gather_args {
    uint64_t table, pitch;   /* [V]                                    */
    uint64_t ids;            /* [n] uint64_t                           */
    uint64_t places;         /* [n] uint64_t; 0: row i goes to place i */
    uint64_t out, out_pitch; /* of any alignment: which kernel decides */
    uint64_t n, row_bytes;
};

/* out[i] = table[ids[i]] + side[side_ids[i]], each sum rounded to f32 and then to the type, which
 * is f32, f16 or bf16. out has the pitch of a table. */
struct embi_gather_sum_args {
    uint64_t table, pitch, ids;          /* ids [n] uint64_t; 0: row i is row i */
    uint64_t side, side_pitch, side_ids; /* likewise                            */
    uint64_t out, out_pitch;
    uint64_t n, row_bytes;
    uint32_t type;
};

/* struct embi_cuda_pool of dev/cuda.h. */
struct embi_pool_args {
    uint64_t table, pitch;
    uint64_t ids;     /* [ends[bags-1]] uint64_t; 0: row i is row i */
    uint64_t ends;    /* [bags] uint64_t                            */
    uint64_t weights; /* [ends[bags-1]] f64; 0: all are 1           */
    uint64_t counts;  /* [bags] uint64_t                            */
    uint64_t sums;    /* [bags, dims] f64                           */
    uint64_t bags;
    uint32_t dims, type, how;
};

/* table[s] = ((table[s] + grads[ends[s-1]]) + ...) + grads[ends[s] - 1] for each of so many
 * segments; ends count from `base`. Sums of f64 are of f64, the others of f32, each rounded as it
 * is made; f16 and bf16 are rounded to their type once, at the end. */
struct embi_scatter_args {
    uint64_t table, pitch; /* [segments] */
    uint64_t grads, grads_pitch;
    uint64_t ends; /* [segments] uint64_t */
    uint64_t base, segments;
    uint32_t dims, type;
};

/* Elements of rows first .. first+rows-1 as ops/draw.h specifies them. */
struct embi_draw_args {
    uint64_t out, out_pitch;
    uint64_t first, rows;
    double scale;
    uint32_t key[2];
    uint32_t stream, dims, type, dist;
};

/* norm2[r] = |table[r]|^2 in f32. */
struct embi_norms_args {
    uint64_t table, pitch, rows, numbers; /* embi_cuda_numbers */
    uint64_t norm2;                       /* [rows] f32        */
    uint32_t type;
};

/* out[q * ld + r] = queries[q] . table[r] in f32. Queries have as many numbers as rows with their
 * padding, or more, and theirs is zero too; for the kernels of few queries they lie as
 * embi_query_place says. */
struct embi_products_args {
    uint64_t table, pitch, rows, numbers;
    uint64_t queries, queries_pitch; /* [n] f32 */
    uint64_t out, ld;                /* ld in floats */
    uint64_t norm2;                  /* [rows] f32, of the kernels of few queries; 0: not wanted */
    uint32_t n, type;
};

/* The same by tensor cores, of f16, bf16 and Q8_0: queries are sums of two numbers of that type, or
 * of f16 for Q8_0. */
struct embi_matrix_args {
    uint64_t table, pitch, rows, numbers;
    uint64_t high, low, queries_pitch; /* [n] */
    uint64_t out, ld;
    uint32_t n, type;
};

enum { EMBI_MATRIX_ROWS = 64, EMBI_MATRIX_QUERIES = 64, EMBI_MATRIX_THREADS = 128 };
enum { EMBI_TILE_ROWS = 64, EMBI_TILE_QUERIES = 64 };

/* Numbers whose products a tensor core adds up before the sum goes to an f32 sum of its own; of
 * Q8_0 those of one scale. */
enum { EMBI_MATRIX_BLOCK = 128 };

/* Of each query the rows whose key (ops/interval.h) may be among the k highest. Rows whose norm2 is
 * not usable do not take part. Queries are negated where the farthest rows are wanted. */
struct embi_select_args {
    uint64_t dots, ld; /* [n, ld] f32          */
    uint64_t norm2;    /* [rows] f32           */
    uint64_t rows;     /* of this window       */
    uint64_t first;    /* its first row        */
    uint64_t lengths;  /* [n] f32: |q|         */
    uint64_t k;        /* [n] uint32_t         */
    uint64_t bias;     /* [V] f32; 0: none     */
    uint64_t allowed;  /* [V/8] bits; 0: all   */
    uint64_t floors;   /* [n] uint32_t: what the windows before left, 0 at first   */
    uint64_t counts;   /* [n] uint32_t: hits; more than cap: the list is worthless */
    uint64_t hits;     /* [n, cap] struct embi_cuda_hit */
    float bound;       /* g of ops/interval.h  */
    uint32_t n, cap, metric, farthest;
};

/* The same selection by several blocks a query: a kernel for each of EMBI_SELECT_PASSES digits of
 * the k-th highest lower end, whose blocks count together what each value of the digit has, and one
 * that lists rows. Each begins with what the one before has counted. */
enum { EMBI_SELECT_PASSES = 4, EMBI_SELECT_VALUES = 256 };
struct embi_select_known {
    uint32_t prefix; /* the digits so far                                  */
    uint32_t wanted; /* the how many-th it is of the rows that have these */
};
struct embi_spread_args {
    struct embi_select_args select;
    uint64_t counts; /* [n, EMBI_SELECT_PASSES, EMBI_SELECT_VALUES] uint32_t, zero at first */
    uint64_t known;  /* [n, EMBI_SELECT_PASSES] before each pass                           */
    uint32_t pass;   /* EMBI_SELECT_PASSES: rows are listed                                */
};

/* Rows of the window that may answer and whose norm2 is not usable. */
struct embi_odd_args {
    uint64_t norm2, rows, first, allowed;
    uint64_t count; /* uint32_t */
    uint64_t list;  /* [rows of the table] uint64_t */
};

/* Every kernel: its name, its struct and the threads of its blocks. */
#define EMBI_CUDA_KERNELS(K)                             \
    K(embi_gather_wide, gather, EMBI_BLOCK_THREADS)      \
    K(embi_gather_narrow, gather, EMBI_BLOCK_THREADS)    \
    K(embi_gather_words, gather, EMBI_BLOCK_THREADS)     \
    K(embi_gather_bytes, gather, EMBI_BLOCK_THREADS)     \
    K(embi_gather_sum, gather_sum, EMBI_BLOCK_THREADS)   \
    K(embi_pool, pool, EMBI_BLOCK_THREADS)               \
    K(embi_scatter, scatter, EMBI_BLOCK_THREADS)         \
    K(embi_draw, draw, EMBI_BLOCK_THREADS)               \
    K(embi_norms, norms, EMBI_BLOCK_THREADS)             \
    K(embi_products_one, products, EMBI_BLOCK_THREADS)   \
    K(embi_products_four, products, EMBI_BLOCK_THREADS)  \
    K(embi_products_tile, products, EMBI_BLOCK_THREADS)  \
    K(embi_products_matrix, matrix, EMBI_MATRIX_THREADS) \
    K(embi_select, select, EMBI_BLOCK_THREADS)           \
    K(embi_spread_count, spread, EMBI_BLOCK_THREADS)     \
    K(embi_spread_list, spread, EMBI_BLOCK_THREADS)      \
    K(embi_odd_rows, odd, EMBI_BLOCK_THREADS)

enum embi_cuda_kernel {
#define EMBI_KERNEL_NUMBER(name, args, threads) name##_kernel,
    EMBI_CUDA_KERNELS(EMBI_KERNEL_NUMBER)
#undef EMBI_KERNEL_NUMBER
        EMBI_CUDA_KERNEL_COUNT
};

#endif
