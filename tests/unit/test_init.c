/* tests/unit/test_init.c - new rows: emb_init_rows, and the functions of num/normal.h below it.
 *
 * Expected bits were printed by tests/peers/init_oracle.py --vectors, which is the documented
 * formula in numpy. Functions are compared with the C library's in a wider type; distributions with
 * their moments and, by Kolmogorov and Smirnov's test, with their own distribution functions.
 */
#include <criterion/criterion.h>

#include "emb.h"
#include "num/deviates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct vector {
    emb_dist dist;
    double std;
    uint64_t seed;
    uint32_t stream;
    uint64_t first;
    uint32_t f32[18]; /* [2, 9] */
    uint64_t f64[18];
    uint16_t f16[18], bf16[18];
} vectors[] = {
    {EMB_NORMAL,
     1.0,
     UINT64_C(0x7),
     0x0,
     UINT64_C(0x0),
     {0x3998dd8d, 0xbe9c14e8, 0x3fe4f5ff, 0x3f88b00c, 0x3ec0b7f5, 0xbfa4bccd, 0x3fe7df5c,
      0xbefb83ee, 0x404c2eb5, 0x3f92ee03, 0x3fb8b43c, 0xbe8cbd35, 0xbb536857, 0x3f9371b4,
      0x3f9f5d85, 0xbf0ee87f, 0x3f9d86ec, 0xbe817df8},
     {UINT64_C(0x3fe4d586bf318c2e), UINT64_C(0x3fd8e02314da0319), UINT64_C(0x3fe4e7654a935a2d),
      UINT64_C(0xbfc6acbbd7f7a707), UINT64_C(0x3ffcb99a6f92cee8), UINT64_C(0xc0041deebc965116),
      UINT64_C(0x3ff11ab5691df3e9), UINT64_C(0x3ff46b6d4644d174), UINT64_C(0xbfc1beefabc5c757),
      UINT64_C(0xbfff8d1958ea6f9f), UINT64_C(0xbf97b2671551abc1), UINT64_C(0xbfeaa49704f294c2),
      UINT64_C(0x3ffd5e4e27434c4f), UINT64_C(0xbf992a05d7f77b59), UINT64_C(0x3ff943e65f410026),
      UINT64_C(0xbfe514c42d3f4ec4), UINT64_C(0xbfe2078560a44d71), UINT64_C(0xbffc44e4d6fbb338)},
     {0x0cc7, 0xb4e1, 0x3f28, 0x3c46, 0x3606, 0xbd26, 0x3f3f, 0xb7dc, 0x4261, 0x3c97, 0x3dc6,
      0xb466, 0x9a9b, 0x3c9c, 0x3cfb, 0xb877, 0x3cec, 0xb40c},
     {0x3999, 0xbe9c, 0x3fe5, 0x3f89, 0x3ec1, 0xbfa5, 0x3fe8, 0xbefc, 0x404c, 0x3f93, 0x3fb9,
      0xbe8d, 0xbb53, 0x3f93, 0x3f9f, 0xbf0f, 0x3f9e, 0xbe81}},
    {EMB_UNIFORM,
     1.0,
     UINT64_C(0x7),
     0x0,
     UINT64_C(0x0),
     {0x3fc99215, 0x3f5dd666, 0xbfab1360, 0xbfb7b8ac, 0xbea50453, 0x3f82ee30, 0xbf9186af,
      0x3fcb03cc, 0xbfdb023d, 0xbf8cb211, 0xbf9e45ee, 0x3fcd42d3, 0x3bd40017, 0xbf68fb50,
      0xbfa38947, 0xbeaf183a, 0xbf219956, 0x3e3deb6e},
     {UINT64_C(0x3febbaccc3444107), UINT64_C(0xbff6f7158546cb7e), UINT64_C(0x3ff05dc60159feee),
      UINT64_C(0x3ff96079928b9fb1), UINT64_C(0xbffb3e8a0a8a8888), UINT64_C(0x3ff3536a0bd695c1),
      UINT64_C(0xbfebb2d593aa06f9), UINT64_C(0xbff401db73c3bf4c), UINT64_C(0x3ffb22d25f4a2a27),
      UINT64_C(0xbff3c8bdd7236edf), UINT64_C(0x3f7a8002fc311a77), UINT64_C(0xbff47128dfa5e324),
      UINT64_C(0xbfe4332acf4344a9), UINT64_C(0xbfe7927b92108be4), UINT64_C(0xbfeb7032b19e3c1f),
      UINT64_C(0x3fe4b4ddc8e660d3), UINT64_C(0x3fd8f7131c5136b9), UINT64_C(0xbff0a552288e7fda)},
     {0x3e4d, 0x3aef, 0xbd59, 0xbdbe, 0xb528, 0x3c17, 0xbc8c, 0x3e58, 0xbed8, 0xbc66, 0xbcf2,
      0x3e6a, 0x1ea0, 0xbb48, 0xbd1c, 0xb579, 0xb90d, 0x31ef},
     {0x3fca, 0x3f5e, 0xbfab, 0xbfb8, 0xbea5, 0x3f83, 0xbf92, 0x3fcb, 0xbfdb, 0xbf8d, 0xbf9e,
      0x3fcd, 0x3bd4, 0xbf69, 0xbfa4, 0xbeaf, 0xbf22, 0x3e3e}},
    {EMB_TRUNCATED,
     1.0,
     UINT64_C(0x7),
     0x0,
     UINT64_C(0x0),
     {0x39adc8df, 0xbeb170e6, 0x40022595, 0x3f9b649d, 0x3edb1773, 0xbfbb4808, 0x4003cd43,
      0xbf0ef79f, 0x3e06c1f4, 0x3fa70963, 0x3fd1faf4, 0xbe9fffb5, 0xbb70568f, 0x3fa79f19,
      0x3fb52c8c, 0xbf2276fc, 0x3fb3158d, 0xbe933673},
     {UINT64_C(0x3fe7af67997d6762), UINT64_C(0x3fdc479956a48427), UINT64_C(0x3fe7c3b82864d80b),
      UINT64_C(0xbfc9c7187461c2f3), UINT64_C(0x400053f6365e7877), UINT64_C(0xbff0f4c22d1e20e4),
      UINT64_C(0x3ff371ec3cbefb72), UINT64_C(0x3ff736c927a33741), UINT64_C(0xbfc42c9fdd5e48ab),
      UINT64_C(0xc001ef36be08edbe), UINT64_C(0xbf9af092b677108a), UINT64_C(0xbfee49f802602d0b),
      UINT64_C(0x4000b19510b1e6ca), UINT64_C(0xbf9c9b988893ece0), UINT64_C(0x3ffcb9039c415754),
      UINT64_C(0xbfe7f74c8217b478), UINT64_C(0xbfe47f246d27b237), UINT64_C(0xc000119f14c6af46)},
     {0x0d6e, 0xb58c, 0x4011, 0x3cdb, 0x36d9, 0xbdda, 0x401e, 0xb878, 0x3036, 0x3d38, 0x3e90,
      0xb500, 0x9b83, 0x3d3d, 0x3da9, 0xb914, 0x3d99, 0xb49a},
     {0x39ae, 0xbeb1, 0x4002, 0x3f9b, 0x3edb, 0xbfbb, 0x4004, 0xbf0f, 0x3e07, 0x3fa7, 0x3fd2,
      0xbea0, 0xbb70, 0x3fa8, 0x3fb5, 0xbf22, 0x3fb3, 0xbe93}},
    {EMB_NORMAL,
     0.02,
     UINT64_C(0xfedcba9876543210),
     0xffffffff,
     UINT64_C(0x123456789abc),
     {0xbc997597, 0x3c84a069, 0x3c661020, 0x3bd1f077, 0xbccb4159, 0xbbeb6c63, 0x3cee2c27,
      0x3c780961, 0x3c2e6d14, 0x3ce3e058, 0xbc0621c5, 0x3be1adfc, 0xbc7e106b, 0x3cc63bd9,
      0xbc5755a4, 0x3d00a1bf, 0x3af2a4c1, 0xbc0f8ba2},
     {UINT64_C(0x3f99b051a0e8c6ad), UINT64_C(0x3f8771161fcd04f5), UINT64_C(0x3f9404a81a5befaf),
      UINT64_C(0x3f84d8e6318fdbcd), UINT64_C(0xbf7a68f1e23487d2), UINT64_C(0x3f77303af9916eb1),
      UINT64_C(0x3fa31793a3d3ebbd), UINT64_C(0xbf61cdbc896b1248), UINT64_C(0xbf870044f96eba6a),
      UINT64_C(0x3f644edb2037e2ac), UINT64_C(0xbf76dcbbcfa20f15), UINT64_C(0x3f809bf3724c4639),
      UINT64_C(0x3f3f54a1b1af075c), UINT64_C(0xbf971211a4f1c93a), UINT64_C(0xbf853ce67667c2b8),
      UINT64_C(0xbf8ca3add1f7aa9e), UINT64_C(0xbf66032072845ef2), UINT64_C(0xbf8fc4a38d142304)},
     {0xa4cc, 0x2425, 0x2331, 0x1e90, 0xa65a, 0x9f5b, 0x2771, 0x23c0, 0x2173, 0x271f, 0xa031,
      0x1f0d, 0xa3f1, 0x2632, 0xa2bb, 0x2805, 0x1795, 0xa07c},
     {0xbc99, 0x3c85, 0x3c66, 0x3bd2, 0xbccb, 0xbbeb, 0x3cee, 0x3c78, 0x3c2e, 0x3ce4, 0xbc06,
      0x3be2, 0xbc7e, 0x3cc6, 0xbc57, 0x3d01, 0x3af3, 0xbc10}},
};

