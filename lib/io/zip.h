/* zip.h - writes a zip archive of stored members to an open io.
 *
 * The first bytes of a member, its head, may still change until it is closed, where the target can
 * be patched (EMBI_IO_CAN_PATCH); elsewhere sizes and CRC follow the data in a descriptor. The same
 * members give the same bytes: every date is 1980-01-01. Zip64 records appear only where 32 bits
 * are too few, or might be.
 */
#ifndef EMBI_IO_ZIP_H
#define EMBI_IO_ZIP_H

#include "io/io.h"
#include "util/buf.h"

struct embi_zip {
    struct embi_io *io;
    struct embi_buf directory; /* the central directory, as it grows */
    uint64_t members;
    /* the member that is open */
    struct embi_buf name;
    uint64_t at;         /* of its local header */
    uint64_t data_at;    /* of its head */
    uint64_t data_bytes; /* after the head */
    uint32_t data_crc;
    bool wide; /* its local header has 64-bit sizes */
};

/* {0} with io set is an archive without members. Only one member is open at a time. */

/* Opens the member `name` (UTF-8, at most 65,535 bytes) and writes its head [head_bytes].
 * most_bytes: the size it will not pass; UINT64_MAX if that is not known. */
emb_status embi_zip_open(struct embi_zip *z, emb_str name, const void *head, size_t head_bytes,
                         uint64_t most_bytes, emb_err *err);
emb_status embi_zip_add(struct embi_zip *z, const void *data, size_t n, emb_err *err);

/* Closes the member. head, of the same length, is what the member begins with in the end; it may
 * differ from what was opened only where the target can be patched. */
emb_status embi_zip_close(struct embi_zip *z, const void *head, size_t head_bytes, emb_err *err);

/* Writes the central directory: the archive is complete. */
emb_status embi_zip_end(struct embi_zip *z, emb_err *err);

void embi_zip_free(struct embi_zip *z);

#endif
