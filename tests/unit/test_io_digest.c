/* test_io_digest.c - emb_sha256_file: digests that Python's hashlib made, and what is refused.
 */
#include "io_fixture.h"

#include <errno.h>

static char hex[EMB_SHA256_HEX];
static uint64_t bytes;

TestSuite(digest, .init = enter_folder, .fini = leave_folder);

Test(digest, of_small_files)
{
    put_file("empty", "");
    put_file("abc", "abc");
    cr_assert_eq(emb_sha256_file("empty", &bytes, hex, &err), EMB_OK);
    cr_expect_eq(bytes, 0);
    cr_expect_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    cr_assert_eq(emb_sha256_file("abc", &bytes, hex, &err), EMB_OK);
    cr_expect_eq(bytes, 3);
    cr_expect_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* hashlib.sha256(bytes(i * 7 % 256 for i in range(1000003))): read in several pieces. */
Test(digest, of_a_large_file)
{
    FILE *f = fopen("large", "w");
    cr_assert_not_null(f);
    for (int i = 0; i < 1000003; i++)
        fputc(i * 7 % 256, f);
    cr_assert_eq(fclose(f), 0);
    cr_assert_eq(emb_sha256_file("large", &bytes, hex, &err), EMB_OK);
    cr_expect_eq(bytes, 1000003);
    cr_expect_str_eq(hex, "c4a4283055231619b3d05f4a9a7a5c2c8f769e70d5d1ec88510bdaea2b2f9728");
}

Test(digest, of_no_regular_file)
{
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    cr_expect_eq(emb_sha256_file("fifo", &bytes, hex, &err), EMB_UNSUPPORTED);
    cr_expect_eq(emb_sha256_file(".", &bytes, hex, &err), EMB_UNSUPPORTED);
    cr_expect_eq(emb_sha256_file("/dev/null", &bytes, hex, &err), EMB_UNSUPPORTED);
    cr_expect_eq(emb_sha256_file("missing", &bytes, hex, &err), EMB_IO);
    cr_expect_eq(err.sys, ENOENT);
}
