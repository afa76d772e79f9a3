/* test_json_edit.c - splicing of JSON texts: what is added has the style of the text, and nothing
 * else changes.
 *
 * Expected texts are written by hand; those of common styles are what Python's
 * json.dumps(value, indent=..., separators=...) prints for the whole changed value.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "util/json_edit.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct embi_json_edits edits;
static struct embi_buf out;
static emb_err err;

static void begin(const char *text)
{
    embi_json_edits_free(&edits);
    embi_buf_free(&out);
    edits = (struct embi_json_edits){.s = text, .n = strlen(text)};
}

static void finish(const char *want)
{
    cr_assert_eq(embi_json_edits_apply(&edits, &out, &err), EMB_OK, "%s", err.msg);
    cr_expect_str_eq(embi_buf_cstr(&out), want);
    embi_json_edits_free(&edits);
    embi_buf_free(&out);
}

/* The value of the member "x", wherever it is first; the outermost value if there is none. */
static struct embi_json_value find_x(void)
{
    struct embi_json j;
    struct embi_json_value v;
    const char *x = strstr(edits.s, "\"x\"");
    const char *from = x ? strchr(x, ':') + 1 : edits.s;
    embi_json_init(&j, from, (size_t)(edits.s + edits.n - from), EMBI_JSON_NAN);
    cr_assert(embi_json_skip(&j, &v));
    return v;
}

/* ------------------------------------------------------------------------------------------------
 * Adding two numbers to an array, two members to an object
 */

static const struct {
    const char *text, *want;
} arrays[] = {
    {"{\"x\": [1, 2]}", "{\"x\": [1, 2, 7, 8]}"},
    {"{\"x\":[1,2]}", "{\"x\":[1,2,7,8]}"},
    {"{\"x\": [1]}", "{\"x\": [1, 7, 8]}"},
    {"{\"x\":[1],\"y\":2}", "{\"x\":[1,7,8],\"y\":2}"},
    {"{\"x\": []}", "{\"x\": [7, 8]}"},
    {"{\"x\":[],\"y\":2}", "{\"x\":[7,8],\"y\":2}"},
    {"{ \"x\": [ 1 ] }", "{ \"x\": [ 1, 7, 8 ] }"},
    {"{\n  \"x\": []\n}\n", "{\n  \"x\": [\n    7,\n    8\n  ]\n}\n"},
    {"{\n  \"x\": [ ]\n}", "{\n  \"x\": [\n    7,\n    8\n  ]\n}"},
    {"{\n  \"x\": [1]\n}", "{\n  \"x\": [1, 7, 8]\n}"},
    {"{\n\t\"a\": 1,\n\t\"x\": []\n}", "{\n\t\"a\": 1,\n\t\"x\": [\n\t\t7,\n\t\t8\n\t]\n}"},
    {"{\r\n  \"x\": []\r\n}\r\n", "{\r\n  \"x\": [\r\n    7,\r\n    8\r\n  ]\r\n}\r\n"},
    {"{\n  \"x\": [\n    1\n  ]\n}", "{\n  \"x\": [\n    1,\n    7,\n    8\n  ]\n}"},
    {"{\n \"x\": [\n   1\n  ,  2\n  ]}", "{\n \"x\": [\n   1\n  ,  2\n  ,  7\n  ,  8\n  ]}"},
    {"[]", "[\n  7,\n  8\n]"},
    {"[1, 2]", "[1, 2, 7, 8]"},
    {"{\n    \"d\": {\n        \"x\": []\n    }\n}",
     "{\n    \"d\": {\n        \"x\": [\n            7,\n            8\n        ]\n    }\n}"},
};

Test(json_edit, append_to_arrays)
{
    for (size_t i = 0; i < COUNT(arrays); i++) {
        struct embi_json_append a;
        begin(arrays[i].text);
        struct embi_json_value x = find_x();
        embi_json_append_begin(&a, &edits, &x);
        embi_json_append_item(&a);
        embi_buf_text(a.out, "7");
        embi_json_append_item(&a);
        embi_buf_text(a.out, "8");
        embi_json_append_end(&a);
        finish(arrays[i].want);
    }
}

static const struct {
    const char *text, *want;
} objects[] = {
    {"{\"x\": {}}", "{\"x\": {\"k\": 7, \"l\\n\": {\"m\": 8, \"n\": []}}}"},
    {"{\"x\":{},\"y\":0}", "{\"x\":{\"k\":7,\"l\\n\":{\"m\":8,\"n\":[]}},\"y\":0}"},
    {"{\"x\" : {\"a\" : 1}}",
     "{\"x\" : {\"a\" : 1, \"k\" : 7, \"l\\n\" : {\"m\" : 8, \"n\" : []}}}"},
    {"{\n  \"x\": {\n    \"a\": 1\n  }\n}", "{\n  \"x\": {\n    \"a\": 1,\n    \"k\": 7,\n    "
                                            "\"l\\n\": {\n      \"m\": 8,\n      \"n\": []\n"
                                            "    }\n  }\n}"},
    {"{\n  \"x\": {\n    \"a\": {\"b\": 1, \"c\": 2}\n  }\n}",
     "{\n  \"x\": {\n    \"a\": {\"b\": 1, \"c\": 2},\n    \"k\": 7,\n    \"l\\n\": {\"m\": 8, "
     "\"n\": []}"
     "\n  }\n}"},
    {"{\n  \"x\": {\n    \"a\": { \"b\" : 1,\"c\" : 2 }\n  }\n}",
     "{\n  \"x\": {\n    \"a\": { \"b\" : 1,\"c\" : 2 },\n    \"k\": 7,\n    \"l\\n\": { \"m\" : "
     "8,\"n\" : [] }\n  }\n}"},
    {"{}", "{\n  \"k\": 7,\n  \"l\\n\": {\n    \"m\": 8,\n    \"n\": []\n  }\n}"},
    {"{\n}\n", "{\n  \"k\": 7,\n  \"l\\n\": {\n    \"m\": 8,\n    \"n\": []\n  }\n}\n"},
};

