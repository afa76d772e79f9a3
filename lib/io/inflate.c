/* inflate.c - see inflate.h. zlib does the work; this feeds it, judges where it ends, and gives the
 * result a place.
 *
 * Output is made in steps that stay in a cache until their checksum is taken. Input that a stream
 * is done with need not stay in memory.
 */
#include "io/inflate.h"

#include "io/spool.h"
#include "util/err.h"

#include <inttypes.h>
#include <zlib.h>

enum {
    IN_STEP_BYTES = 1 << 22,
    OUT_STEP_BYTES = 1 << 18,
    WINDOW_BITS = 15,
    GZIP = 16,        /* added to the bits: zlib reads the header and compares the sums */
    GUESSED_RATIO = 3 /* of text; what a gzip file says of its size is no more than a guess */
};

struct stream {
    const struct embi_packed *p;
    const unsigned char *s; /* [p->n] */
    uint64_t given;         /* bytes of it that zlib was given */
    uint64_t members;       /* of a gzip file, begun */
    bool ended;
    z_stream z;
};

static uint64_t used(const struct stream *st)
{
    return st->given - st->z.avail_in;
}

static int64_t place(const struct stream *st)
{
    return (int64_t)(st->p->at + used(st));
}

static emb_status begin(const struct embi_packed *p, struct stream *st, emb_err *err)
{
    const void *file;
    *st = (struct stream){.p = p, .members = 1};
    emb_status status = embi_io_map(p->io, &file, err);
    if (status)
        return status;
    st->s = (const unsigned char *)file + p->at;
    if (inflateInit2(&st->z, p->gzip ? WINDOW_BITS + GZIP : -WINDOW_BITS) != Z_OK)
        return embi_fail_memory(err, 1 << WINDOW_BITS, "unpacking");
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * What can be wrong
 */

static emb_status fail_cut(const struct stream *st, emb_err *err)
{
    if (!st->p->gzip)
        return embi_fail(err, EMB_BAD_DATA, place(st),
                         "byte %" PRId64 ": the compressed data end before they are complete",
                         place(st));
    return embi_fail(err, EMB_BAD_DATA, place(st),
                     "gzip: the file ends at byte %" PRId64 ", inside member %" PRIu64, place(st),
                     st->members);
}

static emb_status fail_zlib(const struct stream *st, int code, emb_err *err)
{
    if (code == Z_MEM_ERROR)
        return embi_fail_memory(err, 1 << WINDOW_BITS, "unpacking");
    if (code == Z_NEED_DICT)
        return embi_fail(err, EMB_BAD_DATA, place(st), "byte %" PRId64 ": needs a dictionary",
                         place(st));
    return embi_fail(err, EMB_BAD_DATA, place(st), "%sbyte %" PRId64 ": %s",
                     st->p->gzip ? "gzip: " : "", place(st),
                     st->z.msg ? st->z.msg : "not what deflate writes");
}

/* ------------------------------------------------------------------------------------------------
 * Step by step
 */

static void feed(struct stream *st)
{
    uint64_t step = embi_min(st->p->n - st->given, IN_STEP_BYTES);
    if (st->z.avail_in || !step)
        return;
    if (st->given >= IN_STEP_BYTES)
        embi_io_forget(st->p->io, st->p->at + st->given - IN_STEP_BYTES, IN_STEP_BYTES);
    st->z.next_in = (z_const Bytef *)(st->s + st->given);
    st->z.avail_in = (uInt)step;
    st->given += step;
}

/* After the end of a gzip member: another one, zeros to the end (RFC 1952 knows none, but tapes and
 * tools that write whole blocks leave them), or the end. */
static emb_status next_member(struct stream *st, emb_err *err)
{
    uint64_t at = used(st), left = st->p->n - at;
    const unsigned char *rest = st->s + at;
    if (left >= 2 && rest[0] == 0x1F && rest[1] == 0x8B) {
        st->members++;
        return inflateReset(&st->z) == Z_OK ? EMB_OK : fail_zlib(st, Z_STREAM_ERROR, err);
    }
    st->ended = true;
    for (uint64_t i = 0; i < left; i++)
        if (rest[i])
            return embi_fail(err, EMB_BAD_DATA, (int64_t)(st->p->at + at),
                             "gzip: byte %" PRIu64
                             ": expected another member or the end, found other bytes",
                             st->p->at + at);
    return EMB_OK;
}

static emb_status end_stream(struct stream *st, emb_err *err)
{
    if (st->p->gzip)
        return next_member(st, err);
    st->ended = true;
    if (used(st) == st->p->n)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, place(st),
                     "the compressed data end at byte %" PRId64 ", %" PRIu64
                     " bytes before the directory says",
                     place(st), st->p->n - used(st));
}

