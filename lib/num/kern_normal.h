/* kern_normal.h - normal deviates of many blocks of words, as vectors; a kern_<set>.c includes it
 * once. That has vectors of words (wvec and BITS_...), VSUB to VCHOOSE, load_words and store_blocks
 * for their layout, and FEW_NORMALS for fewer blocks than a vector has lanes.
 *
 * The operations of num/normal.h, none of them fused (by the flags of the build), so the bits are
 * those of the scalar set. What is written otherwise gives the same bits, because times a power of
 * two, and times -1, are exact: u is 2^31 times as large, for which its exponent makes up; e is
 * 2^23 times as large; ln u is -1/2 times as large, so that `scale` doubles what its root lacks;
 * and a constant is added where its negative was taken off.
 *
 * Each step waits three or four cycles for the one before it, and a CPU looks a few dozen
 * instructions ahead. So both pairs of a block are computed side by side, steps of radius, cosine
 * and sine stand in turn, and the next vector is begun while the roots of this one are drawn.
 */
#include "num/normal.h"

/* Of words 0 and 1, and of words 2 and 3. */
struct duo {
    vec a, b;
};

struct wduo {
    wvec a, b;
};

/* Nothing, but compilers leave it where it stands among others of its kind; they would put each
 * chain of steps in one piece before its first use. */
#ifndef KEEP_ORDER
#define KEEP_ORDER(x) __asm__ volatile("" : "+v"((x).a), "+v"((x).b))
#endif

static inline struct duo duo_add(struct duo x, struct duo y)
{
    struct duo sum = {VADD(x.a, y.a), VADD(x.b, y.b)};
    KEEP_ORDER(sum);
    return sum;
}

static inline struct duo duo_mul(struct duo x, struct duo y)
{
    return (struct duo){VMUL(x.a, y.a), VMUL(x.b, y.b)};
}

static inline struct duo duo_times(struct duo x, float k)
{
    return (struct duo){VMUL(x.a, VSPREAD(k)), VMUL(x.b, VSPREAD(k))};
}

static inline struct duo duo_plus(struct duo x, float k)
{
    struct duo sum = {VADD(x.a, VSPREAD(k)), VADD(x.b, VSPREAD(k))};
    KEEP_ORDER(sum);
    return sum;
}

/* p * z + k: a step of a polynomial. */
static inline struct duo duo_step(struct duo p, struct duo z, float k)
{
    return duo_plus(duo_mul(p, z), k);
}

static inline struct duo duo_number(struct wduo x)
{
    return (struct duo){VNUMBER(x.a), VNUMBER(x.b)};
}

static inline struct wduo duo_plus_bits(struct wduo x, uint32_t k)
{
    return (struct wduo){BITS_ADD(x.a, BITS_SPREAD(k)), BITS_ADD(x.b, BITS_SPREAD(k))};
}

static inline struct wduo duo_and(struct wduo x, uint32_t k)
{
    return (struct wduo){BITS_AND(x.a, BITS_SPREAD(k)), BITS_AND(x.b, BITS_SPREAD(k))};
}

/* m of u = m * 2^e, and e * 2^23: see embi_log_f32. */
static inline struct duo duo_mantissa(struct wduo radius, struct duo *e)
{
    const uint32_t sqrt_half = 0x3f3504f3, mantissa = 0x7fffff;
    struct wduo half = {BITS_RIGHT(radius.a, 1), BITS_RIGHT(radius.b, 1)};
    struct duo u = duo_plus(duo_number(half), 0.5f);
    struct wduo above =
        duo_plus_bits((struct wduo){BITS_OF(u.a), BITS_OF(u.b)}, 0 - (sqrt_half + (31u << 23)));
    *e = duo_number(duo_and(above, ~mantissa));
    struct wduo m = duo_plus_bits(duo_and(above, mantissa), sqrt_half);
    return (struct duo){VOF(m.a), VOF(m.b)};
}

/* The angle from the nearest quarter turn on; turned is the angle + 1/8 turn. */
static inline struct duo duo_rest(struct wduo angle, struct wduo turned)
{
    struct wduo quarters = duo_and(turned, 3u << 30);
    struct wduo rest = {BITS_SUB(angle.a, quarters.a), BITS_SUB(angle.b, quarters.b)};
    return duo_times(duo_plus(duo_number(rest), 0.5f), 0x1.921fb6p-30f);
}

