/* member.h - a member of a zip archive as a file to read.
 *
 * A stored member's bytes are used where they lie. A deflated one is unpacked when all of it is
 * needed (mapped, or read past its beginning); its first bytes alone cost only themselves, so
 * looking at headers is cheap. Sizes and checksums are those of the directory, and are compared
 * when the member is first mapped.
 */
#ifndef EMBI_IO_MEMBER_H
#define EMBI_IO_MEMBER_H

#include "io/io.h"
#include "io/zip_read.h"

/* archive must outlive *io; m is copied. EMB_UNSUPPORTED: encrypted, or packed by another method.
 * EMB_BAD_DATA: it says to hold more than it can. Messages about *io come without the member's
 * name, which is its label. */
emb_status embi_member_open(struct embi_io *archive, const struct embi_zip_member *m,
                            struct embi_io **io, emb_err *err);

/* Is *io, which embi_member_open has opened, deflated? *packed: its bytes. */
struct embi_packed;
bool embi_member_packed(const struct embi_io *io, struct embi_packed *packed);

/* Where the member is stored, its checksum will not be compared: for writers that may leave it
 * out. */
void embi_member_trust(struct embi_io *io);

#endif
