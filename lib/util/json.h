/* util/json.h - a strict JSON reader of spans, and the writer of JSON strings.
 *
 * Implements RFC 8259 (ECMA-404). The reader walks once over a text in memory and hands out spans
 * of it. It builds no tree, allocates nothing, copies nothing, and keeps every byte's place, so a
 * file can be edited by splicing. It may be of any size.
 *
 * An object is read like this, an array with embi_json_item in the same way:
 *
 *     struct embi_json j;
 *     struct embi_json_value key, v;
 *     embi_json_init(&j, text, n, 0);
 *     embi_json_enter(&j, EMBI_JSON_OBJECT);
 *     while (embi_json_member(&j, &key)) {
 *         if (embi_json_is(&key, "rows")) {
 *             embi_json_next(&j, &v);
 *             if (!embi_json_u64(&v, &rows))
 *                 embi_json_reject(&j, &v, "an unsigned integer");
 *         } else if (embi_json_is(&key, "shape")) {
 *             embi_json_enter(&j, EMBI_JSON_ARRAY);
 *             while (embi_json_item(&j)) {
 *                 embi_json_next(&j, &v);
 *                 ...
 *             }
 *         }
 *     }
 *     return embi_json_finish(&j, 0, err);
 *
 * - A value that the caller does not read is skipped by the next embi_json_member or
 * embi_json_item, and checked as strictly as one that is read. A container that was entered must be
 * read to its end, or left with embi_json_leave.
 * - The first error ends the reading: from then on every call gives false or EMBI_JSON_ERROR, so
 *   loops end by themselves, and embi_json_finish reports it with its place. Nothing read before it
 *   is wrong, but only after embi_json_finish gave EMB_OK is the whole text known to be JSON.
 * - Refused: everything RFC 8259 does not allow (trailing commas, comments, leading zeros, raw
 *   control characters ...), text that is not UTF-8, a byte order mark, escapes of lone surrogates,
 *   more than 128 open brackets, anything but blanks after the value. Keys that occur twice are the
 *   caller's to judge. \u0000 is legal: strings are pointer and length.
 * - The place of an error is the offset of the first byte that cannot stand there; the length of
 * the text where it ends too early; the backslash of a bad escape, the first byte of ill-formed
 * UTF-8.
 * - A reader is for one thread. The text must stay as it is while the reader or a span is in use.
 */
#ifndef EMBI_JSON_H
#define EMBI_JSON_H

#include "emb.h"
#include "util/buf.h"

#define EMBI_JSON_DEPTH   128 /* open brackets at one time */
#define EMBI_JSON_SHALLOW 8   /* the same in an array that is read apart */
#define EMBI_JSON_NAN \
    0x1u /* flag: NaN, Infinity and -Infinity, as Python writes them, are read \
            as EMBI_JSON_NUMBER */

enum embi_json_kind {
    EMBI_JSON_ERROR,      /* what embi_json_finish will report */
    EMBI_JSON_END,        /* the value and the blanks after it are read, and the text ends */
    EMBI_JSON_OBJECT,     /* the span of an event is the bracket alone; embi_json_skip gives all */
    EMBI_JSON_OBJECT_END, /* } */
    EMBI_JSON_ARRAY,      /* [ */
    EMBI_JSON_ARRAY_END,  /* ] */
    EMBI_JSON_KEY,        /* with its quotes, without the colon */
    EMBI_JSON_STRING,     /* with its quotes */
    EMBI_JSON_NUMBER,
    EMBI_JSON_TRUE,
    EMBI_JSON_FALSE,
    EMBI_JSON_NULL
};

/* What was read, and the bytes of the text it was read from: s - (start of the text) is its offset.
 */
struct embi_json_value {
    enum embi_json_kind kind;
    bool escaped;  /* a key or string holds a backslash; if not, s + 1, n - 2 are its characters */
    const char *s; /* borrowed from the text */
    size_t n;
};

/* The members belong to the reader. */
struct embi_json {
    const char *s, *p, *end; /* the text, the first byte not read, the end of the text */
    uint64_t objects[EMBI_JSON_DEPTH / 64];    /* bit i: the bracket opened at depth i is a { */
    unsigned char indent[EMBI_JSON_DEPTH + 1]; /* blanks last seen before an item at that depth */
    unsigned depth;                            /* brackets open now */
    unsigned flags;
    int state;            /* what may come next */
    const char *expected; /* what was not found at p; NULL while all is well */
};

