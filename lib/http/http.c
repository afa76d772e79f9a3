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

static void free_secret(const char *s)
{
    if (s)
        explicit_bzero((char *)(uintptr_t)s, strlen(s));
    free((char *)(uintptr_t)s);
}

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
    free((char *)s->opts.user);
    free((char *)s->opts.signing);
    free_secret(s->opts.password);
    free_secret(s->opts.token);
    free(s);
}

/* Adds `name: value` to a list; false: no memory. */
static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
    char *line = NULL;
    struct curl_slist *longer = NULL;
    if (asprintf(&line, "%s: %s", name, value) >= 0)
        longer = curl_slist_append(*list, line);
    free(line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

/* What each request says. libcurl signs all of it. */
static bool add_headers(struct embi_session *s, struct curl_slist **list)
{
    static const char hash_of_nothing[] =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const struct embi_transport_opts *o = &s->opts;
    return add_header(list, "Accept-Encoding", "identity") &&
           (!o->signing || add_header(list, "x-amz-content-sha256", hash_of_nothing)) &&
           (!o->signing || !o->token || add_header(list, "x-amz-security-token", o->token));
}

/* The version that there must be, and how a server is asked whether it still is. */
static bool give_version(struct embi_session *s, const struct embi_version *v)
{
    if (!v)
        return true;
    s->given = s->known = true;
    s->total = v->total;
    memcpy(s->tag, v->tag, sizeof s->tag);
    return add_headers(s, &s->check_headers) &&
           add_header(&s->check_headers, "If-None-Match", v->tag);
}

/* copy = s; false: no memory. NULL is copied as such. */
static bool copy_text(const char **copy, const char *s)
{
    *copy = s ? strdup(s) : NULL;
    return !s || *copy;
}

static bool copy_opts(struct embi_session *s, const struct embi_transport_opts *o)
{
    s->opts.log = o->log;
    s->opts.log_arg = o->log_arg;
    return copy_text(&s->opts.url, o->url) && copy_text(&s->opts.ca_file, o->ca_file) &&
           copy_text(&s->opts.agent, o->agent) && copy_text(&s->opts.user, o->user) &&
           copy_text(&s->opts.password, o->password) && copy_text(&s->opts.signing, o->signing) &&
           copy_text(&s->opts.token, o->token);
}

static int open_session(const struct embi_transport_opts *opts, void **session)
{
    struct embi_session *s = calloc(1, sizeof *s);
    pthread_once(&once, start);
    if (!s)
        return -1;
    s->multi = ready ? NULL : curl_multi_init();
    s->total = EMBI_TRANSPORT_UNKNOWN;
    s->max_age_s = -1;
    if (!s->multi || !copy_opts(s, opts) || !add_headers(s, &s->headers) ||
        !give_version(s, opts->version)) {
        close_session(s);
        return -1;
    }
    *session = s;
    return 0;
}

static void region(void *session, char where[EMBI_TRANSPORT_REGION])
{
    const struct embi_session *s = session;
    memcpy(where, s->region, sizeof s->region);
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
    .region = region,
    .close = close_session,
};

__attribute__((visibility("default"))) embi_http_plugin_fn embi_http_plugin;

const struct embi_transport *embi_http_plugin(void)
{
    return &transport;
}
