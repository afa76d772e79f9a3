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

void embi_map_free(struct embi_map *map);

/* The 64-bit hash in use: fast, not cryptographic, the same on every machine. */
uint64_t embi_hash(const void *bytes, size_t n);

#endif
