/* json_pair.c - members whose values are whole numbers, a hundred thousand in a row; see json.h.
 *
 * The general way through a member takes four calls and some twenty branches, which a processor
 * cannot foresee where every key has another length. Here a member that is laid out as the one
 * before it is compared with it: the bytes from the end of a value to the next key's opening quote,
 * and from a key's closing quote to its value, are the same in all of a file that a program wrote.
 * Bytes that once took the reader from a state to another do so again. Whatever is not like that,
 * errors among it, is left for the general way, from the place where the member begins.
 */
#include "util/json.h"

#include "util/json_scan.h"

enum { ROOM = 3 * EMBI_JSON_GAP_MAX, DIGITS = 8 };

/* The value of the first n of 8 bytes in memory order, 1 to 8 digits. The others are shifted out:
 * what comes in at the other end counts as leading zeros. */
static uint64_t digits_value(uint64_t word, unsigned n)
{
    word <<= 8 * (DIGITS - n);
    word = (word & UINT64_C(0x0F0F0F0F0F0F0F0F)) * 2561 >> 8; /* 10 a + b: pairs, then fours */
    word = (word & UINT64_C(0x00FF00FF00FF00FF)) * 6553601 >> 16;
    return (word & UINT64_C(0x0000FFFF0000FFFF)) * UINT64_C(42949672960001) >> 32;
}

/* How many of 8 bytes, in memory order, are digits before the first that is none. A carry of the
 * addition only changes bytes after that one. */
static unsigned digits_count(uint64_t word)
{
    uint64_t off = word ^ UINT64_C(0x3030303030303030);
    uint64_t other = (off | (off + UINT64_C(0x0606060606060606))) & UINT64_C(0xF0F0F0F0F0F0F0F0);
    return other ? (unsigned)__builtin_ctzll(other) / 8 : DIGITS;
}

/* The number that stands at p as the general way reads it, if that is short and whole. */
static bool whole_number(const char *p, uint64_t *x, unsigned *n)
{
    uint64_t word = embi_le64(p);
    unsigned count = digits_count(word);
    if (count == 0 || count == DIGITS || (*p == '0' && count > 1))
        return false;
    char after = p[count];
    if (after == '.' || (after | 0x20) == 'e')
        return false;
    *n = count;
    *x = digits_value(word, count);
    return true;
}

/* Over the inside of a string, to its closing quote; NULL where it is not well formed. */
static const char *closing_quote(const char *p, const char *end, bool *escaped)
{
    *escaped = false;
    for (;;) {
        uint32_t cp;
        p = embi_json_plain(p, end);
        if (p == end || (*p != '"' && *p != '\\'))
            return NULL;
        if (*p == '"')
            return p;
        size_t length = embi_json_escape(p, (size_t)(end - p), &cp);
        if (length == 0)
            return NULL;
        *escaped = true;
        p += length;
    }
}

static bool has_room(const struct embi_json *j, const char *p)
{
    return j->end - p >= ROOM;
}

/* The next member, if it is laid out as the one before. */
static bool same_layout(struct embi_json *j, struct embi_json_pair *pair)
{
    bool escaped;
    unsigned n;
    if (j->state != EMBI_JSON_NEXT_KEY || pair->before.n == 0 || !has_room(j, j->p) ||
        !embi_json_same_gap(j->p, pair->before.s, pair->before.n))
        return false;
    const char *s = j->p + pair->before.n - 1;
    const char *q = closing_quote(s + 1, j->end, &escaped);
    if (q == NULL || !has_room(j, q) || !embi_json_same_gap(q, pair->between.s, pair->between.n))
        return false;
    const char *value = q + pair->between.n;
    if (!whole_number(value, &pair->number, &n))
        return false;
    pair->key = (struct embi_json_value){EMBI_JSON_KEY, escaped, s, (size_t)(q + 1 - s)};
    pair->value = (struct embi_json_value){EMBI_JSON_NUMBER, false, value, n};
    j->p = value + n;
    return true;
}

/* A gap that lies at s, if it is short enough to be compared. */
static emb_str gap(const char *s, const char *end)
{
    size_t n = (size_t)(end - s);
    return n <= EMBI_JSON_GAP_MAX ? (emb_str){s, n} : (emb_str){NULL, 0};
}

static bool general(struct embi_json *j, struct embi_json_pair *pair)
{
    const char *from = j->p;
    bool next = j->state == EMBI_JSON_NEXT_KEY; /* the first has no comma before it */
    pair->before = pair->between = (emb_str){NULL, 0};
    if (!embi_json_member(j, &pair->key))
        return false;
    const char *quote = pair->key.s + pair->key.n - 1;
    embi_json_next(j, &pair->value);
    pair->whole = embi_json_u64(&pair->value, &pair->number);
    if (pair->whole && next && has_room(j, quote)) {
        pair->before = gap(from, pair->key.s + 1);
        pair->between = gap(quote, pair->value.s);
        if (pair->between.n == 0)
            pair->before.n = 0;
    }
    return true;
}

bool embi_json_pair(struct embi_json *j, struct embi_json_pair *pair)
{
    return same_layout(j, pair) || general(j, pair);
}
