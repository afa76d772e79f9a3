/* kern_main.c - every kernel set against values computed here in double and long double.
 *
 * A plain main, so that it runs under every sanitizer and under emulators. Expected values come from ldexp, from sums
 * written out in this file, and from the bounds that num/kern.h states; the scalar set is tested
 * like the others, and conversions must have the same bits in all sets.
 */
#include "kern_fixture.h"
#include "num/decimal.h"
#include "num/row_hash.h"

#include <float.h>

typedef void dot_fn(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                    float *norm2);

static dot_fn *dot_of(const struct embi_kern *k, emb_dtype dtype)
{
    return dtype == EMB_F32 ? k->dot_f32 : dtype == EMB_F16 ? k->dot_f16 : k->dot_bf16;
}

/* ------------------------------------------------------------------------------------------------
 * Quantised blocks: the scalar set is held against compiled ggml in tests/unit/test_blocks.c
 */
static void test_blocks(const struct embi_kern *k)
{
    enum { BLOCKS = 37, BYTES_MAX = 210 };
    for (int t = EMB_Q4_0; t < EMB_DTYPE_COUNT; t++)
        for (size_t before = 0; before < 8; before++) {
            emb_dtype dtype = (emb_dtype)t;
            size_t n = before == 0 ? BLOCKS : before, numbers = n * emb_dtype_block(dtype);
            size_t bytes = emb_dtype_row_bytes(dtype, (uint32_t)numbers);
            unsigned char *src = place(0, bytes, before);
            unsigned char *want = place(1, numbers * 4, 0), *got = place(2, numbers * 4, before);
            for (size_t i = 0; i < bytes; i++) /* scales of any kind are among these */
                src[i] = (unsigned char)random_bits();
            embi_kern_scalar.f32_from_blocks((void *)want, src, dtype, n);
            k->f32_from_blocks((void *)got, src, dtype, n);
            size_t differ = 0;
            for (size_t i = 0; i < numbers; i++) {
                float x, y;
                memcpy(&x, want + i * 4, 4);
                memcpy(&y, got + i * 4, 4);
                differ += memcmp(&x, &y, 4) != 0 && !(isnan(x) && isnan(y));
            }
            CHECK(differ == 0, "%s: %zu of %zu numbers of %s differ", k->name, differ, numbers,
                  emb_dtype_name(dtype));
        }
}

/* ------------------------------------------------------------------------------------------------
 * Steps on a row, whose every number is computed by itself: each against the one formula
 */
static void check_steps(const struct embi_kern *k, size_t n, size_t before)
{
    float *x = (float *)(void *)place(0, n * 4, before * 4),
          *y = (float *)(void *)place(1, n * 4, 0);
    float *b = (float *)(void *)place(2, n * 4, 0), *out = (float *)(void *)place(3, n * 4, 4);
    float factor = (float)random_unit() * 3;
    double mean = random_unit(), over = random_unit() + 2;
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)ldexp(random_unit(), (int)(random_bits() % 40) - 20);
        y[i] = i % 7 ? (float)random_unit() : -0.0f;
        b[i] = (float)random_unit();
    }
    size_t wrong = 0;
    k->sum_f32(out, x, y, n, y);
    for (size_t i = 0; i < n; i++)
        wrong += out[i] != (float)((double)x[i] + (double)y[i]); /* f64 holds both parts of most */
    for (size_t i = 0; i < n; i++) {
        float sum = x[i] + y[i];
        wrong += memcmp(&sum, &out[i], 4) != 0;
    }
    k->times_f32(out, x, factor, n, NULL);
    for (size_t i = 0; i < n; i++)
        wrong += out[i] != (float)((double)x[i] * (double)factor); /* exact in f64 */
    k->over_f32(out, x, over, n);
    for (size_t i = 0; i < n; i++)
        wrong += out[i] != (float)((double)x[i] / over);
    k->norm_f32(out, x, mean, over, y, b, n);
    for (size_t i = 0; i < n; i++)
        wrong += out[i] != (float)(((double)x[i] - mean) * over * (double)y[i] + (double)b[i]);
    k->sum_f32(x, x, x, n, NULL); /* in place */
    k->times_f32(x, x, 0.5f, n, x);
    CHECK(wrong == 0, "%s: steps on %zu numbers: %zu wrong", k->name, n, wrong);
}

static void test_steps(const struct embi_kern *k)
{
    for (size_t n = 0; n < 70; n++)
        check_steps(k, n, n % 5);
    check_steps(k, 768, 1);
}

/* Of f16 and bf16: the sum or product in f32, and of that the nearest code, of two as near the even
 * one. An infinity stands where the next number would be. */
