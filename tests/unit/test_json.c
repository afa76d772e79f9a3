/* test_json.c - the JSON reader: what it accepts, what it refuses and where, its events and spans.
 *
 * The cases follow the kinds of the public JSONTestSuite (y_ accepted, n_ refused) in texts of our
 * own. Each place is the offset of the first byte that cannot stand there by the grammar of
 * RFC 8259; it was found by hand, not by running the reader. Every text is read in three ways
 * (skipped, by events, with enter, member and item), which must agree, and lies before a page that
 * may not be read.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/json.h"

#define COUNT(a)   (sizeof(a) / sizeof *(a))
#define T(literal) literal, sizeof(literal) - 1 /* a text that may hold a NUL */

enum { GUARDED_BYTES = 1 << 16, GOOD = -1 };

/* A copy of the text that ends where the readable memory ends. */
static const char *guarded(const char *s, size_t n)
{
    static char *end;
    if (end == NULL) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *map = mmap(NULL, GUARDED_BYTES + page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert(map != MAP_FAILED && mprotect(map + GUARDED_BYTES, page, PROT_NONE) == 0);
        end = map + GUARDED_BYTES;
    }
    cr_assert(n <= GUARDED_BYTES);
    return memcpy(end - n, s, n);
}

static int64_t finish(struct embi_json *j)
{
    emb_err err = {0};
    if (embi_json_finish(j, 0, &err) == EMB_OK)
        return GOOD;
    cr_expect(err.status == EMB_BAD_DATA && strncmp(err.msg, "JSON: byte ", 11) == 0);
    return err.at;
}

static int64_t by_skip(const char *s, size_t n, unsigned flags)
{
    struct embi_json j;
    embi_json_init(&j, s, n, flags);
    embi_json_skip(&j, NULL);
    return finish(&j);
}

static int64_t by_events(const char *s, size_t n, unsigned flags)
{
    struct embi_json j;
    struct embi_json_value v;
    embi_json_init(&j, s, n, flags);
    while (embi_json_next(&j, &v) > EMBI_JSON_END)
        ;
    return finish(&j);
}

static void descend(struct embi_json *j)
{
    struct embi_json_value v;
    switch (embi_json_next(j, &v)) {
    case EMBI_JSON_OBJECT:
        while (embi_json_member(j, &v))
            descend(j);
        break;
    case EMBI_JSON_ARRAY:
        while (embi_json_item(j))
            descend(j);
        break;
    default: break;
    }
}

static int64_t by_descent(const char *s, size_t n, unsigned flags)
{
    struct embi_json j;
    embi_json_init(&j, s, n, flags);
    descend(&j);
    return finish(&j);
}

/* Like by_descent, but nothing in the outermost container is read: it is skipped without asking. */
static int64_t by_neglect(const char *s, size_t n, unsigned flags)
{
    struct embi_json j;
    struct embi_json_value v;
    embi_json_init(&j, s, n, flags);
    enum embi_json_kind kind = embi_json_next(&j, &v);
    while (kind == EMBI_JSON_OBJECT ? embi_json_member(&j, &v)
                                    : kind == EMBI_JSON_ARRAY && embi_json_item(&j))
        ;
    return finish(&j);
}

/* GOOD or the place of the error, by all ways. */
static int64_t verdict(const char *text, size_t n, unsigned flags)
{
    const char *s = guarded(text, n);
    int64_t at = by_skip(s, n, flags);
    cr_expect(by_events(s, n, flags) == at, "events: %.*s", (int)n, text);
    cr_expect(by_descent(s, n, flags) == at, "descent: %.*s", (int)n, text);
    cr_expect(by_neglect(s, n, flags) == at, "neglect: %.*s", (int)n, text);
    return at;
}

struct text {
    const char *s;
    size_t n;
    int64_t at; /* of the error */
    unsigned flags;
};

