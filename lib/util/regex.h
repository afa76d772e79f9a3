/* regex.h - regular expressions as the files of tokenizers write them: the dialect of Ruby, which
 * Oniguruma reads. The only user of PCRE2, into whose dialect they are translated first.
 *
 * Translated are the things that mean something else there or do not exist: \w, \s, \h and \b,
 * names of properties and scripts, sets inside sets and their intersections (&&), {n,m}+ (which
 * repeats a repetition), (?m), (?i) in the middle, ^ and $. What cannot be translated is refused,
 * never guessed.
 */
#ifndef EMBI_UTIL_REGEX_H
#define EMBI_UTIL_REGEX_H

#include "util/buf.h"

struct embi_regex;

/* Compiles pattern [n]. EMB_UNSUPPORTED: it is malformed, or cannot be translated. */
emb_status embi_regex_compile(emb_str pattern, struct embi_regex **regex, emb_err *err);

/* The same of a pattern that is matched letter by letter. */
emb_status embi_regex_literal(emb_str text, struct embi_regex **regex, emb_err *err);

void embi_regex_free(struct embi_regex *regex);

/* The first match in s [n], well-formed UTF-8, that begins at `from` or later: s[*start .. *end).
 * *found is false where there is none. EMB_UNSUPPORTED: the search takes too many steps. May run in
 * one thread at a time. */
emb_status embi_regex_search(const struct embi_regex *regex, const char *s, size_t n, size_t from,
                             bool *found, size_t *start, size_t *end, emb_err *err);

/* regex_translate.c: appends the pattern in PCRE2's dialect. Nested at most EMBI_REGEX_DEPTH deep.
 * Where out->failed, neither the status nor what is in out means anything. */
enum { EMBI_REGEX_DEPTH = 100 };
emb_status embi_regex_translate(emb_str pattern, struct embi_buf *out, emb_err *err);

#endif
