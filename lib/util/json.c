/* util/json.c - the JSON reader; see json.h. (json_value.c has what is done with spans.)
 *
 * Implements the grammar of RFC 8259 as a small machine: `state` says what may come next, and one
 * bit for each open bracket says which kind it is, so nothing here recurses or allocates, whatever
 * the text holds. Every function that takes p is given the first byte not yet read, and no function
 * reads at or after j->end.
 */
#include "util/json.h"

#include "util/err.h"
#include "util/json_scan.h"

#include <inttypes.h>
#include <string.h>

/* The way of every token is inlined into the two loops over tokens, which calls would slow down. */
#define HOT static inline __attribute__((always_inline))

#define SNIPPET_BYTES 16 /* of the text, shown in a message */

void embi_json_init(struct embi_json *j, const char *s, size_t n, unsigned flags)
{
    *j = (struct embi_json){.s = s, .p = s, .end = s + n, .flags = flags, .state = EMBI_JSON_VALUE};
}

/* The byte at p, or -1 where the text ends. */
static int peek(const struct embi_json *j, const char *p)
{
    return p < j->end ? (unsigned char)*p : -1;
}

/* Over blanks, to what stands inside `depth` open brackets: only the speed depends on that. */
HOT const char *blanks(struct embi_json *j, const char *p, unsigned depth)
{
    if (peek(j, p) > ' ') /* none */
        return p;
    if (peek(j, p) == ' ' && peek(j, p + 1) > ' ')
        return p + 1;
    return embi_json_blanks(p, j->end, &j->indent[depth]);
}

/* To the next token after j->p. What stands there after an item is its comma or, in an indented
 * text, the closing bracket on a line of its own, one step further out. */
HOT const char *next_token(struct embi_json *j)
{
    bool outward = j->state == EMBI_JSON_NEXT_ITEM || j->state == EMBI_JSON_NEXT_KEY;
    return blanks(j, j->p, j->depth - outward);
}

/* Notes the first error. Gives NULL, for functions that give the place they have come to. */
static const char *fail(struct embi_json *j, const char *p, const char *expected)
{
    if (j->state != EMBI_JSON_FAILED) {
        j->state = EMBI_JSON_FAILED;
        j->expected = expected;
        j->p = p;
    }
    return NULL;
}

static enum embi_json_kind error_event(const struct embi_json *j, struct embi_json_value *v)
{
    *v = (struct embi_json_value){.kind = EMBI_JSON_ERROR, .s = j->p};
    return EMBI_JSON_ERROR;
}

/* Hands out the span from s to p, the next byte to read. */
HOT enum embi_json_kind event(struct embi_json *j, struct embi_json_value *v,
                              enum embi_json_kind kind, const char *s, const char *p)
{
    v->kind = kind;
    v->escaped = false;
    v->s = s;
    v->n = (size_t)(p - s);
    j->p = p;
    return kind;
}

static bool in_object(const struct embi_json *j)
{
    unsigned i = j->depth - 1;
    return j->depth > 0 && (j->objects[i / 64] >> i % 64 & 1) != 0;
}

/* What may come after a whole value. */
static int after_value(const struct embi_json *j)
{
    return j->depth == 0  ? EMBI_JSON_END_OF_TEXT
           : in_object(j) ? EMBI_JSON_NEXT_KEY
                          : EMBI_JSON_NEXT_ITEM;
}

HOT enum embi_json_kind open_bracket(struct embi_json *j, struct embi_json_value *v, const char *p,
                                     enum embi_json_kind kind)
{
    if (j->depth == EMBI_JSON_DEPTH) {
        fail(j, p, "at most 128 open brackets");
        return error_event(j, v);
    }
    uint64_t bit = (uint64_t)1 << j->depth % 64;
    if (kind == EMBI_JSON_OBJECT)
        j->objects[j->depth / 64] |= bit;
    else
        j->objects[j->depth / 64] &= ~bit;
    j->depth++;
    j->state = kind == EMBI_JSON_OBJECT ? EMBI_JSON_FIRST_KEY : EMBI_JSON_FIRST_ITEM;
    return event(j, v, kind, p, p + 1);
}

HOT enum embi_json_kind close_bracket(struct embi_json *j, struct embi_json_value *v, const char *p,
                                      enum embi_json_kind kind)
{
    j->depth--;
    j->state = after_value(j);
    return event(j, v, kind, p, p + 1);
}

/* ------------------------------------------------------------------------------------------------
 * Tokens. Each function is given the first byte of one, and gives the byte after it, NULL if it is
 * malformed.
 */

