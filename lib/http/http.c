/* http.c - the HTTP plugin: libcurl behind the struct of io/transport.h. Sessions here, requests in
 * get.c and transfer.c.
 */
#include "http/http.h"

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

static struct embi_link *new_link(void)
{
    struct embi_link *link = ready ? NULL : calloc(1, sizeof *link);
    if (!link)
        return NULL;
    pthread_mutex_init(&link->lock, NULL);
    link->users = 1;
    if ((link->multi = curl_multi_init()))
        return link;
    free(link);
    return NULL;
}

static struct embi_link *join_link(struct embi_link *link)
{
    pthread_mutex_lock(&link->lock);
    link->users++;
    pthread_mutex_unlock(&link->lock);
    return link;
}

static void leave_link(struct embi_link *link)
{
    pthread_mutex_lock(&link->lock);
    bool last = --link->users == 0;
    pthread_mutex_unlock(&link->lock);
    if (!last)
        return;
    curl_multi_cleanup(link->multi);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

/* Adds `name: value` to a list; false: no memory. */
static bool add(struct curl_slist **list, const char *name, const char *value)
{
    char *line;
    if (asprintf(&line, "%s: %s", name, value) < 0)
        return false;
    struct curl_slist *longer = curl_slist_append(*list, line);
    explicit_bzero(line, strlen(line)); /* it may be a token */
    free(line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

/* What proves to the origin of the URL who asks, but for what libcurl makes of user and password;
 * it signs all lines. */
static bool add_secrets(struct curl_slist **list, const struct embi_transport_opts *o)
{
    static const char hash_of_nothing[] =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    char *bearer = NULL;
    bool good = true;
    if (o->bearer) {
        good = asprintf(&bearer, "Bearer %s", o->bearer) >= 0 && add(list, "Authorization", bearer);
        if (bearer)
            explicit_bzero(bearer, strlen(bearer));
        free(bearer);
    }
    if (good && o->signing)
        good = add(list, "x-amz-content-sha256", hash_of_nothing) &&
               (!o->token || add(list, "x-amz-security-token", o->token));
    return good;
}

static bool make_headers(struct embi_session *s, const struct embi_transport_opts *o)
{
    bool good = true;
    for (int secret = 0; secret < 2; secret++)
        for (int check = 0; good && check < (o->version ? 2 : 1); check++) {
            struct curl_slist **list = &s->headers[secret][check];
            good = add(list, "Accept-Encoding", "identity") && (!secret || add_secrets(list, o)) &&
                   (!check || add(list, "If-None-Match", o->version->tag));
        }
    return good;
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
    if (s->link)
        leave_link(s->link);
    for (int i = 0; i < 4; i++)
        curl_slist_free_all(s->headers[i / 2][i % 2]);
    free(s->target);
    free((char *)s->opts.url);
    free((char *)s->opts.ca_file);
    free((char *)s->opts.agent);
    free((char *)s->opts.user);
    free((char *)s->opts.signing);
    free_secret(s->opts.password);
    free(s);
}

static void told(const void *session, struct embi_told *told)
{
    *told = ((const struct embi_session *)session)->told;
}

/* A tag is of these bytes only where it is strong, and they came as they are. */
static void version(const void *session, struct embi_version *v)
{
    const struct embi_session *s = session;
    size_t n = strlen(s->tag);
    bool strong = n > 2 && s->tag[0] == '"' && s->tag[n - 1] == '"' && !s->encoded;
    *v = (struct embi_version){
        .total = s->total, .max_age_s = s->max_age_s, .no_store = s->no_store};
    if (strong)
        memcpy(v->tag, s->tag, sizeof v->tag);
}

/* copy = s; false: no memory. NULL is copied as such. */
static bool copy_text(const char **copy, const char *s)
{
    *copy = s ? strdup(s) : NULL;
    return !s || *copy;
}

/* What is still needed when the headers are made: no token is. */
static bool copy_opts(struct embi_transport_opts *copy, const struct embi_transport_opts *o)
{
    copy->log = o->log;
    copy->log_arg = o->log_arg;
    return copy_text(&copy->url, o->url) && copy_text(&copy->ca_file, o->ca_file) &&
           copy_text(&copy->agent, o->agent) && copy_text(&copy->user, o->user) &&
           copy_text(&copy->password, o->password) && copy_text(&copy->signing, o->signing);
}

/* false: no memory. */
static bool fill_session(struct embi_session *s, const struct embi_transport_opts *opts)
{
    const struct embi_session *beside = opts->beside;
    s->total = s->told.bytes = EMBI_TRANSPORT_UNKNOWN;
    s->max_age_s = -1;
    s->opts.at_once = opts->at_once;
    s->has_secrets = opts->bearer || opts->user;
    s->has_token = opts->bearer || opts->token || !opts->signing;
    if (opts->version) {
        s->given = s->known = true;
        s->total = opts->version->total;
        memcpy(s->tag, opts->version->tag, sizeof s->tag);
    }
    s->link = beside ? join_link(beside->link) : new_link();
    return s->link && copy_opts(&s->opts, opts) && make_headers(s, opts);
}

static int open_session(const struct embi_transport_opts *opts, void **session)
{
    struct embi_session *s = calloc(1, sizeof *s);
    pthread_once(&once, start);
    if (!s)
        return -1;
    if (!fill_session(s, opts)) {
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
    .told = told,
    .version = version,
    .close = close_session,
};

__attribute__((visibility("default"))) embi_http_plugin_fn embi_http_plugin;

const struct embi_transport *embi_http_plugin(void)
{
    return &transport;
}