/* The first, or in odd quarter turns the second. */
static inline struct duo duo_choose(struct duo even, struct duo odd, struct wduo turned)
{
    return (struct duo){VCHOOSE(even.a, odd.a, BITS_ADD(turned.a, turned.a)),
                        VCHOOSE(even.b, odd.b, BITS_ADD(turned.b, turned.b))};
}

/* r * x * scale */
static inline struct duo duo_scale(struct duo r, struct duo x, vec scale)
{
    return (struct duo){VMUL(VMUL(r.a, x.a), scale), VMUL(VMUL(r.b, x.b), scale)};
}

/* Of VL blocks, what is made of their words before the series: t = (1 - m) / (1 + m), with the
 * sign of -ln m: -0 where m is 1, as -2 ln u is. */
struct begun {
    struct wduo turned;
    struct duo y, t, e;
};

static inline struct begun begin_normals(const uint32_t *words, size_t ld)
{
    struct begun g;
    struct wduo angle = {load_words(words + ld), load_words(words + 3 * ld)};
    struct duo m = duo_mantissa((struct wduo){load_words(words), load_words(words + 2 * ld)}, &g.e);
    struct duo f = duo_plus(m, -1.0f);
    g.turned = duo_plus_bits(angle, 1u << 29);
    g.t = (struct duo){VDIV(f.a, VSUB(VSPREAD(-1.0f), m.a)), VDIV(f.b, VSUB(VSPREAD(-1.0f), m.b))};
    g.y = duo_rest(angle, g.turned);
    KEEP_ORDER(g.t);
    KEEP_ORDER(g.e);
    KEEP_ORDER(g.y);
    return g;
}

/* sqrt(-ln u / 2), and cosine and sine of y. */
static inline struct duo sum_series(const struct begun *g, struct duo *cosine, struct duo *sine)
{
    struct duo y = g->y, y2 = duo_mul(y, y), t = g->t, t2 = duo_mul(t, t);
    struct duo c = duo_plus(duo_times(y2, -1.0f / 3628800), 1.0f / 40320);
    struct duo s = duo_plus(duo_times(y2, 1.0f / 362880), -1.0f / 5040);
    struct duo p = duo_plus(duo_times(t2, 1.0f / 9), 1.0f / 7);
    c = duo_step(c, y2, -1.0f / 720);
    s = duo_step(s, y2, 1.0f / 120);
    p = duo_step(p, t2, 1.0f / 5);
    c = duo_step(c, y2, 1.0f / 24);
    s = duo_step(s, y2, -1.0f / 6);
    p = duo_step(p, t2, 1.0f / 3);
    c = duo_step(c, y2, -0.5f);
    p = duo_mul(t, duo_mul(t2, p));
    s = duo_mul(y2, s);
    p = duo_add(p, duo_times(g->e, -0x1.7f7d1cp-21f * 0x1p-23f));
    s = duo_mul(y, s);
    p = duo_add(t, p);
    *cosine = duo_step(c, y2, 1.0f);
    *sine = duo_add(y, s);
    p = duo_add(duo_times(g->e, -0x1.62e4p-2f * 0x1p-23f), p);
    struct duo r = {VSQRT(p.a), VSQRT(p.b)};
    KEEP_ORDER(r);
    return r;
}

/* What sum_series gave becomes deviates; twice: 2 * scale. Half a turn changes both signs, and so
 * that of r. */
static inline void end_normals(struct duo r, struct duo c, struct duo s, struct wduo turned,
                               vec twice, float *out)
{
    r = (struct duo){VFLIP(r.a, turned.a), VFLIP(r.b, turned.b)};
    struct duo minus = {VMINUS(s.a), VMINUS(s.b)};
    struct duo x = duo_scale(r, duo_choose(c, minus, turned), twice);
    struct duo w = duo_scale(r, duo_choose(s, c, turned), twice);
    store_blocks(out, x.a, w.a, x.b, w.b);
}

/* The last vector begins where it has to, to end with n. */
static void normals_f32(const uint32_t *words, size_t ld, size_t n, float scale, float *out)
{
    if (n < VL) {
        FEW_NORMALS(words, ld, n, scale, out);
        return;
    }
    struct begun g = begin_normals(words, ld);
    for (size_t i = 0; i < n; i += VL) {
        size_t at = embi_min(i, n - VL), next = embi_min(i + VL, n - VL);
        struct wduo turned = g.turned;
        struct duo c, s, r = sum_series(&g, &c, &s);
        g = begin_normals(words + next, ld);
        end_normals(r, c, s, turned, VSPREAD(2 * scale), out + 4 * at);
    }
}
#undef KEEP_ORDER
