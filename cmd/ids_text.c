/* ids_text.c - takes ids out of text: decimal digits, blanks, commas, brackets, line ends.
 *
 * One pass over the bytes; a word that the buffer cuts off is left for the next call. Strict:
 * nothing but digits is an id, and separators must separate something, since an id that is missing
 * unnoticed would shift all after it.
 */
#include "ids.h"
#include "names.h"

#include <inttypes.h>
#include <string.h>

/* What came last, blanks aside. */
enum { LAST_NOTHING, LAST_ID, LAST_COMMA, LAST_OPEN, LAST_CLOSE };

enum {
    SHOW_BYTES = 60,     /* of a word, in a message       */
    SAFE_DIGITS = 19,    /* always fit into 64 bits       */
    WORD_BYTES = 1 << 16 /* a longer word is no id, wherever the buffer ends */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Ends a word. */
static bool is_break(char c)
{
    return c == ' ' || c == '\n' || c == ',' || c == '\t' || c == '\r' || c == '[' || c == ']' ||
           c == '\v' || c == '\f';
}

static uint64_t item_of(const struct ids *ids, size_t n)
{
    return ids->items + n + 1;
}

/* What reads tokens, where the word that is no id may be one: it begins with a letter, and is
 * not in an array. */
static const char *token_advice(const struct ids *ids, char first)
{
    bool word = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    if (!word || ids->depth)
        return "";
    return ids->in.path ? "; --tokens-file reads tokens" : "; --tokens reads tokens";
}

/* The word at s [n] is none of the ids that are read in passing: an id with many leading zeros, or
 * says why not. item: its number. */
static int slow_word(struct ids *ids, const char *s, size_t n, uint64_t item, uint64_t *id)
{
    char range[RANGE_MAX], shown[WORD_MAX];
    word_show(shown, s, embi_min(n, SHOW_BYTES));
    switch (id_read(s, n, ids->rows, id)) {
    case ID_OK: return EXIT_DONE;
    case ID_OUTSIDE:
        return ids_fail(ids, "item %" PRIu64 ": %s is outside %s", item, shown,
                        id_range(range, ids->rows));
    case ID_NONE: break;
    }
    return ids_fail(ids, "item %" PRIu64 ": '%s' is not an id%s", item, shown,
                    token_advice(ids, s[0]));
}

static int open_bracket(struct ids *ids, uint64_t item)
{
    if (ids->depth == 2)
        return ids_fail(ids, "item %" PRIu64 ": arrays may be nested once, not deeper", item);
    if (ids->last == LAST_ID || ids->sequences.open)
        return ids_fail(ids, "item %" PRIu64 ": '[' among ids", item);
    ids->nested = ids->depth == 1;
    ids->depth++;
    ids->last = LAST_OPEN;
    return EXIT_DONE;
}

static int close_bracket(struct ids *ids, uint64_t item)
{
    if (ids->depth == 0)
        return ids_fail(ids, "item %" PRIu64 ": ']' without '['", item);
    if (ids->last == LAST_COMMA)
        return ids_fail(ids, "item %" PRIu64 ": nothing stands between ',' and ']'", item);
    if (ids->depth == 2 || !ids->nested)
        ids_end_sequence(ids);
    ids->depth--;
    if (ids->depth == 0)
        ids->nested = false;
    ids->last = LAST_CLOSE;
    return EXIT_DONE;
}

static int comma(struct ids *ids, uint64_t item)
{
    if (ids->last != LAST_ID && ids->last != LAST_CLOSE)
        return ids_fail(ids, "item %" PRIu64 ": nothing stands before ','", item);
    ids->last = LAST_COMMA;
    return EXIT_DONE;
}

/* Inside brackets a line end is a blank. */
static void line_end(struct ids *ids)
{
    if (ids->depth)
        return;
    if (ids->sequences.open || (ids->last == LAST_NOTHING && ids->sequences.keep))
        ids_end_sequence(ids);
    ids->last = LAST_NOTHING;
}

static int breaker(struct ids *ids, char c, uint64_t item)
{
    switch (c) {
    case ',': return comma(ids, item);
    case '[': return open_bracket(ids, item);
    case ']': return close_bracket(ids, item);
    case '\n': line_end(ids); break;
    default: break;
    }
    return EXIT_DONE;
}

/* An id may stand here, unless the array it is in holds arrays. */
static int check_place(struct ids *ids, const char *s, size_t n, uint64_t item)
{
    if (ids->nested && ids->depth == 1)
        return ids_fail(ids, "item %" PRIu64 ": %.*s stands beside arrays", item,
                        (int)embi_min(n, 60), s);
    return EXIT_DONE;
}

int ids_parse(struct ids *ids, uint64_t *out, uint64_t *lines, size_t max, size_t *n)
{
    const char *p = ids->in.s + ids->in.at, *end = ids->in.s + ids->in.n;
    size_t count = 0;
    int code = EXIT_DONE;
    while (p < end && count < max && !code) {
        if (is_break(*p)) {
            code = *p == ' ' ? EXIT_DONE : breaker(ids, *p, item_of(ids, count));
            p++;
            continue;
        }
        uint64_t id = 0;
        const char *q = p;
        while (q < end && is_digit(*q) && q - p < SAFE_DIGITS)
            id = id * 10 + (uint64_t)(*q++ - '0');
        bool good = q > p && id < ids->rows;
        while (q < end && !is_break(*q)) {
            good = false;
            q++;
        }
        bool cut = q == end && !ids->in.eof; /* the word may go on */
        if (cut && q - p <= WORD_BYTES)
            break;
        if (q - p > WORD_BYTES)
            code = ids_fail(ids, "item %" PRIu64 ": a word of more than %d bytes is not an id",
                            item_of(ids, count), WORD_BYTES);
        else if (!good)
            code = slow_word(ids, p, (size_t)(q - p), item_of(ids, count), &id);
        if (!code)
            code = check_place(ids, p, (size_t)(q - p), item_of(ids, count));
        ids->last = LAST_ID;
        ids->sequences.open++;
        if (lines)
            lines[count] = ids->sequences.n;
        out[count++] = id;
        p = q;
    }
    ids->in.at = (size_t)(p - ids->in.s);
    *n = code ? 0 : count;
    return code;
}

int ids_parse_end(struct ids *ids)
{
    if (ids->depth)
        return ids_fail(ids, "'[' is not closed at the end");
    if (ids->sequences.open)
        ids_end_sequence(ids);
    return EXIT_DONE;
}
