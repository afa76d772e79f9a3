/* tests/unit/test_plugins.c - the loader of lib/dev: which file it takes, and what it refuses.
 *
 * The plugins of tests/plugins are built beside this program. What is computed by the real one,
 * where it was built, is compared with sums written out here.
 */
#include "dev/load.h"
#include "num/cpu.h"
#include "num/kern.h"
#include "plugin_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void refused(const char *dirs, const char *words)
{
    emb_ctx *ctx = context_of(dirs, 1);
    emb_err err = {0};
    const char *about = NULL;
    for (int again = 0; again < 2; again++) {
        cr_expect_eq(emb_ctx_blas(ctx, &about, &err), EMB_DEVICE);
        cr_expect_eq(err.status, EMB_DEVICE);
        cr_expect(strstr(err.msg, words) != NULL, "'%s' is not in '%s'", words, err.msg);
    }
    emb_ctx_free(ctx);
}

Test(plugins, refuses)
{
    refused(NULL, "no directory");
    refused("", "the BLAS plugin is not there");
    refused("/nowhere:/nor/here", "libemb-blas.so was looked for in /nowhere:/nor/here");
    refused(build("tests/plugins/old_abi"), "is of another version of embtool: interface ");
    refused(build("tests/plugins/stranger"), "embi_blas_plugin");
    refused(build("tests/plugins/unbound"), "/unbound/libemb-blas.so: undefined symbol: nobody_");
}

