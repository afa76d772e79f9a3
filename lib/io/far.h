/* far.h - files of which the bytes come from elsewhere: they have an address each in memory, and
 * are brought there when somebody is about to read them (embi_io_need).
 *
 * Only files of io/ include this.
 */
#ifndef EMBI_IO_FAR_H
#define EMBI_IO_FAR_H

#include "io/io.h"
#include "io/transport.h"

/* What was gathered of spans and is not there: pieces of whole blocks, in order and apart. */
struct embi_far_pieces {
    struct embi_span *list; /* [n], malloc'd */
    size_t n;
};

/* Which blocks of a file are there. */
struct embi_far_blocks {
    uint64_t size, block_bytes, n, missing;
    uint64_t *there; /* [n] bits */
};

emb_status embi_far_blocks_new(uint64_t size, struct embi_far_blocks *blocks, emb_err *err);
void embi_far_blocks_free(struct embi_far_blocks *blocks);
/* All blocks that lie within the span, or end where the file does, are there now. */
void embi_far_blocks_add(struct embi_far_blocks *blocks, struct embi_span span);

/* What must be asked for so that all of the spans are there. Pieces near each other are one, the
 * bytes between them included, so that they are few; long ones are cut, so that several ways can be
 * used at once. n 0: all is there. */
emb_status embi_far_plan(const struct embi_far_blocks *blocks, const struct embi_span *spans,
                         size_t n, struct embi_far_pieces *pieces, emb_err *err);

#endif
