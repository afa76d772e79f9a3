/* tests/unit/test_spectrum.c - emb_spectrum_run against formulas.
 *
 * Sylvester's Hadamard matrix H of n = 2^k rows has elements +-1 and H H^T = n I: all singular
 * values of c copies of some of its columns or rows are known, and any of its rows are orthogonal.
 * Which way the library goes depends on the shape: V d min(V, d) up to 2^28 is decomposed as it is,
 * above that by the Gram matrix of columns, or of rows where V < d. Each table below says its way.
 */
#include "plugin_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double hadamard(uint64_t row, uint32_t col)
{
    return __builtin_popcountll(row & col) & 1 ? -1 : 1;
}

/* A raw f64 table whose elements a function gives. */
typedef double element_fn(uint64_t row, uint32_t col);

static void write_table(char path[32], uint64_t rows, uint32_t dims, element_fn *element)
{
    strcpy(path, "/tmp/spectrum-XXXXXX");
    FILE *f = fdopen(mkstemp(path), "wb");
    cr_assert_not_null(f);
    for (uint64_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < dims; c++) {
            double x = element(r, c);
            fwrite(&x, sizeof x, 1, f);
        }
    cr_assert_eq(fclose(f), 0);
}

static emb_status spectrum_of_file(const char *path, const char *plugins, int threads,
                                   uint64_t rows, uint32_t dims, emb_dtype dtype, emb_spectrum *s,
                                   emb_err *err)
{
    emb_ctx *ctx = context_of(plugins, threads);
    emb_open_opts opts = {.size = sizeof opts, .format = "raw", .input_dtype = dtype};
    emb_table *table;
    opts.raw_rows = rows;
    opts.raw_dims = dims;
    cr_assert_eq(emb_table_open(ctx, path, &opts, &table, err), EMB_OK, "%s", err->msg);
    if (plugins && !emb_ctx_plugin(ctx, "blas"))
        cr_skip("OpenBLAS is not installed");
    emb_status status = emb_spectrum_run(table, s, err);
    emb_table_close(table);
    emb_ctx_free(ctx);
    return status;
}

static void spectrum_of(uint64_t rows, uint32_t dims, element_fn *element, emb_spectrum *s)
{
    char path[32];
    emb_err err;
    write_table(path, rows, dims, element);
    emb_status status =
        spectrum_of_file(path, build("lib/embtool"), 2, rows, dims, EMB_F64, s, &err);
    unlink(path);
    cr_assert_eq(status, EMB_OK, "%s", err.msg);
}

static void near(double found, double expected, double bound, const char *what)
{
    cr_expect(fabs(found - expected) <= bound, "%s: expected %.17g, found %.17g", what, expected,
              found);
}

/* ---------------------------------------------------------------------------- all values equal */

static void all_equal(uint64_t rows, uint32_t dims, size_t n, double value)
{
    emb_spectrum s;
    spectrum_of(rows, dims, hadamard, &s);
    cr_assert_eq(s.n, n);
    cr_expect_eq(s.finite_rows, rows);
    for (size_t i = 0; i < n; i++) {
        near(s.values[i], value, 1e-13 * value, "value");
        near(s.shares[i], 1.0 / (double)n, 1e-13, "share");
    }
    near(s.effective_rank, (double)n, 1e-10 * (double)n, "effective rank");
    emb_spectrum_free(&s);
    cr_expect(!s.values && !s.shares);
}

Test(spectrum, orthogonal_rows_and_columns)
{
    all_equal(64, 64, 64, 8);              /* as it is */
    all_equal(64, 512, 64, sqrt(512));     /* as it is, wide */
    all_equal(1024, 64, 64, 32);           /* as it is, tall */
    all_equal(4096, 512, 512, 64);         /* by columns */
    all_equal(512, 2048, 512, sqrt(2048)); /* by rows */
    all_equal(8192, 256, 256, sqrt(8192)); /* by columns, more than one panel */
}

/* ---------------------------------------------------------------------------------- rank one */

static double one_direction(uint64_t row, uint32_t col)
{
    return (double)(row % 5 + 1) * ((double)(col % 7) - 3);
}

static void rank_one(uint64_t rows, uint32_t dims)
{
    emb_spectrum s;
    double u = 0, v = 0;
    for (uint64_t r = 0; r < rows; r++)
        u += (double)((r % 5 + 1) * (r % 5 + 1));
    for (uint32_t c = 0; c < dims; c++)
        v += ((double)(c % 7) - 3) * ((double)(c % 7) - 3);
    spectrum_of(rows, dims, one_direction, &s);
    near(s.values[0], sqrt(u * v), 1e-13 * sqrt(u * v), "value");
    near(s.values[1], 0, 1e-12 * sqrt(u * v), "second value");
    near(s.effective_rank, 1, 1e-10, "effective rank");
    near(s.mean_cosine, 1, 1e-13, "mean cosine");
    near(s.shares[0], 1, 1e-15, "share");
    emb_spectrum_free(&s);
}