static double magnitude_of(emb_dtype dtype, unsigned magnitude)
{
    const unsigned char code[2] = {(unsigned char)magnitude, (unsigned char)(magnitude >> 8)};
    if (magnitude == (dtype == EMB_F16 ? 0x7C00u : 0x7F80u))
        return dtype == EMB_F16 ? 0x1p16 : 0x1p128;
    return decode(dtype, code);
}

static bool is_rounded(emb_dtype dtype, float x, unsigned code)
{
    const unsigned infinite = dtype == EMB_F16 ? 0x7C00 : 0x7F80, m = code & 0x7FFF;
    double size = fabs((double)x), off = fabs(magnitude_of(dtype, m) - size);
    if (isnan(x) || isinf(x) || m > infinite)
        return isnan(x) ? m > infinite : m == infinite && isinf(x);
    for (unsigned other = m ? m - 1 : 1; other <= embi_min(m + 1, infinite); other += 2) {
        double further = fabs(magnitude_of(dtype, other) - size);
        if (further < off || (further == off && m % 2))
            return false;
    }
    return (code >> 15 != 0) == (signbit(x) != 0);
}

/* Half of the codes are any, half of numbers that are near each other. */
static void make_codes(emb_dtype dtype, unsigned char *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t any = (uint16_t)random_bits();
        encode(dtype, random_unit(), codes + 2 * i);
        if (random_bits() % 2)
            memcpy(codes + 2 * i, &any, 2);
    }
}

static void check_halves(const struct embi_kern *k, emb_dtype dtype, size_t n, size_t before)
{
    const bool f16 = dtype == EMB_F16;
    unsigned char *x = place(0, n * 2, before), *y = place(1, n * 2, 0), *out = place(2, n * 2, 1);
    float factor = (float)random_unit() * 30;
    size_t wrong = 0;
    make_codes(dtype, x, n);
    make_codes(dtype, y, n);
    (f16 ? k->sum_f16 : k->sum_bf16)(out, x, y, n, y);
    for (size_t i = 0; i < n; i++) {
        float sum = (float)decode(dtype, x + 2 * i) + (float)decode(dtype, y + 2 * i);
        wrong += !is_rounded(dtype, sum, out[2 * i] | (unsigned)out[2 * i + 1] << 8);
    }
    (f16 ? k->times_f16 : k->times_bf16)(x, x, factor, n, NULL); /* in place */
    (f16 ? k->times_f16 : k->times_bf16)(out, y, factor, n, x);
    for (size_t i = 0; i < n; i++) {
        float product = (float)decode(dtype, y + 2 * i) * factor;
        wrong += !is_rounded(dtype, product, out[2 * i] | (unsigned)out[2 * i + 1] << 8);
    }
    CHECK(wrong == 0, "%s: steps on %zu numbers of %s: %zu wrong", k->name, n,
          emb_dtype_name(dtype), wrong);
}

static void test_halves(const struct embi_kern *k)
{
    for (size_t n = 0; n < 140; n++) {
        check_halves(k, EMB_F16, n, n % 5);
        check_halves(k, EMB_BF16, n, n % 5);
    }
    check_halves(k, EMB_F16, 5000, 1);
    check_halves(k, EMB_BF16, 5000, 1);
}

/* ------------------------------------------------------------------------------------------------
 * Dot products
 */
static void check_row(const struct embi_kern *k, emb_dtype dtype, const unsigned char *row,
                      uint32_t d, const unsigned char *q, float dot, float norm2)
{
    size_t size = dtype == EMB_F32 ? 4 : 2;
    long double exact = 0, xx = 0, qq = 0;
    for (uint32_t i = 0; i < d; i++) {
        long double x = decode(dtype, row + i * size), y = decode(EMB_F32, q + i * 4);
        exact += x * y;
        xx += x * x;
        qq += y * y;
    }
    long double bound = embi_dot_bound(d);
    CHECK(fabsl((long double)dot - exact) <= bound * sqrtl(xx * qq),
          "%s dtype %d d %u: %g, not %Lg", k->name, dtype, d, (double)dot, exact);
    CHECK(fabsl((long double)norm2 - xx) <= bound * xx, "%s dtype %d d %u: norm %g, not %Lg",
          k->name, dtype, d, (double)norm2, xx);
}

/* n rows, the last of which ends at a forbidden page and the first begins at one; others lie at odd
 * distances from it. */
