/* netrc.c - see netrc.h.
 *
 * Words parted by white space: `machine NAME` or `default`, then `login NAME`, `password WORD`,
 * `account WORD` in any order; a word may stand in double quotes, in which a backslash takes the
 * next byte as it is (\n, \r and \t are what they are in C); `macdef NAME` and all lines up to an
 * empty one are a macro; a line that begins with # is a comment.
 */
#include "io/netrc.h"

#include "io/fd.h"

#include <strings.h>

struct words {
    const char *s, *end;
    struct embi_buf word; /* the last one, taken out of its quotes */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_line(struct words *w)
{
    while (w->s < w->end && *w->s != '\n')
        w->s++;
}

/* Up to the next word; comments are passed over. `fresh`: a line begins here. */
static void skip_blanks(struct words *w, bool fresh)
{
    while (w->s < w->end && (is_blank(*w->s) || (fresh && *w->s == '#'))) {
        if (*w->s == '#')
            skip_line(w);
        else
            fresh = *w->s++ == '\n' || fresh;
    }
}

static char unescape(char c)
{
    return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
}

static void take_quoted(struct words *w)
{
    for (w->s++; w->s < w->end && *w->s != '"'; w->s++) {
        bool escaped = *w->s == '\\' && w->s + 1 < w->end;
        w->s += escaped;
        embi_buf_byte(&w->word, escaped ? unescape(*w->s) : *w->s);
    }
    w->s += w->s < w->end;
}

static bool next_word(struct words *w, bool fresh)
{
    skip_blanks(w, fresh);
    w->word.n = 0;
    if (w->s == w->end)
        return false;
    if (*w->s == '"')
        take_quoted(w);
    else
        while (w->s < w->end && !is_blank(*w->s))
            embi_buf_byte(&w->word, *w->s++);
    return !w->word.failed;
}

/* In either case, as curl has it. */
static bool is_word(const struct words *w, const char *word)
{
    return w->word.n == strlen(word) && strncasecmp(w->word.s, word, w->word.n) == 0;
}

static void skip_macro(struct words *w)
{
    for (skip_line(w); w->s < w->end; skip_line(w)) {
        w->s++;
        if (w->s < w->end &&
            (*w->s == '\n' || (*w->s == '\r' && w->s + 1 < w->end && w->s[1] == '\n')))
            return;
    }
}

/* The word that follows, kept where the entry is the one that is wanted: true. */
static bool take_value(struct words *w, bool wanted, struct embi_buf *value)
{
    if (!next_word(w, false) || !wanted)
        return false;
    value->n = 0;
    embi_buf_add(value, w->word.s, w->word.n);
    return true;
}

bool embi_netrc_parse(emb_str text, emb_str host, struct embi_buf *user, struct embi_buf *password)
{
    struct words w = {.s = text.s, .end = text.s + text.n};
    bool wanted = false, named = false;
    for (bool fresh = true; next_word(&w, fresh); fresh = false) {
        bool machine = is_word(&w, "machine"), other = is_word(&w, "default");
        if (wanted && (machine || other))
            break;
        if (machine && next_word(&w, false))
            wanted = w.word.n == host.n && strncasecmp(w.word.s, host.s, host.n) == 0;
        else if (other)
            wanted = true;
        else if (is_word(&w, "login"))
            named |= take_value(&w, wanted, user);
        else if (is_word(&w, "password"))
            take_value(&w, wanted, password);
        else if (is_word(&w, "account"))
            (void)next_word(&w, false);
        else if (is_word(&w, "macdef"))
            skip_macro(&w);
    }
    bool failed = w.word.failed;
    embi_buf_free(&w.word);
    return named && !failed && !user->failed && !password->failed;
}

bool embi_netrc_find(const char *path, emb_str host, struct embi_buf *user,
                     struct embi_buf *password)
{
    struct embi_buf text = {0};
    emb_err err;
    bool found = path && embi_fd_slurp_small(path, &text, &err) == EMB_OK && !text.failed &&
                 embi_netrc_parse((emb_str){text.s, text.n}, host, user, password);
    embi_buf_free(&text);
    return found;
}