Test(spectrum, one_direction)
{
    rank_one(90, 40);
    rank_one(5000, 300); /* by columns */
    rank_one(600, 1400); /* by rows */
}

/* ----------------------------------------------------------------- different values, odd rows */

enum { DIAGONAL = 300, BLANK_ROW = 4, NAN_ROW = 1003, INF_ROW = 2 };

/* Row r is c + 1 at column c = r mod 300; a few rows are odd. */
static double diagonal(uint64_t row, uint32_t col)
{
    if (row == NAN_ROW)
        return NAN;
    if (row == INF_ROW && col == 299)
        return INFINITY;
    return row != BLANK_ROW && row % DIAGONAL == col ? (double)(col + 1) : 0;
}

/* The rows of column c that take part. */
static int count(uint64_t rows, uint64_t c)
{
    int n = 0;
    for (uint64_t r = c; r < rows; r += DIAGONAL)
        n += r != NAN_ROW && r != INF_ROW && r != BLANK_ROW;
    return n;
}

static int downwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static void diagonal_table(uint64_t rows)
{
    emb_spectrum s;
    double want[DIAGONAL], sum = 0, energy = 0, entropy = 0, n = 0, pairs = 0;
    for (int c = 0; c < DIAGONAL; c++) {
        int k = count(rows, (uint64_t)c);
        want[c] = (c + 1) * sqrt(k);
        sum += want[c];
        energy += want[c] * want[c];
        n += k;
        pairs += (double)k * (k - 1); /* rows of one column have cosine 1, others 0 */
    }
    qsort(want, DIAGONAL, sizeof *want, downwards);
    spectrum_of(rows, DIAGONAL, diagonal, &s);
    cr_assert(s.n == DIAGONAL && s.finite_rows == rows - 2);
    for (int c = 0; c < DIAGONAL; c++) {
        near(s.values[c], want[c], 1e-13 * want[0], "value");
        near(s.shares[c], want[c] * want[c] / energy, 1e-14, "share");
        entropy -= want[c] > 0 ? want[c] / sum * log(want[c] / sum) : 0;
    }
    near(s.effective_rank, exp(entropy), 1e-9, "effective rank");
    near(s.mean_cosine, pairs / (n * (n - 1)), 1e-15, "mean cosine");
    emb_spectrum_free(&s);
}

Test(spectrum, diagonal_with_odd_rows)
{
    diagonal_table(1300);
    diagonal_table(5000); /* by columns */
}

/* Fewer finite rows than dimensions: there are as many values as finite rows. */
static double few_rows(uint64_t row, uint32_t col)
{
    return row % 8 == 3 ? NAN : row % 8 == 5 ? 0 : hadamard(row, col);
}

static void few(uint64_t rows, uint32_t dims)
{
    emb_spectrum s;
    spectrum_of(rows, dims, few_rows, &s);
    size_t finite = rows / 8 * 7, some = rows / 8 * 6;
    cr_assert(s.n == finite && s.finite_rows == finite);
    for (size_t i = 0; i < finite; i++)
        near(s.values[i], i < some ? sqrt(dims) : 0, 1e-12, "value");
    near(s.mean_cosine, 0, 1e-15, "mean cosine");
    near(s.effective_rank, (double)some, 1e-9, "effective rank");
    emb_spectrum_free(&s);
}

Test(spectrum, fewer_finite_rows_than_dims)
{
    few(64, 128);
    few(512, 2048); /* by rows */
}

/* -------------------------------------------------------------------------------- mean cosine */

static double anything(uint64_t row, uint32_t col)
{
    return row == 7 ? 0 : (double)((row * 2654435761u + col * 40503u + row * col) % 1000) - 300;
}

Test(spectrum, mean_cosine_is_that_of_all_pairs)
{
    enum { ROWS = 400, DIMS = 9 };
    emb_spectrum s;
    double x[ROWS][DIMS];
    long double sum = 0;
    int pairs = 0;
    for (int r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < DIMS; c++)
            x[r][c] = anything((uint64_t)r, c);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            if (i != j && i != 7 && j != 7) {
                sum += (long double)emb_score(x[i], x[j], DIMS, EMB_COSINE);
                pairs++;
            }
    spectrum_of(ROWS, DIMS, anything, &s);
    near(s.mean_cosine, (double)(sum / pairs), 1e-15, "mean cosine");
    emb_spectrum_free(&s);
}

/* ------------------------------------------------------------------------- far ends of f64, none */

static double huge(uint64_t row, uint32_t col)
{
    return hadamard(row, col) * 0x1p900;
}

