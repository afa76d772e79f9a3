/* kern_scalar.c - the kernel set in plain C, which defines what every other set must answer.
 *
 * Runs on every machine. The dot products keep 8 lanes in f32 so that compilers can use what vector
 * registers the base architecture has; nothing else is done for speed. Elements are read with
 * memcpy: rows lie at any address.
 */
#include "num/blocks.h"
#include "num/decimal.h"
#include "num/half.h"
#include "num/kern_sets.h"
#include "num/normal.h"
#include "num/row_hash.h"
#include "util/rng.h"

#include <math.h>

typedef float load_fn(const unsigned char *row, size_t i);

static inline float load_f32(const unsigned char *row, size_t i)
{
    float x;
    memcpy(&x, row + i * 4, sizeof x);
    return x;
}

static inline float load_f16(const unsigned char *row, size_t i)
{
    return embi_f32_from_f16(embi_le16(row + i * 2));
}

static inline float load_bf16(const unsigned char *row, size_t i)
{
    return embi_f32_from_bf16(embi_le16(row + i * 2));
}

static inline void store_f16(unsigned char *row, size_t i, float x)
{
    uint16_t code = embi_f16_from_f32(x);
    memcpy(row + i * 2, &code, sizeof code);
}

static inline void store_bf16(unsigned char *row, size_t i, float x)
{
    uint16_t code = embi_bf16_from_f32(x);
    memcpy(row + i * 2, &code, sizeof code);
}

static inline float join_f32(const float lane[8])
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Always inlined, so that `load` is a constant and costs no call. */
static inline __attribute__((always_inline)) void dot_rows(load_fn *load, const void *const *rows,
                                                           size_t n, uint32_t d, const float *q,
                                                           float *dot, float *norm2)
{
    const unsigned char *query = (const unsigned char *)q;
    for (size_t r = 0; r < n; r++) {
        const unsigned char *row = rows[r];
        float sum[8] = {0}, square[8] = {0};
        size_t lanes = 8;
        for (size_t i = 0; i < d; i += lanes) {
            lanes = embi_min(8, d - i);
            for (size_t l = 0; l < lanes; l++) {
                float x = load(row, i + l);
                sum[l] += x * load_f32(query, i + l);
                square[l] += x * x;
            }
        }
        dot[r] = join_f32(sum);
        norm2[r] = join_f32(square);
    }
}

static void dot_f32(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                    float *norm2)
{
    dot_rows(load_f32, rows, n, d, q, dot, norm2);
}

static void dot_f16(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                    float *norm2)
{
    dot_rows(load_f16, rows, n, d, q, dot, norm2);
}

static void dot_bf16(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                     float *norm2)
{
    dot_rows(load_bf16, rows, n, d, q, dot, norm2);
}

static inline __attribute__((always_inline)) float square_row(load_fn *load,
                                                              const unsigned char *row, uint32_t d)
{
    float square[8] = {0};
    for (size_t i = 0; i < d; i++) {
        float x = load(row, i);
        square[i % 8] += x * x;
    }
    return join_f32(square);
}

static inline __attribute__((always_inline)) void product_rows(load_fn *load,
                                                               const void *const *rows, size_t n,
                                                               uint32_t d, const float *q,
                                                               size_t queries, float *out,
                                                               size_t ld, float *norm2)
{
    float found;
    for (size_t r = 0; norm2 && r < n; r++)
        norm2[r] = square_row(load, rows[r], d);
    for (size_t j = 0; j < queries; j++)
        for (size_t r = 0; r < n; r++)
            dot_rows(load, rows + r, 1, d, q + j * d, out + j * ld + r, &found);
}

static void products_f32(const void *const *rows, size_t n, uint32_t d, const float *q,
                         size_t queries, const void *next, float *out, size_t ld, float *norm2)
{
    (void)next;
    product_rows(load_f32, rows, n, d, q, queries, out, ld, norm2);
}

static void products_f16(const void *const *rows, size_t n, uint32_t d, const float *q,
                         size_t queries, const void *next, float *out, size_t ld, float *norm2)
{
    (void)next;
    product_rows(load_f16, rows, n, d, q, queries, out, ld, norm2);
}

static void products_bf16(const void *const *rows, size_t n, uint32_t d, const float *q,
                          size_t queries, const void *next, float *out, size_t ld, float *norm2)
{
    (void)next;
    product_rows(load_bf16, rows, n, d, q, queries, out, ld, norm2);
}

