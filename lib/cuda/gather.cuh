/* gather.cuh - rows of a table, by their ids: bare, with a row of positions added, and pooled.
 *
 * A gather only moves bytes, so it is as fast as loads are many: a group of lanes takes a row, and
 * each lane asks for IN_FLIGHT units before it writes the first. Rows go past the caches' usual
 * replacement (__ldcs, __stcs): nobody comes back to them soon.
 */
#ifndef EMBI_CUDA_GATHER_CUH
#define EMBI_CUDA_GATHER_CUH

#include "cuda/native.cuh"

template <typename Unit, unsigned LANES>
__device__ inline void copy_row(Unit *to, const Unit *from, uint64_t units, unsigned lane)
{
    for (uint64_t u = lane; u < units; u += LANES * IN_FLIGHT) {
        Unit x[IN_FLIGHT];
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            if (u + i * LANES < units)
                x[i] = __ldcs(from + u + i * LANES);
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            if (u + i * LANES < units)
                __stcs(to + u + i * LANES, x[i]);
    }
}

template <typename Unit, unsigned LANES>
__device__ inline void gather_rows(const embi_gather_args &a)
{
    const uint64_t *ids = device<uint64_t>(a.ids), *places = device<uint64_t>(a.places);
    const uint64_t per_block = blockDim.x / LANES, step = gridDim.x * per_block;
    for (uint64_t i = blockIdx.x * per_block + threadIdx.x / LANES; i < a.n; i += step)
        copy_row<Unit, LANES>(device_row<Unit>(a.out, a.out_pitch, places ? places[i] : i),
                              device_row<const Unit>(a.table, a.pitch, ids[i]),
                              a.row_bytes / sizeof(Unit), threadIdx.x % LANES);
}

/* Rows of 512 bytes and more: a warp a row. */
extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_gather_wide(const embi_gather_args a)
{
    gather_rows<uint4, 32>(a);
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_gather_narrow(const embi_gather_args a)
{
    gather_rows<uint4, 8>(a);
}

/* Rows, or places for them, that do not lie at multiples of 16 bytes. */
extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_gather_words(const embi_gather_args a)
{
    gather_rows<unsigned, 32>(a);
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_gather_bytes(const embi_gather_args a)
{
    gather_rows<unsigned char, 32>(a);
}

__device__ inline uint64_t id_of(uint64_t ids, uint64_t i)
{
    return ids ? device<uint64_t>(ids)[i] : i;
}

template <int TYPE> __device__ inline uint4 sum_of_units(const uint4 &x, const uint4 &y)
{
    float a[unit<TYPE>::numbers], b[unit<TYPE>::numbers];
    unit<TYPE>::read(x, a);
    unit<TYPE>::read(y, b);
    for (unsigned i = 0; i < unit<TYPE>::numbers; i++)
        a[i] += b[i];
    return unit<TYPE>::write(a);
}

template <int TYPE>
__device__ inline void add_rows(uint4 *to, const uint4 *x, const uint4 *y, uint64_t units)
{
    for (uint64_t u = lane_of_thread(); u < units; u += EMBI_WARP * IN_FLIGHT) {
        uint4 a[IN_FLIGHT], b[IN_FLIGHT];
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            if (u + i * EMBI_WARP < units) {
                a[i] = __ldcs(x + u + i * EMBI_WARP);
                b[i] = __ldg(y + u + i * EMBI_WARP);
            }
#pragma unroll
        for (unsigned i = 0; i < IN_FLIGHT; i++)
            if (u + i * EMBI_WARP < units)
                __stcs(to + u + i * EMBI_WARP, sum_of_units<TYPE>(a[i], b[i]));
    }
}

template <int TYPE> __device__ inline void gather_sums(const embi_gather_sum_args &a)
{
    const uint64_t units = (a.row_bytes + sizeof(uint4) - 1) / sizeof(uint4);
    for (uint64_t i = warp_of_thread(); i < a.n; i += warps_of_grid()) {
        const uint4 *x = device_row<uint4>(a.table, a.pitch, id_of(a.ids, i));
        const uint4 *y = device_row<uint4>(a.side, a.side_pitch, id_of(a.side_ids, i));
        add_rows<TYPE>(device_row<uint4>(a.out, a.out_pitch, i), x, y, units);
    }
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_gather_sum(const embi_gather_sum_args a)
{
    if (a.type == EMBI_CUDA_F32)
        gather_sums<EMBI_CUDA_F32>(a);
    else if (a.type == EMBI_CUDA_F16)
        gather_sums<EMBI_CUDA_F16>(a);
    else
        gather_sums<EMBI_CUDA_BF16>(a);
}

/* A number of a row, as exact as f64. */
template <int TYPE>
__device__ inline double number_of(const embi_pool_args &a, uint64_t row, uint32_t column)
{
    const auto *from = device_row<typename stored<TYPE>::code>(a.table, a.pitch, row);
    return stored<TYPE>::read(from[column]) * scale_of<TYPE>(from, a.dims, column);
}

/* One column of a bag: what emb_pool_add does with it. */
template <int TYPE>
__device__ inline void pool_column(const embi_pool_args &a, uint64_t bag, uint64_t begin,
                                   uint64_t end, uint32_t column)
{
    const double *weights = device<double>(a.weights);
    double *to = device<double>(a.sums) + bag * a.dims + column;
    bool first = device<uint64_t>(a.counts)[bag] == 0;
    double sum = first ? 0 : *to;
    for (uint64_t i = begin; i < end; i += IN_FLIGHT) {
        double x[IN_FLIGHT];
#pragma unroll
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            if (i + j < end)
                x[j] = number_of<TYPE>(a, id_of(a.ids, i + j), column);
#pragma unroll
        for (unsigned j = 0; j < IN_FLIGHT; j++) {
            if (i + j >= end)
                break;
            if (a.how == EMBI_CUDA_SUM)
                sum += weights ? weights[i + j] * x[j] : x[j];
            else if (first || x[j] > sum || x[j] != x[j])
                sum = x[j];
            first = false;
        }
    }
    *to = sum;
}

/* A block takes a bag, a thread its columns. */
template <int TYPE> __device__ inline void pool_bags(const embi_pool_args &a)
{
    const uint64_t *ends = device<uint64_t>(a.ends);
    for (uint64_t bag = blockIdx.x; bag < a.bags; bag += gridDim.x)
        for (uint32_t c = threadIdx.x; c < a.dims; c += blockDim.x)
            pool_column<TYPE>(a, bag, bag == 0 ? 0 : ends[bag - 1], ends[bag], c);
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS) embi_pool(const embi_pool_args a)
{
    if (a.type == EMBI_CUDA_F64)
        pool_bags<EMBI_CUDA_F64>(a);
    else if (a.type == EMBI_CUDA_F32)
        pool_bags<EMBI_CUDA_F32>(a);
    else if (a.type == EMBI_CUDA_F16)
        pool_bags<EMBI_CUDA_F16>(a);
    else if (a.type == EMBI_CUDA_Q8_0)
        pool_bags<EMBI_CUDA_Q8_0>(a);
    else
        pool_bags<EMBI_CUDA_BF16>(a);
}

#endif