static emb_ctx *new_context(int threads)
{
    emb_ctx_opts opts = {.size = sizeof opts, .threads = threads};
    emb_ctx *ctx;
    emb_err err;
    cr_assert_eq(emb_ctx_new(&opts, &ctx, &err), EMB_OK, "%s", err.msg);
    return ctx;
}

/* rows x dims elements, without gaps; the caller frees them. */
static void *make(const emb_init_opts *opts, uint64_t first, uint64_t rows, uint32_t dims,
                  emb_dtype dtype)
{
    emb_ctx *ctx = new_context(2);
    emb_err err;
    emb_block block = {.rows = rows, .dims = dims, .dtype = dtype};
    block.data = malloc(rows * dims * emb_dtype_bytes(dtype));
    cr_assert_eq(emb_init_rows(ctx, opts, first, &block, &err), EMB_OK, "%s", err.msg);
    emb_ctx_free(ctx);
    return block.data;
}

static emb_status status_of(emb_init_opts opts, uint64_t first, emb_dtype dtype)
{
    emb_ctx *ctx = new_context(1);
    emb_err err = {0};
    double room[16];
    emb_block block = {.data = room, .rows = 2, .dims = 8, .dtype = dtype};
    opts.size = sizeof opts;
    emb_status status = emb_init_rows(ctx, &opts, first, &block, &err);
    cr_assert_eq(status, status ? err.status : EMB_OK);
    cr_assert_eq(status != EMB_OK, err.msg[0] != 0);
    emb_ctx_free(ctx);
    return status;
}

