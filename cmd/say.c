/* say.c - everything a run says on stderr: errors, warnings, notes, the library's log, and the last
 * words after SIGBUS. One line each, written in one piece; control bytes in names are escaped, so a
 * line stays a line.
 */
#include "cmd.h"
#include "main.h"
#include "progress.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 8192 };

struct line {
    char s[LINE_BYTES];
    size_t n;
};

/* The line the SIGBUS handler writes: a handler can reach nothing but what is static. */
static struct line last_words;

static void add_byte(struct line *line, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    if (line->n + 6 > sizeof line->s)
        return;
    if (c >= ' ' && c != 0x7F) {
        line->s[line->n++] = (char)c;
        return;
    }
    memcpy(line->s + line->n, (char[]){'\\', 'x', digits[c >> 4], digits[c & 15]}, 4);
    line->n += 4;
}

static void add(struct line *line, const char *text)
{
    for (; *text; text++)
        add_byte(line, (unsigned char)*text);
}

/* `embtool: ` and, unless it is NULL, `HEAD: ` */
static void begin(struct line *line, const char *head, const char *path)
{
    line->n = 0;
    add(line, "embtool: ");
    if (head) {
        add(line, head);
        add(line, ": ");
    }
    if (path)
        add(line, *path ? path : "''");
}

int write_bytes(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        ssize_t put = write(fd, bytes, n);
        if (put < 0 && (errno == EAGAIN || errno == EINTR)) {
            poll(&wait, 1, -1);
            continue;
        }
        if (put < 0)
            return errno;
        bytes += put;
        n -= (size_t)put;
    }
    return 0;
}

static void put(struct run *run, struct line *line)
{
    line->s[line->n++] = '\n';
    progress_clear(run);
    write_bytes(STDERR_FILENO, line->s, line->n); /* there is nowhere left to say that it failed */
}

static void say(struct run *run, const char *head, const char *path, const char *format,
                va_list args) __attribute__((format(printf, 4, 0)));

static void say(struct run *run, const char *head, const char *path, const char *format,
                va_list args)
{
    struct line line;
    char text[LINE_BYTES / 2];
    begin(&line, head, path);
    if (path)
        add(&line, ": ");
    vsnprintf(text, sizeof text, format, args);
    add(&line, text);
    put(run, &line);
}

static const char *name_of(const struct run *run)
{
    return run->cmd ? run->cmd->name : NULL;
}

int exit_code(emb_status status)
{
    switch (status) {
    case EMB_OK:
    case EMB_STOPPED: return EXIT_DONE;
    case EMB_NOT_FOUND: return EXIT_NO;
    case EMB_BAD_ARG: return EXIT_USAGE;
    case EMB_RANGE:
    case EMB_BAD_DATA:
    case EMB_UNSUPPORTED: return EXIT_DATA;
    case EMB_IO:
    case EMB_EXISTS: return EXIT_FILE;
    case EMB_NO_MEMORY:
    case EMB_DEVICE: return EXIT_MEMORY;
    case EMB_BUG: break;
    }
    return EXIT_BUG;
}

/* The reader of a pipe went away while SIGPIPE was ignored: end as if it had not been. */
static void die_of_pipe(void)
{
    remove_temps();
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

int fail(struct run *run, const char *path, const emb_err *err)
{
    struct line line;
    if (err->status == EMB_IO && err->sys == EPIPE)
        die_of_pipe();
    begin(&line, name_of(run), path);
    if (path)
        add(&line, err->status == EMB_EXISTS ? " " : ": "); /* `out.npy exists; ...` */
    add(&line, err->msg);
    put(run, &line);
    return exit_code(err->status);
}

int fail_with(struct run *run, int code, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(run, name_of(run), path, format, args);
    va_end(args);
    return code;
}

int usage_error(struct run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(run, name_of(run), NULL, format, args);
    va_end(args);
    return EXIT_USAGE;
}

void warn(struct run *run, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(run, "warning", path, format, args);
    va_end(args);
}

void note(struct run *run, const char *path, const char *format, ...)
{
    va_list args;
    if (run->common->quiet)
        return;
    va_start(args, format);
    say(run, "note", path, format, args);
    va_end(args);
}

void note_table(struct run *run, const char *format, ...)
{
    va_list args;
    if (run->common->quiet)
        return;
    va_start(args, format);
    say(run, "table", NULL, format, args);
    va_end(args);
}

static void debug(struct run *run, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void debug(struct run *run, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(run, "debug", path, format, args);
    va_end(args);
}

/* Warnings always; notes where someone looks on or asked; the rest with -v. */
void say_log(void *arg, int level, const char *path, const char *line)
{
    struct run *run = arg;
    bool asked = run->common->verbose;
    if (level == EMB_LOG_WARNING) {
        embi_buf_add(&run->warnings, line, strlen(line) + 1);
        warn(run, path, "%s", line);
    }
    if (level == EMB_LOG_NOTE && (run->err_tty || asked))
        note(run, path, "%s", line);
    else if (level == EMB_LOG_DEBUG && asked)
        debug(run, path, "%s", line);
}

void watch_file(struct run *run, const char *path)
{
    begin(&last_words, name_of(run), path);
    add(&last_words, ": the file became shorter while it was read");
    last_words.s[last_words.n++] = '\n';
}

static void on_sigbus(int signal_number)
{
    (void)signal_number;
    ssize_t written = write(STDERR_FILENO, last_words.s, last_words.n);
    (void)written;
    remove_temps();
    _exit(EXIT_FILE);
}

void catch_sigbus(struct run *run)
{
    struct sigaction action = {.sa_handler = on_sigbus};
    watch_file(run, "a mapped file");
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
