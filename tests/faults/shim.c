/* shim.c - see shim.h.
 *
 * ld turns each call of f in the library and the program into __wrap_f, and __real_f is the true one
 * (ld(1), --wrap). What the C library calls inside itself is not seen. A close that fails has closed
 * all the same, as in Linux.
 */
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAULTS_MAX = 4, SHORT = -1 };

struct fault {
    char call[16];
    unsigned long n; /* counted from 1 */
    bool on;         /* all behind it too */
    int how;         /* errno or SHORT */
    atomic_ulong seen;
};

static struct fault faults[FAULTS_MAX];
static int fault_count;
static atomic_ulong hits;
static atomic_long held;

static const struct {
    const char *name;
    int how;
} hows[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR},
    {"EAGAIN", EAGAIN}, {"ENOMEM", ENOMEM}, {"EACCES", EACCES}, {"EOPNOTSUPP", EOPNOTSUPP},
    {"EINVAL", EINVAL}, {"ENOSYS", ENOSYS}, {"EMFILE", EMFILE}, {"short", SHORT},
};

ssize_t __real_write(int fd, const void *data, size_t n);
int __real_open(const char *path, int flags, ...);
int __real_close(int fd);

static void note_hit(const char *call)
{
    const char *path = getenv("EMBTOOL_FAULT_LOG");
    char line[32];
    atomic_fetch_add(&hits, 1);
    int fd = path ? __real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    int n = snprintf(line, sizeof line, "%s\n", call);
    if (__real_write(fd, line, (size_t)n) != n)
        abort();
    __real_close(fd);
}

/* How this call fails: an errno, SHORT, or 0: it does not. */
static int fate(const char *call)
{
    for (int i = 0; i < fault_count; i++) {
        struct fault *f = &faults[i];
        if (strcmp(f->call, call) != 0)
            continue;
        unsigned long n = atomic_fetch_add(&f->seen, 1) + 1;
        if (n != f->n && !(f->on && n > f->n))
            continue;
        note_hit(call);
        errno = f->how == SHORT ? errno : f->how;
        return f->how;
    }
    return 0;
}

static bool read_how(const char *name, int *how)
{
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        *how = hows[i].how;
        if (strcmp(hows[i].name, name) == 0)
            return true;
    }
    return false;
}

/* One CALL:N[+]:HOW, ended by NUL. */
static bool read_fault(char *text, struct fault *f)
{
    char *first = strchr(text, ':'), *second = first ? strchr(first + 1, ':') : NULL, *end;
    if (!second || (size_t)(first - text) >= sizeof f->call)
        return false;
    memset(f->call, 0, sizeof f->call);
    memcpy(f->call, text, (size_t)(first - text));
    f->n = strtoul(first + 1, &end, 10);
    f->on = *end == '+';
    atomic_store(&f->seen, 0);
    return f->n > 0 && end + f->on == second && read_how(second + 1, &f->how);
}

bool shim_plan(const char *plan)
{
    char text[256];
    bool good = strlen(plan) < sizeof text;
    fault_count = 0;
    atomic_store(&hits, 0);
    snprintf(text, sizeof text, "%s", plan);
    for (char *at = text, *comma; good && *at; at = comma + 1) {
        comma = at + strcspn(at, ",");
        bool last = *comma == '\0';
        *comma = '\0';
        good = fault_count < FAULTS_MAX && read_fault(at, &faults[fault_count]);
        fault_count += good;
        if (last)
            break;
    }
    return good;
}

unsigned long shim_hits(void)
{
    return atomic_load(&hits);
}

long shim_held(void)
{
    return atomic_load(&held);
}