static void check_dots(const struct embi_kern *k, emb_dtype dtype, uint32_t d, size_t n,
                       size_t before)
{
    size_t size = dtype == EMB_F32 ? 4 : 2, bytes = d * size;
    const void *rows[8];
    unsigned char *q = place(6, d * 4, before);
    float dot[8], norm2[8];
    for (uint32_t i = 0; i < d; i++)
        encode(EMB_F32, random_unit(), q + i * 4);
    for (size_t r = 0; r < n; r++) {
        unsigned char *row = place((int)(r % 6), bytes, r + 1 == n ? before : r);
        if (r == 0 && n > 1)
            row = place_first(0, before % 4);
        for (uint32_t i = 0; i < d; i++)
            encode(dtype, random_unit() * 8, row + i * size);
        rows[r] = row;
    }
    dot_of(k, dtype)(rows, n, d, (const float *)(void *)q, dot, norm2);
    for (size_t r = 0; r < n; r++) {
        check_row(k, dtype, rows[r], d, q, dot[r], norm2[r]);
    }
}

/* One element that is not finite makes the products so, wherever it stands; subnormals and a zero
 * row do no harm. */
static void check_odd_values(const struct embi_kern *k, emb_dtype dtype, uint32_t d)
{
    size_t size = dtype == EMB_F32 ? 4 : 2;
    unsigned char *row = place(0, d * size, 0), *q = place(1, d * 4, 0);
    const void *rows[4] = {row, row, row, row};
    float dot[4], norm2[4];
    uint32_t bad32[3] = {0x7FC00000u, 0x7F800000u, 0xFF800000u};
    uint16_t bad16[3] = {0x7E00, 0x7C00, 0xFC00};
    for (uint32_t i = 0; i < d; i++)
        encode(EMB_F32, 0.5, q + i * 4);
    for (uint32_t at = 0; at < d; at++)
        for (int kind = 0; kind < 3; kind++) {
            for (uint32_t i = 0; i < d; i++)
                encode(dtype, 1, row + i * size);
            uint16_t top = (uint16_t)(bad32[kind] >> 16);
            memcpy(row + at * size,
                   dtype == EMB_F32   ? (void *)&bad32[kind]
                   : dtype == EMB_F16 ? (void *)&bad16[kind]
                                      : (void *)&top,
                   size);
            dot_of(k, dtype)(rows, 4, d, (const float *)(void *)q, dot, norm2);
            CHECK(!isfinite(dot[0]) && !isfinite(norm2[0]), "%s dtype %d d %u at %u", k->name,
                  dtype, d, at);
        }
    memset(row, 0, d * size);
    dot_of(k, dtype)(rows, 4, d, (const float *)(void *)q, dot, norm2);
    CHECK(dot[3] == 0 && norm2[3] == 0, "%s dtype %d: zero row", k->name, dtype);
    row[0] = 1; /* the smallest subnormal of each type */
    float scale = 0x1p100f;
    memcpy(q, &scale, 4);
    dot_of(k, dtype)(rows, 4, d, (const float *)(void *)q, dot, norm2);
    double want = ldexp(1, dtype == EMB_F32 ? -149 : dtype == EMB_F16 ? -24 : -133) * 0x1p100;
    CHECK((double)dot[0] == want, "%s dtype %d: subnormal gives %g, not %g", k->name, dtype,
          (double)dot[0], want);
}

