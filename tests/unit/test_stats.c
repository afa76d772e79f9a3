/* tests/unit/test_stats.c - emb_stats_run and its parts.
 *
 * Tables are .npy files written here from the format's rules. Expected figures are computed here in
 * long double by the definitions, with sorted arrays and pairs of loops; quantiles also against
 * values that numpy 2.4 gave.
 */
#include <criterion/criterion.h>

#include "emb.h"
#include "num/row_hash.h"
#include "ops/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

/* A .npy file (version 1.0) of these bytes; the caller removes it. */
static void write_npy(char path[32], const char *descr, uint64_t rows, uint32_t dims,
                      const void *data, size_t bytes)
{
    char text[118];
    strcpy(path, "/tmp/stats-XXXXXX");
    FILE *f = fdopen(mkstemp(path), "wb");
    cr_assert_not_null(f);
    memset(text, ' ', sizeof text);
    int n = snprintf(text, sizeof text,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%llu, %u), }", descr,
                     (unsigned long long)rows, dims);
    text[n] = ' ';
    text[sizeof text - 1] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, f);
    fwrite(text, 1, sizeof text, f);
    fwrite(data, 1, bytes, f);
    cr_assert_eq(fclose(f), 0);
}

struct how {
    int threads;
    const char *disable_cpu;
    bool all; /* columns and lists */
};

