/* test_json_pair.c - members with whole numbers: embi_json_pair gives what embi_json_member,
 * embi_json_next and embi_json_u64 give in turn, for texts of every layout, cut short at every byte
 * and with every byte changed.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"

static bool same_value(const struct embi_json_value *a, const struct embi_json_value *b)
{
    return a->kind == b->kind && a->escaped == b->escaped && a->s == b->s && a->n == b->n;
}

/* The simple way. */
static bool simple_pair(struct embi_json *j, struct embi_json_pair *pair)
{
    if (!embi_json_member(j, &pair->key))
        return false;
    embi_json_next(j, &pair->value);
    pair->whole = embi_json_u64(&pair->value, &pair->number);
    return true;
}

static bool is_container(const struct embi_json_value *v)
{
    return v->kind == EMBI_JSON_OBJECT || v->kind == EMBI_JSON_ARRAY;
}

/* Both ways side by side over the n bytes at text; gives the number of members. */
static size_t compare(const char *text, size_t n)
{
    struct embi_json fast, simple;
    struct embi_json_pair got = {0}, want = {0};
    emb_err got_err = {0}, want_err = {0};
    size_t members = 0;
    embi_json_init(&fast, text, n, 0);
    embi_json_init(&simple, text, n, 0);
    embi_json_enter(&fast, EMBI_JSON_OBJECT);
    embi_json_enter(&simple, EMBI_JSON_OBJECT);
    for (;; members++) {
        bool more = simple_pair(&simple, &want);
        cr_assert(embi_json_pair(&fast, &got) == more, "member %zu", members);
        if (!more)
            break;
        cr_assert(same_value(&got.key, &want.key) && same_value(&got.value, &want.value));
        cr_assert(got.whole == want.whole && (!got.whole || got.number == want.number));
        cr_assert(embi_json_at(&fast) == embi_json_at(&simple));
        if (is_container(&want.value))
            cr_assert(embi_json_leave(&fast) == embi_json_leave(&simple));
    }
    cr_assert(embi_json_finish(&fast, 7, &got_err) == embi_json_finish(&simple, 7, &want_err));
    cr_assert(got_err.at == want_err.at && strcmp(got_err.msg, want_err.msg) == 0);
    return members;
}

/* A copy of exactly n bytes, so that a sanitizer sees what is read beyond them. */
static size_t compare_copy(const char *text, size_t n)
{
    char *copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    size_t members = compare(copy, n);
    free(copy);
    return members;
}

/* Keys of all lengths up to 40, escapes, characters of several bytes, numbers of 1 to 20 digits. */
static size_t vocabulary(char *out, size_t room, const char *open, const char *comma,
                         const char *colon, const char *close)
{
    static const char *const marks[] = {"",
                                        "\\n",
                                        "\xC4\xA0",
                                        "\\u00e9",
                                        "\xE2\x96\x81",
                                        "\\\"",
                                        "\xF0\x9F\x98\x80",
                                        "\\ud83d\\ude00",
                                        "\xED\x9F\xBF"};
    static const char *const numbers[] = {"0",     "7",       "10",       "128000",
                                          "99999", "9999999", "12345678", "18446744073709551615"};
    size_t n = (size_t)snprintf(out, room, "%s", open);
    for (int i = 0; i < 80; i++)
        n += (size_t)snprintf(out + n, room - n, "%s\"%.*s%s%d\"%s%s", i ? comma : "", i % 41,
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO", marks[i % 9], i, colon,
                              numbers[i % 8]);
    return n + (size_t)snprintf(out + n, room - n, "%s", close);
}

static const char *const layouts[][4] = {
    {"{\"a\":0,", ",", ":", "}"},
    {"{\"a\": 0, ", ", ", ": ", "}"},
    {"{\n  \"a\": 0,\n  ", ",\n  ", ": ", "\n}"},
    {"{\r\n\t\"a\" :0 ,\r\n\t", " ,\r\n\t", " :", "\r\n}"},
    {"{\n      \"a\": 0,\n      ", ",\n      ", ":\n      ", "\n    }\n"},
    {"{\"a\":                 0                ,  ", "                   ,", ":  ", "}"},
};

Test(json_pair, layouts)
{
    static char text[8192];
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *const *l = layouts[i];
        size_t n = vocabulary(text, sizeof text, l[0], l[1], l[2], l[3]);
        cr_assert(n < sizeof text);
        cr_expect(compare_copy(text, n) == 81, "layout %zu", i);
    }
}

Test(json_pair, values_of_other_kinds)
{
    static const char *const values[] = {
        "1.5",    "1e3",    "1E3",      "-1",        "-0",         "01",
        "1.",     "1e",     "00000000", "123456789", "true",       "nul",
        "\"12\"", "[1, 2]", "{}",       "{\"a\":",   "",           "1 2",
        "1x",     "+1",     "1/",       "1:",        "12345678.5", "99999999999999999999",
        "NaN",    "-",      "1\x80",    "0 ,",       "7}"};
    char text[512];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int n =
            snprintf(text, sizeof text,
                     "{\"a\": 1, \"b\": 22, \"c\": 333, \"d\": %s, \"e\": 5, \"f\": 6, \"g\": 7, "
                     "\"a long end\": 8, \"that leaves room for whole blocks of bytes\": 9}",
                     values[i]);
        compare_copy(text, (size_t)n);
    }
}

Test(json_pair, cut_short_everywhere)
{
    static char text[8192];
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *const *l = layouts[i];
        size_t n = vocabulary(text, sizeof text, l[0], l[1], l[2], l[3]);
        for (size_t cut = 0; cut < n; cut += 1 + cut / 400)
            compare_copy(text, cut);
    }
}

Test(json_pair, every_byte_changed)
{
    static const char put[] = "\",:{}[]\\ \n\x01"
                              "0e.-\x80\xC3\xED\xF0u";
    static char text[8192];
    for (size_t i = 0; i < 4; i++) {
        const char *const *l = layouts[i];
        size_t n = vocabulary(text, sizeof text, l[0], l[1], l[2], l[3]);
        for (size_t at = 0; at < n; at += 1 + at / 300) {
            char was = text[at];
            for (size_t c = 0; c < sizeof put; c++) {
                text[at] = put[c];
                compare(text, n);
            }
            text[at] = was;
        }
    }
}
