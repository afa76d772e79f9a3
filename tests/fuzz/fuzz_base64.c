/* fuzz_base64.c - base64 against an encoder: what is read is what the encoder writes, and only that. */
#include "fuzz.h"

#include "util/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* RFC 4648, section 4; out has (n + 2) / 3 * 4 bytes. */
static size_t encode(const unsigned char *s, size_t n, char *out)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t bits = (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
                        (left > 2 ? s[i + 2] : 0);
        out[at++] = alphabet[bits >> 18];
        out[at++] = alphabet[bits >> 12 & 63];
        out[at++] = left > 1 ? alphabet[bits >> 6 & 63] : '=';
        out[at++] = left > 2 ? alphabet[bits & 63] : '=';
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy(data, size), *out = malloc(embi_base64_room(size) + 1);
    char *again = malloc((size + 2) / 3 * 4 + 4), *back = malloc(size + 3);
    CHECK(out && again && back);
    size_t n = 0, bytes;
    if (embi_base64_decode(text, size, out, &n)) {
        CHECK(n <= embi_base64_room(size));
        CHECK(encode((unsigned char *)out, n, again) == size && memcmp(again, text, size) == 0);
    }
    n = encode(data, size, again);
    CHECK(embi_base64_decode(again, n, back, &bytes) && bytes == size);
    CHECK(size == 0 || memcmp(back, data, size) == 0);
    free(back);
    free(again);
    free(out);
    free(text);
    return 0;
}
