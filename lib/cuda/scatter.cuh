/* scatter.cuh - gradient rows added to rows of a table.
 *
 * The host has sorted: a segment is one row of the table and all that is added to it, in the order
 * of the caller, and both came over in that order. So no two warps write to one row, nothing is
 * atomic, and sums have one order.
 */
#ifndef EMBI_CUDA_SCATTER_CUH
#define EMBI_CUDA_SCATTER_CUH

#include "cuda/native.cuh"

/* x[j] is number c + j warps of a row. */
template <int TYPE, typename Number>
__device__ inline void load_numbers(const typename stored<TYPE>::code *row, uint32_t c,
                                    uint32_t dims, Number x[IN_FLIGHT])
{
#pragma unroll
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = c + j * EMBI_WARP < dims ? stored<TYPE>::read(row[c + j * EMBI_WARP]) : Number();
}

template <int TYPE>
__device__ inline void add_segment(const embi_scatter_args &a, uint64_t s, uint64_t begin,
                                   uint64_t end)
{
    using type = stored<TYPE>;
    using code = typename type::code;
    using number = decltype(type::read(code()));
    code *to = device_row<code>(a.table, a.pitch, s);
    for (uint32_t c = lane_of_thread(); c < a.dims; c += EMBI_WARP * IN_FLIGHT) {
        number sum[IN_FLIGHT], more[IN_FLIGHT];
        load_numbers<TYPE>(to, c, a.dims, sum);
        for (uint64_t i = begin; i < end; i++) {
            load_numbers<TYPE>(device_row<code>(a.grads, a.grads_pitch, i), c, a.dims, more);
            for (unsigned j = 0; j < IN_FLIGHT; j++)
                sum[j] += more[j];
        }
#pragma unroll
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            if (c + j * EMBI_WARP < a.dims)
                to[c + j * EMBI_WARP] = type::write(sum[j]);
    }
}

template <int TYPE> __device__ inline void add_segments(const embi_scatter_args &a)
{
    const uint64_t *ends = device<uint64_t>(a.ends);
    for (uint64_t s = warp_of_thread(); s < a.segments; s += warps_of_grid())
        add_segment<TYPE>(a, s, (s == 0 ? a.base : ends[s - 1]) - a.base, ends[s] - a.base);
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_scatter(const embi_scatter_args a)
{
    if (a.type == EMBI_CUDA_F64)
        add_segments<EMBI_CUDA_F64>(a);
    else if (a.type == EMBI_CUDA_F32)
        add_segments<EMBI_CUDA_F32>(a);
    else if (a.type == EMBI_CUDA_F16)
        add_segments<EMBI_CUDA_F16>(a);
    else
        add_segments<EMBI_CUDA_BF16>(a);
}

#endif
