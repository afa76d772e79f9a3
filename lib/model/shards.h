/* shards.h - a table that is cut for tensor parallelism: N files of one shape, each a safetensors
 * file that says in its metadata which part it has.
 *
 * The total along the axis is cut into parts of ceil(total / N) rows or dims; what a part has not
 * got is zeros, and no part of the table. Implements docs/formats/shards.md.
 */
#ifndef EMBI_MODEL_SHARDS_H
#define EMBI_MODEL_SHARDS_H

#include "model/weights.h"

#define EMBI_SHARD_NAME_BYTES 64

/* What one of them says of itself. */
struct embi_shard {
    bool dims; /* dims are cut, else rows */
    uint64_t rank, size;
    uint64_t first, count; /* of the rows or dims of the table */
    uint64_t total;        /* of them all */
};

enum {
    EMBI_SHARD_AXIS,
    EMBI_SHARD_RANK,
    EMBI_SHARD_SIZE,
    EMBI_SHARD_FIRST,
    EMBI_SHARD_COUNT,
    EMBI_SHARD_TOTAL,
    EMBI_SHARD_KEYS
};

/* The key of the metadata for one of these, and the name of the axis: constants. */
const char *embi_shard_key(int which, bool dims);
const char *embi_shard_axis_name(bool dims);

/* Rows or dims of each of the files, padding included. size > 0. */
static inline uint64_t embi_shard_part(uint64_t total, uint64_t size)
{
    return total / size + (total % size != 0);
}

/* Sets first and count by the rest. */
void embi_shard_place(struct embi_shard *s);

/* "table-00001-of-00008.safetensors" for rank 0 of 8. */
const char *embi_shard_name(char out[EMBI_SHARD_NAME_BYTES], uint64_t rank, uint64_t size);

/* Does the directory hold such files? */
bool embi_shards_in(const struct embi_env *env, const char *dir);

/* Opens all of them as one file of weights, w->files[0]: each tensor is what it was before it was
 * cut. *there: the directory holds some. EMB_BAD_DATA: one is missing, one too many, or they are
 * not those of one table. */
emb_status embi_shards_open(const char *dir, struct embi_weights *w, bool *there, emb_err *err);

#endif
