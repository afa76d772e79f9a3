/* base64.h - base64 (RFC 4648 section 4), strictly: groups of four, padding, no other characters,
 * unused bits zero. Nothing allocates.
 */
#ifndef EMBI_UTIL_BASE64_H
#define EMBI_UTIL_BASE64_H

#include "util/base.h"

/* Bytes that n characters may decode to. */
static inline size_t embi_base64_room(size_t n)
{
    return n / 4 * 3;
}

/* Decodes s [n] into out [embi_base64_room(n)]; *bytes says how many bytes there are. False where
 * it is no base64; out may have been written to then. */
bool embi_base64_decode(const char *s, size_t n, char *out, size_t *bytes);

#endif
