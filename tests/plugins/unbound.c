/* unbound.c - a BLAS plugin whose library is not there: a function that nothing defines. */
#include "dev/blas.h"

const struct embi_blas *nobody_defines_this(void);
embi_blas_plugin_fn embi_blas_plugin;

const struct embi_blas *embi_blas_plugin(void)
{
    return nobody_defines_this();
}
