/* util/json_scan.h - what the files of the JSON reader share: the inner loops over blanks and over
 * the plain characters of a string, and the decoder of one escape. Only util/json*.c and their unit
 * test include it.
 *
 * Each loop is there twice: the scalar one says what is right, and the one of 16 bytes at a time
 * (SSE2, part of every x86-64) must give the same place for every text. No byte at or after `end`
 * is read, so a text may end where its mapping ends.
 */
#ifndef EMBI_JSON_SCAN_H
#define EMBI_JSON_SCAN_H

#include "util/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* What may come next in a text. */
enum {
    EMBI_JSON_VALUE,       /* a value: at the start, after a key, after the comma of an array */
    EMBI_JSON_FIRST_ITEM,  /* after [ : a value or ]                                          */
    EMBI_JSON_NEXT_ITEM,   /* after an item: a comma or ]                                     */
    EMBI_JSON_FIRST_KEY,   /* after { : a key or }                                            */
    EMBI_JSON_NEXT_KEY,    /* after a member: a comma or }                                    */
    EMBI_JSON_END_OF_TEXT, /* after the outermost value: blanks                               */
    EMBI_JSON_FAILED
};

/* Decodes the escape whose backslash is at p (RFC 8259 section 7); n >= 1 bytes may be read.
 * Returns its length: 2, 6, or 12 for a surrogate pair. Returns 0 if it is none; *cp is then the
 * surrogate that has no partner, if that is the reason, and else 0. */
size_t embi_json_escape(const char *p, size_t n, uint32_t *cp);

static inline bool embi_json_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The first byte from p on that is not blank, or end. */
static inline const char *embi_json_blanks_scalar(const char *p, const char *end)
{
    while (p < end && embi_json_is_blank(*p))
        p++;
    return p;
}

/* Length of the plain character at p: 1 to 4 bytes of well-formed UTF-8. 0 where none is: at a
 * quote, a backslash, a control character, and where UTF-8 is ill-formed or cut short by end. p <
 * end. */
static inline size_t embi_json_plain_one(const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;
    if (c >= 0x80)
        return embi_utf8_multibyte(p, (size_t)(end - p));
    return c >= 0x20 && c != '"' && c != '\\';
}

/* Steps over plain characters; stops where none is, and at the first character from `stop` on. */
static inline const char *embi_json_plain_scalar(const char *p, const char *stop, const char *end)
{
    size_t length;
    while (p < stop && (length = embi_json_plain_one(p, end)) != 0)
        p += length;
    return p;
}

#define EMBI_JSON_SAME_MAX 48 /* bytes that embi_json_same compares at most */

/* Whether the bytes from p on are the n, 1 to EMBI_JSON_SAME_MAX, that stand at earlier < p. */
static inline bool embi_json_same_scalar(const char *p, const char *end, const char *earlier,
                                         size_t n)
{
    return (size_t)(end - p) >= n && memcmp(p, earlier, n) == 0;
}

#define EMBI_JSON_GAP_MAX 16 /* bytes that embi_json_same_gap compares at most */

/* The same for up to EMBI_JSON_GAP_MAX bytes, where that many can be read at both places. */
static inline bool embi_json_same_gap_scalar(const char *p, const char *earlier, size_t n)
{
    return memcmp(p, earlier, n) == 0;
}

#ifdef __SSE2__

static inline __m128i embi_json_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline __m128i embi_json_equal(__m128i v, int c)
{
    return _mm_cmpeq_epi8(v, _mm_set1_epi8((char)c));
}

/* How many of the 16 bytes at p are blank, up to the first that is not. */
static inline size_t embi_json_blank_block(const char *p)
{
    __m128i v = embi_json_load(p);
    __m128i inside = _mm_or_si128(embi_json_equal(v, ' '), embi_json_equal(v, '\t'));
    __m128i line = _mm_or_si128(embi_json_equal(v, '\n'), embi_json_equal(v, '\r'));
    unsigned blank = (unsigned)_mm_movemask_epi8(_mm_or_si128(inside, line));
    return (size_t)__builtin_ctz(~blank);
}

/* As embi_json_blanks_scalar. *guess is how many blanks the caller expects, 0 to 15, and becomes
 * how many there were. In an indented text the guess is right nearly always; the processor can then
 * look at what follows before the count is known, which is worth a third of the reader's time. */
static inline const char *embi_json_blanks(const char *p, const char *end, unsigned char *guess)
{
    for (; end - p >= 16; p += 16) {
        size_t n = embi_json_blank_block(p), guessed = *guess;
        if (n == 16)
            continue;
        if (n == guessed) {
            __asm__("" : "+r"(guessed)); /* or the compiler would put n in its place */
            return p + guessed;
        }
        *guess = (unsigned char)n;
        return p + n;
    }
    return embi_json_blanks_scalar(p, end);
}

