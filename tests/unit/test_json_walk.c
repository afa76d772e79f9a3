/* test_json_walk.c - walking through JSON: events and their spans, skipping, leaving, what happens
 * when a value is not of the kind the caller needs, and the words of the messages.
 *
 * Expected spans and places were counted by hand in the texts below.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "util/json.h"

#define COUNT(a)   (sizeof(a) / sizeof *(a))
#define T(literal) literal, sizeof(literal) - 1

enum { GOOD = -1 };

static int64_t finish(struct embi_json *j)
{
    emb_err err = {0};
    return embi_json_finish(j, 0, &err) == EMB_OK ? GOOD : err.at;
}

Test(json_walk, events_and_spans)
{
    static const struct {
        enum embi_json_kind kind;
        const char *span;
        bool escaped;
    } want[] = {
        {EMBI_JSON_OBJECT, "{", false},       {EMBI_JSON_KEY, "\"a\"", false},
        {EMBI_JSON_ARRAY, "[", false},        {EMBI_JSON_NUMBER, "-1.5e3", false},
        {EMBI_JSON_STRING, "\"x\\n\"", true}, {EMBI_JSON_STRING, "\"y\"", false},
        {EMBI_JSON_ARRAY_END, "]", false},    {EMBI_JSON_KEY, "\"\\u0062\"", true},
        {EMBI_JSON_TRUE, "true", false},      {EMBI_JSON_KEY, "\"c\"", false},
        {EMBI_JSON_FALSE, "false", false},    {EMBI_JSON_KEY, "\"d\"", false},
        {EMBI_JSON_NULL, "null", false},      {EMBI_JSON_KEY, "\"e\"", false},
        {EMBI_JSON_NUMBER, "NaN", false},     {EMBI_JSON_KEY, "\"f\"", false},
        {EMBI_JSON_OBJECT, "{", false},       {EMBI_JSON_OBJECT_END, "}", false},
        {EMBI_JSON_OBJECT_END, "}", false},   {EMBI_JSON_END, "", false},
        {EMBI_JSON_END, "", false},
    };
    static const char text[] =
        " {\"a\" : [-1.5e3,\"x\\n\",\n  \"y\"\n],\"\\u0062\":true,\"c\":false ,"
        "\"d\":null,\"e\":NaN,\"f\":{ }} ";
    struct embi_json j;
    embi_json_init(&j, text, sizeof text - 1, EMBI_JSON_NAN);
    const char *last = text;
    for (size_t i = 0; i < COUNT(want); i++) {
        struct embi_json_value v;
        cr_expect(embi_json_next(&j, &v) == want[i].kind && v.kind == want[i].kind, "event %zu", i);
        cr_expect(v.n == strlen(want[i].span) && memcmp(v.s, want[i].span, v.n) == 0, "event %zu",
                  i);
        cr_expect(v.escaped == want[i].escaped, "event %zu", i);
        cr_expect(v.s >= last && v.s + v.n <= text + sizeof text - 1, "event %zu", i);
        last = v.s + v.n;
    }
}

Test(json_walk, skip_gives_the_whole_span)
{
    static const char text[] = "{\"a\": [1, {\"b\": []}, \"]\"] , \"c\":\"d\"}";
    struct embi_json j;
    struct embi_json_value v, key;
    embi_json_init(&j, text, sizeof text - 1, 0);
    cr_assert(embi_json_enter(&j, EMBI_JSON_OBJECT) && embi_json_member(&j, &key));
    cr_expect(embi_json_skip(&j, &v) && v.kind == EMBI_JSON_ARRAY);
    cr_expect(v.s == text + 6 && v.n == strlen("[1, {\"b\": []}, \"]\"]"));
    cr_expect(embi_json_at(&j) == 6 + v.n);
    cr_assert(embi_json_member(&j, &key));
    cr_expect(embi_json_skip(&j, &v) && v.kind == EMBI_JSON_STRING && v.n == 3);
    cr_expect(!embi_json_member(&j, &key));
    cr_expect(text[embi_json_at(&j) - 1] == '}' && embi_json_at(&j) == sizeof text - 1);
    cr_expect(finish(&j) == GOOD);
}

Test(json_walk, leave_skips_the_rest_of_a_container)
{
    static const char text[] = "[[1,[2],{\"a\":3}],{\"b\":[4],\"c\":5},[],6]";
    struct embi_json j;
    struct embi_json_value v;
    embi_json_init(&j, text, sizeof text - 1, 0);
    cr_assert(embi_json_enter(&j, EMBI_JSON_ARRAY));
    cr_assert(embi_json_item(&j) && embi_json_enter(&j, EMBI_JSON_ARRAY) && embi_json_item(&j));
    cr_expect(embi_json_leave(&j)); /* before the 1 that item announced */
    cr_assert(embi_json_item(&j) && embi_json_enter(&j, EMBI_JSON_OBJECT));
    cr_assert(embi_json_member(&j, &v) && embi_json_leave(&j)); /* after a key */
    cr_assert(embi_json_item(&j) && embi_json_enter(&j, EMBI_JSON_ARRAY) && embi_json_leave(&j));
    cr_assert(embi_json_item(&j));
    cr_expect(embi_json_next(&j, &v) == EMBI_JSON_NUMBER && *v.s == '6');
    cr_expect(embi_json_leave(&j) && finish(&j) == GOOD);
    cr_expect(!embi_json_leave(&j), "nothing is open");
}