static void test_dots(const struct embi_kern *k)
{
    static const emb_dtype types[3] = {EMB_F32, EMB_F16, EMB_BF16};
    static const uint32_t big[] = {128, 255, 300, 301, 768, 1000, 4096, 4099, 4125};
    for (int t = 0; t < 3; t++) {
        for (uint32_t d = 1; d <= 4 * 32 + 1; d++)
            for (size_t n = 0; n <= 6; n++)
                check_dots(k, types[t], d, n, d % 5);
        for (size_t i = 0; i < sizeof big / sizeof *big; i++)
            for (size_t before = 0; before < 8; before++)
                check_dots(k, types[t], big[i], 5, before);
        for (uint32_t d = 1; d <= 3 * 16 + 1; d++)
            check_odd_values(k, types[t], d);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Conversions
 */
static bool same_float(uint32_t bits, double want)
{
    float x;
    memcpy(&x, &bits, 4);
    return isnan(want) ? isnan(x) : (double)x == want && !signbit(x) == !signbit(want);
}

static void test_widening(const struct embi_kern *k)
{
    static uint16_t codes[65536];
    static uint32_t wide[65536], scalar[65536];
    for (unsigned i = 0; i < 65536; i++)
        codes[i] = (uint16_t)i;
    for (int t = 0; t < 2; t++) {
        emb_dtype dtype = t ? EMB_BF16 : EMB_F16;
        (t ? k->f32_from_bf16 : k->f32_from_f16)((float *)(void *)wide, codes, 65536);
        (t ? embi_kern_scalar.f32_from_bf16
           : embi_kern_scalar.f32_from_f16)((float *)(void *)scalar, codes, 65536);
        for (unsigned i = 0; i < 65536; i++) {
            unsigned char p[2] = {(unsigned char)i, (unsigned char)(i >> 8)};
            CHECK(same_float(wide[i], decode(dtype, p)), "%s dtype %d code %04x gives %08x",
                  k->name, dtype, i, wide[i]);
            CHECK(wide[i] == scalar[i], "%s dtype %d code %04x: %08x, scalar %08x", k->name, dtype,
                  i, wide[i], scalar[i]);
            CHECK(wide[i] >> 31 == i >> 15, "%s dtype %d code %04x: sign", k->name, dtype, i);
        }
    }
}

/* Is `code` the nearest of the type to x, the even one of two? Neighbours are looked at as doubles.
 */
static bool nearest(emb_dtype dtype, uint16_t code, float x)
{
    unsigned infinity = dtype == EMB_F16 ? 0x7C00 : 0x7F80, magnitude = code & 0x7FFFu;
    if (isnan(x))
        return magnitude > infinity && code >> 15 == (unsigned)!!signbit(x);
    if (magnitude > infinity || code >> 15 != (unsigned)!!signbit(x))
        return false;
    double size = fabs((double)x), value[3];
    for (int i = 0; i < 3; i++) { /* infinity stands for the next power of two here */
        unsigned c = magnitude + (unsigned)i - 1;
        unsigned char p[2] = {(unsigned char)c, (unsigned char)(c >> 8)};
        value[i] = c > 0x7FFF || c > infinity ? DBL_MAX
                   : c == infinity            ? ldexp(1, dtype == EMB_F16 ? 16 : 128)
                                              : decode(dtype, p);
    }
    if (magnitude == infinity && size >= value[1])
        return true;
    double below = magnitude == 0 ? -value[2] : value[0];
    double low = (below + value[1]) / 2,
           high = magnitude == infinity ? DBL_MAX : (value[1] + value[2]) / 2;
    return size >= low && size <= high && ((size != low && size != high) || (code & 1) == 0);
}

static void check_narrow(const struct embi_kern *k, const float *x, size_t n)
{
    uint16_t code[64], scalar[64];
    for (int t = 0; t < 2; t++) {
        emb_dtype dtype = t ? EMB_BF16 : EMB_F16;
        (t ? k->bf16_from_f32 : k->f16_from_f32)(code, x, n);
        (t ? embi_kern_scalar.bf16_from_f32 : embi_kern_scalar.f16_from_f32)(scalar, x, n);
        for (size_t i = 0; i < n; i++) {
            CHECK(nearest(dtype, code[i], x[i]), "%s dtype %d: %a gives %04x", k->name, dtype,
                  (double)x[i], code[i]);
            CHECK(code[i] == scalar[i], "%s dtype %d: %a gives %04x, scalar %04x", k->name, dtype,
                  (double)x[i], code[i], scalar[i]);
        }
    }
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static void test_narrowing(const struct embi_kern *k)
{
    float x[64];
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < 64; i++) {
            uint32_t bits = (uint32_t)random_bits();
            if (round % 4 == 1) /* exponents where f16 lives */
                bits = (bits & 0x807FFFFFu) | (uint32_t)(100 + random_bits() % 46) << 23;
            if (round % 4 == 2) /* at and around ties of f16 */
                bits = (bits & 0xFFFFE000u) + 0x1000u + (uint32_t)(random_bits() % 3) - 1u;
            if (round % 4 == 3) /* and of bf16 */
                bits = (bits & 0xFFFF0000u) + 0x8000u + (uint32_t)(random_bits() % 3) - 1u;
            x[i] = float_of(bits);
        }
        check_narrow(k, x, 64);
    }
    const float edges[] = {0,
                           -0.0f,
                           65504,
                           65519.996f,
                           65520,
                           65536,
                           FLT_MAX,
                           -FLT_MAX,
                           INFINITY,
                           -INFINITY,
                           NAN,
                           float_of(0x7F800001u),
                           float_of(0xFF800001u),
                           float_of(0xFFFFFFFFu),
                           0x1p-24f,
                           0x1p-25f,
                           float_of(0x33000001u),
                           0x1.8p-24f,
                           1e-40f,
                           float_of(1),
                           0x1p-14f,
                           1.00048828125f};
    check_narrow(k, edges, sizeof edges / sizeof *edges);
}

/* Every length and alignment; nothing beyond the ends is read or written. */
static void test_conversion_edges(const struct embi_kern *k)
{
    for (size_t n = 0; n <= 3 * 16 + 1; n++)
        for (size_t before = 0; before < 4; before++) {
            unsigned char *narrow = place(0, n * 2, before), *wide = place(1, n * 4, before);
            unsigned char *back = place(2, n * 2, before);
            for (size_t i = 0; i < n; i++)
                encode(EMB_F16, random_unit(), narrow + i * 2);
            memset(back - 16, 0xA5, 16);
            memset(wide - 16, 0xA5, 16);
            k->f32_from_f16((float *)(void *)wide, narrow, n);
            k->f16_from_f32(back, (const float *)(void *)wide, n);
            CHECK(memcmp(narrow, back, n * 2) == 0, "%s: f16 there and back, n %zu", k->name, n);
            k->f32_from_bf16((float *)(void *)wide, narrow, n);
            k->bf16_from_f32(back, (const float *)(void *)wide, n);
            CHECK(memcmp(narrow, back, n * 2) == 0, "%s: bf16 there and back, n %zu", k->name, n);
            for (int i = 1; i <= 16; i++)
                CHECK(back[-i] == 0xA5 && wide[-i] == 0xA5, "%s: wrote before the start, n %zu",
                      k->name, n);
        }
}

/* ------------------------------------------------------------------------------------------------
 * Sums of rows
 */
static double join(const double lane[8])
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static bool same_double(double a, double b)
{
    return isnan(a) ? isnan(b) : memcmp(&a, &b, sizeof a) == 0;
}

/* The hash of a row [n bytes] by the definition in num/row_hash.h, but for its last step: byte by
 * byte, of two words as one of 16. */
static uint64_t hash_by_definition(const unsigned char *row, size_t n)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t h[8];
    memcpy(h, embi_stripe_begin, sizeof h);
    for (size_t i = 0, step = 1; i < n; i += 64, step++) {
        for (size_t l = 0; l < 8; l++) {
            uint64_t x = 0;
            wide pair = (wide)h[l | 1] << 64 | h[l & ~(size_t)1];
            if (l % 2 == 0) {
                pair = pair << 8 | pair >> 120;
                h[l] = (uint64_t)pair;
                h[l + 1] = (uint64_t)(pair >> 64);
            }
            for (size_t b = 0; b < 8 && i + 8 * l + b < n; b++)
                x |= (uint64_t)row[i + 8 * l + b] << 8 * b;
            h[l] += x;
        }
        bool whole = i + 64 <= n, last = i + 128 > n;
        for (size_t l = 0; whole && (step % 8 == 0 || last) && l < 8; l++)
            h[l] = (uint64_t)((wide)((h[l] % 4294967296) ^ (h[l] / 4294967296)) * 4294883355 +
                              h[l] / 4294967296);
    }
    return embi_hash(h, sizeof h);
}

