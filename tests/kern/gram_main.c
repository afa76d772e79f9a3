/* tests/kern/gram_main.c - lib/ops/gram.c on several threads, as a plain program, so that it can run
 * under ThreadSanitizer. The BLAS is the two loops written out here; elements are small whole
 * numbers, whose sums are exact in any order.
 */
#include "check.h"
#include "ops/gram.h"

#include <stdlib.h>

static void gemm_tn(int m, int n, int k, const double *a, int lda, const double *b, int ldb,
                    double *c, int ldc)
{
    for (int p = 0; p < k; p++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                c[(size_t)i * (size_t)ldc + (size_t)j] += a[p * lda + i] * b[p * ldb + j];
}

static void syrk(int n, int k, const double *a, int lda, double *c, int ldc)
{
    for (int p = 0; p < k; p++)
        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++)
                c[(size_t)i * (size_t)ldc + (size_t)j] += a[p * lda + i] * a[p * lda + j];
}

static double element(size_t row, size_t col)
{
    return (double)((row * 7 + col * 13 + row * col) % 11) - 5;
}

static void fill(double *panel, size_t first, size_t rows, size_t m)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < m; c++)
            panel[r * m + c] = element(first + r, c);
}

/* The elements whose formula is checked: all of small matrices, else some of each tile. */
static void compare(const double *g, size_t m, size_t rows)
{
    size_t step = m < 100 ? 1 : 29;
    for (size_t i = 0; i < m; i += step)
        for (size_t j = i; j < m; j += step) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++)
                sum += element(r, i) * element(r, j);
            CHECK(g[i * m + j] == sum, "m %zu, %zu rows: %zu, %zu: %g, not %g", m, rows, i, j,
                  g[i * m + j], sum);
        }
}

/* Panels of 64 rows, the last one shorter; then all of it again after a second begin. */
static void gram(struct embi_pool *pool, uint32_t m, size_t rows)
{
    static const struct embi_blas blas = {.dgemm_tn = gemm_tn, .dsyrk = syrk};
    enum { PANEL = 64 };
    struct embi_gram g;
    emb_err err;
    double *panel = malloc((size_t)PANEL * m * sizeof *panel);
    embi_gram_plan(&g, m);
    CHECK((uint64_t)g.tile * g.side >= m && (uint64_t)g.tile * (g.side - 1) < m, "m %u", m);
    CHECK(embi_gram_bytes(&g) == (uint64_t)m * m * g.groups * 8, "m %u", m);
    for (int again = 0; panel && again < 2; again++) {
        if (embi_gram_begin(&g, &blas, pool, PANEL, &err))
            exit(1);
        for (size_t first = 0; first < rows; first += PANEL) {
            size_t n = embi_min(PANEL, rows - first);
            fill(panel, first, n, m);
            embi_gram_add(&g, panel, n);
        }
        embi_gram_end(&g);
        compare(g.g, m, rows);
    }
    embi_gram_free(&g);
    free(panel);
}

int main(void)
{
    static const uint32_t sizes[] = {1, 2, 50, 383, 384, 385, 770, 1153};
    static const size_t rows[] = {1, 63, 64, 130};
    for (int threads = 1; threads <= 4; threads += 3) {
        struct embi_pool *pool;
        emb_err err;
        if (embi_pool_new(threads, &pool, &err))
            return 1;
        for (size_t i = 0; i < EMBI_LEN(sizes); i++)
            for (size_t j = 0; j < EMBI_LEN(rows); j++)
                RUN(gram(pool, sizes[i], rows[j]));
        embi_pool_free(pool);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
