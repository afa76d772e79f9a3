/* io/out.c - see out.h: the gathering buffer, and the scheme that writes through.
 *
 * A write of EMBI_OUT_BUFFER_BYTES or more goes out as it is, without a copy. Order is kept: what
 * is gathered leaves before anything newer. No signal is touched: a pipe without a reader raises
 * SIGPIPE as the program has set it, and is EPIPE where that is ignored.
 */
#include "io/out.h"

#include "io/fd.h"
#include "util/err.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

emb_status embi_out_init(struct embi_out *out, const struct embi_scheme *scheme,
                         const struct embi_env *env, int fd, emb_err *err)
{
    *out = (struct embi_out){.io = {.scheme = scheme, .env = env}, .fd = fd};
    out->buffer = malloc(EMBI_OUT_BUFFER_BYTES);
    if (out->buffer)
        return EMB_OK;
    embi_out_end(out);
    return embi_fail_memory(err, EMBI_OUT_BUFFER_BYTES, "an output buffer");
}

void embi_out_end(struct embi_out *out)
{
    if (out->fd >= 0)
        close(out->fd);
    out->fd = -1;
    free(out->buffer);
    out->buffer = NULL;
}

emb_status embi_out_check(struct embi_out *out, int sys, emb_err *err)
{
    if (sys == 0)
        return EMB_OK;
    if (out->broken == 0)
        out->broken = sys;
    return embi_fail_errno(err, out->broken, NULL);
}

emb_status embi_out_flush(struct embi_io *io, emb_err *err)
{
    struct embi_out *out = (struct embi_out *)io;
    int sys = out->broken;
    if (sys == 0)
        sys = embi_fd_write(out->fd, out->buffer, out->waiting);
    out->waiting = 0;
    return embi_out_check(out, sys, err);
}

emb_status embi_out_append(struct embi_io *io, const void *data, size_t n, emb_err *err)
{
    struct embi_out *out = (struct embi_out *)io;
    emb_status status = embi_out_check(out, out->broken, err);
    if (status == EMB_OK && n > EMBI_OUT_BUFFER_BYTES - out->waiting)
        status = embi_out_flush(io, err);
    if (status == EMB_OK && n >= EMBI_OUT_BUFFER_BYTES) {
        status = embi_out_check(out, embi_fd_write(out->fd, data, n), err);
    } else if (status == EMB_OK && n > 0) {
        memcpy(out->buffer + out->waiting, data, n);
        out->waiting += n;
    }
    if (status == EMB_OK)
        io->size += n;
    return status;
}

emb_status embi_out_append_fd(struct embi_io *io, int fd, uint64_t off, uint64_t n, emb_err *err)
{
    struct embi_out *out = (struct embi_out *)io;
    emb_status status = embi_out_flush(io, err);
    if (status == EMB_OK)
        status = embi_fd_copy(out->fd, fd, off, n, err);
    if (status == EMB_OK)
        io->size += n;
    else if (out->broken == 0)
        out->broken = err->sys ? err->sys : EIO;
    return status;
}

emb_status embi_out_patch(struct embi_io *io, const void *data, size_t n, uint64_t off,
                          emb_err *err)
{
    struct embi_out *out = (struct embi_out *)io;
    if (!embi_inside(off, n, io->size))
        return embi_fail(err, EMB_BUG, (int64_t)off, "a patch lies outside what was written");
    emb_status status = embi_out_flush(io, err);
    if (status != EMB_OK)
        return status;
    return embi_out_check(out, embi_fd_pwrite(out->fd, data, n, off), err);
}

emb_status embi_out_extend(struct embi_io *io, uint64_t n, emb_err *err)
{
    struct embi_out *out = (struct embi_out *)io;
    emb_status status = embi_out_flush(io, err);
    if (status != EMB_OK)
        return status;
    if (n > INT64_MAX || lseek(out->fd, (off_t)n, SEEK_CUR) < 0)
        return embi_out_check(out, n > INT64_MAX ? EFBIG : errno, err);
    io->size += n;
    out->broken = EIO; /* until it is filled */
    return EMB_OK;
}

/* Called by several threads: changes nothing but the file. */
emb_status embi_out_place(struct embi_io *io, const void *data, size_t n, uint64_t off,
                          emb_err *err)
{
    const struct embi_out *out = (const struct embi_out *)io;
    int sys = embi_fd_pwrite(out->fd, data, n, off);
    return sys ? embi_fail_errno(err, sys, NULL) : EMB_OK;
}

void embi_out_filled(struct embi_io *io)
{
    ((struct embi_out *)io)->broken = 0;
}

/* ---------------------------------------------------------------------------------- written
 * through
 */

static emb_status stream_commit(struct embi_io *io, emb_err *err)
{
    struct embi_out *out = (struct embi_out *)io;
    emb_status status = embi_out_flush(io, err);
    if (status != EMB_OK)
        return status;
    int sys = close(out->fd) == 0 ? 0 : errno;
    out->fd = -1;
    return embi_out_check(out, sys, err);
}

static void stream_close(struct embi_io *io)
{
    embi_out_end((struct embi_out *)io);
    free(io);
}

static const struct embi_scheme scheme_stream = {
    .name = "stream",
    .append = embi_out_append,
    .commit = stream_commit,
    .flush = embi_out_flush,
    .close = stream_close,
};

emb_status embi_stream_open(const struct embi_env *env, int fd, struct embi_io **io, emb_err *err)
{
    *io = NULL;
    struct embi_out *out = malloc(sizeof *out);
    if (!out) {
        close(fd);
        return embi_fail_memory(err, sizeof *out, "an open file");
    }
    emb_status status = embi_out_init(out, &scheme_stream, env, fd, err);
    if (status != EMB_OK) {
        free(out);
        return status;
    }
    *io = &out->io;
    return EMB_OK;
}