static void check_figures(const char *name, const struct embi_row_sums *s,
                          const struct embi_row_sums *right)
{
    CHECK(same_double(s->sum, right->sum), "%s: sum %a, not %a", name, s->sum, right->sum);
    CHECK(same_double(s->norm2, right->norm2), "%s: norm2 %a, not %a", name, s->norm2,
          right->norm2);
    CHECK((double)s->min == (double)right->min && (double)s->max == (double)right->max,
          "%s: %g..%g, not %g..%g", name, (double)s->min, (double)s->max, (double)right->min,
          (double)right->max);
    CHECK((s->min != 0 || !signbit(s->min)) && (s->max != 0 || !signbit(s->max)), "%s: -0", name);
    CHECK(s->hash == right->hash, "%s: hash %llx, not %llx", name, (unsigned long long)s->hash,
          (unsigned long long)right->hash);
}

static void check_sums(const struct embi_kern *k, emb_dtype dtype, const unsigned char *row,
                       uint32_t d)
{
    double sums[8] = {0}, squares[8] = {0}, low = (double)INFINITY, high = -(double)INFINITY;
    struct embi_row_sums found;
    size_t bytes = emb_dtype_bytes(dtype);
    char name[64];
    for (uint32_t i = 0; i < d; i++) {
        double x = decode(dtype, row + i * bytes);
        sums[i % 8] += x;
        double square = x * x;
        squares[i % 8] += square;
        low = fmin(low, x);
        high = fmax(high, x);
    }
    struct embi_row_sums right = {join(sums), join(squares), (float)low, (float)high,
                                  hash_by_definition(row, d * bytes)};
    snprintf(name, sizeof name, "%s %s d %u", k->name, emb_dtype_name(dtype), d);
    (dtype == EMB_F32   ? k->figures_f32
     : dtype == EMB_F16 ? k->figures_f16
                        : k->figures_bf16)(row, d, &found);
    check_figures(name, &found, &right);
    if (dtype != EMB_F32)
        return;
    right.hash = 0;
    k->row_sums((const float *)(const void *)row, d, &found);
    check_figures(name, &found, &right);
}

