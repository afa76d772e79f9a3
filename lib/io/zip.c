/* zip.c - see zip.h. Stored members only, nothing is compressed.
 *
 * Specification: PKWARE APPNOTE 6.3; the numbers of its sections stand at each record. Records are
 * built byte by byte in little-endian order.
 */
#include "io/zip.h"

#include "util/err.h"

#include <zlib.h>

enum {
    FLAG_DESCRIPTOR = 1 << 3,
    FLAG_UTF8 = 1 << 11,
    VERSION = 20,
    VERSION_ZIP64 = 45,
    DOS_DATE = 1 << 5 | 1, /* 1980-01-01 */
    ZIP64_ID = 1
};

static void put16(struct embi_buf *b, uint64_t x)
{
    uint16_t le = (uint16_t)x;
    embi_buf_add(b, &le, sizeof le);
}

static void put32(struct embi_buf *b, uint64_t x)
{
    uint32_t le = (uint32_t)x;
    embi_buf_add(b, &le, sizeof le);
}

static void put64(struct embi_buf *b, uint64_t x)
{
    embi_buf_add(b, &x, sizeof x);
}

/* A field of 32 bits whose value is elsewhere if it does not fit. */
static void put32_or_wide(struct embi_buf *b, uint64_t x)
{
    put32(b, embi_min(x, UINT32_MAX));
}

/* 4.3.7, up to the data: of the open member, with these sizes and CRC. */
static void local_header(const struct embi_zip *z, uint64_t bytes, uint32_t crc, bool descriptor,
                         struct embi_buf *b)
{
    embi_buf_add(b, "PK\3\4", 4);
    put16(b, z->wide ? VERSION_ZIP64 : VERSION);
    put16(b, FLAG_UTF8 | (descriptor ? FLAG_DESCRIPTOR : 0));
    put16(b, 0); /* stored */
    put16(b, 0); /* time */
    put16(b, DOS_DATE);
    put32(b, crc);
    put32(b, z->wide ? UINT32_MAX : bytes);
    put32(b, z->wide ? UINT32_MAX : bytes);
    put16(b, z->name.n);
    put16(b, z->wide ? 20 : 0);
    embi_buf_add(b, z->name.s, z->name.n);
    if (z->wide) { /* 4.5.3 */
        put16(b, ZIP64_ID);
        put16(b, 16);
        put64(b, bytes);
        put64(b, bytes);
    }
}

/* Appends b, or writes it over what is at *patch_at; ends b. */
static emb_status send(struct embi_zip *z, struct embi_buf *b, const uint64_t *patch_at,
                       emb_err *err)
{
    emb_status status;
    if (b->failed)
        status = embi_fail_memory(err, b->n, "a zip record");
    else if (patch_at)
        status = embi_io_patch(z->io, b->s, b->n, *patch_at, err);
    else
        status = embi_io_append(z->io, b->s, b->n, err);
    embi_buf_free(b);
    return status;
}

static bool patchable(const struct embi_zip *z)
{
    return (z->io->caps & EMBI_IO_CAN_PATCH) != 0;
}

emb_status embi_zip_open(struct embi_zip *z, emb_str name, const void *head, size_t head_bytes,
                         uint64_t most_bytes, emb_err *err)
{
    struct embi_buf b = {0};
    if (name.n > UINT16_MAX)
        return embi_fail(err, EMB_BAD_ARG, -1, "a zip member's name of %zu bytes", name.n);
    z->name.n = 0;
    embi_buf_add(&z->name, name.s, name.n);
    if (z->name.failed)
        return embi_fail_memory(err, name.n, "a zip member's name");
    z->at = z->io->size;
    z->data_bytes = 0;
    z->data_crc = (uint32_t)crc32_z(0, NULL, 0);
    z->wide = most_bytes >= UINT32_MAX;
    local_header(z, 0, 0, !patchable(z), &b);
    z->data_at = z->at + b.n;
    embi_buf_add(&b, head, head_bytes);
    return send(z, &b, NULL, err);
}

emb_status embi_zip_add(struct embi_zip *z, const void *data, size_t n, emb_err *err)
{
    if (n == 0)
        return EMB_OK;
    z->data_crc = (uint32_t)crc32_z(z->data_crc, data, n);
    z->data_bytes += n;
    return embi_io_append(z->io, data, n, err);
}