Test(json_edit, append_to_objects)
{
    for (size_t i = 0; i < COUNT(objects); i++) {
        struct embi_json_append a;
        begin(objects[i].text);
        struct embi_json_value x = find_x();
        embi_json_append_begin(&a, &edits, &x);
        embi_json_append_key(&a, (emb_str){"k", 1});
        embi_buf_text(a.out, "7");
        embi_json_append_key(&a, (emb_str){"l\n", 2});
        embi_json_append_enter(&a, '{');
        embi_json_append_key(&a, (emb_str){"m", 1});
        embi_buf_text(a.out, "8");
        embi_json_append_key(&a, (emb_str){"n", 1});
        embi_json_append_enter(&a, '[');
        embi_json_append_leave(&a);
        embi_json_append_leave(&a);
        embi_json_append_end(&a);
        finish(objects[i].want);
    }
}

Test(json_edit, nothing_added_changes_nothing)
{
    struct embi_json_append a;
    begin("{\"x\": [ ]}");
    struct embi_json_value x = find_x();
    embi_json_append_begin(&a, &edits, &x);
    embi_json_append_end(&a);
    finish("{\"x\": [ ]}");
}

static const struct {
    const char *text, *want;
} in_front[] = {
    {"{\"x\": [1, 2, 3]}", "{\"x\": [1, 7, 8, 2, 3]}"},
    {"{\n  \"x\": [\n    1,\n    2\n  ]\n}",
     "{\n  \"x\": [\n    1,\n    7,\n    8,\n    2\n  ]\n}"},
    {"{\n  \"x\": [\n    2\n  ]\n}", "{\n  \"x\": [\n    7,\n    8,\n    2\n  ]\n}"},
};

Test(json_edit, insert_in_front_of_an_item)
{
    for (size_t i = 0; i < COUNT(in_front); i++) {
        struct embi_json_append a;
        begin(in_front[i].text);
        struct embi_json_value x = find_x(), two = {EMBI_JSON_NUMBER, false, strchr(x.s, '2'), 1};
        embi_json_append_before(&a, &edits, &x, &two);
        embi_json_append_item(&a);
        embi_buf_text(a.out, "7");
        embi_json_append_item(&a);
        embi_buf_text(a.out, "8");
        embi_json_append_end(&a);
        finish(in_front[i].want);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Replacing
 */

/* Odd numbers, spacing, order and escapes around the value stay as they are; edits need no order. */
Test(json_edit, replace)
{
    begin(" {\"big\":9007199254740993,\t\"eps\" : 1E-05,\"x\" :  480 "
          ",\"i\":Infinity,\"\\u0061\":\"\\/\"}");
    struct embi_json_value x = find_x();
    struct embi_json_value i = {EMBI_JSON_NUMBER, false, strstr(edits.s, "Infinity"), 8};
    embi_json_edit_string(&edits, &i, (emb_str){"a\"\n\xC3\xA9", 5});
    embi_json_edit_u64(&edits, &x, UINT64_MAX);
    finish(" {\"big\":9007199254740993,\t\"eps\" : 1E-05,\"x\" :  18446744073709551615 ,"
           "\"i\":\"a\\\"\\n\xC3\xA9\",\"\\u0061\":\"\\/\"}");
}

Test(json_edit, edits_at_one_place_keep_their_order)
{
    begin("ab");
    embi_json_edit_splice(&edits, 1, 0, "1", 1);
    embi_json_edit_splice(&edits, 0, 1, "A", 1);
    embi_json_edit_splice(&edits, 1, 0, "2", 1);
    embi_json_edit_splice(&edits, 2, 0, "3", 1);
    finish("A12b3");
}

Test(json_edit, no_edit_gives_the_text)
{
    begin("{\"x\": 1}\n");
    finish("{\"x\": 1}\n");
    begin("");
    finish("");
}

Test(json_edit, overlapping_edits_are_refused)
{
    begin("abcdef");
    embi_json_edit_splice(&edits, 1, 3, "x", 1);
    embi_json_edit_splice(&edits, 2, 1, "y", 1);
    cr_expect_eq(embi_json_edits_apply(&edits, &out, &err), EMB_BUG);
    begin("abc");
    embi_json_edit_splice(&edits, 2, 2, "", 0);
    cr_expect_eq(embi_json_edits_apply(&edits, &out, &err), EMB_BUG);
    embi_json_edits_free(&edits);
    embi_buf_free(&out);
}
