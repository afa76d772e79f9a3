/* http.c - the HTTP plugin: libcurl behind the struct of io/transport.h. Sessions here, requests in
 * get.c and transfer.c.
 */
#include "http/http.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode ready;

static void start(void)
{
    ready = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static const char *about(void)
{
    return curl_version();
}

static void close_session(void *session)
{
    struct embi_session *s = session;
    if (s->multi)
        curl_multi_cleanup(s->multi);
    curl_slist_free_all(s->headers);
    free(s->target);
    free((char *)s->opts.url);
    free((char *)s->opts.ca_file);
    free((char *)s->opts.agent);
    free(s);
}

static int open_session(const struct embi_transport_opts *opts, void **session)
{
    struct embi_session *s = calloc(1, sizeof *s);
    pthread_once(&once, start);
    if (!s)
        return -1;
    s->opts = *opts;
    s->opts.url = strdup(opts->url);
    s->opts.ca_file = opts->ca_file ? strdup(opts->ca_file) : NULL;
    s->opts.agent = strdup(opts->agent);
    s->headers = curl_slist_append(NULL, "Accept-Encoding: identity");
    s->multi = ready ? NULL : curl_multi_init();
    s->total = EMBI_TRANSPORT_UNKNOWN;
    if (!s->opts.url || !s->opts.agent || (opts->ca_file && !s->opts.ca_file) || !s->headers ||
        !s->multi) {
        close_session(s);
        return -1;
    }
    *session = s;
    return 0;
}

static const struct embi_transport transport = {
    .abi = EMBI_TRANSPORT_ABI,
    .size = sizeof transport,
    .about = about,
    .open = open_session,
    .get = embi_http_get,
    .close = close_session,
};

__attribute__((visibility("default"))) embi_http_plugin_fn embi_http_plugin;

const struct embi_transport *embi_http_plugin(void)
{
    return &transport;
}
