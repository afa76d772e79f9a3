/* util/json_value.c - what is done with the spans of the JSON reader, and the writer of strings;
 * see json.h.
 *
 * Implements RFC 8259 sections 6 (integers only; other numbers are num/decimal's) and 7. A span is
 * never read beyond its n bytes, and integers never pass through a floating-point number.
 */
#include "util/json.h"

#include "util/json_scan.h"
#include "util/utf8.h"

#include <string.h>

/* The value of the escape \uXXXX whose backslash is at p, -1 if there is none. */
static int32_t hex_escape(const char *p, size_t n)
{
    int32_t value = 0;
    if (n < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int32_t digit;
        if (p[i] >= '0' && p[i] <= '9')
            digit = p[i] - '0';
        else if ((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'f')
            digit = (p[i] | 0x20) - 'a' + 10;
        else
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* What a letter after a backslash stands for, or 0. */
static const char short_value[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

size_t embi_json_escape(const char *p, size_t n, uint32_t *cp)
{
    *cp = 0;
    char value = n < 2 ? 0 : short_value[(unsigned char)p[1]];
    if (value != 0) {
        *cp = (unsigned char)value;
        return 2;
    }
    int32_t first = hex_escape(p, n);
    if (first < 0)
        return 0;
    *cp = (uint32_t)first;
    if (first < 0xD800 || first > 0xDFFF)
        return 6;
    int32_t second = hex_escape(p + 6, n - 6);
    if (first > 0xDBFF || second < 0xDC00 || second > 0xDFFF)
        return 0;
    *cp = 0x10000u + ((uint32_t)(first - 0xD800) << 10) + (uint32_t)(second - 0xDC00);
    return 12;
}

static bool is_string(const struct embi_json_value *v)
{
    return v->kind == EMBI_JSON_STRING || v->kind == EMBI_JSON_KEY;
}

/* Takes the next stretch of decoded characters from the inside of a string, *p to end: what stands
 * before the next backslash, as it is, or the escape at *p, decoded into `small`. */
static emb_str next_piece(const char **p, const char *end, char small[EMBI_UTF8_MAX_BYTES])
{
    const char *s = *p;
    uint32_t cp;
    const char *backslash = memchr(s, '\\', (size_t)(end - s));
    if (backslash != s) {
        *p = backslash == NULL ? end : backslash;
        return (emb_str){s, (size_t)(*p - s)};
    }
    *p += embi_json_escape(s, (size_t)(end - s), &cp);
    return (emb_str){small, embi_utf8_encode(cp, small)};
}

/* The characters are fewer bytes than the span. Tokens are short: a call for each stretch between
 * escapes would take longer than its bytes. */
bool embi_json_string(const struct embi_json_value *v, struct embi_buf *out)
{
    uint32_t cp;
    if (!is_string(v))
        return false;
    char *to = embi_buf_room(out, v->n);
    if (to == NULL)
        return true;
    const char *p = v->s + 1, *end = v->s + v->n - 1;
    while (p < end) {
        if (*p != '\\') {
            *to++ = *p++;
        } else {
            p += embi_json_escape(p, (size_t)(end - p), &cp);
            to += embi_utf8_encode(cp, to);
        }
    }
    out->n = (size_t)(to - out->s);
    return true;
}

bool embi_json_equals(const struct embi_json_value *v, emb_str text)
{
    char small[EMBI_UTF8_MAX_BYTES];
    if (!is_string(v))
        return false;
    const char *p = v->s + 1, *end = v->s + v->n - 1;
    while (p < end) {
        emb_str piece = next_piece(&p, end, small);
        if (piece.n > text.n || memcmp(piece.s, text.s, piece.n) != 0)
            return false;
        text.s += piece.n;
        text.n -= piece.n;
    }
    return text.n == 0;
}

bool embi_json_is(const struct embi_json_value *v, const char *text)
{
    return embi_json_equals(v, (emb_str){text, strlen(text)});
}

/* The n bytes at s as a whole number: digits alone, no leading zero. */
static bool parse_digits(const char *s, size_t n, uint64_t *x)
{
    uint64_t value = 0;
    if (n == 0 || (n > 1 && s[0] == '0'))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s[i] - '0'), &value))
            return false;
    }
    *x = value;
    return true;
}

bool embi_json_u64(const struct embi_json_value *v, uint64_t *x)
{
    return v->kind == EMBI_JSON_NUMBER && parse_digits(v->s, v->n, x);
}

bool embi_json_i64(const struct embi_json_value *v, int64_t *x)
{
    uint64_t size;
    if (v->kind != EMBI_JSON_NUMBER)
        return false;
    bool minus = v->s[0] == '-';
    if (!parse_digits(v->s + minus, v->n - minus, &size) || (minus && size == 0))
        return false;
    if (size > (uint64_t)INT64_MAX + minus)
        return false;
    *x = minus ? -(int64_t)(size - 1) - 1 : (int64_t)size; /* -2^63 has no positive twin */
    return true;
}

static void quote_control(struct embi_buf *out, char c)
{
    const char *letter = "\"\\/bfnrt";
    while (*letter && short_value[(unsigned char)*letter] != c)
        letter++;
    if (*letter) {
        embi_buf_byte(out, '\\');
        embi_buf_byte(out, *letter);
    } else {
        embi_buf_text(out, "\\u00");
        embi_buf_byte(out, "0123456789abcdef"[(unsigned char)c >> 4]);
        embi_buf_byte(out, "0123456789abcdef"[(unsigned char)c & 15]);
    }
}

void embi_json_quote(struct embi_buf *out, const char *s, size_t n, bool *lossy)
{
    const char *end = n ? s + n : s; /* of an empty buffer s may be NULL */
    uint32_t cp;
    embi_buf_byte(out, '"');
    for (;;) {
        const char *special = embi_json_plain(s, end);
        embi_buf_add(out, s, (size_t)(special - s));
        if (special == end)
            break;
        int length = embi_utf8_decode(special, (size_t)(end - special), &cp);
        if (length == 1) {
            quote_control(out, *special);
        } else if (length > 1) {
            embi_buf_add(out, special, (size_t)length);
        } else {
            embi_buf_text(out, "\xEF\xBF\xBD"); /* U+FFFD */
            if (lossy != NULL)
                *lossy = true;
        }
        s = special + (length < 0 ? -length : length);
    }
    embi_buf_byte(out, '"');
}