Test(plugins, refuses_what_is_no_object)
{
    char dir[] = "/tmp/test_plugins.XXXXXX", path[64];
    cr_assert(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/libemb-blas.so", dir);
    FILE *f = fopen(path, "w");
    cr_assert(f && fputs("no object\n", f) >= 0 && fclose(f) == 0);
    strcat(path, ": ");
    refused(dir, path);
    path[strlen(path) - 2] = 0;
    unlink(path);
    cr_assert_eq(mkdir(path, 0700), 0); /* a directory of that name is no plugin */
    refused(dir, "not there");
    rmdir(path);
    rmdir(dir);
}

Test(plugins, takes_the_first)
{
    char dirs[16384];
    const char *about;
    emb_err err;
    snprintf(dirs, sizeof dirs, "/nowhere::%s:%s", build("tests/plugins/mirror"),
             build("tests/plugins/old_abi"));
    emb_ctx *ctx = context_of(dirs, 1);
    cr_assert(emb_ctx_plugin(ctx, "blas"));
    cr_assert(!emb_ctx_plugin(ctx, "cuda"));
    cr_assert_eq(emb_ctx_blas(ctx, &about, &err), EMB_OK, "%s", err.msg);
    cr_assert(strncmp(about, "threads ", 8) == 0, "%s", about);
    emb_ctx_free(ctx);
}

/* Neither an empty entry nor a relative one stands for the current directory. */
Test(plugins, never_the_current_directory)
{
    cr_assert_eq(chdir(build("tests/plugins")), 0);
    refused("mirror:./mirror", "not there");
    refused("mirror::./mirror",
            "; mirror is not absolute; ./mirror is not absolute; libemb-blas.so "
            "was looked for in no directory");
    refused("mirror:/nowhere:..:/nor/here", "; mirror is not absolute; .. is not absolute; "
                                            "libemb-blas.so was looked for in /nowhere:/nor/here");
    cr_assert_eq(chdir(build("tests/plugins/mirror")), 0);
    refused(":.::./", "not there");
}

static const char *core_name;

static const char *core_of_test(void)
{
    return core_name;
}

Test(plugins, judges_the_core)
{
    static const struct {
        const char *core;
        bool current;
    } cores[] = {{"Haswell", true}, {"SkylakeX", true}, {"Zen", true},         {"Prescott", false},
                 {"Core2", false},  {"Nehalem", false}, {"Sandybridge", false}};
    const struct embi_blas blas = {.core = core_of_test};
    const struct embi_env new = {.cpu = EMBI_CPU_AVX2}, old = {.cpu = 0};
    for (size_t i = 0; i < EMBI_LEN(cores); i++) {
        core_name = cores[i].core;
        cr_expect_eq(embi_blas_is_current(&new, &blas), cores[i].current, "%s", core_name);
        cr_expect(embi_blas_is_current(&old, &blas), "%s", core_name);
    }
}

static const struct embi_blas *loaded(emb_ctx **ctx)
{
    void *address;
    embi_blas_plugin_fn *plugin;
    emb_err err;
    struct embi_plugins *plugins;
    *ctx = context_of(build("lib/embtool"), 1);
    if (!emb_ctx_plugin(*ctx, "blas")) {
        emb_ctx_free(*ctx);
        cr_skip("OpenBLAS is not installed");
    }
    cr_assert_eq(embi_plugins_new(build("lib/embtool"), &plugins, &err), EMB_OK);
    cr_assert_eq(embi_plugin_load(plugins, "blas", "", EMBI_BLAS_SYMBOL, &address, &err), EMB_OK,
                 "%s", err.msg);
    memcpy(&plugin, &address, sizeof plugin);
    embi_plugins_free(plugins);
    return plugin();
}

/* Small whole numbers: every sum is exact in any order. */
enum { M = 3, N = 4, K = 5 };

static float small(int i, int j)
{
    return (float)((i * 7 + j * 3) % 11 - 5);
}

Test(blas, products)
{
    emb_ctx *ctx;
    const struct embi_blas *blas = loaded(&ctx);
    float a[M * K], b[N * K], bt[K * N], c[M * N], y[M];
    double da[M * K], dat[K * M], dbt[K * N], dc[M * N], transposed[M * N];
    for (int i = 0; i < M * K; i++)
        dat[i % K * M + i / K] = da[i] = a[i] = small(i / K, i % K);
    for (int i = 0; i < N * K; i++) {
        b[i] = small(i / K, i % K + 20);
        dbt[i % K * N + i / K] = bt[i % K * N + i / K] = b[i];
    }
    blas->sgemm_nt(M, N, K, a, K, b, K, c, N);
    blas->sgemv(M, K, a, K, b, y);
    for (int i = 0; i < M * N; i++) {
        float want = 0;
        for (int k = 0; k < K; k++)
            want += a[i / N * K + k] * b[i % N * K + k];
        cr_expect_eq(c[i], want);
        cr_expect(i % N || y[i / N] == want);
        transposed[i] = dc[i] = c[i] = 1;
        blas->sgemm_nn(1, 1, K, a + i / N * K, K, bt + i % N, N, c + i, 1);
        cr_expect_eq(c[i], want + 1);
    }
    blas->dgemm_nn(M, N, K, da, K, dbt, N, dc, N);
    blas->dgemm_tn(M, N, K, dat, M, dbt, N, transposed, N);
    for (int i = 0; i < M * N; i++)
        cr_expect(dc[i] == (double)c[i] && transposed[i] == dc[i]);
    emb_ctx_free(ctx);
}

/* What search relies on: the largest errors come from terms of one sign that shrink by halves and
 * thirds; in double precision the same sums are exact to 2^-50. */
Test(blas, within_the_bound)
{
    enum { MOST = 4099 };
    static const int dims[] = {1, 2, 3, 15, 16, 17, 300, 384, 385, 1024, MOST};
    static float a[3 * MOST], b[5 * MOST];
    emb_ctx *ctx;
    const struct embi_blas *blas = loaded(&ctx);
    for (size_t t = 0; t < EMBI_LEN(dims); t++) {
        int d = dims[t];
        float c[15], y[3];
        for (int i = 0; i < 8 * d; i++)
            (i < 3 * d ? a : b - 3 * d)[i] =
                (float)(1.0 / (1 + (i * 7919) % 1009)) * (i / d % 2 && i % 3 == 0 ? -1 : 1);
        blas->sgemm_nt(3, 5, d, a, d, b, d, c, 5);
        blas->sgemv(3, d, a, d, b, y);
        for (int i = 0; i < 15; i++) {
            double dot = 0, aa = 0, bb = 0;
            for (int k = 0; k < d; k++) {
                double x = a[i / 5 * d + k], z = b[i % 5 * d + k];
                dot += x * z;
                aa += x * x;
                bb += z * z;
            }
            double most = embi_any_order_bound((uint32_t)d) * sqrt(aa) * sqrt(bb);
            cr_expect(fabs(c[i] - dot) <= most, "%d: %g, not %g", d, c[i], dot);
            cr_expect(i % 5 || fabs(y[i / 5] - dot) <= most, "%d: %g, not %g", d, y[i / 5], dot);
        }
    }
    emb_ctx_free(ctx);
}

Test(blas, gram)
{
    emb_ctx *ctx;
    const struct embi_blas *blas = loaded(&ctx);
    double a[K * N], c[N * N];
    for (int i = 0; i < K * N; i++)
        a[i] = small(i / N, i % N);
    for (int i = 0; i < N * N; i++)
        c[i] = 2;
    blas->dsyrk(N, K, a, N, c, N);
    for (int i = 0; i < N * N; i++) {
        double want = 2;
        for (int k = 0; k < K && i / N <= i % N; k++)
            want += a[k * N + i / N] * a[k * N + i % N];
        cr_expect_eq(c[i], want, "%d: %g, not %g", i, c[i], want);
    }
    emb_ctx_free(ctx);
}

/* The second difference matrix has the eigenvalues 2 - 2 cos(j pi / (n + 1)), j = 1 .. n. */
Test(blas, eigenvalues)
{
    enum { SIZE = 40 };
    emb_ctx *ctx;
    const struct embi_blas *blas = loaded(&ctx);
    double a[SIZE * SIZE] = {0}, w[SIZE];
    for (int i = 0; i < SIZE; i++) {
        a[i * SIZE + i] = 2;
        if (i + 1 < SIZE) /* the lower triangle is not to be read */
            a[i * SIZE + i + 1] = -1, a[(i + 1) * SIZE + i] = NAN;
    }
    cr_assert_eq(blas->dsyevd_values(SIZE, a, SIZE, w), 0);
    for (int j = 0; j < SIZE; j++)
        cr_expect(fabs(w[j] - (2 - 2 * cos((j + 1) * M_PI / (SIZE + 1)))) < 1e-13);
    emb_ctx_free(ctx);
}

/* Rows that are multiples of unit vectors: the singular values are the factors. */
Test(blas, singular_values)
{
    enum { ROWS = 3, COLUMNS = 7, STRIDE = 9 };
    emb_ctx *ctx;
    const struct embi_blas *blas = loaded(&ctx);
    double wide[ROWS * STRIDE] = {0}, tall[COLUMNS * STRIDE] = {0}, s[ROWS];
    for (int i = 0; i < ROWS; i++)
        wide[i * STRIDE + 2 * i] = tall[2 * i * STRIDE + i] = i == 1 ? -5 : 1 + i;
    cr_assert_eq(blas->dgesdd_values(ROWS, COLUMNS, wide, STRIDE, s), 0);
    cr_expect(fabs(s[0] - 5) < 1e-14 && fabs(s[1] - 3) < 1e-14 && fabs(s[2] - 1) < 1e-14);
    cr_assert_eq(blas->dgesdd_values(COLUMNS, ROWS, tall, STRIDE, s), 0);
    cr_expect(fabs(s[0] - 5) < 1e-14 && fabs(s[1] - 3) < 1e-14 && fabs(s[2] - 1) < 1e-14);
    emb_ctx_free(ctx);
}

/* ------------------------------------------------------------------------------------------------
 * emb_table_multiply: a lookup as a product
 */

/* A raw table of f32, opened in ctx. */
static emb_table *raw_table(emb_ctx *ctx, const float *m, size_t n, uint32_t dims)
{
    char path[] = "/tmp/test_plugins.XXXXXX";
    emb_open_opts opts = {
        .size = sizeof opts, .format = "raw", .raw_dims = dims, .input_dtype = EMB_F32};
    emb_table *table;
    emb_err err;
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, m, n * sizeof *m) == (ssize_t)(n * sizeof *m) && close(fd) == 0);
    cr_assert_eq(emb_table_open(ctx, path, &opts, &table, &err), EMB_OK, "%s", err.msg);
    unlink(path);
    return table;
}

