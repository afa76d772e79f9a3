/* kernels.cc - see kernels.h. kernels.cu is compiled apart, as C++ behind shim.h. */
#include "kernels.h"

#define KERNEL(name, args, threads)                               \
    extern "C" void name(const struct embi_##args##_args);        \
    static void run_##name(const void *p)                         \
    {                                                             \
        name(*static_cast<const struct embi_##args##_args *>(p)); \
    }
EMBI_CUDA_KERNELS(KERNEL)
#undef KERNEL

const struct shim_kernel shim_kernels[EMBI_CUDA_KERNEL_COUNT] = {
#define KERNEL(name, args, threads) {#name, run_##name, sizeof(struct embi_##args##_args), threads},
    EMBI_CUDA_KERNELS(KERNEL)
#undef KERNEL
};