static void test_row_sums_of(const struct embi_kern *k, emb_dtype dtype)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 0x1p-149, 6e4};
    size_t bytes = emb_dtype_bytes(dtype);
    for (uint32_t d = 0; d <= 100; d++)
        for (size_t before = 0; before < 4; before++) {
            unsigned char *row = place(0, d * bytes, before);
            for (uint32_t i = 0; i < d; i++)
                encode(dtype, random_unit() * ldexp(1, (int)(random_bits() % 15)), row + i * bytes);
            check_sums(k, dtype, row, d);
            for (size_t j = 0; d > 0 && j < sizeof odd / sizeof *odd; j++) {
                encode(dtype, odd[j], row + random_bits() % d * bytes);
                check_sums(k, dtype, row, d);
            }
            for (uint32_t i = 0; i < d; i++)
                encode(dtype, random_bits() & 1 ? -0.0 : 0.0, row + i * bytes);
            check_sums(k, dtype, row, d);
            for (uint32_t i = 0; i < d; i++)
                encode(dtype, (double)NAN, row + i * bytes);
            check_sums(k, dtype, row, d);
        }
}

static void test_row_sums(const struct embi_kern *k)
{
    test_row_sums_of(k, EMB_F32);
    test_row_sums_of(k, EMB_F16);
    test_row_sums_of(k, EMB_BF16);
}

/* Sums of columns over rows: element after element, as kern.h states. */
static void check_adds(const struct embi_kern *k, emb_dtype dtype, uint32_t d, size_t n,
                       size_t before)
{
    size_t bytes = emb_dtype_bytes(dtype);
    const void *rows[5];
    double want[100];
    double *sum = (double *)(void *)place(7, d * sizeof *sum, 8 * before);
    for (uint32_t c = 0; c < d; c++)
        sum[c] = want[c] = random_unit();
    for (size_t r = 0; r < n; r++) {
        unsigned char *row = place((int)r, d * bytes, before);
        rows[r] = row;
        for (uint32_t c = 0; c < d; c++) {
            encode(dtype, random_unit() * ldexp(1, (int)(random_bits() % 12)), row + c * bytes);
            want[c] += decode(dtype, row + c * bytes);
        }
    }
    if (dtype == EMB_F32)
        k->add_f32(sum, rows, n, d);
    else if (dtype == EMB_F16)
        k->add_f16(sum, rows, n, d);
    else
        k->add_bf16(sum, rows, n, d);
    CHECK(memcmp(sum, want, d * sizeof *sum) == 0, "%s %s d %u n %zu: sums of columns", k->name,
          emb_dtype_name(dtype), d, n);
}

static void test_adds(const struct embi_kern *k)
{
    for (uint32_t d = 0; d < 100; d++)
        for (size_t before = 0; before < 4; before++)
            for (size_t n = 0; n <= 5; n++) {
                check_adds(k, EMB_F32, d, n, before);
                check_adds(k, EMB_F16, d, n, before);
                check_adds(k, EMB_BF16, d, n, before);
            }
}

/* ------------------------------------------------------------------------------------------------
 * What all sets share
 */
static void test_dot_f64(void)
{
    double a[67] = {0}, b[67] = {0};
    for (uint32_t d = 0; d <= 67; d++) {
        double lane[8] = {0};
        for (uint32_t i = 0; i < d; i++) {
            a[i] = random_unit();
            b[i] = random_unit();
            double product = a[i] * b[i];
            lane[i % 8] += product;
        }
        double got = embi_dot_f64(a, b, d), want = join(lane);
        CHECK(same_double(got, want), "d %u: %a, not %a", d, got, want);
    }
}

static void test_bound(void)
{
    for (uint32_t d = 1; d != 0 && d < 1u << 30; d = d * 3 + 1) {
        double u = 0x1p-24, m = ceil(d / 8.0) + 8; /* what num/kern.h asks for at least */
        CHECK(embi_dot_bound(d) >= m * u / (1 - m * u) || m * u >= 0.5, "d %u: %g", d,
              embi_dot_bound(d));
        CHECK(embi_dot_bound(d) <= embi_dot_bound(d * 2), "d %u", d);
    }
    CHECK(embi_dot_bound(300) < 1e-5 && embi_dot_bound(4096) < 1e-4, "loose");
    CHECK(embi_dot_bound(UINT32_MAX) >= exp(UINT32_MAX / 8.0 * 0x1p-24), "largest d");
}

