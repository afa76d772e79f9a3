/* regex_class.c - escapes, and sets in brackets with sets inside them and intersections.
 *
 * A set becomes an expression that matches one character: plain items are a bracket, sets inside it
 * alternatives, an intersection A&&B is (?=A)B, and the complement of such a thing (?!A)(?s:.).
 */
#include "util/regex_set.h"

#include <ctype.h>

/* ------------------------------------------------------------------------------------------------
 * Escapes
 */

/* Hexadecimal digits up to `most`; false where there are none. */
static bool read_hex(struct embi_regex_walk *w, size_t most, uint32_t *value)
{
    size_t n = 0;
    *value = 0;
    for (; n < most && isxdigit((unsigned char)embi_regex_peek(w, 0)); n++, w->at++) {
        char c = w->s[w->at];
        *value = *value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return n > 0;
}

/* \xHH, \x{H...}, \uHHHH, of which the letter is read. */
static void read_code(struct embi_regex_walk *w, char letter, struct embi_buf *items)
{
    uint32_t code;
    bool braces = letter == 'x' && embi_regex_peek(w, 0) == '{';
    w->at += braces;
    if (!read_hex(w, braces ? 8 : letter == 'x' ? 2 : 4, &code) || code > 0x10FFFF)
        embi_regex_refuse(w, "a code of a character");
    else if (braces && embi_regex_peek(w, 0) != '}')
        embi_regex_refuse(w, "a list of codes");
    else if (!braces && letter == 'x' && code >= 0x80)
        embi_regex_refuse(w, "a byte of a character");
    w->at += braces;
    embi_buf_print(items, "\\x{%X}", code);
}

/* {Name} or {^Name}; *inverted changes with the ^. */
static void read_property(struct embi_regex_walk *w, bool *inverted, struct embi_buf *items)
{
    if (embi_regex_peek(w, 0) != '{') {
        embi_regex_refuse(w, "\\p without a name in braces");
        return;
    }
    w->at++;
    if (embi_regex_peek(w, 0) == '^') {
        *inverted = !*inverted;
        w->at++;
    }
    emb_str name = {w->s + w->at, 0};
    while (w->at < w->n && w->s[w->at] != '}') {
        w->at++;
        name.n++;
    }
    if (w->at == w->n || !embi_regex_property(name, items))
        embi_regex_refuse(w, "a property of characters");
    w->at++;
}

/* The character that a letter stands for; 0: none. */
static unsigned control_of(char letter)
{
    static const char letters[] = "tnrfvae", codes[] = "\x09\x0A\x0D\x0C\x0B\x07\x1B";
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? (unsigned char)codes[at - letters] : 0;
}

static const char *set_of(char letter)
{
    switch (letter | 32) {
    case 's': return EMBI_REGEX_SPACE;
    case 'w': return EMBI_REGEX_WORD;
    case 'd': return "\\p{Nd}";
    case 'h': return EMBI_REGEX_HEX;
    }
    return NULL;
}

/* A character that is no letter or digit, which may be more than one byte, stands for itself. */
static void read_itself(struct embi_regex_walk *w, struct embi_buf *items)
{
    char c = w->s[w->at++];
    if (!(c & 0x80))
        embi_buf_byte(items, '\\');
    embi_buf_byte(items, c);
    while (w->at < w->n && (w->s[w->at] & 0xC0) == 0x80 && (c & 0x80))
        embi_buf_byte(items, w->s[w->at++]);
}

enum embi_regex_escape embi_regex_escape(struct embi_regex_walk *w, struct embi_buf *items,
                                         char *letter)
{
    if (w->at == w->n) {
        embi_regex_refuse(w, "a backslash at the end");
        return EMBI_REGEX_CHAR;
    }
    char c = w->s[w->at];
    if (!isascii((unsigned char)c) || !isalnum((unsigned char)c)) {
        read_itself(w, items);
        return EMBI_REGEX_CHAR;
    }
    w->at++;
    *letter = c;
    if (control_of(c)) {
        embi_buf_print(items, "\\x{%X}", control_of(c));
        return EMBI_REGEX_CHAR;
    }
    if (c == 'x' || c == 'u') {
        read_code(w, c, items);
        return EMBI_REGEX_CHAR;
    }
    bool inverted = c >= 'A' && c <= 'Z';
    if (c == 'p' || c == 'P')
        read_property(w, &inverted, items);
    else if (set_of(c))
        embi_buf_text(items, set_of(c));
    else
        return EMBI_REGEX_LETTER;
    return inverted ? EMBI_REGEX_NOT_SET : EMBI_REGEX_SET;
}

/* ------------------------------------------------------------------------------------------------
 * Brackets
 */

struct set {
    struct embi_buf items;  /* of one bracket                                */
    struct embi_buf others; /* expressions, with a | before each             */
    struct embi_buf before; /* what an intersection has in front of the last */
    bool range_ends;        /* a hyphen here would begin no range            */
};

static void add_other(struct set *set, const char *open, const struct embi_buf *items,
                      const char *close)
{
    embi_buf_text(&set->others, open);
    embi_buf_add(&set->others, items->s, items->n);
    embi_buf_text(&set->others, close);
    set->range_ends = true;
}

/* [:name:], [:^name:], of which the [: is read. */
static void read_posix(struct embi_regex_walk *w, struct set *set)
{
    struct embi_buf items = {0};
    bool inverted = embi_regex_peek(w, 0) == '^';
    w->at += inverted;
    emb_str name = {w->s + w->at, 0};
    while (name.n < w->n - w->at && w->s[w->at + name.n] != ':')
        name.n++;
    w->at += name.n;
    if (embi_regex_peek(w, 1) != ']' || !embi_regex_property(name, &items))
        embi_regex_refuse(w, "a set in [: :]");
    if (embi_str_is(name, "punct")) /* which \p{Punct} has not */
        embi_buf_text(&items, "\\p{S}");
    w->at += 2;
    if (inverted)
        add_other(set, "|[^", &items, "]");
    else
        embi_buf_add(&set->items, items.s, items.n);
    set->range_ends = true;
    set->items.failed |= items.failed;
    embi_buf_free(&items);
}

static void read_escape(struct embi_regex_walk *w, struct set *set)
{
    struct embi_buf items = {0};
    char letter = 0;
    switch (embi_regex_escape(w, &items, &letter)) {
    case EMBI_REGEX_NOT_SET: add_other(set, "|[^", &items, "]"); break;
    case EMBI_REGEX_LETTER:
        if (letter != 'b')
            embi_regex_refuse(w, "an escape inside [ ]");
        embi_buf_text(&set->items, "\\x{8}");
        set->range_ends = false;
        break;
    case EMBI_REGEX_SET:
        embi_buf_add(&set->items, items.s, items.n);
        set->range_ends = true;
        break;
    case EMBI_REGEX_CHAR: embi_buf_add(&set->items, items.s, items.n); set->range_ends = false;
    }
    set->items.failed |= items.failed;
    embi_buf_free(&items);
}

static void read_char(struct embi_regex_walk *w, struct set *set)
{
    if (w->s[w->at] == '-' && !set->range_ends && set->items.n > 0) {
        embi_buf_byte(&set->items, '-');
        w->at++;
        set->range_ends = true;
        return;
    }
    if (isascii((unsigned char)w->s[w->at]) && isalnum((unsigned char)w->s[w->at]))
        embi_buf_byte(&set->items, w->s[w->at++]);
    else
        read_itself(w, &set->items);
    set->range_ends = false;
}

/* The union of the items and the others, as one expression. */
static void put_union(const struct set *set, struct embi_buf *out)
{
    embi_buf_text(out, "(?:");
    if (set->items.n) {
        embi_buf_byte(out, '[');
        embi_buf_add(out, set->items.s, set->items.n);
        embi_buf_byte(out, ']');
    }
    size_t skip = set->items.n ? 0 : 1; /* the first | */
    if (set->others.n)
        embi_buf_add(out, set->others.s + skip, set->others.n - skip);
    embi_buf_byte(out, ')');
}

/* What was read so far is one side of a &&. */
static void end_side(struct embi_regex_walk *w, struct set *set)
{
    if (set->items.n + set->others.n == 0)
        embi_regex_refuse(w, "an empty set");
    embi_buf_text(&set->before, "(?=");
    put_union(set, &set->before);
    embi_buf_byte(&set->before, ')');
    set->items.n = set->others.n = 0;
    set->range_ends = true;
}

static void read_item(struct embi_regex_walk *w, struct set *set)
{
    char c = w->s[w->at], next = embi_regex_peek(w, 1);
    if (c == '\\') {
        w->at++;
        read_escape(w, set);
    } else if (c == '&' && next == '&') {
        w->at += 2;
        end_side(w, set);
    } else if (c == '[' && next == ':') {
        w->at += 2;
        read_posix(w, set);
    } else if (c == '[') {
        w->at++;
        embi_buf_byte(&set->others, '|');
        embi_regex_class(w, &set->others);
        set->range_ends = true;
    } else {
        read_char(w, set);
    }
}

static void put_set(const struct set *set, bool inverted, struct embi_buf *out)
{
    if (!set->others.n && !set->before.n) {
        embi_buf_text(out, inverted ? "[^" : "[");
        embi_buf_add(out, set->items.s, set->items.n);
        embi_buf_byte(out, ']');
        return;
    }
    embi_buf_text(out, inverted ? "(?:(?!" : "(?:");
    if (set->before.n)
        embi_buf_add(out, set->before.s, set->before.n);
    put_union(set, out);
    embi_buf_text(out, inverted ? ")(?s:.))" : ")");
}

void embi_regex_class(struct embi_regex_walk *w, struct embi_buf *out)
{
    struct set set = {.range_ends = true};
    bool inverted = embi_regex_peek(w, 0) == '^', first = true;
    w->at += inverted;
    if (++w->depth > EMBI_REGEX_DEPTH)
        embi_regex_refuse(w, "sets so deep inside each other");
    for (; !w->status && w->at < w->n && (first || w->s[w->at] != ']'); first = false)
        read_item(w, &set);
    if (w->at >= w->n)
        embi_regex_refuse(w, "a [ without a ]");
    if (set.items.n + set.others.n == 0)
        embi_regex_refuse(w, "an empty set");
    w->at++;
    w->depth--;
    if (!w->status)
        put_set(&set, inverted, out);
    out->failed |= set.items.failed || set.others.failed || set.before.failed;
    embi_buf_free(&set.items);
    embi_buf_free(&set.others);
    embi_buf_free(&set.before);
}
