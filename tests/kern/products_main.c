/* products_main.c - the kernels that multiply rows with several queries, of every kernel set,
 * against sums in long double written out here and the bounds that num/kern.h states.
 *
 * A plain main, so that it runs under every sanitizer and under emulators. Rows and queries end at
 * a page that may not be touched, at every alignment.
 */
#include "kern_fixture.h"

enum { MOST_ROWS = 30, MOST_QUERIES = 70 };

typedef void products_fn(const void *const *rows, size_t n, uint32_t d, const float *q,
                         size_t queries, const void *next, float *out, size_t ld, float *norm2);

static products_fn *products_of(const struct embi_kern *k, emb_dtype dtype)
{
    return dtype == EMB_F32   ? k->products_f32
           : dtype == EMB_F16 ? k->products_f16
                              : k->products_bf16;
}

/* Rows [n, d] of the type: the last up to the end of a guarded buffer, the first from the start of
 * one on, the others of memory that was taken. */
static void make_rows(emb_dtype dtype, size_t n, uint32_t d, size_t before, const void **rows)
{
    size_t size = emb_dtype_bytes(dtype);
    for (size_t r = 0; r < n; r++) {
        unsigned char *row = r + 1 == n ? place(0, d * size, before)
                             : r == 0   ? place_first(4, before % 4)
                                        : take(d * size + r % 4) + r % 4;
        for (uint32_t i = 0; i < d; i++)
            encode(dtype, random_unit() * 4, row + i * size);
        rows[r] = row;
    }
}

static void drop_rows(size_t n, const void **rows)
{
    for (size_t r = 1; r + 1 < n; r++)
        free((char *)(uintptr_t)rows[r] - r % 4);
}

/* Is `got` the product of the row and the query, within the bound? */
static void check_product(const char *what, emb_dtype dtype, const unsigned char *row,
                          const float *q, uint32_t d, double bound, float got)
{
    size_t size = emb_dtype_bytes(dtype);
    long double exact = 0, xx = 0, qq = 0;
    for (uint32_t i = 0; i < d; i++) {
        long double x = decode(dtype, row + i * size), y = q[i];
        exact += x * y;
        xx += x * x;
        qq += y * y;
    }
    CHECK(fabsl((long double)got - exact) <= bound * sqrtl(xx * qq), "%s %s d %u: %g, not %Lg",
          what, emb_dtype_name(dtype), d, (double)got, exact);
}

static void check_norm2(const char *what, emb_dtype dtype, const unsigned char *row, uint32_t d,
                        float got)
{
    size_t size = emb_dtype_bytes(dtype);
    long double exact = 0;
    for (uint32_t i = 0; i < d; i++) {
        long double x = decode(dtype, row + i * size);
        exact += x * x;
    }
    CHECK(fabsl((long double)got - exact) <= embi_dot_bound(d) * exact,
          "%s %s d %u: |row|^2 %g, not %Lg", what, emb_dtype_name(dtype), d, (double)got, exact);
}

/* Queries [n, d] up to a page that may not be touched. */
static float *make_queries(size_t n, uint32_t d)
{
    float *q = (float *)(void *)place(1, n * d * sizeof *q, 0);
    for (size_t i = 0; i < n * d; i++)
        q[i] = (float)random_unit();
    return q;
}

