/* far_begin.c - how a file on a server begins: with what is kept of an earlier run, or with a
 * request for the first bytes, which learns the size and the version.
 *
 * A server without ranges sends everything at once: then the file is one like any other that was
 * unpacked.
 */
#include "io/cache.h"
#include "io/spool.h"
#include "util/err.h"

#include <stdlib.h>

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

static emb_status get_head(struct embi_far *f, const struct embi_address *address, struct head *h,
                           struct embi_get *get, uint64_t *total, emb_err *err)
{
    get->take = put_head;
    get->arg = h;
    h->err.status = EMB_OK;
    emb_status status = embi_remote_get(&f->remote, address, get, 1, total, err);
    if (!status || !h->err.status)
        return status;
    *err = h->err;
    return err->status;
}

/* The head goes to where the rest will. */
static emb_status begin_store(struct embi_far *f, struct embi_io *head,
                              const struct embi_version *v, struct embi_store *store, emb_err *err)
{
    const void *data;
    struct embi_entry *entry = embi_entry_new(f->io.env, f->own.url, v);
    emb_status status = embi_store_open(f->io.env, v->total, entry, store, err);
    if (!status)
        status = embi_io_map(head, &data, err);
    if (status)
        return status;
    f->sys = embi_store_put(store, 0, data, (size_t)head->size);
    if (f->sys)
        return embi_far_fail_write(f, err);
    embi_store_added(store, (struct embi_span){0, head->size});
    return EMB_OK;
}

/* All of it came at once, and may be kept for the next run. */
static void keep_whole(struct embi_far *f, struct embi_io *whole, struct embi_version *v)
{
    struct embi_store store = {.fd = -1};
    emb_err err;
    v->total = whole->size;
    if (whole->size == 0 || whole->size > f->io.env->cache_bytes || !embi_cache_takes(f->io.env, v))
        return;
    if (begin_store(f, whole, v, &store, &err) && store.entry)
        embi_entry_forget(store.entry);
    embi_store_close(&store);
}

/* Asks for the beginning; where the answer was everything, or nobody says how much there is, *whole
 * becomes a file of its own. */
static emb_status begin(struct embi_far *f, const struct embi_address *address,
                        struct embi_store *store, struct embi_io **whole, emb_err *err)
{
    struct head h = {0};
    struct embi_version v;
    struct embi_io *head = NULL;
    struct embi_get get = {.n = EMBI_FAR_HEAD_BYTES};
    uint64_t total = EMBI_TRANSPORT_UNKNOWN;
    embi_spool_begin(f->io.env, EMBI_FAR_HEAD_BYTES, &h.spool);
    emb_status status = get_head(f, address, &h, &get, &total, err);
    if (!status && !get.whole && total == EMBI_TRANSPORT_UNKNOWN) {
        get.n = 0;
        status = get_head(f, address, &h, &get, &total, err);
    }
    if (!status)
        status = embi_spool_end(&h.spool, &head, err);
    embi_spool_free(&h.spool);
    if (status)
        return status;
    f->remote.transport->version(f->remote.session, &v);
    if (get.whole || total <= head->size) {
        keep_whole(f, head, &v);
        *whole = head;
        return EMB_OK;
    }
    status = begin_store(f, head, &v, store, err);
    embi_io_close(head);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What is kept of an earlier run
 */

/* Is the entry still of what is on the server? It is asked, unless it said so a while ago. What
 * comes where it is not is of no use here: *entry is NULL then. */
static emb_status check_entry(struct embi_far *f, const struct embi_address *address,
                              struct embi_entry **entry, emb_err *err)
{
    struct embi_version v;
    struct head h = {0};
    struct embi_get get = {.n = (*entry)->block_bytes, .check = 1};
    uint64_t total;
    memcpy(f->expected.tag, (*entry)->tag, sizeof f->expected.tag);
    f->expected.total = (*entry)->size;
    bool fresh = address->commit || embi_entry_is_fresh(*entry); /* a commit stays what it is */
    if (fresh && !address->beside)
        return EMB_OK;
    emb_status status = embi_far_session(f, address, err);
    if (status || fresh)
        return status;
    embi_spool_begin(f->io.env, get.n, &h.spool);
    status = get_head(f, address, &h, &get, &total, err);
    embi_spool_free(&h.spool);
    if (status)
        return status;
    f->remote.transport->version(f->remote.session, &v);
    if (get.unchanged || (strcmp(v.tag, f->expected.tag) == 0 && v.total == f->expected.total)) {
        embi_entry_checked(*entry, &v);
        return EMB_OK;
    }
    embi_remote_end(&f->remote);
    embi_entry_close(*entry);
    *entry = NULL;
    f->expected = (struct embi_version){0};
    return EMB_OK;
}

/* The cache's entry as the store, where there is one of what is on the server. */
static emb_status begin_kept(struct embi_far *f, const struct embi_address *address, emb_err *err)
{
    struct embi_entry *entry = embi_entry_find(f->io.env, f->own.url);
    if (!entry)
        return EMB_OK;
    emb_status status = check_entry(f, address, &entry, err);
    if (status)
        embi_entry_close(entry);
    else if (entry)
        status = embi_store_open(f->io.env, entry->size, entry, &f->store, err);
    return status;
}

/* What the cache has is of an older version, as an answer shows, and some of it was handed out
 * already. Where the new version has the same bytes there it takes the old one's place; else there
 * is no right answer any more in this run. */
emb_status embi_far_renew(struct embi_far *f, emb_err *err)
{
    struct embi_store next = {.fd = -1};
    struct embi_io *whole = NULL;
    bool changed;
    emb_err why = *err;
    embi_entry_forget(f->store.entry);
    embi_remote_end(&f->remote);
    f->expected = (struct embi_version){0};
    emb_status status = embi_far_session(f, &f->own, err);
    if (!status)
        status = begin(f, &f->own, &next, &whole, err);
    if (!status && !whole && next.size == f->store.size)
        status = embi_far_bring(f, &next, f->handed, f->handed_n, &changed, err);
    if (!status && (whole || !embi_store_replace(&f->store, &next, f->handed, f->handed_n)))
        status = embi_fail(err, EMB_IO, -1, "%s, which is forgotten now: the next run has it anew",
                           why.msg);
    embi_io_close(whole);
    embi_store_close(&next);
    return status;
}

emb_status embi_far_begin(struct embi_far *f, const struct embi_address *address,
                          struct embi_io **whole, emb_err *err)
{
    emb_status status = begin_kept(f, address, err);
    if (!status && !f->store.view)
        status = embi_far_session(f, address, err);
    if (!status && !f->store.view)
        status = begin(f, address, &f->store, whole, err);
    f->io.size = f->store.size;
    return status;
}
