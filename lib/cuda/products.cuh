/* products.cuh - products of rows and queries in f32, and the squared norms of rows.
 *
 * Few queries: a warp takes a row, each lane 16 bytes of it at a time, and the sums of the lanes
 * are joined at the end; the table is read once for every four queries, which is what it costs.
 * Of Q8_0 the products of 16 codes are added up first, and that sum goes in times their scale.
 * Many: tiles of 64 rows and 64 queries in shared memory, 16 sums a thread. Sums run in any order;
 * the bound that goes with them is the host's (ops/search_device.c).
 */
#ifndef EMBI_CUDA_PRODUCTS_CUH
#define EMBI_CUDA_PRODUCTS_CUH

#include "cuda/native.cuh"

/* ------------------------------------------------------------------------------------------------
 * Few queries
 */

/* sum + the squares of 16 bytes of numbers. Those of codes, and of a scale, are exact. */
template <int TYPE>
__device__ inline float add_squares(float sum, const uint4 &from, [[maybe_unused]] float scale)
{
    if constexpr (TYPE == EMBI_CUDA_Q8_0) {
        const unsigned words[4] = {from.x, from.y, from.z, from.w};
        int squares = 0;
        for (unsigned i = 0; i < 4; i++)
            squares = __dp4a((int)words[i], (int)words[i], squares);
        return fmaf(scale * scale, (float)squares, sum);
    } else {
        float x[unit<TYPE>::numbers];
        unit<TYPE>::read(from, x);
        for (unsigned i = 0; i < unit<TYPE>::numbers; i++)
            sum = fmaf(x[i], x[i], sum);
        return sum;
    }
}

/* Units u, u + EMBI_WARP ... of a row and what scales them; nothing past its end. */
template <int TYPE>
__device__ inline void load_units(const uint4 *row, uint64_t numbers, uint64_t u,
                                  uint4 x[IN_FLIGHT], float scale[IN_FLIGHT])
{
    constexpr unsigned N = unit<TYPE>::numbers;
#pragma unroll
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        if (u + i * EMBI_WARP < numbers / N) {
            x[i] = __ldcs(row + u + i * EMBI_WARP);
            scale[i] = scale_of<TYPE>(row, numbers, (u + i * EMBI_WARP) * N);
        }
}

template <int TYPE> __device__ inline float lane_norm2(const uint4 *row, uint64_t numbers)
{
    const uint64_t units = numbers / unit<TYPE>::numbers;
    float sum = 0;
    for (uint64_t u = lane_of_thread(); u < units; u += EMBI_WARP * IN_FLIGHT) {
        uint4 x[IN_FLIGHT];
        float scale[IN_FLIGHT];
        load_units<TYPE>(row, numbers, u, x, scale);
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            if (u + i * EMBI_WARP < units)
                sum = add_squares<TYPE>(sum, x[i], scale[i]);
    }
    return sum;
}

