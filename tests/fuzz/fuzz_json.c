/* fuzz_json.c - the JSON reader: event by event, skipped whole, and walked with a bit of everything, a
 * text is JSON or fails at one place; its spans put together are the same text again.
 *
 * Byte 0 chooses whether NaN is read, byte 1 seeds the choices of the walk.
 */
#include "fuzz.h"

#include "util/json.h"

#include <errno.h>

/* What a way of reading said in the end. */
struct verdict {
    emb_status status;
    int64_t at;
    char msg[sizeof((emb_err *)0)->msg];
};

static struct verdict finish(struct embi_json *j)
{
    emb_err err = {.at = -1};
    struct verdict v = {.at = -1};
    v.status = embi_json_finish(j, 0, &err);
    if (!fuzz_went_well(v.status, &err)) {
        CHECK(err.at >= 0 && err.at <= j->end - j->s);
        v.at = err.at;
        memcpy(v.msg, err.msg, sizeof v.msg);
    }
    return v;
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */

/* A string goes through the writer unchanged. */
static void check_string(const struct embi_json_value *v)
{
    struct embi_buf text = {0}, quoted = {0}, again = {0};
    struct embi_json j;
    struct embi_json_value back;
    bool lossy = false;
    CHECK(embi_json_string(v, &text) && embi_utf8_valid(text.n ? text.s : "", text.n));
    CHECK(v->escaped ||
          (text.n == v->n - 2 && memcmp(text.n ? text.s : "", v->s + 1, text.n) == 0));
    embi_json_quote(&quoted, text.s, text.n, &lossy);
    embi_json_init(&j, quoted.s, quoted.n, 0);
    CHECK(!lossy && embi_json_next(&j, &back) == EMBI_JSON_STRING);
    CHECK(embi_json_string(&back, &again) && again.n == text.n);
    CHECK(text.n == 0 || memcmp(again.s, text.s, text.n) == 0);
    CHECK(finish(&j).status == EMB_OK);
    if (!memchr(text.n ? text.s : "", 0, text.n))
        CHECK(embi_json_is(v, embi_buf_cstr(&text)));
    embi_buf_free(&text);
    embi_buf_free(&quoted);
    embi_buf_free(&again);
}

/* Whole numbers against the C library. */
static void check_number(const struct embi_json_value *v)
{
    struct embi_buf text = {0};
    uint64_t u = 0;
    int64_t i = 0;
    embi_buf_add(&text, v->s, v->n);
    const char *s = embi_buf_cstr(&text);
    bool negative = s[0] == '-', digits = strspn(s + negative, "0123456789") == v->n - negative;
    errno = 0;
    uint64_t want = strtoull(s + negative, NULL, 10);
    bool fits = digits && errno == 0 && !(negative && want == 0);
    CHECK(embi_json_u64(v, &u) == (fits && !negative) && (!fits || negative || u == want));
    fits = fits && want <= (uint64_t)INT64_MAX + negative;
    CHECK(embi_json_i64(v, &i) == fits);
    CHECK(!fits || (uint64_t)i == (negative ? 0 - want : want));
    embi_buf_free(&text);
}

static void check_value(const struct embi_json_value *v)
{
    uint64_t x;
    if (v->kind == EMBI_JSON_KEY || v->kind == EMBI_JSON_STRING)
        check_string(v);
    if (v->kind == EMBI_JSON_NUMBER)
        check_number(v);
    else
        CHECK(!embi_json_u64(v, &x));
}

/* ------------------------------------------------------------------------------------------------
 * Ways to read
 */

static bool only(const char *s, const char *end, const char *bytes)
{
    while (s < end && strchr(bytes, *s) && *s)
        s++;
    return s == end;
}

/* All events; `compact` gets their spans with nothing but what must stand between them. */
static struct verdict by_events(const char *s, size_t n, unsigned flags, struct embi_buf *compact)
{
    struct embi_json j;
    struct embi_json_value v;
    const char *last = s;
    bool separate = false;
    embi_json_init(&j, s, n, flags);
    for (;;) {
        enum embi_json_kind kind = embi_json_next(&j, &v);
        CHECK(kind == v.kind && v.s >= last && v.s + v.n <= s + n);
        if (kind == EMBI_JSON_ERROR)
            break;
        CHECK(only(last, v.s, " \t\r\n,:"));
        last = v.s + v.n;
        if (kind == EMBI_JSON_END)
            break;
        bool close = kind == EMBI_JSON_OBJECT_END || kind == EMBI_JSON_ARRAY_END;
        if (separate && !close)
            embi_buf_byte(compact, ',');
        embi_buf_add(compact, v.s, v.n);
        if (kind == EMBI_JSON_KEY)
            embi_buf_byte(compact, ':');
        separate = kind != EMBI_JSON_KEY && kind != EMBI_JSON_OBJECT && kind != EMBI_JSON_ARRAY;
        check_value(&v);
    }
    return finish(&j);
}

static struct verdict by_skip(const char *s, size_t n, unsigned flags)
{
    struct embi_json j;
    struct embi_json_value v;
    embi_json_init(&j, s, n, flags);
    if (embi_json_skip(&j, &v))
        CHECK(v.n > 0 && v.s >= s && v.s + v.n <= s + n &&
              embi_json_at(&j) == (size_t)(v.s - s) + v.n);
    return finish(&j);
}

static unsigned choose(uint32_t *seed, unsigned n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 16) % n;
}

