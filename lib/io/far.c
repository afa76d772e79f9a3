/* far.c - http:// and https://: a file on a server, of which only the ranges that are needed come.
 *
 * The first request asks for the beginning, and learns the size and the version. What came lies in
 * a store (far_store.c), which is an entry of the cache where the server tells versions apart; what
 * that has of an earlier run is not asked for, and while it is fresh, nobody is asked at all. A
 * server without ranges sends everything at once: then the file is one like any other that was
 * unpacked. How requests are made, and made again, is the transport's (lib/http).
 */
#include "io/far.h"

#include "io/address.h"
#include "io/cache.h"
#include "io/netrc.h"
#include "io/schemes.h"
#include "io/spool.h"
#include "util/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { HEAD_BYTES = 64 << 10 }; /* the header of most files, with one request */

struct far {
    struct embi_io io;
    char *url;
    struct embi_far_auth auth;
    pthread_mutex_t lock; /* of all that follows */
    const struct embi_transport *transport;
    void *session;                /* NULL: nobody was asked yet */
    struct embi_version expected; /* by what the cache has; tag "": the server knows of it */
    struct embi_store store;
    int sys; /* errno of a write into the store that failed, or 0 */
    /* What somebody has read while `expected` was not confirmed, so that a newer version can take
     * over where it has the same. */
    struct embi_span *handed; /* [handed_cap], handed_n */
    size_t handed_n, handed_cap;
};

/* ------------------------------------------------------------------------------------------------
 * Sessions
 */

static void log_line(void *env, const char *line)
{
    embi_log(env, EMB_LOG_DEBUG, NULL, "%s", line);
}

static emb_status open_session(struct far *f, emb_err *err)
{
    const struct embi_env *env = f->io.env;
    struct embi_transport_opts opts = {.url = f->url,
                                       .ca_file = env->ca_file,
                                       .agent = "embtool/" EMB_VERSION,
                                       .user = f->auth.user,
                                       .password = f->auth.password,
                                       .signing = f->auth.signing,
                                       .token = f->auth.token,
                                       .log = log_line,
                                       .log_arg = (void *)env,
                                       .version = *f->expected.tag ? &f->expected : NULL};
    if (f->session)
        return EMB_OK;
    if (!env->transport)
        return embi_fail(err, EMB_DEVICE, -1, "there is no transport for addresses");
    emb_status status = env->transport(env, &f->transport, err);
    if (!status && f->transport->open(&opts, &f->session))
        status = embi_fail_memory(err, 0, "a connection");
    return status;
}