/* ------------------------------------------------------------------------------------------- bits
 */

Test(init, bits_of_the_formula)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct vector *v = &vectors[i];
        emb_init_opts opts = {.size = sizeof opts, .dist = v->dist, .std = v->std};
        opts.seed = v->seed;
        opts.stream = v->stream;
        const emb_dtype dtypes[] = {EMB_F32, EMB_F64, EMB_F16, EMB_BF16};
        const void *expected[] = {v->f32, v->f64, v->f16, v->bf16};
        for (size_t k = 0; k < 4; k++) {
            void *got = make(&opts, v->first, 2, 9, dtypes[k]);
            cr_assert_eq(memcmp(got, expected[k], 18 * emb_dtype_bytes(dtypes[k])), 0,
                         "vector %zu, %s", i, emb_dtype_name(dtypes[k]));
            free(got);
        }
    }
}

Test(init, an_element_depends_on_its_place_alone)
{
    const emb_dist dists[] = {EMB_NORMAL, EMB_UNIFORM, EMB_TRUNCATED};
    for (size_t i = 0; i < 3; i++) {
        emb_init_opts opts = {.size = sizeof opts, .dist = dists[i], .std = 0.5, .seed = 9};
        const uint32_t widest =
            1032; /* beyond a tile, and like some of the others drawn in place */
        float *wide = make(&opts, 100, 50, widest, EMB_F32);
        for (uint32_t d = 1; d < widest; d += d / 2 + 1) {
            float *narrow = make(&opts, 120, 3, d, EMB_F32);
            for (size_t r = 0; r < 3; r++)
                cr_assert_eq(memcmp(narrow + r * d, wide + (20 + r) * widest, d * sizeof *wide), 0,
                             "dist %zu, d %u", i, d);
            free(narrow);
        }
        free(wide);
    }
}

