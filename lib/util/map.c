/* util/map.c - see map.h.
 *
 * A slot is 0 (empty) or {high 32 bits of the hash, position + 1}; linear probing starts at the low
 * bits of the hash. At most two thirds of the slots are in use, so a search ends at an empty one
 * soon.
 * The strings themselves are only read where 32 bits of the hash agree. Building hashes a batch of
 * keys ahead and asks for their slots early: the slots lie in no order, and the time is spent
 * waiting.
 */
#include "util/map.h"

#include "util/err.h"
#include "util/large.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BATCH = 32, FEWEST_SLOTS = 8 };

#define KEYS_MAX (UINT64_C(0xFFFFFFFF) - 1) /* position + 1 must fit 32 bits */
#define TAG      (~UINT64_C(0xFFFFFFFF))

/* Empty slots, cleared by hand: pages of calloc would fault twice, when a slot is first read and
 * when it is written. */
static uint64_t *new_slots(uint64_t n)
{
    uint64_t *slots = embi_large_alloc(n * sizeof *slots);
    if (slots)
        memset(slots, 0, n * sizeof *slots);
    return slots;
}

/* The slot that holds key, or the empty one where it would go. */
static uint64_t *probe(const struct embi_map *map, emb_str key, uint64_t hash)
{
    for (uint64_t i = hash & map->mask;; i = (i + 1) & map->mask) {
        uint64_t slot = map->slots[i];
        if (slot == 0)
            return &map->slots[i];
        if (((slot ^ hash) & TAG) == 0 && embi_str_equal(map->keys[(slot & ~TAG) - 1], key))
            return &map->slots[i];
    }
}

/* Enters keys first .. first+n-1 of `total`, n <= BATCH. The strings of the batch after it are
 * asked for: they lie far apart in a file whose rows are between them. */
static void enter(struct embi_map *map, uint64_t first, uint64_t n, uint64_t total)
{
    uint64_t hashes[BATCH];
    for (uint64_t i = 0; i < n; i++) {
        emb_str key = map->keys[first + i];
        if (first + i + BATCH < total)
            __builtin_prefetch(map->keys[first + i + BATCH].s);
        hashes[i] = key.s ? embi_hash(key.s, key.n) : 0;
        __builtin_prefetch(&map->slots[hashes[i] & map->mask], 1);
    }
    for (uint64_t i = 0; i < n; i++) {
        emb_str key = map->keys[first + i];
        if (!key.s)
            continue;
        uint64_t *slot = probe(map, key, hashes[i]);
        if (*slot == 0)
            *slot = (hashes[i] & TAG) | (first + i + 1);
        else
            map->duplicates++;
    }
}

emb_status embi_map_build(struct embi_map *map, const emb_str *keys, uint64_t n, emb_err *err)
{
    *map = (struct embi_map){0};
    if (n > KEYS_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "an index holds at most %" PRIu64 " tokens, found %" PRIu64, KEYS_MAX, n);
    uint64_t slots = FEWEST_SLOTS;
    while (2 * slots < 3 * n)
        slots *= 2;
    map->slots = new_slots(slots);
    if (!map->slots)
        return embi_fail_memory(err, slots * sizeof *map->slots, "the index of tokens");
    map->keys = keys;
    map->mask = slots - 1;
    for (uint64_t first = 0; first < n; first += BATCH)
        enter(map, first, embi_min(BATCH, n - first), n);
    return EMB_OK;
}

uint64_t embi_map_find(const struct embi_map *map, emb_str key)
{
    uint64_t slot = *probe(map, key, embi_hash(key.s, key.n));
    return slot ? (slot & ~TAG) - 1 : EMBI_MAP_NONE;
}

uint64_t embi_map_twin(const struct embi_map *map, uint64_t n)
{
    for (uint64_t i = 0; map->duplicates && i < n; i++)
        if (map->keys[i].s && embi_map_find(map, map->keys[i]) != i)
            return i;
    return n;
}

void embi_map_free(struct embi_map *map)
{
    free(map->slots);
    *map = (struct embi_map){0};
}

emb_status embi_find_twin(const emb_str *names, size_t n, size_t *twin, emb_err *err)
{
    struct embi_map map;
    emb_status status = embi_map_build(&map, names, n, err);
    *twin = status ? n : (size_t)embi_map_twin(&map, n);
    embi_map_free(&map);
    return status;
}
