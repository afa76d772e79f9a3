/* tiktoken.c - the reader of tiktoken's rank files: on each line base64 of a token's bytes, a space
 * and its rank, which is the id. Blank lines do not count; ranks may have gaps, but not repeat.
 */
#include "model/tokenizer_read.h"

#include "util/base64.h"
#include "util/err.h"

#include <inttypes.h>

enum { SNIFF_LINES = 4, RANK_DIGITS = 10 };

/* A line cut into its two fields. */
struct line {
    emb_str base64;
    uint64_t rank;
};

/* The next line that is not empty, without its end; false at the end of the text. */
static bool next_line(const char **p, const char *end, emb_str *line)
{
    while (*p < end) {
        const char *start = *p, *lf = memchr(start, '\n', (size_t)(end - start));
        const char *stop = lf ? lf : end;
        *p = lf ? lf + 1 : end;
        if (stop > start && stop[-1] == '\r')
            stop--;
        *line = (emb_str){start, (size_t)(stop - start)};
        if (stop > start)
            return true;
    }
    return false;
}

static bool split(emb_str line, struct line *out)
{
    const char *space = memchr(line.s, ' ', line.n);
    if (!space || space == line.s)
        return false;
    out->base64 = (emb_str){line.s, (size_t)(space - line.s)};
    out->rank = 0;
    size_t digits = line.n - out->base64.n - 1;
    if (digits == 0 || digits > RANK_DIGITS)
        return false;
    for (size_t i = 1; i <= digits; i++) {
        if (space[i] < '0' || space[i] > '9')
            return false;
        out->rank = 10 * out->rank + (uint64_t)(space[i] - '0');
    }
    return true;
}

static emb_status read_line(struct embi_token_source *src, emb_str text, emb_err *err)
{
    struct line line;
    int64_t at = text.s - src->s;
    char shown[EMBI_SHOW_MAX];
    bool good = split(text, &line);
    char *room = good ? embi_token_source_take(src, embi_base64_room(line.base64.n)) : NULL;
    size_t bytes;
    if (!good || !room || !embi_base64_decode(line.base64.s, line.base64.n, room, &bytes))
        return embi_fail(err, EMB_BAD_DATA, at,
                         "tiktoken: byte %" PRId64
                         ": expected base64, a space and a rank, found '%s'",
                         at, embi_show(shown, text));
    uint64_t before = src->t->count;
    emb_status status = embi_token_put(src, line.rank, (emb_str){room, bytes}, text.s, err);
    if (!status && src->t->count == before)
        status = embi_fail(err, EMB_BAD_DATA, at,
                           "tiktoken: byte %" PRId64 ": rank %" PRIu64 " was there before", at,
                           line.rank);
    return status;
}

emb_status embi_read_tiktoken(struct embi_token_source *src, emb_err *err)
{
    const char *p = src->s, *end = p + src->n;
    emb_str line;
    emb_status status = embi_token_source_room(src, src->n, err);
    while (!status && next_line(&p, end, &line))
        status = read_line(src, line, err);
    src->t->next_id = src->t->n;
    return status;
}

/* The first lines are of this kind, and their ranks follow each other: a word list with counts is
 * not taken for one. */
bool embi_sniff_tiktoken(const char *s, size_t n)
{
    const char *p = s, *end = s + n;
    emb_str text;
    struct line line;
    uint64_t rank = 0;
    int lines = 0;
    for (; lines < SNIFF_LINES && next_line(&p, end, &text); lines++, rank = line.rank) {
        char out[192];
        size_t bytes;
        if (!split(text, &line) || embi_base64_room(line.base64.n) > sizeof out ||
            !embi_base64_decode(line.base64.s, line.base64.n, out, &bytes) ||
            (lines > 0 && line.rank != rank + 1))
            return false;
    }
    return lines > 0;
}
