/* unicode.c - see unicode.h. */
#include "util/unicode.h"

#include "util/utf8.h"

#include <stdlib.h>
#include <utf8proc.h>

void embi_unicode_put(struct embi_buf *out, uint32_t c)
{
    char bytes[EMBI_UTF8_MAX_BYTES];
    embi_buf_add(out, bytes, embi_utf8_encode(c, bytes));
}

/* ------------------------------------------------------------------------------------------------
 * Normal forms
 */

static const utf8proc_option_t options[] = {
    [EMBI_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
    [EMBI_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
    [EMBI_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
    [EMBI_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
};

static bool is_ascii(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (unsigned char)s[i] < 0x80)
        i++;
    return i == n;
}

void embi_unicode_normalize(struct embi_buf *out, enum embi_normal_form form, const char *s,
                            size_t n)
{
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)s;
    if (is_ascii(s, n)) { /* which is its own normal form, and may be empty */
        embi_buf_add(out, s, n);
        return;
    }
    utf8proc_ssize_t most = utf8proc_decompose(bytes, (utf8proc_ssize_t)n, NULL, 0, options[form]);
    utf8proc_int32_t *chars = most < 0 ? NULL : malloc((size_t)most * sizeof *chars);
    if (!chars) {
        out->failed = true;
        return;
    }
    utf8proc_decompose(bytes, (utf8proc_ssize_t)n, chars, most, options[form]);
    utf8proc_ssize_t count = utf8proc_normalize_utf32(chars, most, options[form]);
    for (utf8proc_ssize_t i = 0; i < count; i++)
        embi_unicode_put(out, (uint32_t)chars[i]);
    free(chars);
}

/* U+0130 is the only character whose lower case is two. */
void embi_unicode_lower(struct embi_buf *out, uint32_t c)
{
    if (c == 0x130)
        embi_buf_add(out, "i\xCC\x87", 3);
    else
        embi_unicode_put(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
}

/* ------------------------------------------------------------------------------------------------
 * What characters are
 */

static utf8proc_category_t category(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c);
}

bool embi_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

bool embi_is_punctuation(uint32_t c)
{
    if (c < 0x80)
        return c > ' ' && c < 0x7F && !(c >= '0' && c <= '9') &&
               !((c | 32) >= 'a' && (c | 32) <= 'z');
    utf8proc_category_t of = category(c);
    return of >= UTF8PROC_CATEGORY_PC && of <= UTF8PROC_CATEGORY_PO;
}

bool embi_is_numeric(uint32_t c)
{
    utf8proc_category_t of = category(c);
    return of >= UTF8PROC_CATEGORY_ND && of <= UTF8PROC_CATEGORY_NO;
}

bool embi_is_mark(uint32_t c)
{
    utf8proc_category_t of = category(c);
    return of >= UTF8PROC_CATEGORY_MN && of <= UTF8PROC_CATEGORY_ME;
}

bool embi_is_mark_nonspacing(uint32_t c)
{
    return category(c) == UTF8PROC_CATEGORY_MN;
}

bool embi_is_other(uint32_t c)
{
    utf8proc_category_t of = category(c);
    return of == UTF8PROC_CATEGORY_CC || of == UTF8PROC_CATEGORY_CF || of == UTF8PROC_CATEGORY_CO;
}

size_t embi_grapheme_bytes(const char *s, size_t n)
{
    uint32_t before, c;
    utf8proc_int32_t state = 0;
    size_t at = (size_t)abs(embi_utf8_decode(s, n, &before));
    while (at < n) {
        int bytes = embi_utf8_decode(s + at, n - at, &c);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)c, &state))
            break;
        before = c;
        at += (size_t)abs(bytes);
    }
    return at;
}