Test(init, threads_change_nothing)
{
    emb_init_opts opts = {.size = sizeof opts, .dist = EMB_TRUNCATED, .seed = 3};
    const size_t rows = 3001, d = 301, bytes = rows * d * 4;
    unsigned char *first = NULL;
    for (int threads = 1; threads <= 4; threads++) {
        emb_ctx *ctx = new_context(threads);
        emb_err err;
        unsigned char *data = malloc(bytes);
        emb_block block = {.data = data, .rows = rows, .dims = (uint32_t)d, .dtype = EMB_F32};
        cr_assert_eq(emb_init_rows(ctx, &opts, 0, &block, &err), EMB_OK);
        emb_ctx_free(ctx);
        if (!first) {
            first = data;
            continue;
        }
        cr_assert_eq(memcmp(first, data, bytes), 0, "%d threads", threads);
        free(data);
    }
    free(first);
}

/* Rows with gaps, at odd addresses and at even ones, where fours of f32 are drawn in place: the
 * gaps stay as they were. */
static void check_gaps(emb_ctx *ctx, emb_dtype dtype, uint32_t dims, size_t shift, size_t gap)
{
    emb_err err;
    emb_init_opts opts = {.size = sizeof opts, .seed = 1};
    size_t row = dims * emb_dtype_bytes(dtype), stride = row + gap;
    unsigned char *packed = make(&opts, 5, 4, dims, dtype);
    unsigned char *room = malloc(shift + 4 * stride);
    memset(room, 0xAA, shift + 4 * stride);
    emb_block block = {room + shift, 4, dims, dtype, stride};
    cr_assert_eq(emb_init_rows(ctx, &opts, 5, &block, &err), EMB_OK);
    for (size_t i = 0; i < shift; i++)
        cr_assert_eq(room[i], 0xAA);
    for (size_t r = 0; r < 4; r++) {
        unsigned char *at = room + shift + r * stride;
        cr_assert_eq(memcmp(at, packed + r * row, row), 0);
        for (size_t i = row; i < stride; i++)
            cr_assert_eq(at[i], 0xAA);
    }
    free(room);
    free(packed);
}

Test(init, stride_and_alignment)
{
    const emb_dtype dtypes[] = {EMB_F64, EMB_F32, EMB_F16, EMB_BF16};
    emb_ctx *ctx = new_context(1);
    for (size_t i = 0; i < 4; i++) {
        check_gaps(ctx, dtypes[i], 7, 1, 3);
        check_gaps(ctx, dtypes[i], 12, 1, 3);
        check_gaps(ctx, dtypes[i], 7, 0, 8);
        check_gaps(ctx, dtypes[i], 12, 0, 8);
    }
    emb_ctx_free(ctx);
}

/* Of ops/draw.h, word for word: the first attempt that lies within [-2, 2]. */
static float truncated(uint64_t row, uint32_t column, const uint32_t key[2])
{
    float z[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    for (uint32_t attempt = 0; !(fabsf(z[column % 4]) <= 2); attempt++) {
        uint32_t w[4];
        embi_draw_words(row, column / 4, attempt, 0, key, w);
        embi_draw_normals_f32(w, z);
    }
    return z[column % 4];
}

/* Enough of them that some are drawn three times and four. */
Test(init, truncated_ones_are_the_first_within)
{
    enum { ROWS = 40, D = 4099 };
    const uint32_t key[2] = {11, 0};
    const double std = 0.87962566103423978; /* so that the scale is 1 */
    emb_init_opts opts = {.size = sizeof opts, .dist = EMB_TRUNCATED, .std = std, .seed = 11};
    float *got = make(&opts, 7, ROWS, D, EMB_F32);
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < D; c++)
            cr_assert_eq(got[r * D + c], truncated(7 + r, c, key), "row %d column %u", (int)r, c);
    free(got);
}

/* -------------------------------------------------------------------------------------- functions
 */