static void close_session(struct far *f)
{
    if (f->session)
        f->transport->close(f->session);
    f->session = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Bytes that come
 */

struct sink {
    struct far *far;
    struct embi_store *store;
};

static int put(void *arg, uint64_t at, const void *data, size_t n)
{
    struct sink *s = arg;
    if (!embi_inside(at, n, s->store->size))
        return -1; /* the transport counts them, and does not let more come */
    s->far->sys = embi_store_put(s->store, at, data, n);
    return s->far->sys;
}

static emb_status fail_transport(const struct far *f, const char *text, emb_err *err)
{
    if (f->sys)
        return embi_fail_errno(err, f->sys, f->store.entry ? "the cache" : "a temporary file");
    return embi_fail(err, EMB_IO, -1, "%s", text);
}

/* *changed: the content is of another version by now. */
static emb_status get_pieces(struct far *f, struct embi_store *store,
                             const struct embi_far_pieces *pieces, bool *changed, emb_err *err)
{
    char text[EMBI_TRANSPORT_TEXT];
    uint64_t total;
    bool whole = false;
    struct sink sink = {f, store};
    struct embi_get *gets = calloc(pieces->n, sizeof *gets);
    if (!gets)
        return embi_fail_memory(err, pieces->n * sizeof *gets, "a list of requests");
    for (size_t i = 0; i < pieces->n; i++)
        gets[i] = (struct embi_get){
            .first = pieces->list[i].off, .n = pieces->list[i].n, .take = put, .arg = &sink};
    f->sys = 0;
    int failed = f->transport->get(f->session, gets, pieces->n, &total, text);
    for (size_t i = 0; i < pieces->n; i++)
        whole = whole || gets[i].whole;
    free(gets);
    *changed = failed == EMBI_GET_CHANGED;
    if (failed)
        return fail_transport(f, text, err);
    f->expected.tag[0] = '\0'; /* whatever was expected: this is what is there */
    if (whole)
        embi_store_added(store, (struct embi_span){0, store->size});
    for (size_t i = 0; i < pieces->n; i++)
        embi_store_added(store, pieces->list[i]);
    return EMB_OK;
}

/* Brings what is missing of the spans. */
static emb_status bring(struct far *f, struct embi_store *store, const struct embi_span *spans,
                        size_t n, bool *changed, emb_err *err)
{
    struct embi_far_pieces pieces;
    *changed = false;
    embi_store_look(store, spans, n);
    emb_status status = embi_far_plan(&store->blocks, spans, n, &pieces, err);
    if (!status && pieces.n > 0)
        status = open_session(f, err);
    if (!status && pieces.n > 0)
        status = get_pieces(f, store, &pieces, changed, err);
    free(pieces.list);
    return status;
}

/* The spans were handed out, and nobody has asked whether they are still so. */
static emb_status note_handed(struct far *f, const struct embi_span *spans, size_t n, emb_err *err)
{
    if (f->handed_n + n > f->handed_cap) {
        size_t cap = 2 * (f->handed_n + n);
        struct embi_span *list = realloc(f->handed, cap * sizeof *list);
        if (!list)
            return embi_fail_memory(err, cap * sizeof *list, "a list of ranges");
        f->handed = list;
        f->handed_cap = cap;
    }
    if (n)
        memcpy(f->handed + f->handed_n, spans, n * sizeof *spans);
    f->handed_n += n;
    return EMB_OK;
}

static emb_status renew(struct far *f, emb_err *err);

static emb_status far_need(struct embi_io *io, const struct embi_span *spans, size_t n,
                           emb_err *err)
{
    struct far *f = (struct far *)io;
    bool changed;
    pthread_mutex_lock(&f->lock);
    emb_status status = bring(f, &f->store, spans, n, &changed, err);
    if (changed && *f->expected.tag) {
        status = renew(f, err);
        if (!status)
            status = bring(f, &f->store, spans, n, &changed, err);
    }
    if (!status && *f->expected.tag)
        status = note_handed(f, spans, n, err);
    pthread_mutex_unlock(&f->lock);
    return status;
}

static emb_status far_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    emb_status status = far_need(io, &(struct embi_span){off, n}, 1, err);
    if (!status)
        memcpy(dst, ((struct far *)io)->store.view + off, n);
    return status;
}

static emb_status far_map(struct embi_io *io, const void **data, emb_err *err)
{
    (void)err;
    *data = ((struct far *)io)->store.view;
    return EMB_OK;
}

/* Who reads a header asks for more again and again: twice as much comes as is asked for. */
static emb_status far_front(struct embi_io *io, uint64_t n, const void **data, uint64_t *have,
                            emb_err *err)
{
    *have = embi_min(io->size, embi_max(2 * n, HEAD_BYTES));
    *data = ((struct far *)io)->store.view;
    return far_need(io, &(struct embi_span){0, *have}, 1, err);
}

static void far_close(struct embi_io *io)
{
    struct far *f = (struct far *)io;
    embi_store_close(&f->store);
    close_session(f);
    pthread_mutex_destroy(&f->lock);
    embi_far_auth_free(&f->auth);
    free(f->handed);
    free(f->url);
    free(f);
}

static const struct embi_scheme scheme_far = {
    .name = "http",
    .pread = far_pread,
    .map = far_map,
    .front = far_front,
    .need = far_need,
    .close = far_close,
};

/* ------------------------------------------------------------------------------------------------
 * The beginning
 */

/* What comes before it is known how much there is. */
struct head {
    struct embi_spool spool;
    uint64_t n; /* bytes in it */
    emb_err err;
};

static int put_head(void *arg, uint64_t at, const void *data, size_t n)
{
    struct head *h = arg;
    const char *s = data;
    if (at > h->n)
        return -1;                                 /* they come in order */
    size_t known = (size_t)embi_min(h->n - at, n); /* of a second try */
    for (s += known, n -= known; n > 0;) {
        char *room;
        size_t some;
        if (embi_spool_room(&h->spool, &room, &some, &h->err))
            return -1;
        some = (size_t)embi_min(some, n);
        memcpy(room, s, some);
        embi_spool_added(&h->spool, some);
        h->n += some;
        s += some;
        n -= some;
    }
    return 0;
}