template <int TYPE> __device__ inline void norms_of_rows(const embi_norms_args &a)
{
    for (uint64_t r = warp_of_thread(); r < a.rows; r += warps_of_grid()) {
        const uint4 *row = device_row<uint4>(a.table, a.pitch, r);
        const float sum = warp_sum(lane_norm2<TYPE>(row, a.numbers));
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
    else if (a.type == EMBI_CUDA_Q8_0)
        norms_of_rows<EMBI_CUDA_Q8_0>(a);
    else
        norms_of_rows<EMBI_CUDA_BF16>(a);
}

/* sum + x . y, where y [N] lies as embi_query_place says, from its first four numbers on. */
template <unsigned N>
__device__ inline float add_products(float sum, const float x[N], const uint4 *y)
{
#pragma unroll
    for (unsigned four = 0; four < N / 4; four++) {
        float z[4];
        unit<EMBI_CUDA_F32>::read(__ldg(y + four * EMBI_WARP), z);
        for (unsigned i = 0; i < 4; i++)
            sum = fmaf(x[4 * four + i], z[i], sum);
    }
    return sum;
}

/* One unit of a row, times all queries. */
template <int TYPE, unsigned QUERIES>
__device__ inline void add_unit(const embi_products_args &a, uint64_t u, const uint4 &now,
                                [[maybe_unused]] float scale, float sum[QUERIES])
{
    constexpr unsigned N = unit<TYPE>::numbers;
    float x[N];
    unit<TYPE>::read(now, x);
#pragma unroll
    for (unsigned q = 0; q < QUERIES; q++) {
        const uint4 *y = device_row<uint4>(a.queries, a.queries_pitch, q) +
                         (u - lane_of_thread()) * (N / 4) + lane_of_thread();
        if constexpr (TYPE == EMBI_CUDA_Q8_0)
            sum[q] = fmaf(scale, add_products<N>(0, x, y), sum[q]);
        else
            sum[q] = add_products<N>(sum[q], x, y);
    }
}

/* The part of a lane in the products of one row with QUERIES queries, and in its squared norm,
 * which costs no further look at the row. */
template <int TYPE, unsigned QUERIES>
__device__ inline float lane_products(const embi_products_args &a, const uint4 *row,
                                      float sum[QUERIES])
{
    const uint64_t units = a.numbers / unit<TYPE>::numbers;
    float norm2 = 0;
    for (uint64_t u = lane_of_thread(); u < units; u += EMBI_WARP * IN_FLIGHT) {
        uint4 x[IN_FLIGHT];
        float scale[IN_FLIGHT];
        load_units<TYPE>(row, a.numbers, u, x, scale);
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            if (u + i * EMBI_WARP < units) {
                norm2 = add_squares<TYPE>(norm2, x[i], scale[i]);
                add_unit<TYPE, QUERIES>(a, u + i * EMBI_WARP, x[i], scale[i], sum);
            }
    }
    return norm2;
}

template <int TYPE, unsigned QUERIES>
__device__ inline void products_of_rows(const embi_products_args &a)
{
    for (uint64_t r = warp_of_thread(); r < a.rows; r += warps_of_grid()) {
        float sum[QUERIES] = {0};
        float norm2 = lane_products<TYPE, QUERIES>(a, device_row<uint4>(a.table, a.pitch, r), sum);
        norm2 = warp_sum(norm2);
        if (a.norm2 && lane_of_thread() == 0)
            device<float>(a.norm2)[r] = norm2;
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
    else if (a.type == EMBI_CUDA_Q8_0)
        products_of_rows<EMBI_CUDA_Q8_0, QUERIES>(a);
    else
        products_of_rows<EMBI_CUDA_BF16, QUERIES>(a);
}

/* Four blocks an SM: the compiler for sm_100 would have five, and not keep all in registers. */
extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS, 4)
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
                                 uint64_t lines, uint64_t numbers, uint64_t column)
{
    using code = typename stored<TYPE>::code;
    const unsigned line = threadIdx.x / 4, at = threadIdx.x % 4 * 4;
    const bool there = first + line < lines;
    const code *row = device_row<code>(base, pitch, there ? first + line : 0);
    const float scale = scale_of<TYPE>(row, numbers, column);
    for (unsigned i = 0; i < 4; i++)
        t.x[at + i][line] = there ? stored<TYPE>::read(row[column + at + i]) * scale : 0.0f;
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
    float sum[4][4] = {{0}};
    for (uint64_t c = 0; c < a.numbers; c += TILE_DEPTH) {
        load_tile<TYPE>(rows, a.table, a.pitch, row, a.rows, a.numbers, c);
        load_tile<EMBI_CUDA_F32>(queries, a.queries, a.queries_pitch, query, a.n, a.numbers, c);
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
    else if (a.type == EMBI_CUDA_Q8_0)
        products_of_tile<EMBI_CUDA_Q8_0>(a, rows, queries);
    else
        products_of_tile<EMBI_CUDA_BF16>(a, rows, queries);
}

#endif
