/* reply.c - reads the head of an answer (RFC 9110 sections 8.8, 14.4; RFC 9111 sections 5.1, 5.2;
 * lines as libcurl hands them on). What it does not understand counts as not said.
 */
#include "http/http.h"

#include <string.h>
#include <strings.h>

/* The value of "NAME: value\r\n" without blanks around it; NULL: another header. */
static const char *value_of(const char *line, size_t n, const char *name, size_t *value_n)
{
    size_t m = strlen(name);
    if (n <= m || strncasecmp(line, name, m) != 0 || line[m] != ':')
        return NULL;
    const char *s = line + m + 1, *end = line + n;
    while (s < end && (*s == ' ' || *s == '\t'))
        s++;
    while (end > s && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *value_n = (size_t)(end - s);
    return s;
}

/* A number of digits alone, behind *s, which moves past it. */
static bool number(const char **s, const char *end, uint64_t *x)
{
    const char *from = *s;
    *x = 0;
    for (; *s < end && **s >= '0' && **s <= '9'; ++*s)
        if (__builtin_mul_overflow(*x, 10, x) || __builtin_add_overflow(*x, **s - '0', x))
            return false;
    return *s > from;
}

static bool literal(const char **s, const char *end, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(end - *s) < n || strncasecmp(*s, text, n) != 0)
        return false;
    *s += n;
    return true;
}

static void read_range(struct embi_reply *r, const char *s, size_t n)
{
    const char *end = s + n;
    bool unknown = false;
    uint64_t first = 1, last = 0, total;
    if (!literal(&s, end, "bytes "))
        return;
    if (!literal(&s, end, "*") && !(number(&s, end, &first) && literal(&s, end, "-") &&
                                    number(&s, end, &last) && last >= first))
        return;
    if (!literal(&s, end, "/"))
        return;
    unknown = literal(&s, end, "*");
    if (!unknown && !number(&s, end, &total))
        return;
    if (s != end)
        return;
    r->has_range = true;
    r->first = first;
    r->last = last;
    r->total = unknown ? EMBI_TRANSPORT_UNKNOWN : total;
}

/* One directive of Cache-Control; the least that is said counts. */
static void read_directive(struct embi_reply *r, const char *s, const char *end)
{
    uint64_t age = 0;
    const char *word = s;
    if (literal(&word, end, "max-age=")) {
        int64_t said = number(&word, end, &age) && age < INT32_MAX ? (int64_t)age : INT32_MAX;
        r->max_age_s = r->max_age_s < 0 || said < r->max_age_s ? said : r->max_age_s;
    } else if (literal(&word, end, "no-store") && word == end) {
        r->no_store = true;
    } else if (literal(&word, end, "no-cache")) {
        r->max_age_s = 0;
    }
}

static void read_cache_control(struct embi_reply *r, const char *s, size_t n)
{
    const char *end = s + n;
    while (s < end) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        const char *stop = comma ? comma : end, *from = s;
        while (from < stop && (*from == ' ' || *from == '\t'))
            from++;
        while (stop > from && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        read_directive(r, from, stop);
        s = comma ? comma + 1 : end;
    }
}

static void copy(char *out, size_t cap, const char *s, size_t n)
{
    if (n >= cap)
        return;
    memcpy(out, s, n);
    out[n] = '\0';
}

struct embi_reply embi_reply_none(void)
{
    return (struct embi_reply){.total = EMBI_TRANSPORT_UNKNOWN,
                               .length = EMBI_TRANSPORT_UNKNOWN,
                               .linked_bytes = EMBI_TRANSPORT_UNKNOWN,
                               .max_age_s = -1};
}

/* The headers of the Hugging Face hub, of which an answer has all or none; false: no such one. */
static bool read_hub_header(struct embi_reply *r, const char *line, size_t n)
{
    const char *value;
    size_t value_n;
    if ((value = value_of(line, n, "X-Linked-ETag", &value_n)))
        copy(r->linked, sizeof r->linked, value, value_n);
    else if ((value = value_of(line, n, "X-Linked-Size", &value_n)))
        (void)(number(&value, value + value_n, &r->linked_bytes) ||
               (r->linked_bytes = EMBI_TRANSPORT_UNKNOWN));
    else if ((value = value_of(line, n, "X-Repo-Commit", &value_n)))
        copy(r->commit, sizeof r->commit, value, value_n);
    else if ((value = value_of(line, n, "X-Error-Code", &value_n)))
        copy(r->code, sizeof r->code, value, value_n);
    else
        return false;
    return true;
}

size_t embi_reply_header(char *line, size_t size, size_t n, void *arg)
{
    struct embi_reply *r = arg;
    const char *value;
    size_t value_n;
    n *= size;
    if (n > 5 && memcmp(line, "HTTP/", 5) == 0) /* of the next answer, after one of a proxy */
        *r = embi_reply_none();
    else if (read_hub_header(r, line, n))
        return n;
    else if ((value = value_of(line, n, "Content-Range", &value_n)))
        read_range(r, value, value_n);
    else if ((value = value_of(line, n, "Content-Length", &value_n)))
        (void)(number(&value, value + value_n, &r->length) || (r->length = EMBI_TRANSPORT_UNKNOWN));
    else if ((value = value_of(line, n, "Content-Encoding", &value_n)))
        r->encoded = value_n > 0 && !(value_n == 8 && strncasecmp(value, "identity", 8) == 0);
    else if ((value = value_of(line, n, "ETag", &value_n)))
        copy(r->tag, sizeof r->tag, value, value_n);
    else if ((value = value_of(line, n, "Last-Modified", &value_n)))
        copy(r->modified, sizeof r->modified, value, value_n);
    else if ((value = value_of(line, n, "Cache-Control", &value_n)))
        read_cache_control(r, value, value_n);
    else if ((value = value_of(line, n, "x-amz-bucket-region", &value_n)))
        copy(r->region, sizeof r->region, value, value_n);
    else if ((value = value_of(line, n, "Age", &value_n)))
        (void)(number(&value, value + value_n, &r->age_s) || (r->age_s = 0));
    return n;
}
