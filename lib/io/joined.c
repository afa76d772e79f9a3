/* joined.c - see joined.h.
 *
 * Reading a few bytes of a part copies them out of the mapped files. A part that is mapped is
 * copied once, into a spool: memory where that is plenty, else a file without a name.
 */
#include "io/joined.h"

#include "io/spool.h"
#include "util/err.h"

#include <stdlib.h>

struct strip {
    const char *at; /* of round 0, in a mapped file */
    uint64_t stride, bytes;
};

struct part {
    struct embi_io io;
    struct joined *set;
    struct strip *strips; /* [n] */
    size_t n;
    uint64_t round_bytes;
    struct embi_io *whole; /* all of it, once it was mapped; or NULL */
    struct part *next;
};

struct joined {
    struct embi_io io;
    struct embi_io **files; /* [n] */
    size_t n;
    struct part *parts;
};

/* ------------------------------------------------------------------------------------------------
 * A part
 */

/* n > 0 bytes at off, all of them inside. */
static void copy(const struct part *p, char *dst, size_t n, uint64_t off)
{
    uint64_t round = off / p->round_bytes, skip = off % p->round_bytes;
    for (size_t i = 0; n > 0; i++) {
        if (i == p->n) {
            i = 0;
            round++;
        }
        const struct strip *s = &p->strips[i];
        size_t step = skip < s->bytes ? (size_t)embi_min(n, s->bytes - skip) : 0;
        if (step > 0)
            memcpy(dst, s->at + round * s->stride + skip, step);
        skip = step > 0 ? 0 : skip - s->bytes;
        dst += step;
        n -= step;
    }
}

static emb_status part_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    struct part *p = (struct part *)io;
    if (p->whole)
        return embi_io_pread(p->whole, dst, n, off, err);
    if (n > 0)
        copy(p, dst, n, off);
    return EMB_OK;
}

/* What was copied need not stay in memory in the files as well. */
static void forget_files(const struct joined *set)
{
    for (size_t i = 0; i < set->n; i++)
        embi_io_forget(set->files[i], 0, set->files[i]->size);
}

static emb_status put_together(struct part *p, emb_err *err)
{
    struct embi_spool spool;
    emb_status status = EMB_OK;
    embi_spool_begin(p->io.env, p->io.size, &spool);
    for (uint64_t at = 0; !status && at < p->io.size;) {
        char *room;
        size_t n;
        status = embi_spool_room(&spool, &room, &n, err);
        if (status)
            break;
        n = (size_t)embi_min(n, p->io.size - at);
        copy(p, room, n, at);
        embi_spool_added(&spool, n);
        at += n;
    }
    if (!status)
        status = embi_spool_end(&spool, &p->whole, err);
    embi_spool_free(&spool);
    forget_files(p->set);
    return status;
}

static emb_status part_map(struct embi_io *io, const void **data, emb_err *err)
{
    struct part *p = (struct part *)io;
    emb_status status = p->whole ? EMB_OK : put_together(p, err);
    return status ? status : embi_io_map(p->whole, data, err);
}

static void part_forget(struct embi_io *io, uint64_t off, uint64_t n)
{
    struct part *p = (struct part *)io;
    if (p->whole)
        embi_io_forget(p->whole, off, n);
}

static bool part_unpacked(const struct embi_io *io)
{
    return ((const struct part *)io)->whole != NULL;
}

static void part_drop(struct embi_io *io)
{
    struct part *p = (struct part *)io;
    embi_io_close(p->whole);
    p->whole = NULL;
}

static void part_close(struct embi_io *io)
{
    struct part *p = (struct part *)io;
    embi_io_close(p->whole);
    free(p->strips);
    free(p);
}

static const struct embi_scheme scheme_part = {
    .name = "part",
    .pread = part_pread,
    .map = part_map,
    .forget = part_forget,
    .unpacked = part_unpacked,
    .drop = part_drop,
    .close = part_close,
};

/* ------------------------------------------------------------------------------------------------
 * The set
 */

static emb_status joined_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    return embi_io_pread(((struct joined *)io)->files[0], dst, n, off, err);
}

static emb_status joined_map(struct embi_io *io, const void **data, emb_err *err)
{
    return embi_io_map(((struct joined *)io)->files[0], data, err);
}

static void joined_close(struct embi_io *io)
{
    struct joined *set = (struct joined *)io;
    for (struct part *p = set->parts, *next; p; p = next) {
        next = p->next;
        embi_io_close(&p->io);
    }
    for (size_t i = 0; i < set->n; i++)
        embi_io_close(set->files[i]);
    free(set->files);
    free(set);
}

static const struct embi_scheme scheme_joined = {
    .name = "joined",
    .pread = joined_pread,
    .map = joined_map,
    .close = joined_close,
};

emb_status embi_joined_open(struct embi_io *const *files, size_t n, struct embi_io **io,
                            emb_err *err)
{
    struct joined *set = calloc(1, sizeof *set);
    struct embi_io **list = calloc(n, sizeof(struct embi_io *));
    *io = NULL;
    if (!set || !list) {
        for (size_t i = 0; i < n; i++)
            embi_io_close(files[i]);
        free(set);
        free(list);
        return embi_fail_memory(err, n * sizeof(struct embi_io *), "a set of files");
    }
    memcpy(list, files, n * sizeof(struct embi_io *));
    set->io.scheme = &scheme_joined;
    set->io.env = files[0]->env;
    set->io.caps = EMBI_IO_CAN_MAP;
    set->io.size = files[0]->size;
    set->files = list;
    set->n = n;
    *io = &set->io;
    return EMB_OK;
}

/* Maps the file of a piece; its strips are all there. */
static emb_status place(const struct joined *set, const struct embi_piece *piece, uint64_t rounds,
                        struct strip *s, emb_err *err)
{
    const void *data;
    uint64_t end = 0;
    struct embi_io *file = set->files[piece->file];
    bool empty = rounds == 0 || piece->bytes == 0;
    bool fits =
        empty || (embi_mul(rounds - 1, piece->stride, &end) && embi_add(end, piece->bytes, &end) &&
                  embi_inside(piece->offset, end, file->size));
    if (!fits)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)piece->offset,
                         "file %zu: expected more bytes, the file ends at %llu", piece->file + 1,
                         (unsigned long long)file->size);
    *s = (struct strip){NULL, piece->stride, empty ? 0 : piece->bytes};
    if (empty)
        return EMB_OK;
    emb_status status = embi_io_map(file, &data, err);
    s->at = status ? NULL : (const char *)data + piece->offset;
    return status;
}

emb_status embi_joined_add(struct embi_io *joined, const struct embi_piece *pieces, size_t n,
                           uint64_t rounds, struct embi_io **part, emb_err *err)
{
    struct joined *set = (struct joined *)joined;
    struct part *p = calloc(1, sizeof *p);
    struct strip *strips = calloc(n ? n : 1, sizeof *strips);
    emb_status status = EMB_OK;
    if (!p || !strips) {
        free(p);
        free(strips);
        return embi_fail_memory(err, n * sizeof *strips, "a part of several files");
    }
    *p = (struct part){.set = set, .strips = strips, .n = n, .next = set->parts};
    p->io.scheme = &scheme_part;
    p->io.env = joined->env;
    p->io.caps = EMBI_IO_CAN_MAP;
    set->parts = p;
    for (size_t i = 0; !status && i < n; i++) {
        status = place(set, &pieces[i], rounds, &strips[i], err);
        p->round_bytes += strips[i].bytes;
    }
    p->io.size = p->round_bytes * rounds; /* bytes that are there */
    *part = &p->io;
    return status;
}
