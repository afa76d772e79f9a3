/* bf16_main.c - the kernels for rows of bf16 and rounded queries, of every kind that this CPU has,
 * against long double; and how queries are packed for them.
 */
#include "kern_fixture.h"
#include "num/bf16.h"

enum { MOST_ROWS = 100, MOST_QUERIES = 70, MOST_DIMS = 1056 };

/* Element i of query j as it was packed. */
static double packed_at(const float *packed, size_t j, size_t i, uint32_t d)
{
    const unsigned char *panel =
        (const unsigned char *)(packed + j / EMBI_PANEL * EMBI_PANEL * (d / 2));
    return decode(EMB_BF16, panel + i / 2 * EMBI_PANEL * 4 + j % EMBI_PANEL * 4 + i % 2 * 2);
}

static void test_packing(void)
{
    static float q[20 * 96], packed[32 * 48];
    const struct embi_kern *kern = embi_kern_choose(0);
    double most = 0;
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        q[i] = (float)random_unit();
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        packed[i] = 77;
    double moved = embi_bf16_pack(kern, packed, q, 20, 96);
    for (size_t j = 0; j < 32; j++) {
        double square = 0;
        for (size_t i = 0; i < 96; i++) {
            double x = j < 20 ? (double)q[j * 96 + i] : 0, y = packed_at(packed, j, i, 96);
            CHECK(fabs(x - y) <= fabs(x) * 0x1p-8, "query %zu element %zu: %g for %g", j, i, y, x);
            square += (x - y) * (x - y);
        }
        most = fmax(most, sqrt(square));
    }
    CHECK(fabs(moved - most) < 1e-12, "moved by %g, not %g", moved, most);
}

/* Rows of bf16 [n, d]: even ones one after another with `gap` bytes between, or each by itself. The
 * last ends at a page that may not be touched. Returns what is to be freed. */
static unsigned char *make_rows(size_t n, uint32_t d, size_t gap, bool even, const void **rows)
{
    size_t bytes = d * sizeof(uint16_t), stride = bytes + gap;
    unsigned char *taken = even ? NULL : take(n * stride + 64), *last = place(0, bytes, gap);
    unsigned char *first = even ? place(0, (n - 1) * stride + bytes, 0) : taken;
    for (size_t r = 0; r < n; r++) {
        unsigned char *row = even         ? first + r * stride
                             : r + 1 == n ? last
                                          : first + (r * 7 % n) * stride;
        for (uint32_t i = 0; i < d; i++)
            encode(EMB_BF16, random_unit() * 4, row + i * 2);
        rows[r] = row;
    }
    return taken;
}

static void check_panels(const struct embi_bf16_kern *k, size_t n, uint32_t d, size_t queries,
                         size_t gap, bool even)
{
    static float q[MOST_QUERIES * MOST_DIMS], packed[80 * MOST_DIMS / 2], out[MOST_ROWS * 80 + 8];
    const void *rows[MOST_ROWS];
    float norm2[MOST_ROWS];
    size_t panels = embi_panels_of(queries), ld = panels * EMBI_PANEL;
    const double bound = embi_any_order_bound(d);
    for (size_t i = 0; i < queries * d; i++)
        q[i] = (float)random_unit();
    embi_bf16_pack(embi_kern_choose(0), packed, q, queries, d);
    unsigned char *taken = make_rows(n, d, gap, even, rows);
    out[n * ld] = 77;
    k->panels(rows, n, d, packed, panels, n % 2 ? rows[0] : NULL, 64 * n, out);
    k->norms(rows, n, d, norm2);
    CHECK(out[n * ld] == 77, "%s: wrote beyond the rows", k->name);
    for (size_t r = 0; r < n; r++)
        for (size_t j = 0; j < ld; j++) {
            long double exact = 0, xx = 0, qq = 0;
            for (uint32_t i = 0; i < d; i++) {
                long double x = decode(EMB_BF16, (const unsigned char *)rows[r] + i * 2),
                            y = packed_at(packed, j, i, d);
                exact += x * y;
                xx += x * x;
                qq += y * y;
            }
            CHECK(fabsl((long double)out[r * ld + j] - exact) <= bound * sqrtl(xx * qq),
                  "%s n %zu d %u row %zu query %zu: %g, not %Lg", k->name, n, d, r, j,
                  (double)out[r * ld + j], exact);
            CHECK(fabsl((long double)norm2[r] - xx) <= bound * xx, "%s n %zu d %u row %zu: norm",
                  k->name, n, d, r);
        }
    free(taken);
}