static double tiny(uint64_t row, uint32_t col)
{
    return hadamard(row, col) * 0x1p-1000;
}

/* Rows of both kinds: the tiny ones count as directions alone. */
static double mixed(uint64_t row, uint32_t col)
{
    return row % 2 ? tiny(row, col) : huge(row, col);
}

Test(spectrum, squares_beyond_f64)
{
    emb_spectrum s;
    spectrum_of(4096, 512, huge, &s); /* by columns */
    near(s.values[0], 0x1p906, 1e-13 * 0x1p906, "huge");
    near(s.values[511], 0x1p906, 1e-13 * 0x1p906, "huge");
    near(s.effective_rank, 512, 1e-9, "effective rank");
    emb_spectrum_free(&s);
    spectrum_of(512, 2048, tiny, &s); /* by rows */
    near(s.values[511], sqrt(2048) * 0x1p-1000, 1e-13 * sqrt(2048) * 0x1p-1000, "tiny");
    near(s.mean_cosine, 0, 1e-15, "mean cosine");
    emb_spectrum_free(&s);
    spectrum_of(64, 64, mixed, &s);
    near(s.values[31], 0x1p903, 1e-13 * 0x1p903, "mixed");
    near(s.effective_rank, 32, 1e-9, "effective rank");
    near(s.mean_cosine, 0, 1e-15, "mean cosine");
    emb_spectrum_free(&s);
}

static double zero(uint64_t row, uint32_t col)
{
    (void)row;
    (void)col;
    return 0;
}

static double not_a_number(uint64_t row, uint32_t col)
{
    (void)row;
    (void)col;
    return NAN;
}

Test(spectrum, nothing_to_say)
{
    emb_spectrum s;
    spectrum_of(0, 3, zero, &s);
    cr_expect(s.n == 0 && isnan(s.mean_cosine) && isnan(s.effective_rank));
    emb_spectrum_free(&s);
    spectrum_of(5000, 300, not_a_number, &s); /* by columns */
    cr_expect(s.n == 0 && s.finite_rows == 0 && isnan(s.effective_rank));
    emb_spectrum_free(&s);
    spectrum_of(5000, 300, zero, &s); /* by columns */
    cr_expect(s.n == 300 && s.values[0] == 0 && isnan(s.shares[0]) && isnan(s.effective_rank));
    cr_expect(isnan(s.mean_cosine));
    emb_spectrum_free(&s);
    spectrum_of(1, 3, hadamard, &s);
    cr_expect(s.n == 1 && isnan(s.mean_cosine));
    near(s.values[0], sqrt(3), 1e-15, "one row");
    emb_spectrum_free(&s);
}

/* ------------------------------------------------------------------------------------- threads */

Test(spectrum, same_bits_from_any_number_of_threads)
{
    static const struct {
        uint64_t rows;
        uint32_t dims;
    } shapes[] = {{30000, 150}, {3000, 500}, {500, 3000}};
    for (size_t i = 0; i < 3; i++) {
        char path[32];
        emb_spectrum first = {0}, s;
        emb_err err;
        write_table(path, shapes[i].rows, shapes[i].dims, anything);
        for (int threads = 1; threads <= 4; threads++) {
            cr_assert_eq(spectrum_of_file(path, build("lib/embtool"), threads, shapes[i].rows,
                                          shapes[i].dims, EMB_F64, threads == 1 ? &first : &s,
                                          &err),
                         EMB_OK, "%s", err.msg);
            if (threads == 1)
                continue;
            cr_expect(s.mean_cosine == first.mean_cosine &&
                      s.effective_rank == first.effective_rank && s.n == first.n);
            cr_expect(memcmp(s.values, first.values, s.n * sizeof *s.values) == 0);
            emb_spectrum_free(&s);
        }
        emb_spectrum_free(&first);
        unlink(path);
    }
}

/* ------------------------------------------------------------------------------------ refusals */

Test(spectrum, refusals)
{
    char path[] = "/tmp/spectrum-XXXXXX";
    int fd = mkstemp(path);
    emb_spectrum s;
    emb_err err;
    cr_assert(fd >= 0 && ftruncate(fd, 46341 * 46341L) == 0 && close(fd) == 0);
    cr_expect_eq(spectrum_of_file(path, NULL, 1, 8, 8, EMB_I8, &s, &err), EMB_DEVICE);
    cr_expect(strstr(err.msg, "BLAS plugin") != NULL, "%s", err.msg);
    cr_expect_eq(spectrum_of_file(path, build("lib/embtool"), 1, 46341, 46341, EMB_I8, &s, &err),
                 EMB_UNSUPPORTED);
    cr_expect(strstr(err.msg, "46341 x 46341") != NULL, "%s", err.msg);
    unlink(path);
}
