/* io/io.c - see io.h: which scheme a URL means, and the calls that every scheme shares.
 *
 * Bounds are checked here once, so that no scheme is asked for bytes outside its content.
 */
#include "io/io.h"

#include "io/place.h"
#include "io/schemes.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

/* Length of SCHEME in "SCHEME://...", RFC 3986 section 3.1; 0 where the URL does not begin so. */
static size_t scheme_length(const char *url)
{
    size_t n = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    bool letter = (url[0] >= 'a' && url[0] <= 'z') || (url[0] >= 'A' && url[0] <= 'Z');
    return letter && strncmp(url + n, "://", 3) == 0 ? n : 0;
}

emb_status embi_io_open(const struct embi_env *env, const char *url, unsigned mode,
                        struct embi_io **io, emb_err *err)
{
    const char *inside;
    struct embi_place *place = mode == EMBI_IO_READ ? embi_place_of(env, url, &inside) : NULL;
    *io = NULL;
    if (strcmp(url, "-") == 0)
        return embi_scheme_stdio.open(env, url, mode, io, err);
    if (place && *inside)
        return place->kind->open(place, inside, io, err);
    size_t n = scheme_length(url);
    if ((n == 4 || n == 5) && strncasecmp(url, "https", n) == 0)
        return embi_scheme_http.open(env, url, mode, io, err);
    if (n == 2 && strncasecmp(url, "s3", 2) == 0)
        return embi_scheme_s3.open(env, url, mode, io, err);
    if (n > 0) {
        char name[EMBI_SHOW_MAX];
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s:// is not a kind of address this build %s",
                         embi_show(name, (emb_str){url, n}),
                         mode & EMBI_IO_WRITE ? "writes" : "reads");
    }
    return embi_scheme_file.open(env, url, mode, io, err);
}

emb_status embi_io_open_path(const struct embi_env *env, const char *path, struct embi_io **io,
                             emb_err *err)
{
    *io = NULL;
    return embi_scheme_file.open(env, path, EMBI_IO_READ, io, err);
}

static emb_status check_inside(const struct embi_io *io, uint64_t off, uint64_t n, emb_err *err)
{
    if (embi_inside(off, n, io->size))
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, off <= INT64_MAX ? (int64_t)off : -1,
                     "expected %" PRIu64 " bytes at %" PRIu64 ", the file ends at %" PRIu64, n, off,
                     io->size);
}

emb_status embi_io_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    emb_status status = check_inside(io, off, n, err);
    return status || n == 0 ? status : io->scheme->pread(io, dst, n, off, err);
}

/* Reads the content into io->whole. */
static emb_status read_whole(struct embi_io *io, emb_err *err)
{
    void *whole = malloc(embi_max(io->size, 1));
    if (!whole)
        return embi_fail_memory(err, io->size, "the file's content");
    emb_status status = embi_io_pread(io, whole, io->size, 0, err);
    if (status != EMB_OK) {
        free(whole);
        return status;
    }
    io->whole = whole;
    return EMB_OK;
}

emb_status embi_io_need(struct embi_io *io, const struct embi_span *spans, size_t n, emb_err *err)
{
    if (!io->scheme->need)
        return EMB_OK;
    for (size_t i = 0; i < n; i++)
        if (check_inside(io, spans[i].off, spans[i].n, err))
            return err->status;
    return io->scheme->need(io, spans, n, err);
}

emb_status embi_io_map(struct embi_io *io, const void **data, emb_err *err)
{
    emb_status status = embi_io_need(io, &(struct embi_span){0, io->size}, 1, err);
    return status ? status : embi_io_view(io, data, err);
}

emb_status embi_io_view(struct embi_io *io, const void **data, emb_err *err)
{
    if (io->caps & EMBI_IO_CAN_MAP)
        return io->scheme->map(io, data, err);
    if (!io->whole) {
        emb_status status = read_whole(io, err);
        if (status != EMB_OK)
            return status;
    }
    *data = io->whole;
    return EMB_OK;
}

emb_status embi_io_front(struct embi_io *io, uint64_t n, const void **data, uint64_t *have,
                         emb_err *err)
{
    if (io->scheme->front)
        return io->scheme->front(io, n, data, have, err);
    *have = io->size;
    return embi_io_map(io, data, err);
}

void embi_io_forget(struct embi_io *io, uint64_t off, uint64_t n)
{
    if (io->scheme->forget && embi_inside(off, n, io->size))
        io->scheme->forget(io, off, n);
}

bool embi_io_unpacked(const struct embi_io *io)
{
    return io->scheme->unpacked && io->scheme->unpacked(io);
}

void embi_io_drop(struct embi_io *io)
{
    if (io->scheme->drop)
        io->scheme->drop(io);
}

emb_status embi_io_flush(struct embi_io *io, emb_err *err)
{
    return io->scheme->flush ? io->scheme->flush(io, err) : EMB_OK;
}

void embi_io_close(struct embi_io *io)
{
    if (!io)
        return;
    free(io->whole);
    free(io->label);
    io->scheme->close(io);
}

emb_status embi_io_fail_in(const struct embi_io *io, emb_err *err)
{
    return io->label ? embi_fail_in(err, "%s", io->label) : err->status;
}

emb_status embi_io_append(struct embi_io *io, const void *data, size_t n, emb_err *err)
{
    return io->scheme->append(io, data, n, err);
}

emb_status embi_io_patch(struct embi_io *io, const void *data, size_t n, uint64_t off, emb_err *err)
{
    return io->scheme->patch(io, data, n, off, err);
}

emb_status embi_io_extend(struct embi_io *io, uint64_t n, emb_err *err)
{
    return io->scheme->extend(io, n, err);
}

emb_status embi_io_place(struct embi_io *io, const void *data, size_t n, uint64_t off, emb_err *err)
{
    return io->scheme->place(io, data, n, off, err);
}

void embi_io_filled(struct embi_io *io)
{
    io->scheme->filled(io);
}

emb_status embi_io_append_from(struct embi_io *io, struct embi_io *from, uint64_t off, uint64_t n,
                               emb_err *err)
{
    const void *data;
    emb_status status = check_inside(from, off, n, err);
    if (status || n == 0)
        return status;
    if (io->scheme->append_fd && from->scheme->descriptor)
        return io->scheme->append_fd(io, from->scheme->descriptor(from), off, n, err);
    status = embi_io_map(from, &data, err);
    return status ? status : embi_io_append(io, (const char *)data + off, (size_t)n, err);
}

emb_status embi_io_prepare(struct embi_io *io, emb_err *err)
{
    return io->scheme->prepare ? io->scheme->prepare(io, err) : EMB_OK;
}

emb_status embi_io_commit(struct embi_io *io, emb_err *err)
{
    return io->scheme->commit(io, err);
}

emb_status embi_io_reserve(struct embi_io *io, uint64_t n, emb_err *err)
{
    return io->scheme->reserve ? io->scheme->reserve(io, n, err) : EMB_OK;
}
