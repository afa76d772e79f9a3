/* tests/unit/test_io_write.c - lib/io, writing: a file appears whole or not at all, or is written
 * through.
 *
 * What is there afterwards is looked at with the C library; the rules are those of io.h and of
 * docs/design.md ("Output").
 */
#include "io_fixture.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>

TestSuite(writing, .init = enter_folder, .fini = leave_folder);

Test(writing, new_file_follows_umask)
{
    cr_assert_eq(write_text("a", 0, "first"), EMB_OK);
    cr_assert(text_is("a", "first"));
    cr_assert_eq(mode_of("a"), 0644);
    umask(077);
    cr_assert_eq(write_text("b", EMBI_IO_SYNC, ""), EMB_OK);
    cr_assert(text_is("b", ""));
    cr_assert_eq(mode_of("b"), 0600);
    umask(0);
    cr_assert_eq(write_text("c", EMBI_IO_FORCE | EMBI_IO_NO_SYNC, "third"), EMB_OK);
    cr_assert(text_is("c", "third"));
    cr_assert_eq(mode_of("c"), 0666);
    cr_assert_eq(entries("."), 3);
}

Test(writing, existing_file_needs_force_and_keeps_its_mode)
{
    static const unsigned syncs[] = {0, EMBI_IO_SYNC, EMBI_IO_NO_SYNC};
    for (size_t i = 0; i < EMBI_LEN(syncs); i++) {
        put_file("f", "old");
        cr_assert_eq(chmod("f", 0640), 0);
        cr_assert_eq(write_text("f", syncs[i], "new"), EMB_EXISTS);
        cr_assert_str_eq(err.msg, "exists; --force overwrites it");
        cr_assert(text_is("f", "old"));
        cr_assert_eq(write_text("f", syncs[i] | EMBI_IO_FORCE, "new content"), EMB_OK);
        cr_assert(text_is("f", "new content"));
        cr_assert_eq(mode_of("f"), 0640);
    }
    cr_assert_eq(chmod("f", 0444), 0); /* also one that may not be written to */
    cr_assert_eq(write_text("f", EMBI_IO_FORCE, "newest"), EMB_OK);
    cr_assert(text_is("f", "newest"));
    cr_assert_eq(mode_of("f"), 0444);
    cr_assert_eq(entries("."), 1);
}

/* Root replaces what is another user's: it stays theirs. Members of a group keep the group. */
Test(writing, existing_file_keeps_its_owner)
{
    struct stat st;
    gid_t group = 34;
    if (geteuid() != 0)
        cr_skip("only root gives files away");
    put_file("f", "old");
    if (chown("f", 12, 34) != 0 || setgroups(1, &group) != 0)
        cr_skip("users 12 and 34 are unknown here");
    cr_assert_eq(chmod("f", 02750), 0);
    cr_assert_eq(write_text("f", EMBI_IO_FORCE, "new"), EMB_OK);
    cr_assert_eq(stat("f", &st), 0);
    cr_assert(st.st_uid == 12 && st.st_gid == 34);
    cr_assert_eq(mode_of("f"), 02750);
    cr_assert_eq(chmod(".", 0777), 0);
    cr_assert_eq(seteuid(56), 0);
    cr_assert_eq(write_text("f", EMBI_IO_FORCE, "newer"), EMB_OK, "%s", err.msg);
    cr_assert_eq(stat("f", &st), 0);
    cr_assert(st.st_uid == 56 && st.st_gid == 34);
    cr_assert_eq(seteuid(0), 0);
}

/* A reader that has the old file open, or mapped, keeps all of it. */
Test(writing, old_file_is_replaced_not_overwritten)
{
    put_file("f", "old content");
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_READ, &io, &err), EMB_OK);
    struct embi_io *old = io;
    cr_assert_eq(write_text("f", EMBI_IO_FORCE, "new"), EMB_OK);
    io = old;
    cr_assert(content_is("old content"));
    embi_io_close(io);
}

Test(writing, links_are_followed_and_stay)
{
    struct stat st;
    cr_assert_eq(mkdir("d", 0755), 0);
    put_file("d/target", "old");
    cr_assert_eq(symlink("target", "d/second"), 0); /* relative to d, not to here */
    cr_assert_eq(symlink("d/second", "first"), 0);
    cr_assert_eq(write_text("first", 0, "new"), EMB_EXISTS);
    cr_assert_eq(write_text("first", EMBI_IO_FORCE, "new"), EMB_OK);
    cr_assert(text_is("d/target", "new"));
    cr_assert(lstat("first", &st) == 0 && S_ISLNK(st.st_mode));
    cr_assert(lstat("d/second", &st) == 0 && S_ISLNK(st.st_mode));
    /* A link to what is not there yet: the file comes to be where it points. */
    cr_assert_eq(symlink("d/later", "third"), 0);
    cr_assert_eq(write_text("third", 0, "made"), EMB_OK);
    cr_assert(text_is("d/later", "made"));
    char absolute[100];
    snprintf(absolute, sizeof absolute, "%s/d/fourth", folder);
    cr_assert_eq(symlink(absolute, "d/fifth"), 0);
    cr_assert_eq(write_text("d/fifth", 0, "also"), EMB_OK);
    cr_assert(text_is("d/fourth", "also"));
    cr_assert_eq(symlink("loop", "loop"), 0);
    cr_assert_eq(write_text("loop", EMBI_IO_FORCE, "x"), EMB_IO);
    cr_assert_eq(err.sys, ELOOP);
    cr_assert_eq(entries("."), 4);
    cr_assert_eq(entries("d"), 5);
}

