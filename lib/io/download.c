/* download.c - see download.h.
 *
 * A large file is cut into pieces of PIECE_BYTES. While it is not whole, a tail stands behind its
 * content: what it is the tail of, and a byte for each piece, which is set when the piece is
 * there. Pieces come in any order; another run takes those that are set and asks for the others. No
 * byte is trusted for that: when all are there, the hash is compared.
 *
 * The hash is computed while pieces come, by a second thread if there is one, which follows the
 * first piece that is missing.
 */
#include "io/download.h"

#include "io/fd.h"
#include "util/err.h"
#include "util/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES (UINT64_C(8) << 20)

/* The hash waits for the first piece, and is behind by all that come at a time when the last one is
 * there: the fewer, the sooner it is done. */
enum { PIECES_AT_ONCE = 8, HASH_STEP_BYTES = 128 << 10 };

struct tail {
    char magic[8];
    uint64_t bytes, piece_bytes;
};

static const char magic[8] = "EMBPART1";

struct downloading {
    struct embi_download *f;
    struct embi_remote remote;
    int fd, sys;    /* sys: errno of a write that failed */
    bool longer;    /* more came than there should be */
    uint64_t bytes; /* of the content; for a file that comes at once: known when it came */
    uint64_t came;  /* in this run and before it */
    size_t n;       /* pieces; 0: it comes at once */
    /* [n], guarded by the lock with `ended`: what the hash may read. */
    unsigned char *there;
    bool ended; /* nothing more will come */
    pthread_mutex_t lock;
    pthread_cond_t more;
};

/* One request: a piece, or all. */
struct part {
    struct downloading *x;
    uint64_t begin, next; /* bytes that came without a gap */
};

static uint64_t piece_end(const struct downloading *x, size_t piece)
{
    return embi_min((piece + 1) * PIECE_BYTES, x->bytes);
}

/* ------------------------------------------------------------------------------------------------
 * The file
 */

static emb_status fail_file(int sys, emb_err *err)
{
    return embi_fail_errno(err, sys, "the hub's cache");
}

/* Takes the pieces that another run got. */
static bool read_tail(struct downloading *x)
{
    struct tail t;
    struct stat st;
    emb_err err;
    if (fstat(x->fd, &st) != 0 || (uint64_t)st.st_size != x->bytes + sizeof t + x->n ||
        embi_fd_pread(x->fd, &t, sizeof t, x->bytes, &err) ||
        memcmp(t.magic, magic, sizeof magic) != 0 || t.bytes != x->bytes ||
        t.piece_bytes != PIECE_BYTES ||
        embi_fd_pread(x->fd, x->there, x->n, x->bytes + sizeof t, &err))
        return false;
    for (size_t i = 0; i < x->n; i++) {
        x->there[i] = x->there[i] == 1;
        x->came += x->there[i] ? piece_end(x, i) - i * PIECE_BYTES : 0;
    }
    return true;
}

/* Empties the file, unless it is empty: a file that was cut to nothing is written to the disk when
 * it is closed (ext4, auto_da_alloc), and the download would wait for that. */
static int empty(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return errno;
    return st.st_size > 0 && ftruncate(fd, 0) != 0 ? errno : 0;
}

static emb_status begin_pieces(struct downloading *x, emb_err *err)
{
    struct tail t = {.bytes = x->bytes, .piece_bytes = PIECE_BYTES};
    memcpy(t.magic, magic, sizeof magic);
    x->n = (size_t)((x->bytes + PIECE_BYTES - 1) / PIECE_BYTES);
    x->there = calloc(x->n, 1);
    if (!x->there)
        return embi_fail_memory(err, x->n, "a list of pieces");
    if (read_tail(x))
        return EMB_OK;
    memset(x->there, 0, x->n);
    x->came = 0;
    int sys = empty(x->fd);
    if (!sys && ftruncate(x->fd, (off_t)(x->bytes + sizeof t + x->n)) != 0)
        sys = errno;
    if (!sys)
        sys = embi_fd_pwrite(x->fd, &t, sizeof t, x->bytes);
    return sys ? fail_file(sys, err) : EMB_OK;
}