static void check_products(const struct embi_kern *k, emb_dtype dtype, size_t n, uint32_t d,
                           size_t queries)
{
    const void *rows[MOST_ROWS];
    size_t ld = n + queries % 3;
    float *q = make_queries(queries, d), *out = (float *)(void *)take(queries * ld * sizeof *out);
    float norms[MOST_ROWS], *norm2 = (n + queries + d) % 3 ? norms : NULL;
    make_rows(dtype, n, d, d % 4, rows);
    for (size_t i = 0; i < queries * ld; i++)
        out[i] = 77;
    products_of(k, dtype)(rows, n, d, q, queries, n % 2 ? rows[0] : NULL, out, ld, norm2);
    for (size_t j = 0; j < queries; j++)
        for (size_t r = 0; r < ld; r++) {
            if (r < n)
                check_product(k->name, dtype, rows[r], q + j * d, d, embi_dot_bound(d),
                              out[j * ld + r]);
            else
                CHECK(out[j * ld + r] == 77, "%s: wrote beyond the rows", k->name);
        }
    for (size_t r = 0; norm2 && r < n; r++)
        check_norm2(k->name, dtype, rows[r], d, norm2[r]);
    drop_rows(n, rows);
    free(out);
}

static void test_products(const struct embi_kern *k)
{
    static const emb_dtype types[3] = {EMB_F32, EMB_F16, EMB_BF16};
    for (int t = 0; t < 3; t++) {
        for (uint32_t d = 1; d <= 3 * 16 + 1; d++)
            for (size_t n = 1; n <= 9; n++)
                check_products(k, types[t], n, d, 1 + (n + d) % EMBI_FEW_QUERIES);
        for (size_t queries = 0; queries <= EMBI_FEW_QUERIES; queries++)
            for (uint32_t d = 300; d <= 302; d++) /* with norms, and without */
                check_products(k, types[t], 7, d, queries);
        check_products(k, types[t], 5, 1027, 5);
        for (size_t queries = 1; queries <= EMBI_FEW_QUERIES; queries += 11) /* several blocks */
            check_products(k, types[t], 5, 4125, queries);
    }
}

static void check_panels(const struct embi_kern *k, size_t n, uint32_t d, size_t queries)
{
    const void *rows[MOST_ROWS];
    size_t panels = embi_panels_of(queries), lanes = panels * EMBI_PANEL;
    float *q = make_queries(queries, d);
    float *packed = (float *)(void *)place(2, lanes * d * sizeof *packed, 0);
    float *out = (float *)(void *)place(3, n * lanes * sizeof *out, 0);
    make_rows(EMB_F32, n, d, d % 4, rows);
    embi_panels_pack(packed, q, queries, d);
    k->panels(rows, n, d, packed, panels, n % 2 ? rows[0] : NULL, n * d * 4, out);
    for (size_t r = 0; r < n; r++)
        for (size_t l = 0; l < lanes; l++) {
            if (l < queries)
                check_product(k->name, EMB_F32, rows[r], q + l * d, d, embi_panel_bound(d),
                              out[r * lanes + l]);
            else
                CHECK(out[r * lanes + l] == 0, "%s: a lane without a query", k->name);
        }
    drop_rows(n, rows);
}

/* Every number of rows around the tiles, of dimensions around the blocks, of panels. */
static void test_panels(const struct embi_kern *k)
{
    static const uint32_t dims[] = {1, 2, 15, 16, 17, 33, 127, 128, 129, 257, 300, 513};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (size_t panels = 1; panels <= (dims[i] > 100 ? 2 : 4); panels++)
            for (size_t n = 1; n <= 26; n += n < 14 ? 1 : 3)
                check_panels(k, n, dims[i], panels * EMBI_PANEL - n % 3);
    for (size_t queries = 1; queries <= MOST_QUERIES; queries++)
        check_panels(k, 25, 19, queries);
}

