/* stats_quantile.c - exact quantiles of numbers that are not negative, without sorting or moving
 * them.
 *
 * The bits of such numbers, read as integers, have the order of the numbers: a selection by digits
 * of 11 bits needs at most six passes over them for each rank, whatever their distribution, and
 * fewer where they agree in their first bits. Interpolation is that of numpy.quantile's default:
 * rank (n - 1) q, linear between neighbours, from the nearer one.
 */
#include "ops/stats.h"

#include <math.h>

#define DIGIT_BITS 11

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double value_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Numbers among which a rank is sought: all bits lie in [base + prefix * 2^shift, + 2^shift). */
struct search {
    const double *x;
    uint64_t n;
    uint64_t base, prefix;
    int shift;
    uint64_t rank;  /* among them */
    uint64_t equal; /* how many of them have the prefix; known after the first step */
    double *room;   /* [room_n] */
    uint64_t room_n;
};

static uint64_t digits_at(const struct search *s, int shift, double x)
{
    return (bits_of(x) - s->base) >> shift;
}

/* One digit more: finds the one that the number at `rank` has. */
static void step(struct search *s)
{
    uint64_t counts[1 << DIGIT_BITS] = {0};
    int shift = s->shift - DIGIT_BITS;
    for (uint64_t i = 0; i < s->n; i++) {
        uint64_t digits = digits_at(s, shift, s->x[i]);
        if (digits >> DIGIT_BITS == s->prefix)
            counts[digits & ((1 << DIGIT_BITS) - 1)]++;
    }
    uint64_t digit = 0;
    for (; counts[digit] <= s->rank; digit++)
        s->rank -= counts[digit];
    s->equal = counts[digit];
    s->prefix = s->prefix << DIGIT_BITS | digit;
    s->shift = shift;
}

/* Goes on with those alone that are still possible, once they are few enough for the room. Works in
 * place too. */
static void narrow(struct search *s)
{
    uint64_t n = 0;
    if (s->equal > s->room_n || s->equal == s->n)
        return;
    for (uint64_t i = 0; i < s->n; i++)
        if (digits_at(s, s->shift, s->x[i]) == s->prefix)
            s->room[n++] = s->x[i];
    s->x = s->room;
    s->n = n;
}

/* The smallest number above v; infinity where there is none. */
static double next_above(const double *x, uint64_t n, double v)
{
    double next = INFINITY;
    for (uint64_t i = 0; i < n; i++)
        next = x[i] > v ? embi_lower(next, x[i]) : next;
    return next;
}

/* The number at place `rank` in order, and *next, the one at rank + 1 (itself where it is the
 * last). */
static double at_rank(const double *x, uint64_t n, struct search s, double *next)
{
    bool last = s.rank + 1 == n;
    while (s.shift > 0) {
        step(&s);
        narrow(&s);
    }
    double value = value_of(s.base + s.prefix);
    *next = value;
    if (last || s.rank + 1 < s.equal)
        return value;
    *next = next_above(s.x, s.n, value);
    if (isinf(*next))
        *next = next_above(x, n, value);
    return value;
}

static double interpolate(double a, double b, double t)
{
    double difference = b - a;
    return t < 0.5 ? a + difference * t : b - difference * (1 - t);
}

void embi_quantiles(const double *x, uint64_t n, const double *q, double *out, size_t n_q,
                    double *room, uint64_t room_n)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (uint64_t i = 0; i < n; i++) {
        low = embi_min(low, bits_of(x[i]));
        high = embi_max(high, bits_of(x[i]));
    }
    int width = low == high ? 0 : 64 - __builtin_clzll(high - low);
    int digits = (width + DIGIT_BITS - 1) / DIGIT_BITS;
    for (size_t k = 0; k < n_q; k++) {
        double place = (double)(n - 1) * q[k], next;
        uint64_t rank = (uint64_t)place;
        double value = at_rank(x, n,
                               (struct search){.x = x,
                                               .n = n,
                                               .base = low,
                                               .shift = digits * DIGIT_BITS,
                                               .rank = rank,
                                               .equal = n,
                                               .room = room,
                                               .room_n = room_n},
                               &next);
        out[k] = interpolate(value, next, place - (double)rank);
    }
}