static void test_panels(const struct embi_bf16_kern *k)
{
    for (size_t n = 1; n <= 67; n += n < 10 ? 1 : 3)
        check_panels(k, n, 32 + (uint32_t)n % 3 * 32, 1 + n * 5 % 40, n % 4 * 2, n % 5 != 0);
    for (size_t queries = 1; queries <= 66; queries += 5)
        check_panels(k, 64, 96, queries, 0, true);
    check_panels(k, 33, 1056, 17, 6, true);
    check_panels(k, 96, 512, 65, 1, true);
}

/* A row with an infinity or NaN gives no number, and leaves its neighbours alone. */
static void test_odd_rows(const struct embi_bf16_kern *k)
{
    enum { N = 64, D = 64 };
    static float q[D], packed[D / 2 * EMBI_PANEL], out[N * EMBI_PANEL];
    static unsigned char stored[N][D * 2];
    const void *rows[N];
    for (size_t i = 0; i < D; i++)
        q[i] = 0.125f;
    embi_bf16_pack(embi_kern_choose(0), packed, q, 1, D);
    for (size_t r = 0; r < N; r++) {
        rows[r] = stored[r];
        for (size_t i = 0; i < D; i++)
            encode(EMB_BF16, 1, stored[r] + i * 2);
        if (r % 7 == 3)
            encode(EMB_BF16, r % 2 ? (double)NAN : (double)INFINITY, stored[r] + r % D * 2);
    }
    float norm2[N];
    k->panels(rows, N, D, packed, 1, NULL, 0, out);
    k->norms(rows, N, D, norm2);
    for (size_t r = 0; r < N; r++)
        CHECK(r % 7 == 3 ? !isfinite(norm2[r]) : norm2[r] == D, "%s row %zu: norm", k->name, r);
    for (size_t r = 0; r < N; r++)
        CHECK(r % 7 == 3 ? !isfinite(out[r * EMBI_PANEL]) : out[r * EMBI_PANEL] == 8,
              "%s row %zu: %g", k->name, r, (double)out[r * EMBI_PANEL]);
}

static void test_rates(const struct embi_bf16_kern *k)
{
    const struct embi_kern *kern = embi_kern_choose(embi_cpu_features(NULL));
    CHECK(embi_bf16_rate(kern, k, 7) > 0 && embi_bf16_rate(kern, NULL, 1) > 0, "%s: no rate",
          k->name);
}

static void test_choice(void)
{
    const struct embi_bf16_kern *k[EMBI_BF16_KERNELS];
    unsigned all = embi_cpu_features(NULL);
    CHECK(embi_bf16_kernels(0, k) == 0, "no features");
    CHECK(embi_bf16_kernels(embi_cpu_features("bf16"), k) == 0, "bf16 is off");
    CHECK(!(embi_cpu_features("avx512") & (EMBI_CPU_BF16 | EMBI_CPU_AMX)), "avx512 is off");
    CHECK(!(embi_cpu_features("amx") & EMBI_CPU_AMX), "amx is off");
    CHECK((embi_cpu_features("amx") | EMBI_CPU_AMX) == (all | EMBI_CPU_AMX), "nothing else is");
}

int main(void)
{
    const struct embi_bf16_kern *kernels[EMBI_BF16_KERNELS];
    size_t n = embi_bf16_kernels(embi_cpu_features(NULL), kernels);
    make_guarded();
    RUN(test_packing());
    RUN(test_choice());
    for (size_t i = 0; i < n; i++) {
        printf("kernel %s\n", kernels[i]->name);
        RUN(test_panels(kernels[i]));
        RUN(test_odd_rows(kernels[i]));
        RUN(test_rates(kernels[i]));
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
