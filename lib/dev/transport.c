/* transport.c - the HTTP plugin of a context: loaded once, and checked. */
#include "dev/load.h"
#include "util/err.h"

static const char missing[] =
    "files on servers are read by the HTTP plugin, which is not there: make "
    "builds it where libcurl (libcurl4-openssl-dev) is installed";

static emb_status load(const struct embi_plugins *p, const struct embi_transport **transport,
                       emb_err *err)
{
    void *address;
    embi_http_plugin_fn *plugin;
    emb_status status = embi_plugin_load(p, "http", missing, EMBI_TRANSPORT_SYMBOL, &address, err);
    if (status)
        return status;
    memcpy(&plugin, &address, sizeof plugin);
    const struct embi_transport *t = plugin();
    status = embi_plugin_check("http", t->abi, t->size, EMBI_TRANSPORT_ABI, sizeof *t, err);
    if (!status)
        *transport = t;
    return status;
}

emb_status embi_transport_get(const struct embi_env *env, const struct embi_transport **transport,
                              emb_err *err)
{
    struct embi_plugins *p = env->plugins;
    if (!p->transport) {
        const struct embi_transport *t = NULL;
        emb_status status = load(p, &t, err);
        if (status || !t)
            return status;
        embi_log(env, EMB_LOG_DEBUG, NULL, "http: %s", t->about());
        p->transport = t;
    }
    *transport = p->transport;
    return EMB_OK;
}
