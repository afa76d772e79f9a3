/* io.h - where bytes live. A scheme is a const struct; an embi_io is one open file of a scheme.
 *
 * Reads are positional, so they are thread-safe and can be repeated. Nothing here knows what the
 * bytes mean. Errors do not name the path: the caller adds it.
 */
#ifndef EMBI_IO_IO_H
#define EMBI_IO_IO_H

#include "util/env.h"

/* How to open; FORCE, SYNC and NO_SYNC go with WRITE (emb_write_opts). */
enum {
    EMBI_IO_READ = 1,
    EMBI_IO_WRITE = 2,
    EMBI_IO_FORCE = 4,
    EMBI_IO_SYNC = 8,
    EMBI_IO_NO_SYNC = 16,
    EMBI_IO_EXCHANGE = 32 /* of a directory: what is replaced is so in one step, or not at all */
};

/* What an open io can do, in embi_io.caps. */
enum {
    EMBI_IO_CAN_MAP = 1,  /* map works */
    EMBI_IO_CAN_PATCH = 2 /* patch works: the target is a regular file that has not got its name */
};

/* What a commit says that failed when the new content had its name already. */
#define EMBI_IO_IS_THERE "it is there, whole, but its name may not be on the disk yet"

struct embi_io;

/* Some bytes of a file. */
struct embi_span {
    uint64_t off, n;
};

struct embi_scheme {
    const char *name;

    emb_status (*open)(const struct embi_env *env, const char *url, unsigned mode,
                       struct embi_io **io, emb_err *err);

    /* Reading. All n bytes at off, or an error; never a short read. */
    emb_status (*pread)(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err);
    /* The whole content in memory, valid until close; where there is `need`, its addresses.
     * Optional. */
    emb_status (*map)(struct embi_io *io, const void **data, emb_err *err);
    /* The first bytes in memory, n of them at least: *have. They stay where they are until close.
     * Optional: where all are mapped as easily. */
    emb_status (*front)(struct embi_io *io, uint64_t n, const void **data, uint64_t *have,
                        emb_err *err);
    /* Brings the bytes of n spans to their addresses. Only schemes whose bytes come from elsewhere.
     */
    emb_status (*need)(struct embi_io *io, const struct embi_span *spans, size_t n, emb_err *err);
    /* Bytes off .. of the mapping will not be needed soon: they need not stay in memory.
     * Optional. */
    void (*forget)(struct embi_io *io, uint64_t off, uint64_t n);
    /* Of content that is unpacked when it is mapped: was it? And: it is not needed any more, so
     * that mapping it means to unpack it again. Optional, both or neither. */
    bool (*unpacked)(const struct embi_io *io);
    void (*drop)(struct embi_io *io);
    /* The open file that the content is in, for calls of the system that copy. Optional. */
    int (*descriptor)(const struct embi_io *io);

    /* Writing. append adds at the end; patch overwrites bytes that were appended (optional). commit
     * gives the file its name and reports every failure up to and including close; closing without
     * commit undoes. */
    emb_status (*append)(struct embi_io *io, const void *data, size_t n, emb_err *err);
    emb_status (*patch)(struct embi_io *io, const void *data, size_t n, uint64_t off, emb_err *err);
    /* The next n bytes come by place, in any order and from several threads at once, and are
     * complete when filled is called: before that, nothing but place is possible. Optional. */
    emb_status (*extend)(struct embi_io *io, uint64_t n, emb_err *err);
    emb_status (*place)(struct embi_io *io, const void *data, size_t n, uint64_t off, emb_err *err);
    void (*filled)(struct embi_io *io);
    emb_status (*commit)(struct embi_io *io, emb_err *err);
    /* All that commit does but give the name, which then seldom fails. Optional. */
    emb_status (*prepare)(struct embi_io *io, emb_err *err);
    /* Hands on what append has gathered. Optional. */
    emb_status (*flush)(struct embi_io *io, emb_err *err);
    /* Adds bytes off .. off+n-1 of another open file, which it has. Optional. */
    emb_status (*append_fd)(struct embi_io *io, int fd, uint64_t off, uint64_t n, emb_err *err);
    /* n bytes will be appended: fails where the disk has no room for them. Optional. */
    emb_status (*reserve)(struct embi_io *io, uint64_t n, emb_err *err);

    void (*close)(struct embi_io *io);
};

