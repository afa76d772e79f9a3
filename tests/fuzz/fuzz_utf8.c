/* fuzz_utf8.c - UTF-8 against its definition: what a code point of a given length and range takes. */
#include "fuzz.h"

/* The code point at s and its length; 0 where none of 1 to 4 bytes is the encoding of a scalar. */
static size_t define(const unsigned char *s, size_t n, uint32_t *cp)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80       ? 1
                    : s[0] >> 5 == 6  ? 2
                    : s[0] >> 4 == 14 ? 3
                    : s[0] >> 3 == 30 ? 4
                                      : 0;
    if (length == 0 || length > n)
        return 0;
    *cp = length == 1 ? s[0] : s[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        *cp = *cp << 6 | (s[i] & 63);
    }
    bool scalar = *cp <= 0x10FFFF && (*cp < 0xD800 || *cp > 0xDFFF);
    return scalar && *cp >= least[length] ? length : 0;
}

/* Is s[0, n) the beginning of some encoded scalar? Tried with all that the next bytes can be. */
static bool begins(const unsigned char *s, size_t n)
{
    unsigned char t[4];
    uint32_t cp;
    memcpy(t, s, n);
    for (unsigned next = 0x80; next < 0xC0; next++) {
        memset(t + n, 0x80, sizeof t - n);
        t[n] = (unsigned char)next;
        size_t length = define(t, sizeof t, &cp);
        if (length > n)
            return true;
    }
    return false;
}

/* The longest ill-formed part that begins like a character, or one byte (Unicode, section 3.9). */
static size_t subpart(const unsigned char *s, size_t n)
{
    size_t length = 1;
    while (length < 3 && length < n && begins(s, length + 1))
        length++;
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size);
    size_t bad = size;
    for (size_t at = 0, step; at < size; at += step) {
        uint32_t cp, want = 0;
        char back[EMBI_UTF8_MAX_BYTES];
        size_t length = define(data + at, size - at, &want);
        int found = embi_utf8_decode(text + at, size - at, &cp);
        CHECK(length == 0 || (found == (int)length && cp == want));
        CHECK(length != 0 || (found < 0 && cp == EMBI_UTF8_REPLACEMENT));
        CHECK(length != 0 || (size_t)-found == subpart(data + at, size - at));
        CHECK(embi_utf8_multibyte(text + at, size - at) == (length > 1 ? length : 0));
        CHECK(length == 0 ||
              (embi_utf8_encode(cp, back) == length && memcmp(back, text + at, length) == 0));
        step = length ? length : (size_t)-found;
        bad = length == 0 && at < bad ? at : bad;
    }
    CHECK(embi_utf8_check(text, size) == bad && embi_utf8_valid(text, size) == (bad == size));
    free(text);
    return 0;
}
