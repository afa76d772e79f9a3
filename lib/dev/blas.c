/* blas.c - the BLAS plugin of a context: loaded once, checked, and judged by the CPU it runs for.
 */
#include "dev/load.h"
#include "num/cpu.h"
#include "util/err.h"

#include <strings.h>

static const char missing[] = "the BLAS plugin is not there: make builds it where OpenBLAS "
                              "(libopenblas-dev) is installed";

/* The plugin's file holds one function, whose type dev/blas.h says. */
static const struct embi_blas *call(void *address)
{
    embi_blas_plugin_fn *plugin;
    memcpy(&plugin, &address, sizeof plugin);
    return plugin();
}

static emb_status load(struct embi_plugins *p, emb_err *err)
{
    void *address;
    emb_status status = embi_plugin_load(p, "blas", missing, EMBI_BLAS_SYMBOL, &address, err);
    if (status)
        return status;
    const struct embi_blas *blas = call(address);
    status = embi_plugin_check("blas", blas->abi, blas->size, EMBI_BLAS_ABI, sizeof *blas, err);
    if (!status)
        p->blas = blas;
    return status;
}

emb_status embi_blas_get(const struct embi_env *env, const struct embi_blas **blas, emb_err *err)
{
    struct embi_plugins *p = env->plugins;
    if (!p->blas_tried) {
        emb_status status = load(p, &p->blas_err);
        p->blas_tried = true;
        if (status)
            embi_log(env, EMB_LOG_DEBUG, NULL, "blas: %s", p->blas_err.msg);
        else
            embi_log(env, EMB_LOG_DEBUG, NULL, "blas: %s%s", p->blas->config(),
                     embi_blas_is_current(env, p->blas) ? "" : ": a core older than this CPU");
    }
    *blas = p->blas;
    if (!p->blas)
        *err = p->blas_err;
    return p->blas ? EMB_OK : p->blas_err.status;
}

/* Names of OpenBLAS's cores that use AVX2 or more. */
bool embi_blas_is_current(const struct embi_env *env, const struct embi_blas *blas)
{
    static const char *const cores[] = {"Haswell",  "Zen",        "Excavator",
                                        "SkylakeX", "Cooperlake", "Sapphirerapids"};
    if (!(env->cpu & EMBI_CPU_AVX2))
        return true;
    for (size_t i = 0; i < EMBI_LEN(cores); i++)
        if (strcasecmp(blas->core(), cores[i]) == 0)
            return true;
    return false;
}
