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
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SLURP_STEP_BYTES = 1 << 16,
    SMALL_BYTES = 1 << 20,
    COPY_STEP_BYTES = 1 << 20,
    CLONE_BYTES = 4096
};

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

emb_status embi_fd_slurp_small(const char *path, struct embi_buf *buf, emb_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? EMB_OK : embi_fail_errno(err, errno, NULL);
    emb_status status;
    if (fstat(fd, &st) != 0)
        status = embi_fail_errno(err, errno, NULL);
    else if (!S_ISREG(st.st_mode) || st.st_size > SMALL_BYTES)
        status = embi_fail(err, EMB_BAD_DATA, -1, "no file of at most 1 MiB");
    else
        status = embi_fd_slurp(fd, buf, err);
    close(fd);
    return status;
}

/* Through memory of this process: where the system cannot copy between these two files. */
static emb_status copy_by_hand(int fd, int from, uint64_t off, uint64_t n, emb_err *err)
{
    emb_status status = EMB_OK;
    char *step = malloc(COPY_STEP_BYTES);
    if (!step)
        return embi_fail_memory(err, COPY_STEP_BYTES, "a copy");
    for (uint64_t part; !status && n > 0; off += part, n -= part) {
        part = embi_min(n, COPY_STEP_BYTES);
        status = embi_fd_pread(from, step, part, off, err);
        int sys = status ? 0 : embi_fd_write(fd, step, part);
        if (sys)
            status = embi_fail_errno(err, sys, NULL);
    }
    free(step);
    return status;
}

static bool cannot_copy(int sys)
{
    return sys == EXDEV || sys == EINVAL || sys == ENOSYS || sys == EOPNOTSUPP;
}

/* Bytes to ask for: those up to the next whole block alone, so that the blocks after it can be
 * shared, where both files have their blocks at the same places. */
static size_t copy_step(int fd, uint64_t off, uint64_t n)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    uint64_t into = off % CLONE_BYTES;
    bool aligned = at >= 0 && into && (uint64_t)at % CLONE_BYTES == into;
    return (size_t)embi_min(n, aligned ? CLONE_BYTES - into : (uint64_t)1 << 30);
}

emb_status embi_fd_copy(int fd, int from, uint64_t off, uint64_t n, emb_err *err)
{
    while (n > 0) {
        off_t at = (off_t)off;
        ssize_t done = copy_file_range(from, &at, fd, NULL, copy_step(fd, off, n), 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return cannot_copy(errno) ? copy_by_hand(fd, from, off, n, err)
                                      : embi_fail_errno(err, errno, NULL);
        if (done == 0) /* the end of the file, or a file system that has no idea of one */
            return copy_by_hand(fd, from, off, n, err);
        off += (uint64_t)done;
        n -= (uint64_t)done;
    }
    return EMB_OK;
}

int embi_fd_twin(int fd, int lowest)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, lowest);
}
