/* spelling_close.c - tokens that are spelled like a word, for "did you mean".
 *
 * Edit distance by Myers' bit vectors (Myers, "A fast bit-vector algorithm for approximate string
 * matching", JACM 46(3), 1999), as simplified by Hyyro (2001): one machine word holds a column, so
 * a token costs a few instructions a byte. Distances are over bytes.
 */
#include "table/spelling.h"

#define WORD_MAX 64 /* bits of a machine word: longer words get no suggestions */

struct pattern {
    uint64_t where[256]; /* bit i of where[c]: word[i] == c */
    size_t n;
};

static void prepare(struct pattern *p, emb_str word)
{
    memset(p, 0, sizeof *p);
    p->n = word.n;
    for (size_t i = 0; i < word.n; i++)
        p->where[(unsigned char)word.s[i]] |= 1ull << i;
}

static size_t edit_distance(const struct pattern *p, emb_str token)
{
    uint64_t plus = ~0ull, minus = 0, last = 1ull << (p->n - 1);
    size_t distance = p->n;
    for (size_t i = 0; i < token.n; i++) {
        uint64_t eq = p->where[(unsigned char)token.s[i]];
        uint64_t zero = (((eq & plus) + plus) ^ plus) | eq | minus;
        uint64_t up = minus | ~(zero | plus), down = plus & zero;
        distance += (up & last) != 0;
        distance -= (down & last) != 0;
        up = up << 1 | 1;
        down <<= 1;
        plus = down | ~(zero | up);
        minus = up & zero;
    }
    return distance;
}

struct close {
    size_t distance;
    uint64_t position;
};

/* Keeps best[] sorted by distance; a later position never passes an equal distance. */
static size_t insert(struct close *best, size_t found, size_t n, struct close c)
{
    size_t i = found;
    if (found == n) {
        if (n == 0 || c.distance >= best[n - 1].distance)
            return found;
        i = n - 1;
    }
    for (; i > 0 && best[i - 1].distance > c.distance; i--)
        best[i] = best[i - 1];
    best[i] = c;
    return found < n ? found + 1 : found;
}

#define CLOSE_MAX 16

size_t embi_spelling_close(const emb_str *tokens, uint64_t n_tokens, emb_str word,
                           uint64_t *positions, size_t n)
{
    if (word.n == 0 || word.n > WORD_MAX)
        return 0;
    struct pattern pattern;
    struct close best[CLOSE_MAX];
    size_t found = 0, limit = word.n < 3 ? 1 : word.n < 8 ? 2 : 3;
    n = embi_min(n, CLOSE_MAX);
    prepare(&pattern, word);
    for (uint64_t i = 0; i < n_tokens; i++) {
        size_t a = tokens[i].n, b = word.n;
        if (!tokens[i].s || (a > b ? a - b : b - a) > limit)
            continue;
        size_t distance = edit_distance(&pattern, tokens[i]);
        if (distance <= limit)
            found = insert(best, found, n, (struct close){distance, i});
    }
    for (size_t i = 0; i < found; i++)
        positions[i] = best[i].position;
    return found;
}