/* The character at p may not stand in a string; if it is an escape, cp is what it stands for. */
static const char *bad_character(struct embi_json *j, const char *p, uint32_t cp)
{
    if (*p == '\\')
        return fail(j, p, cp == 0 ? "an escape of JSON" : "a high surrogate, then a low one");
    if ((unsigned char)*p < 0x20)
        return fail(j, p, "an escape in place of a control character");
    return fail(j, p, "valid UTF-8");
}

HOT const char *string(struct embi_json *j, const char *p, bool *escaped)
{
    *escaped = false;
    for (p++;;) {
        p = embi_json_plain(p, j->end);
        if (p == j->end)
            return fail(j, p, "a closing quote");
        if (*p == '"')
            return p + 1;
        uint32_t cp = 0;
        size_t length = *p == '\\' ? embi_json_escape(p, (size_t)(j->end - p), &cp) : 0;
        if (length == 0)
            return bad_character(j, p, cp);
        *escaped = true;
        p += length;
    }
}

static const char *word(struct embi_json *j, const char *p, const char *text)
{
    for (const char *t = text; *t != 0; t++, p++) {
        if (peek(j, p) != (unsigned char)*t)
            return fail(j, p, text);
    }
    return p;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* One digit or more. */
static const char *digits(struct embi_json *j, const char *p)
{
    if (!is_digit(peek(j, p)))
        return fail(j, p, "a digit");
    do
        p++;
    while (is_digit(peek(j, p)));
    return p;
}

static const char *number(struct embi_json *j, const char *p)
{
    if (*p == '-')
        p++;
    if (peek(j, p) == 'I' && (j->flags & EMBI_JSON_NAN) != 0)
        return word(j, p, "Infinity");
    p = peek(j, p) == '0' ? p + 1 : digits(j, p); /* after a leading zero comes no digit */
    if (p != NULL && peek(j, p) == '.')
        p = digits(j, p + 1);
    if (p != NULL && (peek(j, p) | 0x20) == 'e') {
        p++;
        p = digits(j, peek(j, p) == '+' || peek(j, p) == '-' ? p + 1 : p);
    }
    return p;
}

/* A value that is no container, of the kind it begins like. */
static const char *scalar(struct embi_json *j, const char *p, enum embi_json_kind *kind)
{
    int c = peek(j, p);
    if (c == '-' || is_digit(c)) {
        *kind = EMBI_JSON_NUMBER;
        return number(j, p);
    }
    if ((c == 'N' || c == 'I') && (j->flags & EMBI_JSON_NAN) != 0) {
        *kind = EMBI_JSON_NUMBER;
        return word(j, p, c == 'N' ? "NaN" : "Infinity");
    }
    if (c == 't') {
        *kind = EMBI_JSON_TRUE;
        return word(j, p, "true");
    }
    if (c == 'f') {
        *kind = EMBI_JSON_FALSE;
        return word(j, p, "false");
    }
    if (c == 'n') {
        *kind = EMBI_JSON_NULL;
        return word(j, p, "null");
    }
    bool mark = c == 0xEF && p == j->s;
    return fail(j, p, mark ? "JSON without a byte order mark" : "a value");
}

/* ------------------------------------------------------------------------------------------------
 * The machine
 */

HOT enum embi_json_kind read_string(struct embi_json *j, struct embi_json_value *v, const char *p)
{
    bool escaped;
    const char *q = string(j, p, &escaped);
    if (q == NULL)
        return error_event(j, v);
    j->state = after_value(j);
    event(j, v, EMBI_JSON_STRING, p, q);
    v->escaped = escaped;
    return EMBI_JSON_STRING;
}

HOT enum embi_json_kind read_value(struct embi_json *j, struct embi_json_value *v, const char *p)
{
    enum embi_json_kind kind = EMBI_JSON_ERROR;
    switch (peek(j, p)) {
    case '"': return read_string(j, v, p);
    case '{': return open_bracket(j, v, p, EMBI_JSON_OBJECT);
    case '[': return open_bracket(j, v, p, EMBI_JSON_ARRAY);
    }
    const char *q = scalar(j, p, &kind);
    if (q == NULL)
        return error_event(j, v);
    j->state = after_value(j);
    return event(j, v, kind, p, q);
}

/* In an object, at `{`, a member or a comma: a key with its colon, or the closing bracket. */
HOT enum embi_json_kind read_key(struct embi_json *j, struct embi_json_value *v, const char *p)
{
    bool first = j->state == EMBI_JSON_FIRST_KEY, escaped;
    if (peek(j, p) == '}')
        return close_bracket(j, v, p, EMBI_JSON_OBJECT_END);
    if (!first && peek(j, p) == ',')
        p = blanks(j, p + 1, j->depth);
    else if (!first)
        p = fail(j, p, "',' or '}'");
    if (p != NULL && peek(j, p) != '"')
        p = fail(j, p, first ? "a key or '}'" : "a key");
    const char *q = p == NULL ? NULL : string(j, p, &escaped);
    const char *colon = q == NULL ? NULL : blanks(j, q, 0);
    if (colon != NULL && peek(j, colon) != ':')
        colon = fail(j, colon, "':'");
    if (colon == NULL)
        return error_event(j, v);
    j->state = EMBI_JSON_VALUE;
    event(j, v, EMBI_JSON_KEY, p, q);
    v->escaped = escaped;
    j->p = colon + 1;
    return EMBI_JSON_KEY;
}

/* In an array, at `[`, an item or a comma: gives the first byte of an item, NULL after an error and
 * at the closing bracket, which is left where it is. */
HOT const char *find_item(struct embi_json *j, const char *p)
{
    if (peek(j, p) == ']')
        return NULL;
    if (j->state == EMBI_JSON_NEXT_ITEM) {
        if (peek(j, p) != ',')
            return fail(j, p, "',' or ']'");
        p = blanks(j, p + 1, j->depth);
    }
    j->state = EMBI_JSON_VALUE;
    return p;
}

HOT enum embi_json_kind read_item(struct embi_json *j, struct embi_json_value *v, const char *p)
{
    const char *item = find_item(j, p);
    if (item != NULL)
        return read_value(j, v, item);
    if (j->state == EMBI_JSON_FAILED)
        return error_event(j, v);
    return close_bracket(j, v, p, EMBI_JSON_ARRAY_END);
}

HOT enum embi_json_kind step(struct embi_json *j, struct embi_json_value *v)
{
    const char *p = next_token(j);
    int state = j->state;
    if (state == EMBI_JSON_NEXT_ITEM || state == EMBI_JSON_FIRST_ITEM)
        return read_item(j, v, p);
    if (state == EMBI_JSON_NEXT_KEY || state == EMBI_JSON_FIRST_KEY)
        return read_key(j, v, p);
    if (state == EMBI_JSON_VALUE)
        return read_value(j, v, p);
    if (state == EMBI_JSON_END_OF_TEXT && p == j->end)
        return event(j, v, EMBI_JSON_END, p, p);
    fail(j, p, "nothing after the value"); /* unless it had failed before */
    return error_event(j, v);
}

enum embi_json_kind embi_json_next(struct embi_json *j, struct embi_json_value *v)
{
    return step(j, v);
}

/* ------------------------------------------------------------------------------------------------
 * Skipping. What stands between the strings of a long array (merges of a tokenizer) is nearly
 * always the same two runs of bytes: `",\n  "` inside a pair, `"],\n  ["` between pairs. Bytes that
 * once took the machine from a state back to that state do so again, so they are compared, not
 * read.
 */
struct repeats {
    const char *end; /* of the string of an array that was read last; NULL: none yet */
    unsigned depth;  /* with the brackets that were open there: the machine's state */
    uint64_t objects[EMBI_JSON_DEPTH / 64];
    emb_str gap[2]; /* from the end of such a string to after the opening quote of the next */
    unsigned last;  /* the gap met last */
};

/* Notes the string v, just read: the bytes before it are a gap if the state is the same again. */
static void learn_gap(struct repeats *r, const struct embi_json *j, const struct embi_json_value *v)
{
    size_t n = r->end == NULL ? 0 : (size_t)(v->s + 1 - r->end);
    if (r->depth != j->depth || memcmp(r->objects, j->objects, sizeof r->objects) != 0) {
        *r = (struct repeats){.depth = j->depth};
        memcpy(r->objects, j->objects, sizeof r->objects);
    } else if (n > 0 && n <= EMBI_JSON_SAME_MAX) {
        r->last ^= 1;
        r->gap[r->last] = (emb_str){r->end, n};
    }
    r->end = j->p;
}

HOT bool gap_follows(const struct embi_json *j, const struct repeats *r, unsigned i)
{
    return r->gap[i].n > 0 && embi_json_same(j->p, j->end, r->gap[i].s, r->gap[i].n);
}

/* After a string of an array: reads on while a known gap and a string follow. */
static void repeat(struct embi_json *j, struct repeats *r)
{
    for (;;) {
        bool escaped;
        r->last ^= 1; /* they mostly take turns */
        if (!gap_follows(j, r, r->last)) {
            r->last ^= 1;
            if (!gap_follows(j, r, r->last))
                return;
        }
        const char *p = string(j, j->p + r->gap[r->last].n - 1, &escaped);
        if (p == NULL)
            return;
        j->p = r->end = p;
    }
}

/* Reads on until no more than depth brackets are open. */
static bool read_to_depth(struct embi_json *j, unsigned depth)
{
    struct embi_json_value v;
    struct repeats r = {0};
    while (j->depth > depth && step(j, &v) != EMBI_JSON_ERROR) {
        if (v.kind == EMBI_JSON_STRING && j->state == EMBI_JSON_NEXT_ITEM) {
            learn_gap(&r, j, &v);
            repeat(j, &r);
        }
    }
    return j->depth <= depth;
}

bool embi_json_skip(struct embi_json *j, struct embi_json_value *v)
{
    struct embi_json_value local;
    if (v == NULL)
        v = &local;
    enum embi_json_kind kind = embi_json_next(j, v);
    if (kind == EMBI_JSON_OBJECT || kind == EMBI_JSON_ARRAY) {
        if (!read_to_depth(j, j->depth - 1))
            error_event(j, v);
        else
            v->n = (size_t)(j->p - v->s);
    }
    return j->state != EMBI_JSON_FAILED;
}

bool embi_json_whole_array(const char *s, size_t n, const char **after)
{
    struct embi_json j;
    struct embi_json_value v;
    embi_json_init(&j, s, n, 0);
    j.depth = EMBI_JSON_DEPTH - EMBI_JSON_SHALLOW; /* as if it stood in that many others */
    if (!embi_json_skip(&j, &v) || v.kind != EMBI_JSON_ARRAY)
        return false;
    *after = j.p;
    return true;
}

void embi_json_jump(struct embi_json *j, const char *from, const char *after)
{
    if (j->state != EMBI_JSON_VALUE || j->depth > EMBI_JSON_DEPTH - EMBI_JSON_SHALLOW ||
        next_token(j) != from)
        return;
    j->p = after;
    j->state = after_value(j);
}

bool embi_json_enter(struct embi_json *j, enum embi_json_kind kind)
{
    struct embi_json_value v;
    if (embi_json_next(j, &v) != kind)
        embi_json_reject(j, &v, kind == EMBI_JSON_OBJECT ? "an object" : "an array");
    return j->state != EMBI_JSON_FAILED;
}

bool embi_json_member(struct embi_json *j, struct embi_json_value *key)
{
    if (!in_object(j))
        fail(j, next_token(j), "an object");
    if (j->state == EMBI_JSON_VALUE)
        embi_json_skip(j, NULL);
    return embi_json_next(j, key) == EMBI_JSON_KEY;
}

bool embi_json_item(struct embi_json *j)
{
    if (j->depth == 0 || in_object(j))
        fail(j, next_token(j), "an array");
    if (j->state == EMBI_JSON_VALUE)
        embi_json_skip(j, NULL);
    if (j->state == EMBI_JSON_FAILED)
        return false;
    struct embi_json_value bracket;
    const char *p = next_token(j), *item = find_item(j, p);
    if (item != NULL)
        j->p = item;
    else if (j->state != EMBI_JSON_FAILED)
        close_bracket(j, &bracket, p, EMBI_JSON_ARRAY_END);
    return item != NULL;
}

bool embi_json_leave(struct embi_json *j)
{
    if (j->depth == 0)
        fail(j, j->p, "an open bracket");
    return j->state != EMBI_JSON_FAILED && read_to_depth(j, j->depth - 1);
}

void embi_json_reject(struct embi_json *j, const struct embi_json_value *v, const char *expected)
{
    fail(j, v->s, expected);
}

emb_status embi_json_finish(struct embi_json *j, uint64_t origin, emb_err *err)
{
    struct embi_json_value v;
    if (embi_json_next(j, &v) == EMBI_JSON_END)
        return EMB_OK;
    embi_json_reject(j, &v, "the end of the text"); /* where the caller stopped too early */
    int64_t at = (int64_t)(origin + (uint64_t)(j->p - j->s));
    if (j->p == j->end)
        return embi_fail(err, EMB_BAD_DATA, at,
                         "JSON: byte %" PRId64 ": expected %s, found the end of the text", at,
                         j->expected);
    char show[EMBI_SHOW_MAX];
    size_t left = (size_t)(j->end - j->p);
    emb_str found = {j->p, left < SNIPPET_BYTES ? left : SNIPPET_BYTES};
    return embi_fail(err, EMB_BAD_DATA, at, "JSON: byte %" PRId64 ": expected %s, found \"%s\"", at,
                     j->expected, embi_show(show, found));
}
