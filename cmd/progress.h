/* progress.h - how far a long run is, on one line of a terminal's stderr.
 *
 * Nothing is shown in the first half second, with -q, or where stderr is no terminal; then the line
 * is renewed five times a second: rows, bytes a second, time left. Messages clear it (say.c).
 */
#ifndef EMBTOOL_PROGRESS_H
#define EMBTOOL_PROGRESS_H

#include "cmd.h"

struct progress {
    struct run *run;
    uint64_t rows, total_rows; /* total 0: not known */
    uint64_t row_bytes;
    int64_t started_ms, next_ms;
};

void progress_begin(struct progress *p, struct run *run, uint64_t total_rows, uint64_t row_bytes);

/* `rows` more are done. Cheap: looks at the clock, and seldom writes. */
void progress_add(struct progress *p, uint64_t rows);

/* The line goes away. */
void progress_end(struct progress *p);

/* An emb_download_fn, whose arg is the run: the same for a file that comes from a server, in
 * bytes. */
void progress_download(void *arg, const char *name, uint64_t bytes, uint64_t total);

/* Removes the line, if one stands there, before something else is written to stderr. */
void progress_clear(struct run *run);

#endif
