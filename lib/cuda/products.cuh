/* products.cuh - products of rows and queries in f32, and the squared norms of rows.
 *
 * Few queries: a warp takes a row, each lane 16 bytes of it at a time, and the sums of the lanes
 * are joined at the end; the table is read once for every four queries, which is what it costs.
 * Many: tiles of 64 rows and 64 queries in shared memory, 16 sums a thread. Sums run in any order;
 * the bound that goes with them is the host's (ops/search_device.c).
 */
#ifndef EMBI_CUDA_PRODUCTS_CUH
#define EMBI_CUDA_PRODUCTS_CUH

#include "cuda/native.cuh"

/* ------------------------------------------------------------------------------------------------
 * Few queries
 */

template <int TYPE> __device__ inline void norms_of_rows(const embi_norms_args &a)
{
    for (uint64_t r = warp_of_thread(); r < a.rows; r += warps_of_grid()) {
        const uint4 *row = device_row<uint4>(a.table, a.pitch, r);
        float sum = 0;
#pragma unroll 4
        for (uint64_t u = lane_of_thread(); u < a.pitch / sizeof(uint4); u += EMBI_WARP) {
            float x[unit<TYPE>::numbers];
            unit<TYPE>::read(row[u], x);
            for (unsigned i = 0; i < unit<TYPE>::numbers; i++)
                sum = fmaf(x[i], x[i], sum);
        }
        sum = warp_sum(sum);
        if (lane_of_thread() == 0)
            device<float>(a.norm2)[r] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS) embi_norms(const embi_norms_args a)
{
    if (a.type == EMBI_CUDA_F32)
        norms_of_rows<EMBI_CUDA_F32>(a);
    else if (a.type == EMBI_CUDA_F16)
        norms_of_rows<EMBI_CUDA_F16>(a);
    else
        norms_of_rows<EMBI_CUDA_BF16>(a);
}

/* The part of a lane in the products of one row with QUERIES queries. */
template <int TYPE, unsigned QUERIES>
__device__ inline void lane_products(const embi_products_args &a, const uint4 *row,
                                     float sum[QUERIES])
{
    constexpr unsigned N = unit<TYPE>::numbers;
#pragma unroll 4
    for (uint64_t u = lane_of_thread(); u < a.pitch / sizeof(uint4); u += EMBI_WARP) {
        float x[N];
        unit<TYPE>::read(__ldcs(row + u), x);
#pragma unroll
        for (unsigned q = 0; q < QUERIES; q++) {
            const float *y = device_row<float>(a.queries, a.queries_pitch, q) + u * N;
            for (unsigned i = 0; i < N; i++)
                sum[q] = fmaf(x[i], y[i], sum[q]);
        }
    }
}

template <int TYPE, unsigned QUERIES>
__device__ inline void products_of_rows(const embi_products_args &a)
{
    for (uint64_t r = warp_of_thread(); r < a.rows; r += warps_of_grid()) {
        float sum[QUERIES] = {0};
        lane_products<TYPE, QUERIES>(a, device_row<uint4>(a.table, a.pitch, r), sum);
#pragma unroll
        for (unsigned q = 0; q < QUERIES; q++) {
            sum[q] = warp_sum(sum[q]);
            if (lane_of_thread() == 0)
                device<float>(a.out)[q * a.ld + r] = sum[q];
        }
    }
}

template <unsigned QUERIES> __device__ inline void products_of_types(const embi_products_args &a)
{
    if (a.type == EMBI_CUDA_F32)
        products_of_rows<EMBI_CUDA_F32, QUERIES>(a);
    else if (a.type == EMBI_CUDA_F16)
        products_of_rows<EMBI_CUDA_F16, QUERIES>(a);
    else
        products_of_rows<EMBI_CUDA_BF16, QUERIES>(a);
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_products_one(const embi_products_args a)
{
    products_of_types<1>(a);
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_products_four(const embi_products_args a)
{
    products_of_types<4>(a);
}

/* ------------------------------------------------------------------------------------------------
 * Many queries
 */

enum { TILE_DEPTH = 16, TILE_STRIDE = EMBI_TILE_ROWS + 4 };

/* Numbers of TILE_DEPTH columns, of rows or queries, the column first. */
struct tile {
    float x[TILE_DEPTH][TILE_STRIDE];
};

/* Thread t brings four numbers of line t / 4; lines past the last one are zero. */
template <int TYPE>
__device__ inline void load_tile(tile &t, uint64_t base, uint64_t pitch, uint64_t first,
                                 uint64_t lines, uint64_t column)
{
    using code = typename stored<TYPE>::code;
    const unsigned line = threadIdx.x / 4, at = threadIdx.x % 4 * 4;
    const bool there = first + line < lines;
    const code *from = device_row<code>(base, pitch, there ? first + line : 0) + column + at;
    for (unsigned i = 0; i < 4; i++)
        t.x[at + i][line] = there ? stored<TYPE>::read(from[i]) : 0.0f;
}

/* Thread (i, j) of 16 by 16 has the products of rows 4i .. and queries 4j ... */
__device__ inline void multiply_tile(const tile &rows, const tile &queries, float sum[4][4])
{
    const unsigned row = threadIdx.x % 16 * 4, query = threadIdx.x / 16 * 4;
#pragma unroll
    for (unsigned k = 0; k < TILE_DEPTH; k++)
#pragma unroll
        for (unsigned j = 0; j < 4; j++)
#pragma unroll
            for (unsigned i = 0; i < 4; i++)
                sum[j][i] = fmaf(rows.x[k][row + i], queries.x[k][query + j], sum[j][i]);
}

__device__ inline void store_tile(const embi_products_args &a, uint64_t first_row,
                                  uint64_t first_query, const float sum[4][4])
{
    const uint64_t row = first_row + threadIdx.x % 16 * 4;
    const uint64_t query = first_query + threadIdx.x / 16 * 4;
    for (unsigned j = 0; j < 4 && query + j < a.n; j++)
        for (unsigned i = 0; i < 4 && row + i < a.rows; i++)
            device<float>(a.out)[(query + j) * a.ld + row + i] = sum[j][i];
}

template <int TYPE>
__device__ inline void products_of_tile(const embi_products_args &a, tile &rows, tile &queries)
{
    const uint64_t row = (uint64_t)blockIdx.x * EMBI_TILE_ROWS;
    const uint64_t query = (uint64_t)blockIdx.y * EMBI_TILE_QUERIES;
    const uint64_t columns = a.pitch / sizeof(typename stored<TYPE>::code);
    float sum[4][4] = {{0}};
    for (uint64_t c = 0; c < columns; c += TILE_DEPTH) {
        load_tile<TYPE>(rows, a.table, a.pitch, row, a.rows, c);
        load_tile<EMBI_CUDA_F32>(queries, a.queries, a.queries_pitch, query, a.n, c);
        __syncthreads();
        multiply_tile(rows, queries, sum);
        __syncthreads();
    }
    store_tile(a, row, query, sum);
}

/* grid: [rows / 64, queries / 64], both rounded up. */
extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_products_tile(const embi_products_args a)
{
    __shared__ tile rows, queries;
    if (a.type == EMBI_CUDA_F32)
        products_of_tile<EMBI_CUDA_F32>(a, rows, queries);
    else if (a.type == EMBI_CUDA_F16)
        products_of_tile<EMBI_CUDA_F16>(a, rows, queries);
    else
        products_of_tile<EMBI_CUDA_BF16>(a, rows, queries);
}

#endif