__attribute__((constructor)) static void take_plan(void)
{
    const char *plan = getenv("EMBTOOL_FAULT");
    if (plan && !shim_plan(plan)) {
        fprintf(stderr, "shim: EMBTOOL_FAULT=%s is no plan\n", plan);
        exit(99);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Memory and mappings. All of these return NULL where there is none.
 */
static void *count_held(void *p)
{
    if (p)
        atomic_fetch_add(&held, 1);
    return p;
}

#define TAKES(name, params, args)                                     \
    void *__real_##name params;                                       \
    void *__wrap_##name params;                                       \
    void *__wrap_##name params                                        \
    {                                                                 \
        return fate("alloc") ? NULL : count_held(__real_##name args); \
    }

TAKES(malloc, (size_t n), (n))
TAKES(calloc, (size_t n, size_t each), (n, each))
TAKES(aligned_alloc, (size_t align, size_t n), (align, n))
TAKES(strdup, (const char *s), (s))
TAKES(strndup, (const char *s, size_t n), (s, n))

char *__real_realpath(const char *path, char *to);
char *__wrap_realpath(const char *path, char *to);
char *__wrap_realpath(const char *path, char *to)
{
    if (fate("alloc"))
        return NULL;
    return to ? __real_realpath(path, to) : count_held(__real_realpath(path, NULL));
}

void *__real_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n)
{
    if (fate("alloc"))
        return NULL;
    return old ? __real_realloc(old, n) : count_held(__real_realloc(NULL, n));
}

int __real_vasprintf(char **s, const char *format, va_list args);
int __wrap_vasprintf(char **s, const char *format, va_list args);
int __wrap_vasprintf(char **s, const char *format, va_list args)
{
    int n = fate("alloc") ? -1 : __real_vasprintf(s, format, args);
    if (n >= 0)
        count_held(*s);
    return n;
}

int __wrap_asprintf(char **s, const char *format, ...);
int __wrap_asprintf(char **s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = __wrap_vasprintf(s, format, args);
    va_end(args);
    return n;
}

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p)
{
    if (p)
        atomic_fetch_sub(&held, 1);
    __real_free(p);
}

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
    void *p = fate("mmap") ? MAP_FAILED : __real_mmap(at, n, prot, flags, fd, off);
    if (p != MAP_FAILED)
        atomic_fetch_add(&held, 1);
    return p;
}

int __real_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n)
{
    atomic_fetch_sub(&held, 1);
    return __real_munmap(at, n);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg)
{
    int sys = fate("pthread_create");
    return sys ? sys : __real_pthread_create(thread, attr, fn, arg);
}

/* ------------------------------------------------------------------------------------------------
 * Files. All of these return -1 where they fail.
 */
#define FAILS(type, name, params, args)               \
    type __real_##name params;                        \
    type __wrap_##name params;                        \
    type __wrap_##name params                         \
    {                                                 \
        return fate(#name) ? -1 : __real_##name args; \
    }

FAILS(int, fsync, (int fd), (fd))
FAILS(int, fallocate, (int fd, int mode, off_t off, off_t n), (fd, mode, off, n))
FAILS(int, mkdirat, (int dir, const char *name, mode_t mode), (dir, name, mode))
FAILS(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
FAILS(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags),
      (a, from, b, to, flags))
FAILS(int, linkat, (int a, const char *from, int b, const char *to, int flags),
      (a, from, b, to, flags))

/* A call that may do less than it was asked for. */
#define MOVES(name, params, args, half_args)  \
    ssize_t __real_##name params;             \
    ssize_t __wrap_##name params;             \
    ssize_t __wrap_##name params              \
    {                                         \
        int how = fate(#name);                \
        if (how == SHORT)                     \
            return __real_##name half_args;   \
        return how ? -1 : __real_##name args; \
    }

MOVES(read, (int fd, void *to, size_t n), (fd, to, n), (fd, to, (n + 1) / 2))
MOVES(getdents64, (int fd, void *to, size_t n), (fd, to, n), (fd, to, (n + 1) / 2))
MOVES(pwrite, (int fd, const void *from, size_t n, off_t off), (fd, from, n, off),
      (fd, from, (n + 1) / 2, off))
MOVES(pread, (int fd, void *to, size_t n, off_t off), (fd, to, n, off), (fd, to, (n + 1) / 2, off))

ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_write(int fd, const void *from, size_t n)
{
    int how = fate(fd == STDERR_FILENO ? "stderr" : "write");
    if (how == SHORT)
        return __real_write(fd, from, (n + 1) / 2);
    return how ? -1 : __real_write(fd, from, n);
}

int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int sys = fate("close"), rc = __real_close(fd);
    if (!sys)
        return rc;
    errno = sys;
    return -1;
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fate("open") ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    va_list rest;
    va_start(rest, flags);
    mode_t mode = unnamed || flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fate(unnamed ? "unnamed" : "openat") ? -1 : __real_openat(dir, path, flags, mode);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *arg = command == F_GETFD ? NULL : va_arg(rest, void *);
    va_end(rest);
    return command != F_GETFD && fate("fcntl") ? -1 : __real_fcntl(fd, command, arg);
}
