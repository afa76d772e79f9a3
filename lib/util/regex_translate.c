/* regex_translate.c - from the dialect of Oniguruma (that of Ruby) to that of PCRE2; see regex.h.
 *
 * One walk. It knows where the last atom begins in what is written, since {n,m}+ repeats it as a
 * whole there, and how many brackets (?i) has opened, which ends with the group around it.
 */
#include "util/regex_set.h"

#include "util/err.h"

#include <ctype.h>

/* Outside brackets Oniguruma takes the fractions and raised digits of Latin-1 for word characters,
 * inside it does not. */
#define MORE_WORD "\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}"
#define WORD      "[" EMBI_REGEX_WORD MORE_WORD "]"

/* One group that is open. */
struct group {
    size_t begins; /* in the output                              */
    unsigned more; /* options inside, which end where it ends    */
};

struct translation {
    struct embi_regex_walk w;
    struct embi_buf *out;
    size_t atom; /* where the last atom begins in the output */
    struct group groups[EMBI_REGEX_DEPTH + 1];
};

void embi_regex_refuse(struct embi_regex_walk *w, const char *what)
{
    char shown[EMBI_SHOW_MAX];
    if (!w->status)
        w->status = embi_fail(w->err, EMB_UNSUPPORTED, (int64_t)w->at,
                              "the pattern '%s': byte %zu: %s is not read",
                              embi_show(shown, (emb_str){w->s, w->n}), w->at, what);
    w->at = w->n;
}

/* ------------------------------------------------------------------------------------------------
 * Groups
 */

static void open_group(struct translation *t, size_t begins)
{
    if (++t->w.depth > EMBI_REGEX_DEPTH)
        embi_regex_refuse(&t->w, "groups so deep inside each other");
    else
        t->groups[t->w.depth] = (struct group){begins, 0};
}

/* (?<name>, of which (?< is there and checked. */
static void read_name(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    size_t begins = t->out->n;
    embi_buf_text(t->out, "(?<");
    for (w->at += 3; embi_regex_peek(w, 0) == '_' || isalnum((unsigned char)embi_regex_peek(w, 0));)
        embi_buf_byte(t->out, w->s[w->at++]);
    if (embi_regex_peek(w, 0) != '>')
        embi_regex_refuse(w, "a name of a group");
    w->at++;
    embi_buf_byte(t->out, '>');
    open_group(t, begins);
}

/* (?i), (?im-i: and their like, of which (? is there. Ruby's m is PCRE2's s. */
static void read_options(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    size_t begins = t->out->n;
    embi_buf_text(t->out, "(?");
    for (w->at += 2; w->at < w->n && strchr("im-", w->s[w->at]) && w->s[w->at]; w->at++)
        embi_buf_byte(t->out, w->s[w->at] == 'm' ? 's' : w->s[w->at]);
    embi_buf_byte(t->out, ':');
    char end = embi_regex_peek(w, 0);
    if (end != ':' && end != ')')
        embi_regex_refuse(w, "such a group");
    w->at++;
    if (end == ':')
        open_group(t, begins);
    else if (t->groups[w->depth].more++ == EMBI_REGEX_DEPTH)
        embi_regex_refuse(w, "so many options");
}

static void read_comment(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    while (w->at < w->n && w->s[w->at] != ')')
        w->at++;
    if (w->at == w->n)
        embi_regex_refuse(w, "a comment without an end");
    w->at++;
}

static void read_open(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    char kind = embi_regex_peek(w, 2), next = embi_regex_peek(w, 3);
    size_t n = embi_regex_peek(w, 1) != '?'                  ? 1
               : kind && strchr(":=!>", kind)                ? 3
               : kind == '<' && (next == '=' || next == '!') ? 4
                                                             : 0;
    if (n > 0) {
        size_t begins = t->out->n;
        embi_buf_add(t->out, w->s + w->at, n);
        w->at += n;
        open_group(t, begins);
    } else if (kind == '#') {
        read_comment(t);
    } else if (kind == '<') {
        read_name(t);
    } else {
        read_options(t);
    }
}

static void close_group(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    if (w->depth == 0) {
        embi_regex_refuse(w, "a ) without a (");
        return;
    }
    const struct group *group = &t->groups[w->depth--];
    embi_buf_fill(t->out, ')', group->more + 1);
    t->atom = group->begins;
    w->at++;
}

/* ------------------------------------------------------------------------------------------------
 * Repetitions
 */

/* Puts (?: before the last atom and ) behind it. */
static void wrap_atom(struct translation *t)
{
    static const char open[] = "(?:";
    size_t n = sizeof open - 1;
    if (!embi_buf_room(t->out, n))
        return;
    memmove(t->out->s + t->atom + n, t->out->s + t->atom, t->out->n - t->atom);
    memcpy(t->out->s + t->atom, open, n);
    t->out->n += n;
    embi_buf_byte(t->out, ')');
}

/* *, +, ?, with ? or + behind them as in PCRE2. */
static void read_repeat(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    embi_buf_byte(t->out, w->s[w->at++]);
    if (embi_regex_peek(w, 0) == '?' || embi_regex_peek(w, 0) == '+')
        embi_buf_byte(t->out, w->s[w->at++]);
}

static emb_str digits_at(const struct embi_regex_walk *w, size_t ahead)
{
    emb_str digits = {w->s + w->at + ahead, 0};
    while (isdigit((unsigned char)embi_regex_peek(w, ahead + digits.n)))
        digits.n++;
    return digits;
}

