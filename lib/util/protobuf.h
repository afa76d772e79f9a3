/* protobuf.h - a reader of the Protocol Buffers wire format: fields of a message in memory.
 *
 *     struct embi_protobuf m = {.s = bytes, .n = n};
 *     struct embi_protobuf_field f;
 *     while (embi_protobuf_next(&m, &f))
 *         if (f.number == 1 && f.type == EMBI_PROTOBUF_BYTES) ...
 *     if (m.wrong) ... m.at is the place ...
 *
 * It allocates and copies nothing. Knowing no schema, it gives every field; the caller skips the
 * numbers it does not know. Groups, which newer files do not use, are refused.
 */
#ifndef EMBI_UTIL_PROTOBUF_H
#define EMBI_UTIL_PROTOBUF_H

#include "util/base.h"

enum embi_protobuf_type { /* the wire types */
                          EMBI_PROTOBUF_VARINT = 0,
                          EMBI_PROTOBUF_FIXED64 = 1,
                          EMBI_PROTOBUF_BYTES = 2, /* strings, bytes, messages, packed numbers */
                          EMBI_PROTOBUF_FIXED32 = 5
};

struct embi_protobuf {
    const char *s; /* [n] the message */
    size_t n;
    size_t at;         /* the first byte not read; after an error where it is */
    const char *wrong; /* what is wrong there, or NULL                        */
};

struct embi_protobuf_field {
    uint32_t number; /* 1 to 2^29 - 1                          */
    unsigned type;   /* enum embi_protobuf_type                */
    uint64_t value;  /* of a varint or a fixed number          */
    emb_str bytes;   /* of EMBI_PROTOBUF_BYTES, s never NULL   */
};

/* Reads the next field; false at the end of the message and where m->wrong is set. */
bool embi_protobuf_next(struct embi_protobuf *m, struct embi_protobuf_field *f);

#endif
