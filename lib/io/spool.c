/* spool.c - see spool.h.
 *
 * Memory grows by doubling, so that all bytes are moved once at most. A file is written piece by
 * piece through a window and mapped when it is complete: a full disk is then an error of a write,
 * and not a signal.
 */
#include "io/spool.h"

#include "io/fd.h"
#include "io/schemes.h"
#include "util/err.h"
#include "util/large.h"
#include "util/memory.h"
#include "util/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    FIRST_BYTES = 1 << 16,  /* where nothing better is expected */
    ALWAYS_BYTES = 1 << 26, /* may be taken without asking how much is free */
    FREE_SHARE = 4,         /* of what is free one part in so many may be taken */
    WINDOW_BYTES = 1 << 20
};

void embi_spool_begin(const struct embi_env *env, uint64_t expected, struct embi_spool *spool)
{
    *spool = (struct embi_spool){.env = env, .fd = -1};
    spool->cap = (size_t)embi_max(expected, FIRST_BYTES); /* taken with the first room */
}

void embi_spool_free(struct embi_spool *spool)
{
    free(spool->s);
    if (spool->fd >= 0)
        close(spool->fd);
    *spool = (struct embi_spool){.fd = -1};
}

/* Asks once: what is taken here is no longer free. */
static bool may_take(struct embi_spool *spool, uint64_t bytes)
{
    if (bytes <= ALWAYS_BYTES || !spool->env || !spool->env->temp_dir)
        return true;
    if (!spool->most)
        spool->most = embi_max(embi_memory_available() / FREE_SHARE, ALWAYS_BYTES);
    return bytes <= spool->most;
}

/* ------------------------------------------------------------------------------------------------
 * The file
 */

/* A file that has a name for a moment: where there are none without. */
static int open_nameless(const char *dir)
{
    struct embi_buf path = {0};
    sigset_t before;
    int fd = -1;
    embi_buf_print(&path, "%s/embtool.XXXXXX", dir);
    embi_buf_byte(&path, '\0');
    errno = ENOMEM;
    if (!path.failed) {
        embi_signals_block(&before);
        fd = mkostemp(path.s, O_CLOEXEC);
        if (fd >= 0)
            unlink(path.s);
        embi_signals_restore(&before);
    }
    int sys = errno;
    embi_buf_free(&path);
    errno = sys;
    return fd;
}

int embi_spool_file(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd < 0 ? open_nameless(dir) : fd;
}

static emb_status fail_file(const struct embi_spool *spool, int sys, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    emb_str dir = {spool->env->temp_dir, strlen(spool->env->temp_dir)};
    embi_fail_errno(err, sys, NULL);
    return embi_fail_in(err, "a temporary file in %s", embi_show(show, dir));
}

static emb_status write_out(struct embi_spool *spool, emb_err *err)
{
    int sys = embi_fd_pwrite(spool->fd, spool->s, spool->n, spool->written);
    if (sys)
        return fail_file(spool, sys, err);
    spool->written += spool->n;
    spool->n = 0;
    return EMB_OK;
}

/* From memory to a file, with what is there already. */
static emb_status begin_file(struct embi_spool *spool, emb_err *err)
{
    emb_status status = EMB_OK;
    spool->fd = embi_spool_file(spool->env->temp_dir);
    if (spool->fd < 0)
        return fail_file(spool, errno, err);
    if (spool->s)
        status = write_out(spool, err);
    free(spool->s);
    spool->s = malloc(WINDOW_BYTES);
    spool->cap = WINDOW_BYTES;
    if (!status && !spool->s)
        status = embi_fail_memory(err, WINDOW_BYTES, "a temporary file");
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

static emb_status grow(struct embi_spool *spool, emb_err *err)
{
    uint64_t bytes = spool->cap;
    if (spool->s && !embi_mul(bytes, 2, &bytes))
        return embi_fail_memory(err, UINT64_MAX, "what is unpacked");
    if (!may_take(spool, bytes))
        return begin_file(spool, err);
    char *s = spool->s ? realloc(spool->s, bytes) : embi_large_alloc(bytes);
    if (!s)
        return embi_fail_memory(err, bytes, "what is unpacked");
    spool->s = s;
    spool->cap = bytes;
    return EMB_OK;
}

emb_status embi_spool_room(struct embi_spool *spool, char **room, size_t *n, emb_err *err)
{
    emb_status status = EMB_OK;
    if (!spool->s || spool->n == spool->cap)
        status = spool->fd < 0 ? grow(spool, err) : write_out(spool, err);
    if (status)
        return status;
    *room = spool->s + spool->n;
    *n = spool->cap - spool->n;
    return EMB_OK;
}

void embi_spool_added(struct embi_spool *spool, size_t n)
{
    spool->n += n;
}

emb_status embi_spool_end(struct embi_spool *spool, struct embi_io **io, emb_err *err)
{
    emb_status status;
    *io = NULL;
    if (spool->fd < 0) {
        char *less = spool->n ? realloc(spool->s, spool->n) : NULL;
        spool->s = less ? less : spool->s;
        status = embi_io_memory(spool->env, spool->s, spool->n, spool->s, io, err);
        if (!status)
            spool->s = NULL;
    } else {
        status = write_out(spool, err);
        if (!status) {
            status = embi_file_adopt(spool->env, spool->fd, io, err);
            spool->fd = -1;
        }
    }
    embi_spool_free(spool);
    return status;
}