static emb_status get_head(struct far *f, struct head *h, struct embi_get *get, uint64_t *total,
                           emb_err *err)
{
    char text[EMBI_TRANSPORT_TEXT];
    get->take = put_head;
    get->arg = h;
    h->err.status = EMB_OK;
    f->sys = 0;
    if (!f->transport->get(f->session, get, 1, total, text))
        return EMB_OK;
    if (!h->err.status)
        return fail_transport(f, text, err);
    *err = h->err;
    return err->status;
}

/* The head goes to where the rest will. */
static emb_status begin_store(struct far *f, struct embi_io *head, const struct embi_version *v,
                              struct embi_store *store, emb_err *err)
{
    const void *data;
    struct embi_entry *entry = embi_entry_new(f->io.env, f->url, v);
    emb_status status = embi_store_open(f->io.env, v->total, entry, store, err);
    if (!status)
        status = embi_io_map(head, &data, err);
    if (status)
        return status;
    f->sys = embi_store_put(store, 0, data, (size_t)head->size);
    if (f->sys)
        return fail_transport(f, "", err);
    embi_store_added(store, (struct embi_span){0, head->size});
    return EMB_OK;
}

/* All of it came at once, and may be kept for the next run. */
static void keep_whole(struct far *f, struct embi_io *whole, struct embi_version *v)
{
    struct embi_store store = {.fd = -1};
    emb_err err;
    v->total = whole->size;
    if (whole->size > 0 && f->io.env->cache_dir && *v->tag && !v->no_store)
        (void)begin_store(f, whole, v, &store, &err);
    embi_store_close(&store);
}

/* Asks for the beginning; where the answer was everything, or nobody says how much there is, *whole
 * becomes a file of its own. */
static emb_status begin(struct far *f, struct embi_store *store, struct embi_io **whole,
                        emb_err *err)
{
    struct head h = {0};
    struct embi_version v;
    struct embi_io *head = NULL;
    struct embi_get get = {.n = HEAD_BYTES};
    uint64_t total = EMBI_TRANSPORT_UNKNOWN;
    embi_spool_begin(f->io.env, HEAD_BYTES, &h.spool);
    emb_status status = get_head(f, &h, &get, &total, err);
    if (!status && !get.whole && total == EMBI_TRANSPORT_UNKNOWN) {
        get.n = 0;
        status = get_head(f, &h, &get, &total, err);
    }
    if (!status)
        status = embi_spool_end(&h.spool, &head, err);
    embi_spool_free(&h.spool);
    if (status)
        return status;
    f->transport->version(f->session, &v);
    if (get.whole || total <= head->size) {
        keep_whole(f, head, &v);
        *whole = head;
        return EMB_OK;
    }
    status = begin_store(f, head, &v, store, err);
    embi_io_close(head);
    return status;
}

