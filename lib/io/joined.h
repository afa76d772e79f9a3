/* joined.h - bytes that lie in several files, as one file to read.
 *
 * A set of open files stands for its first one; each part of it is put together out of strips: a
 * round takes one strip of each piece, and there are as many rounds as the part says. Pieces that
 * follow one another are one round; columns that were cut apart are a round for each row. Nothing
 * here knows what the bytes mean.
 */
#ifndef EMBI_IO_JOINED_H
#define EMBI_IO_JOINED_H

#include "io/io.h"

/* Strip r of a piece is `bytes` bytes at offset + r * stride of file `file` of the set. */
struct embi_piece {
    size_t file;
    uint64_t offset, stride, bytes;
};

/* Takes over files [n], n > 0, on failure too. *io reads as the first of them does, and closes all
 * of them, and the parts. */
emb_status embi_joined_open(struct embi_io *const *files, size_t n, struct embi_io **io,
                            emb_err *err);

/* *part is owned by `joined`, which embi_joined_open has opened. EMB_BAD_DATA: a strip is not all
 * inside its file. */
emb_status embi_joined_add(struct embi_io *joined, const struct embi_piece *pieces, size_t n,
                           uint64_t rounds, struct embi_io **part, emb_err *err);

#endif
