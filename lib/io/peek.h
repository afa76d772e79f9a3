/* peek.h - the beginning of what is packed, as a file: to see whether it is worth to unpack the
 * rest.
 *
 * What is read is unpacked up to EMBI_PEEK_MAX_BYTES. Who asks for more fails, and
 * embi_peek_fell_short tells that failure from those of the content.
 */
#ifndef EMBI_IO_PEEK_H
#define EMBI_IO_PEEK_H

#include "io/inflate.h"

enum { EMBI_PEEK_MAX_BYTES = 1 << 24 };

/* packed is copied, packed->io borrowed. The file is of `size` bytes, 0: of nobody knows how many,
 * and so of very many. *whole: all there is was unpacked already. */
emb_status embi_peek_open(const struct embi_packed *packed, uint64_t size, struct embi_io **io,
                          bool *whole, emb_err *err);

/* Was more asked for than is unpacked here? */
bool embi_peek_fell_short(const struct embi_io *io);

#endif
