/* logits_main.c - logits of every type of table, number of hidden states, kernel set and number of
 * threads, against long double; their log-sums and probabilities. A plain main, so that it runs
 * under ThreadSanitizer.
 */
#include "check.h"
#include "emb.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 1500, DIMS = 43, MOST = 40 };

static char path[64];
static double table_of[ROWS][DIMS], hidden[MOST][DIMS];

static void need(bool ok, const char *what)
{
    if (!ok) {
        printf("logits_main: %s failed\n", what);
        exit(2);
    }
}

/* splitmix64 (Steele, Lea, Flood 2014), as a number within -1 .. 1 */
static double random_unit(void)
{
    static uint64_t state = 3;
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
}

/* Rows of the type as raw bytes, and what they are after the rounding. */
static void write_table(emb_dtype dtype)
{
    size_t n = (size_t)ROWS * DIMS, bytes = n * emb_dtype_bytes(dtype);
    void *stored = malloc(bytes);
    emb_err err;
    for (size_t i = 0; i < n; i++)
        table_of[i / DIMS][i % DIMS] = random_unit();
    need(stored && emb_convert(stored, dtype, table_of, EMB_F64, n, NULL, &err) == EMB_OK &&
             emb_convert(table_of, EMB_F64, stored, dtype, n, NULL, &err) == EMB_OK,
         "converting");
    FILE *f = fopen(path, "wb");
    need(f && fwrite(stored, bytes, 1, f) == 1 && fclose(f) == 0, "writing");
    free(stored);
}

static long double product(const double *a, const double *b, long double *norms)
{
    long double sum = 0, aa = 0, bb = 0;
    for (int i = 0; i < DIMS; i++) {
        sum += (long double)a[i] * b[i];
        aa += (long double)a[i] * a[i];
        bb += (long double)b[i] * b[i];
    }
    *norms = sqrtl(aa * bb);
    return sum;
}

/* Rows first .. first+rows-1; what is beside them in `out` stays. */
static void check_rows(const emb_logits *l, size_t n, uint64_t first, uint64_t rows)
{
    size_t stride = rows + 3;
    float *out = malloc(n * stride * sizeof *out);
    emb_block h = {hidden, n, DIMS, EMB_F64, 0};
    emb_err err = {0};
    need(out != NULL, "memory");
    for (size_t i = 0; i < n * stride; i++)
        out[i] = 77;
    emb_status status = emb_logits_rows(l, &h, first, rows, NULL, out, stride, &err);
    CHECK(status == EMB_OK, "%s", err.msg);
    for (size_t i = 0; status == EMB_OK && i < n * stride; i++) {
        size_t q = i / stride, r = i % stride;
        long double norms, want = r < rows ? product(hidden[q], table_of[first + r], &norms) : 77;
        long double bound = r < rows ? (DIMS + 8) * 0x1p-24L * norms : 0;
        CHECK(fabsl(out[i] - want) <= bound, "%zu states, state %zu row %llu: %g, not %Lg", n, q,
              (unsigned long long)(first + r), (double)out[i], want);
    }
    free(out);
}

static void check_probabilities(const emb_logits *l, size_t n, double temperature)
{
    double sums[MOST];
    static float all[MOST][ROWS], part[MOST][ROWS];
    emb_block h = {hidden, n, DIMS, EMB_F64, 0}, block = {all, n, ROWS, EMB_F32, 0};
    emb_err err = {0};
    CHECK(emb_logits_log_sums(l, &h, sums, &err) == EMB_OK, "%s", err.msg);
    CHECK(emb_logits_rows(l, &h, 0, ROWS, NULL, all[0], ROWS, &err) == EMB_OK, "%s", err.msg);
    CHECK(emb_logits_softmax(l, &block, &err) == EMB_OK, "%s", err.msg);
    CHECK(emb_logits_rows(l, &h, 0, ROWS, sums, part[0], ROWS, &err) == EMB_OK, "%s", err.msg);
    for (size_t q = 0; q < n; q++) {
        long double sum = 0, norms;
        for (int r = 0; r < ROWS; r++)
            sum += expl(product(hidden[q], table_of[r], &norms) / temperature);
        CHECK(fabsl(sums[q] - logl(sum)) <= 1e-5L, "state %zu: %g, not %Lg", q, sums[q], logl(sum));
        for (int r = 0; r < ROWS; r++) {
            long double want = expl(product(hidden[q], table_of[r], &norms) / temperature) / sum;
            CHECK(fabsl(all[q][r] - want) <= 1e-4L * want &&
                      fabsl(part[q][r] - want) <= 1e-4L * want,
                  "state %zu row %d: %g, %g, not %Lg", q, r, (double)all[q][r], (double)part[q][r],
                  want);
        }
    }
}