/* Begins at the first of the n bytes at s. flags: 0 or EMBI_JSON_NAN. */
void embi_json_init(struct embi_json *j, const char *s, size_t n, unsigned flags);

/* Reads one event: a value that is no container, one bracket, or a key with its colon. */
enum embi_json_kind embi_json_next(struct embi_json *j, struct embi_json_value *v);

/* Reads one event, and after an opening bracket on to the closing one. v, which may be NULL, gets
 * the kind of the first event and the span of all of it. */
bool embi_json_skip(struct embi_json *j, struct embi_json_value *v);

/* Whether an array begins at s and is whole and well-formed within the n bytes, with no more than
 * EMBI_JSON_SHALLOW brackets open in it; *after is then the byte after it. */
bool embi_json_whole_array(const char *s, size_t n, const char **after);

/* Skips the value that j is at, if it is the array that embi_json_whole_array found from `from` to
 * `after` in the same text; else nothing happens. */
void embi_json_jump(struct embi_json *j, const char *from, const char *after);

/* Reads the opening bracket of a value that must be an object (EMBI_JSON_OBJECT) or an array
 * (EMBI_JSON_ARRAY); another value is an error. */
bool embi_json_enter(struct embi_json *j, enum embi_json_kind kind);

/* In an object: reads the next key, after which its value is to be read. False when the object was
 * closed (its bracket has been read) and after an error. */
bool embi_json_member(struct embi_json *j, struct embi_json_value *key);

/* In an object of whole numbers, such as token -> id. Begins as {0} before the first member, and
 * belongs to that object. */
struct embi_json_pair {
    struct embi_json_value key, value;
    uint64_t number;         /* of value, if it is whole */
    bool whole;              /* what embi_json_u64 says of value */
    emb_str before, between; /* the reader's: what stood before the last key, and after it */
};

/* Reads the next key and one event of its value: what embi_json_member, embi_json_next and
 * embi_json_u64 do in turn, in a fraction of their time where one member looks like the other.
 * False as embi_json_member; after true, value may be of kind EMBI_JSON_ERROR. */
bool embi_json_pair(struct embi_json *j, struct embi_json_pair *pair);

/* In an array: true when there is one more item, which is to be read. False when the array was
 * closed and after an error. */
bool embi_json_item(struct embi_json *j);

/* Skips what is left of the innermost open container, its closing bracket included. */
bool embi_json_leave(struct embi_json *j);

/* Makes it an error that v, last read from j, is not what the caller needs: "a string", "two
 * numbers" (static text, it follows the word "expected"). The first error stays. */
void embi_json_reject(struct embi_json *j, const struct embi_json_value *v, const char *expected);

/* Offset of the first byte not read. After the end of a container its bracket is the byte before.
 */
static inline size_t embi_json_at(const struct embi_json *j)
{
    return (size_t)(j->p - j->s);
}

/* Checks that the value is read and nothing but blanks follows. EMB_OK, or EMB_BAD_DATA for the
 * first error of all; err->at is its offset plus origin, the place of the text in its file. */
emb_status embi_json_finish(struct embi_json *j, uint64_t origin, emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * Values. What is given here must come from a reader that reported no error for it.
 */

/* Appends the characters of a key or string to out, escapes replaced, as UTF-8. False, and nothing
 * appended, for a value of another kind. Running out of memory shows in out->failed. */
bool embi_json_string(const struct embi_json_value *v, struct embi_buf *out);

/* Whether v is a key or string of exactly these characters (escapes in v are understood; text ends
 * at its NUL). */
bool embi_json_is(const struct embi_json_value *v, const char *text);
bool embi_json_equals(const struct embi_json_value *v, emb_str text);

/* A number written as digits alone (with a minus sign for i64), exactly. False, and *x untouched,
 * for every other value: -1 as u64, -0, 1.0, 1e0, what 64 bits do not hold, strings. */
bool embi_json_u64(const struct embi_json_value *v, uint64_t *x);
bool embi_json_i64(const struct embi_json_value *v, int64_t *x);

/* Appends n bytes as a JSON string with its quotes. The output is always valid UTF-8: each maximal
 * ill-formed subpart becomes one U+FFFD, and *lossy, which may be NULL, is then set to true (it is
 * never set to false). Only the quote, the backslash and control characters are escaped. Running
 * out of memory shows in out->failed. */
void embi_json_quote(struct embi_buf *out, const char *s, size_t n, bool *lossy);

#endif