/* {n}, {n,}, {,m}, {n,m}. Behind it a + repeats all of it, not possessively; so does a ? behind
 * {n}. A brace that is no such thing stands for itself. */
static void read_interval(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    emb_str low = digits_at(w, 1), high = {NULL, 0};
    size_t n = 1 + low.n;
    bool comma = embi_regex_peek(w, n) == ',';
    if (comma) {
        high = digits_at(w, n + 1);
        n += 1 + high.n;
    }
    if (low.n + high.n == 0 || embi_regex_peek(w, n) != '}') {
        t->atom = t->out->n;
        embi_buf_text(t->out, "\\{");
        w->at++;
        return;
    }
    w->at += n + 1;
    embi_buf_byte(t->out, '{');
    embi_buf_text(t->out, low.n ? "" : "0");
    embi_buf_add(t->out, low.s, low.n);
    embi_buf_text(t->out, comma ? "," : "");
    if (high.n)
        embi_buf_add(t->out, high.s, high.n);
    embi_buf_byte(t->out, '}');
    char next = embi_regex_peek(w, 0);
    if (next != '+' && next != '?')
        return;
    if (next == '+' || !comma)
        wrap_atom(t);
    embi_buf_byte(t->out, next);
    w->at++;
}

/* ------------------------------------------------------------------------------------------------
 * Atoms
 */

/* \1 .. \99, \k<name>, \g<name>. */
static void read_reference(struct translation *t, char letter)
{
    struct embi_regex_walk *w = &t->w;
    if (letter >= '1' && letter <= '9') {
        w->at--;
        emb_str digits = digits_at(w, 0);
        w->at += digits.n;
        embi_buf_print(t->out, "\\g{%.*s}", (int)embi_min(digits.n, 4), digits.s);
        return;
    }
    embi_buf_byte(t->out, '\\');
    embi_buf_byte(t->out, letter);
    if (embi_regex_peek(w, 0) != '<')
        embi_regex_refuse(w, "a reference without a name");
    while (w->at < w->n && w->s[w->at] != '>')
        embi_buf_byte(t->out, w->s[w->at++]);
    embi_buf_byte(t->out, '>');
    w->at++;
}

/* An escape that is more than a set of characters. */
static void read_letter(struct translation *t, char letter)
{
    if (letter == 'b')
        embi_buf_text(t->out, "(?:(?<=" WORD ")(?!" WORD ")|(?<!" WORD ")(?=" WORD "))");
    else if (letter == 'B')
        embi_buf_text(t->out, "(?:(?<=" WORD ")(?=" WORD ")|(?<!" WORD ")(?!" WORD "))");
    else if (strchr("AzZGKRX", letter))
        embi_buf_print(t->out, "\\%c", letter);
    else if (strchr("kg123456789", letter))
        read_reference(t, letter);
    else
        embi_regex_refuse(&t->w, "an escape");
}

static void read_escape(struct translation *t)
{
    struct embi_buf items = {0};
    char letter = 0;
    t->w.at++;
    enum embi_regex_escape kind = embi_regex_escape(&t->w, &items, &letter);
    bool set = kind == EMBI_REGEX_SET || kind == EMBI_REGEX_NOT_SET;
    if (kind == EMBI_REGEX_LETTER)
        read_letter(t, letter);
    if (set)
        embi_buf_text(t->out, kind == EMBI_REGEX_SET ? "[" : "[^");
    embi_buf_add(t->out, items.s, items.n);
    if (set && embi_str_is((emb_str){items.s, items.n}, EMBI_REGEX_WORD))
        embi_buf_text(t->out, MORE_WORD);
    if (set)
        embi_buf_byte(t->out, ']');
    t->out->failed |= items.failed;
    embi_buf_free(&items);
}

/* Letters of any alphabet, and what means nothing outside brackets. */
static void read_plain(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    char c = w->s[w->at++];
    if (c == '}' || c == ']')
        embi_buf_byte(t->out, '\\');
    embi_buf_byte(t->out, c);
    while (c & 0x80 && w->at < w->n && (w->s[w->at] & 0xC0) == 0x80)
        embi_buf_byte(t->out, w->s[w->at++]);
}

static void read_atom(struct translation *t)
{
    struct embi_regex_walk *w = &t->w;
    t->atom = t->out->n;
    switch (w->s[w->at]) {
    case '\\': read_escape(t); break;
    case '[':
        w->at++;
        embi_regex_class(w, t->out);
        break;
    case '$': /* not behind the last newline */
        embi_buf_text(t->out, "(?:(?=\\n)|(?<!\\n)\\z)");
        w->at++;
        break;
    default: read_plain(t);
    }
}

static void read_one(struct translation *t)
{
    switch (t->w.s[t->w.at]) {
    case '(': read_open(t); break;
    case ')': close_group(t); break;
    case '*':
    case '+':
    case '?': read_repeat(t); break;
    case '{': read_interval(t); break;
    default: read_atom(t);
    }
}

emb_status embi_regex_translate(emb_str pattern, struct embi_buf *out, emb_err *err)
{
    struct translation t = {.w = {.s = pattern.s, .n = pattern.n, .err = err}, .out = out};
    t.atom = out->n;
    while (!t.w.status && !out->failed && t.w.at < t.w.n)
        read_one(&t);
    if (!t.w.status && t.w.depth > 0)
        embi_regex_refuse(&t.w, "a ( without a )");
    embi_buf_fill(out, ')', t.groups[0].more);
    return t.w.status;
}
