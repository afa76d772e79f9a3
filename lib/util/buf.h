/* buf.h - a growable byte buffer. `struct embi_buf b = {0};` is an empty one; embi_buf_free ends
 * it.
 *
 * Running out of memory sets `failed`, after which additions do nothing: a caller adds what it has
 * to add and looks once. b.s is not NUL-terminated unless embi_buf_cstr was called.
 */
#ifndef EMBI_UTIL_BUF_H
#define EMBI_UTIL_BUF_H

#include "util/base.h"

#include <stdarg.h>

struct embi_buf {
    char *s;
    size_t n, cap;
    bool failed;
};

/* Room for `more` bytes after the n that are there; NULL (and failed) if there is no memory, else
 * the place where they go. The caller adds to n what it used. */
char *embi_buf_room(struct embi_buf *b, size_t more);

void embi_buf_add(struct embi_buf *b, const void *bytes, size_t n);
void embi_buf_byte(struct embi_buf *b, char c);
void embi_buf_fill(struct embi_buf *b, char c, size_t n);
void embi_buf_text(struct embi_buf *b, const char *cstr);
void embi_buf_print(struct embi_buf *b, const char *format, ...) EMBI_PRINTF(2, 3);
void embi_buf_vprint(struct embi_buf *b, const char *format, va_list args) EMBI_PRINTF(2, 0);

/* The n bytes as one word of a command line, in single quotes. A quote among them becomes '"'"':
 * without a backslash, which fields of tables would double. */
void embi_buf_quoted(struct embi_buf *b, const char *s, size_t n);

/* A NUL after the content (not counted in n); "" if memory ran out. */
const char *embi_buf_cstr(struct embi_buf *b);

void embi_buf_free(struct embi_buf *b);

#endif
