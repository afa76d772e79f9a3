/* tests/unit/test_io.c - lib/io, reading: files, FIFOs, memory, kinds of address.
 *
 * Expectations come from io.h and from what the C library wrote into the files.
 */
#include "io_fixture.h"

#include <errno.h>

TestSuite(reading, .init = enter_folder, .fini = leave_folder);

Test(reading, regular_file)
{
    char part[4] = "";
    const void *data, *again;
    put_file("f", "hello, table");
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert_eq(io->size, 12);
    cr_assert_eq(io->caps & EMBI_IO_CAN_MAP, EMBI_IO_CAN_MAP);
    cr_assert_eq(embi_io_pread(io, part, 3, 7, &err), EMB_OK);
    cr_assert_str_eq(part, "tab");
    cr_assert(content_is("hello, table"));
    cr_assert_eq(embi_io_map(io, &data, &err), EMB_OK);
    cr_assert_eq(embi_io_map(io, &again, &err), EMB_OK);
    cr_assert_eq(data, again);
    embi_io_close(io);
    embi_io_close(NULL);
}

Test(reading, outside_the_file)
{
    static const struct {
        size_t n;
        uint64_t off;
        const char *msg;
    } cases[] = {
        {4, 3, "expected 4 bytes at 3, the file ends at 6"},
        {1, 6, "expected 1 bytes at 6, the file ends at 6"},
        {0, 7, "expected 0 bytes at 7, the file ends at 6"},
        {SIZE_MAX, 1, "expected 18446744073709551615 bytes at 1, the file ends at 6"},
        {8, UINT64_MAX - 3, "expected 8 bytes at 18446744073709551612, the file ends at 6"},
    };
    char byte[8];
    put_file("f", "abcdef");
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_READ, &io, &err), EMB_OK);
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        cr_assert_eq(embi_io_pread(io, byte, cases[i].n, cases[i].off, &err), EMB_BAD_DATA);
        cr_assert_str_eq(err.msg, cases[i].msg);
    }
    cr_assert_eq(embi_io_pread(io, byte, 0, 6, &err), EMB_OK);
    embi_io_close(io);
}

Test(reading, missing_forbidden_and_directories)
{
    cr_assert_eq(embi_io_open(&env, "no/such", EMBI_IO_READ, &io, &err), EMB_IO);
    cr_assert_eq(err.sys, ENOENT);
    cr_assert_str_eq(err.msg, "No such file or directory");
    cr_assert_null(io);
    cr_assert_eq(embi_io_open(&env, ".", EMBI_IO_READ, &io, &err), EMB_UNSUPPORTED);
    cr_assert_str_eq(err.msg, "is a directory, not a table file");
    cr_assert_null(io);
    cr_assert_eq(embi_io_open(&env, "", EMBI_IO_READ, &io, &err), EMB_IO);
    cr_assert_eq(err.sys, ENOENT);
    put_file("f", "x");
    cr_assert_eq(chmod("f", 0), 0);
    if (geteuid() == 0) {
        cr_assert_eq(seteuid(65534), 0);
        cr_assert_eq(embi_io_open(&env, "/etc/shadow", EMBI_IO_READ, &io, &err), EMB_IO);
        cr_assert_eq(err.sys, EACCES);
        cr_assert_eq(seteuid(0), 0);
    } else {
        cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_READ, &io, &err), EMB_IO);
        cr_assert_eq(err.sys, EACCES);
    }
    cr_assert_str_eq(err.msg, "Permission denied");
}

