/* kern_tmpl.h - the kernels for one element type; a kern_<set>.c includes it for each.
 *
 * The includer defines
 *     DOT(name)       the name of a function made here: DOT(rows), DOT(one) ...
 *     ELEMENT_BYTES   of one stored element
 *     LOAD            the function (load_fn of kern_queries.h) that widens VL elements to f32
 *     SCALAR(p)       one element at p, as f32
 *     SHORT(name)     the kernel of a narrower set, for rows of fewer than VL elements
 *     DOT_PAIRS       1: load_even(p) and load_odd(p) widen 2 VL elements at p faster than LOAD
 *                     would (kern_queries.h); 0 otherwise
 * and, once for the set, VL (8 or more lanes), vec, VZERO, VLOADQ(p) (f32), VFMA(a, b, c) = a * b +
 * c, VADD, VKEEP(v, n): v with all but its last n lanes zero, vsum2(a, b, &x, &y): the sums of the
 * lanes of a and of b, vsum4(a, b, c, d, sums): of four, what kern_dots.h asks for, a struct tile
 * of 2 * VL sums in double precision, and how far before its use memory is asked for: AHEAD_BYTES
 * within one of many rows, FAR_AHEAD_BYTES where a whole table goes by, which what the CPU does by
 * itself, a page at a time, does not keep up with.
 *
 * No byte outside a row is read: what is left after whole vectors is the end of one more vector
 * that overlaps the last whole one, with the lanes that were counted before set to zero.
 */

#define AT(row, i) ((row) + (size_t)(i)*ELEMENT_BYTES)

/* 4 VL elements, widened, in the order of the queries: placed where DOT_PAIRS. */
static inline __attribute__((always_inline)) void DOT(load4)(const unsigned char *p, vec x[4])
{
#if DOT_PAIRS
    x[0] = load_even(p);
    x[1] = load_odd(p);
    x[2] = load_even(AT(p, 2 * VL));
    x[3] = load_odd(AT(p, 2 * VL));
#else
    UNROLL
    for (size_t v = 0; v < 4; v++)
        x[v] = LOAD(AT(p, v * VL));
#endif
}

/* A block of one row, dot product and squared norm, or += after the first block: 4 + 4 accumulators
 * hide the latency of FMA. d >= VL. */
static void DOT(one)(const unsigned char *row, const struct dots *b, float *dot, float *norm2)
{
    vec s[4] = {VZERO, VZERO, VZERO, VZERO}, n[4] = {VZERO, VZERO, VZERO, VZERO}, x[4];
    const float *q = b->q, *wide = DOT_PAIRS ? b->placed : q + b->first;
    size_t i = b->first;
    for (; i + 4 * VL <= b->end; i += 4 * VL) {
        UNROLL
        for (size_t byte = 0; byte < 4 * VL * ELEMENT_BYTES; byte += 64)
            __builtin_prefetch(AT(row, i) + byte + FAR_AHEAD_BYTES, 0, 2);
        DOT(load4)(AT(row, i), x);
        UNROLL
        for (size_t v = 0; v < 4; v++) {
            s[v] = VFMA(x[v], VLOADQ(wide + (i - b->first) + v * VL), s[v]);
            n[v] = VFMA(x[v], x[v], n[v]);
        }
    }
    for (; i + VL <= b->end; i += VL) {
        x[0] = LOAD(AT(row, i));
        s[0] = VFMA(x[0], VLOADQ(q + i), s[0]);
        n[0] = VFMA(x[0], x[0], n[0]);
    }
    if (i < b->end) {
        x[1] = VKEEP(LOAD(AT(row, b->d - VL)), b->d - i);
        s[1] = VFMA(x[1], VLOADQ(q + b->d - VL), s[1]);
        n[1] = VFMA(x[1], x[1], n[1]);
    }
    float sums[2];
    vsum2(VADD(VADD(s[0], s[1]), VADD(s[2], s[3])), VADD(VADD(n[0], n[1]), VADD(n[2], n[3])), sums,
          sums + 1);
    *dot = b->first ? *dot + sums[0] : sums[0];
    *norm2 = b->first ? *norm2 + sums[1] : sums[1];
}

static void DOT(rows)(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                      float *norm2)
{
    if (d < VL) {
        SHORT(dot)(rows, n, d, q, dot, norm2);
        return;
    }
    size_t block = DOT_PAIRS ? PLACED : d;
    float placed[DOT_PAIRS ? PLACED : 1];
    for (struct dots b = {.d = d, .q = q, .placed = placed}; b.first < d; b.first = b.end) {
        b.end = embi_min(b.first + block, d);
        if (DOT_PAIRS)
            place(placed, q + b.first, (b.end - b.first) / (2 * VL) * 2 * VL);
        for (size_t r = 0; r < n; r++)
            DOT(one)(rows[r], &b, dot + r, norm2 + r);
    }
}

/* All rows for one tile of columns before the next tile: the sums of a tile stay in registers. */
static void DOT(add)(double *sum, const void *const *rows, size_t n, uint32_t d)
{
    size_t i = 0;
    for (; i + 2 * VL <= d; i += 2 * VL) {
        struct tile t = tile_load(sum + i);
        for (size_t r = 0; r < n; r++) {
            const unsigned char *row = rows[r];
            __builtin_prefetch(AT(row, i) + AHEAD_BYTES); /* rows are too many to be foreseen */
            tile_add(&t, LOAD(AT(row, i)), LOAD(AT(row, i + VL)));
        }
        tile_store(sum + i, &t);
    }
    for (size_t r = 0; r < n; r++) {
        const unsigned char *row = rows[r];
        for (size_t c = i; c < d; c++)
            sum[c] += (double)SCALAR(AT(row, c));
    }
}

#include "num/kern_dots.h"

#undef AT