/* One row and one panel: sums of blocks of dimensions, added up. */
static void panel_row(const unsigned char *row, uint32_t d, const float *queries, float *out)
{
    size_t block = embi_panel_block(d);
    memset(out, 0, EMBI_PANEL * sizeof *out);
    for (size_t first = 0; first < d; first += block) {
        float sum[EMBI_PANEL] = {0};
        size_t end = embi_min(first + block, d);
        for (size_t k = first; k < end; k++) {
            float x = load_f32(row, k);
            for (size_t l = 0; l < EMBI_PANEL; l++)
                sum[l] += x * queries[k * EMBI_PANEL + l];
        }
        for (size_t l = 0; l < EMBI_PANEL; l++)
            out[l] += sum[l];
    }
}

static void panels(const void *const *rows, size_t n, uint32_t d, const float *packed, size_t count,
                   const void *next, size_t next_bytes, float *out)
{
    (void)next;
    (void)next_bytes;
    for (size_t p = 0; p < count; p++)
        for (size_t r = 0; r < n; r++)
            panel_row(rows[r], d, packed + p * EMBI_PANEL * d, out + (r * count + p) * EMBI_PANEL);
}

static void reach(const float *score, const float *a, const float *c, size_t n, float u, float w,
                  uint16_t *mask)
{
    for (size_t i = 0; i < n; i += 16) {
        unsigned bits = 0;
        for (size_t l = 0; l < 16 && i + l < n; l++)
            bits |= (unsigned)(score[i + l] >= a[i + l] * u + (c[i + l] + w)) << l;
        mask[i / 16] = (uint16_t)bits;
    }
}

static void f32_from_f16(float *dst, const void *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float x = load_f16(src, i);
        memcpy((unsigned char *)dst + i * 4, &x, sizeof x);
    }
}

/* Bits, not floats: a signalling NaN stays what it is. */
static void f32_from_bf16(float *dst, const void *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)embi_le16((const unsigned char *)src + i * 2) << 16;
        memcpy((unsigned char *)dst + i * 4, &bits, sizeof bits);
    }
}

static void f16_from_f32(void *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_f16(dst, i, load_f32((const unsigned char *)src, i));
}

static void bf16_from_f32(void *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_bf16(dst, i, load_f32((const unsigned char *)src, i));
}

/* The lowest value of a row that holds 0 and -0 is 0 in every set: adding 0 at the end makes it so.
 */
