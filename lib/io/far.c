/* far.c - http:// and https://: a file on a server, of which only the ranges that are needed come.
 *
 * The first request asks for the beginning, and learns the size and the version. The content has an
 * address range of that size, behind it a temporary file without a name (emb_ctx_opts.temp_dir),
 * which takes the ranges that came; so a table may be larger than memory, and a full disk is an
 * error of a write. A server without ranges sends everything at once: then the file is one like any
 * other that was unpacked. How requests are made, and made again, is the transport's (lib/http).
 */
#include "io/far.h"

#include "io/fd.h"
#include "io/schemes.h"
#include "io/spool.h"
#include "util/err.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAD_BYTES = 64 << 10 }; /* the header of most files, with one request */

struct far {
    struct embi_io io;
    const struct embi_transport *transport;
    void *session;
    pthread_mutex_t lock; /* of the session and the blocks */
    struct embi_far_blocks blocks;
    int fd;              /* behind the view, or -1: memory alone */
    unsigned char *view; /* [io.size] */
    int sys;             /* errno of a write into fd that failed, or 0 */
};

/* ------------------------------------------------------------------------------------------------
 * Bytes that come
 */

static int put(void *arg, uint64_t at, const void *data, size_t n)
{
    struct far *f = arg;
    if (!embi_inside(at, n, f->io.size))
        return -1; /* the transport counts them, and does not let more come */
    if (f->fd < 0)
        memcpy(f->view + at, data, n);
    else
        f->sys = embi_fd_pwrite(f->fd, data, n, at);
    return f->sys;
}

static emb_status fail_transport(const char *text, int sys, emb_err *err)
{
    if (sys)
        return embi_fail_errno(err, sys, "a temporary file");
    return embi_fail(err, EMB_IO, -1, "%s", text);
}

static emb_status get_pieces(struct far *f, const struct embi_far_pieces *pieces, emb_err *err)
{
    char text[EMBI_TRANSPORT_TEXT];
    uint64_t total;
    bool whole = false;
    struct embi_get *gets = calloc(pieces->n, sizeof *gets);
    if (!gets)
        return embi_fail_memory(err, pieces->n * sizeof *gets, "a list of requests");
    for (size_t i = 0; i < pieces->n; i++)
        gets[i] = (struct embi_get){
            .first = pieces->list[i].off, .n = pieces->list[i].n, .take = put, .arg = f};
    f->sys = 0;
    int failed = f->transport->get(f->session, gets, pieces->n, &total, text);
    for (size_t i = 0; i < pieces->n; i++)
        whole = whole || gets[i].whole;
    free(gets);
    if (failed)
        return fail_transport(text, f->sys, err);
    if (whole)
        embi_far_blocks_add(&f->blocks, (struct embi_span){0, f->io.size});
    for (size_t i = 0; i < pieces->n; i++)
        embi_far_blocks_add(&f->blocks, pieces->list[i]);
    return EMB_OK;
}

static emb_status far_need(struct embi_io *io, const struct embi_span *spans, size_t n,
                           emb_err *err)
{
    struct far *f = (struct far *)io;
    struct embi_far_pieces pieces;
    pthread_mutex_lock(&f->lock);
    emb_status status = embi_far_plan(&f->blocks, spans, n, &pieces, err);
    if (!status && pieces.n > 0)
        status = get_pieces(f, &pieces, err);
    pthread_mutex_unlock(&f->lock);
    free(pieces.list);
    return status;
}

static emb_status far_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    emb_status status = far_need(io, &(struct embi_span){off, n}, 1, err);
    if (!status)
        memcpy(dst, ((struct far *)io)->view + off, n);
    return status;
}

static emb_status far_map(struct embi_io *io, const void **data, emb_err *err)
{
    (void)err;
    *data = ((struct far *)io)->view;
    return EMB_OK;
}

/* Who reads a header asks for more again and again: twice as much comes as is asked for. */
static emb_status far_front(struct embi_io *io, uint64_t n, const void **data, uint64_t *have,
                            emb_err *err)
{
    *have = embi_min(io->size, embi_max(2 * n, HEAD_BYTES));
    *data = ((struct far *)io)->view;
    return far_need(io, &(struct embi_span){0, *have}, 1, err);
}