/* |a - b| in units in the last place of b as f32, as f64. */
static double ulps_f32(float a, double b)
{
    return fabs((double)a - b) / ldexp(1, ilogb(b) - 23);
}

static double ulps_f64(double a, long double b)
{
    return (double)(fabsl((long double)a - b) / ldexpl(1, ilogbl(b) - 52));
}

Test(normal, functions_of_f32)
{
    double log_error = 0, cos_error = 0, sin_error = 0;
    for (uint32_t bits = 0x2f800000; bits < 0x3f800000; bits += 37) { /* 2^-32 .. 1 */
        float u = embi_f32_of(bits);
        log_error = fmax(log_error, ulps_f32(embi_log_f32(u), log((double)u)));
    }
    for (int i = -500000; i <= 500000; i++) {
        float y = (float)(i + 0.5) * (0x1.921fb6p-1f / 500001);
        cos_error = fmax(cos_error, ulps_f32(embi_cos_f32(y), cos((double)y)));
        sin_error = fmax(sin_error, ulps_f32(embi_sin_f32(y), sin((double)y)));
    }
    cr_assert_lt(log_error, 2.0, "log: %g", log_error);
    cr_assert_lt(cos_error, 1.5, "cos: %g", cos_error);
    cr_assert_lt(sin_error, 1.5, "sin: %g", sin_error);
    cr_assert_eq(embi_log_f32(1.0f), 0);
}

Test(normal, functions_of_f64)
{
    double log_error = 0, cos_error = 0, sin_error = 0;
    for (int i = 0; i < 1000000; i++) {
        double u = i % 2 ? exp2(-53.0 * (i + 0.37) / 1000000) : 1 - 0.4 * (i + 0.37) / 1000000;
        double y = (i - 499999.5) / 500000 * 0x1.921fb54442d18p-1;
        log_error = fmax(log_error, ulps_f64(embi_log_f64(u), logl((long double)u)));
        cos_error = fmax(cos_error, ulps_f64(embi_cos_f64(y), cosl((long double)y)));
        sin_error = fmax(sin_error, ulps_f64(embi_sin_f64(y), sinl((long double)y)));
    }
    cr_assert_lt(log_error, 3.0, "log: %g", log_error);
    cr_assert_lt(cos_error, 1.5, "cos: %g", cos_error);
    cr_assert_lt(sin_error, 1.5, "sin: %g", sin_error);
}

/* All four quadrants and the ends of both words. */
Test(normal, deviates_at_chosen_words)
{
    const double pi = 3.14159265358979323846;
    const uint32_t words[] = {0,          1,          0x1fffffff, 0x20000000,
                              0x40000000, 0x60000000, 0x7fffffff, 0x80000000,
                              0x9fffffff, 0xc0000001, 0xe0000000, 0xffffffff};
    for (size_t i = 0; i < 144; i++) {
        uint32_t radius = words[i / 12], angle = words[i % 12];
        double u = ((double)(radius >> 1) + 0.5) / 2147483648.0, r = sqrt(-2 * log(u));
        double t = (angle + 0.5) * 2 * pi / 4294967296.0;
        float a, b;
        embi_normal_f32(radius, angle, &a, &b);
        double off = 3e-6 + fmin(2.5e-4, 0x1p-24 / r); /* u was rounded to f32: 2^-25 near 1 */
        cr_assert_float_eq(a, r * cos(t), off, "%08x %08x", radius, angle);
        cr_assert_float_eq(b, r * sin(t), off, "%08x %08x", radius, angle);
        double c, d;
        embi_normal_f64((uint64_t)radius << 32, (uint64_t)angle << 32, &c, &d);
        u = ((double)((uint64_t)radius << 21) + 1) / 9007199254740992.0;
        r = sqrt(-2 * log(u));
        t = (double)angle * 2 * pi / 4294967296.0;
        cr_assert_float_eq(c, r * cos(t), 1e-14, "%08x %08x", radius, angle);
        cr_assert_float_eq(d, r * sin(t), 1e-14, "%08x %08x", radius, angle);
    }
    float a, b;
    embi_normal_f32(0, 0, &a, &b);
    cr_assert_float_eq(hypot((double)a, (double)b), sqrt(64 * log(2)), 1e-5);
}

/* ---------------------------------------------------------------------------------- distributions
 */