/* Where the plain characters end in the 16 bytes at p, at which a character begins: 0 to 16, or -1
 * where this cannot tell. It knows sequences of 2 and 3 bytes whose lead alone says how they go on.
 *
 * There is no branch on whether the text is ASCII: vocabularies change that at every other token,
 * and a mispredicted branch costs more than all of this. Comparisons are signed, so bytes 80..FF
 * are -128..-1, below the ASCII ones and in their own order. */
static inline int embi_json_plain_block(const char *p, bool *marked)
{
    __m128i v = embi_json_load(p);
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
    __m128i mark = _mm_or_si128(embi_json_equal(v, '"'), embi_json_equal(v, '\\'));
    unsigned marks = (unsigned)_mm_movemask_epi8(_mm_or_si128(control, mark));
    int stop = __builtin_ctz(marks | 0x10000u);
    *marked = marks != 0;

    __m128i from_e0 = _mm_cmpgt_epi8(v, _mm_set1_epi8((char)0xDF)); /* and ASCII: see `high` */
    __m128i from_f0 = _mm_cmpgt_epi8(v, _mm_set1_epi8((char)0xEF));
    __m128i c0_c1 = embi_json_equal(_mm_and_si128(v, _mm_set1_epi8((char)0xFE)), 0xC0);
    __m128i e0_ed = _mm_or_si128(embi_json_equal(v, 0xE0), embi_json_equal(v, 0xED));
    __m128i unclear = _mm_or_si128(from_f0, _mm_or_si128(c0_c1, e0_ed));
    unsigned high = (unsigned)_mm_movemask_epi8(v);
    unsigned tail = (unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(v, _mm_set1_epi8((char)0xC0)));
    unsigned lead = high & ~tail;
    unsigned asked = lead << 1 | (high & (unsigned)_mm_movemask_epi8(from_e0)) << 2;

    /* Up to and with the byte at stop (a mark is no tail), tails are just where leads ask for them.
 */
    unsigned wrong = (asked ^ tail) | (high & (unsigned)_mm_movemask_epi8(unclear));
    if ((wrong & ((2u << stop) - 1) & 0xFFFFu) != 0)
        return -1;
    if (stop == 16 && asked >> 16 != 0) /* the last character goes on in the next 16 bytes */
        return 31 - __builtin_clz(lead);
    return stop;
}

/* As embi_json_plain_scalar(p, end, end). */
static inline const char *embi_json_plain(const char *p, const char *end)
{
    while (end - p >= 16) {
        bool marked;
        const char *stop = p + 16;
        int n = embi_json_plain_block(p, &marked);
        if (n >= 0) {
            p += n;
            if (marked)
                return p;
        } else {
            p = embi_json_plain_scalar(p, stop, end);
            if (p < stop)
                return p;
        }
    }
    return embi_json_plain_scalar(p, end, end);
}

static inline bool embi_json_same(const char *p, const char *end, const char *earlier, size_t n)
{
    if (end - p < EMBI_JSON_SAME_MAX)
        return embi_json_same_scalar(p, end, earlier, n);
    uint64_t equal = 0;
    for (unsigned i = 0; i < n; i += 16) {
        __m128i same = _mm_cmpeq_epi8(embi_json_load(p + i), embi_json_load(earlier + i));
        equal |= (uint64_t)(unsigned)_mm_movemask_epi8(same) << i;
    }
    uint64_t wanted = ((uint64_t)1 << n) - 1;
    return (equal & wanted) == wanted;
}

static inline bool embi_json_same_gap(const char *p, const char *earlier, size_t n)
{
    __m128i same = _mm_cmpeq_epi8(embi_json_load(p), embi_json_load(earlier));
    unsigned wanted = (1u << n) - 1;
    return ((unsigned)_mm_movemask_epi8(same) & wanted) == wanted;
}

#else

static inline bool embi_json_same_gap(const char *p, const char *earlier, size_t n)
{
    return embi_json_same_gap_scalar(p, earlier, n);
}

static inline bool embi_json_same(const char *p, const char *end, const char *earlier, size_t n)
{
    return embi_json_same_scalar(p, end, earlier, n);
}

static inline const char *embi_json_blanks(const char *p, const char *end, unsigned char *guess)
{
    (void)guess;
    return embi_json_blanks_scalar(p, end);
}

static inline const char *embi_json_plain(const char *p, const char *end)
{
    return embi_json_plain_scalar(p, end, end);
}

#endif
#endif