static const struct text good[] = {
    {T("{}"), GOOD, 0},
    {T("[]"), GOOD, 0},
    {T(" \t\r\n[ \t\r\n] \t\r\n"), GOOD, 0},
    {T("[[]]"), GOOD, 0},
    {T("{\"\":0}"), GOOD, 0},
    {T("{\"a\":1,\"a\":2}"), GOOD, 0},
    {T("{ \"a\" : [ 1 , null , true , false , { } , \"x\" ] }"), GOOD, 0},
    {T("0"), GOOD, 0},
    {T("-0"), GOOD, 0},
    {T("[0,-1,10,0.5,-0.0,1e1,1E+1,1e-1,0e0,0.0e00,12.34e56,1e9999]"), GOOD, 0},
    {T("123456789012345678901234567890"), GOOD, 0},
    {T("\"\""), GOOD, 0},
    {T("true"), GOOD, 0},
    {T("false"), GOOD, 0},
    {T("null "), GOOD, 0},
    {T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), GOOD, 0},
    {T("\"\\u0000\\u001f\\u00e9\\uABCD\\uabcd\\uffff\""), GOOD, 0},
    {T("\"\\ud83d\\ude00\\uD800\\uDC00\\uDBFF\\uDFFF\""), GOOD, 0},
    {T("\"\x7f\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\""), GOOD, 0},
    {T("\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""), GOOD, 0},
    {T("\"\xEF\xBB\xBF // /* no comment */ ' , ] }\""), GOOD, 0},
    {T("[NaN,Infinity,-Infinity,{\"a\":NaN}]"), GOOD, EMBI_JSON_NAN},
};

static const struct text bad[] = {
    {T(""), 0, 0},
    {T(" \n"), 2, 0},
    {T("["), 1, 0},
    {T("{"), 1, 0},
    {T("]"), 0, 0},
    {T("}"), 0, 0},
    {T(","), 0, 0},
    {T("[1"), 2, 0},
    {T("[1,"), 3, 0},
    {T("[1,]"), 3, 0},
    {T("[,1]"), 1, 0},
    {T("[1,,2]"), 3, 0},
    {T("[1 2]"), 3, 0},
    {T("[1}"), 2, 0},
    {T("[1:2]"), 2, 0},
    {T("[\"a\":2]"), 4, 0},
    {T("[}"), 1, 0},
    {T("[]]"), 2, 0},
    {T("[],"), 2, 0},
    {T("[][]"), 2, 0},
    {T("{]"), 1, 0},
    {T("{\"a\""), 4, 0},
    {T("{\"a\":"), 5, 0},
    {T("{\"a\":}"), 5, 0},
    {T("{\"a\" 1}"), 5, 0},
    {T("{\"a\",1}"), 4, 0},
    {T("{\"a\":1"), 6, 0},
    {T("{\"a\":1,"), 7, 0},
    {T("{\"a\":1,}"), 7, 0},
    {T("{,\"a\":1}"), 1, 0},
    {T("{\"a\":1,,\"b\":2}"), 7, 0},
    {T("{\"a\":1 \"b\":2}"), 7, 0},
    {T("{\"a\":1]"), 6, 0},
    {T("{\"a\":1:2}"), 6, 0},
    {T("{\"a\"::1}"), 5, 0},
    {T("{a:1}"), 1, 0},
    {T("{1:1}"), 1, 0},
    {T("{'a':1}"), 1, 0},
    {T("{null:1}"), 1, 0},
    {T("{[1]:1}"), 1, 0},
    {T("{\"a\":1}x"), 7, 0},
    {T("{} // no"), 3, 0},
    {T("/* no */ {}"), 0, 0},
    {T("[1] #"), 4, 0},
    {T("{}\0"), 2, 0},
    {T("{}}"), 2, 0},
    {T("'a'"), 0, 0},
    {T("a"), 0, 0},
    {T("t"), 1, 0},
    {T("tru"), 3, 0},
    {T("trux"), 3, 0},
    {T("True"), 0, 0},
    {T("TRUE"), 0, 0},
    {T("truee"), 4, 0},
    {T("[fals]"), 5, 0},
    {T("nul"), 3, 0},
    {T("nil"), 1, 0},
    {T("[true false]"), 6, 0},
    {T("+1"), 0, 0},
    {T("-"), 1, 0},
    {T("--1"), 1, 0},
    {T("-a"), 1, 0},
    {T("01"), 1, 0},
    {T("-01"), 2, 0},
    {T("00"), 1, 0},
    {T(".5"), 0, 0},
    {T("-.5"), 1, 0},
    {T("1."), 2, 0},
    {T("[1.]"), 3, 0},
    {T("1.e1"), 2, 0},
    {T("1.5.5"), 3, 0},
    {T("1e"), 2, 0},
    {T("1e+"), 3, 0},
    {T("1E-x"), 3, 0},
    {T("1e1.5"), 3, 0},
    {T("1e+-1"), 3, 0},
    {T("0x1"), 1, 0},
    {T("0e"), 2, 0},
    {T("1_000"), 1, 0},
    {T("1 000"), 2, 0},
    {T("1\xE2\x82\xAC"), 1, 0},
    {T("\xEF\xBC\x91"), 0, 0}, /* a full-width 1 */
    {T("NaN"), 0, 0},
    {T("Infinity"), 0, 0},
    {T("-Infinity"), 1, 0},
    {T("nan"), 1, EMBI_JSON_NAN},
    {T("Na"), 2, EMBI_JSON_NAN},
    {T("NaNN"), 3, EMBI_JSON_NAN},
    {T("+Infinity"), 0, EMBI_JSON_NAN},
    {T("-NaN"), 1, EMBI_JSON_NAN},
    {T("-Inf"), 4, EMBI_JSON_NAN},
    {T("Infinityx"), 8, EMBI_JSON_NAN},
    {T("\xEF\xBB\xBF{}"), 0, 0},
    {T("\xFF\xFE{\0}\0"), 0, 0},
    {T("{\0}\0"), 1, 0},
    {T("[1,\xC2\xA0"
       "2]"),
     3, 0}, /* U+00A0 is no blank */
    {T("[1,\f2]"), 3, 0},
    {T("[1,\v2]"), 3, 0},
    {T("[\xFF]"), 1, 0},
};

Test(json, accepts)
{
    for (size_t i = 0; i < COUNT(good); i++) {
        int64_t at = verdict(good[i].s, good[i].n, good[i].flags);
        cr_expect(at == GOOD, "%s: refused at %ld", good[i].s, (long)at);
    }
}

Test(json, refuses_with_the_place)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        int64_t at = verdict(bad[i].s, bad[i].n, bad[i].flags);
        cr_expect(at == bad[i].at, "case %zu, %s: expected %ld, found %ld", i, bad[i].s,
                  (long)bad[i].at, (long)at);
    }
}

