/* util/buf.c - see buf.h.
 *
 * Capacity doubles, so that n additions cost O(n). `failed` is sticky and keeps what was there: no
 * function here writes past cap, and none returns before the buffer is consistent again.
 */
#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAP = 64 };

/* Makes cap at least n + more; false (and failed) if that is not possible. */
static bool grow(struct embi_buf *b, size_t more)
{
    uint64_t need;
    if (b->failed || !embi_add(b->n, more, &need)) {
        b->failed = true;
        return false;
    }
    if (b->s && need <= b->cap)
        return true;
    uint64_t cap = embi_max(need, FIRST_CAP);
    if (b->cap <= SIZE_MAX / 2)
        cap = embi_max(cap, 2 * (uint64_t)b->cap);
    char *s = realloc(b->s, cap);
    if (!s) {
        b->failed = true;
        return false;
    }
    b->s = s;
    b->cap = cap;
    return true;
}

char *embi_buf_room(struct embi_buf *b, size_t more)
{
    return grow(b, more) ? b->s + b->n : NULL;
}

void embi_buf_add(struct embi_buf *b, const void *bytes, size_t n)
{
    if (n > 0 && grow(b, n)) {
        memcpy(b->s + b->n, bytes, n);
        b->n += n;
    }
}

void embi_buf_byte(struct embi_buf *b, char c)
{
    if (grow(b, 1))
        b->s[b->n++] = c;
}

void embi_buf_fill(struct embi_buf *b, char c, size_t n)
{
    if (grow(b, n)) {
        memset(b->s + b->n, c, n);
        b->n += n;
    }
}

void embi_buf_text(struct embi_buf *b, const char *cstr)
{
    embi_buf_add(b, cstr, strlen(cstr));
}

void embi_buf_vprint(struct embi_buf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n < 0)
        b->failed = true;
    else if (grow(b, (size_t)n + 1)) { /* vsnprintf writes a NUL, which does not count */
        vsnprintf(b->s + b->n, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void embi_buf_print(struct embi_buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    embi_buf_vprint(b, format, args);
    va_end(args);
}

void embi_buf_quoted(struct embi_buf *b, const char *s, size_t n)
{
    embi_buf_byte(b, '\'');
    for (size_t i = 0; i < n; i++)
        if (s[i] == '\'')
            embi_buf_text(b, "'\"'\"'");
        else
            embi_buf_byte(b, s[i]);
    embi_buf_byte(b, '\'');
}

const char *embi_buf_cstr(struct embi_buf *b)
{
    if (!grow(b, 1))
        return "";
    b->s[b->n] = '\0';
    return b->s;
}

void embi_buf_free(struct embi_buf *b)
{
    free(b->s);
    *b = (struct embi_buf){0};
}