/* The caller wanted something else than there is. */
Test(json_walk, wrong_kinds_are_errors_with_a_place)
{
    struct embi_json j;
    struct embi_json_value v;
    emb_err err;
    embi_json_init(&j, T(" [1]"), 0);
    cr_expect(!embi_json_enter(&j, EMBI_JSON_OBJECT) && !embi_json_member(&j, &v));
    cr_expect(v.kind == EMBI_JSON_ERROR && finish(&j) == 1);
    embi_json_init(&j, T("{\"a\":1}"), 0);
    cr_expect(!embi_json_item(&j) && finish(&j) == 0, "item outside of an array");
    embi_json_init(&j, T("{\"a\": 1}"), 0);
    cr_assert(embi_json_enter(&j, EMBI_JSON_OBJECT) && embi_json_member(&j, &v));
    cr_expect(!embi_json_item(&j) && finish(&j) == 6, "item in an object");
    embi_json_init(&j, T("[ 1]"), 0);
    cr_assert(embi_json_enter(&j, EMBI_JSON_ARRAY));
    cr_expect(!embi_json_member(&j, &v) && finish(&j) == 2, "member in an array");
    embi_json_init(&j, T("[1, 2]"), 0);
    cr_expect(embi_json_next(&j, &v) == EMBI_JSON_ARRAY && finish(&j) == 1,
              "finish came too early");
    embi_json_init(&j, T("[1, 2 oops"), 0);
    cr_assert(embi_json_enter(&j, EMBI_JSON_ARRAY) && embi_json_item(&j));
    embi_json_next(&j, &v);
    embi_json_reject(&j, &v, "a string");
    embi_json_reject(&j, &v, "something else");
    cr_expect(embi_json_next(&j, &v) == EMBI_JSON_ERROR && !embi_json_skip(&j, &v));
    cr_expect(embi_json_finish(&j, 100, &err) == EMB_BAD_DATA && err.at == 101);
    cr_expect_str_eq(err.msg, "JSON: byte 101: expected a string, found \"1, 2 oops\"");
}

Test(json_walk, messages)
{
    static const struct {
        const char *text, *msg;
    } cases[] = {
        {"{\"a\":1,}", "JSON: byte 7: expected a key, found \"}\""},
        {"[1", "JSON: byte 2: expected ',' or ']', found the end of the text"},
        {"[tru\x01", "JSON: byte 4: expected true, found \"\\x01\""},
        {"\"\\ud800",
         "JSON: byte 1: expected a high surrogate, then a low one, found \"\\\\ud800\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct embi_json j;
        emb_err err = {0};
        embi_json_init(&j, cases[i].text, strlen(cases[i].text), 0);
        embi_json_skip(&j, NULL);
        embi_json_finish(&j, 0, &err);
        cr_expect_str_eq(err.msg, cases[i].msg);
    }
}