/* Every proper beginning of a container is refused, and always because it ends. */
Test(json, cut_short_anywhere)
{
    static const char text[] =
        "{ \"k\\u00e9y\" : [ -1.25e+3 , \"\xC3\xA9\\ud83d\\ude00\" , true ] , "
        "\"b\":{\"c\":null} }";
    cr_assert(verdict(text, sizeof text - 1, 0) == GOOD);
    for (size_t n = 0; n < sizeof text - 1; n++) {
        int64_t at = verdict(text, n, 0);
        bool inside_escape = at >= 0 && at < (int64_t)n && text[at] == '\\';
        bool inside_character = at == (int64_t)n - 1 && (text[at] & 0x80) != 0;
        cr_expect(at == (int64_t)n || inside_escape || inside_character, "%zu: %ld", n, (long)at);
    }
}

/* What may not stand in a string; offsets from the opening quote, which is added. */
static const struct text in_strings[] = {
    {T("\x1f\""), 1, 0},
    {T("a\nb\""), 2, 0},
    {T("\t\""), 1, 0},
    {T("\0\""), 1, 0},
    {T("\\\""), 3, 0}, /* the quote is escaped, the text ends */
    {T("\\"), 1, 0},
    {T("\\x41\""), 1, 0},
    {T("\\'\""), 1, 0},
    {T("\\a\""), 1, 0},
    {T("\\0\""), 1, 0},
    {T("\\U0041\""), 1, 0},
    {T("\\\n\""), 1, 0},
    {T("\\\xC3\xA9\""), 1, 0},
    {T("ab\\u\""), 3, 0},
    {T("\\u12\""), 1, 0},
    {T("\\u123"), 1, 0},
    {T("\\u123g\""), 1, 0},
    {T("\\u+123\""), 1, 0},
    {T("\\u 123\""), 1, 0},
    {T("\\uD800\""), 1, 0},
    {T("\\uD800x\""), 1, 0},
    {T("\\uDC00\""), 1, 0},
    {T("\\uDFFF\\uD800\""), 1, 0},
    {T("\\uD800\\uD800\""), 1, 0},
    {T("\\uD83D\\n\""), 1, 0},
    {T("\\uD83D\\u0041\""), 1, 0},
    {T("\\uD83D\\uDE0\""), 1, 0},
    {T("\\uD83D\\uDE00\\uDE00\""), 13, 0},
    {T("\x80\""), 1, 0},
    {T("\xC3\""), 1, 0},
    {T("\xC3"), 1, 0},
    {T("\xC3(\""), 1, 0},
    {T("\xC3\xC3\xA9\""), 1, 0},
    {T("\xC3\xA9\xA9\""), 3, 0},
    {T("\xC0\x80\""), 1, 0},
    {T("\xC1\xBF\""), 1, 0},
    {T("\xE2\x82\""), 1, 0},
    {T("\xE2\x82"), 1, 0},
    {T("\xE2\x28\xA1\""), 1, 0},
    {T("\xE0\x80\x80\""), 1, 0},
    {T("\xE0\x9F\xBF\""), 1, 0},
    {T("\xED\xA0\xBD\xED\xB8\x80\""), 1, 0}, /* CESU-8 */
    {T("\xED\xBF\xBF\""), 1, 0},
    {T("\xF0\x9F\x98\""), 1, 0},
    {T("\xF0\x80\x80\x80\""), 1, 0},
    {T("\xF0\x8F\xBF\xBF\""), 1, 0},
    {T("\xF4\x90\x80\x80\""), 1, 0},
    {T("\xF5\x80\x80\x80\""), 1, 0},
    {T("\xF8\x88\x80\x80\x80\""), 1, 0},
    {T("\xFE\""), 1, 0},
    {T("\xFF\""), 1, 0},
    {T("no end"), 7, 0},
    {T(""), 1, 0},
    {T("\xE2\x82\xAC"), 4, 0},
};

