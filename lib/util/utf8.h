/* util/utf8.h - UTF-8: decode one code point, check a span, encode.
 *
 * Well-formed means Table 3-7 of the Unicode Standard (RFC 3629): shortest form only, no surrogates
 * (U+D800..U+DFFF), nothing above U+10FFFF. Works on spans (pointer and length): a NUL is an
 * ordinary character here, and no byte outside the span is read. Nothing allocates or fails.
 *
 * What is not here: case folding, normalisation, display width (utf8proc does those).
 */
#ifndef EMBI_UTF8_H
#define EMBI_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EMBI_UTF8_MAX_BYTES   4       /* the longest sequence */
#define EMBI_UTF8_REPLACEMENT 0xFFFDu /* U+FFFD, written in place of what is ill-formed */

/* Decodes the sequence at s; n >= 1 bytes may be read. Returns its length, 1 to 4, and sets *cp.
 * Where s does not begin a well-formed sequence, returns minus the length (1 to 3) of the maximal
 * subpart of one, sets *cp to U+FFFD, and the caller goes on after that many bytes: one U+FFFD for
 * each maximal subpart is what the Unicode Standard (section 3.9) recommends and what Python's
 * errors="replace" does. */
int embi_utf8_decode(const char *s, size_t n, uint32_t *cp);

/* Length of the well-formed multi-byte sequence (2 to 4) at s, 0 if there is none; n >= 1 bytes may
 * be read, and a sequence that n cuts short is none. For ASCII bytes the answer is 0 too. */
static inline size_t embi_utf8_multibyte(const char *s, size_t n)
{
    const unsigned char *b = (const unsigned char *)s;
    if (n >= 2 && b[0] >= 0xC2 && b[0] <= 0xDF)
        return (b[1] & 0xC0) == 0x80 ? 2 : 0;
    if (n >= 3 && b[0] >= 0xE0 && b[0] <= 0xEF) {
        unsigned low = b[0] == 0xE0 ? 0xA0 : 0x80;  /* E0 80..9F would not be the shortest form */
        unsigned high = b[0] == 0xED ? 0x9F : 0xBF; /* ED A0..BF would be surrogates */
        return b[1] >= low && b[1] <= high && (b[2] & 0xC0) == 0x80 ? 3 : 0;
    }
    if (n >= 4 && b[0] >= 0xF0 && b[0] <= 0xF4) {
        unsigned low = b[0] == 0xF0 ? 0x90 : 0x80;
        unsigned high = b[0] == 0xF4 ? 0x8F : 0xBF; /* F4 90.. would be above U+10FFFF */
        bool tail = (b[2] & 0xC0) == 0x80 && (b[3] & 0xC0) == 0x80;
        return b[1] >= low && b[1] <= high && tail ? 4 : 0;
    }
    return 0;
}

/* Offset of the first byte that does not belong to a well-formed sequence; n where all is well. */
size_t embi_utf8_check(const char *s, size_t n);

/* Whether all n bytes are well-formed. */
static inline bool embi_utf8_valid(const char *s, size_t n)
{
    return embi_utf8_check(s, n) == n;
}

/* Writes cp to out and returns how many bytes that took, 1 to 4. A value that is no Unicode scalar
 * (a surrogate, or above U+10FFFF) has no encoding: returns 0 and writes nothing. */
size_t embi_utf8_encode(uint32_t cp, char out[EMBI_UTF8_MAX_BYTES]);

#endif
