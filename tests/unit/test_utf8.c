/* test_utf8.c - util/utf8 against the definition of UTF-8.
 *
 * What is independent here: code points are taken apart with the formula of RFC 3629 section 3, the
 * numbers of well-formed sequences of each length follow from the ranges of code points, and the
 * lengths of ill-formed subparts are those of Python's bytes.decode("utf-8", "replace").
 */
#include <criterion/criterion.h>
#include <string.h>

#include "util/utf8.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* RFC 3629 section 3, by size of the code point. */
static size_t by_formula(uint32_t cp, unsigned char b[4])
{
    if (cp < 0x80) {
        b[0] = (unsigned char)cp;
        return 1;
    }
    if (cp < 0x800) {
        b[0] = (unsigned char)(0xC0 + cp / 64);
        b[1] = (unsigned char)(0x80 + cp % 64);
        return 2;
    }
    if (cp < 0x10000) {
        b[0] = (unsigned char)(0xE0 + cp / 4096);
        b[1] = (unsigned char)(0x80 + cp / 64 % 64);
        b[2] = (unsigned char)(0x80 + cp % 64);
        return 3;
    }
    b[0] = (unsigned char)(0xF0 + cp / 262144);
    b[1] = (unsigned char)(0x80 + cp / 4096 % 64);
    b[2] = (unsigned char)(0x80 + cp / 64 % 64);
    b[3] = (unsigned char)(0x80 + cp % 64);
    return 4;
}

Test(utf8, every_code_point_goes_there_and_back)
{
    for (uint32_t cp = 0; cp < 0x110000; cp++) {
        unsigned char want[4];
        char got[4];
        size_t n = by_formula(cp, want);
        uint32_t back = 0;
        if (cp >= 0xD800 && cp <= 0xDFFF) {
            cr_assert(embi_utf8_encode(cp, got) == 0, "U+%X is a surrogate", cp);
            cr_assert(embi_utf8_check((const char *)want, n) == 0, "U+%X is a surrogate", cp);
            continue;
        }
        cr_assert(embi_utf8_encode(cp, got) == n && memcmp(got, want, n) == 0, "U+%X", cp);
        cr_assert(embi_utf8_decode(got, n, &back) == (int)n && back == cp, "U+%X", cp);
        cr_assert(embi_utf8_valid(got, n), "U+%X", cp);
        for (size_t cut = 1; cut < n; cut++)
            cr_assert(embi_utf8_multibyte(got, cut) == 0, "U+%X cut to %zu bytes", cp, cut);
    }
    char out[4];
    cr_assert(embi_utf8_encode(0x110000, out) == 0);
    cr_assert(embi_utf8_encode(UINT32_MAX, out) == 0);
}

/* Counts accepted sequences over all leads and second bytes, and enough of the others to have each
 * side of every border: of the six, two (80 and BF) are tails, one for each half of the 64. */
Test(utf8, nothing_else_is_accepted)
{
    static const unsigned char third[] = {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
    size_t accepted[5] = {0};
    for (unsigned i = 0; i < 0x10000; i++) {
        for (size_t k = 0; k < COUNT(third) * COUNT(third); k++) {
            const unsigned char b[4] = {(unsigned char)(i >> 8), (unsigned char)i,
                                        third[k / COUNT(third)], third[k % COUNT(third)]};
            accepted[embi_utf8_multibyte((const char *)b, 4)]++;
        }
    }
    cr_expect(accepted[2] == 0x780 * 36, "2 bytes: U+0080..U+07FF, found %zu", accepted[2] / 36);
    cr_expect(accepted[3] == (0xF800 - 0x800) / 64 * 2 * 6, "3 bytes: found %zu", accepted[3]);
    cr_expect(accepted[4] == 0x100000 / 4096 * 4, "4 bytes: found %zu", accepted[4]);
    cr_expect(accepted[1] == 0);
}

/* The first ill-formed subpart of each, as Python 3 replaces them. */
static const struct {
    const char *bytes;
    size_t n;
    int subpart;
} ill[] = {
    {"\x80", 1, 1},
    {"\xBF\xBF", 2, 1},
    {"\xC0\x80", 2, 1},             /* overlong NUL                    */
    {"\xC1\xBF", 2, 1},             /* overlong DEL                    */
    {"\xC2", 1, 1},                 /* cut short                       */
    {"\xC2\x41", 2, 1},             /* no tail                         */
    {"\xE0\x80\x80", 3, 1},         /* overlong                        */
    {"\xE0\x9F\xBF", 3, 1},         /* overlong U+07FF                 */
    {"\xE0\xA0", 2, 2},             /* cut short                       */
    {"\xE0\xA0\x41", 3, 2},         /* no second tail                  */
    {"\xE1\x80\xC2", 3, 2},         /* a lead in place of the last     */
    {"\xED\xA0\x80", 3, 1},         /* surrogate U+D800                */
    {"\xED\xBF\xBF", 3, 1},         /* surrogate U+DFFF                */
    {"\xED\x9F", 2, 2},             /* cut short                       */
    {"\xF0\x80\x80\x80", 4, 1},     /* overlong                        */
    {"\xF0\x8F\xBF\xBF", 4, 1},     /* overlong U+FFFF                 */
    {"\xF0\x90", 2, 2},             /* cut short                       */
    {"\xF0\x90\x80", 3, 3},         /* cut short                       */
    {"\xF0\x90\x80\x41", 4, 3},     /* no third tail                   */
    {"\xF4\x8F\xBF", 3, 3},         /* cut short                       */
    {"\xF4\x90\x80\x80", 4, 1},     /* U+110000                        */
    {"\xF5\x80\x80\x80", 4, 1},     /* no lead                         */
    {"\xF8\x88\x80\x80\x80", 5, 1}, /* five bytes, as in RFC 2279      */
    {"\xFE", 1, 1},
    {"\xFF\xFF", 2, 1},
};

Test(utf8, ill_formed_subparts)
{
    for (size_t i = 0; i < COUNT(ill); i++) {
        uint32_t cp = 0;
        int got = embi_utf8_decode(ill[i].bytes, ill[i].n, &cp);
        cr_expect(got == -ill[i].subpart, "case %zu: expected -%d, found %d", i, ill[i].subpart,
                  got);
        cr_expect(cp == 0xFFFD, "case %zu: U+%X", i, cp);
    }
}

/* Each at every place of an ASCII text, so that the fast way over ASCII is left and entered at
 * every place too. */
Test(utf8, check_gives_the_place)
{
    for (size_t at = 0; at < 40; at++) {
        for (size_t i = 0; i < COUNT(ill); i++) {
            char text[64];
            memset(text, 'a', sizeof text);
            memcpy(text + at, ill[i].bytes, ill[i].n);
            size_t cut = at + ill[i].n; /* the text ends right after the bytes */
            cr_expect(embi_utf8_check(text, cut) == at, "case %zu at %zu", i, at);
            cr_expect(!embi_utf8_valid(text, cut), "case %zu at %zu", i, at);
            if (at > 3)
                memcpy(text + at - 3, "\xE2\x82\xAC", 3);
            cr_expect(embi_utf8_check(text, sizeof text) == at, "case %zu at %zu", i, at);
        }
    }
    cr_expect(embi_utf8_check("", 0) == 0);
    cr_expect(embi_utf8_valid("a\0b", 3), "a NUL is a character");
}