static inline __attribute__((always_inline)) void sum_row(load_fn *load, const void *row,
                                                          uint32_t d, struct embi_row_sums *out)
{
    double sums[8] = {0}, squares[8] = {0};
    float low = INFINITY, high = -INFINITY;
    size_t lanes = 8;
    for (size_t i = 0; i < d; i += lanes) {
        lanes = embi_min(8, d - i);
        for (size_t l = 0; l < lanes; l++) {
            float x = load(row, i + l);
            double y = (double)x;
            sums[l] += y;
            squares[l] += y * y;
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
    }
    *out = (struct embi_row_sums){embi_join_lanes(sums), embi_join_lanes(squares), low + 0.0f,
                                  high + 0.0f, 0};
}

static void row_sums(const float *row, uint32_t d, struct embi_row_sums *out)
{
    sum_row(load_f32, row, d, out);
}

static void figures_f32(const void *row, uint32_t d, struct embi_row_sums *out)
{
    sum_row(load_f32, row, d, out);
    out->hash = embi_row_hash(row, d * sizeof(float));
}

static void figures_f16(const void *row, uint32_t d, struct embi_row_sums *out)
{
    sum_row(load_f16, row, d, out);
    out->hash = embi_row_hash(row, d * sizeof(uint16_t));
}

static void figures_bf16(const void *row, uint32_t d, struct embi_row_sums *out)
{
    sum_row(load_bf16, row, d, out);
    out->hash = embi_row_hash(row, d * sizeof(uint16_t));
}

static inline __attribute__((always_inline)) void add_rows(load_fn *load, double *sum,
                                                           const void *const *rows, size_t n,
                                                           uint32_t d)
{
    for (size_t r = 0; r < n; r++)
        for (uint32_t c = 0; c < d; c++)
            sum[c] += (double)load(rows[r], c);
}

static void add_f32(double *sum, const void *const *rows, size_t n, uint32_t d)
{
    add_rows(load_f32, sum, rows, n, d);
}

static void add_f16(double *sum, const void *const *rows, size_t n, uint32_t d)
{
    add_rows(load_f16, sum, rows, n, d);
}

static void add_bf16(double *sum, const void *const *rows, size_t n, uint32_t d)
{
    add_rows(load_bf16, sum, rows, n, d);
}

static void random_words(uint32_t *words, size_t ld, const uint32_t counter[4],
                         const uint32_t key[2], size_t n)
{
    const uint32_t k[2] = {key[0], key[1]}; /* words cannot alias them */
    for (size_t i = 0; i < n; i++) {
        uint32_t w[4] = {counter[0] + (uint32_t)i, counter[1], counter[2], counter[3]};
        embi_philox(w, k, w);
        for (size_t l = 0; l < 4; l++)
            words[l * ld + i] = w[l];
    }
}

static void normals_f32(const uint32_t *words, size_t ld, size_t n, float scale, float *out)
{
    const uint32_t *w0 = words, *w1 = w0 + ld, *w2 = w1 + ld, *w3 = w2 + ld;
    for (size_t i = 0; i < n; i++) {
        float z[4];
        embi_normal_f32(w0[i], w1[i], &z[0], &z[1]);
        embi_normal_f32(w2[i], w3[i], &z[2], &z[3]);
        for (size_t k = 0; k < 4; k++)
            out[4 * i + k] = z[k] * scale;
    }
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Counted in bytes, STEP of them at a time, the inner loop becomes vector code. */
static uint64_t count_fields(const char *s, size_t n)
{
    enum { STEP = 128 };
    uint64_t fields = 0;
    size_t i = 0;
    for (; n - i > STEP; i += STEP) {
        uint8_t starts = 0;
        for (size_t j = 0; j < STEP; j++) {
            bool before = (s[i + j] == ' ') | (s[i + j] == '\t');
            bool at = (s[i + j + 1] == ' ') | (s[i + j + 1] == '\t');
            starts = (uint8_t)(starts + (before > at));
        }
        fields += starts;
    }
    for (; i + 1 < n; i++)
        fields += is_blank(s[i]) && !is_blank(s[i + 1]);
    return fields;
}

static size_t scan_line(const char *s, size_t n, uint64_t *fields)
{
    const char *end = n ? memchr(s, '\n', n) : NULL;
    size_t bytes = end ? (size_t)(end - s) : n;
    *fields = count_fields(s, bytes);
    return bytes;
}

static size_t scan_fields(const char *s, size_t n_bytes, float *out, size_t n, size_t *used)
{
    size_t got = 0, bytes;
    for (*used = 0; got < n; got++) {
        bytes = embi_scan_f32(s + *used, n_bytes - *used, out + got);
        *used += bytes;
        bool more = bytes && *used < n_bytes && is_blank(s[*used]);
        *used += more;
        if (!more)
            return got + (bytes > 0);
    }
    return got;
}

#include "num/kern_steps.h"

static void sum_f32(float *out, const float *x, const float *y, size_t n, const void *next)
{
    (void)next;
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

static void sum_f16(void *out, const void *x, const void *y, size_t n, const void *next)
{
    (void)next;
    for (size_t i = 0; i < n; i++)
        store_f16(out, i, load_f16(x, i) + load_f16(y, i));
}

static void sum_bf16(void *out, const void *x, const void *y, size_t n, const void *next)
{
    (void)next;
    for (size_t i = 0; i < n; i++)
        store_bf16(out, i, load_bf16(x, i) + load_bf16(y, i));
}

static void times_f32(float *out, const float *x, float factor, size_t n, const void *next)
{
    (void)next;
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] * factor;
}

static void times_f16(void *out, const void *x, float factor, size_t n, const void *next)
{
    (void)next;
    for (size_t i = 0; i < n; i++)
        store_f16(out, i, load_f16(x, i) * factor);
}

static void times_bf16(void *out, const void *x, float factor, size_t n, const void *next)
{
    (void)next;
    for (size_t i = 0; i < n; i++)
        store_bf16(out, i, load_bf16(x, i) * factor);
}

const struct embi_kern embi_kern_scalar = {
    .name = "scalar",
    .dot_f32 = dot_f32,
    .dot_f16 = dot_f16,
    .dot_bf16 = dot_bf16,
    .products_f32 = products_f32,
    .products_f16 = products_f16,
    .products_bf16 = products_bf16,
    .panels = panels,
    .reach = reach,
    .f32_from_f16 = f32_from_f16,
    .f32_from_bf16 = f32_from_bf16,
    .f16_from_f32 = f16_from_f32,
    .bf16_from_f32 = bf16_from_f32,
    .f32_from_blocks = embi_f32_from_blocks,
    .scan_line = scan_line,
    .scan_fields = scan_fields,
    .row_sums = row_sums,
    .figures_f32 = figures_f32,
    .figures_f16 = figures_f16,
    .figures_bf16 = figures_bf16,
    .add_f32 = add_f32,
    .add_f16 = add_f16,
    .add_bf16 = add_bf16,
    .random_words = random_words,
    .normals_f32 = normals_f32,
    .sum_f32 = sum_f32,
    .sum_f16 = sum_f16,
    .sum_bf16 = sum_bf16,
    .times_f32 = times_f32,
    .times_f16 = times_f16,
    .times_bf16 = times_bf16,
    .over_f32 = over_f32,
    .norm_f32 = norm_f32,
};
