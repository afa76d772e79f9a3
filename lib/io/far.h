/* far.h - files of which the bytes come from elsewhere: they have an address each in memory, and
 * are brought there when somebody is about to read them (embi_io_need).
 *
 * Only files of io/ include this.
 */
#ifndef EMBI_IO_FAR_H
#define EMBI_IO_FAR_H

#include "io/io.h"
#include "io/transport.h"

#define EMBI_FAR_BLOCKS_MOST (UINT64_C(1) << 26) /* 8 MB of bits */

/* What proves to a server who asks: all malloc'd, or NULL. */
struct embi_far_auth {
    char *user, *password;
    char *signing, *token; /* as in embi_transport_opts */
};

void embi_far_auth_free(struct embi_far_auth *auth);

/* Opens an http:// or https:// address. What auth holds is taken over. region: where the last
 * answer said that a bucket of S3 is, or "". */
emb_status embi_far_open(const struct embi_env *env, const char *url, struct embi_far_auth *auth,
                         char region[32], struct embi_io **io, emb_err *err);

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

/* Of a content of that size: 4 KiB, or more where there would be too many. */
uint64_t embi_far_block_bytes(uint64_t size);
emb_status embi_far_blocks_new(uint64_t size, struct embi_far_blocks *blocks, emb_err *err);
void embi_far_blocks_free(struct embi_far_blocks *blocks);
/* All blocks that lie within the span, or end where the file does, are there now. */
void embi_far_blocks_add(struct embi_far_blocks *blocks, struct embi_span span);
bool embi_far_block_is_there(const struct embi_far_blocks *blocks, uint64_t i);
/* Those that the span touches: first .. end-1. */
void embi_far_blocks_of(const struct embi_far_blocks *blocks, struct embi_span span,
                        uint64_t *first, uint64_t *end);
/* Block i, of which the last may be short. */
struct embi_span embi_far_block_span(const struct embi_far_blocks *blocks, uint64_t i);

/* What must be asked for so that all of the spans are there. Pieces near each other are one, the
 * bytes between them included, so that they are few; long ones are cut, so that several ways can be
 * used at once. n 0: all is there. */
emb_status embi_far_plan(const struct embi_far_blocks *blocks, const struct embi_span *spans,
                         size_t n, struct embi_far_pieces *pieces, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * far_store.c: where the bytes are
 */
struct embi_entry;

/* Addresses for all of a content, and what takes the bytes behind them: an entry of the cache, a
 * file without a name, or memory. */
struct embi_store {
    struct embi_far_blocks blocks; /* which are there, and known to be right */
    unsigned char *view;           /* [size] */
    uint64_t size;
    int fd;                   /* behind the view from byte `off` on, or -1: memory alone */
    uint64_t off;             /* a multiple of the page's size */
    struct embi_entry *entry; /* whose fd it is then; or NULL */
};

/* entry: taken over, even in failure; NULL: a file in env->temp_dir, or memory. */
emb_status embi_store_open(const struct embi_env *env, uint64_t size, struct embi_entry *entry,
                           struct embi_store *store, emb_err *err);
void embi_store_close(struct embi_store *store); /* {.fd = -1} allowed */

/* Bytes that came. 0 or errno. */
int embi_store_put(struct embi_store *store, uint64_t at, const void *data, size_t n);
/* All bytes of the span are there now. */
void embi_store_added(struct embi_store *store, struct embi_span span);
/* What the entry has of the spans counts as there. */
void embi_store_look(struct embi_store *store, const struct embi_span *spans, size_t n);

/* `next` takes the place of `store`, at its addresses, if it has the same bytes in all of these
 * spans, which are there in both; false: it has not, and nothing changed. */
bool embi_store_replace(struct embi_store *store, struct embi_store *next,
                        const struct embi_span *same, size_t n);

#endif