/* The part of an open file that every scheme has; schemes put it first in a struct of their own. */
struct embi_io {
    const struct embi_scheme *scheme;
    const struct embi_env *env;
    unsigned caps;
    uint64_t size; /* reading: bytes of the content; writing: bytes appended so far */
    void *whole;   /* embi_io_map's copy of what cannot be mapped; embi_io_close frees it */
    char *label;   /* of a part of a file: "member 'a.txt'"; malloc'd, or NULL          */
};

/* Opens by what the URL begins with: "-" is standard input or output, the path of a place (place.h)
 * what that has there, http:// or https:// a server, s3:// an object of S3, anything else a path.
 */
emb_status embi_io_open(const struct embi_env *env, const char *url, unsigned mode,
                        struct embi_io **io, emb_err *err);

/* A path to read, whatever else it could mean. */
emb_status embi_io_open_path(const struct embi_env *env, const char *path, struct embi_io **io,
                             emb_err *err);

/* n bytes of memory as a file to read; borrowed until close. For tests, and for what was read from
 * a pipe (then `owned` is freed at close; where this call fails it stays the caller's). */
emb_status embi_io_memory(const struct embi_env *env, const void *data, size_t n, void *owned,
                          struct embi_io **io, emb_err *err);

/* Thin calls through the vtable, with the bounds checked: reading past the end is EMB_BAD_DATA
 * "expected N bytes at OFF, the file ends at SIZE". */
emb_status embi_io_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err);

/* The content in memory: mapped if the scheme can, else read whole. Never NULL, even for no bytes.
 */
emb_status embi_io_map(struct embi_io *io, const void **data, emb_err *err);

/* The first bytes of it in memory, n at least (which must be there): *have. */
emb_status embi_io_front(struct embi_io *io, uint64_t n, const void **data, uint64_t *have,
                         emb_err *err);

/* The same without the promise that the bytes are there: who reads some says so before, for all
 * that it will need at a time, and pays nothing where the file is at hand. */
emb_status embi_io_view(struct embi_io *io, const void **data, emb_err *err);
emb_status embi_io_need(struct embi_io *io, const struct embi_span *spans, size_t n, emb_err *err);

/* Do the bytes come from elsewhere? */
static inline bool embi_io_is_far(const struct embi_io *io)
{
    return io->scheme->need != NULL;
}

/* A pass over a large file need not leave all of it in memory: what was mapped of bytes off .. is
 * let go, and read again by who looks there again. */
void embi_io_forget(struct embi_io *io, uint64_t off, uint64_t n);

/* Does the content take memory or disk of its own, since it was mapped? And: gives that back; what
 * was mapped is gone. */
bool embi_io_unpacked(const struct embi_io *io);
void embi_io_drop(struct embi_io *io);

/* Writing. flush hands on what was appended and is still gathered here, for a reader at the other
 * end of a pipe. */
emb_status embi_io_append(struct embi_io *io, const void *data, size_t n, emb_err *err);
emb_status embi_io_patch(struct embi_io *io, const void *data, size_t n, uint64_t off,
                         emb_err *err);

/* n bytes that come in pieces: see struct embi_scheme. Is that possible? */
static inline bool embi_io_can_extend(const struct embi_io *io)
{
    return io->scheme->extend && (io->caps & EMBI_IO_CAN_PATCH);
}
emb_status embi_io_extend(struct embi_io *io, uint64_t n, emb_err *err);
emb_status embi_io_place(struct embi_io *io, const void *data, size_t n, uint64_t off,
                         emb_err *err);
void embi_io_filled(struct embi_io *io);

/* Appends bytes off .. off+n-1 of `from`: inside the kernel where both are files, so that they pass
 * through no memory of this process, and share blocks of the disk where the file system can. */
emb_status embi_io_append_from(struct embi_io *io, struct embi_io *from, uint64_t off, uint64_t n,
                               emb_err *err);
emb_status embi_io_prepare(struct embi_io *io, emb_err *err);
emb_status embi_io_commit(struct embi_io *io, emb_err *err);

/* About n bytes will be appended: a disk without room for them is known now, not after minutes of
 * writing. Where nothing can be promised this is EMB_OK. */
emb_status embi_io_reserve(struct embi_io *io, uint64_t n, emb_err *err);
emb_status embi_io_flush(struct embi_io *io, emb_err *err);

void embi_io_close(struct embi_io *io); /* NULL allowed */

/* Says of which part of the file the message speaks that is there; returns err->status. */
emb_status embi_io_fail_in(const struct embi_io *io, emb_err *err);

#endif