static void walk(struct embi_json *j, uint32_t *seed);

/* Reads some items or members of the container that was entered, and the rest one way or another. */
static void walk_in(struct embi_json *j, uint32_t *seed, enum embi_json_kind kind)
{
    struct embi_json_value key;
    while (kind == EMBI_JSON_OBJECT ? embi_json_member(j, &key) : embi_json_item(j)) {
        switch (choose(seed, 8)) {
        case 0: break; /* not read: the next call skips it */
        case 1: embi_json_skip(j, NULL); break;
        case 2: embi_json_leave(j); return;
        default: walk(j, seed);
        }
    }
}

static void walk(struct embi_json *j, uint32_t *seed)
{
    struct embi_json_value v;
    enum embi_json_kind kind = embi_json_next(j, &v);
    if (kind == EMBI_JSON_OBJECT || kind == EMBI_JSON_ARRAY)
        walk_in(j, seed, kind);
}

static struct verdict by_walk(const char *s, size_t n, unsigned flags, uint32_t seed)
{
    struct embi_json j;
    embi_json_init(&j, s, n, flags);
    walk(&j, &seed);
    return finish(&j);
}

/* An object member by member, in one step and in the three that it stands for. */
static struct verdict by_pairs(const char *s, size_t n, unsigned flags)
{
    struct embi_json j, simple;
    struct embi_json_pair pair = {0};
    struct embi_json_value key, v;
    uint64_t x;
    embi_json_init(&j, s, n, flags);
    simple = j;
    if (embi_json_next(&simple, &v) != EMBI_JSON_OBJECT)
        return by_skip(s, n, flags);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_pair(&j, &pair)) {
        CHECK(embi_json_member(&simple, &key));
        embi_json_next(&simple, &v);
        CHECK(pair.key.s == key.s && pair.key.n == key.n && pair.key.escaped == key.escaped);
        CHECK(pair.value.kind == v.kind && pair.value.s == v.s && pair.value.n == v.n);
        CHECK(pair.whole == embi_json_u64(&v, &x) && (!pair.whole || pair.number == x));
        CHECK(embi_json_at(&j) == embi_json_at(&simple));
        if (v.kind == EMBI_JSON_OBJECT || v.kind == EMBI_JSON_ARRAY)
            CHECK(embi_json_leave(&j) == embi_json_leave(&simple));
    }
    return finish(&j);
}

static void check_same(const struct verdict *a, const struct verdict *b)
{
    CHECK(a->status == b->status && a->at == b->at && strcmp(a->msg, b->msg) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct embi_buf compact = {0}, again = {0};
    size_t n = size - 2;
    unsigned flags = data[0] & 1 ? EMBI_JSON_NAN : 0;
    char *text = fuzz_copy(data + 2, n);
    struct verdict events = by_events(text, n, flags, &compact);
    struct verdict skip = by_skip(text, n, flags), walked = by_walk(text, n, flags, data[1]);
    check_same(&events, &skip);
    struct verdict pairs = by_pairs(text, n, flags);
    check_same(&events, &walked);
    check_same(&events, &pairs);
    if (events.status == EMB_OK) {
        struct verdict compacted = by_events(compact.s, compact.n, flags, &again);
        CHECK(compacted.status == EMB_OK && again.n == compact.n);
        CHECK(memcmp(again.s, compact.s, again.n) == 0);
    }
    embi_buf_free(&compact);
    embi_buf_free(&again);
    free(text);
    return 0;
}
