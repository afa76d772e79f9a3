/* map.h - from a byte string to its first position in an array of strings.
 *
 * Open addressing over 8-byte slots {32 bits of the hash, position}; the strings stay where they
 * are. At most 2^32 - 2 strings. Strings with s == NULL are holes and are not entered.
 */
#ifndef EMBI_UTIL_MAP_H
#define EMBI_UTIL_MAP_H

#include "util/base.h"

struct embi_map {
    const emb_str *keys; /* [n], borrowed: must stay where they are */
    uint64_t *slots;     /* [mask + 1] */
    uint64_t mask;
    uint64_t duplicates; /* keys equal to one before them */
};

#define EMBI_MAP_NONE UINT64_MAX

/* Indexes keys [n]. Free with embi_map_free. */
emb_status embi_map_build(struct embi_map *map, const emb_str *keys, uint64_t n, emb_err *err);

/* The first position of key, or EMBI_MAP_NONE. */
uint64_t embi_map_find(const struct embi_map *map, emb_str key);

/* The first position of the keys [n] whose key occurred before; n: all differ. */
uint64_t embi_map_twin(const struct embi_map *map, uint64_t n);

void embi_map_free(struct embi_map *map);

/* The same of names [n] that are not indexed. */
emb_status embi_find_twin(const emb_str *names, size_t n, size_t *twin, emb_err *err);

/* The 64-bit hash in use: fast, not cryptographic, the same on every machine. */
uint64_t embi_hash(const void *bytes, size_t n);

#endif
