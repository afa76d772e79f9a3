/* buckets.h - the positions of many hashes, put into buckets by the hashes' upper bits: each bucket
 * can be worked on alone, by any thread, in a table that fits a cache.
 */
#ifndef EMBI_UTIL_BUCKETS_H
#define EMBI_UTIL_BUCKETS_H

#include "util/pool.h"

struct embi_buckets {
    uint64_t *order;  /* [n] the positions of bucket 0, rising, then those of bucket 1 ... */
    uint64_t *starts; /* [count + 1] where each bucket begins in order */
    size_t count;
};

/* Buckets of about `goal` hashes, if they differ, and at most 4096 of them. Equal hashes share a
 * bucket. Free with embi_buckets_free, after a failure too. */
emb_status embi_buckets_make(struct embi_buckets *buckets, const uint64_t *hashes, uint64_t n,
                             uint64_t goal, struct embi_pool *pool, emb_err *err);
void embi_buckets_free(struct embi_buckets *buckets);

#endif
