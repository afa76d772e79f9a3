/* test_json_value.c - what is done with JSON spans (characters, integers), the writer of strings,
 * and the reader's inner loops against their scalar versions.
 *
 * Expected characters and written strings are Python's: json.loads(text), and
 * json.dumps(bytes.decode("utf-8", "replace"), ensure_ascii=False).
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "util/json_scan.h"
#include "util/rng.h"
#include "util/utf8.h"

#define COUNT(a)   (sizeof(a) / sizeof *(a))
#define T(literal) literal, sizeof(literal) - 1 /* a text that may hold a NUL */

static struct embi_json_value read_one(const char *text, size_t n)
{
    struct embi_json j;
    struct embi_json_value v;
    emb_err err;
    embi_json_init(&j, text, n, EMBI_JSON_NAN);
    embi_json_next(&j, &v);
    cr_assert(embi_json_finish(&j, 0, &err) == EMB_OK, "%s", text);
    return v;
}

static const struct {
    const char *text;
    size_t text_n;
    const char *chars;
    size_t n;
} decoded[] = {
    {T("\"\""), T("")},
    {T("\"shape\""), T("shape")},
    {T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), T("\"\\/\b\f\n\r\t")},
    {T("\"a\\u0000b\""), T("a\0b")},
    {T("\"\\u007f\\u0080\\u07ff\\u0800\\uFFFF\""),
     T("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF")},
    {T("\"\\ud83d\\ude00x\""), T("\xF0\x9F\x98\x80x")},
    {T("\"\\uD800\\uDC00\\uDBFF\\uDFFF\""), T("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF")},
    {T("\"\xC4\xA0the\\u0120cat\""), T("\xC4\xA0the\xC4\xA0"
                                       "cat")},
    {T("\"\\\\u0041\""), T("\\u0041")},
    {T("\"\\\\\\\\\""), T("\\\\")},
};

Test(json_value, characters)
{
    struct embi_buf all = {0};
    size_t at = 0;
    for (size_t i = 0; i < COUNT(decoded); i++) {
        struct embi_json_value v = read_one(decoded[i].text, decoded[i].text_n);
        cr_expect(embi_json_string(&v, &all), "case %zu", i);
        embi_buf_cstr(&all); /* so that there are bytes to look at, even of an empty string */
        cr_expect(all.n - at == decoded[i].n &&
                      memcmp(all.s + at, decoded[i].chars, decoded[i].n) == 0,
                  "case %zu: %.*s", i, (int)(all.n - at), all.s + at);
        at = all.n; /* the next one is appended */
        if (memchr(decoded[i].chars, 0, decoded[i].n) == NULL) {
            char longer[64];
            cr_expect(embi_json_is(&v, decoded[i].chars), "case %zu", i);
            memcpy(longer, decoded[i].chars, decoded[i].n + 1);
            strcat(longer, "x");
            cr_expect(!embi_json_is(&v, longer), "case %zu", i);
            longer[decoded[i].n > 0 ? decoded[i].n - 1 : 1] = 0;
            cr_expect(!embi_json_is(&v, longer), "case %zu", i);
        }
    }
    embi_buf_free(&all);
}

Test(json_value, comparison)
{
    struct embi_json_value v = read_one(T("\"a\\u0000b\""));
    cr_expect(!embi_json_is(&v, "a"), "a NUL does not end the characters");
    cr_expect(!embi_json_is(&v, "") && !embi_json_is(&v, "ab"));
    v = read_one(T("\"sh\\u0061pe\""));
    cr_expect(embi_json_is(&v, "shape") && !embi_json_is(&v, "shap") &&
              !embi_json_is(&v, "shaped"));
    cr_expect(!embi_json_is(&v, "sh") && !embi_json_is(&v, "sh\\u0061pe"));
}

Test(json_value, only_strings_have_characters)
{
    static const char *const others[] = {"1", "true", "null", "NaN"};
    struct embi_buf out = {0};
    for (size_t i = 0; i < COUNT(others); i++) {
        struct embi_json_value v = read_one(others[i], strlen(others[i]));
        cr_expect(!embi_json_string(&v, &out) && out.n == 0, "%s", others[i]);
        cr_expect(!embi_json_is(&v, others[i]), "%s", others[i]);
    }
    embi_buf_free(&out);
}

