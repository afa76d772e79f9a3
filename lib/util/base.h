/* base.h - what every file of the library may use: checked arithmetic, byte order, small helpers.
 *
 * Includes nothing of the project but emb.h, and holds no state.
 */
#ifndef EMBI_UTIL_BASE_H
#define EMBI_UTIL_BASE_H

#include "emb.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EMBI_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* printf-like functions get their arguments checked. */
#define EMBI_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))

static inline uint64_t embi_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t embi_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* *out = a * b; false where that does not fit. Sizes from files only ever go through these two. */
static inline bool embi_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool embi_add(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/* Is [off, off + n) inside a file of `size` bytes? Written so that nothing can wrap. */
static inline bool embi_inside(uint64_t off, uint64_t n, uint64_t size)
{
    return off <= size && n <= size - off;
}

/* Little-endian values at any address. The library runs on little-endian machines only (checked in
 * table/ctx.c), so that stored and native order are the same thing. */
static inline uint16_t embi_le16(const void *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint32_t embi_le32(const void *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint64_t embi_le64(const void *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* The other byte order, which hashes are made of. */
static inline uint32_t embi_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void embi_put_be32(unsigned char *p, uint32_t x)
{
    p[0] = (unsigned char)(x >> 24);
    p[1] = (unsigned char)(x >> 16);
    p[2] = (unsigned char)(x >> 8);
    p[3] = (unsigned char)x;
}

static inline bool embi_str_is(emb_str a, const char *b)
{
    return a.n == strlen(b) && (a.n == 0 || memcmp(a.s, b, a.n) == 0);
}

static inline bool embi_str_equal(emb_str a, emb_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

/* Does the C string end in `end`? */
static inline bool embi_ends_in(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && memcmp(s + n - m, end, m) == 0;
}

static inline bool embi_str_ends_in(emb_str s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.s + s.n - n, end, n) == 0;
}

/* An option struct that begins with `size`: may the member be read? A caller compiled against an
 * older header has a smaller struct. */
#define EMBI_HAS(opts, member) \
    ((opts) && (opts)->size >= offsetof(__typeof__(*(opts)), member) + sizeof((opts)->member))

#endif