#define SAMPLES 1000000

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/* The distribution function at x deviations. */
static double cdf(emb_dist dist, double x)
{
    if (dist == EMB_NORMAL)
        return normal_cdf(x);
    if (dist == EMB_UNIFORM)
        return (x / sqrt(3) + 1) / 2;
    double low = normal_cdf(-2); /* its own deviation, from the integral of x^2 over [-2, 2] */
    double own = sqrt(1 - 4 * exp(-2) / sqrt(8 * atan(1)) / (1 - 2 * low));
    return (normal_cdf(x * own) - low) / (1 - 2 * low);
}

/* Bounds are five standard errors and more; the samples are the same in every run. */
static void check_distribution(emb_dist dist, emb_dtype dtype, double kurtosis, double largest)
{
    emb_init_opts opts = {.size = sizeof opts, .dist = dist, .std = 0.25, .seed = 20};
    void *raw = make(&opts, 0, SAMPLES / 1000, 1000, dtype);
    double *x = malloc(SAMPLES * sizeof *x), sum[5] = {0}, distance = 0;
    emb_err err;
    emb_convert(x, EMB_F64, raw, dtype, SAMPLES, NULL, &err);
    for (size_t i = 0; i < SAMPLES; i++)
        for (int k = 1; k <= 4; k++)
            sum[k] += pow(x[i] /= k == 1 ? 0.25 : 1, k);
    qsort(x, SAMPLES, sizeof *x, by_value);
    for (size_t i = 0; i < SAMPLES; i++)
        distance = fmax(distance, fabs(cdf(dist, x[i]) - (i + 0.5) / SAMPLES));
    cr_assert_lt(fabs(sum[1] / SAMPLES), 0.005, "mean %g", sum[1] / SAMPLES);
    cr_assert_lt(fabs(sum[2] / SAMPLES - 1), 0.007, "variance %g", sum[2] / SAMPLES);
    cr_assert_lt(fabs(sum[3] / SAMPLES), 0.02, "skewness %g", sum[3] / SAMPLES);
    cr_assert_lt(fabs(sum[4] / SAMPLES - kurtosis), 0.05, "kurtosis %g", sum[4] / SAMPLES);
    cr_assert_lt(distance, 0.00195, "distance %g", distance); /* P = 0.1 % at 1.95 / sqrt(n) */
    cr_assert_leq(fmax(-x[0], x[SAMPLES - 1]), largest);
    free(x);
    free(raw);
}

Test(init, distributions)
{
    const emb_dtype dtypes[] = {EMB_F32, EMB_F64};
    for (size_t i = 0; i < 2; i++) {
        check_distribution(EMB_NORMAL, dtypes[i], 3, 6.67);
        check_distribution(EMB_UNIFORM, dtypes[i], 9.0 / 5, sqrt(3) * (1 + 1e-7));
        check_distribution(EMB_TRUNCATED, dtypes[i], 2.3654, 2 / 0.8796256);
    }
}

static double correlation(const float *a, const float *b, size_t n)
{
    double ab = 0;
    for (size_t i = 0; i < n; i++)
        ab += (double)a[i] * (double)b[i];
    return ab / (double)n;
}

Test(init, neighbours_and_streams_are_independent)
{
    const size_t n = 500000;
    const double bound = 5 / sqrt((double)n);
    emb_init_opts opts = {.size = sizeof opts, .std = 1, .seed = 4};
    float *a = make(&opts, 0, 1000, 1000, EMB_F32);
    for (size_t lag = 1; lag <= 5; lag++)
        cr_assert_lt(fabs(correlation(a, a + lag, n)), bound, "columns, lag %zu", lag);
    for (size_t lag = 1; lag <= 5; lag++)
        cr_assert_lt(fabs(correlation(a, a + 1000 * lag, n)), bound, "rows, lag %zu", lag);
    for (int i = 0; i < 4; i++) {
        emb_init_opts other = opts;
        other.seed = i == 0 ? 5 : i == 1 ? 4 + (1ull << 32) : 4;
        other.stream = i == 2;
        float *b = make(&other, i == 3 ? 1ull << 32 : 0, 500, 1000, EMB_F32);
        cr_assert_lt(fabs(correlation(a, b, n)), bound, "other %d", i);
        free(b);
    }
    free(a);
}

/* ----------------------------------------------------------------------------- the plain ones */