/* Each after 0 to more than 32 plain bytes, so at every place of a block of 16, before 0 or 40 more
 * bytes, as a value and as a key. */
Test(json, strings_are_checked_at_every_place)
{
    static const char *const before[] = {"\"", "[{\"", "{\"a\":\""};
    static const char fill[] =
        "abcd\xC3\xA9\xE2\x82\xAC \xE4\xBD\xA0 \xC4\xA0 0123456789abcdefghijklmn"
        "opqrst";
    for (size_t i = 0; i < COUNT(in_strings) * COUNT(before); i++) {
        const struct text *c = &in_strings[i / COUNT(before)];
        const char *head = before[i % COUNT(before)];
        for (size_t k = 0; k < sizeof fill; k++) {
            if ((fill[k] & 0xC0) == 0x80) /* only whole characters */
                continue;
            char text[200];
            size_t n = strlen(head);
            memcpy(text, head, n);
            memcpy(text + n, fill, k);
            memcpy(text + n + k, c->s, c->n);
            int64_t want = (int64_t)(n + k) + c->at - 1;
            int64_t at = verdict(text, n + k + c->n, 0);
            cr_expect(at == want, "case %zu, %zu before: expected %ld, found %ld", i, k, (long)want,
                      (long)at);
            if (c->n == 0 || c->s[c->n - 1] != '"' || c->at >= (int64_t)c->n)
                continue; /* it is wrong because it ends */
            memset(text + n + k + c->n, ' ', 40);
            cr_expect(verdict(text, n + k + c->n + 40, 0) == want, "case %zu, %zu before", i, k);
        }
    }
}

