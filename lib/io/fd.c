/* io/fd.c - see fd.h.
 *
 * Implements the contracts of read(2), write(2), pread(2), pwrite(2): a count may be short, EINTR
 * means nothing has happened yet. Offsets stay below 2^63 because they lie within a file's size.
 */
#include "io/fd.h"

#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

enum { SLURP_STEP_BYTES = 1 << 16 };

/* After a call failed with errno: should it be made again? Waits for a descriptor that would block.
 */
static bool again(int fd, short events)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        struct pollfd wait = {.fd = fd, .events = events};
        return poll(&wait, 1, -1) >= 0 || errno == EINTR;
    }
    return errno == EINTR;
}

emb_status embi_fd_pread(int fd, void *dst, size_t n, uint64_t off, emb_err *err)
{
    char *to = dst;
    while (n > 0) {
        ssize_t got = pread(fd, to, n, (off_t)off);
        if (got < 0 && again(fd, POLLIN))
            continue;
        if (got < 0)
            return embi_fail_errno(err, errno, NULL);
        if (got == 0)
            return embi_fail(err, EMB_IO, (int64_t)off,
                             "the file became shorter while it was read");
        to += got;
        off += (uint64_t)got;
        n -= (size_t)got;
    }
    return EMB_OK;
}

int embi_fd_write(int fd, const void *data, size_t n)
{
    const char *from = data;
    while (n > 0) {
        ssize_t put = write(fd, from, n);
        if (put < 0 && again(fd, POLLOUT))
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        from += put;
        n -= (size_t)put;
    }
    return 0;
}

int embi_fd_pwrite(int fd, const void *data, size_t n, uint64_t off)
{
    const char *from = data;
    while (n > 0) {
        ssize_t put = pwrite(fd, from, n, (off_t)off);
        if (put < 0 && again(fd, POLLOUT))
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        from += put;
        off += (uint64_t)put;
        n -= (size_t)put;
    }
    return 0;
}

emb_status embi_fd_slurp(int fd, struct embi_buf *buf, emb_err *err)
{
    for (;;) {
        char *to = embi_buf_room(buf, SLURP_STEP_BYTES);
        if (!to)
            return embi_fail_memory(err, (uint64_t)buf->n + SLURP_STEP_BYTES, "what is read");
        ssize_t got = read(fd, to, buf->cap - buf->n);
        if (got < 0 && again(fd, POLLIN))
            continue;
        if (got < 0)
            return embi_fail_errno(err, errno, NULL);
        if (got == 0)
            return EMB_OK;
        buf->n += (size_t)got;
    }
}

int embi_fd_twin(int fd, int lowest)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}