static const struct {
    const char *text;
    bool is_u64;
    uint64_t u64;
    bool is_i64;
    int64_t i64;
} integers[] = {
    {"0", true, 0, true, 0},
    {"7", true, 7, true, 7},
    {"4294967296", true, 4294967296u, true, 4294967296},
    {"9007199254740993", true, 9007199254740993u, true, 9007199254740993}, /* no double */
    {"9223372036854775807", true, 9223372036854775807u, true, INT64_MAX},
    {"9223372036854775808", true, 9223372036854775808u, false, 0},
    {"18446744073709551615", true, UINT64_MAX, false, 0},
    {"18446744073709551616", false, 0, false, 0},
    {"18446744073709551620", false, 0, false, 0},
    {"28446744073709551615", false, 0, false, 0},
    {"100000000000000000000000000000", false, 0, false, 0},
    {"-1", false, 0, true, -1},
    {"-9223372036854775808", false, 0, true, INT64_MIN},
    {"-9223372036854775809", false, 0, false, 0},
    {"-18446744073709551615", false, 0, false, 0},
    {"-0", false, 0, false, 0},
    {"1.0", false, 0, false, 0},
    {"1e0", false, 0, false, 0},
    {"1E2", false, 0, false, 0},
    {"0.0", false, 0, false, 0},
    {"-1.0", false, 0, false, 0},
    {"NaN", false, 0, false, 0},
    {"-Infinity", false, 0, false, 0},
    {"\"1\"", false, 0, false, 0},
    {"true", false, 0, false, 0},
};

Test(json_value, exact_integers)
{
    for (size_t i = 0; i < COUNT(integers); i++) {
        struct embi_json_value v = read_one(integers[i].text, strlen(integers[i].text));
        uint64_t u = 12345;
        int64_t s = 12345;
        cr_expect(embi_json_u64(&v, &u) == integers[i].is_u64, "%s", integers[i].text);
        cr_expect(u == (integers[i].is_u64 ? integers[i].u64 : 12345), "%s", integers[i].text);
        cr_expect(embi_json_i64(&v, &s) == integers[i].is_i64, "%s", integers[i].text);
        cr_expect(s == (integers[i].is_i64 ? integers[i].i64 : 12345), "%s", integers[i].text);
    }
}

#define REPLACED "\xEF\xBF\xBD" /* U+FFFD */

