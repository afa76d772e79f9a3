/* unicode.h - what characters are, and the normal forms of text. The only user of utf8proc, whose
 * version says which version of Unicode this is.
 *
 * Implements: The Unicode Standard, chapter 4 (general categories, White_Space), UAX #15 (normal
 * forms), UAX #29 (extended grapheme clusters). Text that is given must be well-formed UTF-8;
 * characters are Unicode scalars. Nothing looks at the locale.
 */
#ifndef EMBI_UTIL_UNICODE_H
#define EMBI_UTIL_UNICODE_H

#include "util/buf.h"

enum embi_normal_form { EMBI_NFC, EMBI_NFD, EMBI_NFKC, EMBI_NFKD };

/* Appends the normal form of s [n]. Running out of memory shows in out->failed. */
void embi_unicode_normalize(struct embi_buf *out, enum embi_normal_form form, const char *s,
                            size_t n);

/* Appends the lower case of a character, by itself: no rule that looks at its neighbours. */
void embi_unicode_lower(struct embi_buf *out, uint32_t c);

/* Appends the character. */
void embi_unicode_put(struct embi_buf *out, uint32_t c);

bool embi_is_space(uint32_t c);       /* White_Space                                           */
bool embi_is_punctuation(uint32_t c); /* a category P., and all of ASCII that is no letter,
                                         digit, space or control                               */
bool embi_is_numeric(uint32_t c);     /* Nd, Nl, No */
bool embi_is_mark(uint32_t c);        /* Mn, Mc, Me */
bool embi_is_mark_nonspacing(uint32_t c); /* Mn */
bool embi_is_other(uint32_t c);           /* Cc, Cf, Co */

/* Bytes of the grapheme cluster that s [n] begins with; n >= 1. */
size_t embi_grapheme_bytes(const char *s, size_t n);

#endif