/* A field of text: mostly as tables have them, else of every other form; some lie as near to the
 * middle between two f32 as so many digits can. */
static int make_field(char *out, size_t room)
{
    const char *sign = random_bits() & 1 ? "-" : "";
    uint64_t kind = random_bits() % 16, bits = random_bits();
    float x;
    switch (kind) {
    case 0: return snprintf(out, room, "%s%.*e", sign, (int)(bits % 18), fabs(random_unit()));
    case 1: return snprintf(out, room, "%s%llu", sign, (unsigned long long)(bits >> bits % 64));
    case 2:
        return snprintf(out, room, "%s%llu.%llu", sign, (unsigned long long)(bits % 1000),
                        (unsigned long long)(bits >> bits % 64));
    case 3: return snprintf(out, room, "%s%d.", sign, (int)(bits % 10));
    case 4: return snprintf(out, room, "%s.%d", sign, (int)(bits % 1000));
    case 5:
        return snprintf(out, room, "%s%u.%0*d", sign, (unsigned)(bits % 10),
                        1 + (int)(bits >> 8 & 15), 0);
    case 6:
    case 7:
        x = (float)fabs(random_unit() * 9);
        return snprintf(out, room, "%s%.*f", sign, (int)(bits % 4) + 11,
                        ((double)x + (double)nextafterf(x, 10)) / 2);
    default:
        return snprintf(out, room, "%s%.*f", sign, (int)(bits % 15) + 1, fabs(random_unit() * 9.9));
    }
}

/* n fields as a line that ends at a page that may not be touched, at *line. */
static size_t make_line(size_t n, float *want, const char **line)
{
    static char text[1 << 14];
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        int bytes = make_field(text + at, 64);
        want[i] = strtof(text + at, NULL);
        at += (size_t)bytes;
        text[at++] = i + 1 < n ? " \t"[random_bits() % 8 == 0] : '\n';
    }
    char *to = (char *)place(0, at, random_bits() % 2 ? 0 : random_bits() % 80);
    memcpy(to, text, at);
    *line = to;
    return at;
}

/* Lines of every length, that end with the buffer or with LF, blanks and none at every place. */
static void test_lines(const struct embi_kern *k)
{
    for (size_t n = 0; n < 400; n++)
        for (int ended = 0; ended < 2; ended++) {
            char *line = (char *)place(0, n + (ended ? 1 + n % 3 : 0), 0);
            uint64_t want = 0, fields;
            for (size_t i = 0; i < n; i++) {
                line[i] = "a \t\rb \xA0"[random_bits() % 7];
                bool blank = line[i] == ' ' || line[i] == '\t';
                want += i > 0 && !blank && (line[i - 1] == ' ' || line[i - 1] == '\t');
            }
            memcpy(line + n, "\n \n", ended ? 1 + n % 3 : 0);
            size_t got = k->scan_line(line, n + (ended ? 1 + n % 3 : 0), &fields);
            CHECK(got == n && fields == want, "%s: %zu bytes, %llu fields, expected %zu, %llu",
                  k->name, got, (unsigned long long)fields, n, (unsigned long long)want);
        }
}

/* As a reader of rows goes over them: the kernel where it goes on, else one by one. */
static void test_fields(const struct embi_kern *k)
{
    enum { MOST = 100 };
    float want[MOST], got[MOST], one;
    size_t by_kernel = 0, all = 0;
    for (int round = 0; round < 20000; round++) {
        size_t n = 1 + random_bits() % MOST, at = 0, i = 0, used;
        const char *line;
        size_t bytes = make_line(n, want, &line);
        while (i < n) {
            size_t more = k->scan_fields(line + at, bytes - at, got + i, n - i, &used);
            i += more;
            at += used;
            by_kernel += more;
            if (i == n)
                break;
            used = embi_scan_f32(line + at, bytes - at, &one);
            CHECK(used > 0, "%s: stopped at '%.20s'", k->name, line + at);
            got[i++] = one;
            at += used + (i < n);
        }
        all += n;
        CHECK(line[at] == '\n' && at + 1 == bytes, "%s: %zu of %zu bytes", k->name, at, bytes);
        for (i = 0; i < n; i++)
            CHECK(memcmp(&got[i], &want[i], sizeof one) == 0, "%s: field %zu: %a, expected %a",
                  k->name, i, got[i], want[i]);
    }
    CHECK(by_kernel > all / 8, "%s: %zu of %zu fields", k->name, by_kernel, all);
}