/* More rows than one block holds, more ids than one product; values that no sum may disturb. */
Test(multiply, gives_the_rows)
{
    enum { V = 700, D = 5, IDS = 900 };
    emb_ctx *ctx;
    loaded(&ctx);
    static float m[V * D], out[IDS * (D + 2)];
    uint64_t ids[IDS];
    emb_err err;
    for (int i = 0; i < V * D; i++)
        m[i] = ldexpf((float)(i % 1021 - 510), i % 250 - 140);
    for (size_t i = 0; i < IDS; i++)
        ids[i] = i * 577 % V;
    emb_table *table = raw_table(ctx, m, V * D, D);
    emb_block block = {out, IDS, D, EMB_F32, (D + 2) * sizeof *out};
    cr_assert_eq(emb_table_multiply(table, ids, IDS, &block, &err), EMB_OK, "%s", err.msg);
    for (size_t i = 0; i < IDS * D; i++)
        cr_assert_eq(out[i / D * (D + 2) + i % D], m[ids[i / D] * D + i % D], "%zu", i);
    static double wide[IDS * D];
    block = (emb_block){wide, IDS, D, EMB_F64, 0};
    cr_assert_eq(emb_table_multiply(table, ids, IDS, &block, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(wide[7], (double)m[ids[1] * D + 2]);
    emb_table_close(table);
    emb_ctx_free(ctx);
}

Test(multiply, refuses)
{
    emb_ctx *ctx, *without = context_of(NULL, 1);
    loaded(&ctx);
    float m[6] = {1, 2, 3, 4, INFINITY, 6}, out[4];
    uint64_t ids[2] = {0, 3};
    emb_err err;
    emb_block block = {out, 2, 2, EMB_F32, 0};
    emb_table *table = raw_table(ctx, m, 6, 2), *alone = raw_table(without, m, 4, 2);
    cr_expect_eq(emb_table_multiply(table, ids, 2, &block, &err), EMB_RANGE);
    cr_expect_eq(err.at, 1);
    cr_expect_eq(emb_table_multiply(table, ids, 1, &block, &err), EMB_BAD_DATA);
    cr_expect_eq(err.at, 2);
    cr_expect_eq(emb_table_multiply(alone, ids, 1, &block, &err), EMB_DEVICE);
    block.dims = 3;
    cr_expect_eq(emb_table_multiply(table, ids, 1, &block, &err), EMB_BAD_ARG);
    emb_table_close(table);
    emb_table_close(alone);
    emb_ctx_free(without);
    emb_ctx_free(ctx);
}
