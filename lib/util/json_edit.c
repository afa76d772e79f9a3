/* json_edit.c - see json_edit.h. The style of what is added is copied, not guessed: the bytes
 * between parts of the text are spans of it. Only where there is nothing to copy (an empty
 * container, a first object in an array) is a break put together from the outermost value's.
 */
#include "util/json_edit.h"

#include "util/err.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * The list
 */

static void add_edit(struct embi_json_edits *e, const struct embi_json_edit *edit)
{
    if (e->count == e->capacity) {
        size_t capacity = e->capacity ? 2 * e->capacity : 16;
        struct embi_json_edit *list = realloc(e->list, capacity * sizeof *list);
        if (!list) {
            e->bytes.failed = true;
            return;
        }
        e->list = list;
        e->capacity = capacity;
    }
    e->list[e->count++] = *edit;
}

void embi_json_edit_splice(struct embi_json_edits *e, size_t at, size_t n, const char *bytes,
                           size_t m)
{
    struct embi_json_edit edit = {at, n, e->bytes.n, m};
    embi_buf_add(&e->bytes, bytes, m);
    add_edit(e, &edit);
}

void embi_json_edit_replace(struct embi_json_edits *e, const struct embi_json_value *v,
                            const char *bytes, size_t m)
{
    embi_json_edit_splice(e, (size_t)(v->s - e->s), v->n, bytes, m);
}

void embi_json_edit_string(struct embi_json_edits *e, const struct embi_json_value *v, emb_str text)
{
    struct embi_buf quoted = {0};
    embi_json_quote(&quoted, text.s, text.n, NULL);
    embi_json_edit_replace(e, v, quoted.s, quoted.n);
    e->bytes.failed |= quoted.failed;
    embi_buf_free(&quoted);
}

void embi_json_edit_u64(struct embi_json_edits *e, const struct embi_json_value *v, uint64_t x)
{
    struct embi_buf digits = {0};
    embi_buf_print(&digits, "%llu", (unsigned long long)x);
    embi_json_edit_replace(e, v, digits.s, digits.n);
    e->bytes.failed |= digits.failed;
    embi_buf_free(&digits);
}

/* By place; at one place by the order in which they were made, which new_at tells. */
static int by_place(const void *a, const void *b)
{
    const struct embi_json_edit *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->new_at < y->new_at ? -1 : x->new_at > y->new_at;
}

emb_status embi_json_edits_apply(struct embi_json_edits *e, struct embi_buf *out, emb_err *err)
{
    size_t done = 0;
    if (e->count > 0)
        qsort(e->list, e->count, sizeof *e->list, by_place);
    for (size_t i = 0; i < e->count; i++) {
        const struct embi_json_edit *edit = &e->list[i];
        if (edit->at < done || edit->at > e->n || edit->n > e->n - edit->at)
            return embi_fail(err, EMB_BUG, (int64_t)edit->at, "two edits of a text overlap");
        embi_buf_add(out, e->s + done, edit->at - done);
        embi_buf_add(out, e->bytes.s + edit->new_at, e->bytes.failed ? 0 : edit->m);
        done = edit->at + edit->n;
    }
    embi_buf_add(out, e->s + done, e->n - done);
    if (e->bytes.failed || out->failed)
        return embi_fail_memory(err, e->n, "an edited text");
    return EMB_OK;
}

void embi_json_edits_free(struct embi_json_edits *e)
{
    free(e->list);
    embi_buf_free(&e->bytes);
    *e = (struct embi_json_edits){0};
}

/* ------------------------------------------------------------------------------------------------
 * The style of a text
 */

static emb_str between(const char *from, const char *to)
{
    return (emb_str){from, (size_t)(to - from)};
}

static bool has_break(emb_str gap)
{
    return gap.n > 0 && memchr(gap.s, '\n', gap.n) != NULL;
}

/* What stands after the last line break: indentation. */
static emb_str after_break(emb_str gap)
{
    size_t n = gap.n;
    while (n > 0 && gap.s[n - 1] != '\n')
        n--;
    return (emb_str){gap.s + n, gap.n - n};
}