static void stats_of_file(const char *path, struct how how, emb_stats *stats)
{
    emb_ctx_opts ctx_opts = {.size = sizeof ctx_opts, .threads = how.threads};
    ctx_opts.disable_cpu = how.disable_cpu;
    emb_stats_opts opts = {.size = sizeof opts, .columns = how.all, .list_rows = how.all};
    emb_ctx *ctx;
    emb_table *table;
    emb_err err;
    cr_assert_eq(emb_ctx_new(&ctx_opts, &ctx, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(emb_table_open(ctx, path, NULL, &table, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(emb_stats_run(table, &opts, stats, &err), EMB_OK, "%s", err.msg);
    emb_table_close(table);
    emb_ctx_free(ctx);
}

static void stats_of(const char *descr, uint64_t rows, uint32_t dims, const void *data,
                     size_t bytes, emb_stats *stats)
{
    char path[32];
    write_npy(path, descr, rows, dims, data, bytes);
    stats_of_file(path, (struct how){.threads = 2, .all = true}, stats);
    unlink(path);
}

#define STATS(descr, table, stats) \
    stats_of(descr, LEN(table), (uint32_t)LEN((table)[0]), table, sizeof(table), stats)

static void near(double found, double expected, double part, const char *what)
{
    cr_assert(fabs(found - expected) <= part * fabs(expected), "%s: expected %.17g, found %.17g",
              what, expected, found);
}

/* ------------------------------------------------------------------------------------ small tables
 */

Test(stats, a_table_counted_by_hand)
{
    const float t[7][2] = {{3, 4}, {0, 0}, {6, 8}, {3, 4}, {NAN, 1}, {-5, 12}, {0, 0}};
    emb_stats s;
    STATS("<f4", t, &s);
    cr_assert(s.rows == 7 && s.finite_rows == 6 && s.nonfinite_rows == 1);
    cr_assert(s.zero_rows == 2 && s.duplicate_rows == 2);
    cr_assert(s.zero_list[0] == 1 && s.zero_list[1] == 6);
    cr_assert_eq(s.nonfinite_list[0], 4);
    cr_assert(s.duplicate_list[0] == 3 && s.duplicate_list[1] == 6);
    near(s.mean, 35.0 / 12, 1e-15, "mean");
    near(s.std, sqrt(319.0 / 12 - 35.0 / 12 * 35 / 12), 1e-14, "std");
    cr_assert(s.min == -5 && s.max == 12);
    cr_assert(s.norm_min == 0 && s.norm_max == 13 && s.norm_median == 5);
    near(s.norm_mean, 33.0 / 6, 1e-15, "mean norm");
    near(s.norm_p05, 0, 0, "p05");         /* place 0.25 of 0 0 5 5 10 13 */
    near(s.norm_p95, 12.25, 1e-15, "p95"); /* place 4.75 */
    cr_assert(s.norm_min_row == 1 && s.norm_max_row == 5);
    cr_assert(s.histogram[0] == 2 && s.histogram[7] == 2); /* 5 / 13 * 20 = 7.7 */
    cr_assert(s.histogram[15] == 1 && s.histogram[19] == 1);
    cr_assert(s.col_min[0] == -5 && s.col_max[0] == 6 && s.col_min[1] == 0 && s.col_max[1] == 12);
    near(s.col_mean[0], 7.0 / 6, 1e-15, "column 0");
    near(s.col_mean[1], 28.0 / 6, 1e-15, "column 1");
    near(s.col_std[1], sqrt(240.0 / 6 - 28.0 / 6 * 28 / 6), 1e-14, "deviation 1");
    emb_stats_free(&s);
    cr_assert_null(s.col_mean);
}

Test(stats, no_rows_and_no_finite_rows)
{
    const float none[1][3] = {{0}}, nan[3][2] = {{NAN, 1}, {INFINITY, 2}, {NAN, 1}};
    emb_stats s;
    stats_of("<f4", 0, 3, none, 0, &s);
    cr_assert(s.rows == 0 && s.finite_rows == 0 && s.duplicate_rows == 0);
    cr_assert(isnan(s.mean) && isnan(s.std) && isnan(s.min) && isnan(s.norm_median));
    cr_assert(isnan(s.norm_min) && isnan(s.norm_max) && isnan(s.norm_mean) && isnan(s.col_std[2]));
    emb_stats_free(&s);
    STATS("<f4", nan, &s);
    cr_assert(s.rows == 3 && s.finite_rows == 0 && s.nonfinite_rows == 3 && s.duplicate_rows == 1);
    cr_assert(isnan(s.mean) && isnan(s.max) && isnan(s.norm_p95) && isnan(s.col_min[1]));
    emb_stats_free(&s);
}

Test(stats, zeros_of_both_signs)
{
    const float t[4][2] = {{0, 0}, {-0.0f, 0}, {0, 0}, {-0.0f, 0}};
    emb_stats s;
    STATS("<f4", t, &s);
    cr_assert(s.zero_rows == 4 && s.duplicate_rows == 2); /* bit for bit, -0 is not 0 */
    cr_assert(s.duplicate_list[0] == 2 && s.duplicate_list[1] == 3);
    cr_assert(!signbit(s.min) && !signbit(s.max) && !signbit(s.col_min[0]));
    cr_assert(s.std == 0 && s.histogram[0] == 4);
    emb_stats_free(&s);
}

/* Means that are large against the deviation. */
Test(stats, deviation_does_not_cancel)
{
    static float a[3000][1], b[10][1], wide[600][33];
    const double exact = 2 * sqrt(2.0 / 3);
    emb_stats s;
    for (int i = 0; i < 3000; i++)
        a[i][0] = 16777216.0f + 2 * (float)(i % 3);
    STATS("<f4", a, &s);
    near(s.std, exact, 1e-10, "3 values");
    near(s.col_std[0], exact, 1e-10, "3 values, column");
    emb_stats_free(&s);
    for (int i = 0; i < 600 * 33; i++)
        wide[i / 33][i % 33] = 16777216.0f + 2 * (float)(i % 3);
    STATS("<f4", wide, &s);
    near(s.std, exact, 1e-10, "33 columns");
    emb_stats_free(&s);
    long double mean = 0, square = 0;
    for (int i = 0; i < 10; i++) {
        b[i][0] = (float)(1 + (i % 2 ? 1e-5 : -1e-5) * (i % 5) / 4);
        mean += (long double)b[i][0] / 10;
    }
    for (int i = 0; i < 10; i++)
        square += (b[i][0] - mean) * (b[i][0] - mean);
    STATS("<f4", b, &s);
    near(s.std, (double)sqrtl(square / 10), 1e-11, "near 1");
    emb_stats_free(&s);
}

/* A first row that is far from all others is what sums are taken about. */
Test(stats, columns_with_an_outlier_first)
{
    static double t[5000][2];
    emb_stats s;
    t[0][0] = 1e9;
    for (int i = 1; i < 5000; i++)
        t[i][0] = t[i][1] = i % 2 ? 0.5 : -0.5;
    STATS("<f8", t, &s);
    near(s.col_mean[0], 1e9 / 5000 + 0.5 / 5000, 1e-13, "mean");
    near(s.col_std[1], sqrt(0.25 * 4999 / 5000 - 0.25 / 5000 / 5000), 1e-13, "deviation");
    emb_stats_free(&s);
}

Test(stats, squares_beyond_f64)
{
    const double t[5][2] = {{3e200, 4e200}, {3e-200, -4e-200}, {5e-324, 0}, {1e308, 0}, {0, 0}};
    emb_stats s;
    STATS("<f8", t, &s);
    cr_assert(s.finite_rows == 5 && s.zero_rows == 1);
    near(s.norm_median, 5e-200, 1e-15, "median");
    near(s.norm_max, 1e308, 1e-15, "max");
    cr_assert(s.norm_min_row == 4 && s.norm_max_row == 3);
    emb_stats_free(&s);
    const double tiny[2][2] = {{5e-324, 0}, {3e-200, 4e-200}};
    STATS("<f8", tiny, &s);
    cr_assert(s.norm_min == 5e-324 && s.zero_rows == 0);
    emb_stats_free(&s);
}

Test(stats, integers)
{
    const int8_t a[3][2] = {{-128, 127}, {0, 0}, {3, -4}};
    const uint64_t b[2][2] = {{0, UINT64_MAX}, {1ull << 63, 1}};
    const uint32_t c[2][1] = {{4294967295u}, {4294967294u}};
    emb_stats s;
    STATS("|i1", a, &s);
    near(s.mean, -2.0 / 6, 1e-15, "i1");
    near(s.norm_median, 5, 0, "i1");
    cr_assert(s.min == -128 && s.max == 127 && s.zero_rows == 1);
    emb_stats_free(&s);
    STATS("<u8", b, &s);
    cr_assert(s.max == 0x1p64 && s.min == 0);
    near(s.norm_max, 0x1p64, 0, "u8");
    emb_stats_free(&s);
    STATS("<u4", c, &s);
    cr_assert(s.mean == 4294967294.5 && s.std == 0.5 && s.max == 4294967295.0);
    emb_stats_free(&s);
}

Test(stats, rows_that_are_no_arrays_in_the_file)
{
    const unsigned char big[2][8] = {{0x40, 0x40, 0, 0, 0x40, 0x80, 0, 0},
                                     {0, 0, 0, 0, 0, 0, 0, 0}};
    emb_stats s; /* big-endian 3, 4 and 0, 0 */
    stats_of(">f4", 2, 2, big, sizeof big, &s);
    cr_assert(s.norm_max == 5 && s.mean == 1.75 && s.zero_rows == 1 && s.duplicate_rows == 0);
    emb_stats_free(&s);
}

/* Text: rows are parsed, and equal when their numbers are. */
Test(stats, text)
{
    char path[32] = "/tmp/stats-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    fputs("4 2\na 3 4\nb 0.5 1e2\nc 3.0 4\nd 0 0\n", f);
    fclose(f);
    emb_stats s;
    stats_of_file(path, (struct how){.threads = 1, .all = true}, &s);
    unlink(path);
    cr_assert(s.rows == 4 && s.duplicate_rows == 1 && s.duplicate_list[0] == 2 && s.zero_rows == 1);
    cr_assert(s.max == 100 && s.norm_median == 5);
    emb_stats_free(&s);
}

/* ----------------------------------------------------------------------------- against definitions
 */

static uint64_t random_state = 88172645463325252u;

/* Marsaglia's xorshift64. */
static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_quantile(const double *sorted, size_t n, double q)
{
    double place = (double)(n - 1) * q;
    size_t i = (size_t)place;
    double a = sorted[i], b = sorted[i + 1 < n ? i + 1 : i], t = place - (double)i;
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

Test(quantiles, of_every_kind_of_numbers)
{
    static double x[5000], sorted[5000], room[5000];
    const double q[] = {0, 0.05, 0.25, 0.5, 0.95, 0.999, 1};
    for (int kind = 0; kind < 6; kind++)
        for (size_t n = 1; n <= 5000; n = n < 70 ? n + 1 : n * 3) {
            for (size_t i = 0; i < n; i++) {
                uint64_t w = random_word();
                double u = (double)(w >> 11) * 0x1p-53, decades = exp(u * 600 - 300);
                double choice[] = {u, decades,           (double)(w % 3),
                                   7, i ? 1 + u : 1e300, i % 2 ? 0 : 5e-324};
                x[i] = sorted[i] = choice[kind];
            }
            qsort(sorted, n, sizeof *sorted, by_value);
            for (size_t room_n = 0; room_n <= n; room_n += n / 3 + 1) {
                double out[LEN(q)];
                embi_quantiles(x, n, q, out, LEN(q), room, room_n);
                for (size_t k = 0; k < LEN(q); k++)
                    cr_assert_eq(out[k], sorted_quantile(sorted, n, q[k]), "kind %d, n %zu, q %g",
                                 kind, n, q[k]);
            }
        }
}

/* numpy.quantile([0.1, 0.7, 0.2, 1.3, 0.4, 2.9, 0.3], [0.05, 0.5, 0.95]) */
Test(quantiles, of_numpy)
{
    const double x[] = {0.1, 0.7, 0.2, 1.3, 0.4, 2.9, 0.3}, q[] = {0.05, 0.5, 0.95};
    double out[3];
    embi_quantiles(x, 7, q, out, 3, NULL, 0);
    cr_assert_eq(out[0], 0x1.0a3d70a3d70a4p-3 /* 0.13 */);
    cr_assert_eq(out[1], 0x1.999999999999ap-2 /* 0.4 */);
    cr_assert_eq(out[2], 0x1.35c28f5c28f5ap+1 /* 2.419999999999999 */);
}

#define V 70000
#define D 13

/* Values near 0.3 with a few rows of every odd kind, and copies. */
static void fill(float *t)
{
    for (size_t i = 0; i < V * D; i++)
        t[i] = (float)(random_word() >> 40) * 0x1p-23f - 0.7f;
    for (size_t i = 0; i < 40; i++) {
        float *row = t + random_word() % V * D, *from = t + random_word() % V * D;
        if (i % 4 == 0)
            memset(row, 0, D * sizeof *row);
        else if (i % 4 == 1)
            row[random_word() % D] = i % 8 == 1 ? NAN : -INFINITY;
        else
            memcpy(row, from, D * sizeof *row);
    }
}

/* Is row r equal to an earlier one? Only rows that begin alike are compared. */
static uint64_t count_duplicates(const float *t)
{
    uint64_t n = 0;
    uint32_t *first = malloc(V * sizeof *first);
    for (size_t r = 0; r < V; r++)
        memcpy(&first[r], t + r * D + 5, sizeof *first);
    for (size_t r = 0; r < V; r++) {
        size_t s = 0;
        while (s < r && (first[s] != first[r] || memcmp(t + s * D, t + r * D, D * sizeof *t) != 0))
            s++;
        n += s < r;
    }
    free(first);
    return n;
}

struct expected {
    long double mean, std, col_mean[D], col_std[D];
    double *norms; /* of the n finite rows, in order */
    size_t n;
};

static bool finite_row(const float *row)
{
    bool finite = true;
    for (size_t c = 0; c < D; c++)
        finite = finite && isfinite(row[c]);
    return finite;
}

static void define(const float *t, struct expected *e)
{
    *e = (struct expected){.norms = malloc(V * sizeof *e->norms)};
    for (size_t r = 0; r < V; r++) {
        long double norm2 = 0;
        if (!finite_row(t + r * D))
            continue;
        for (size_t c = 0; c < D; c++) {
            norm2 += (long double)t[r * D + c] * t[r * D + c];
            e->col_mean[c] += t[r * D + c];
        }
        e->norms[e->n++] = (double)sqrtl(norm2);
    }
    for (size_t c = 0; c < D; c++) {
        e->mean += e->col_mean[c] / e->n / D;
        e->col_mean[c] /= e->n;
    }
    for (size_t i = 0; i < V * D; i++) {
        long double a = t[i] - e->mean, b = t[i] - e->col_mean[i % D];
        if (!finite_row(t + i / D * D))
            continue;
        e->std += a * a / e->n / D;
        e->col_std[i % D] += b * b / e->n;
    }
    qsort(e->norms, e->n, sizeof *e->norms, by_value);
}

Test(stats, a_large_table_by_the_definitions)
{
    float *t = malloc(V * D * sizeof *t);
    struct expected e;
    emb_stats s;
    fill(t);
    define(t, &e);
    stats_of("<f4", V, D, t, V * D * sizeof *t, &s);
    cr_assert(s.rows == V && s.finite_rows == e.n && s.nonfinite_rows == V - e.n && e.n < V);
    near(s.mean, (double)e.mean, 1e-12, "mean");
    near(s.std, (double)sqrtl(e.std), 1e-12, "std");
    for (size_t c = 0; c < D; c++) {
        near(s.col_mean[c], (double)e.col_mean[c], 1e-12, "column mean");
        near(s.col_std[c], (double)sqrtl(e.col_std[c]), 1e-12, "column std");
    }
    near(s.norm_min, e.norms[0], 1e-15, "least norm");
    near(s.norm_p05, sorted_quantile(e.norms, e.n, 0.05), 1e-15, "p05");
    near(s.norm_median, sorted_quantile(e.norms, e.n, 0.5), 1e-15, "median");
    near(s.norm_p95, sorted_quantile(e.norms, e.n, 0.95), 1e-15, "p95");
    near(s.norm_max, e.norms[e.n - 1], 1e-15, "greatest norm");
    cr_assert_eq(s.duplicate_rows, count_duplicates(t));
    uint64_t in_steps = 0;
    for (size_t i = 0; i < LEN(s.histogram); i++)
        in_steps += s.histogram[i];
    cr_assert_eq(in_steps, e.n);
    emb_stats_free(&s);
    free(e.norms);
    free(t);
}

/* One-hot rows: all sums agree, no two rows do. And rows that are all the same. */
Test(stats, duplicates_among_rows_alike)
{
    static float eye[2000][2000], same[3000][16];
    emb_stats s;
    for (size_t i = 0; i < 2000; i++)
        eye[i][i] = 1;
    STATS("<f4", eye, &s);
    cr_assert_eq(s.duplicate_rows, 0);
    cr_assert_null(s.duplicate_list);
    emb_stats_free(&s);
    for (size_t i = 0; i < 3000 * 16; i++)
        same[i / 16][i % 16] = 2;
    STATS("<f4", same, &s);
    cr_assert_eq(s.duplicate_rows, 2999);
    for (size_t i = 0; i < 2999; i++)
        cr_assert_eq(s.duplicate_list[i], i + 1);
    cr_assert(s.std == 0 && s.norm_min_row == 0 && s.norm_max_row == 0 && s.histogram[0] == 3000);
    emb_stats_free(&s);
}

/* Enough rows for many buckets: pairs (i mod 251, i mod 241) repeat after 60491. */
Test(stats, duplicates_in_many_buckets)
{
    enum { ROWS = 100000, CYCLE = 251 * 241 };
    static float t[ROWS][2];
    char path[32];
    for (size_t i = 0; i < ROWS; i++) {
        t[i][0] = (float)(i % 251);
        t[i][1] = (float)(i % 241);
    }
    write_npy(path, "<f4", ROWS, 2, t, sizeof t);
    for (int threads = 1; threads <= 3; threads++) {
        emb_stats s;
        stats_of_file(path, (struct how){.threads = threads, .all = true}, &s);
        cr_assert_eq(s.duplicate_rows, ROWS - CYCLE);
        for (size_t i = 0; i < ROWS - CYCLE; i++)
            cr_assert_eq(s.duplicate_list[i], CYCLE + i);
        emb_stats_free(&s);
    }
    unlink(path);
}

/* Every byte of a row counts, for each length: rows that differ in one byte are not equal. */
Test(stats, hashes_see_every_byte)
{
    unsigned char row[200] = {0};
    for (size_t n = 1; n <= sizeof row; n++) {
        uint64_t plain = embi_row_hash(row, n);
        for (size_t i = 0; i < n; i++) {
            row[i] ^= 1;
            cr_assert_neq(embi_row_hash(row, n), plain, "byte %zu of %zu", i, n);
            row[i] ^= 1;
        }
    }
}

/* Two different rows given one hash are compared, and found to differ. */
Test(stats, equal_hashes_are_only_a_hint)
{
    const float t[6][1] = {{1}, {2}, {1}, {3}, {2}, {2}};
    const uint64_t hashes[6] = {5, 5, 5, 5, 5, 5};
    char path[32];
    emb_ctx *ctx;
    emb_table *table;
    emb_err err;
    uint64_t n, *list;
    write_npy(path, "<f4", 6, 1, t, sizeof t);
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
    cr_assert_eq(emb_table_open(ctx, path, NULL, &table, &err), EMB_OK);
    cr_assert_eq(embi_table_ready(table, &err), EMB_OK);
    cr_assert_eq(embi_duplicates(table, hashes, &n, &list, &err), EMB_OK);
    cr_assert(n == 3 && list[0] == 2 && list[1] == 4 && list[2] == 5);
    free(list);
    emb_table_close(table);
    emb_ctx_free(ctx);
    unlink(path);
}

Test(stats, threads_and_kernels_change_no_bit)
{
    float *t = malloc(V * D * sizeof *t);
    char path[32];
    emb_stats first, s;
    fill(t);
    write_npy(path, "<f4", V, D, t, V * D * sizeof *t);
    stats_of_file(path, (struct how){.threads = 1}, &first);
    static const char *const without[3] = {NULL, "avx512", "avx2"};
    for (int i = 3; i < 12; i++) {
        stats_of_file(path, (struct how){.threads = i / 3, .disable_cpu = without[i % 3]}, &s);
        cr_assert_eq(memcmp(&s, &first, sizeof s), 0, "%d threads", i / 3);
    }
    unlink(path);
    free(t);
}