static const struct {
    const char *bytes;
    size_t n;
    const char *quoted;
    bool lossy;
} written[] = {
    {T(""), "\"\"", false},
    {T("cat"), "\"cat\"", false},
    {T("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"", false},
    {T("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"", false},
    {T("\0\x01\x0b\x1f\x7f"), "\"\\u0000\\u0001\\u000b\\u001f\x7f\"", false},
    {T("\xC4\xA0\xE2\x82\xAC\xF0\x9F\x98\x80"), "\"\xC4\xA0\xE2\x82\xAC\xF0\x9F\x98\x80\"", false},
    {T("\xE2\x80\xA8"), "\"\xE2\x80\xA8\"", false}, /* U+2028 */
    {T("\xFF"), "\"" REPLACED "\"", true},
    {T("a\xE2\x82z"), "\"a" REPLACED "z\"", true},
    {T("\xED\xA0\x80"), "\"" REPLACED REPLACED REPLACED "\"", true},
    {T("\xF0\x9F\x98"), "\"" REPLACED "\"", true},
    {T("\xC0\x80\xF0\x9F\x98\xF0\x9F\x98\x80"),
     "\"" REPLACED REPLACED REPLACED "\xF0\x9F\x98\x80\"", true},
};

Test(json_value, written_strings)
{
    for (size_t i = 0; i < COUNT(written); i++) {
        for (size_t pad = 0; pad < 40; pad++) { /* at every place of a block */
            char bytes[64], want[128];
            bool lossy = false;
            struct embi_buf out = {0};
            memset(bytes, '.', pad);
            memcpy(bytes + pad, written[i].bytes, written[i].n);
            memset(want, '.', sizeof want);
            want[0] = '"';
            size_t n = strlen(written[i].quoted) - 1;
            memcpy(want + 1 + pad, written[i].quoted + 1, n);
            embi_json_quote(&out, bytes, pad + written[i].n, &lossy);
            cr_expect(out.n == 1 + pad + n && memcmp(out.s, want, out.n) == 0, "case %zu: %.*s", i,
                      (int)out.n, out.s);
            cr_expect(lossy == written[i].lossy, "case %zu", i);
            embi_buf_free(&out);
        }
    }
    struct embi_buf out = {0};
    bool lossy = true;
    embi_json_quote(&out, "a", 1, &lossy);
    embi_json_quote(&out, "\xFF", 1, NULL);
    cr_expect(lossy && out.n == 3 + 5, "what was lost before stays lost");
    embi_buf_free(&out);
}

/* Bytes drawn from an alphabet that has a sample of everything the loops tell apart. */
static void draw(char *bytes, size_t n, uint32_t which, const char *alphabet, size_t letters)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t ctr[4] = {(uint32_t)i, which, 0, 0}, key[2] = {1, 2};
        uint32_t out[4];
        embi_philox(ctr, key, out);
        bytes[i] = alphabet[out[0] % letters];
    }
}

/* Random bytes come back as they were if they are UTF-8; and what is written is always read. */
Test(json_value, written_strings_are_read_back)
{
    static const char alphabet[] =
        "ab\"\\/\n\t\x01\x1f\x7f\xC4\xA0\xE2\x82\xAC\xF0\x9F\x98\x80\xED\xFF";
    for (uint32_t r = 0; r < 20000; r++) {
        char bytes[48];
        size_t n = r % sizeof bytes;
        bool lossy = false;
        struct embi_buf quoted = {0}, back = {0};
        draw(bytes, n, r, alphabet, sizeof alphabet); /* with the NUL */
        embi_json_quote(&quoted, bytes, n, &lossy);
        struct embi_json_value v = read_one(quoted.s, quoted.n);
        cr_assert(embi_json_string(&v, &back));
        cr_expect(lossy == !embi_utf8_valid(bytes, n), "round %u", r);
        if (!lossy)
            cr_expect(back.n == n && (n == 0 || memcmp(back.s, bytes, n) == 0), "round %u", r);
        embi_buf_free(&quoted);
        embi_buf_free(&back);
    }
}

/* The loops over 16 bytes stop where the scalar ones do. */
Test(json_value, fast_loops_equal_scalar_loops)
{
    static const struct {
        const char *letters;
        size_t n;
    } alphabets[] = {
        {T("abc")},
        {T("abcdefghijklmnopqrst\"")},
        {T("abcdefghijklmnopqrst\\\x1f")},
        {T("abcdefghij\x7f\x20\x21\xC4\xA0")},
        {T("\xC4\xA0\xC4\xA0\xC4\xA0\xC4\xA0\x61")},
        {T("\xE4\xBD\xA0\xE0\xED\x80\x9F\xBF\xC0\xC1\xC2\xDF\xEF\xF0\xF4\xF5\xFF")},
    };
    /* Whole characters in a row, so that the loops get far. */
    static const char *const characters[] = {"a",
                                             "\xC4\xA0",
                                             "\xDF\xBF",
                                             "\xE1\x80\x80",
                                             "\xE0\xA0\x80",
                                             "\xED\x9F\xBF",
                                             "\xEF\xBF\xBF",
                                             "\xF0\x9F\x98\x80",
                                             "bcd",
                                             "\xC2\x80"};
    for (uint32_t r = 0; r < 200000; r++) {
        char bytes[80], picks[80];
        size_t n = 0, wanted = r % 61;
        if (r % 2 == 0) {
            draw(picks, wanted, r, "\0\1\2\3\4\5\6\7\x8\x9", 10);
            for (size_t i = 0; i < wanted && n < wanted; i++) {
                memcpy(bytes + n, characters[(unsigned)picks[i]],
                       strlen(characters[(unsigned)picks[i]]));
                n += strlen(characters[(unsigned)picks[i]]);
            }
            if (r % 4 == 0 && n > 0)
                draw(bytes + r / 4 % n, 1, r, "\"\x80\xC4\xE2z", 5);
        } else {
            n = wanted;
            draw(bytes, n, r, alphabets[r / 2 % COUNT(alphabets)].letters,
                 alphabets[r / 2 % COUNT(alphabets)].n);
        }
        char *copy = malloc(n + 1); /* of exactly this size, for AddressSanitizer */
        memcpy(copy + 1, bytes, n);
        const char *p = copy + 1, *end = p + n;
        cr_assert(embi_json_plain(p, end) == embi_json_plain_scalar(p, end, end), "round %u", r);
        free(copy);
    }
}

Test(json_value, fast_blanks_equal_scalar_blanks)
{
    unsigned char guess = 0;
    for (uint32_t r = 0; r < 50000; r++) {
        char bytes[48];
        size_t n = r % sizeof bytes;
        draw(bytes, n, r, r % 3 ? "  \n  \t  \r       \x0b" : "   \n", r % 3 ? 17 : 4);
        char *copy = malloc(n + 1);
        memcpy(copy + 1, bytes, n);
        const char *p = copy + 1, *end = p + n;
        cr_assert(embi_json_blanks(p, end, &guess) == embi_json_blanks_scalar(p, end), "round %u",
                  r);
        free(copy);
    }
}
