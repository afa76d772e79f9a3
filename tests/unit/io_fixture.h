/* tests/unit/io_fixture.h - what the tests of lib/io share: an empty directory for each test, and
 * ways to look at files that do not go through lib/io.
 *
 * Each test is a process of its own, so it may change its working directory, umask and descriptors.
 */
#ifndef IO_FIXTURE_H
#define IO_FIXTURE_H

#include <criterion/criterion.h>

#include "io/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static char folder[] = "/tmp/embtool-io-XXXXXX";
static const struct embi_env env;
static struct embi_io *io;
static emb_err err;

static inline void enter_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    umask(022);
}

static inline void leave_folder(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(system(command), 0);
}

static inline void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    cr_assert_eq(fclose(f), 0);
}

/* Does the file hold exactly these n bytes? */
static inline bool file_is(const char *path, const void *bytes, size_t n)
{
    char *found = malloc(n + 1);
    FILE *f = fopen(path, "r");
    bool same = f && fread(found, 1, n + 1, f) == n && memcmp(found, bytes, n) == 0;
    if (f)
        fclose(f);
    free(found);
    return same;
}

static inline bool text_is(const char *path, const char *text)
{
    return file_is(path, text, strlen(text));
}

static inline unsigned mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mode & 07777 : ~0u;
}

static inline int entries(const char *path)
{
    int n = -2; /* . and .. */
    DIR *dir = opendir(path);
    cr_assert_not_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static inline emb_status append(const void *data, size_t n)
{
    return io->scheme->append(io, data, n, &err);
}

/* Opens path, writes text, commits, closes; the first status that is not EMB_OK. */
static inline emb_status write_text(const char *path, unsigned flags, const char *text)
{
    emb_status status = embi_io_open(&env, path, EMBI_IO_WRITE | flags, &io, &err);
    if (status != EMB_OK) {
        cr_assert_null(io);
        return status;
    }
    status = append(text, strlen(text));
    if (status == EMB_OK)
        status = io->scheme->commit(io, &err);
    embi_io_close(io);
    return status;
}

static inline bool content_is(const char *text)
{
    const void *data = NULL;
    size_t n = strlen(text);
    char *copy = malloc(n + 1);
    bool same = io->size == n && embi_io_map(io, &data, &err) == EMB_OK && data &&
                memcmp(data, text, n) == 0 && embi_io_pread(io, copy, n, 0, &err) == EMB_OK &&
                memcmp(copy, text, n) == 0;
    free(copy);
    return same;
}

/* What a writer thread puts into a pipe: `lines` times "0123456789\n", in uneven pieces. */
struct feed {
    int fd, lines;
    const char *path;
};

static inline void *feed_main(void *arg)
{
    struct feed *feed = arg;
    int fd = feed->path ? open(feed->path, O_WRONLY) : feed->fd;
    for (int i = 0; i < feed->lines; i++) {
        if (write(fd, "0123", 4) != 4 || write(fd, "456789\n", 7) != 7)
            break;
        if (i % 1000 == 0)
            usleep(100);
    }
    close(fd);
    return NULL;
}

static inline bool content_is_feed(int lines)
{
    const void *data;
    bool same = io->size == 11 * (uint64_t)lines && embi_io_map(io, &data, &err) == EMB_OK;
    for (int i = 0; same && i < lines; i++)
        same = memcmp((const char *)data + 11 * i, "0123456789\n", 11) == 0;
    return same;
}

static volatile sig_atomic_t alarms;

static inline void count_alarm(int signal_number)
{
    (void)signal_number;
    alarms++;
}

/* From now on this thread's system calls are interrupted every millisecond. */
static inline void interrupt_calls(void)
{
    struct sigaction action = {.sa_handler = count_alarm}; /* no SA_RESTART */
    struct itimerval each_ms = {{0, 1000}, {0, 1000}};
    cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
    cr_assert_eq(setitimer(ITIMER_REAL, &each_ms, NULL), 0);
}

/* Starts a thread that gets no SIGALRM. */
static inline pthread_t start_quiet(void *(*run)(void *), void *arg)
{
    sigset_t alarm, before;
    pthread_t thread;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &before);
    cr_assert_eq(pthread_create(&thread, NULL, run, arg), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return thread;
}

#endif
