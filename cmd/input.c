/* input.c - buffered reading that knows when it would have to wait.
 */
#include "input.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 18, LINE_BYTES = 1 << 24 };

static const char *name_of(const struct input *in)
{
    return in->path ? in->path : "standard input";
}

static int failed(struct input *in)
{
    return fail_with(in->run, EXIT_FILE, name_of(in), "%s", strerror(errno));
}

int input_open(struct input *in, struct run *run, const char *path)
{
    const char *vocab = run->common->vocab;
    *in = (struct input){.run = run, .fd = STDIN_FILENO};
    if (vocab && is_stream(vocab) && is_stream(path))
        return usage_error(run, "--vocab - takes all of standard input: nothing is left to read");
    if (!is_stream(path)) {
        in->path = path;
        in->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (in->fd < 0)
            return failed(in);
    }
    report_input(run, path);
    in->cap = FIRST_BYTES;
    in->s = malloc(in->cap);
    return in->s ? EXIT_DONE : fail_with(run, EXIT_MEMORY, NULL, "out of memory");
}

void input_close(struct input *in)
{
    if (in->path && in->fd >= 0)
        close(in->fd);
    free(in->s);
    in->s = NULL;
}

bool input_pauses(struct input *in)
{
    struct pollfd p = {.fd = in->fd, .events = POLLIN};
    if (in->asked || in->eof)
        return false;
    in->asked = poll(&p, 1, 0) == 0;
    return in->asked;
}

/* Moves what is not consumed to the front; makes room behind it. */
static int make_room(struct input *in)
{
    in->n -= in->at;
    if (in->at) /* a line of many reads is not copied at each */
        memmove(in->s, in->s + in->at, in->n);
    in->at = 0;
    if (in->n < in->cap)
        return EXIT_DONE;
    size_t cap = in->cap + embi_max(in->cap, FIRST_BYTES);
    char *grown = cap > in->cap ? realloc(in->s, cap) : NULL;
    if (!grown)
        return fail_with(in->run, EXIT_MEMORY, name_of(in), "out of memory");
    in->s = grown;
    in->cap = cap;
    return EXIT_DONE;
}

int input_more(struct input *in)
{
    ssize_t n;
    int code = make_room(in);
    if (code || in->eof)
        return code;
    do
        n = read(in->fd, in->s + in->n, in->cap - in->n);
    while (n < 0 && errno == EINTR);
    in->asked = false;
    if (n < 0)
        return failed(in);
    in->eof = n == 0;
    in->n += (size_t)n;
    return EXIT_DONE;
}

int input_rest(struct input *in)
{
    int code = EXIT_DONE;
    while (!code && !in->eof)
        code = input_more(in);
    return code;
}

/* U+FEFF in UTF-8. A line of nothing else is that token. */
static void drop_mark(struct input *in, emb_str *line)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    if (line->n <= sizeof mark || memcmp(line->s, mark, sizeof mark) != 0)
        return;
    line->s += sizeof mark;
    line->n -= sizeof mark;
    note(in->run, name_of(in), "the byte order mark at the start is left out");
}

/* Takes n bytes and their line end, `end` bytes long. */
static enum input_event take(struct input *in, emb_str *line, size_t n, size_t end)
{
    *line = (emb_str){in->s + in->at, n};
    in->at += n + end;
    if (line->n && line->s[line->n - 1] == '\r')
        line->n--;
    if (in->lines++ == 0)
        drop_mark(in, line);
    return INPUT_LINE;
}

static enum input_event too_long(struct input *in, int *code)
{
    *code = fail_with(in->run, EXIT_DATA, name_of(in),
                      "line %" PRIu64 ": expected at most %d bytes, found more", in->lines + 1,
                      LINE_BYTES);
    return INPUT_FAILED;
}

enum input_event input_line(struct input *in, emb_str *line, int *code)
{
    size_t seen = 0; /* bytes that are known to hold no line end */
    for (;;) {
        const char *from = in->s + in->at + seen;
        size_t left = in->n - in->at;
        const char *end = left > seen ? memchr(from, '\n', left - seen) : NULL;
        if (end)
            return take(in, line, (size_t)(end - (in->s + in->at)), 1);
        if (left > LINE_BYTES)
            return too_long(in, code);
        if (in->eof)
            return left ? take(in, line, left, 0) : INPUT_END;
        if (input_pauses(in))
            return INPUT_PAUSE;
        seen = left;
        *code = input_more(in);
        if (*code)
            return INPUT_FAILED;
    }
}
