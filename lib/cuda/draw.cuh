/* draw.cuh - random elements of a table: what ops/draw.h specifies, one Philox block a thread.
 *
 * Every step is a function of num/deviates.h and num/normal.h, compiled without fused
 * multiplication and with divisions and roots that are rounded as IEEE 754 says (the Makefile's
 * flags), so the bytes are those of the CPU.
 */
#ifndef EMBI_CUDA_DRAW_CUH
#define EMBI_CUDA_DRAW_CUH

#include "cuda/native.cuh"
#include "num/deviates.h"

/* Up to four elements of f32, or of a type that is rounded from it, from `column` on. */
template <int TYPE>
__device__ inline void draw_four(const embi_draw_args &a, uint64_t row, uint32_t block)
{
    typename stored<TYPE>::code *to =
        device_row<typename stored<TYPE>::code>(a.out, a.out_pitch, row - a.first);
    uint32_t w[4];
    float z[4];
    embi_draw_words(row, block, 0, a.stream, a.key, w);
    if (a.dist != EMBI_CUDA_UNIFORM)
        embi_draw_normals_f32(w, z);
    for (uint32_t i = 0; i < 4 && 4 * block + i < a.dims; i++) {
        float x = a.dist == EMBI_CUDA_UNIFORM ? embi_uniform_f32(w[i]) : z[i];
        if (a.dist == EMBI_CUDA_TRUNCATED && !(fabsf(x) <= 2.0f))
            x = embi_draw_again_f32(row, 4 * block + i, a.stream, a.key);
        to[4 * block + i] = stored<TYPE>::write(x * (float)a.scale);
    }
}

__device__ inline void draw_two(const embi_draw_args &a, uint64_t row, uint32_t block)
{
    double *to = device_row<double>(a.out, a.out_pitch, row - a.first);
    uint32_t w[4];
    double z[2];
    embi_draw_words(row, block, 0, a.stream, a.key, w);
    if (a.dist != EMBI_CUDA_UNIFORM)
        embi_draw_normals_f64(w, z);
    for (uint32_t i = 0; i < 2 && 2 * block + i < a.dims; i++) {
        double x = a.dist == EMBI_CUDA_UNIFORM
                       ? embi_uniform_f64(embi_draw_join(w[2 * i], w[2 * i + 1]))
                       : z[i];
        if (a.dist == EMBI_CUDA_TRUNCATED && !(fabs(x) <= 2.0))
            x = embi_draw_again_f64(row, 2 * block + i, a.stream, a.key);
        to[2 * block + i] = x * a.scale;
    }
}

__device__ inline void draw_block(const embi_draw_args &a, uint64_t row, uint32_t block)
{
    if (a.type == EMBI_CUDA_F64)
        draw_two(a, row, block);
    else if (a.type == EMBI_CUDA_F32)
        draw_four<EMBI_CUDA_F32>(a, row, block);
    else if (a.type == EMBI_CUDA_F16)
        draw_four<EMBI_CUDA_F16>(a, row, block);
    else
        draw_four<EMBI_CUDA_BF16>(a, row, block);
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS) embi_draw(const embi_draw_args a)
{
    const uint32_t numbers = a.type == EMBI_CUDA_F64 ? 2 : 4;
    const uint64_t blocks = (a.dims + numbers - 1) / numbers, n = a.rows * blocks;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        draw_block(a, a.first + i / blocks, (uint32_t)(i % blocks));
}

#endif