/* Unpacks into dst until n bytes are there or the stream ends: *got. */
static emb_status unpack(struct stream *st, void *dst, size_t n, size_t *got, emb_err *err)
{
    emb_status status = EMB_OK;
    st->z.next_out = dst;
    st->z.avail_out = (uInt)n;
    while (!status && !st->ended && st->z.avail_out) {
        feed(st);
        int code = inflate(&st->z, Z_NO_FLUSH);
        bool more = st->z.avail_in || st->given < st->p->n || !st->z.avail_out;
        if (code == Z_STREAM_END)
            status = end_stream(st, err);
        else if (code != Z_OK && code != Z_BUF_ERROR)
            status = fail_zlib(st, code, err);
        else if (!more)
            status = fail_cut(st, err);
    }
    *got = n - st->z.avail_out;
    return status;
}

emb_status embi_inflate_head(const struct embi_packed *packed, void *dst, size_t cap, size_t *n,
                             emb_err *err)
{
    struct stream st;
    emb_status status = begin(packed, &st, err);
    *n = 0;
    for (size_t got = 0; !status && !st.ended && *n < cap; *n += got)
        status =
            unpack(&st, (char *)dst + *n, (size_t)embi_min(cap - *n, OUT_STEP_BYTES), &got, err);
    inflateEnd(&st.z);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

static emb_status unpack_gzip(struct stream *st, struct embi_spool *spool, emb_err *err)
{
    emb_status status = EMB_OK;
    uint64_t done = 0;
    while (!status && !st->ended) {
        char *room;
        size_t n, got = 0;
        status = embi_spool_room(spool, &room, &n, err);
        if (!status)
            status = unpack(st, room, (size_t)embi_min(n, OUT_STEP_BYTES), &got, err);
        embi_spool_added(spool, got);
        done += got;
        if (!status && st->p->most && done > st->p->most)
            status = embi_fail(err, EMB_BAD_DATA, place(st),
                               "gzip: unpacks to more than %" PRIu64
                               " bytes, which is more than its tables need",
                               st->p->most);
    }
    return status;
}

static emb_status fail_size(const struct stream *st, const char *than, uint64_t found, emb_err *err)
{
    return embi_fail(err, EMB_BAD_DATA, place(st),
                     "unpacks to %s%" PRIu64 " bytes, the directory says %" PRIu64, than, found,
                     st->p->bytes);
}

/* All bytes are there: the stream must end here, and its sum be right. */
static emb_status check_end(struct stream *st, uint32_t crc, emb_err *err)
{
    char more;
    size_t got = 0;
    emb_status status = st->ended ? EMB_OK : unpack(st, &more, 1, &got, err);
    if (!status && got)
        status = fail_size(st, "more than ", st->p->bytes, err);
    if (!status && crc != st->p->crc)
        status = embi_fail(err, EMB_BAD_DATA, place(st),
                           "its bytes have CRC-32 %08" PRIx32 ", the directory says %08" PRIx32,
                           crc, st->p->crc);
    return status;
}

static emb_status unpack_bare(struct stream *st, struct embi_spool *spool, emb_err *err)
{
    uint64_t done = 0;
    uint32_t crc = 0;
    while (done < st->p->bytes) {
        char *room;
        size_t n, got;
        emb_status status = embi_spool_room(spool, &room, &n, err);
        if (status)
            return status;
        n = (size_t)embi_min(embi_min(n, OUT_STEP_BYTES), st->p->bytes - done);
        status = unpack(st, room, n, &got, err);
        if (status)
            return status;
        crc = (uint32_t)crc32_z(crc, (const Bytef *)room, got);
        embi_spool_added(spool, got);
        done += got;
        if (got < n)
            return fail_size(st, "", done, err);
    }
    return check_end(st, crc, err);
}

/* How much memory to take at once. What a gzip file's last bytes say would do for files of one
 * member below 4 GiB, but they may say anything. */
static uint64_t expected(const struct embi_packed *p)
{
    uint64_t bytes = p->bytes;
    if (p->gzip && !embi_mul(p->n, GUESSED_RATIO, &bytes))
        bytes = p->n;
    return bytes;
}

emb_status embi_inflate(const struct embi_packed *packed, struct embi_io **io, emb_err *err)
{
    struct stream st;
    struct embi_spool spool;
    *io = NULL;
    embi_spool_begin(packed->io->env, expected(packed), &spool);
    emb_status status = begin(packed, &st, err);
    if (!status)
        status = packed->gzip ? unpack_gzip(&st, &spool, err) : unpack_bare(&st, &spool, err);
    inflateEnd(&st.z);
    if (!status)
        return embi_spool_end(&spool, io, err);
    embi_spool_free(&spool);
    return status;
}
