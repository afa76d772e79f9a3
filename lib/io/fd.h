/* fd.h - system calls on a descriptor, repeated until all bytes are through.
 *
 * Each goes on after EINTR and after a short count, and waits where the descriptor does not block.
 * Only files of io/ include this.
 */
#ifndef EMBI_IO_FD_H
#define EMBI_IO_FD_H

#include "util/buf.h"

/* All n bytes at off; EMB_IO where the file ends before. */
emb_status embi_fd_pread(int fd, void *dst, size_t n, uint64_t off, emb_err *err);

/* All n bytes at the descriptor's own offset, or at off. Return 0 or errno. */
int embi_fd_write(int fd, const void *data, size_t n);
int embi_fd_pwrite(int fd, const void *data, size_t n, uint64_t off);

/* Writes bytes off .. off+n-1 of `from` at the descriptor's own offset, by the fastest way there
 * is. */
emb_status embi_fd_copy(int fd, int from, uint64_t off, uint64_t n, emb_err *err);

/* Adds what is left to read to buf. */
emb_status embi_fd_slurp(int fd, struct embi_buf *buf, emb_err *err);

/* The same of a regular file of at most 1 MiB that somebody wrote by hand; one that is not there
 * has no bytes. EMB_IO: it cannot be opened. EMB_BAD_DATA: it is no such file. */
emb_status embi_fd_slurp_small(const char *path, struct embi_buf *buf, emb_err *err);

/* A second descriptor for what fd is open on, at or above `lowest`, closed on exec; -1 and errno.
 */
int embi_fd_twin(int fd, int lowest);

#endif
