/* test_tokenizer_ahead.c - a large tokenizer.json read by two threads says what one says: the same
 * tokens, the same error at the same byte, whatever stands where the second thread looks.
 */
#include "tokenizer_fixture.h"

#include "util/json.h"
#include "util/pool.h"

enum { LARGE = 3 << 19 }; /* bytes of merges: more than a file that one thread reads */

struct result {
    emb_status status;
    emb_err err;
    struct embi_tokenizer t;
};

static struct result open_with(struct embi_pool *pool, const struct embi_buf *text)
{
    struct embi_env with = {.log = collect, .log_arg = &warnings, .pool = pool};
    struct embi_io *io = NULL;
    struct result r = {.err = {.at = -1}};
    void *copy = malloc(text->n);
    cr_assert_not_null(copy);
    memcpy(copy, text->s, text->n);
    cr_assert_eq(embi_io_memory(&with, copy, text->n, copy, &io, &r.err), EMB_OK);
    r.status = embi_tokenizer_open_io(&with, io, "tokenizer.json", &r.t, &r.err);
    return r;
}

static void same_results(const struct result *a, const struct result *b, const char *what)
{
    cr_assert_eq(a->status, b->status, "%s: %s, %s", what, a->err.msg, b->err.msg);
    cr_expect(a->t.n == b->t.n && a->t.count == b->t.count && a->t.next_id == b->t.next_id);
    for (uint64_t i = 0; i < a->t.n && i < b->t.n; i++)
        cr_expect(embi_str_equal(a->t.tokens[i], b->t.tokens[i]), "%s", what);
    if (a->status) {
        cr_expect_eq(a->err.at, b->err.at, "%s", what);
        cr_expect_str_eq(a->err.msg, b->err.msg, "%s", what);
    }
}

/* members, a model with that vocabulary and many merges, of which `odd` is one, and an end. */
static void compare(const char *members, const char *vocab, const char *odd, const char *end,
                    emb_status want)
{
    struct embi_pool *pool;
    struct embi_buf text = {0};
    cr_assert_eq(embi_pool_new(2, &pool, &err), EMB_OK);
    embi_buf_print(&text, "{%s\"model\": {%s\"merges\" : [", members, vocab);
    while (text.n < LARGE)
        embi_buf_text(&text, "\n [\n  \"a\",\n  \"\\u0120b\"\n ],");
    embi_buf_print(&text, "%s]%s", odd, end);
    cr_assert(!text.failed);
    for (int i = 0; i < 4; i++) { /* which thread comes first is chance */
        struct result one = open_with(NULL, &text), two = open_with(pool, &text);
        cr_expect_eq(one.status, want, "%s %s: %s", odd, end, one.err.msg);
        same_results(&one, &two, odd);
        embi_tokenizer_free(&one.t);
        embi_tokenizer_free(&two.t);
    }
    embi_buf_free(&text);
    embi_pool_free(pool);
}

#define VOCAB "\"vocab\": {\"a\": 0, \"merges\": 1, \"\\u0120b\": 2}, "

Test(tokenizer_ahead, whole)
{
    compare("", VOCAB, "[\"x\", \"y\"]", "}}", EMB_OK);
    compare("\"version\": \"1.0\", ", VOCAB, "\"x y\"", ", \"more\": [1]}, \"last\": {}}\n",
            EMB_OK);
    compare("", VOCAB, "[[[[[[[\"8 open\"]]]]]]]", "}}", EMB_OK);
    compare("", VOCAB, "[[[[[[[[[\"10 open\"]]]]]]]]]", "}}", EMB_OK);
}

Test(tokenizer_ahead, merges_before_the_vocabulary)
{
    compare("", "", "1", ", \"vocab\": {\"a\": 0, \"b\": 7}}}", EMB_OK);
    compare("", "", "1", ", \"vocab\": {\"a\": 0, \"b\": \"7\"}}}", EMB_BAD_DATA);
}

Test(tokenizer_ahead, broken)
{
    static const char *const odd[] = {"[\"x\", \"y\"],", "[\"x\" \"y\"]", "[\"x\", \"y]",
                                      "[\"\\x\"]",       "[\"\\ud800\"]", "[\"\xFF\"]",
                                      "[\"\x01\"]",      "{\"a\"}",       "[01]"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        compare("", VOCAB, odd[i], "}}", EMB_BAD_DATA);
    compare("", VOCAB, "1", "", EMB_BAD_DATA);
    compare("", VOCAB, "1", "}} 2", EMB_BAD_DATA);
    compare("", "\"vocab\": {\"a\": 0, \"b\": -1}, ", "1", "}}", EMB_BAD_DATA);
}

/* The key at other places, with arrays that are whole or are not. */
Test(tokenizer_ahead, other_places)
{
    compare("\"merges\": [1, 2], ", VOCAB, "1", "}}", EMB_OK);
    compare("\"post\": {\"merges\": [[\"a\", 1]]}, \"merges\": null, ", VOCAB, "1", "}}", EMB_OK);
    compare("\"text\": \"a \\\"merges\\\": [ b\", ", VOCAB, "1", "}}", EMB_OK);
    compare("\"merges\": [1,, 2], ", VOCAB, "1", "}}", EMB_BAD_DATA);
    compare("", VOCAB "\"merges\": [\"first\"], ", "1", "}}", EMB_OK);
    compare("", VOCAB "\"m\\u0065rges\": [\"escaped\"], ", "1", "}}", EMB_OK);
}

/* ------------------------------------------------------------------------------------------------
 * What it is made of
 */

Test(tokenizer_ahead, whole_array)
{
    static const struct {
        const char *text;
        int n; /* of the array; 0: it is refused */
    } cases[] = {
        {"[]", 2},
        {"[] ,", 2},
        {"[[1], {\"a\": [2]}] x", 17},
        {"[[[[[[[[]]]]]]]]", 16},
        {"[[[[[[[[[]]]]]]]]]", 0},
        {"[1", 0},
        {"[1,]", 0},
        {"{}", 0},
        {"1", 0},
        {"", 0},
        {"]", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *s = cases[i].text, *after = s;
        cr_expect_eq(embi_json_whole_array(s, strlen(s), &after), cases[i].n > 0, "%s", s);
        cr_expect_eq(after - s, cases[i].n, "%s", s);
    }
}

Test(tokenizer_ahead, jump)
{
    static const char text[] = "{\"a\": [1, 2], \"b\": [3]}";
    const char *a = text + 6, *b = text + 19;
    struct embi_json j;
    struct embi_json_value key;
    embi_json_init(&j, text, sizeof text - 1, 0);
    cr_assert(embi_json_enter(&j, EMBI_JSON_OBJECT));
    embi_json_jump(&j, a, a + 6); /* at a key: nothing happens */
    cr_assert(embi_json_member(&j, &key) && key.s[1] == 'a');
    embi_json_jump(&j, b, b + 3); /* another place */
    embi_json_jump(&j, a, a + 6);
    cr_expect_eq(embi_json_at(&j), 12);
    cr_assert(embi_json_member(&j, &key) && key.s[1] == 'b');
    embi_json_jump(&j, b, b + 3);
    cr_expect(!embi_json_member(&j, &key) && embi_json_finish(&j, 0, &err) == EMB_OK);
}
