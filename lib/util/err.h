/* err.h - how a function of the library fails: fill *err, return the status.
 *
 *     return embi_fail(err, EMB_BAD_DATA, offset, "header: expected %d keys, found %d", 3, n);
 *
 * Messages say what, where, expected and found; no path, no full stop, no newline. The status that
 * was given is the one returned, so that a failure is one statement.
 */
#ifndef EMBI_UTIL_ERR_H
#define EMBI_UTIL_ERR_H

#include "util/base.h"

/* at: byte offset, row or item the message speaks of, or -1. A message that is too long is cut. */
emb_status embi_fail(emb_err *err, emb_status status, int64_t at, const char *format, ...)
    EMBI_PRINTF(4, 5);

/* EMB_IO with errno's words: "what: No such file or directory", or the words alone if what is NULL.
 * ENOMEM is EMB_NO_MEMORY. */
emb_status embi_fail_errno(emb_err *err, int sys, const char *what);

/* EMB_NO_MEMORY: "out of memory (N bytes for WHAT)". */
emb_status embi_fail_memory(emb_err *err, uint64_t bytes, const char *what);

/* Puts `prefix: ` before the message that is there; returns err->status. */
emb_status embi_fail_in(emb_err *err, const char *format, ...) EMBI_PRINTF(2, 3);

/* A token or name as it may stand in a message: printable, escaped like \xNN, cut at about 60
 * bytes. out has EMBI_SHOW_MAX bytes; returns out, NUL-terminated. */
#define EMBI_SHOW_MAX 80
const char *embi_show(char out[EMBI_SHOW_MAX], emb_str s);

#endif
