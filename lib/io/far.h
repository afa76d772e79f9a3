/* far.h - files of which the bytes come from elsewhere: they have an address each in memory, and
 * are brought there when somebody is about to read them (embi_io_need).
 *
 * Only files of io/ include this.
 */
#ifndef EMBI_IO_FAR_H
#define EMBI_IO_FAR_H

#include "io/io.h"
#include "io/remote.h"

#include <pthread.h>

#define EMBI_FAR_BLOCKS_MOST (UINT64_C(1) << 26) /* 8 MB of bits */

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

/* ------------------------------------------------------------------------------------------------
 * far.c, far_begin.c: an open file
 */
enum { EMBI_FAR_HEAD_BYTES = 64 << 10 }; /* the header of most files, with one request */

struct embi_far {
    struct embi_io io;
    struct embi_address own; /* for a request later on; its strings are malloc'd, or NULL */
    pthread_mutex_t lock;    /* of all that follows */
    struct embi_remote remote;
    struct embi_version expected; /* by what the cache has; tag "": the server knows of it */
    struct embi_store store;
    int sys; /* errno of a write into the store that failed, or 0 */
    /* What somebody has read while `expected` was not confirmed, so that a newer version can take
     * over where it has the same. */
    struct embi_span *handed; /* [handed_cap], handed_n */
    size_t handed_n, handed_cap;
};

/* A session, if there is none yet. */
emb_status embi_far_session(struct embi_far *far, const struct embi_address *address, emb_err *err);

/* Says why nothing could be written. */
emb_status embi_far_fail_write(const struct embi_far *far, emb_err *err);

/* Brings what is missing of the spans into a store of the same content. *changed: it failed since
 * the content is of another version by now. */
emb_status embi_far_bring(struct embi_far *far, struct embi_store *store,
                          const struct embi_span *spans, size_t n, bool *changed, emb_err *err);

/* Makes far->store what is on the server, or kept of it; or, where everything came at once, *whole
 * a file of its own. */
emb_status embi_far_begin(struct embi_far *far, const struct embi_address *address,
                          struct embi_io **whole, emb_err *err);

/* What far->store has is of an older version, as *err says: makes it the new one, if that has the
 * same where something was handed out. */
emb_status embi_far_renew(struct embi_far *far, emb_err *err);

#endif
