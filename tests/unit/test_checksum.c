/* test_checksum.c - util/sha1 against the examples of FIPS 180 (NIST's SHA1.pdf, and the long message) and, for every length
 * around the block borders, a digest of digests that Python's hashlib made; io/checksum against names that git gives. */
#include "io_fixture.h"

#include "io/checksum.h"

static void hex_of(const unsigned char digest[20], char hex[41])
{
    for (int i = 0; i < 20; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void hash(const void *data, size_t n, size_t step, unsigned char digest[20])
{
    struct embi_sha1 h;
    embi_sha1_init(&h);
    for (size_t at = 0; at < n; at += step)
        embi_sha1_update(&h, (const char *)data + at, n - at < step ? n - at : step);
    embi_sha1_final(&h, digest);
}

Test(sha1, examples_of_the_standard)
{
    static const struct {
        const char *text, *hex;
    } known[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
    };
    for (size_t i = 0; i < EMBI_LEN(known); i++) {
        unsigned char digest[20];
        char hex[41];
        hash(known[i].text, strlen(known[i].text), 1000, digest);
        hex_of(digest, hex);
        cr_expect_str_eq(hex, known[i].hex, "%s", known[i].text);
    }
}

Test(sha1, a_million_times_a)
{
    static char text[1000000];
    unsigned char digest[20];
    char hex[41];
    memset(text, 'a', sizeof text);
    hash(text, sizeof text, 4099, digest);
    hex_of(digest, hex);
    cr_expect_str_eq(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

/* sha1(b"".join(sha1(bytes((i * 7 + n) % 256 for i in range(n))).digest() for n in range(300))) */
Test(sha1, every_length_in_every_step)
{
    for (size_t step = 1; step <= 70; step++) {
        unsigned char all[300][20], message[300], digest[20];
        char hex[41];
        for (size_t n = 0; n < 300; n++) {
            for (size_t i = 0; i < n; i++)
                message[i] = (unsigned char)(i * 7 + n);
            hash(message, n, step, all[n]);
        }
        hash(all, sizeof all, sizeof all, digest);
        hex_of(digest, hex);
        cr_expect_str_eq(hex, "dfc942b5ddc5fe6421ccada9be50fa42e873926c", "step %zu", step);
    }
}

/* git hash-object, sha256sum */
Test(checksum, of_files, .init = enter_folder, .fini = leave_folder)
{
    static const struct {
        const char *text, *git, *sha256;
    } known[] = {
        {"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a",
         "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"},
    };
    for (size_t i = 0; i < EMBI_LEN(known); i++) {
        char hex[EMBI_CHECKSUM_MAX];
        put_file("f", known[i].text);
        int fd = open("f", O_RDONLY);
        uint64_t n = strlen(known[i].text);
        cr_assert_eq(embi_checksum_file(fd, true, n, hex, &err), EMB_OK);
        cr_expect_str_eq(hex, known[i].git);
        cr_assert_eq(embi_checksum_file(fd, false, n, hex, &err), EMB_OK);
        cr_expect_str_eq(hex, known[i].sha256);
        cr_expect_eq(embi_checksum_file(fd, false, n + 1, hex, &err), EMB_IO);
        close(fd);
        cr_expect(embi_checksum_is(known[i].git) && embi_checksum_is(known[i].sha256));
    }
    cr_expect_not(embi_checksum_is("") ||
                  embi_checksum_is("e69de29bb2d1d6434b8b29ae775ad8c2e48c539") ||
                  embi_checksum_is("E69de29bb2d1d6434b8b29ae775ad8c2e48c5391"));
}