static void far_close(struct embi_io *io)
{
    struct far *f = (struct far *)io;
    if (f->view)
        munmap(f->view, io->size);
    if (f->fd >= 0)
        close(f->fd);
    if (f->session)
        f->transport->close(f->session);
    embi_far_blocks_free(&f->blocks);
    pthread_mutex_destroy(&f->lock);
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

static emb_status get_head(struct far *f, struct head *h, uint64_t n, bool *whole, uint64_t *total,
                           emb_err *err)
{
    char text[EMBI_TRANSPORT_TEXT];
    struct embi_get get = {.first = 0, .n = n, .take = put_head, .arg = h};
    h->err.status = EMB_OK;
    if (f->transport->get(f->session, &get, 1, total, text)) {
        if (!h->err.status)
            return fail_transport(text, 0, err);
        *err = h->err;
        return err->status;
    }
    *whole = get.whole;
    return EMB_OK;
}

/* Addresses for all of the content. */
static emb_status make_view(struct far *f, emb_err *err)
{
    const char *dir = f->io.env->temp_dir;
    f->fd = dir ? embi_spool_file(dir) : -1;
    if (dir && (f->fd < 0 || ftruncate(f->fd, (off_t)f->io.size)))
        return embi_fail_errno(err, errno, "a temporary file");
    int prot = f->fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ;
    int flags = f->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void *at = mmap(NULL, f->io.size, prot, flags, f->fd, 0);
    if (at == MAP_FAILED)
        return embi_fail_memory(err, f->io.size, "the addresses of the file");
    f->view = at;
    return EMB_OK;
}

/* The head, and places for the rest. */
static emb_status begin_far(struct far *f, struct head *h, uint64_t total, emb_err *err)
{
    struct embi_io *head;
    const void *data;
    emb_status status = embi_spool_end(&h->spool, &head, err);
    if (status)
        return status;
    f->io.size = total;
    status = make_view(f, err);
    if (!status)
        status = embi_far_blocks_new(total, &f->blocks, err);
    if (!status)
        status = embi_io_map(head, &data, err);
    if (!status && put(f, 0, data, (size_t)head->size))
        status = fail_transport("the first bytes are more than there are", f->sys, err);
    if (!status)
        embi_far_blocks_add(&f->blocks, (struct embi_span){0, head->size});
    embi_io_close(head);
    return status;
}

/* Asks for the beginning; where the answer was everything, or nobody says how much there is, *whole
 * becomes a file of its own. */
static emb_status begin(struct far *f, struct embi_io **whole, emb_err *err)
{
    struct head h = {0};
    bool all = false;
    uint64_t total = EMBI_TRANSPORT_UNKNOWN;
    embi_spool_begin(f->io.env, HEAD_BYTES, &h.spool);
    emb_status status = get_head(f, &h, HEAD_BYTES, &all, &total, err);
    if (!status && !all && total == EMBI_TRANSPORT_UNKNOWN)
        status = get_head(f, &h, 0, &all, &total, err);
    if (!status && (all || total <= h.n))
        status = embi_spool_end(&h.spool, whole, err);
    else if (!status)
        status = begin_far(f, &h, total, err);
    embi_spool_free(&h.spool);
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

static void log_line(void *env, const char *line)
{
    embi_log(env, EMB_LOG_DEBUG, NULL, "%s", line);
}

static emb_status open_session(struct far *f, const char *url, emb_err *err)
{
    const struct embi_env *env = f->io.env;
    struct embi_transport_opts opts = {.url = url,
                                       .ca_file = env->ca_file,
                                       .agent = "embtool/" EMB_VERSION,
                                       .log = log_line,
                                       .log_arg = (void *)env};
    if (!env->transport)
        return embi_fail(err, EMB_DEVICE, -1, "there is no transport for addresses");
    emb_status status = env->transport(env, &f->transport, err);
    if (!status && f->transport->open(&opts, &f->session))
        status = embi_fail_memory(err, 0, "a connection");
    return status;
}

static emb_status far_open(const struct embi_env *env, const char *url, unsigned mode,
                           struct embi_io **io, emb_err *err)
{
    struct embi_io *whole = NULL;
    if (mode & EMBI_IO_WRITE)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "an address is read, not written");
    emb_status status = refuse_userinfo(url, err);
    struct far *f = status ? NULL : calloc(1, sizeof *f);
    if (!f)
        return status ? status : embi_fail_memory(err, sizeof *f, "an open file");
    f->io.scheme = &scheme_far;
    f->io.env = env;
    f->io.caps = EMBI_IO_CAN_MAP;
    f->fd = -1;
    pthread_mutex_init(&f->lock, NULL);
    status = open_session(f, url, err);
    if (!status)
        status = begin(f, &whole, err);
    if (status || whole)
        far_close(&f->io);
    *io = status ? NULL : whole ? whole : &f->io;
    return status;
}

const struct embi_scheme embi_scheme_http = {.name = "http", .open = far_open};