/* 4.3.12: of the member that was closed. */
static void directory_entry(struct embi_zip *z, uint64_t bytes, uint32_t crc)
{
    struct embi_buf *b = &z->directory;
    bool wide = bytes >= UINT32_MAX, far = z->at >= UINT32_MAX;
    size_t extra = (wide ? 16 : 0) + (far ? 8 : 0);
    embi_buf_add(b, "PK\1\2", 4);
    put16(b, wide || far || z->wide ? VERSION_ZIP64 : VERSION); /* made by: DOS, no attributes */
    put16(b, wide || far || z->wide ? VERSION_ZIP64 : VERSION);
    put16(b, FLAG_UTF8 | (patchable(z) ? 0 : FLAG_DESCRIPTOR));
    put16(b, 0); /* stored */
    put16(b, 0); /* time */
    put16(b, DOS_DATE);
    put32(b, crc);
    put32_or_wide(b, bytes);
    put32_or_wide(b, bytes);
    put16(b, z->name.n);
    put16(b, extra ? extra + 4 : 0);
    put16(b, 0); /* comment */
    put16(b, 0); /* disk */
    put16(b, 0); /* internal attributes */
    put32(b, 0); /* external attributes */
    put32_or_wide(b, z->at);
    embi_buf_add(b, z->name.s, z->name.n);
    if (extra) { /* 4.5.3: only what does not fit above, in this order */
        put16(b, ZIP64_ID);
        put16(b, extra);
    }
    if (wide) {
        put64(b, bytes);
        put64(b, bytes);
    }
    if (far)
        put64(b, z->at);
    z->members++;
}

/* 4.3.9: after the data, where the local header could not be filled in. */
static void descriptor(const struct embi_zip *z, uint64_t bytes, uint32_t crc, struct embi_buf *b)
{
    embi_buf_add(b, "PK\7\x08", 4);
    put32(b, crc);
    for (int i = 0; i < 2; i++) {
        if (z->wide)
            put64(b, bytes);
        else
            put32(b, bytes);
    }
}

emb_status embi_zip_close(struct embi_zip *z, const void *head, size_t head_bytes, emb_err *err)
{
    struct embi_buf b = {0};
    uint64_t bytes = head_bytes + z->data_bytes;
    uLong head_crc = crc32_z(crc32_z(0, NULL, 0), head, head_bytes);
    uint32_t crc = (uint32_t)crc32_combine(head_crc, z->data_crc, (z_off_t)z->data_bytes);
    if (bytes >= UINT32_MAX && !z->wide)
        return embi_fail(err, EMB_BUG, -1, "a zip member passed the size it was opened with");
    directory_entry(z, bytes, crc);
    if (!patchable(z)) {
        descriptor(z, bytes, crc, &b);
        return send(z, &b, NULL, err);
    }
    local_header(z, bytes, crc, false, &b);
    embi_buf_add(&b, head, head_bytes);
    return send(z, &b, &z->at, err);
}

/* 4.3.14 and 4.3.15: of a directory [bytes] at `at`. */
static void zip64_end(const struct embi_zip *z, uint64_t at, uint64_t bytes, struct embi_buf *b)
{
    embi_buf_add(b, "PK\6\6", 4);
    put64(b, 44); /* bytes of this record that follow */
    put16(b, VERSION_ZIP64);
    put16(b, VERSION_ZIP64);
    put32(b, 0); /* disks */
    put32(b, 0);
    put64(b, z->members);
    put64(b, z->members);
    put64(b, bytes);
    put64(b, at);
    embi_buf_add(b, "PK\6\7", 4);
    put32(b, 0); /* disk */
    put64(b, at + bytes);
    put32(b, 1); /* disks */
}

emb_status embi_zip_end(struct embi_zip *z, emb_err *err)
{
    struct embi_buf *b = &z->directory;
    uint64_t at = z->io->size, bytes = b->n;
    if (z->members >= UINT16_MAX || at >= UINT32_MAX || bytes >= UINT32_MAX)
        zip64_end(z, at, bytes, b);
    embi_buf_add(b, "PK\5\6", 4); /* 4.3.16 */
    put16(b, 0);                  /* disks */
    put16(b, 0);
    put16(b, embi_min(z->members, UINT16_MAX));
    put16(b, embi_min(z->members, UINT16_MAX));
    put32_or_wide(b, bytes);
    put32_or_wide(b, at);
    put16(b, 0); /* comment */
    return send(z, b, NULL, err);
}

void embi_zip_free(struct embi_zip *z)
{
    embi_buf_free(&z->directory);
    embi_buf_free(&z->name);
}
