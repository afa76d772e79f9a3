/* words.c - the header line of word2vec files, and lines cut into fields.
 *
 * Looks at spans only: it opens, allocates and keeps nothing. What a field and a token are is
 * said in words.h; formats: the word2vec tool's text form, and GloVe's, which has no header.
 */
#include "fmt/words.h"

#include "num/decimal.h"
#include "util/err.h"

#include <inttypes.h>

static size_t skip_blanks(const char *s, size_t n, size_t i)
{
    while (i < n && embi_words_blank(s[i]))
        i++;
    return i;
}

/* A run of digits at s[*i]; false if there is none. What 64 bits do not hold becomes their largest
 * number, which no file has room for. */
static bool read_count(const char *s, size_t n, size_t *i, uint64_t *count)
{
    size_t first = *i;
    *count = 0;
    for (; *i < n && s[*i] >= '0' && s[*i] <= '9'; (*i)++)
        if (!embi_mul(*count, 10, count) || !embi_add(*count, (uint64_t)(s[*i] - '0'), count))
            *count = UINT64_MAX;
    return *i > first;
}

bool embi_words_header(const char *s, size_t n, struct embi_words_header *h)
{
    size_t line = embi_line_bytes(s, n);
    size_t end = embi_line_trim(s, line);
    size_t i = skip_blanks(s, end, 0);
    if (!read_count(s, end, &i, &h->rows))
        return false;
    size_t gap = i;
    i = skip_blanks(s, end, i);
    if (i == gap || !read_count(s, end, &i, &h->dims) || i != end)
        return false;
    h->bytes = line < n ? line + 1 : line;
    return true;
}

emb_status embi_words_header_check(const struct embi_words_header *h, emb_err *err)
{
    if (h->dims == 0)
        return embi_fail(err, EMB_BAD_DATA, 0, "line 1: d is 0");
    if (h->dims > UINT32_MAX)
        return embi_fail(err, EMB_BAD_DATA, 0, "line 1: d is %" PRIu64 ", the most is %" PRIu32,
                         h->dims, UINT32_MAX);
    if (h->rows == 0)
        return embi_fail(err, EMB_BAD_DATA, 0, "line 1: the header says 0 rows");
    if (h->rows == UINT64_MAX)
        return embi_fail(err, EMB_BAD_DATA, 0, "line 1: the header says 2^64-1 rows, or more");
    return EMB_OK;
}

size_t embi_line_bytes(const char *s, size_t n)
{
    const char *end = n ? memchr(s, '\n', n) : NULL;
    return end ? (size_t)(end - s) : n;
}

size_t embi_line_trim(const char *s, size_t n)
{
    if (n && s[n - 1] == '\r')
        n--;
    while (n && embi_words_blank(s[n - 1]))
        n--;
    return n;
}

size_t embi_line_fields(const char *s, size_t n)
{
    size_t fields = 0;
    for (size_t i = 0; i + 1 < n; i++)
        fields += embi_words_blank(s[i]) && !embi_words_blank(s[i + 1]);
    return fields;
}

size_t embi_line_skip(const char *s, size_t n, uint64_t fields)
{
    size_t i = 0;
    for (; fields > 0; fields--) {
        while (!embi_words_blank(s[i]))
            i++;
        i = skip_blanks(s, n, i);
    }
    return i;
}

const char *embi_line_values(const char *s, size_t n, uint32_t dims, size_t *found)
{
    *found = embi_line_fields(s, n);
    return *found < dims ? NULL : s + embi_line_skip(s, n, *found - dims + 1);
}

size_t embi_line_numbers(const char *s, size_t n)
{
    size_t numbers = 0;
    float x;
    while (n > 0) {
        size_t first = n;
        while (first > 0 && !embi_words_blank(s[first - 1]))
            first--;
        if (first == 0 || !embi_read_f32(s + first, n - first, &x))
            break;
        numbers++;
        n = first;
        while (n > 0 && embi_words_blank(s[n - 1]))
            n--;
    }
    return numbers;
}