/* Reads on to the next item: its first byte, and its value. */
static bool read_item(struct embi_json *j, bool object, const char **start,
                      struct embi_json_gaps *gaps, struct embi_json_value *v)
{
    struct embi_json_value key;
    if (object ? !embi_json_member(j, &key) : !embi_json_item(j))
        return false;
    if (!embi_json_skip(j, v))
        return false;
    *start = v->s;
    if (object) {
        *start = key.s;
        gaps->colon = between(key.s + key.n, v->s);
    }
    return true;
}

/* The gaps of a container, and the value of its last item (kind 0: there is none). No more than
 * `most` items are looked at. */
static void read_gaps(const struct embi_json_value *container, size_t most,
                      struct embi_json_gaps *gaps, struct embi_json_value *last)
{
    struct embi_json j;
    struct embi_json_value v;
    const char *start, *end = container->s + 1;
    bool object = container->s[0] == '{';
    *gaps = (struct embi_json_gaps){0};
    *last = (struct embi_json_value){0};
    embi_json_init(&j, container->s, container->n, EMBI_JSON_NAN);
    embi_json_enter(&j, object ? EMBI_JSON_OBJECT : EMBI_JSON_ARRAY);
    while (most-- > 0 && read_item(&j, object, &start, gaps, &v)) {
        *(last->kind == 0 ? &gaps->open : &gaps->next) = between(end, start);
        end = v.s + v.n;
        *last = v;
    }
    if (last->kind != 0)
        gaps->close = between(end, container->s + container->n - 1);
}

static bool is_container(const struct embi_json_value *v)
{
    return v->kind == EMBI_JSON_OBJECT || v->kind == EMBI_JSON_ARRAY;
}

/* The outermost value of the text, of which the first two items say enough; where there is none,
 * what Python's json.dump(indent=2) writes. */
static void read_top(const struct embi_json_edits *e, struct embi_json_gaps *top)
{
    struct embi_json j;
    struct embi_json_value v, last;
    embi_json_init(&j, e->s, e->n, EMBI_JSON_NAN);
    *top = (struct embi_json_gaps){0};
    embi_json_next(&j, &v);
    v.n = (size_t)(e->s + e->n - v.s);
    if (is_container(&v))
        read_gaps(&v, 2, top, &last);
    if (!top->open.s)
        top->open = (emb_str){"\n  ", 3};
    if (!top->colon.s)
        top->colon = (emb_str){": ", 2};
}

/* The blanks in front of the line on which a place lies. */
static emb_str indent_of(const char *text, const char *place)
{
    while (place > text && place[-1] != '\n')
        place--;
    const char *end = place;
    while (*end == ' ' || *end == '\t')
        end++;
    return between(place, end);
}

/* ------------------------------------------------------------------------------------------------
 * Writing gaps. Level 0 is between the items of the container, 1 inside an item, and so on.
 */

static void put(struct embi_json_append *a, emb_str s)
{
    embi_buf_add(a->out, s.s, s.n);
}

static const struct embi_json_gaps *gaps_at(const struct embi_json_append *a, unsigned level)
{
    static const struct embi_json_gaps none = {0};
    return level < EMBI_LEN(a->gaps) ? &a->gaps[level] : &none;
}

/* A new line, indented by so many levels more than the line of the container. */
static void put_break(struct embi_json_append *a, unsigned levels)
{
    emb_str open = a->gaps[0].open, unit = after_break(a->top.open);
    bool dos = a->top.open.n > unit.n + 1 && unit.s[-2] == '\r';
    embi_buf_text(a->out, dos ? "\r\n" : "\n");
    if (open.s && levels > 0) {
        put(a, after_break(open));
        levels--;
    } else {
        put(a, a->indent);
    }
    while (levels-- > 0)
        put(a, unit);
}

static bool breaks_at(const struct embi_json_append *a, unsigned level)
{
    emb_str open = gaps_at(a, level)->open;
    return open.s ? has_break(open) : a->lines;
}

static void put_open(struct embi_json_append *a, unsigned level)
{
    emb_str open = gaps_at(a, level)->open;
    if (open.s)
        put(a, open);
    else if (a->lines)
        put_break(a, level + 1);
    else if (!has_break(a->top.open))
        put(a, a->top.open);
}