Test(reading, empty_file)
{
    put_file("f", "");
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert_eq(io->size, 0);
    cr_assert(content_is(""));
    embi_io_close(io);
    cr_assert_eq(embi_io_open(&env, "/dev/null", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert(content_is(""));
    embi_io_close(io);
}

/* A file of /proc says that it has 0 bytes. */
Test(reading, file_without_a_size)
{
    char text[64] = "";
    cr_assert_eq(embi_io_open(&env, "/proc/self/comm", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert_gt(io->size, 1);
    cr_assert_leq(io->size, 16);
    cr_assert_eq(embi_io_pread(io, text, io->size, 0, &err), EMB_OK);
    cr_assert_eq(text[io->size - 1], '\n');
    embi_io_close(io);
}

Test(reading, file_that_became_shorter)
{
    static char big[100000];
    memset(big, 'x', sizeof big - 1);
    put_file("f", big);
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert_eq(truncate("f", 50000), 0);
    cr_assert_eq(embi_io_pread(io, big, 50000, 0, &err), EMB_OK);
    cr_assert_eq(embi_io_pread(io, big, 99999, 0, &err), EMB_IO);
    cr_assert_str_eq(err.msg, "the file became shorter while it was read");
    cr_assert_eq(err.at, 50000);
    embi_io_close(io);
}

Test(reading, fifo)
{
    struct feed feed = {.path = "fifo", .lines = 30000};
    pthread_t thread;
    char part[5] = "";
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    cr_assert_eq(pthread_create(&thread, NULL, feed_main, &feed), 0);
    cr_assert_eq(embi_io_open(&env, "fifo", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert(content_is_feed(30000));
    cr_assert_eq(embi_io_pread(io, part, 4, 11 * 29999 + 3, &err), EMB_OK);
    cr_assert_str_eq(part, "3456");
    cr_assert_eq(embi_io_pread(io, part, 4, 11 * 30000 - 3, &err), EMB_BAD_DATA);
    embi_io_close(io);
    pthread_join(thread, NULL);
}

Test(reading, unknown_kinds_of_address)
{
    static const struct {
        const char *url, *msg;
    } cases[] = {
        {"foo://x", "foo:// is not a kind of address this build reads"},
        {"hf://org/model", "hf:// is not a kind of address this build reads"},
        {"s3+v2.x-y://b/k", "s3+v2.x-y:// is not a kind of address this build reads"},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        cr_assert_eq(embi_io_open(&env, cases[i].url, EMBI_IO_READ, &io, &err), EMB_UNSUPPORTED);
        cr_assert_str_eq(err.msg, cases[i].msg);
        cr_assert_null(io);
    }
    cr_assert_eq(embi_io_open(&env, "https://h/t", EMBI_IO_WRITE, &io, &err), EMB_UNSUPPORTED);
    cr_assert_str_eq(err.msg, "an address is read, not written");
    cr_assert_eq(embi_io_open(&env, "HTTP://h/t", EMBI_IO_READ, &io, &err), EMB_DEVICE);
    cr_assert_eq(embi_io_open(&env, "s3://b/k", EMBI_IO_WRITE, &io, &err), EMB_UNSUPPORTED);
    cr_assert_str_eq(err.msg, "an address is read, not written");
    cr_assert_eq(embi_io_open(&env, "S3://b/k", EMBI_IO_READ, &io, &err), EMB_DEVICE);
    cr_assert_eq(embi_io_open(&env, "s3://b", EMBI_IO_READ, &io, &err), EMB_BAD_ARG);
    cr_assert_eq(embi_io_open(&env, "gs://b/k", EMBI_IO_WRITE, &io, &err), EMB_UNSUPPORTED);
    cr_assert_str_eq(err.msg, "gs:// is not a kind of address this build writes");
    /* Paths, all of them: */
    static const char *const paths[] = {"://x", "3s://x", "a/b://c", "a:/b", "a b://c"};
    for (size_t i = 0; i < EMBI_LEN(paths); i++) {
        cr_assert_eq(embi_io_open(&env, paths[i], EMBI_IO_READ, &io, &err), EMB_IO);
        cr_assert_eq(err.sys, ENOENT);
    }
}

Test(reading, memory)
{
    cr_assert_eq(embi_io_memory(&env, "abc\0def", 7, NULL, &io, &err), EMB_OK);
    char part[4] = "";
    const void *data;
    cr_assert_eq(io->size, 7);
    cr_assert_eq(embi_io_pread(io, part, 3, 4, &err), EMB_OK);
    cr_assert_str_eq(part, "def");
    cr_assert_eq(embi_io_pread(io, part, 1, 7, &err), EMB_BAD_DATA);
    cr_assert_eq(embi_io_map(io, &data, &err), EMB_OK);
    cr_assert_eq(memcmp(data, "abc\0def", 7), 0);
    embi_io_close(io);
    char *owned = strdup("owned");
    cr_assert_eq(embi_io_memory(&env, owned, 5, owned, &io, &err), EMB_OK);
    cr_assert(content_is("owned"));
    embi_io_close(io);
    cr_assert_eq(embi_io_memory(&env, NULL, 0, NULL, &io, &err), EMB_OK);
    cr_assert(content_is(""));
    embi_io_close(io);
}

/* A scheme that cannot map, as one over the network: the byte at i is i * 7. */
static int preads;

static emb_status formula_pread(struct embi_io *self, void *dst, size_t n, uint64_t off, emb_err *e)
{
    (void)self;
    (void)e;
    preads++;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)dst)[i] = (unsigned char)((off + i) * 7);
    return EMB_OK;
}

static void formula_close(struct embi_io *self)
{
    free(self);
}

Test(reading, scheme_without_map_is_read_whole_once)
{
    static const struct embi_scheme formula = {
        .name = "formula", .pread = formula_pread, .close = formula_close};
    const void *data, *again;
    io = calloc(1, sizeof *io);
    cr_assert_not_null(io);
    *io = (struct embi_io){.scheme = &formula, .env = &env, .size = 100};
    cr_assert_eq(embi_io_map(io, &data, &err), EMB_OK);
    cr_assert_eq(embi_io_map(io, &again, &err), EMB_OK);
    cr_assert_eq(data, again);
    cr_assert_eq(preads, 1);
    for (size_t i = 0; i < 100; i++)
        cr_assert_eq(((const unsigned char *)data)[i], (unsigned char)(7 * i));
    cr_assert_eq(embi_io_flush(io, &err), EMB_OK);
    embi_io_close(io);
}
