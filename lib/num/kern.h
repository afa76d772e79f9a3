/* kern.h - the kernel set: the few loops that are worth an instruction set of their own.
 *
 * kern_scalar.c is the reference and defines the answer; every other set is tested against it. Rows
 * are given as pointers [n], because the rows of a word2vec file lie at odd places; no pointer need
 * be aligned. Kernels may use FMA and sum in any order, within the bound stated at each: search
 * asks for candidates only, and scores them again with embi_dot_f64 below, whose order is fixed.
 */
#ifndef EMBI_NUM_KERN_H
#define EMBI_NUM_KERN_H

#include "util/base.h"

enum { EMBI_FIELDS_BEFORE = 16 };

/* Sums of a row in double precision over 8 virtual lanes: lane l adds elements l, l + 8, l + 16 ...
 * (a square is exact in double precision, so that fusing its addition changes nothing), lanes are
 * joined as ((0+4)+(2+6)) + ((1+5)+(3+7)). min and max ignore NaN, and are never -0; a row with NaN
 * or an infinity is told by a non-finite sum or norm2. */
struct embi_row_sums {
    double sum, norm2;
    float min, max;
    uint64_t hash;
};

struct embi_kern {
    const char *name;

    /* dot[i] = rows[i] . q, norm2[i] = rows[i] . rows[i] for n rows of d elements of the type, in
     * f32. Errors: |dot - exact| <= embi_dot_bound(d) * |row| |q|; |norm2 - exact| <=
     * embi_dot_bound(d) * |row|^2, unless a product overflows or underflows f32 (then Inf, NaN or
     * too small a value may come out, and the caller looks closer). */
    void (*dot_f32)(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                    float *norm2);
    void (*dot_f16)(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                    float *norm2);
    void (*dot_bf16)(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                     float *norm2);

    /* out[j * ld + i] = rows[i] . q[j], the same products of n rows with up to EMBI_FEW_QUERIES
     * [queries, d], and norm2[i] as above, unless it is NULL. What lies at `next` (the rows
     * that come after these; NULL: nothing) is asked for meanwhile. */
    void (*products_f32)(const void *const *rows, size_t n, uint32_t d, const float *q,
                         size_t queries, const void *next, float *out, size_t ld, float *norm2);
    void (*products_f16)(const void *const *rows, size_t n, uint32_t d, const float *q,
                         size_t queries, const void *next, float *out, size_t ld, float *norm2);
    void (*products_bf16)(const void *const *rows, size_t n, uint32_t d, const float *q,
                          size_t queries, const void *next, float *out, size_t ld, float *norm2);

    /* out[i * EMBI_PANEL * panels + l] = rows[i] . query l, for n rows of d f32 and many queries,
     * as embi_panels_pack arranges them. Off by at most embi_panel_bound(d) * |row| |q|, but for
     * overflow and underflow as above. next_bytes bytes at `next` are asked for meanwhile. */
    void (*panels)(const void *const *rows, size_t n, uint32_t d, const float *packed,
                   size_t panels, const void *next, size_t next_bytes, float *out);

    /* Bit i % 16 of mask[i / 16], for n scores: is score[i] >= a[i] * u + c[i] + w? A NaN on either
     * side: no. The right side may be off by 2^-22 (|a[i] u| + |c[i]| + |w|). */
    void (*reach)(const float *score, const float *a, const float *c, size_t n, float u, float w,
                  uint16_t *mask);

    /* Exact widening and once-rounded narrowing; the same bits from every set (NaN: any quiet NaN
     * that keeps its sign). */
    void (*f32_from_f16)(float *dst, const void *src, size_t n);
    void (*f32_from_bf16)(float *dst, const void *src, size_t n);
    void (*f16_from_f32)(void *dst, const float *src, size_t n);
    void (*bf16_from_f32)(void *dst, const float *src, size_t n);

    /* n blocks of a block type to f32 [n * block] (num/blocks.h); the same bits from every set
     * (NaN: any). */
    void (*f32_from_blocks)(float *dst, const void *src, emb_dtype dtype, size_t n);

    /* The line that s[0, n) begins with: its bytes, up to LF or n; *fields: how many of them are no
     * blank (space or tab) and stand behind one. */
    size_t (*scan_line)(const char *s, size_t n, uint64_t *fields);

    /* Reads fields of text at the start of s[0, n_bytes), up to n, as embi_scan_f32 reads each: how
     * many. Between two stands one space or tab. It may stop early, before any field: *used bytes
     * are done, with the space or tab behind the last field, but no other separator. The
     * EMBI_FIELDS_BEFORE bytes before s can be read too. */
    size_t (*scan_fields)(const char *s, size_t n_bytes, float *out, size_t n, size_t *used);