/* A name and password before the host would be shown by whatever shows the address. */
static emb_status refuse_userinfo(const char *url, emb_err *err)
{
    const char *host = strstr(url, "://") + 3;
    size_t n = strcspn(host, "/?#");
    return memchr(host, '@', n)
               ? embi_fail(err, EMB_UNSUPPORTED, -1,
                           "a name or password in an address is not sent: it would "
                           "be shown to everyone who sees the address")
               : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * What is kept of an earlier run
 */

/* Is the entry still of what is on the server? It is asked, unless it said so a while ago. What
 * comes where it is not is of no use here: *entry is NULL then. */
static emb_status check_entry(struct far *f, struct embi_entry **entry, emb_err *err)
{
    struct embi_version v;
    struct head h = {0};
    struct embi_get get = {.n = (*entry)->block_bytes, .check = 1};
    uint64_t total;
    memcpy(f->expected.tag, (*entry)->tag, sizeof f->expected.tag);
    f->expected.total = (*entry)->size;
    if (embi_entry_is_fresh(*entry))
        return EMB_OK;
    emb_status status = open_session(f, err);
    embi_spool_begin(f->io.env, get.n, &h.spool);
    if (!status)
        status = get_head(f, &h, &get, &total, err);
    embi_spool_free(&h.spool);
    if (status)
        return status;
    f->transport->version(f->session, &v);
    if (get.unchanged || (strcmp(v.tag, f->expected.tag) == 0 && v.total == f->expected.total)) {
        embi_entry_checked(*entry, &v);
        return EMB_OK;
    }
    close_session(f);
    embi_entry_close(*entry);
    *entry = NULL;
    f->expected = (struct embi_version){0};
    return EMB_OK;
}

/* The cache's entry as the store, where there is one of what is on the server. */
static emb_status begin_kept(struct far *f, emb_err *err)
{
    struct embi_entry *entry = embi_entry_find(f->io.env, f->url);
    if (!entry)
        return EMB_OK;
    emb_status status = check_entry(f, &entry, err);
    if (status)
        embi_entry_close(entry);
    else if (entry)
        status = embi_store_open(f->io.env, entry->size, entry, &f->store, err);
    return status;
}

/* What the cache has is of an older version, as an answer shows, and some of it was handed out
 * already. Where the new version has the same bytes there it takes the old one's place; else there
 * is no right answer any more in this run. */
static emb_status renew(struct far *f, emb_err *err)
{
    struct embi_store next = {.fd = -1};
    struct embi_io *whole = NULL;
    bool changed;
    emb_err why = *err;
    embi_entry_forget(f->store.entry);
    close_session(f);
    f->expected = (struct embi_version){0};
    emb_status status = open_session(f, err);
    if (!status)
        status = begin(f, &next, &whole, err);
    if (!status && !whole && next.size == f->store.size)
        status = bring(f, &next, f->handed, f->handed_n, &changed, err);
    if (!status && (whole || !embi_store_replace(&f->store, &next, f->handed, f->handed_n)))
        status = embi_fail(err, EMB_IO, -1, "%s, which is forgotten now: the next run has it anew",
                           why.msg);
    embi_io_close(whole);
    embi_store_close(&next);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

static emb_status begin_any(struct far *f, struct embi_io **whole, emb_err *err)
{
    emb_status status = begin_kept(f, err);
    if (!status && !f->store.view)
        status = open_session(f, err);
    if (!status && !f->store.view)
        status = begin(f, &f->store, whole, err);
    f->io.size = f->store.size;
    return status;
}

emb_status embi_far_open(const struct embi_env *env, const char *url, struct embi_far_auth *auth,
                         char region[32], struct embi_io **io, emb_err *err)
{
    struct embi_io *whole = NULL;
    struct far *f = calloc(1, sizeof *f);
    region[0] = '\0';
    if (!f)
        return embi_fail_memory(err, sizeof *f, "an open file");
    f->io.scheme = &scheme_far;
    f->io.env = env;
    f->io.caps = EMBI_IO_CAN_MAP;
    f->store.fd = -1;
    f->auth = *auth;
    *auth = (struct embi_far_auth){0};
    pthread_mutex_init(&f->lock, NULL);
    f->url = strdup(url);
    emb_status status =
        f->url ? begin_any(f, &whole, err) : embi_fail_memory(err, strlen(url), "an address");
    if (f->session)
        memcpy(region, f->transport->region(f->session), 32);
    if (status || whole)
        far_close(&f->io);
    *io = status ? NULL : whole ? whole : &f->io;
    return status;
}

static void free_secret(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}

void embi_far_auth_free(struct embi_far_auth *auth)
{
    free(auth->user);
    free(auth->signing);
    free_secret(auth->password);
    free_secret(auth->token);
    *auth = (struct embi_far_auth){0};
}

/* What the user's netrc says of the host, for an address that it may travel to. */
static emb_status find_login(const struct embi_env *env, const char *url,
                             struct embi_far_auth *auth, emb_err *err)
{
    struct embi_buf user = {0}, password = {0};
    bool found = env->netrc && embi_address_is_safe(url) &&
                 embi_netrc_find(env->netrc, embi_address_host(url), &user, &password);
    emb_status status = EMB_OK;
    if (found && *embi_buf_cstr(&user)) {
        embi_buf_cstr(&password);
        *auth = (struct embi_far_auth){.user = user.s, .password = password.s};
        if (user.failed || password.failed)
            status = embi_fail_memory(err, 0, "a password");
        user = password = (struct embi_buf){0};
    }
    if (password.n)
        explicit_bzero(password.s, password.n);
    embi_buf_free(&user);
    embi_buf_free(&password);
    return status;
}

static emb_status http_open(const struct embi_env *env, const char *url, unsigned mode,
                            struct embi_io **io, emb_err *err)
{
    struct embi_far_auth auth = {0};
    char region[32];
    if (mode & EMBI_IO_WRITE)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "an address is read, not written");
    emb_status status = refuse_userinfo(url, err);
    if (!status)
        status = find_login(env, url, &auth, err);
    if (!status)
        status = embi_far_open(env, url, &auth, region, io, err);
    embi_far_auth_free(&auth);
    return status;
}

const struct embi_scheme embi_scheme_http = {.name = "http", .open = http_open};
