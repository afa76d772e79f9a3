/* json_edit.h - changes a JSON text in memory by splicing: what is not meant to change keeps its
 * bytes, its order, its indentation and the spelling of its numbers.
 *
 * A list of edits is made over spans that the reader of json.h handed out, and is then applied
 * once:
 *
 *     struct embi_json_edits e = {.s = text, .n = n};
 *     struct embi_json_append a;
 *     embi_json_edit_replace(&e, &old_value, "32001", 5);
 *     embi_json_append_begin(&a, &e, &array);      (a span that embi_json_skip gave)
 *     embi_json_append_item(&a);
 *     embi_buf_text(a.out, "7");
 *     embi_json_append_end(&a);
 *     status = embi_json_edits_apply(&e, &out, err);
 *     embi_json_edits_free(&e);
 *
 * - What is added has the style of the text: line breaks, indentation and blanks as between the
 *   last two items of its container and inside the last of them; where those are not there, as in
 *   the outermost value.
 * - Edits may be made in any order. Those at one place stay in the order in which they were made.
 * - Running out of memory is remembered and reported by embi_json_edits_apply.
 */
#ifndef EMBI_JSON_EDIT_H
#define EMBI_JSON_EDIT_H

#include "util/json.h"

struct embi_json_edit {
    size_t at, n;     /* the bytes of the text that go */
    size_t new_at, m; /* those that come, in embi_json_edits.bytes */
};

struct embi_json_edits {
    const char *s; /* [n] the text, borrowed */
    size_t n;
    struct embi_json_edit *list; /* [count] */
    size_t count, capacity;
    struct embi_buf bytes;
};

/* Puts m bytes, which are JSON, in the place of a value or key. */
void embi_json_edit_replace(struct embi_json_edits *e, const struct embi_json_value *v,
                            const char *bytes, size_t m);

/* Puts a string of these characters in the place of a value or key; a number. */
void embi_json_edit_string(struct embi_json_edits *e, const struct embi_json_value *v,
                           emb_str text);
void embi_json_edit_u64(struct embi_json_edits *e, const struct embi_json_value *v, uint64_t x);

/* Takes n bytes at offset `at` out and puts m bytes there. */
void embi_json_edit_splice(struct embi_json_edits *e, size_t at, size_t n, const char *bytes,
                           size_t m);

/* Appends the edited text to out. EMB_NO_MEMORY; EMB_BUG: two edits overlap. */
emb_status embi_json_edits_apply(struct embi_json_edits *e, struct embi_buf *out, emb_err *err);
void embi_json_edits_free(struct embi_json_edits *e);

/* ------------------------------------------------------------------------------------------------
 * Adding to an array or object
 */

/* The bytes between the parts of a container: after its opening bracket, from a value to the next
 * key or item with the comma, from a key to its value with the colon, before the closing bracket.
 * s NULL: the text does not show it. */
struct embi_json_gaps {
    emb_str open, next, colon, close;
};

enum { EMBI_JSON_APPEND_DEPTH = 4 };

/* Something that is being added. The members belong to json_edit.c, but for `out`. */
struct embi_json_append {
    struct embi_buf *out; /* where the JSON of a value goes, after _key or _item */
    struct embi_json_edits *edits;
    struct embi_json_edit edit;
    struct embi_json_gaps top;     /* of the outermost value */
    struct embi_json_gaps gaps[2]; /* of the container, and of its last item */
    emb_str indent;                /* of the line where the container opens */
    bool lines;                    /* items have lines of their own */
    bool empty;                    /* the container was */
    bool before;                   /* what is added stands in front of an item */
    unsigned depth;                /* brackets opened by _enter */
    bool first[EMBI_JSON_APPEND_DEPTH];
    char closing[EMBI_JSON_APPEND_DEPTH];
};

/* Begins to add to the end of a container, an array or an object, given by its span with both
 * brackets. One at a time; nothing else may be edited between _begin and _end. */
void embi_json_append_begin(struct embi_json_append *a, struct embi_json_edits *e,
                            const struct embi_json_value *container);

/* The same in front of the item or key `at` of the container. */
void embi_json_append_before(struct embi_json_append *a, struct embi_json_edits *e,
                             const struct embi_json_value *container,
                             const struct embi_json_value *at);

/* The next member (in an object) or item (in an array); its value is to be added to a->out. */
void embi_json_append_key(struct embi_json_append *a, emb_str key);
void embi_json_append_item(struct embi_json_append *a);

/* The value is a container itself, '{' or '[', whose members or items follow until _leave. */
void embi_json_append_enter(struct embi_json_append *a, char bracket);
void embi_json_append_leave(struct embi_json_append *a);

void embi_json_append_end(struct embi_json_append *a);

#endif
