/* shim.h - CUDA's language on the CPU, as much of it as lib/cuda uses: put before kernels.cu, which
 * then is C++.
 *
 * Blocks run one after another, the threads of a block as fibres of one system thread. A fibre runs
 * until it comes to a barrier or an exchange with its warp, and waits there for the others, so what
 * a kernel forgets to wait for is not there yet, or no more: which thread runs first can be chosen
 * (shim_order). The shim ends the program, with a message, where a kernel would hang or where CUDA
 * leaves the meaning open: a barrier that some thread never reaches, an exchange that is not one of
 * the whole warp. Shared memory holds noise when a block begins.
 */
#ifndef EMBTOOL_TESTS_GPU_SHIM_H
#define EMBTOOL_TESTS_GPU_SHIM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct shim_index {
    unsigned x, y, z;
};

/* Of the fibre that runs. */
extern struct shim_index threadIdx, blockIdx, blockDim, gridDim;

extern "C" {

typedef void shim_kernel_fn(const void *args);

/* Runs the kernel; the size of a block is a power of two, 32 or more, its y and z are 1. */
void shim_launch(shim_kernel_fn *kernel, const void *args, struct shim_index grid, unsigned block);

/* Which fibre of a block goes first: 0 the first one, 1 the last one, 2 every fifth. */
void shim_order(int order);
}

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__       static __attribute__((section("shim_shared")))

/* -------------------------------------------------------------------------------------------------
 * Waiting
 */

void __syncthreads(void);

/* Gives `bytes` (at most 48) at `mine` to the warp; all[lane] are what the others gave. */
struct shim_gift {
    unsigned char bytes[48];
};
const struct shim_gift *shim_exchange(unsigned mask, const void *mine, size_t bytes);

static inline float __shfl_xor_sync(unsigned mask, float x, int distance)
{
    const struct shim_gift *all = shim_exchange(mask, &x, sizeof x);
    memcpy(&x, all[(threadIdx.x % 32) ^ (unsigned)distance].bytes, sizeof x);
    return x;
}

/* Fibres change places at barriers alone, so nothing comes between. */
static inline unsigned atomicAdd(unsigned *at, unsigned more)
{
    unsigned before = *at;
    *at += more;
    return before;
}

static inline unsigned atomicMax(unsigned *at, unsigned other)
{
    unsigned before = *at;
    *at = before > other ? before : other;
    return before;
}

/* -------------------------------------------------------------------------------------------------
 * Numbers
 */

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return uint4{x, y, z, w};
}

template <typename T> static inline T __ldcs(const T *p)
{
    return *p;
}

template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}

template <typename T> static inline void __stcs(T *p, T x)
{
    *p = x;
}

static inline float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* sum + the products of the four signed bytes of a and b. */
static inline int __dp4a(int a, int b, int sum)
{
    for (int shift = 0; shift < 32; shift += 8)
        sum += (int8_t)((unsigned)a >> shift) * (int8_t)((unsigned)b >> shift);
    return sum;
}

static inline unsigned max(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

float native_f32_from_f16(uint16_t code);
uint16_t native_f16_from_f32(float x);
void native_mma_bf16(float c[4], const uint32_t a[4], const uint32_t b[2]);
void native_mma_f16(float c[4], const uint32_t a[4], const uint32_t b[2]);

#endif