Test(json, depth)
{
    char text[4 * 129 + 1 + 129];
    for (size_t depth = 127; depth <= 129; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        cr_expect(verdict(text, 2 * depth, 0) == (depth <= 128 ? GOOD : 128), "[ %zu", depth);
        size_t n = 0;
        for (size_t d = 0; d < depth - 1; d++, n += 4)
            memcpy(text + n, "{\"\":", 4);
        memcpy(text + n, "{", 1);
        memset(text + n + 1, '}', depth);
        cr_expect(verdict(text, n + 1 + depth, 0) == (depth <= 128 ? GOOD : 4 * 128), "{ %zu",
                  depth);
    }
    memset(text, '[', 128);
    memset(text + 128, '}', 128); /* each level remembers its kind */
    cr_expect(verdict(text, 256, 0) == 128);
    memset(text, '[', 64);
    for (size_t i = 0; i < 64; i++)
        memcpy(text + 64 + 4 * i, i < 63 ? "{\"\":" : "{}   ", 4);
    memset(text + 64 + 4 * 64, '}', 63);
    memset(text + 64 + 4 * 64 + 63, ']', 64);
    cr_expect(verdict(text, 64 + 4 * 64 + 63 + 64, 0) == GOOD);
}

/* Texts in which the same bytes stand between strings again and again, which the skipping compares
 * instead of reading: with any one byte of them changed, inserted or left out, the verdict must be
 * that of the reading by events. */
static const char *const monotonous[] = {
    "[[\"a\", \"b\"], [\"c\", \"d\"], [\"ee\", \"f\"], [\"g\", \"h\"]]",
    "[\n  \"a b\",\n  \"c d\",\n  \"e f\",\n  \"\\u00e9\",\n  \"\xC3\xA9\"\n]",
    "{\"m\":[[\n   \"a\",\n   \"b\"\n  ],\n  [\n   \"c\",\n   \"d\"\n  ],\n  [\n   \"e\",\n   "
    "\"f\"\n  ]]}",
    "[[\"a\"],[\"b\"],[\"c\"],{\"k\":[\"d\"]},[\"e\"],[[\"f\"]],[[\"g\"]],[\"h\"],1,\"i\",1,\"j\"]",
    "[{\"k\":[\"a\"]},[[\"b\"]],{\"k\":[\"c\"]},[[\"d\"]],{\"k\":[\"e\"]}]",
    "[\"a\",                                                 \"b\",                    "
    "                             \"c\",                                              \"d\"]",
};

Test(json, skipping_reads_every_byte)
{
    static const char others[] = "\",[]{}: \\\x01\x80"
                                 "a";
    char text[256];
    for (size_t i = 0; i < COUNT(monotonous); i++) {
        const char *s = monotonous[i];
        size_t n = strlen(s);
        cr_expect(verdict(s, n, 0) == GOOD, "text %zu", i);
        for (size_t at = 0; at < n * COUNT(others); at++) {
            size_t place = at / COUNT(others);
            memcpy(text, s, n);
            text[place] = others[at % COUNT(others)];
            (void)verdict(text, n, 0);
            memcpy(text + place + 1, s + place, n - place);
            (void)verdict(text, n + 1, 0);
            memcpy(text + place, s + place + 1, n - place - 1);
            (void)verdict(text, n - 1, 0);
        }
    }
}