static void put_next(struct embi_json_append *a, unsigned level)
{
    emb_str next = gaps_at(a, level)->next;
    if (next.s) {
        put(a, next);
    } else if (breaks_at(a, level)) {
        embi_buf_byte(a->out, ',');
        put_open(a, level);
    } else if (a->top.next.s && !has_break(a->top.next)) {
        put(a, a->top.next);
    } else {
        embi_buf_text(a->out, ", ");
    }
}

static void put_close(struct embi_json_append *a, unsigned level)
{
    emb_str close = gaps_at(a, level)->close;
    if (close.s)
        put(a, close);
    else if (a->lines)
        put_break(a, level);
    else if (!has_break(a->top.open))
        put(a, a->top.open); /* blanks inside brackets stand on both sides */
}

static void put_colon(struct embi_json_append *a, unsigned level)
{
    for (unsigned i = 0; i < EMBI_LEN(a->gaps); i++) {
        emb_str colon = gaps_at(a, level ^ i)->colon; /* the level's own first */
        if (colon.s) {
            put(a, colon);
            return;
        }
    }
    put(a, a->top.colon);
}

/* ------------------------------------------------------------------------------------------------
 * Adding
 */

void embi_json_append_begin(struct embi_json_append *a, struct embi_json_edits *e,
                            const struct embi_json_value *container)
{
    struct embi_json_value last, inner;
    size_t at = (size_t)(container->s - e->s), end = at + container->n - 1;
    *a = (struct embi_json_append){.out = &e->bytes, .edits = e, .first[0] = true};
    read_top(e, &a->top);
    read_gaps(container, SIZE_MAX, &a->gaps[0], &last);
    if (is_container(&last))
        read_gaps(&last, SIZE_MAX, &a->gaps[1], &inner);
    a->indent = indent_of(e->s, container->s);
    a->empty = last.kind == 0;
    a->lines = has_break(a->empty ? a->top.open : a->gaps[0].open);
    a->edit = (struct embi_json_edit){end - a->gaps[0].close.n, 0, e->bytes.n, 0};
    if (a->empty) { /* the blanks between the brackets go */
        a->edit.at = at + 1;
        a->edit.n = end - at - 1;
    }
}

void embi_json_append_before(struct embi_json_append *a, struct embi_json_edits *e,
                             const struct embi_json_value *container,
                             const struct embi_json_value *at)
{
    embi_json_append_begin(a, e, container);
    a->edit.at = (size_t)(at->s - e->s);
    a->before = true;
}

/* What separates an item from the one before it, or from the bracket. */
static void begin_item(struct embi_json_append *a)
{
    bool first = a->first[a->depth];
    a->first[a->depth] = false;
    if (!first || (a->depth == 0 && !a->empty && !a->before))
        put_next(a, a->depth);
    else if (a->depth > 0 || a->empty)
        put_open(a, a->depth);
}

void embi_json_append_key(struct embi_json_append *a, emb_str key)
{
    begin_item(a);
    embi_json_quote(a->out, key.s, key.n, NULL);
    put_colon(a, a->depth);
}

void embi_json_append_item(struct embi_json_append *a)
{
    begin_item(a);
}

void embi_json_append_enter(struct embi_json_append *a, char bracket)
{
    embi_buf_byte(a->out, bracket);
    a->depth++;
    a->first[a->depth] = true;
    a->closing[a->depth] = bracket == '{' ? '}' : ']';
}

void embi_json_append_leave(struct embi_json_append *a)
{
    if (!a->first[a->depth])
        put_close(a, a->depth);
    embi_buf_byte(a->out, a->closing[a->depth]);
    a->depth--;
}

void embi_json_append_end(struct embi_json_append *a)
{
    if (a->first[0]) /* nothing was added */
        return;
    if (a->before)
        put_next(a, 0);
    else if (a->empty)
        put_close(a, 0);
    a->edit.m = a->out->n - a->edit.new_at;
    add_edit(a->edits, &a->edit);
}
