/* kern_tmpl.h - the kernels for one element type; a kern_<set>.c includes it for each.
 *
 * The includer defines
 *     DOT(name)       the name of a function made here: DOT(rows), DOT(four) ...
 *     ELEMENT_BYTES   of one stored element
 *     LOAD(p)         a vector of VL elements at p, widened to f32
 *     SCALAR(p)       one element at p, as f32
 *     SHORT(name)     the kernel of a narrower set, for rows of fewer than VL elements
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

/* One row, dot product and squared norm: 4 + 4 accumulators hide the latency of FMA. d >= VL. */
static void DOT(one)(const unsigned char *row, uint32_t d, const float *q, float *dot, float *norm2)
{
    vec s0 = VZERO, s1 = VZERO, s2 = VZERO, s3 = VZERO;
    vec n0 = VZERO, n1 = VZERO, n2 = VZERO, n3 = VZERO;
    size_t i = 0;
    for (; i + 4 * VL <= d; i += 4 * VL) {
        UNROLL
        for (size_t b = 0; b < 4 * VL * ELEMENT_BYTES; b += 64)
            __builtin_prefetch(AT(row, i) + b + FAR_AHEAD_BYTES, 0, 2);
        vec x0 = LOAD(AT(row, i)), x1 = LOAD(AT(row, i + VL));
        vec x2 = LOAD(AT(row, i + 2 * VL)), x3 = LOAD(AT(row, i + 3 * VL));
        s0 = VFMA(x0, VLOADQ(q + i), s0);
        n0 = VFMA(x0, x0, n0);
        s1 = VFMA(x1, VLOADQ(q + i + VL), s1);
        n1 = VFMA(x1, x1, n1);
        s2 = VFMA(x2, VLOADQ(q + i + 2 * VL), s2);
        n2 = VFMA(x2, x2, n2);
        s3 = VFMA(x3, VLOADQ(q + i + 3 * VL), s3);
        n3 = VFMA(x3, x3, n3);
    }
    for (; i + VL <= d; i += VL) {
        vec x = LOAD(AT(row, i));
        s0 = VFMA(x, VLOADQ(q + i), s0);
        n0 = VFMA(x, x, n0);
    }
    if (i < d) {
        vec x = VKEEP(LOAD(AT(row, d - VL)), d - i);
        s1 = VFMA(x, VLOADQ(q + d - VL), s1);
        n1 = VFMA(x, x, n1);
    }
    vsum2(VADD(VADD(s0, s1), VADD(s2, s3)), VADD(VADD(n0, n1), VADD(n2, n3)), dot, norm2);
}

static void DOT(rows)(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                      float *norm2)
{
    if (d < VL)
        SHORT(dot)(rows, n, d, q, dot, norm2);
    else
        for (size_t r = 0; r < n; r++)
            DOT(one)(rows[r], d, q, dot + r, norm2 + r);
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
