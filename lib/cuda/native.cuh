/* native.cuh - what only a GPU's compiler knows: conversions of f16, a tensor core's product. The
 * tests' shim (tests/gpu/shim.h) has the same functions for the CPU, and is included before.
 */
#ifndef EMBI_CUDA_NATIVE_CUH
#define EMBI_CUDA_NATIVE_CUH

#include "cuda/launch.h"
#include "num/half.h"

#ifdef __CUDACC__

__device__ inline float native_f32_from_f16(uint16_t code)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(code));
    return x;
}

__device__ inline uint16_t native_f16_from_f32(float x)
{
    uint16_t code;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(x));
    return code;
}

/* c[16, 8] += a[16, 16] b[16, 8] of a warp; where each lane has its part is said in "Matrix
 * fragments for mma.m16n8k16" of the PTX manual. */
__device__ inline void native_mma_bf16(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void native_mma_f16(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

/* Loads that a thread issues before it needs the first of them: in arrays, where a kernel waits for
 * memory, since of a loop that is unrolled the compiler makes one after another. */
enum { IN_FLIGHT = 4 };

template <typename T> __device__ inline T *device(uint64_t address)
{
    return reinterpret_cast<T *>(address);
}

template <typename T> __device__ inline T *device_row(uint64_t table, uint64_t pitch, uint64_t row)
{
    return device<T>(table + row * pitch);
}

/* Numbers of a type as they are stored. */
template <int TYPE> struct stored;

template <> struct stored<EMBI_CUDA_F64> {
    using code = double;
    static __device__ double read(code x)
    {
        return x;
    }
    static __device__ code write(double x)
    {
        return x;
    }
};

template <> struct stored<EMBI_CUDA_F32> {
    using code = float;
    static __device__ float read(code x)
    {
        return x;
    }
    static __device__ code write(float x)
    {
        return x;
    }
};

template <> struct stored<EMBI_CUDA_F16> {
    using code = uint16_t;
    static __device__ float read(code x)
    {
        return native_f32_from_f16(x);
    }
    static __device__ code write(float x)
    {
        return native_f16_from_f32(x);
    }
};

template <> struct stored<EMBI_CUDA_BF16> {
    using code = uint16_t;
    static __device__ float read(code x)
    {
        return embi_f32_from_bf16(x);
    }
    static __device__ code write(float x)
    {
        return embi_bf16_from_f32(x);
    }
};

/* Codes: a number is one of them times its scale. */
template <> struct stored<EMBI_CUDA_Q8_0> {
    using code = int8_t;
    static __device__ float read(code x)
    {
        return x;
    }
};

/* What the numbers of a row around `column` are multiples of. A code times its scale is exact in
 * f32: 7 bits by 11. */
template <int TYPE>
__device__ inline float scale_of(const void *row, uint64_t numbers, uint64_t column)
{
    if constexpr (TYPE == EMBI_CUDA_Q8_0)
        return native_f32_from_f16(__ldg(reinterpret_cast<const uint16_t *>(
            static_cast<const char *>(row) + numbers + column / EMBI_CUDA_Q8_NUMBERS * 2)));
    else
        return 1;
}

/* The numbers of 16 bytes of a type of 4 or 2 bytes, or codes. */
template <int TYPE> struct unit {
    static constexpr unsigned numbers = 16 / sizeof(typename stored<TYPE>::code);

    static __device__ void read(const uint4 &from, float x[numbers])
    {
        const uint32_t words[4] = {from.x, from.y, from.z, from.w};
        for (unsigned i = 0; i < 4; i++)
            if constexpr (TYPE == EMBI_CUDA_F32) {
                x[i] = __uint_as_float(words[i]);
            } else if constexpr (TYPE == EMBI_CUDA_Q8_0) {
                for (unsigned j = 0; j < 4; j++)
                    x[4 * i + j] = stored<TYPE>::read((int8_t)(words[i] >> 8 * j));
            } else {
                x[2 * i] = stored<TYPE>::read((uint16_t)words[i]);
                x[2 * i + 1] = stored<TYPE>::read((uint16_t)(words[i] >> 16));
            }
    }

    static __device__ uint4 write(const float x[numbers])
    {
        uint32_t words[4];
        for (unsigned i = 0; i < 4; i++)
            if constexpr (TYPE == EMBI_CUDA_F32)
                words[i] = __float_as_uint(x[i]);
            else
                words[i] = stored<TYPE>::write(x[2 * i]) |
                           (uint32_t)stored<TYPE>::write(x[2 * i + 1]) << 16;
        return make_uint4(words[0], words[1], words[2], words[3]);
    }
};

/* The sum over a warp, in every lane. */
__device__ inline float warp_sum(float x)
{
    for (int distance = EMBI_WARP / 2; distance > 0; distance /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, distance);
    return x;
}

__device__ inline unsigned lane_of_thread()
{
    return threadIdx.x % EMBI_WARP;
}

/* The first warp's work, and how many warps there are to share it. */
__device__ inline uint64_t warp_of_thread()
{
    return (uint64_t)blockIdx.x * (blockDim.x / EMBI_WARP) + threadIdx.x / EMBI_WARP;
}

__device__ inline uint64_t warps_of_grid()
{
    return (uint64_t)gridDim.x * (blockDim.x / EMBI_WARP);
}

#endif