Test(writing, places_where_no_file_can_be)
{
    cr_assert_eq(mkdir("d", 0755), 0);
    put_file("f", "x");
    cr_assert_eq(write_text("d", EMBI_IO_FORCE, "x"), EMB_IO);
    cr_assert_str_eq(err.msg, "is a directory");
    cr_assert_eq(err.sys, EISDIR);
    cr_assert_eq(write_text("no/such", 0, "x"), EMB_IO);
    cr_assert_str_eq(err.msg, "No such file or directory");
    cr_assert_eq(write_text("f/x", 0, "x"), EMB_IO);
    cr_assert_str_eq(err.msg, "Not a directory");
    cr_assert_eq(write_text("new/", 0, "x"), EMB_IO);
    cr_assert_eq(err.sys, ENOENT);
    cr_assert_eq(write_text("", 0, "x"), EMB_IO);
    cr_assert_eq(err.sys, ENOENT);
    char name[300];
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    cr_assert_eq(write_text(name, 0, "x"), EMB_IO);
    cr_assert_eq(err.sys, ENAMETOOLONG);
    name[255] = '\0'; /* the longest that is allowed, first new, then replaced */
    cr_assert_eq(write_text(name, 0, "x"), EMB_OK);
    cr_assert_eq(write_text(name, EMBI_IO_FORCE, "y"), EMB_OK);
    cr_assert(text_is(name, "y"));
    cr_assert_eq(entries("."), 3);
    cr_assert_eq(entries("d"), 0);
}

Test(writing, close_without_commit_leaves_nothing)
{
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(append("some", 4), EMB_OK);
    embi_io_close(io);
    cr_assert_eq(entries("."), 0);
    put_file("f", "old");
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_WRITE | EMBI_IO_FORCE, &io, &err), EMB_OK);
    cr_assert_eq(append("some", 4), EMB_OK);
    cr_assert_eq(embi_io_flush(io, &err), EMB_OK);
    embi_io_close(io);
    cr_assert(text_is("f", "old"));
    cr_assert_eq(entries("."), 1);
}

/* The name was free at open and is taken at commit. */
Test(writing, name_that_is_taken_meanwhile)
{
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(append("mine", 4), EMB_OK);
    put_file("f", "theirs");
    cr_assert_eq(io->scheme->commit(io, &err), EMB_EXISTS);
    cr_assert_str_eq(err.msg, "exists; --force overwrites it");
    embi_io_close(io);
    cr_assert(text_is("f", "theirs"));
    cr_assert_eq(entries("."), 1);

    cr_assert_eq(unlink("f"), 0);
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_WRITE | EMBI_IO_FORCE, &io, &err), EMB_OK);
    cr_assert_eq(append("mine", 4), EMB_OK);
    cr_assert_eq(mkdir("f", 0755), 0);
    cr_assert_eq(io->scheme->commit(io, &err), EMB_IO);
    cr_assert_eq(err.sys, EISDIR);
    embi_io_close(io);
    cr_assert_eq(entries("."), 1);
    cr_assert_eq(entries("f"), 0);
}

/* The working directory changes between open and commit: the file is where it was asked for. */
Test(writing, directory_is_held)
{
    cr_assert_eq(mkdir("d", 0755), 0);
    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(append("here", 4), EMB_OK);
    cr_assert_eq(chdir("d"), 0);
    cr_assert_eq(io->scheme->commit(io, &err), EMB_OK);
    embi_io_close(io);
    cr_assert(text_is("../f", "here"));
    cr_assert_eq(entries("."), 0);
}