/* One element that is not finite reaches every product of its row, and no other. */
static void test_odd_rows(const struct embi_kern *k)
{
    enum { D = 300, N = 25, LANES = 2 * EMBI_PANEL };
    const void *rows[N];
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    float *q = make_queries(LANES, D), *packed = (float *)(void *)take(LANES * D * sizeof *packed);
    float *out = (float *)(void *)take(N * LANES * sizeof *out);
    for (size_t i = 0; i < LANES * D; i++)
        q[i] = 1 + (float)i;
    embi_panels_pack(packed, q, LANES, D);
    for (uint32_t at = 0; at < D; at += 13) {
        make_rows(EMB_F32, N, D, 0, rows);
        memcpy((unsigned char *)(uintptr_t)rows[at % N] + at * 4, &odd[at % 3], 4);
        k->panels(rows, N, D, packed, 2, NULL, 0, out);
        for (size_t r = 0; r < N; r++)
            for (size_t l = 0; l < LANES; l++)
                CHECK(isfinite(out[r * LANES + l]) == (r != at % N), "%s row %zu", k->name, r);
        k->products_f32(rows, N, D, q, 7, NULL, out, N, NULL);
        for (size_t r = 0; r < N; r++)
            for (size_t j = 0; j < 7; j++)
                CHECK(isfinite(out[j * N + r]) == (r != at % N), "%s row %zu", k->name, r);
        drop_rows(N, rows);
    }
    free(packed);
    free(out);
}

/* Scores well above and well below the least that counts, infinities and NaN. */
static void test_reach(const struct embi_kern *k)
{
    for (size_t n = 0; n <= 50; n++) {
        float *score = (float *)(void *)place(0, n * sizeof *score, 0);
        float *a = (float *)(void *)place(1, n * sizeof *a, 0);
        float *c = (float *)(void *)place(2, n * sizeof *c, 0);
        bool want[50];
        uint16_t mask[4];
        float u = (float)random_unit(), w = (float)random_unit();
        for (size_t i = 0; i < n; i++) {
            a[i] = (float)random_unit();
            c[i] = (float)random_unit();
            double least = (double)a[i] * (double)u + (double)c[i] + (double)w;
            double slack =
                0x1p-22 * (fabs((double)a[i] * (double)u) + fabs((double)c[i]) + fabs((double)w));
            want[i] = random_bits() & 1;
            score[i] = (float)(want[i] ? least + 2 * slack : least - 2 * slack);
            uint64_t kind = random_bits() % 10;
            if (kind < 3)
                *(kind == 0 ? &score[i] : kind == 1 ? &a[i] : &c[i]) = NAN;
            if (kind == 3)
                c[i] = -INFINITY;
            want[i] = kind < 3 ? false : kind == 3 || want[i];
        }
        k->reach(score, a, c, n, u, w, mask);
        for (size_t i = 0; i < (n + 15) / 16 * 16; i++)
            CHECK((mask[i / 16] >> i % 16 & 1) == (i < n && want[i]), "%s n %zu at %zu", k->name, n,
                  i);
        k->reach(score, a, c, n, u, NAN, mask);
        for (size_t i = 0; i < n; i++)
            CHECK((mask[i / 16] >> i % 16 & 1) == 0, "%s: a NaN is reached", k->name);
    }
}

/* Blocks of dimensions: whole ones of nearly equal size, as the bound counts them. */
static void test_blocks(void)
{
    for (uint32_t d = 1; d < 5000; d++) {
        uint32_t block = embi_panel_block(d), most = (d + EMBI_PANEL_BLOCK - 1) / EMBI_PANEL_BLOCK;
        CHECK(block % 16 == 0 && block > 0 && block <= EMBI_PANEL_BLOCK, "d %u: %u", d, block);
        CHECK((d + block - 1) / block <= most, "d %u: more than %u blocks", d, most);
        double u = 0x1p-24, m = (double)(d < EMBI_PANEL_BLOCK ? d : EMBI_PANEL_BLOCK) + most + 2;
        CHECK(embi_panel_bound(d) >= m * u / (1 - m * u), "d %u", d);
    }
}

int main(void)
{
    make_guarded();
    const struct embi_kern *sets[4];
    int n = sets_here(sets);
    for (int i = 0; i < n; i++) {
        printf("set %s\n", sets[i]->name);
        RUN(test_products(sets[i]));
        RUN(test_panels(sets[i]));
        RUN(test_odd_rows(sets[i]));
        RUN(test_reach(sets[i]));
    }
    RUN(test_blocks());
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