static void test_table(const emb_table *table)
{
    static const size_t counts[] = {1, 2, 12, 13, 16, 19, 33, MOST};
    emb_logits *l;
    emb_err err;
    need(emb_logits_open(table, NULL, &l, &err) == EMB_OK, "opening logits");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_rows(l, counts[i], 0, ROWS);
        check_rows(l, counts[i], 1, 1);
        check_rows(l, counts[i], 250, 777);
        check_rows(l, counts[i], ROWS, 0);
    }
    check_probabilities(l, 5, 1);
    emb_logits_close(l);
    emb_logits_opts opts = {.size = sizeof opts, .temperature = 0.5};
    need(emb_logits_open(table, &opts, &l, &err) == EMB_OK, "opening logits");
    check_probabilities(l, 17, 0.5);
    emb_logits_close(l);
}

static void test_refusals(const emb_table *table)
{
    emb_logits *l;
    emb_err err;
    float out[4], odd[2][DIMS] = {{0}};
    emb_block h = {odd, 2, DIMS, EMB_F32, 0};
    emb_logits_opts opts = {.size = sizeof opts, .temperature = -1};
    CHECK(emb_logits_open(table, &opts, &l, &err) == EMB_BAD_ARG && !l, "%s", err.msg);
    opts = (emb_logits_opts){.size = sizeof opts, .as_model = true};
    CHECK(emb_logits_open(table, &opts, &l, &err) == EMB_UNSUPPORTED && !l, "%s", err.msg);
    need(emb_logits_open(table, NULL, &l, &err) == EMB_OK, "opening logits");
    CHECK(emb_logits_rows(l, &h, ROWS - 1, 2, NULL, out, 2, &err) == EMB_RANGE, "%s", err.msg);
    odd[1][7] = NAN;
    CHECK(emb_logits_rows(l, &h, 0, 1, NULL, out, 1, &err) == EMB_BAD_DATA && err.at == 1, "%s",
          err.msg);
    h.dims = 3;
    CHECK(emb_logits_rows(l, &h, 0, 1, NULL, out, 1, &err) == EMB_BAD_ARG, "%s", err.msg);
    emb_logits_close(l);
}

static void test_types(const char *disable_cpu, int threads)
{
    static const emb_dtype types[] = {EMB_F32, EMB_F16, EMB_BF16, EMB_F64};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        emb_ctx_opts opts = {.size = sizeof opts, .threads = threads, .disable_cpu = disable_cpu};
        emb_open_opts raw = {
            .size = sizeof raw, .format = "raw", .input_dtype = types[t], .raw_dims = DIMS};
        emb_ctx *ctx;
        emb_table *table;
        emb_err err;
        write_table(types[t]);
        need(emb_ctx_new(&opts, &ctx, &err) == EMB_OK, "a context");
        need(emb_table_open(ctx, path, &raw, &table, &err) == EMB_OK, "opening");
        RUN(test_table(table));
        RUN(test_refusals(table));
        emb_table_close(table);
        emb_ctx_free(ctx);
    }
}

int main(void)
{
    char folder[] = "/tmp/logits_main.XXXXXX";
    need(mkdtemp(folder) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/t.raw", folder);
    for (int i = 0; i < MOST * DIMS; i++)
        hidden[i / DIMS][i % DIMS] = (float)random_unit();
    test_types(NULL, 3);
    test_types("avx512", 1);
    test_types("avx2", 1);
    need(unlink(path) == 0 && rmdir(folder) == 0, "cleaning up");
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
