/* transport.c - the HTTP plugin of a context: loaded once, and checked. */
#include "dev/load.h"
#include "util/err.h"

static const char missing[] =
    "files on servers are read by the HTTP plugin, which is not there: make "
    "builds it where libcurl (libcurl4-openssl-dev) is installed";

static emb_status load(struct embi_plugins *p, emb_err *err)
{
    void *address;
    embi_http_plugin_fn *plugin;
    emb_status status = embi_plugin_load(p, "http", missing, EMBI_TRANSPORT_SYMBOL, &address, err);
    if (status)
        return status;
    memcpy(&plugin, &address, sizeof plugin);
    const struct embi_transport *t = plugin();
    if (t->abi != EMBI_TRANSPORT_ABI || t->size != sizeof *t)
        return embi_fail(err, EMB_DEVICE, -1,
                         "libemb-http.so is of another version of embtool: interface %u of %u "
                         "bytes, expected %u of %zu",
                         t->abi, t->size, EMBI_TRANSPORT_ABI, sizeof *t);
    p->transport = t;
    return EMB_OK;
}

emb_status embi_transport_get(const struct embi_env *env, const struct embi_transport **transport,
                              emb_err *err)
{
    struct embi_plugins *p = env->plugins;
    emb_status status = p->transport ? EMB_OK : load(p, err);
    if (!status)
        embi_log(env, EMB_LOG_DEBUG, NULL, "http: %s", p->transport->about());
    *transport = p->transport;
    return status;
}
