/* far.c - a file on a server, of which only the ranges that are needed come.
 *
 * What came lies in a store (far_store.c), which is an entry of the cache where the server tells
 * versions apart; what that has of an earlier run is not asked for, and while it is fresh, nobody
 * is asked at all. How requests are made, and made again, is the transport's (lib/http). */
#include "io/far.h"

#include "io/cache.h"
#include "io/schemes.h"
#include "util/err.h"

#include <errno.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * Sessions
 */

emb_status embi_far_session(struct embi_far *f, const struct embi_address *address, emb_err *err)
{
    struct embi_address a = *address;
    if (f->remote.session)
        return EMB_OK;
    a.version = *f->expected.tag ? &f->expected : NULL;
    return embi_remote_begin(f->io.env, &a, &f->remote, err);
}

/* ------------------------------------------------------------------------------------------------
 * Bytes that come
 */

struct sink {
    struct embi_far *far;
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

emb_status embi_far_fail_write(const struct embi_far *f, emb_err *err)
{
    return embi_fail_errno(err, f->sys, f->store.entry ? "the cache" : "a temporary file");
}

/* *changed: the content is of another version by now. */
static emb_status get_pieces(struct embi_far *f, struct embi_store *store,
                             const struct embi_far_pieces *pieces, bool *changed, emb_err *err)
{
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
    emb_status status = embi_remote_get(&f->remote, NULL, gets, pieces->n, &total, err);
    for (size_t i = 0; i < pieces->n; i++)
        whole = whole || gets[i].whole;
    free(gets);
    *changed = status && err->sys == ESTALE;
    if (status)
        return f->sys ? embi_far_fail_write(f, err) : status;
    f->expected.tag[0] = '\0'; /* whatever was expected: this is what is there */
    if (whole)
        embi_store_added(store, (struct embi_span){0, store->size});
    for (size_t i = 0; i < pieces->n; i++)
        embi_store_added(store, pieces->list[i]);
    return EMB_OK;
}

emb_status embi_far_bring(struct embi_far *f, struct embi_store *store,
                          const struct embi_span *spans, size_t n, bool *changed, emb_err *err)
{
    struct embi_far_pieces pieces;
    *changed = false;
    embi_store_look(store, spans, n);
    emb_status status = embi_far_plan(&store->blocks, spans, n, &pieces, err);
    if (!status && pieces.n > 0)
        status = embi_far_session(f, &f->own, err);
    if (!status && pieces.n > 0)
        status = get_pieces(f, store, &pieces, changed, err);
    free(pieces.list);
    return status;
}

/* The spans were handed out, and nobody has asked whether they are still so. */
static emb_status note_handed(struct embi_far *f, const struct embi_span *spans, size_t n,
                              emb_err *err)
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

static emb_status far_need(struct embi_io *io, const struct embi_span *spans, size_t n,
                           emb_err *err)
{
    struct embi_far *f = (struct embi_far *)io;
    bool changed;
    pthread_mutex_lock(&f->lock);
    emb_status status = embi_far_bring(f, &f->store, spans, n, &changed, err);
    if (changed && *f->expected.tag) {
        status = embi_far_renew(f, err);
        if (!status)
            status = embi_far_bring(f, &f->store, spans, n, &changed, err);
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
        memcpy(dst, ((struct embi_far *)io)->store.view + off, n);
    return status;
}

static emb_status far_map(struct embi_io *io, const void **data, emb_err *err)
{
    (void)err;
    *data = ((struct embi_far *)io)->store.view;
    return EMB_OK;
}

/* Who reads a header asks for more again and again: twice as much comes as is asked for. */
static emb_status far_front(struct embi_io *io, uint64_t n, const void **data, uint64_t *have,
                            emb_err *err)
{
    *have = embi_min(io->size, embi_max(2 * n, EMBI_FAR_HEAD_BYTES));
    *data = ((struct embi_far *)io)->store.view;
    return far_need(io, &(struct embi_span){0, *have}, 1, err);
}

static void free_text(const char *s, bool secret)
{
    if (s && secret)
        explicit_bzero((char *)(uintptr_t)s, strlen(s));
    free((char *)(uintptr_t)s);
}

static void free_own(struct embi_address *a)
{
    free_text(a->url, false);
    free_text(a->user, false);
    free_text(a->signing, false);
    free_text(a->bearer, true);
    free_text(a->password, true);
    free_text(a->token, true);
}

static void far_close(struct embi_io *io)
{
    struct embi_far *f = (struct embi_far *)io;
    embi_store_close(&f->store);
    embi_remote_end(&f->remote);
    pthread_mutex_destroy(&f->lock);
    free_own(&f->own);
    free(f->handed);
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
 * Opening
 */

/* copy = s; false: no memory. NULL is copied as such. */
static bool copy_text(const char **copy, const char *s)
{
    *copy = s ? strdup(s) : NULL;
    return !s || *copy;
}

/* What a later request needs: not what is said of a refusal, nor whose connections are used. */
static bool copy_own(struct embi_address *own, const struct embi_address *a)
{
    return copy_text(&own->url, a->url) && copy_text(&own->bearer, a->bearer) &&
           copy_text(&own->user, a->user) && copy_text(&own->password, a->password) &&
           copy_text(&own->signing, a->signing) && copy_text(&own->token, a->token);
}

emb_status embi_remote_open(const struct embi_env *env, const struct embi_address *address,
                            struct embi_io **io, emb_err *err)
{
    struct embi_io *whole = NULL;
    struct embi_far *f = calloc(1, sizeof *f);
    if (!f)
        return embi_fail_memory(err, sizeof *f, "an open file");
    f->io.scheme = &scheme_far;
    f->io.env = env;
    f->io.caps = EMBI_IO_CAN_MAP;
    f->store.fd = -1;
    pthread_mutex_init(&f->lock, NULL);
    emb_status status = copy_own(&f->own, address)
                            ? embi_far_begin(f, address, &whole, err)
                            : embi_fail_memory(err, strlen(address->url), "an address");
    if (status || whole)
        far_close(&f->io);
    *io = status ? NULL : whole ? whole : &f->io;
    return status;
}

static emb_status far_open(const struct embi_env *env, const char *url, unsigned mode,
                           struct embi_io **io, emb_err *err)
{
    const struct embi_address address = {.url = url};
    if (mode & EMBI_IO_WRITE)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "an address is read, not written");
    return embi_remote_open(env, &address, io, err);
}

const struct embi_scheme embi_scheme_http = {.name = "http", .open = far_open};