/* Many fields of the usual form, which each set reads in one go, but for the last bytes. */
static void test_many_fields(const struct embi_kern *k)
{
    enum { MOST = 3000 };
    static char text[MOST * 16];
    static float want[MOST], got[MOST];
    for (size_t n = 1; n <= MOST; n += 1 + n / 8) {
        size_t bytes = 0, used;
        for (size_t i = 0; i < n; i++) {
            const char *sign = random_bits() & 1 ? "-" : "";
            char *field = text + bytes;
            bytes += (size_t)snprintf(field, 16, "%s%.*f ", sign, 1 + (int)(random_bits() % 8),
                                      fabs(random_unit()) * 9.9);
            want[i] = strtof(field, NULL);
        }
        text[bytes - 1] = '\n';
        char *line = (char *)place(0, bytes, 0);
        memcpy(line, text, bytes);
        size_t read = k->scan_fields(line, bytes, got, n, &used);
        CHECK(read <= n && n - read <= 64, "%s: %zu of %zu fields", k->name, read, n);
        CHECK(memcmp(got, want, read * sizeof *got) == 0, "%s: %zu fields", k->name, n);
    }
}

/* What is no number, and what ends a line, is not passed over. */
static void test_field_ends(const struct embi_kern *k)
{
    static const struct {
        const char *text;
        size_t n, used;
    } cases[] = {
        {"0.5 -0.25\n1.5 2.5 3.5", 2, 9},
        {"0.5 x.5 1.5", 1, 4},
        {"0.5 1.x 1.5", 1, 4},
        {"0.5 1.5x 1.5", 1, 4},
        {"0.5\r\n1.5", 1, 3},
        {"x", 0, 0},
        {"0.5 1,5 2.5", 1, 4},
        {"0.5 --1.5 2.5", 1, 4},
        {"0.5 1.5\xA0 2.5", 1, 4},
        {"0.5  1.5", 1, 4},
        {"0.5  ..5 1.5", 1, 4},
        {"0.5 1.5 ", 2, 8},
        {"-0.5\t1.5\n", 2, 8},
    };
    float out[8], want;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        size_t used, got, at = 0;
        memset(text, ' ', sizeof text);
        memcpy(text + 32, cases[i].text, strlen(cases[i].text));
        text[32 + strlen(cases[i].text)] = '\n';
        got = k->scan_fields(text + 32, sizeof text - 32, out, 8, &used);
        CHECK(got <= cases[i].n && used <= cases[i].used &&
                  (got < cases[i].n || used == cases[i].used),
              "%s: '%s': %zu fields, %zu bytes", k->name, cases[i].text, got, used);
        for (size_t f = 0; f < got; f++) {
            at += embi_scan_f32(text + 32 + at, sizeof text - 32 - at, &want) + 1;
            CHECK(want == out[f], "%s: '%s': field %zu is %g", k->name, cases[i].text, f, out[f]);
        }
        CHECK(k->scan_fields(text + 32, sizeof text - 32, out, 0, &used) == 0 && used == 0,
              "none asked for");
    }
}

static void test_choice(void)
{
    CHECK(embi_kern_choose(0) == &embi_kern_scalar, "no features");
    CHECK(embi_kern_choose(embi_cpu_features("avx512, avx2")) == &embi_kern_scalar,
          "all turned off");
    CHECK(embi_cpu_features("avx,avx51,sse2,nonsense") == embi_cpu_features(NULL), "unknown names");
}

int main(void)
{
    make_guarded();
    const struct embi_kern *sets[4];
    int n = sets_here(sets);
    CHECK(sets[0] == &embi_kern_scalar, "%s", sets[0]->name);
    for (int i = 0; i < n; i++) {
        printf("set %s\n", sets[i]->name);
        RUN(test_dots(sets[i]));
        RUN(test_widening(sets[i]));
        RUN(test_narrowing(sets[i]));
        RUN(test_conversion_edges(sets[i]));
        RUN(test_row_sums(sets[i]));
        RUN(test_adds(sets[i]));
        RUN(test_blocks(sets[i]));
        RUN(test_lines(sets[i]));
        RUN(test_fields(sets[i]));
        RUN(test_many_fields(sets[i]));
        RUN(test_field_ends(sets[i]));
        RUN(test_steps(sets[i]));
        RUN(test_halves(sets[i]));
    }
    RUN(test_choice());
    RUN(test_dot_f64());
    RUN(test_bound());
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
