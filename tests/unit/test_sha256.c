/* test_sha256.c - util/sha256 against the examples of FIPS 180-4 (NIST's SHA256.pdf and the long
 * message of FIPS 180-2, appendix B.3) and, for every length around the block borders, a digest of
 * digests that Python's hashlib made.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "util/sha256_blocks.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void hex_of(const unsigned char digest[32], char hex[65])
{
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static bool plain; /* without the CPU's own instructions */

static void hash(const void *data, size_t n, size_t step, unsigned char digest[32])
{
    struct embi_sha256 h;
    embi_sha256_init(&h);
    if (plain)
        h.fold = embi_sha256_plain;
    for (size_t at = 0; at < n; at += step)
        embi_sha256_update(&h, (const char *)data + at, n - at < step ? n - at : step);
    embi_sha256_final(&h, digest);
}

static const struct {
    const char *text, *hex;
} known[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
     "lmnopqrsmnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

Test(sha256, examples_of_the_standard)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        unsigned char digest[32];
        char hex[65];
        hash(known[i].text, strlen(known[i].text), 1000, digest);
        hex_of(digest, hex);
        cr_expect(strcmp(hex, known[i].hex) == 0, "%s: %s", known[i].text, hex);
    }
}

Test(sha256, a_million_times_a)
{
    static char text[1000000];
    unsigned char digest[32];
    char hex[65];
    memset(text, 'a', sizeof text);
    hash(text, sizeof text, 4099, digest);
    hex_of(digest, hex);
    cr_expect(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0,
              "%s", hex);
}

/* For n = 0..299: the message is bytes i * 7 + n mod 256, fed in steps of 1..70 bytes. In Python:
 * sha256(b"".join(sha256(bytes((i * 7 + n) % 256 for i in range(n))).digest() for n in range(300)))
 */
static void check_every_length(void)
{
    for (size_t step = 1; step <= 70; step++) {
        unsigned char all[300][32], message[300], digest[32];
        char hex[65];
        for (size_t n = 0; n < 300; n++) {
            for (size_t i = 0; i < n; i++)
                message[i] = (unsigned char)(i * 7 + n);
            hash(message, n, step, all[n]);
        }
        hash(all, sizeof all, sizeof all, digest);
        hex_of(digest, hex);
        cr_expect(strcmp(hex, "d5238871a46ac4a1a75ac3fb19d645b0b3b9e5f35f5f720e2b240d605c6b694e") ==
                      0,
                  "step %zu: %s", step, hex);
    }
}

Test(sha256, every_length_in_every_step)
{
    check_every_length();
}

Test(sha256, every_length_by_plain_code)
{
    plain = true;
    check_every_length();
}

Test(sha256, an_empty_piece_may_have_no_address)
{
    struct embi_sha256 h;
    unsigned char digest[32], want[32];
    embi_sha256_init(&h);
    embi_sha256_update(&h, NULL, 0);
    embi_sha256_update(&h, "abc", 3);
    embi_sha256_update(&h, NULL, 0);
    embi_sha256_final(&h, digest);
    hash("abc", 3, 3, want);
    cr_expect(memcmp(digest, want, sizeof want) == 0);
}
