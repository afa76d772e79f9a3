/* out.h - bytes on their way to a descriptor: gathered while they are few, handed on when they are
 * many. Only files of io/ include this.
 *
 * The first write that fails is remembered: everything after it fails too, so a file with a hole in
 * it cannot be committed.
 */
#ifndef EMBI_IO_OUT_H
#define EMBI_IO_OUT_H

#include "io/io.h"

enum { EMBI_OUT_BUFFER_BYTES = 1 << 16 };

/* What writing schemes put first in a struct of their own. */
struct embi_out {
    struct embi_io io;
    int fd;         /* owned; -1 once it is closed */
    int broken;     /* errno of the first write that failed, else 0; EIO while bytes are missing */
    size_t waiting; /* bytes in buffer, after the io.size - waiting that are in fd */
    char *buffer;   /* [EMBI_OUT_BUFFER_BYTES], owned */
};

/* Takes fd over, also where it fails. */
emb_status embi_out_init(struct embi_out *out, const struct embi_scheme *scheme,
                         const struct embi_env *env, int fd, emb_err *err);
/* Closes fd and frees what out holds, not out itself. What is still gathered is dropped. */
void embi_out_end(struct embi_out *out);

/* For the vtable. */
emb_status embi_out_append(struct embi_io *io, const void *data, size_t n, emb_err *err);
emb_status embi_out_append_fd(struct embi_io *io, int fd, uint64_t off, uint64_t n, emb_err *err);
emb_status embi_out_patch(struct embi_io *io, const void *data, size_t n, uint64_t off,
                          emb_err *err);
emb_status embi_out_extend(struct embi_io *io, uint64_t n, emb_err *err);
emb_status embi_out_place(struct embi_io *io, const void *data, size_t n, uint64_t off,
                          emb_err *err);
void embi_out_filled(struct embi_io *io);
emb_status embi_out_flush(struct embi_io *io, emb_err *err);

/* Notes that a system call on the output failed with errno = sys; returns EMB_IO, or EMB_OK for 0.
 */
emb_status embi_out_check(struct embi_out *out, int sys, emb_err *err);

/* An io that writes to fd as the bytes come: for what is no regular file. fd is taken over, also
 * where it fails. Nothing can be undone; closing without commit drops what has not been flushed. */
emb_status embi_stream_open(const struct embi_env *env, int fd, struct embi_io **io, emb_err *err);

#endif
