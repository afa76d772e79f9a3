/* tokenizer_ahead.c - see tokenizer_ahead.h.
 *
 * The mutex is held by the second thread for all of its work, so to take it is to wait for the
 * result; who comes first decides whether there is any.
 */
#include "model/tokenizer_ahead.h"

#include <string.h>

static const char key[] = "\"merges\"";

void embi_ahead_begin(struct embi_ahead *a, const char *s, size_t n)
{
    *a = (struct embi_ahead){.s = s, .end = s + n};
    pthread_mutex_init(&a->mutex, NULL); /* with default attributes this cannot fail */
}

void embi_ahead_end(struct embi_ahead *a)
{
    pthread_mutex_destroy(&a->mutex);
}

static const char *blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* The bracket after the key at p, NULL if there is something else: a token of that name has a
 * number. */
static const char *bracket_after(const char *p, const char *end)
{
    p = blanks(p + sizeof key - 1, end);
    if (p == end || *p != ':')
        return NULL;
    p = blanks(p + 1, end);
    return p < end && *p == '[' ? p : NULL;
}

static const char *find_array(const char *p, const char *end)
{
    const char *found = NULL;
    while (!found && (p = memmem(p, (size_t)(end - p), key, sizeof key - 1)) != NULL) {
        found = bracket_after(p, end);
        p += sizeof key - 1;
    }
    return found;
}

void embi_ahead_run(struct embi_ahead *a)
{
    pthread_mutex_lock(&a->mutex);
    const char *from = a->late ? NULL : find_array(a->s, a->end);
    if (from && embi_json_whole_array(from, (size_t)(a->end - from), &a->to))
        a->from = from;
    pthread_mutex_unlock(&a->mutex);
}

void embi_ahead_stop(struct embi_ahead *a)
{
    pthread_mutex_lock(&a->mutex);
    a->late = true;
    pthread_mutex_unlock(&a->mutex);
}

void embi_ahead_skip(struct embi_ahead *a, struct embi_json *j)
{
    embi_ahead_stop(a);
    if (a->from)
        embi_json_jump(j, a->from, a->to);
}
