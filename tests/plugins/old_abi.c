/* old_abi.c - a BLAS plugin of an interface that is not this one's: it must not be used. */
#include "dev/blas.h"

#include <stddef.h>

embi_blas_plugin_fn embi_blas_plugin;

const struct embi_blas *embi_blas_plugin(void)
{
    static const struct embi_blas old = {.abi = EMBI_BLAS_ABI + 1, .size = sizeof old};
    return &old;
}
