/* tests/unit/test_io_stdio.c - lib/io, the address "-" and the names of standard output.
 *
 * Descriptors 0 and 1 of the test's own process are exchanged for files, pipes and sockets.
 */
#include "io_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

TestSuite(stdio, .init = enter_folder, .fini = leave_folder);

static void redirect(int fd, const char *path, int flags)
{
    int to = open(path, flags, 0644);
    cr_assert_geq(to, 0);
    cr_assert_eq(dup2(to, fd), fd);
    close(to);
}

Test(stdio, input_from_a_file)
{
    char c;
    put_file("f", "abcdef");
    redirect(0, "f", O_RDONLY);
    cr_assert_eq(embi_io_open(&env, "-", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert(content_is("abcdef"));
    embi_io_close(io);
    cr_assert_eq(read(0, &c, 1), 1); /* still open */
    cr_assert_eq(embi_io_open(&env, "-", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert(content_is("bcdef")); /* what is left of it */
    embi_io_close(io);
}

Test(stdio, input_from_a_pipe)
{
    int ends[2];
    pthread_t thread;
    cr_assert_eq(pipe(ends), 0);
    struct feed feed = {.fd = ends[1], .lines = 20000};
    cr_assert_eq(dup2(ends[0], 0), 0);
    cr_assert_eq(fcntl(0, F_SETFL, O_NONBLOCK), 0); /* as a parent may have left it */
    cr_assert_eq(pthread_create(&thread, NULL, feed_main, &feed), 0);
    cr_assert_eq(embi_io_open(&env, "-", EMBI_IO_READ, &io, &err), EMB_OK);
    cr_assert(content_is_feed(20000));
    embi_io_close(io);
    pthread_join(thread, NULL);
}

static void *feed_slowly(void *arg)
{
    usleep(20000); /* the reader waits, and is interrupted meanwhile */
    return feed_main(arg);
}

Test(stdio, input_goes_on_after_signals)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[0], 0), 0);
    struct feed feed = {.fd = ends[1], .lines = 5000};
    pthread_t thread = start_quiet(feed_slowly, &feed);
    interrupt_calls();
    cr_assert_eq(embi_io_open(&env, "-", EMBI_IO_READ, &io, &err), EMB_OK, "%s", err.msg);
    cr_assert(content_is_feed(5000));
    cr_assert_gt(alarms, 5);
    embi_io_close(io);
    pthread_join(thread, NULL);
}

Test(stdio, input_that_cannot_be_read)
{
    redirect(0, ".", O_RDONLY);
    cr_assert_eq(embi_io_open(&env, "-", EMBI_IO_READ, &io, &err), EMB_UNSUPPORTED);
    cr_assert_str_eq(err.msg, "is a directory, not a table file");
    close(0);
    cr_assert_eq(embi_io_open(&env, "-", EMBI_IO_READ, &io, &err), EMB_IO);
    cr_assert_eq(err.sys, EBADF);
    cr_assert_str_eq(err.msg, "standard input: Bad file descriptor");
}

Test(stdio, output_to_a_file_is_appended_where_it_stands)
{
    redirect(1, "f", O_WRONLY | O_CREAT);
    cr_assert_eq(write(1, "head ", 5), 5);
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; i < EMBI_LEN(names); i++) {
        cr_assert_eq(embi_io_open(&env, names[i], EMBI_IO_WRITE, &io, &err), EMB_OK, "%s",
                     names[i]);
        cr_assert_eq(io->caps & EMBI_IO_CAN_PATCH, 0);
        cr_assert_eq(append("body ", 5), EMB_OK);
        cr_assert_eq(io->scheme->commit(io, &err), EMB_OK);
        embi_io_close(io);
    }
    cr_assert_eq(write(1, "tail", 4), 4);
    cr_assert(text_is("f", "head body body body body tail"));
    cr_assert_eq(write_text("/dev/fd/", 0, "x"), EMB_IO);
    cr_assert_eq(write_text("/dev/fd/1x", 0, "x"), EMB_IO);
    cr_assert_eq(write_text("/dev/fd/999999999999", 0, "x"), EMB_IO);
}

Test(stdio, output_reaches_a_pipe_when_flushed)
{
    int ends[2];
    char part[10] = "";
    cr_assert_eq(pipe2(ends, O_NONBLOCK), 0);
    cr_assert_eq(dup2(ends[1], 1), 1);
    cr_assert_eq(embi_io_open(&env, "-", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(append("row", 3), EMB_OK);
    cr_assert_eq(read(ends[0], part, sizeof part), -1);
    cr_assert_eq(errno, EAGAIN);
    cr_assert_eq(embi_io_flush(io, &err), EMB_OK);
    cr_assert_eq(read(ends[0], part, sizeof part), 3);
    cr_assert_str_eq(part, "row");
    cr_assert_eq(append("gone", 4), EMB_OK); /* not flushed, not committed: never leaves */
    embi_io_close(io);
    cr_assert_eq(read(ends[0], part, sizeof part), -1);
}

static void *drain_main(void *arg)
{
    int *fd = arg;
    static char part[4096];
    uint64_t total = 0;
    usleep(20000);
    for (ssize_t got; (got = read(*fd, part, sizeof part)) != 0;)
        total += got > 0 ? (uint64_t)got : 0;
    return (void *)(uintptr_t)total;
}

/* A million bytes into a pipe of 64 KiB whose reader comes late; flags are the descriptor's. */
static void write_to_a_slow_reader(int flags)
{
    static char block[1000000];
    int ends[2];
    void *total;
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(fcntl(ends[1], F_SETFL, flags), 0);
    cr_assert_eq(dup2(ends[1], 1), 1);
    close(ends[1]);
    pthread_t thread = start_quiet(drain_main, &ends[0]);
    interrupt_calls();
    cr_assert_eq(embi_io_open(&env, "-", EMBI_IO_WRITE, &io, &err), EMB_OK);
    cr_assert_eq(append(block, sizeof block), EMB_OK, "%s", err.msg);
    cr_assert_eq(io->scheme->commit(io, &err), EMB_OK);
    embi_io_close(io);
    cr_assert_gt(alarms, 5);
    close(1);
    pthread_join(thread, &total);
    cr_assert_eq((uintptr_t)total, sizeof block);
}

Test(stdio, output_goes_on_after_signals)
{
    write_to_a_slow_reader(0);
}

Test(stdio, output_that_would_block_is_waited_for)
{
    write_to_a_slow_reader(O_NONBLOCK);
}

Test(stdio, output_without_a_reader)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[1], 1), 1);
    close(ends[0]);
    close(ends[1]);
    cr_assert_eq(write_text("-", 0, "x"), EMB_IO);
    cr_assert_eq(err.sys, EPIPE);
    cr_assert_str_eq(err.msg, "Broken pipe");
    redirect(1, "/dev/full", O_WRONLY);
    cr_assert_eq(write_text("-", 0, "x"), EMB_IO);
    cr_assert_eq(err.sys, ENOSPC);
    close(1);
    cr_assert_eq(write_text("-", 0, "x"), EMB_IO);
    cr_assert_str_eq(err.msg, "standard output: Bad file descriptor");
}

/* A socket cannot be opened by a name, only used by its descriptor. */
Test(stdio, output_to_a_socket_by_name)
{
    int ends[2];
    char part[8] = "";
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    cr_assert_eq(dup2(ends[1], 1), 1);
    cr_assert_eq(write_text("/dev/stdout", 0, "through"), EMB_OK);
    cr_assert_eq(read(ends[0], part, 7), 7);
    cr_assert_str_eq(part, "through");
}
