/* member.c - see member.h. */
#include "io/member.h"

#include "io/inflate.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STORED = 0, DEFLATED = 8, HEAD_STEP_BYTES = 4096, HEAD_MAX_BYTES = 1 << 20 };

struct member {
    struct embi_io io;
    struct embi_io *archive; /* borrowed */
    struct embi_packed packed;
    bool stored;
    bool checked; /* of a stored one: its checksum was compared, or will not be */
    char *head;   /* [head_bytes] of a deflated one: its first bytes, or NULL */
    size_t head_bytes;
    struct embi_io *whole; /* or all of it, or NULL */
};

/* ------------------------------------------------------------------------------------------------
 * Deflated
 */

static void drop_head(struct member *m)
{
    free(m->head);
    m->head = NULL;
    m->head_bytes = 0;
}

static emb_status unpack_all(struct member *m, emb_err *err)
{
    return m->whole ? EMB_OK : embi_inflate(&m->packed, &m->whole, err);
}

/* Makes the first bytes at hand, `need` of them at least. */
static emb_status unpack_head(struct member *m, uint64_t need, emb_err *err)
{
    uint64_t want = (need + HEAD_STEP_BYTES - 1) / HEAD_STEP_BYTES * HEAD_STEP_BYTES;
    if (need <= m->head_bytes)
        return EMB_OK;
    want = embi_min(want, m->io.size);
    char *head = realloc(m->head, (size_t)want);
    if (!head)
        return embi_fail_memory(err, want, "the beginning of a member");
    m->head = head;
    m->head_bytes = 0;
    emb_status status = embi_inflate_head(&m->packed, head, (size_t)want, &m->head_bytes, err);
    if (!status && m->head_bytes < want)
        status = embi_fail(err, EMB_BAD_DATA, (int64_t)m->packed.at,
                           "unpacks to %zu bytes, the directory says %" PRIu64, m->head_bytes,
                           m->io.size);
    if (status)
        m->head_bytes = 0;
    return status;
}

static emb_status deflated_pread(struct member *m, void *dst, size_t n, uint64_t off, emb_err *err)
{
    bool head = !m->whole && off + n <= HEAD_MAX_BYTES;
    emb_status status = head ? unpack_head(m, off + n, err) : unpack_all(m, err);
    if (status)
        return status;
    if (!head)
        return embi_io_pread(m->whole, dst, n, off, err);
    memcpy(dst, m->head + off, n);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Both
 */

static emb_status member_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    struct member *m = (struct member *)io;
    if (m->stored)
        return embi_io_pread(m->archive, dst, n, m->packed.at + off, err);
    return deflated_pread(m, dst, n, off, err);
}

static emb_status check_stored(struct member *m, const void *data, emb_err *err)
{
    if (m->checked)
        return EMB_OK;
    uint32_t crc = embi_crc32(m->io.env, data, m->io.size);
    if (crc != m->packed.crc)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)m->packed.at,
                         "its bytes have CRC-32 %08" PRIx32 ", the directory says %08" PRIx32, crc,
                         m->packed.crc);
    m->checked = true;
    return EMB_OK;
}

static emb_status member_map(struct embi_io *io, const void **data, emb_err *err)
{
    struct member *m = (struct member *)io;
    emb_status status;
    if (!m->stored) {
        status = unpack_all(m, err);
        return status ? status : embi_io_map(m->whole, data, err);
    }
    status = embi_io_map(m->archive, data, err);
    if (status)
        return status;
    *data = (const char *)*data + m->packed.at;
    return check_stored(m, *data, err);
}

/* Of a deflated member the first bytes go as a whole: they are unpacked together. */
static void member_forget(struct embi_io *io, uint64_t off, uint64_t n)
{
    struct member *m = (struct member *)io;
    if (m->stored)
        embi_io_forget(m->archive, m->packed.at + off, n);
    else if (m->whole)
        embi_io_forget(m->whole, off, n);
    else
        drop_head(m);
}

static bool member_unpacked(const struct embi_io *io)
{
    return ((const struct member *)io)->whole != NULL;
}

static void member_drop(struct embi_io *io)
{
    struct member *m = (struct member *)io;
    embi_io_close(m->whole);
    m->whole = NULL;
}

static void member_close(struct embi_io *io)
{
    struct member *m = (struct member *)io;
    embi_io_close(m->whole);
    drop_head(m);
    free(m);
}

static const struct embi_scheme scheme_member = {
    .name = "member",
    .pread = member_pread,
    .map = member_map,
    .forget = member_forget,
    .unpacked = member_unpacked,
    .drop = member_drop,
    .close = member_close,
};

static emb_status check_method(const struct embi_zip_member *m, emb_err *err)
{
    if (m->encrypted)
        return embi_fail(err, EMB_UNSUPPORTED, (int64_t)m->at, "is encrypted");
    if (m->method != STORED && m->method != DEFLATED)
        return embi_fail(err, EMB_UNSUPPORTED, (int64_t)m->at,
                         "is packed by method %d: only stored and deflated ones are read",
                         m->method);
    if (m->method == STORED && m->packed_bytes != m->bytes)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)m->at,
                         "stored, but of two sizes: %" PRIu64 " and %" PRIu64 " bytes", m->bytes,
                         m->packed_bytes);
    if (!embi_inflate_can(m->packed_bytes, m->bytes))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)m->at,
                         "says to unpack to %" PRIu64 " bytes, more than deflate makes of %" PRIu64,
                         m->bytes, m->packed_bytes);
    return EMB_OK;
}

static emb_status set_label(struct embi_io *io, emb_str name, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    size_t bytes = sizeof show + sizeof "member ''";
    io->label = malloc(bytes);
    if (!io->label)
        return embi_fail_memory(err, bytes, "a name");
    (void)snprintf(io->label, bytes, "member '%s'", embi_show(show, name));
    return EMB_OK;
}

emb_status embi_member_open(struct embi_io *archive, const struct embi_zip_member *m,
                            struct embi_io **io, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    *io = NULL;
    if (check_method(m, err))
        return embi_fail_in(err, "member '%s'", embi_show(show, m->name));
    struct member *member = calloc(1, sizeof *member);
    if (!member)
        return embi_fail_memory(err, sizeof *member, "an open file");
    member->io.scheme = &scheme_member;
    member->io.env = archive->env;
    member->io.caps = EMBI_IO_CAN_MAP;
    member->io.size = m->bytes;
    member->archive = archive;
    member->stored = m->method == STORED;
    member->packed = (struct embi_packed){
        .io = archive, .at = m->data_at, .n = m->packed_bytes, .bytes = m->bytes, .crc = m->crc};
    emb_status status = set_label(&member->io, m->name, err);
    if (status)
        embi_io_close(&member->io);
    else
        *io = &member->io;
    return status;
}

bool embi_member_packed(const struct embi_io *io, struct embi_packed *packed)
{
    const struct member *m = (const struct member *)io;
    *packed = m->packed;
    return !m->stored;
}

void embi_member_trust(struct embi_io *io)
{
    ((struct member *)io)->checked = true;
}