static emb_status begin_file(struct downloading *x, emb_err *err)
{
    const struct embi_download *f = x->f;
    x->fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (x->fd < 0)
        return fail_file(errno, err);
    x->bytes = f->bytes;
    if (f->bytes != EMBI_TRANSPORT_UNKNOWN && f->bytes > 2 * PIECE_BYTES)
        return begin_pieces(x, err);
    int sys = empty(x->fd);
    return sys ? fail_file(sys, err) : EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Bytes that come
 */

static void say(struct downloading *x)
{
    const struct embi_env *env = x->f->env;
    uint64_t total = x->bytes == EMBI_TRANSPORT_UNKNOWN ? 0 : x->bytes;
    if (env->download)
        env->download(env->download_arg, x->f->name, total ? embi_min(x->came, total) : x->came,
                      total);
}

/* The pieces that end in bytes from .. to-1 of those that came. */
static void set_pieces(struct downloading *x, const struct part *p, uint64_t from)
{
    size_t i = (size_t)(from / PIECE_BYTES);
    for (; !x->sys && i < x->n && piece_end(x, i) <= p->next; i++) {
        if (p->begin > i * PIECE_BYTES || x->there[i])
            continue;
        x->sys = embi_fd_pwrite(x->fd, "\1", 1, x->bytes + sizeof(struct tail) + i);
        pthread_mutex_lock(&x->lock);
        x->there[i] = 1;
        pthread_cond_signal(&x->more);
        pthread_mutex_unlock(&x->lock);
    }
}

static int put(void *arg, uint64_t at, const void *data, size_t n)
{
    struct part *p = arg;
    struct downloading *x = p->x;
    x->longer = !embi_inside(at, n, x->bytes);
    if (x->longer)
        return -1;
    x->sys = embi_fd_pwrite(x->fd, data, n, at);
    if (at != p->next)
        p->begin = at;
    x->came += n;
    p->next = at + n;
    if (!x->sys)
        set_pieces(x, p, at);
    say(x);
    return x->sys;
}

static size_t missing_pieces(const struct downloading *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        n += !x->there[i];
    return n;
}

static emb_status get_parts(struct downloading *x, struct embi_get *gets, struct part *parts,
                            size_t n, emb_err *err)
{
    uint64_t total;
    for (size_t i = 0; i < n; i++) {
        parts[i] = (struct part){x, gets[i].first, gets[i].first};
        gets[i].take = put;
        gets[i].arg = &parts[i];
    }
    emb_status status = embi_remote_get(&x->remote, &x->f->address, gets, n, &total, err);
    if (x->sys)
        return fail_file(x->sys, err);
    if (status && !x->longer)
        return status;
    if (x->n == 0 && x->bytes == EMBI_TRANSPORT_UNKNOWN)
        x->bytes = parts[0].next;
    if (x->longer || (x->n ? total != x->bytes || missing_pieces(x) : parts[0].next != x->bytes))
        return embi_fail(err, EMB_IO, -1, "expected %" PRIu64 " bytes, the server has %s", x->bytes,
                         x->longer ? "more" : "another number");
    return EMB_OK;
}

static emb_status get_all(struct downloading *x, emb_err *err)
{
    size_t n = x->n ? missing_pieces(x) : 1, k = 0;
    if (n == 0)
        return EMB_OK;
    struct embi_get *gets = calloc(n, sizeof *gets);
    struct part *parts = calloc(n, sizeof *parts);
    for (size_t i = 0; gets && parts && i < x->n; i++)
        if (!x->there[i])
            gets[k++] =
                (struct embi_get){.first = i * PIECE_BYTES, .n = piece_end(x, i) - i * PIECE_BYTES};
    emb_status status = gets && parts
                            ? get_parts(x, gets, parts, n, err)
                            : embi_fail_memory(err, n * sizeof *parts, "a list of requests");
    free(gets);
    free(parts);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The hash
 */

/* Waits for a piece; false: it will not come. */
static bool await(struct downloading *x, size_t piece)
{
    pthread_mutex_lock(&x->lock);
    while (!x->there[piece] && !x->ended)
        pthread_cond_wait(&x->more, &x->lock);
    bool there = x->there[piece];
    pthread_mutex_unlock(&x->lock);
    return there;
}

static emb_status hash_piece(struct downloading *x, struct embi_checksum *c, size_t piece,
                             char *step, emb_err *err)
{
    emb_status status = EMB_OK;
    for (uint64_t at = piece * PIECE_BYTES, end = piece_end(x, piece); !status && at < end;) {
        size_t n = (size_t)embi_min(end - at, HASH_STEP_BYTES);
        status = embi_fd_pread(x->fd, step, n, at, err);
        if (!status)
            embi_checksum_add(c, step, n);
        at += n;
    }
    return status;
}

/* Of a file in pieces, as they come. */
static emb_status hash_pieces(struct downloading *x, emb_err *err)
{
    struct embi_checksum c;
    emb_status status = EMB_OK;
    size_t i = 0;
    char *step = malloc(HASH_STEP_BYTES);
    if (!step)
        return embi_fail_memory(err, HASH_STEP_BYTES, "a piece of a file");
    embi_checksum_begin(&c, strlen(x->f->hash) == EMBI_GIT_HEX, x->bytes);
    for (; !status && i < x->n && await(x, i); i++)
        status = hash_piece(x, &c, i, step, err);
    if (!status && i == x->n)
        embi_checksum_end(&c, x->f->found);
    free(step);
    return status;
}

static emb_status one_of_both(void *arg, size_t item, int worker, emb_err *err)
{
    struct downloading *x = arg;
    (void)worker;
    if (item == 1)
        return hash_pieces(x, err);
    emb_status status = get_all(x, err);
    pthread_mutex_lock(&x->lock);
    x->ended = true;
    pthread_cond_signal(&x->more);
    pthread_mutex_unlock(&x->lock);
    return status;
}

/* The hash of what came at once: of the kind that is asked for, or that the server names. */
static emb_status hash_at_once(struct downloading *x, emb_err *err)
{
    struct embi_told told;
    char tag[128];
    x->remote.transport->told(x->remote.session, &told);
    embi_remote_plain_tag(told.tag, tag);
    const char *hash = x->f->hash ? x->f->hash : tag;
    bool known = embi_checksum_is(hash);
    emb_status status = embi_checksum_file(x->fd, !known || strlen(hash) == EMBI_GIT_HEX, x->bytes,
                                           x->f->found, err);
    if (status || !known || strcmp(hash, x->f->found) == 0)
        return status;
    return embi_fail(err, EMB_IO, -1, "expected a content with the hash %s, found %s", hash,
                     x->f->found);
}

static emb_status check_hash(const struct embi_download *f, emb_err *err)
{
    return strcmp(f->hash, f->found) == 0
               ? EMB_OK
               : embi_fail(err, EMB_IO, -1, "expected a content with the hash %s, found %s",
                           f->hash, f->found);
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

static emb_status download(struct downloading *x, emb_err *err)
{
    emb_status status = begin_file(x, err);
    if (status)
        return status;
    bool both = x->n > 0 && x->f->hash;
    say(x);
    if (both)
        status = embi_loop(x->f->env->pool, 2, one_of_both, x, err);
    else
        status = get_all(x, err);
    if (status)
        return status;
    status = both ? check_hash(x->f, err) : hash_at_once(x, err);
    if (status) /* nobody can say which piece is wrong */
        (void)unlink(x->f->path);
    else if (ftruncate(x->fd, (off_t)x->bytes))
        status = fail_file(errno, err);
    return status;
}

emb_status embi_download(struct embi_download *f, emb_err *err)
{
    struct downloading x = {.f = f, .fd = -1};
    pthread_mutex_init(&x.lock, NULL);
    pthread_cond_init(&x.more, NULL);
    f->address.at_once = PIECES_AT_ONCE;
    emb_status status = embi_remote_begin(f->env, &f->address, &x.remote, err);
    if (!status)
        status = download(&x, err);
    embi_remote_end(&x.remote);
    if (x.fd >= 0)
        close(x.fd);
    free(x.there);
    pthread_cond_destroy(&x.more);
    pthread_mutex_destroy(&x.lock);
    return status;
}
