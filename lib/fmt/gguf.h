/* gguf.h - what a GGUF file says beside its tensors: the values of its keys.
 *
 * Values are not kept but found again in the mapped file, where each was passed over once; so
 * strings are borrowed until the reader is closed. Keys and the vocabulary mean something to model/
 * only. Specification: docs/gguf.md of ggml.
 */
#ifndef EMBI_FMT_GGUF_H
#define EMBI_FMT_GGUF_H

#include "fmt/fmt.h"

enum embi_gguf_kind { /* the file's own numbers */
                      EMBI_GGUF_U8,
                      EMBI_GGUF_I8,
                      EMBI_GGUF_U16,
                      EMBI_GGUF_I16,
                      EMBI_GGUF_U32,
                      EMBI_GGUF_I32,
                      EMBI_GGUF_F32,
                      EMBI_GGUF_BOOL,
                      EMBI_GGUF_STRING,
                      EMBI_GGUF_ARRAY,
                      EMBI_GGUF_U64,
                      EMBI_GGUF_I64,
                      EMBI_GGUF_F64,
                      EMBI_GGUF_KINDS
};

struct embi_gguf_value {
    emb_str key;
    enum embi_gguf_kind kind;
    enum embi_gguf_kind element; /* of an array                                           */
    uint64_t n;                  /* elements of an array, bytes of a string, else 1       */
    uint64_t at;                 /* of the first of them in the file                      */
};

/* The value of a key; NULL: the file, which must be GGUF, does not have it. */
const struct embi_gguf_value *embi_gguf_find(const struct embi_reader *r, const char *key);

/* A number that is whole and not negative, of any type; false for all else. */
bool embi_gguf_number(const struct embi_reader *r, const struct embi_gguf_value *value,
                      uint64_t *x);

/* The bytes of a string; s NULL where the value is none, or is NULL. */
emb_str embi_gguf_string(const struct embi_reader *r, const struct embi_gguf_value *value);

/* The strings of an array of them into out [value->n]. Each was inside the file when it was
 * opened. */
emb_status embi_gguf_strings(const struct embi_reader *r, const struct embi_gguf_value *value,
                             emb_str *out, emb_err *err);

/* The numbers of an array of them, of f32 or i32 as it says, into out [value->n]. */
void embi_gguf_f32s(const struct embi_reader *r, const struct embi_gguf_value *value, float *out);
void embi_gguf_i32s(const struct embi_reader *r, const struct embi_gguf_value *value, int32_t *out);

/* The values of the file [*n], in its order. */
const struct embi_gguf_value *embi_gguf_list(const struct embi_reader *r, size_t *n);

/* Appends a key with its value as a file of version 3, little-endian, has it. Too little memory
 * shows in out->failed. */
void embi_gguf_copy(const struct embi_reader *r, const struct embi_gguf_value *value,
                    struct embi_buf *out);

/* What messages call a kind: "u8", "string" ... */
const char *embi_gguf_kind_name(enum embi_gguf_kind kind);

#endif