Test(init, default_deviation_and_options)
{
    emb_init_opts opts = {.size = sizeof opts, .std = 0.125};
    float *a = make(NULL, 0, 10, 64, EMB_F32), *b = make(&opts, 0, 10, 64, EMB_F32);
    cr_assert_eq(memcmp(a, b, 640 * sizeof *a), 0, "1 / sqrt(64) is 0.125");
    free(a);
    free(b);
}

Test(init, zeros_constant_identity)
{
    emb_init_opts opts = {.size = sizeof opts, .dist = EMB_ZEROS};
    unsigned char *zero = make(&opts, 0, 3, 5, EMB_F64);
    for (size_t i = 0; i < 15 * 8; i++)
        cr_assert_eq(zero[i], 0);
    free(zero);
    opts.dist = EMB_CONSTANT;
    opts.value =
        0.2691408770292272; /* between two bf16 numbers, and just on one side of the middle */
    uint16_t *b = make(&opts, 7, 2, 2, EMB_BF16);
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(b[i], 0x3e8a);
    free(b);
    opts.value = 1 + 0x1p-11 + 0x1p-40; /* f16 by way of f32 would give 1 */
    uint16_t *h = make(&opts, 7, 2, 2, EMB_F16);
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(h[i], 0x3c01);
    free(h);
    opts.dist = EMB_IDENTITY;
    float *e = make(&opts, 2, 4, 4, EMB_F32);
    for (size_t i = 0; i < 16; i++)
        cr_assert_eq(e[i], i == 2 || i == 7 ? 1.0f : 0.0f);
    free(e);
}

Test(init, what_makes_no_sense_is_refused)
{
    const emb_init_opts bad[] = {
        {.std = -1},
        {.std = NAN},
        {.std = INFINITY},
        {.dist = EMB_CONSTANT, .value = NAN},
        {.dist = EMB_CONSTANT, .value = -INFINITY},
        {.dist = (emb_dist)77},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(status_of(bad[i], 0, EMB_F32), EMB_BAD_ARG, "%zu", i);
    cr_assert_eq(status_of((emb_init_opts){0}, 0, EMB_I8), EMB_BAD_ARG);
    cr_assert_eq(status_of((emb_init_opts){0}, 0, EMB_DTYPE_NONE), EMB_BAD_ARG);
    cr_assert_eq(status_of((emb_init_opts){0}, (1ull << 48) - 1, EMB_F32), EMB_BAD_ARG);
    cr_assert_eq(status_of((emb_init_opts){0}, (1ull << 48) - 2, EMB_F32), EMB_OK);
    cr_assert_eq(status_of((emb_init_opts){.dist = EMB_CONSTANT, .value = 65519}, 0, EMB_F16),
                 EMB_OK);
    cr_assert_eq(status_of((emb_init_opts){.dist = EMB_CONSTANT, .value = 65520}, 0, EMB_F16),
                 EMB_BAD_ARG);
    cr_assert_eq(status_of((emb_init_opts){.std = 9000}, 0, EMB_F16), EMB_OK);
    cr_assert_eq(status_of((emb_init_opts){.std = 10000}, 0, EMB_F16), EMB_BAD_ARG);
    cr_assert_eq(status_of((emb_init_opts){.std = 1e-9}, 0, EMB_F16), EMB_BAD_ARG);
    cr_assert_eq(status_of((emb_init_opts){.std = 1e-9}, 0, EMB_F32), EMB_OK);
    cr_assert_eq(status_of((emb_init_opts){.std = 1e300}, 0, EMB_F32), EMB_BAD_ARG);
    cr_assert_eq(status_of((emb_init_opts){.std = 1e300}, 0, EMB_F64), EMB_OK);
}

Test(init, empty_blocks)
{
    emb_ctx *ctx = new_context(1);
    emb_err err;
    emb_block block = {.data = NULL, .rows = 0, .dims = 8, .dtype = EMB_F32};
    cr_assert_eq(emb_init_rows(ctx, NULL, 0, &block, &err), EMB_OK);
    block = (emb_block){.data = NULL, .rows = 4, .dims = 0, .dtype = EMB_F32};
    cr_assert_eq(emb_init_rows(ctx, NULL, 0, &block, &err), EMB_OK);
    emb_ctx_free(ctx);
}
