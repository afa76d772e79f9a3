/* input.h - bytes that come in on stdin or from a file, read so that answers can leave as questions
 * arrive: before a read that would wait, the caller gets a chance to hand on its output.
 */
#ifndef EMBTOOL_INPUT_H
#define EMBTOOL_INPUT_H

#include "cmd.h"

struct input {
    struct run *run;
    const char *path; /* as in messages; NULL: standard input */
    int fd;
    char *s;           /* what was read and is not consumed: s[at .. n-1] */
    size_t at, n, cap; /* at <= n <= cap */
    bool eof;          /* nothing will follow s[n-1] */
    bool asked;        /* input_line and input_pauses said that they would wait */
    uint64_t lines;    /* that input_line has given */
};

/* path: NULL or "-" is standard input. Returns 0, or an exit code after the message. */
int input_open(struct input *in, struct run *run, const char *path);
void input_close(struct input *in);

/* True, once, when the next input_more would have to wait for somebody: time to flush. */
bool input_pauses(struct input *in);

/* Reads at least one more byte, or sees the end. The bytes not consumed move; a buffer that is full
 * of them grows. */
int input_more(struct input *in);

/* Reads all that is left. */
int input_rest(struct input *in);

enum input_event { INPUT_LINE, INPUT_PAUSE, INPUT_END, INPUT_FAILED };

/* The next line without its end (LF or CRLF; the last line may lack it), valid until the next call.
 * A byte order mark in front of the first one, which some editors write, is left out, with a note.
 * A line of more than 16 MiB is an error: no token is that long, and /dev/zero has no end.
 * INPUT_PAUSE: none is there now; flush, and call again to wait for it. INPUT_FAILED: *code is the
 * exit code, the message was printed. */
enum input_event input_line(struct input *in, emb_str *line, int *code);

#endif
