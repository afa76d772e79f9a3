/* kernels.h - the kernels of lib/cuda as functions of the CPU, by their names. */
#ifndef EMBTOOL_TESTS_GPU_KERNELS_H
#define EMBTOOL_TESTS_GPU_KERNELS_H

#include "cuda/launch.h"
#include "shim.h"

struct shim_kernel {
    const char *name;
    shim_kernel_fn *run;
    size_t args_bytes;
    unsigned threads;
};

extern const struct shim_kernel shim_kernels[EMBI_CUDA_KERNEL_COUNT];

/* Runs it at once. */
template <typename Args>
static inline void launch(enum embi_cuda_kernel kernel, const Args &args, unsigned x,
                          unsigned y = 1)
{
    shim_launch(shim_kernels[kernel].run, &args, {x, y, 1}, shim_kernels[kernel].threads);
}

#endif
