/* buckets.c - a counting sort by the upper bits, stable, by all threads: the positions are cut into
 * stretches; each is counted, then written to where the counts before it end.
 */
#include "util/buckets.h"
#include "util/err.h"
#include "util/loop.h"

#include <stdlib.h>

enum {
    MOST_BITS = 12,         /* more streams than that thrash the caches they are written through */
    STRETCH_LEAST = 1 << 16 /* hashes that are worth a thread */
};

struct sort {
    struct embi_buckets *buckets;
    const uint64_t *hashes; /* [n] */
    uint64_t n;
    unsigned bits;
    size_t stretches;
    uint64_t *at; /* [stretches, count] how many there are; then where the next one goes */
};

static size_t bucket_of(const struct sort *s, uint64_t hash)
{
    return s->bits ? (size_t)(hash >> (64 - s->bits)) : 0;
}

static uint64_t stretch_begin(const struct sort *s, size_t i)
{
    return s->n / s->stretches * i + embi_min(s->n % s->stretches, i);
}

static emb_status count_stretch(void *arg, size_t item, int worker, emb_err *err)
{
    const struct sort *s = arg;
    uint64_t *counts = s->at + item * s->buckets->count, end = stretch_begin(s, item + 1);
    (void)worker;
    (void)err;
    for (uint64_t i = stretch_begin(s, item); i < end; i++)
        counts[bucket_of(s, s->hashes[i])]++;
    return EMB_OK;
}

static emb_status write_stretch(void *arg, size_t item, int worker, emb_err *err)
{
    const struct sort *s = arg;
    uint64_t *at = s->at + item * s->buckets->count, end = stretch_begin(s, item + 1);
    (void)worker;
    (void)err;
    for (uint64_t i = stretch_begin(s, item); i < end; i++)
        s->buckets->order[at[bucket_of(s, s->hashes[i])]++] = i;
    return EMB_OK;
}

/* From how many there are to where they begin: bucket by bucket, in it stretch by stretch. */
static void add_up(const struct sort *s)
{
    uint64_t sum = 0;
    for (size_t p = 0; p < s->buckets->count; p++) {
        s->buckets->starts[p] = sum;
        for (size_t i = 0; i < s->stretches; i++) {
            uint64_t *at = &s->at[i * s->buckets->count + p], n = *at;
            *at = sum;
            sum += n;
        }
    }
    s->buckets->starts[s->buckets->count] = sum;
}

static emb_status make_room(struct sort *s, emb_err *err)
{
    struct embi_buckets *buckets = s->buckets;
    buckets->order = calloc(s->n + 1, sizeof *buckets->order);
    buckets->starts = calloc(buckets->count + 1, sizeof *buckets->starts);
    s->at = calloc(s->stretches * buckets->count, sizeof *s->at);
    return buckets->order && buckets->starts && s->at
               ? EMB_OK
               : embi_fail_memory(err, s->n * sizeof *buckets->order, "the order of hashes");
}

emb_status embi_buckets_make(struct embi_buckets *buckets, const uint64_t *hashes, uint64_t n,
                             uint64_t goal, struct embi_pool *pool, emb_err *err)
{
    struct sort s = {.buckets = buckets, .hashes = hashes, .n = n, .stretches = 1};
    while (s.bits < MOST_BITS && n >> s.bits > goal)
        s.bits++;
    if (pool)
        s.stretches = embi_min(embi_max(n / STRETCH_LEAST, 1), (size_t)embi_pool_threads(pool));
    *buckets = (struct embi_buckets){.count = (size_t)1 << s.bits};
    emb_status status = make_room(&s, err);
    if (!status)
        status = embi_loop(pool, s.stretches, count_stretch, &s, err);
    if (!status) {
        add_up(&s);
        status = embi_loop(pool, s.stretches, write_stretch, &s, err);
    }
    free(s.at);
    return status;
}

void embi_buckets_free(struct embi_buckets *buckets)
{
    free(buckets->order);
    free(buckets->starts);
    *buckets = (struct embi_buckets){0};
}
