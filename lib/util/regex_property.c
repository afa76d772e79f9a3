/* regex_property.c - names of sets of characters, as Oniguruma has them, in PCRE2's dialect: what
 * \p{...} and [:...:] hold, as items of a bracket.
 */
#include "util/regex_set.h"

#include <ctype.h>

enum { NAME_MAX_BYTES = 40 };

/* Names without case, blanks, hyphens and underscores. General categories have two. */
static const struct {
    const char *name, *items;
} sets[] = {
    {"alnum", "\\p{Alphabetic}\\p{Nd}"},
    {"alpha", "\\p{Alphabetic}"},
    {"alphabetic", "\\p{Alphabetic}"},
    {"any", "\\x{0}-\\x{10FFFF}"},
    {"ascii", "\\x{0}-\\x{7F}"},
    {"blank", "\\p{Zs}\\x{9}"},
    {"closepunctuation", "\\p{Pe}"},
    {"cntrl", "\\p{Cc}"},
    {"connectorpunctuation", "\\p{Pc}"},
    {"control", "\\p{Cc}"},
    {"currencysymbol", "\\p{Sc}"},
    {"dashpunctuation", "\\p{Pd}"},
    {"decimalnumber", "\\p{Nd}"},
    {"digit", "\\p{Nd}"},
    {"emoji", "\\p{Emoji}"},
    {"emojipresentation", "\\p{Emoji_Presentation}"},
    {"enclosingmark", "\\p{Me}"},
    {"extendedpictographic", "\\p{Extended_Pictographic}"},
    {"finalpunctuation", "\\p{Pf}"},
    {"format", "\\p{Cf}"},
    {"ideographic", "\\p{Ideographic}"},
    {"initialpunctuation", "\\p{Pi}"},
    {"letter", "\\p{L}"},
    {"letternumber", "\\p{Nl}"},
    {"lineseparator", "\\p{Zl}"},
    {"lower", "\\p{Lowercase}"},
    {"lowercase", "\\p{Lowercase}"},
    {"lowercaseletter", "\\p{Ll}"},
    {"mark", "\\p{M}"},
    {"mathsymbol", "\\p{Sm}"},
    {"modifierletter", "\\p{Lm}"},
    {"modifiersymbol", "\\p{Sk}"},
    {"nonspacingmark", "\\p{Mn}"},
    {"number", "\\p{N}"},
    {"openpunctuation", "\\p{Ps}"},
    {"other", "\\p{C}"},
    {"otherletter", "\\p{Lo}"},
    {"othernumber", "\\p{No}"},
    {"otherpunctuation", "\\p{Po}"},
    {"othersymbol", "\\p{So}"},
    {"paragraphseparator", "\\p{Zp}"},
    {"privateuse", "\\p{Co}"},
    {"punct", "\\p{P}"},
    {"punctuation", "\\p{P}"},
    {"separator", "\\p{Z}"},
    {"space", EMBI_REGEX_SPACE},
    {"spaceseparator", "\\p{Zs}"},
    {"spacingmark", "\\p{Mc}"},
    {"symbol", "\\p{S}"},
    {"titlecaseletter", "\\p{Lt}"},
    {"unassigned", "\\p{Cn}"},
    {"upper", "\\p{Uppercase}"},
    {"uppercase", "\\p{Uppercase}"},
    {"uppercaseletter", "\\p{Lu}"},
    {"whitespace", EMBI_REGEX_SPACE},
    {"word", EMBI_REGEX_WORD},
    {"xdigit", EMBI_REGEX_HEX},
};

static const char categories[] = " C Cc Cf Cn Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd "
                                 "Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs ";

/* out = the name without case, blanks, hyphens and underscores; false: no name is like this. */
static bool fold(emb_str name, char out[NAME_MAX_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.s[i];
        if (c == ' ' || c == '-' || c == '_')
            continue;
        if (!isascii((unsigned char)c) || !isalnum((unsigned char)c) || n + 1 == NAME_MAX_BYTES)
            return false;
        out[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
    }
    out[n] = '\0';
    return n > 0;
}

/* "lu" -> "Lu", if it is a general category. */
static bool is_category(const char *folded, char out[4])
{
    char spaced[5] = " ";
    size_t n = strlen(folded);
    if (n > 2)
        return false;
    memcpy(spaced + 1, folded, n);
    spaced[1] = (char)(spaced[1] & ~32);
    memcpy(out, spaced + 1, n + 1);
    spaced[n + 1] = ' ';
    spaced[n + 2] = '\0';
    return strstr(categories, spaced) != NULL;
}

bool embi_regex_property(emb_str name, struct embi_buf *items)
{
    char folded[NAME_MAX_BYTES], category[4];
    if (!fold(name, folded))
        return false;
    for (size_t i = 0; i < EMBI_LEN(sets); i++) {
        if (strcmp(folded, sets[i].name) == 0) {
            embi_buf_text(items, sets[i].items);
            return true;
        }
    }
    if (is_category(folded, category))
        embi_buf_print(items, "\\p{%s}", category);
    else /* a script of that name, if there is one: not all that use it (scx) */
        embi_buf_print(items, "\\p{sc:%s}", folded);
    return true;
}
