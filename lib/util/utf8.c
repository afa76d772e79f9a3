/* util/utf8.c - see utf8.h.
 *
 * Implements: The Unicode Standard, section 3.9, Table 3-7 "Well-Formed UTF-8 Byte Sequences" and
 * the definition of a maximal subpart; RFC 3629. It reads only inside the spans it is given and
 * never looks at the locale.
 */
#include "util/utf8.h"

static bool is_tail(unsigned char b)
{
    return (b & 0xC0) == 0x80;
}

/* Bytes of the maximal subpart at s: the longest beginning of a well-formed sequence, at least 1.
 * Only called where no well-formed sequence begins, so a subpart is 1 to 3 bytes. */
static int subpart(const char *s, size_t n)
{
    /* Whether b[0], b[1] may begin a sequence is asked by completing it with 80 80. */
    char probe[EMBI_UTF8_MAX_BYTES] = {s[0], n > 1 ? s[1] : 0, (char)0x80, (char)0x80};
    size_t whole = embi_utf8_multibyte(probe, sizeof probe);
    if (whole <= 2)
        return 1;
    return whole == 4 && n > 2 && is_tail((unsigned char)s[2]) ? 3 : 2;
}

int embi_utf8_decode(const char *s, size_t n, uint32_t *cp)
{
    const unsigned char *b = (const unsigned char *)s;
    if (b[0] < 0x80) {
        *cp = b[0];
        return 1;
    }
    size_t length = embi_utf8_multibyte(s, n);
    if (length == 0) {
        *cp = EMBI_UTF8_REPLACEMENT;
        return -subpart(s, n);
    }
    uint32_t value = b[0] & (0xFFu >> (length + 1)); /* the payload bits of a lead byte */
    for (size_t i = 1; i < length; i++)
        value = value << 6 | (b[i] & 0x3Fu);
    *cp = value;
    return (int)length;
}

size_t embi_utf8_check(const char *s, size_t n)
{
    size_t at = 0;
    while (at < n) {
        uint64_t eight;
        if (n - at >= sizeof eight) { /* eight ASCII bytes at a time */
            memcpy(&eight, s + at, sizeof eight);
            if ((eight & 0x8080808080808080u) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        size_t length = (unsigned char)s[at] < 0x80 ? 1 : embi_utf8_multibyte(s + at, n - at);
        if (length == 0)
            break;
        at += length;
    }
    return at;
}

size_t embi_utf8_encode(uint32_t cp, char out[EMBI_UTF8_MAX_BYTES])
{
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
        return 0;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t length = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3F));
    out[0] = (char)((0xF00u >> length & 0xF0) | cp); /* C0, E0 or F0 marks 2, 3 or 4 bytes */
    return length;
}