    /* Of one row of d values. The hash is 0 from row_sums, and from the others that of
     * num/row_hash.h. The same bits from every set. */
    void (*row_sums)(const float *row, uint32_t d, struct embi_row_sums *out);
    void (*figures_f32)(const void *row, uint32_t d, struct embi_row_sums *out);
    void (*figures_f16)(const void *row, uint32_t d, struct embi_row_sums *out);
    void (*figures_bf16)(const void *row, uint32_t d, struct embi_row_sums *out);

    /* sum[c] += rows[0][c], then rows[1][c] ... for n rows of d elements of the type, each addition
     * in double precision. The same bits from every set (NaN: any). Of finite rows, fewer than 2^64
     * of any of these types, no sum is infinite. */
    void (*add_f32)(double *sum, const void *const *rows, size_t n, uint32_t d);
    void (*add_f16)(double *sum, const void *const *rows, size_t n, uint32_t d);
    void (*add_bf16)(double *sum, const void *const *rows, size_t n, uint32_t d);

    /* words[k * ld + i] = word k of the Philox block (util/rng.h) at counter {counter[0] + i,
     * counter[1], counter[2], counter[3]}, for n blocks. */
    void (*random_words)(uint32_t *words, size_t ld, const uint32_t counter[4],
                         const uint32_t key[2], size_t n);

    /* out[4 i ..] = the deviates that embi_normal_f32 (num/normal.h) makes of the words 0 and 1,
     * and 2 and 3, of each block, times `scale`, twice which is finite. The same bits from every
     * set. */
    void (*normals_f32)(const uint32_t *words, size_t ld, size_t n, float scale, float *out);

    /* n numbers of a row, each by itself, the same bits from every set (NaN: any): x + y, and
     * x * factor, which is no NaN. Those of f16 and bf16, at any address, are computed in f32 and
     * rounded to their type. out may be x. As many bytes at `next` (NULL: nothing) are asked for
     * meanwhile. */
    void (*sum_f32)(float *out, const float *x, const float *y, size_t n, const void *next);
    void (*sum_f16)(void *out, const void *x, const void *y, size_t n, const void *next);
    void (*sum_bf16)(void *out, const void *x, const void *y, size_t n, const void *next);
    void (*times_f32)(float *out, const float *x, float factor, size_t n, const void *next);
    void (*times_f16)(void *out, const void *x, float factor, size_t n, const void *next);
    void (*times_bf16)(void *out, const void *x, float factor, size_t n, const void *next);

    /* The same in double precision, and then rounded: x / divisor, and
     * (x - mean) * factor * weight + bias. */
    void (*over_f32)(float *out, const float *x, double divisor, size_t n);
    void (*norm_f32)(float *out, const float *x, double mean, double factor, const float *weight,
                     const float *bias, size_t n);
};

extern const struct embi_kern embi_kern_scalar;

/* The best set for these features (EMBI_CPU_*). */
const struct embi_kern *embi_kern_choose(unsigned features);

/* gamma_m of Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1, for sums of d
 * products over at least 8 lanes in f32, with room for the rounding of q and of the row to f32. */
double embi_dot_bound(uint32_t d);

/* The same for products summed in any order, as a BLAS does. */
double embi_any_order_bound(uint32_t d);

/* Queries that are few. */
enum { EMBI_FEW_QUERIES = 12 };

/* So much of few queries stays in a small L1 cache, with four rows. */
enum { EMBI_DOTS_BYTES = 16 << 10 };

/* Queries whose lanes lie side by side, and dimensions that are summed before the sum is added to
 * that of those before: of so many, the queries of a tile stay in a small L1 cache. */
enum { EMBI_PANEL = 16, EMBI_PANEL_BLOCK = 128 };

/* The same for `panels`: within a block sums run straight. */
double embi_panel_bound(uint32_t d);

/* Dimensions of each block but the last, d > 0, of panels and of products_*: blocks are of nearly
 * equal size, and that a multiple of 16. */
uint32_t embi_panel_block(uint32_t d);
size_t embi_dots_block(uint32_t d, size_t queries);
/* So many numbers of few queries there are in a block, at most. */
enum { EMBI_DOTS_NUMBERS = EMBI_DOTS_BYTES / 4 + 16 * EMBI_FEW_QUERIES };

/* Queries q [n, d] as [panel][d][EMBI_PANEL], lanes after the last query zero. */
void embi_panels_pack(float *packed, const float *q, size_t n, uint32_t d);

static inline size_t embi_panels_of(size_t n)
{
    return (n + EMBI_PANEL - 1) / EMBI_PANEL;
}

/* How 8 virtual lanes become one sum, everywhere: in the order of halving a vector of 8 again and
 * again. */
static inline double embi_join_lanes(const double lane[8])
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* The canonical products in double precision: 8 virtual lanes as in struct embi_row_sums, products
 * of f64 values (exact for f32 and smaller types). Every reported score comes from these. */
double embi_dot_f64(const double *a, const double *b, uint32_t d);

#endif
