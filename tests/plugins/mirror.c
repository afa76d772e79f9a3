/* mirror.c - a BLAS plugin that computes nothing and shows the environment it was loaded in, as
 * OpenBLAS sees it: before any function is called. Its core is an old one on purpose.
 */
#include "dev/blas.h"

#include <stdio.h>
#include <stdlib.h>

embi_blas_plugin_fn embi_blas_plugin;
static char seen[200];

static const char *show(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "unset";
}

__attribute__((constructor)) static void look(void)
{
    snprintf(seen, sizeof seen, "threads %s, core type %s", show("OPENBLAS_NUM_THREADS"),
             show("OPENBLAS_CORETYPE"));
}

static const char *config(void)
{
    return seen;
}

static const char *core(void)
{
    return "Prescott";
}

const struct embi_blas *embi_blas_plugin(void)
{
    static const struct embi_blas mirror = {
        .abi = EMBI_BLAS_ABI, .size = sizeof mirror, .config = config, .core = core};
    return &mirror;
}
