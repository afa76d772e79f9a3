/* test_unicode.c - normal forms and kinds of characters, by examples of UAX #15 and #29 and of the
 * Unicode Character Database, worked out by hand.
 */
#include <criterion/criterion.h>

#include "util/unicode.h"

#include <string.h>

static void normal(enum embi_normal_form form, const char *text, const char *want)
{
    struct embi_buf out = {0};
    embi_unicode_normalize(&out, form, text, strlen(text));
    cr_expect_str_eq(embi_buf_cstr(&out), want, "%s (%d): %s, expected %s", text, (int)form,
                     embi_buf_cstr(&out), want);
    embi_buf_free(&out);
}

/* UAX #15, figures 3 to 6. */
Test(unicode, normal_forms)
{
    normal(EMBI_NFC, "", "");
    normal(EMBI_NFD, "abc", "abc");
    normal(EMBI_NFC, "A\xCC\x8A", "\xC3\x85");    /* A, ring -> U+00C5 */
    normal(EMBI_NFC, "\xE2\x84\xAB", "\xC3\x85"); /* angstrom sign */
    normal(EMBI_NFD, "\xC3\x85", "A\xCC\x8A");
    normal(EMBI_NFD, "q\xCC\x87\xCC\xA3", "q\xCC\xA3\xCC\x87");       /* marks in order */
    normal(EMBI_NFC, "\xE1\xBA\x9B\xCC\xA3", "\xE1\xBA\x9B\xCC\xA3"); /* U+1E9B U+0323 */
    normal(EMBI_NFKC, "\xE1\xBA\x9B\xCC\xA3", "\xE1\xB9\xA9");        /* U+1E69 */
    normal(EMBI_NFKD, "\xEF\xAC\x81", "fi");
    normal(EMBI_NFC, "\xEF\xAC\x81", "\xEF\xAC\x81");
    normal(EMBI_NFKC, "2\xE2\x81\xB5", "25");
    normal(EMBI_NFC, "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "한"); /* Hangul by rule */
}

Test(unicode, lower_case)
{
    struct embi_buf out = {0};
    static const uint32_t upper[] = {'A', 'a', '1', 0xC5, 0x3A3, 0x130};
    for (size_t i = 0; i < EMBI_LEN(upper); i++)
        embi_unicode_lower(&out, upper[i]);
    cr_expect_str_eq(embi_buf_cstr(&out), "aa1åσi\xCC\x87");
    embi_buf_free(&out);
}

Test(unicode, kinds)
{
    cr_expect(embi_is_space(' ') && embi_is_space(0x85) && embi_is_space(0x3000));
    cr_expect(!embi_is_space(0x200B) && !embi_is_space(0x180E) && !embi_is_space('a'));
    cr_expect(embi_is_punctuation('$') && embi_is_punctuation('~') && embi_is_punctuation(0x2014));
    cr_expect(!embi_is_punctuation(0xA3) && !embi_is_punctuation('a') && !embi_is_punctuation(' '));
    cr_expect(embi_is_numeric('7') && embi_is_numeric(0x2167) && embi_is_numeric(0xBD));
    cr_expect(!embi_is_numeric('a') && !embi_is_numeric(0x4E00));
    cr_expect(embi_is_mark(0x301) && embi_is_mark(0x903) && embi_is_mark(0x20DD));
    cr_expect(embi_is_mark_nonspacing(0x301) && !embi_is_mark_nonspacing(0x903));
    cr_expect(embi_is_other(1) && embi_is_other(0x200D) && embi_is_other(0xE000));
    cr_expect(!embi_is_other('a') && !embi_is_other(0x378)); /* the last one is unassigned */
}

/* UAX #29: marks, joined emoji, flags, Hangul, CR LF. */
Test(unicode, grapheme_clusters)
{
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {{"ab", 1},    {"e\xCC\x81x", 3},
                 {"\r\nx", 2}, {"👩‍👧x", 11},
                 {"🇩🇪🇫🇷", 8},  {"\xE1\x84\x92\xE1\x85\xA1x", 6},
                 {"a", 1}};
    for (size_t i = 0; i < EMBI_LEN(cases); i++)
        cr_expect_eq(embi_grapheme_bytes(cases[i].text, strlen(cases[i].text)), cases[i].bytes,
                     "%s", cases[i].text);
}