/* Pieces of every size around the buffer's, patched here and there, against the same in memory. */
Test(writing, append_and_patch)
{
    static const size_t pieces[] = {1,     0,     65535, 1,      65536, 3,     65537, 40000, 40000,
                                    40000, 65533, 7,     200000, 10,    65526, 65526, 1};
    size_t total = 0, n = 0;
    for (size_t i = 0; i < EMBI_LEN(pieces); i++)
        total += pieces[i];
    unsigned char *source = malloc(total), *expect = malloc(total);
    cr_assert(source && expect);
    for (size_t i = 0; i < total; i++)
        source[i] = expect[i] = (unsigned char)(i * 31 + i / 251);

    cr_assert_eq(embi_io_open(&env, "f", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(io->caps & EMBI_IO_CAN_PATCH, EMBI_IO_CAN_PATCH);
    for (size_t i = 0; i < EMBI_LEN(pieces); i++) {
        cr_assert_eq(append(source + n, pieces[i]), EMB_OK);
        n += pieces[i];
        cr_assert_eq(io->size, n);
        if (i % 3 != 0)
            continue;
        size_t at = n * i / EMBI_LEN(pieces), length = embi_min(5, n - at);
        memcpy(expect + at, "PATCH", length);
        cr_assert_eq(io->scheme->patch(io, "PATCH", length, at, &err), EMB_OK);
    }
    cr_assert_eq(io->scheme->patch(io, "xx", 2, total - 1, &err), EMB_BUG);
    cr_assert_eq(io->scheme->patch(io, "xx", 2, UINT64_MAX, &err), EMB_BUG);
    cr_assert_eq(io->scheme->commit(io, &err), EMB_OK);
    cr_assert_eq(io->caps & EMBI_IO_CAN_PATCH, 0);
    embi_io_close(io);
    cr_assert(file_is("f", expect, total));
    free(source);
    free(expect);
}

/* A disk that is full, played by a limit on the size of files. The first failure sticks. */
Test(writing, failed_write_leaves_no_file)
{
    static char block[100000];
    struct rlimit limit = {150000, 150000};
    signal(SIGXFSZ, SIG_IGN);
    put_file("old", "old");
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    static const char *const names[] = {"new", "old"};
    for (size_t i = 0; i < EMBI_LEN(names); i++) {
        unsigned mode = EMBI_IO_WRITE | EMBI_IO_FORCE;
        cr_assert_eq(embi_io_open(&env, names[i], mode, &io, &err), EMB_OK);
        cr_assert_eq(append(block, sizeof block), EMB_OK);
        cr_assert_eq(append(block, sizeof block), EMB_IO);
        cr_assert_eq(err.sys, EFBIG);
        cr_assert_str_eq(err.msg, "File too large");
        cr_assert_eq(append("x", 1), EMB_IO);
        cr_assert_eq(embi_io_flush(io, &err), EMB_IO);
        cr_assert_eq(io->scheme->patch(io, "x", 1, 0, &err), EMB_IO);
        cr_assert_eq(io->scheme->commit(io, &err), EMB_IO);
        cr_assert_eq(err.sys, EFBIG);
        embi_io_close(io);
    }
    /* What is only gathered fails in commit. */
    limit.rlim_cur = 10;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(write_text("new", 0, "more than ten bytes"), EMB_IO);
    cr_assert_eq(err.sys, EFBIG);
    cr_assert(text_is("old", "old"));
    cr_assert_eq(entries("."), 1);
}

Test(writing, device_that_is_full)
{
    static char block[100000];
    cr_assert_eq(write_text("/dev/full", 0, "x"), EMB_IO);
    cr_assert_eq(err.sys, ENOSPC);
    cr_assert_str_eq(err.msg, "No space left on device");
    cr_assert_eq(embi_io_open(&env, "/dev/full", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(append(block, sizeof block), EMB_IO);
    cr_assert_eq(err.sys, ENOSPC);
    embi_io_close(io);
    cr_assert_eq(write_text("/dev/null", 0, "x"), EMB_OK); /* is there, and needs no force */
    cr_assert_eq(write_text("/dev/null", 0, ""), EMB_OK);
}

static void *read_main(void *arg)
{
    size_t *total = arg;
    char part[5000];
    int fd = open("fifo", O_RDONLY);
    for (ssize_t got; (got = read(fd, part, sizeof part)) > 0;)
        *total += (size_t)got;
    close(fd);
    return NULL;
}

Test(writing, fifo_is_written_through)
{
    static char block[300000];
    size_t total = 0;
    pthread_t thread;
    struct stat st;
    cr_assert_eq(mkfifo("fifo", 0600), 0);
    cr_assert_eq(pthread_create(&thread, NULL, read_main, &total), 0);
    cr_assert_eq(embi_io_open(&env, "fifo", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(io->caps & EMBI_IO_CAN_PATCH, 0);
    cr_assert_null(io->scheme->patch);
    cr_assert_eq(append("abc", 3), EMB_OK);
    cr_assert_eq(append(block, sizeof block), EMB_OK);
    cr_assert_eq(append("de", 2), EMB_OK);
    cr_assert_eq(io->scheme->commit(io, &err), EMB_OK);
    embi_io_close(io);
    pthread_join(thread, NULL);
    cr_assert_eq(total, sizeof block + 5);
    cr_assert(stat("fifo", &st) == 0 && S_ISFIFO(st.st_mode));
    cr_assert_eq(entries("."), 1);
}
