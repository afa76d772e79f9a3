/* other_abi.c - a CUDA plugin of an interface that is not this one's: it must not be used. */
#include "dev/cuda.h"

embi_cuda_plugin_fn embi_cuda_plugin;

const struct embi_cuda *embi_cuda_plugin(void)
{
    static const struct embi_cuda other = {.abi = EMBI_CUDA_ABI + 1, .size = sizeof other};
    return &other;
}
