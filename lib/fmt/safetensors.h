/* safetensors.h - element types, the check of data spans, and the writing half of the format. Only
 * for safetensors*.c.
 *
 * Specification: the "Format" section of the safetensors documentation; its reference
 * implementation where that is silent.
 */
#ifndef EMBI_FMT_SAFETENSORS_H
#define EMBI_FMT_SAFETENSORS_H

#include "fmt/sink.h"
#include "util/json.h"

#define EMBI_ST_HEADER_MAX_BYTES 100000000 /* as in the reference implementation */

struct embi_st_type {
    const char *name;
    emb_dtype dtype; /* EMB_DTYPE_NONE: listed, not computed with */
    unsigned bits;
};

/* The type of that name (a JSON string) or of that dtype; NULL if there is none. */
const struct embi_st_type *embi_st_type_named(const struct embi_json_value *name);
const struct embi_st_type *embi_st_type_of(emb_dtype dtype);

struct embi_st_key {
    uint64_t end; /* in the text of its list */
    uint64_t at;  /* place in the file */
};

/* Keys of one object, decoded. {0} is the empty list. */
struct embi_st_keys {
    struct embi_buf text;     /* one after another */
    struct embi_st_key *list; /* [n] */
    size_t n, cap;
};

emb_status embi_st_keys_add(struct embi_st_keys *k, const struct embi_json_value *key, uint64_t at,
                            emb_err *err);
/* Key i; valid until the next one is added. */
emb_str embi_st_keys_get(const struct embi_st_keys *k, size_t i);
/* EMB_BAD_DATA "WHAT 'KEY' is there twice" where two are equal. */
emb_status embi_st_keys_differ(const struct embi_st_keys *k, const char *what, emb_err *err);
void embi_st_keys_free(struct embi_st_keys *k);

/* Do the tensors of r cover the data [data_bytes] that begin at data_at, each byte once? keys:
 * where each stands in the header, for err->at. Bytes after the last tensor are a warning. */
emb_status embi_st_check_spans(const struct embi_reader *r, const struct embi_st_keys *keys,
                               uint64_t data_at, uint64_t data_bytes, emb_err *err);

emb_status embi_st_check(const struct embi_sink *s, emb_err *err);
emb_status embi_st_begin(struct embi_sink *s, emb_err *err);
emb_status embi_st_end(struct embi_sink *s, emb_err *err);

#endif
