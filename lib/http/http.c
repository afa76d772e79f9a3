/* http.c - the HTTP plugin: libcurl behind the struct of io/transport.h. Sessions here, requests in
 * get.c and transfer.c.
 */
#include "http/http.h"

#include <pthread.h>
#include <stdio.h>
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

static const char identity[] = "Accept-Encoding: identity";

static void close_session(void *session)
{
    struct embi_session *s = session;
    if (s->multi)
        curl_multi_cleanup(s->multi);
    curl_slist_free_all(s->headers);
    curl_slist_free_all(s->check_headers);
    free(s->target);
    free((char *)s->opts.url);
    free((char *)s->opts.ca_file);
    free((char *)s->opts.agent);
    free(s);
}

/* The version that there must be, and how a server is asked whether it still is. */
static bool give_version(struct embi_session *s, const struct embi_version *v)
{
    char line[sizeof v->tag + 32];
    if (!v)
        return true;
    s->given = s->known = true;
    s->total = v->total;
    memcpy(s->tag, v->tag, sizeof s->tag);
    (void)snprintf(line, sizeof line, "If-None-Match: %s", v->tag);
    struct curl_slist *first = curl_slist_append(NULL, identity);
    s->check_headers = first ? curl_slist_append(first, line) : NULL;
    if (!s->check_headers)
        curl_slist_free_all(first);
    return s->check_headers != NULL;
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
    s->headers = curl_slist_append(NULL, identity);
    s->multi = ready ? NULL : curl_multi_init();
    s->total = EMBI_TRANSPORT_UNKNOWN;
    s->max_age_s = -1;
    if (!s->opts.url || !s->opts.agent || (opts->ca_file && !s->opts.ca_file) || !s->headers ||
        !s->multi || !give_version(s, opts->version)) {
        close_session(s);
        return -1;
    }
    *session = s;
    return 0;
}

/* A tag is of these bytes only where it is strong, and they came as they are. */
static void version(void *session, struct embi_version *v)
{
    const struct embi_session *s = session;
    size_t n = strlen(s->tag);
    bool strong = n > 2 && s->tag[0] == '"' && s->tag[n - 1] == '"' && !s->encoded;
    *v = (struct embi_version){
        .total = s->total, .max_age_s = s->max_age_s, .no_store = s->no_store};
    if (strong)
        memcpy(v->tag, s->tag, sizeof v->tag);
}

static const struct embi_transport transport = {
    .abi = EMBI_TRANSPORT_ABI,
    .size = sizeof transport,
    .about = about,
    .open = open_session,
    .get = embi_http_get,
    .version = version,
    .close = close_session,
};

__attribute__((visibility("default"))) embi_http_plugin_fn embi_http_plugin;

const struct embi_transport *embi_http_plugin(void)
{
    return &transport;
}
