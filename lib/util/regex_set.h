/* regex_set.h - what the files of the translation share (regex_translate.c, regex_class.c,
 * regex_property.c): one walk over a pattern.
 */
#ifndef EMBI_UTIL_REGEX_SET_H
#define EMBI_UTIL_REGEX_SET_H

#include "util/regex.h"

/* What the short names hold, as items of a bracket. PCRE2 has others of the same names, which
 * differ. */
#define EMBI_REGEX_SPACE "\\p{Z}\\x{9}-\\x{D}\\x{85}"
#define EMBI_REGEX_WORD  "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define EMBI_REGEX_HEX   "0-9A-Fa-f"

struct embi_regex_walk {
    const char *s; /* [n] the pattern */
    size_t n, at;
    unsigned depth; /* groups and sets that are open */
    emb_status status;
    emb_err *err;
};

/* Ends the walk; `what` is refused. */
void embi_regex_refuse(struct embi_regex_walk *w, const char *what);

/* The byte `ahead` of the place; '\0' behind the end. */
static inline char embi_regex_peek(const struct embi_regex_walk *w, size_t ahead)
{
    return w->at + ahead < w->n ? w->s[w->at + ahead] : '\0';
}

/* What an escape stands for. */
enum embi_regex_escape {
    EMBI_REGEX_CHAR,    /* one character              */
    EMBI_REGEX_SET,     /* items of a bracket         */
    EMBI_REGEX_NOT_SET, /* all but those              */
    EMBI_REGEX_LETTER   /* something else, by letter  */
};

/* Reads an escape, of which the backslash is read. *letter is set for EMBI_REGEX_LETTER; else items
 * get what it holds. */
enum embi_regex_escape embi_regex_escape(struct embi_regex_walk *w, struct embi_buf *items,
                                         char *letter);

/* Appends a set in brackets, of which the [ is read. */
void embi_regex_class(struct embi_regex_walk *w, struct embi_buf *out);

/* Appends what a named set holds; false where no set is called so. */
bool embi_regex_property(emb_str name, struct embi_buf *items);

#endif
