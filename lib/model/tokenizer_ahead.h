/* tokenizer_ahead.h - the merges of a large tokenizer.json, checked by one thread while another
 * reads the vocabulary before them.
 *
 * They are half of such a file or more, and nothing of them is used: that they are JSON is all that
 * is asked. Where they begin is only known when the vocabulary has been read, so the second thread
 * guesses: where "merges" is followed by a colon and a bracket. What it says is used if the reader
 * then comes to that very bracket; a wrong guess costs time alone.
 */
#ifndef EMBI_MODEL_TOKENIZER_AHEAD_H
#define EMBI_MODEL_TOKENIZER_AHEAD_H

#include "util/json.h"

#include <pthread.h>

struct embi_ahead {
    const char *s, *end; /* the text */
    pthread_mutex_t mutex;
    bool late;             /* the reader has come there: it is too late to begin */
    const char *from, *to; /* a whole array, and the byte after it; NULL: none was found */
};

void embi_ahead_begin(struct embi_ahead *a, const char *s, size_t n);
void embi_ahead_end(struct embi_ahead *a);

/* What the second thread does; returns at once if the reader was there first. */
void embi_ahead_run(struct embi_ahead *a);

/* The reader needs nothing from here on: a second thread that has not begun does not begin. Waits
 * for one that has. */
void embi_ahead_stop(struct embi_ahead *a);

/* At a value: skips it if it is the array that was checked. Waits for the thread that checks it. */
void embi_ahead_skip(struct embi_ahead *a, struct embi_json *j);

#endif
