/* protobuf.c - see protobuf.h. Implements the encoding that
 * protobuf.dev/programming-guides/encoding describes: tags, varints of at most 10 bytes,
 * little-endian fixed numbers, lengths.
 */
#include "util/protobuf.h"

static bool fail(struct embi_protobuf *m, size_t at, const char *wrong)
{
    m->at = at;
    m->wrong = wrong;
    return false;
}

static bool read_varint(struct embi_protobuf *m, uint64_t *value)
{
    uint64_t x = 0;
    size_t start = m->at;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (m->at == m->n)
            return fail(m, start, "a number is cut short");
        unsigned char byte = (unsigned char)m->s[m->at++];
        if (shift == 63 && byte > 1)
            break;
        x |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = x;
            return true;
        }
    }
    return fail(m, start, "a number does not fit 64 bits");
}

static bool read_fixed(struct embi_protobuf *m, size_t bytes, uint64_t *value)
{
    if (!embi_inside(m->at, bytes, m->n))
        return fail(m, m->at, "a field is cut short");
    *value = bytes == 8 ? embi_le64(m->s + m->at) : embi_le32(m->s + m->at);
    m->at += bytes;
    return true;
}

static bool read_bytes(struct embi_protobuf *m, emb_str *bytes)
{
    uint64_t length;
    size_t start = m->at;
    if (!read_varint(m, &length))
        return false;
    if (!embi_inside(m->at, length, m->n))
        return fail(m, start, "a field is longer than what is left");
    *bytes = (emb_str){m->s + m->at, (size_t)length};
    m->at += (size_t)length;
    return true;
}

bool embi_protobuf_next(struct embi_protobuf *m, struct embi_protobuf_field *f)
{
    uint64_t tag;
    size_t start = m->at;
    if (m->wrong || m->at == m->n || !read_varint(m, &tag))
        return false;
    if (tag > UINT32_MAX || tag >> 3 == 0)
        return fail(m, start, "no field has this number");
    *f = (struct embi_protobuf_field){.number = (uint32_t)(tag >> 3), .type = (unsigned)(tag & 7)};
    switch (f->type) {
    case EMBI_PROTOBUF_VARINT: return read_varint(m, &f->value);
    case EMBI_PROTOBUF_FIXED64: return read_fixed(m, 8, &f->value);
    case EMBI_PROTOBUF_FIXED32: return read_fixed(m, 4, &f->value);
    case EMBI_PROTOBUF_BYTES: return read_bytes(m, &f->bytes);
    }
    return fail(m, start, f->type < 5 ? "a group" : "a field of an unknown wire type");
}
