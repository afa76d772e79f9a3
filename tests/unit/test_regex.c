/* test_regex.c - patterns of Oniguruma's dialect: what they match, and what is refused.
 *
 * What matches is by the documentation of that dialect (Oniguruma's RE, "Ruby"): (?m) is a dot that
 * matches newlines, {n,m}+ repeats a repetition, && intersects, ^ and $ are the ends of lines.
 * peers/check_encode.py has more, compared with Oniguruma itself.
 */
#include <criterion/criterion.h>

#include "util/regex.h"

#include <stdio.h>
#include <string.h>

static emb_err err;

/* All matches in the text, as the text of each with a | behind it. */
static void finds(const char *pattern, const char *text, const char *want)
{
    struct embi_regex *regex;
    char found[256] = "";
    size_t n = strlen(text), start, end;
    bool any = true;
    emb_status status = embi_regex_compile((emb_str){pattern, strlen(pattern)}, &regex, &err);
    cr_assert_eq(status, EMB_OK, "%s: %s", pattern, err.msg);
    for (size_t from = 0; any && from <= n; from = end > from ? end : from + 1) {
        cr_assert_eq(embi_regex_search(regex, text, n, from, &any, &start, &end, &err), EMB_OK);
        if (any)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s|",
                     (int)(end - start), text + start);
    }
    cr_expect_str_eq(found, want, "%s in %s: %s, expected %s", pattern, text, found, want);
    embi_regex_free(regex);
}

static void refuses(const char *pattern, const char *words)
{
    struct embi_regex *regex = NULL;
    emb_status status = embi_regex_compile((emb_str){pattern, strlen(pattern)}, &regex, &err);
    cr_expect_eq(status, EMB_UNSUPPORTED, "%s", pattern);
    cr_expect(strstr(err.msg, words), "%s: %s", pattern, err.msg);
    cr_expect_null(regex);
}

Test(regex, dialect)
{
    finds("\\d{1,3}", "12345", "123|45|");
    finds("\\d{1,3}+", "12345", "12345|");
    finds("\\d{2}?x", "1x23x", "x|23x|");
    finds("a{,2}b", "aaab", "aab|");
    finds("a{1,2}?", "aa", "a|a|");
    finds("a{x}", "a{x}", "a{x}|");
    finds("^.", "ab\ncd", "a|c|");
    finds(".$", "ab\ncd", "b|d|");
    finds("(?m)b.c", "ab\ncd", "b\nc|");
    finds("b.c", "ab\ncd", "");
    finds("a(?i)b|C", "aBac", "aB|ac|");
    finds("(?i:'s|'t)x", "'Sx 'TX", "'Sx|");
    finds("(?#a )b", "ab", "b|");
    finds("(?<n>.)\\k<n>", "abbc", "bb|");
    finds("(.)\\1", "abbc", "bb|");
    finds("a++a?", "aaa", "aaa|");
    finds("\\s+(?!\\S)|\\s+", "a   b ", "  | | |");
}

Test(regex, sets)
{
    finds("[a-c&&[^b]]", "abcd", "a|c|");
    finds("[^a-c&&[b]]+", "abcd", "a|cd|");
    finds("[a[0-9]]+", "xa1b2", "a1|2|");
    finds("[]a]+", "]a[", "]a|");
    finds("[a\\-]+", "a-b", "a-|");
    finds("[\\w-]+", "a-b c", "a-b|c|");
    finds("[[:punct:]]", "a+b.", "+|.|");
    finds("\\p{Punct}", "a+b.", ".|");
    finds("[[:^alpha:]]+", "a1b!", "1|!|");
    finds("[^\\S ]", "a b\tc", "\t|");
    finds("[\\H]", "ag", "g|");
    finds("\\h+", "abg", "ab|");
    finds("[\\b]", "a\bb", "\b|");
    finds("\\x{e9}|\\u4e2d|\\x41", "é中A", "é|中|A|");
    finds("[一-龥]+", "a中文b", "中文|");
    finds("\\p{^L}\\P{^L}", "1a", "1a|");
    finds("\\p{Lu}\\p{Lowercase_Letter}", "aBc", "Bc|");
    finds("\\p{Han}|\\p{hiragana}", "中あア", "中|あ|");
}

/* Fractions are parts of words outside brackets, and not inside. */
Test(regex, words)
{
    finds("\\w+", "a½ b_1", "a½|b_1|");
    finds("[\\w]+", "a½", "a|");
    finds("\\bb", "ab b", "b|");
    finds("\\Bb", "ab b", "b|");
    finds("\\w", "\xCC\x81", "\xCC\x81|"); /* a mark */
}

Test(regex, refused)
{
    refuses("(a", "byte 2: a ( without a )");
    refuses("a)", "byte 1: a ) without a (");
    refuses("[a", "a [ without a ]");
    refuses("[]", "a [ without a ]");
    refuses("[a&&]", "an empty set");
    refuses("a\\", "a backslash at the end");
    refuses("(?~a)", "such a group");
    refuses("(?x)a", "such a group");
    refuses("(?(1)a)", "such a group");
    refuses("(?<1", "a name of a group");
    refuses("\\p{No Such Script}", "unknown property");
    refuses("\\p{L&}", "a property of characters");
    refuses("\\pL", "\\p without a name in braces");
    refuses("\\xE9", "a byte of a character");
    refuses("\\x{110000}", "a code of a character");
    refuses("\\y", "an escape");
    refuses("[\\A]", "an escape inside [ ]");
    refuses("\\k1", "a reference without a name");
    refuses("(?<=a*)b", "lookbehind");
    refuses("*", "quantifier");
    refuses("[z-a]", "range out of order");
}

Test(regex, nested_too_deep)
{
    char deep[2 * EMBI_REGEX_DEPTH + 4];
    size_t n = EMBI_REGEX_DEPTH + 1;
    memset(deep, '(', n);
    memset(deep + n, ')', n);
    deep[2 * n] = '\0';
    refuses(deep, "so deep inside each other");
    memset(deep, '[', n);
    memset(deep + n, ']', n);
    refuses(deep, "so deep inside each other");
}

Test(regex, literal)
{
    struct embi_regex *regex;
    bool found;
    size_t start, end;
    static const char text[] = "a\\E.*é\0b";
    emb_str all = {text + 1, sizeof text - 3};
    cr_assert_eq(embi_regex_literal(all, &regex, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(embi_regex_search(regex, text, sizeof text - 1, 0, &found, &start, &end, &err),
                 EMB_OK);
    cr_expect(found && start == 1 && end == sizeof text - 2);
    embi_regex_free(regex);
}
