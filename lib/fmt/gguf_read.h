/* gguf_read.h - what the parts of the GGUF reader share, and some of it the writer: a place in the
 * file, element types, the list of values. Only for gguf*.c.
 */
#ifndef EMBI_FMT_GGUF_READ_H
#define EMBI_FMT_GGUF_READ_H

#include "fmt/gguf.h"

/* A place in the file, and how numbers are stored there. */
struct embi_gguf_place {
    struct embi_io *io;
    const unsigned char *file; /* [have] it, in memory; size, but while a beginning is looked at */
    uint64_t have, size, at;
    uint32_t version;
    bool swap; /* big-endian */
};

/* The next number, and the place behind it. Where the file ends before: EMB_BAD_DATA "WHAT:
 * expected 4 bytes at 100, the file ends at 102". A length has 32 bits in version 1, else 64. */
emb_status embi_gguf_u32(struct embi_gguf_place *p, const char *what, uint32_t *x, emb_err *err);
emb_status embi_gguf_u64(struct embi_gguf_place *p, const char *what, uint64_t *x, emb_err *err);
emb_status embi_gguf_length(struct embi_gguf_place *p, const char *what, uint64_t *x, emb_err *err);

/* A length and as many bytes. */
emb_status embi_gguf_text(struct embi_gguf_place *p, const char *what, emb_str *text, emb_err *err);

/* Passes over n bytes. */
emb_status embi_gguf_skip(struct embi_gguf_place *p, const char *what, uint64_t n, emb_err *err);

/* Has the bytes before p->at, which are in the file, in memory. */
emb_status embi_gguf_need(struct embi_gguf_place *p, emb_err *err);

/* Could `n` things of at least `bytes` bytes each follow? what: "tensor_count". */
emb_status embi_gguf_believe(const struct embi_gguf_place *p, const char *what, uint64_t n,
                             uint64_t bytes, emb_err *err);

/* The state of a reader. */
struct embi_gguf {
    struct embi_gguf_place place;   /* where reading has come to */
    struct embi_gguf_value *values; /* [n]                       */
    size_t n, capacity;
};

/* Strings of an array: far above any vocabulary, for what is walked along takes time. */
#define EMBI_GGUF_STRINGS_MAX (1 << 22)

/* Reads n keys with their values. */
emb_status embi_gguf_read_values(struct embi_gguf *g, uint64_t n, emb_err *err);

/* Reads n tensor infos and adds the tensors to r; their data begin at a multiple of `alignment`. */
emb_status embi_gguf_read_tensors(struct embi_gguf_place *p, struct embi_reader *r, uint64_t n,
                                  uint64_t alignment, emb_err *err);

/* EMB_BAD_DATA "WHAT 'NAME' is there twice" where two of the names [n] are equal. */
emb_status embi_gguf_differ(const emb_str *names, size_t n, const char *what, emb_err *err);

/* How elements are stored: in blocks, of one element where they are not quantised. */
struct embi_gguf_type {
    const char *name;  /* as ggml has it, in lower case */
    emb_dtype dtype;   /* EMB_DTYPE_NONE: listed, not computed with */
    uint16_t elements; /* of a block */
    uint16_t bytes;    /* of a block */
};

/* The type of that number, or NULL: none, or one that ggml has given up. */
const struct embi_gguf_type *embi_gguf_type(uint32_t number);

/* Bytes of a number of a kind; 0: it is none. */
unsigned embi_gguf_kind_bytes(enum embi_gguf_kind kind);

/* The number of a type; false: ggml has no such type. */
bool embi_gguf_type_number(emb_dtype dtype, uint32_t *number);

/* The writer (gguf_write.c): as in struct embi_format. */
const char *embi_gguf_refuses(emb_str token);
emb_status embi_gguf_check(const struct embi_sink *s, emb_err *err);
emb_status embi_gguf_begin(struct embi_sink *s, emb_err *err);
emb_status embi_gguf_finish(struct embi_sink *s, emb_err *err);
emb_status embi_gguf_end(struct embi_sink *s, emb_err *err);

#endif
