/* search_main.c - emb_search and its kin against every score computed one by one.
 *
 * A plain main, so that it runs under ThreadSanitizer. Tables are raw, .npy and word2vec files made
 * here. What is expected: scores within rounding of long double sums written out in this file; hits
 * that are, bit for bit, the first k of all rows sorted by (emb_score, row), whatever the threads,
 * the instruction set, the backend and the number of queries.
 */
#include "check.h"
#include "emb.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int searches;

/* For what the test itself needs. */
static void need(bool ok, const char *what)
{
    if (!ok) {
        printf("search_main: %s failed\n", what);
        exit(2);
    }
}

static void *take(size_t bytes)
{
    void *p = calloc(1, bytes + 1);
    need(p != NULL, "calloc");
    return p;
}

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t state = 7;
static uint64_t random_bits(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double random_unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-52 - 1;
}

/* ------------------------------------------------------------------------------------------------
 * Contexts: threads and instruction sets; ways: a context and a backend
 */
enum { CONTEXTS = 6 };
static emb_ctx *contexts[CONTEXTS];
static const struct {
    int threads;
    const char *disable_cpu;
} settings[CONTEXTS] = {{1, NULL}, {3, NULL}, {1, "avx2"}, {3, "avx2"}, {2, "avx512"}, {7, NULL}};
static const struct {
    int context;
    emb_backend backend;
} ways[] = {
#if defined(UNDER_TSAN) /* looks for races, at a tenth of the speed: one thread has none */
    {1, EMB_BACKEND_NATIVE},
    {5, EMB_BACKEND_AUTO},
    {1, EMB_BACKEND_BLAS},
#else
    {0, EMB_BACKEND_NATIVE}, {1, EMB_BACKEND_NATIVE}, {2, EMB_BACKEND_AUTO},
    {3, EMB_BACKEND_NATIVE}, {4, EMB_BACKEND_NATIVE}, {5, EMB_BACKEND_AUTO},
    {0, EMB_BACKEND_BLAS},   {1, EMB_BACKEND_BLAS},
#endif
};
static int n_ways = sizeof ways / sizeof *ways;

/* The plugins of this build: BUILD/tests/kern/search_main, BUILD/lib/embtool. */
static const char *plugin_path(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    need(n > 0, "readlink");
    path[n] = 0;
    for (int up = 0; up < 3; up++)
        *strrchr(path, '/') = 0;
    return strcat(path, "/lib/embtool");
}

/* Where OpenBLAS is not installed, the last ways, which need it, are left out. */
static void open_contexts(void)
{
    emb_err err;
    for (int i = 0; i < CONTEXTS; i++) {
        emb_ctx_opts opts = {.size = sizeof opts,
                             .threads = settings[i].threads,
                             .disable_cpu = settings[i].disable_cpu,
                             .plugin_path = plugin_path()};
        need(emb_ctx_new(&opts, &contexts[i], &err) == EMB_OK, "emb_ctx_new");
    }
    need(strcmp(emb_ctx_kernels(contexts[2]), "scalar") == 0, "turning kernels off");
    while (ways[n_ways - 1].backend == EMB_BACKEND_BLAS && !emb_ctx_plugin(contexts[0], "blas"))
        n_ways--;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */
static char directory[] = "/tmp/search_main.XXXXXX";

struct data {
    uint64_t rows;
    uint32_t dims;
    double *m; /* [rows, dims]: what the file holds */
    emb_table *tables[CONTEXTS];
};

static double *row_of(const struct data *t, uint64_t row)
{
    return t->m + row * t->dims;
}

static void write_file(const char *path, const char *head, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    need(f && fputs(head, f) >= 0 && fwrite(bytes, 1, n, f) == n && fclose(f) == 0,
         "writing a file");
}

/* m as raw elements of the type; m then holds what was stored. Opened once in every context. */
static struct data make_table(uint64_t rows, uint32_t dims, emb_dtype dtype, double *m)
{
    struct data t = {.rows = rows, .dims = dims, .m = m};
    size_t n = rows * dims, bytes = n * emb_dtype_bytes(dtype);
    void *stored = take(bytes);
    char path[64];
    emb_err err;
    need(emb_convert(stored, dtype, m, EMB_F64, n, NULL, &err) == EMB_OK, "emb_convert");
    need(emb_convert(m, EMB_F64, stored, dtype, n, NULL, &err) == EMB_OK, "emb_convert");
    snprintf(path, sizeof path, "%s/t.raw", directory);
    write_file(path, "", stored, bytes);
    free(stored);
    emb_open_opts opts = {
        .size = sizeof opts, .format = "raw", .raw_dims = dims, .input_dtype = dtype};
    for (int i = 0; i < CONTEXTS; i++)
        if (emb_table_open(contexts[i], path, &opts, &t.tables[i], &err) != EMB_OK) {
            printf("%s\n", err.msg);
            need(false, "emb_table_open");
        }
    return t;
}

/* As a word2vec file: rows at odd addresses, each after a word. */
static struct data make_words(uint64_t rows, uint32_t dims, double *m)
{
    struct data t = {.rows = rows, .dims = dims, .m = m};
    unsigned char *bytes = take(rows * (dims * 4u + 16));
    size_t n = 0;
    for (uint64_t r = 0; r < rows; r++) {
        n += (size_t)sprintf((char *)bytes + n, "w%llu ", (unsigned long long)r);
        for (uint32_t c = 0; c < dims; c++, n += 4) {
            float x = (float)row_of(&t, r)[c];
            row_of(&t, r)[c] = (double)x;
            memcpy(bytes + n, &x, 4);
        }
        bytes[n++] = '\n';
    }
    char path[64], head[64];
    emb_err err;
    snprintf(path, sizeof path, "%s/t.bin", directory);
    snprintf(head, sizeof head, "%llu %u\n", (unsigned long long)rows, dims);
    write_file(path, head, bytes, n);
    free(bytes);
    for (int i = 0; i < CONTEXTS; i++)
        need(emb_table_open(contexts[i], path, NULL, &t.tables[i], &err) == EMB_OK,
             "emb_table_open");
    return t;
}

static void drop_table(struct data *t)
{
    for (int i = 0; i < CONTEXTS; i++)
        emb_table_close(t->tables[i]);
    free(t->m);
}

/* ------------------------------------------------------------------------------------------------
 * The answer, the slow way
 */
static long double slow_score(const double *x, const double *q, uint32_t d, emb_metric metric)
{
    long double dot = 0, xx = 0, qq = 0, dd = 0;
    for (uint32_t i = 0; i < d; i++) {
        dot += (long double)x[i] * q[i];
        xx += (long double)x[i] * x[i];
        qq += (long double)q[i] * q[i];
        dd += ((long double)x[i] - q[i]) * ((long double)x[i] - q[i]);
    }
    if (metric == EMB_DOT)
        return dot;
    if (metric == EMB_EUCLIDEAN)
        return -sqrtl(dd);
    return xx == 0 || qq == 0 ? 0 : dot / sqrtl(xx) / sqrtl(qq);
}

/* How far a score may be from slow_score: some roundings of what was summed. */
static long double slack(const double *x, const double *q, uint32_t d, emb_metric metric,
                         long double score)
{
    long double xx = 0, qq = 0;
    for (uint32_t i = 0; i < d; i++) {
        xx += (long double)x[i] * x[i];
        qq += (long double)q[i] * q[i];
    }
    long double unit = metric == EMB_COSINE ? 1
                       : metric == EMB_DOT  ? sqrtl(xx) * sqrtl(qq)
                                            : fabsl(score);
    return (d + 8) * 0x1p-53L * unit + 0x1p-1074L;
}

static bool finite_row(const double *x, uint32_t d)
{
    for (uint32_t i = 0; i < d; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static bool listed(const emb_search_opts *o, size_t query, uint64_t row)
{
    if (!o->exclude)
        return false;
    for (size_t i = query ? o->exclude_ends[query - 1] : 0; i < o->exclude_ends[query]; i++)
        if (o->exclude[i] == row)
            return true;
    return false;
}

static int by_score(const void *a, const void *b)
{
    const emb_hit *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->row < y->row ? -1 : 1;
}

static int by_score_ascending(const void *a, const void *b)
{
    const emb_hit *x = a, *y = b;
    return x->score != y->score ? -by_score(a, b) : by_score(a, b);
}

/* All answers to one query, in order; returns how many. *nonfinite: rows that cannot answer. */
static size_t slow_search(const struct data *t, const double *q, size_t query,
                          const emb_search_opts *o, emb_hit *hits, uint64_t *nonfinite)
{
    size_t n = 0;
    double *x = take(t->dims * sizeof *x);
    *nonfinite = 0;
    for (uint64_t row = 0; row < t->rows; row++) {
        if ((o->restrict_rows && row >= o->restrict_rows) ||
            (o->allowed && !(o->allowed[row / 8] >> row % 8 & 1)))
            continue;
        for (uint32_t i = 0; i < t->dims; i++)
            x[i] = row_of(t, row)[i] - (o->center ? o->center[i] : 0);
        if (!finite_row(x, t->dims)) {
            ++*nonfinite;
            continue;
        }
        double bias = o->bias ? o->bias[row] : 0,
               score = emb_score(x, q, t->dims, o->metric) + bias;
        if (listed(o, query, row) || (o->has_min_score && score < o->min_score))
            continue;
        long double slow = slow_score(x, q, t->dims, o->metric) + bias;
        CHECK(fabsl(score - slow) <=
                  slack(x, q, t->dims, o->metric, slow) + 0x1p-52L * fabsl((long double)bias),
              "row %llu: score %.17g, not %.20Lg", (unsigned long long)row, score, slow);
        hits[n++] = (emb_hit){row, score};
    }
    free(x);
    qsort(hits, n, sizeof *hits, o->farthest ? by_score_ascending : by_score);
    return n;
}

/* ------------------------------------------------------------------------------------------------
 * One search in every way
 */
static void compare(const emb_hit *got, size_t count, const emb_hit *want, size_t n, uint64_t k,
                    int way, size_t query)
{
    size_t most = n < k ? n : k;
    CHECK(count == most, "way %d query %zu: %zu hits, not %zu", way, query, count, most);
    for (size_t i = 0; i < count && i < most; i++)
        if (got[i].row != want[i].row ||
            memcmp(&got[i].score, &want[i].score, sizeof(double)) != 0) {
            CHECK(false, "way %d query %zu hit %zu: row %llu score %a, not row %llu score %a", way,
                  query, i, (unsigned long long)got[i].row, got[i].score,
                  (unsigned long long)want[i].row, want[i].score);
            return;
        }
}

/* Queries [n, d] in f64, searched as they are or, if all are f32, in that type with gaps between
 * rows. Returns the exact_queries of the first way. */
static uint64_t check_search(const struct data *t, const double *queries, size_t n,
                             emb_search_opts o, emb_dtype query_dtype)
{
    uint64_t k = o.k == 0 || o.k > t->rows ? t->rows : o.k, exact = 0, nonfinite = 0;
    emb_hit *want = take(n * t->rows * sizeof *want), *got = take(n * k * sizeof *got);
    size_t *wanted = take(n * sizeof *wanted), *counts = take(n * sizeof *counts);
    size_t stride = t->dims * emb_dtype_bytes(query_dtype) + (query_dtype == EMB_F32 ? 5 : 0);
    unsigned char *stored = take(n * stride);
    emb_err err;
    o.size = sizeof o;
    for (size_t i = 0; i < n; i++) {
        wanted[i] = slow_search(t, queries + i * t->dims, i, &o, want + i * t->rows, &nonfinite);
        need(emb_convert(stored + i * stride, query_dtype, queries + i * t->dims, EMB_F64, t->dims,
                         NULL, &err) == EMB_OK,
             "emb_convert");
    }
    emb_block block = {stored, n, t->dims, query_dtype, query_dtype == EMB_F32 ? stride : 0};
    for (int w = 0; w < n_ways; w++) {
        emb_search_info info;
        memset(got, 0xFF, n * k * sizeof *got);
        o.backend = ways[w].backend;
        emb_status status =
            emb_search(t->tables[ways[w].context], &block, &o, got, counts, &info, &err);
        CHECK(status == EMB_OK, "way %d: %s", w, err.msg);
        for (size_t i = 0; status == EMB_OK && i < n; i++)
            compare(got + i * k, counts[i], want + i * t->rows, wanted[i], k, w, i);
        CHECK(status != EMB_OK || info.nonfinite_rows == nonfinite,
              "way %d: %llu non-finite rows, not %llu", w, (unsigned long long)info.nonfinite_rows,
              (unsigned long long)nonfinite);
        if (w == 0)
            exact = info.exact_queries;
        searches++;
    }
    free(want);
    free(got);
    free(wanted);
    free(counts);
    free(stored);
    return exact;
}

/* All metrics, both directions, several k. */
static void check_all(const struct data *t, const double *queries, size_t n, emb_search_opts o,
                      emb_dtype query_dtype)
{
    static const uint64_t ks[] = {1, 5, 40, 0};
    for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++)
        for (int farthest = 0; farthest < 2; farthest++)
            for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
                o.metric = (emb_metric)metric;
                o.farthest = farthest;
                o.k = ks[i];
                check_search(t, queries, n, o, query_dtype);
            }
}

/* ------------------------------------------------------------------------------------------------
 * Cases
 */
enum { Q = 3 };

static double *random_matrix(uint64_t rows, uint32_t dims, double scale)
{
    double *m = take(rows * dims * sizeof *m);
    for (size_t i = 0; i < rows * dims; i++)
        m[i] = (double)(float)(random_unit() + random_unit() + random_unit()) * scale;
    return m;
}

/* A row of the table, a random vector, and one close to a row. */
static double *some_queries(const struct data *t)
{
    double *q = random_matrix(Q, t->dims, 1);
    memcpy(q, row_of(t, 5), t->dims * sizeof *q);
    for (uint32_t i = 0; i < t->dims; i++)
        q[2 * t->dims + i] = (double)(float)(row_of(t, 17)[i] + q[2 * t->dims + i] / 64);
    return q;
}

static void put_odd_rows(double *m, uint32_t d, double huge, double tiny)
{
    double odd[] = {NAN, INFINITY, -INFINITY};
    for (uint64_t i = 0; i < 3; i++) {
        m[(100 + 31 * i) * d + random_bits() % d] = odd[i];
        for (uint32_t c = 0; c < d; c++) {
            m[(200 + i) * d + c] = 0;
            m[(300 + i) * d + c] *= huge;
            m[(400 + i) * d + c] *= tiny;
            m[(500 + i) * d + c] = c == 0 ? tiny : 0;
            m[(600 + i) * d + c] = m[17 * d + c];     /* equal rows ...    */
            m[(700 + i) * d + c] = 2 * m[17 * d + c]; /* and parallel ones */
        }
    }
}

static void test_types(void)
{
    static const struct {
        emb_dtype dtype;
        double huge, tiny;
    } types[] = {{EMB_F32, 1e30, 1e-30},
                 {EMB_F16, 1e4, 1e-7},
                 {EMB_BF16, 1e37, 1e-38},
                 {EMB_F64, 1e140, 1e-140}};
    static const uint32_t dims[] = {1, 2, 7, 8, 19, 50};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t j = 0; j < sizeof dims / sizeof *dims; j++) {
            uint32_t d = dims[j];
            double *m = random_matrix(1000, d, 1);
            put_odd_rows(m, d, types[i].huge, types[i].tiny);
            struct data t = make_table(1000, d, types[i].dtype, m);
            double *q = some_queries(&t);
            check_all(&t, q, Q, (emb_search_opts){0}, i % 2 ? EMB_F32 : EMB_F64);
            free(q);
            drop_table(&t);
        }
}

/* Squares beyond f64: scores are still right. */
static void test_extremes(void)
{
    double *m = random_matrix(800, 9, 1);
    put_odd_rows(m, 9, 1e280, 1e-290);
    struct data t = make_table(800, 9, EMB_F64, m);
    double *q = random_matrix(4, 9, 1);
    for (uint32_t c = 0; c < 9; c++) {
        q[9 + c] *= 1e280;
        q[18 + c] *= 1e-280;
        q[27 + c] = c == 3 ? DBL_TRUE_MIN : 0;
    }
    for (int farthest = 0; farthest < 2; farthest++) {
        check_search(&t, q, 4, (emb_search_opts){.k = 7, .farthest = farthest}, EMB_F64);
        check_search(&t, q, 4, (emb_search_opts){.metric = EMB_EUCLIDEAN, .farthest = farthest},
                     EMB_F64);
        check_search(&t, q + 18, 1,
                     (emb_search_opts){.metric = EMB_DOT, .k = 7, .farthest = farthest}, EMB_F64);
    }
    free(q);
    drop_table(&t);
}

static void test_integers(void)
{
    for (int big = 0; big < 2; big++) {
        double *m = take(900 * 12 * sizeof *m);
        for (size_t i = 0; i < 900 * 12; i++)
            m[i] = (double)(random_bits() % 5) - 2; /* few values: many ties and zero rows */
        if (big)
            for (size_t i = 0; i < 900 * 12; i += 7)
                m[i] *= 1e15;
        struct data t = make_table(900, 12, big ? EMB_I64 : EMB_I8, m);
        double *q = some_queries(&t);
        check_all(&t, q, Q, (emb_search_opts){0}, EMB_F64);
        free(q);
        drop_table(&t);
    }
}

/* Small whole numbers in few dimensions: thousands of exact ties, which rows must break. */
static void test_ties(void)
{
    double *m = take(5000 * 3 * sizeof *m);
    for (size_t i = 0; i < 5000 * 3; i++)
        m[i] = (double)(random_bits() % 3) - 1;
    struct data t = make_table(5000, 3, EMB_F32, m);
    double q[9] = {1, 1, 0, 1, 0, 0, -1, 1, 1};
    uint64_t exact = 0;
    for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++)
        for (uint64_t k = 1; k < 1200; k = k * 3 + 1)
            exact += check_search(&t, q, 3, (emb_search_opts){.k = k, .metric = (emb_metric)metric},
                                  EMB_F32);
    CHECK(exact > 0, "no query had too many ties");
    drop_table(&t);

    m = take(4000 * 20 * sizeof *m); /* one row, again and again */
    for (size_t i = 0; i < 4000 * 20; i++)
        m[i] = 0.1 * (double)(i % 20 + 1);
    m[3999 * 20] = 50;
    t = make_table(4000, 20, EMB_F32, m);
    for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++) {
        exact = check_search(&t, row_of(&t, 0), 1,
                             (emb_search_opts){.k = 10, .metric = (emb_metric)metric}, EMB_F32);
        CHECK(exact == 1, "%llu exact queries", (unsigned long long)exact);
    }
    drop_table(&t);

    m = random_matrix(3000, 6, 1);
    memset(m, 0, 2900 * 6 * sizeof *m); /* mostly zero rows */
    t = make_table(3000, 6, EMB_BF16, m);
    check_all(&t, row_of(&t, 2950), 2, (emb_search_opts){0}, EMB_F32);
    drop_table(&t);
}

static void test_words(void)
{
    double *m = random_matrix(3000, 50, 1);
    put_odd_rows(m, 50, 1e25, 1e-25);
    struct data t = make_words(3000, 50, m);
    double *q = some_queries(&t);
    check_all(&t, q, Q, (emb_search_opts){0}, EMB_F32);
    free(q);
    drop_table(&t);
}

/* What may answer, in all combinations. */
static void test_filters(void)
{
    enum { V = 1500, D = 10 };
    double *m = random_matrix(V, D, 1), center[D];
    put_odd_rows(m, D, 1e20, 1e-20);
    struct data t = make_table(V, D, EMB_F32, m);
    double *q = some_queries(&t);
    for (int i = 0; i < D; i++)
        center[i] = 0.1 * i;
    uint8_t dense[V / 8 + 1], sparse[V / 8 + 1] = {0};
    memset(dense, 0xB7, sizeof dense);
    for (uint64_t row = 0; row < V; row += 97)
        sparse[row / 8] = (uint8_t)(sparse[row / 8] | 1u << row % 8);
    uint64_t exclude[] = {700, 5, 17, 600, 17, 17, V + 9};
    size_t ends[Q] = {2, 2, 7};
    for (int mask = 0; mask < 32; mask++) {
        emb_search_opts o = {.k = mask % 3 == 0 ? 3 : 12, .metric = (emb_metric)(mask % 3)};
        o.has_min_score = mask & 1;
        o.min_score = o.metric == EMB_EUCLIDEAN ? -3 : 0.55;
        o.restrict_rows = mask & 2 ? 1203 : 0;
        o.allowed = mask & 4 ? mask & 1 ? sparse : dense : NULL;
        o.exclude = mask & 8 ? exclude : NULL;
        o.exclude_ends = mask & 8 ? ends : NULL;
        o.center = mask & 16 ? center : NULL;
        check_search(&t, q, Q, o, EMB_F64);
        o.farthest = true;
        check_search(&t, q, Q, o, EMB_F64);
        o.k = 0;
        check_search(&t, q, Q, o, EMB_F64);
    }
    free(q);
    drop_table(&t);
}

/* More queries than one batch or one pass takes, and enough work for threads. */
static void test_many_queries(void)
{
    double *m = random_matrix(1100, 3, 1);
    struct data t = make_table(1100, 3, EMB_F32, m);
    check_search(&t, m, 600, (emb_search_opts){.k = 2}, EMB_F64);
    drop_table(&t);

    m = random_matrix(5000, 4, 1);
    t = make_table(5000, 4, EMB_F64, m);
    check_search(&t, m, 180, (emb_search_opts){.k = 1000}, EMB_F64);
    check_search(&t, m, 12, (emb_search_opts){.k = 1025}, EMB_F64);
    drop_table(&t);

    m = random_matrix(20000, 32, 1);
    m[19000 * 32 + 4] = NAN;
    t = make_table(20000, 32, EMB_F32, m);
    for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++)
        check_search(&t, m, 30, (emb_search_opts){.k = 10, .metric = (emb_metric)metric}, EMB_F32);
    check_search(&t, m, 9, (emb_search_opts){.k = 0}, EMB_F32);
    drop_table(&t);
}

/* Numbers of queries around those that are multiplied one by one, and around panels of lanes; some
 * rows of every kind, and every way of getting at rows. */
static void test_batches(void)
{
    static const emb_dtype types[] = {EMB_F32, EMB_F16, EMB_BF16, EMB_F64};
    static const size_t batches[] = {2, 6, 7, 11, 12, 13, 16, 17, 22, 23, 40, 70};
    enum { V = 1300, D = 37 };
    double center[D];
    uint8_t allowed[V / 8 + 1];
    for (int i = 0; i < D; i++)
        center[i] = 0.05 * i;
    memset(allowed, 0xEB, sizeof allowed);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        double *m = random_matrix(V, D, 1);
        put_odd_rows(m, D, types[t] == EMB_F16 ? 1e4 : 1e37, 1e-7);
        struct data table = make_table(V, D, types[t], m);
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            emb_search_opts o = {.k = 1 + 9 * (i % 3), .metric = (emb_metric)((i + t) % 3)};
            o.farthest = i % 2;
            double *q = m + 710 * D;
            check_search(&table, q, batches[i], o, EMB_F64);
            o.metric = (emb_metric)((i + t + 1) % 3);
            o.allowed = i % 4 == 0 ? allowed : NULL;
            o.center = i % 3 == 0 ? center : NULL;
            check_search(&table, q, batches[i], o, EMB_F32);
        }
        drop_table(&table);
    }
}

/* Biases that hardly count, that decide nearly alone, that are all the same, and that are beyond what
 * the fast way takes; in both directions, with ties. */
static void test_biases(void)
{
    static const emb_dtype types[] = {EMB_F32, EMB_BF16};
    static const double sizes[] = {1e-6, 1, 1e4, 0, 1e30};
    enum { V = 1500, D = 21, N = 20 };
    double *bias = take(V * sizeof *bias);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        double *m = random_matrix(V, D, 1), *q = random_matrix(N, D, 1);
        put_odd_rows(m, D, 1e37, 1e-7);
        for (int c = 0; c < D; c++) {
            m[900 * D + c] = m[300 * D + c]; /* equal rows, equal biases */
            q[3 * D + c] *= 1e-9;            /* queries that the fast way leaves */
            q[4 * D + c] *= 1e9;
            q[5 * D + c] = 0;
        }
        struct data table = make_table(V, D, types[t], m);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (int r = 0; r < V; r++)
                bias[r] = sizes[s] != 0 ? sizes[s] * random_unit() : 7;
            bias[900] = bias[300];
            for (int farthest = 0; farthest < 2; farthest++) {
                emb_search_opts o = {.k = 9, .metric = EMB_DOT, .farthest = farthest, .bias = bias};
                check_search(&table, q, N, o, EMB_F64);
                check_search(&table, q, 7, o, EMB_F64);
                o.k = 0;
                check_search(&table, q, 2, o, EMB_F64);
            }
        }
        free(q);
        drop_table(&table);
    }
    free(bias);
}

/* Scores that rise or fall with the row, so that every row or none enters after the first; and all
 * the same but the last bits. */
static void test_order_of_scores(void)
{
    enum { V = 6000, D = 24, N = 30 };
    for (int kind = 0; kind < 3; kind++) {
        double *m = random_matrix(V, D, 1), *q = random_matrix(N, D, 1);
        for (uint64_t row = 0; row < V; row++)
            for (int c = 0; c < D; c++) {
                double near = kind == 0   ? 1e-3 * (double)row
                              : kind == 1 ? 6 - 1e-3 * (double)row
                                          : 5;
                double noise = kind == 2 ? 1e-6 * m[row * D + c] : 0.1 * m[row * D + c];
                m[row * D + c] = near * q[c] + noise;
            }
        for (int i = 0; i < N * D; i++)
            q[i] = q[i % D] + (i < D ? 0 : 1e-3 * q[i]);
        struct data t = make_table(V, D, EMB_F32, m);
        for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++) {
            emb_search_opts o = {.k = 10, .metric = (emb_metric)metric};
            check_search(&t, q, N, o, EMB_F64);
            o.farthest = true;
            o.k = 100;
            check_search(&t, q, 5, o, EMB_F64);
        }
        free(q);
        drop_table(&t);
    }
}

/* Queries whose length f32 cannot work with. */
static void test_long_and_short_queries(void)
{
    enum { V = 1200, D = 20, N = 26 };
    struct data t = make_table(V, D, EMB_F32, random_matrix(V, D, 1));
    double *q = random_matrix(N, D, 1);
    for (int i = 0; i < N * D; i++)
        q[i] *= ldexp(1, (i / D - N / 2) * 30);
    for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++)
        for (int farthest = 0; farthest < 2; farthest++)
            check_search(
                &t, q, N,
                (emb_search_opts){.k = 4, .metric = (emb_metric)metric, .farthest = farthest},
                EMB_F64);
    free(q);
    drop_table(&t);
}

/* Long rows, where sums in any order are least alike; AUTO takes BLAS for the second. */
static void test_long_rows(void)
{
    double *m = random_matrix(1600, 1027, 1);
    put_odd_rows(m, 1027, 1e10, 1e-10);
    struct data t = make_table(1600, 1027, EMB_F32, m);
    double *q = some_queries(&t);
    check_all(&t, q, Q, (emb_search_opts){0}, EMB_F64);
    free(q);
    check_search(&t, m, 70, (emb_search_opts){.k = 10}, EMB_F64);
    drop_table(&t);
}

/* Without a plugin: native by itself, an error where BLAS was asked for. */
static void test_without_plugin(void)
{
    emb_ctx *ctx;
    emb_err err;
    emb_table *table;
    double q[4] = {1, 2, 3, 4};
    emb_block block = {q, 1, 4, EMB_F64, 0};
    emb_hit hit;
    size_t count;
    struct data t = make_table(20, 4, EMB_F32, random_matrix(20, 4, 1));
    emb_open_opts opts = {
        .size = sizeof opts, .format = "raw", .raw_dims = 4, .input_dtype = EMB_F32};
    char path[64];
    snprintf(path, sizeof path, "%s/t.raw", directory);
    need(emb_ctx_new(NULL, &ctx, &err) == EMB_OK, "emb_ctx_new");
    need(emb_table_open(ctx, path, &opts, &table, &err) == EMB_OK, "emb_table_open");
    emb_search_opts o = {.size = sizeof o, .k = 1, .backend = EMB_BACKEND_BLAS};
    CHECK(emb_search(table, &block, &o, &hit, &count, NULL, &err) == EMB_DEVICE, "no plugin");
    CHECK(strstr(err.msg, "the BLAS plugin is not there") != NULL, "%s", err.msg);
    o.backend = EMB_BACKEND_AUTO;
    CHECK(emb_search(table, &block, &o, &hit, &count, NULL, &err) == EMB_OK, "%s", err.msg);
    emb_table_close(table);
    emb_ctx_free(ctx);
    drop_table(&t);
}

/* ------------------------------------------------------------------------------------------------
 * Refusals, empty tables
 */
static void refuse(const struct data *t, const emb_block *queries, emb_search_opts o,
                   emb_status want, int64_t at)
{
    emb_hit hits[64];
    size_t counts[8];
    emb_err err = {0};
    o.size = sizeof o;
    emb_status status = emb_search(t->tables[0], queries, &o, hits, counts, NULL, &err);
    CHECK(status == want && err.status == want && err.at == at && err.msg[0],
          "status %d at %lld: %s", status, (long long)err.at, err.msg);
}

static void test_refusals(void)
{
    struct data t = make_table(20, 4, EMB_F32, random_matrix(20, 4, 1));
    double q[12] = {1, 2, 3, 4, 0, 0, 0, 0, 1, NAN, 3, 4}, center[4] = {0, 0, INFINITY, 0};
    emb_block block = {q, 3, 4, EMB_F64, 0};
    refuse(&t, &block, (emb_search_opts){.k = 1}, EMB_BAD_DATA, 1);
    refuse(&t, &block, (emb_search_opts){.k = 1, .metric = EMB_DOT}, EMB_BAD_DATA, 2);
    q[9] = -INFINITY;
    refuse(&t, &block, (emb_search_opts){.k = 1, .metric = EMB_EUCLIDEAN}, EMB_BAD_DATA, 2);
    block.rows = 1;
    refuse(&t, &block, (emb_search_opts){.k = 1, .metric = (emb_metric)3}, EMB_BAD_ARG, -1);
    refuse(&t, &block, (emb_search_opts){.k = 1, .has_min_score = true, .min_score = NAN},
           EMB_BAD_ARG, -1);
    refuse(&t, &block, (emb_search_opts){.k = 1, .center = center}, EMB_BAD_ARG, 2);
    refuse(&t, &block, (emb_search_opts){.k = 1, .backend = (emb_backend)3}, EMB_BAD_ARG, -1);
    double bias[20] = {[3] = NAN};
    refuse(&t, &block, (emb_search_opts){.k = 1, .bias = bias}, EMB_BAD_ARG, -1);
    refuse(&t, &block, (emb_search_opts){.k = 1, .metric = EMB_DOT, .bias = bias}, EMB_BAD_ARG, 3);
    uint64_t row = 3;
    refuse(&t, &block, (emb_search_opts){.k = 1, .exclude = &row}, EMB_BAD_ARG, -1);
    size_t backwards[2] = {1, 0};
    block.rows = 2;
    refuse(&t, &block, (emb_search_opts){.k = 1, .exclude = &row, .exclude_ends = backwards},
           EMB_BAD_ARG, 1);
    block = (emb_block){q, 1, 3, EMB_F64, 0};
    refuse(&t, &block, (emb_search_opts){.k = 1}, EMB_BAD_ARG, -1);
    block = (emb_block){q, 1, 4, EMB_I8, 0};
    refuse(&t, &block, (emb_search_opts){.k = 1}, EMB_BAD_ARG, -1);

    block = (emb_block){q, 0, 4, EMB_F64, 0}; /* no query: no work, no error */
    emb_err err;
    emb_search_info info;
    CHECK(emb_search(t.tables[0], &block, NULL, NULL, NULL, &info, &err) == EMB_OK, "%s", err.msg);
    drop_table(&t);
}

/* Also options of an older caller, who knew k alone. */
static void test_empty_and_old(void)
{
    static const char head[] = "\x93NUMPY\1"; /* a NUL, the length and the rest follow */
    char header[118 + 1];
    unsigned char rest[121] = {0, 118, 0};
    int n = snprintf(header, sizeof header,
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }");
    memset(rest + 3, ' ', 118);
    memcpy(rest + 3, header, (size_t)n);
    rest[120] = '\n';
    char path[64];
    snprintf(path, sizeof path, "%s/empty.npy", directory);
    write_file(path, head, rest, sizeof rest);
    emb_table *table;
    emb_err err;
    need(emb_table_open(contexts[0], path, NULL, &table, &err) == EMB_OK, "opening an empty table");
    double q[4] = {1, 2, 3, 4}, mean[4];
    emb_block block = {q, 1, 4, EMB_F64, 0};
    size_t count = 9;
    CHECK(emb_search(table, &block, NULL, NULL, &count, NULL, &err) == EMB_OK && count == 0, "%s",
          err.msg);
    CHECK(emb_mean_row(table, mean, &err) == EMB_BAD_DATA, "a mean of nothing");
    emb_table_close(table);

    struct data t = make_table(20, 4, EMB_F32, random_matrix(20, 4, 1));
    emb_hit hits[3];
    emb_search_opts o;
    memset(&o, 0xFF, sizeof o);
    o.size = offsetof(emb_search_opts, metric);
    o.k = 3;
    CHECK(emb_search(t.tables[0], &block, &o, hits, &count, NULL, &err) == EMB_OK && count == 3,
          "%s", err.msg);
    drop_table(&t);
}

/* ------------------------------------------------------------------------------------------------
 * Scores, 3CosMul, combinations, the mean row
 */
static void test_exact_scores(void)
{
    double x[84], twice[84], minus[84];
    for (int i = 0; i < 84; i++) {
        x[i] = random_unit();
        twice[i] = 2 * x[i];
        minus[i] = -x[i];
    }
    CHECK(emb_score(x, x, 84, EMB_COSINE) == 1, "equal");
    CHECK(emb_score(x, twice, 84, EMB_COSINE) == 1, "parallel");
    CHECK(emb_score(x, minus, 84, EMB_COSINE) == -1, "opposite");
    CHECK(emb_score(x, x, 84, EMB_EUCLIDEAN) == 0 && !signbit(emb_score(x, x, 84, EMB_EUCLIDEAN)),
          "no distance");
    double zero[3] = {0}, one[3] = {1, 0, 0}, big[3] = {DBL_MAX, 0, 0}, low[3] = {-DBL_MAX, 0, 0};
    double small[3] = {DBL_TRUE_MIN, 0, 0}, two[3] = {2 * DBL_TRUE_MIN, 0, 0};
    CHECK(emb_score(zero, one, 3, EMB_COSINE) == 0, "zero row");
    CHECK(emb_score(big, one, 3, EMB_COSINE) == 1 && emb_score(big, low, 3, EMB_COSINE) == -1,
          "large");
    CHECK(emb_score(small, two, 3, EMB_COSINE) == 1, "small");
    CHECK(emb_score(big, low, 3, EMB_DOT) == -(double)INFINITY, "dot beyond f64");
    CHECK(emb_score(big, zero, 3, EMB_EUCLIDEAN) == -DBL_MAX, "large distance");
    CHECK(emb_score(small, two, 3, EMB_EUCLIDEAN) == -DBL_TRUE_MIN, "small distance");
    double near[2] = {0x1p-900, 1e304}, far[2] = {0x1.8p-900, 1e304};
    CHECK(emb_score(near, far, 2, EMB_EUCLIDEAN) == -0x1p-901, "small distance of large vectors");
    CHECK(emb_score(big, low, 3, EMB_EUCLIDEAN) == -(double)INFINITY, "distance beyond f64");
    double plus_minus[2] = {1e200, 1e200}, cancel[2] = {1e200, -1e200};
    CHECK(emb_score(plus_minus, cancel, 2, EMB_DOT) == 0, "infinities that cancel");
}

static void test_mul(void)
{
    enum { V = 800, D = 6, N = 4 };
    double *m = random_matrix(V, D, 1), terms[N * D], weights[N] = {1, -1, 1, -0.5};
    put_odd_rows(m, D, 1e10, 1e-10);
    struct data t = make_table(V, D, EMB_F32, m);
    memcpy(terms, m + 5 * D, sizeof terms);
    emb_hit *want = take(V * sizeof *want), got[9];
    size_t n = 0, count;
    uint64_t skip[2] = {5, 6};
    for (uint64_t row = 0; row < V; row++) {
        if (!finite_row(row_of(&t, row), D) || row == 5 || row == 6)
            continue;
        double s[N];
        for (size_t i = 0; i < N; i++)
            s[i] = (1 + emb_score(row_of(&t, row), terms + i * D, D, EMB_COSINE)) / 2;
        want[n++] = (emb_hit){row, s[0] * s[2] / ((s[1] + 0.001) * (sqrt(s[3]) + 0.001))};
    }
    qsort(want, n, sizeof *want, by_score);
    emb_block block = {terms, N, D, EMB_F64, 0};
    size_t ends[1] = {2};
    emb_search_opts o = {.size = sizeof o, .k = 9, .exclude = skip, .exclude_ends = ends};
    emb_err err;
    for (int c = 0; c < CONTEXTS; c++) {
        emb_search_info info;
        CHECK(emb_search_mul(t.tables[c], &block, weights, &o, got, &count, &info, &err) == EMB_OK,
              "%s", err.msg);
        CHECK(count == 9 && info.nonfinite_rows == 3, "%zu hits", count);
        for (size_t i = 0; i < count; i++)
            CHECK(got[i].row == want[i].row &&
                      fabs(got[i].score - want[i].score) <= 1e-13 * want[i].score,
                  "hit %zu: %llu %.17g, not %llu %.17g", i, (unsigned long long)got[i].row,
                  got[i].score, (unsigned long long)want[i].row, want[i].score);
    }
    o.metric = EMB_DOT;
    CHECK(emb_search_mul(t.tables[0], &block, weights, &o, got, &count, NULL, &err) == EMB_BAD_ARG,
          "dot");
    o.metric = EMB_COSINE;
    o.backend = EMB_BACKEND_BLAS;
    CHECK(emb_search_mul(t.tables[0], &block, weights, &o, got, &count, NULL, &err) == EMB_BAD_ARG,
          "blas");
    o.backend = EMB_BACKEND_AUTO;
    memset(terms + D, 0, D * sizeof *terms);
    CHECK(emb_search_mul(t.tables[0], &block, weights, &o, got, &count, NULL, &err) ==
                  EMB_BAD_DATA &&
              err.at == 1,
          "zero term");
    free(want);
    drop_table(&t);
}

static void test_combine(void)
{
    float terms[6] = {3, 4, 0, -5, 1e-30f, 0};
    double weights[3] = {2, 1, -1}, query[2], wide[4] = {3e300, 4e300, 3e-310, 4e-310};
    emb_block block = {terms, 3, 2, EMB_F32, 0};
    emb_err err;
    CHECK(emb_combine(&block, weights, false, query, &err) == EMB_OK, "%s", err.msg);
    CHECK(query[0] == 6 - (double)1e-30f && query[1] == 3, "%g %g", query[0], query[1]);
    CHECK(emb_combine(&block, weights, true, query, &err) == EMB_OK, "%s", err.msg);
    CHECK(fabs(query[0] - 0.2) < 1e-15 && fabs(query[1] - 0.6) < 1e-15, "%g %g", query[0],
          query[1]);
    block = (emb_block){wide, 2, 2, EMB_F64, 0};
    weights[1] = -2;
    CHECK(emb_combine(&block, weights, true, query, &err) == EMB_OK, "%s", err.msg);
    CHECK(fabs(query[0]) < 1e-12 && fabs(query[1]) < 1e-12, "%g %g", query[0], query[1]);
    wide[2] = wide[3] = 0;
    CHECK(emb_combine(&block, weights, true, query, &err) == EMB_BAD_DATA && err.at == 1,
          "zero term");
    CHECK(emb_combine(&block, weights, false, query, &err) == EMB_OK, "%s", err.msg);
    wide[1] = NAN;
    CHECK(emb_combine(&block, weights, false, query, &err) == EMB_BAD_DATA && err.at == 0,
          "NaN term");
}

static void test_mean(emb_dtype dtype)
{
    enum { V = 70000, D = 64 };
    double *m = random_matrix(V, D, 1), first[D], mean[D];
    put_odd_rows(m, D, 10, 0.1);
    struct data t = make_table(V, D, dtype, m);
    emb_err err;
    for (int c = 0; c < CONTEXTS; c++) {
        CHECK(emb_mean_row(t.tables[c], mean, &err) == EMB_OK, "%s", err.msg);
        if (c == 0)
            memcpy(first, mean, sizeof first);
        CHECK(memcmp(first, mean, sizeof first) == 0, "context %d: another mean", c);
    }
    for (int i = 0; i < D; i++) {
        long double sum = 0;
        for (uint64_t row = 0; row < V; row++)
            if (finite_row(row_of(&t, row), D))
                sum += row_of(&t, row)[i];
        CHECK(fabsl(sum / (V - 3) - first[i]) < 1e-14L, "column %d: %.17g, not %.20Lg", i, first[i],
              sum / (V - 3));
    }
    drop_table(&t);
}

/* Many queries on rows of bf16, where a kernel that rounds the queries too may be the fastest: the
 * same bits as from AVX2, also where hundreds of rows are nearly equal. */
static void test_bf16(void)
{
    enum { V = 8192, D = 256, MANY = 480, K = 10, CLUSTER = 700 };
    double *m = random_matrix(V, D, 1), *q = random_matrix(MANY, D, 1);
    for (uint64_t r = 0; r < CLUSTER; r++)
        for (int i = 0; i < D; i++)
            m[r * 8 * D + i] = m[i] * (1 + 0.01 * random_unit());
    for (int j = 0; j < 5; j++)
        memcpy(q + j * D, m + j * 8 * D, D * sizeof *q);
    put_odd_rows(m, D, 1e30, 1e-30);
    struct data t = make_table(V, D, EMB_BF16, m);
    emb_block block = {.data = q, .rows = MANY, .dims = D, .dtype = EMB_F64};
    emb_hit *want = take(MANY * K * sizeof *want), *got = take(MANY * K * sizeof *got);
    size_t counts[2][MANY];
    static const emb_metric metrics[] = {EMB_COSINE, EMB_DOT, EMB_EUCLIDEAN};
#if defined(UNDER_TSAN)
    const int n_kinds = 1;
#else
    const int n_kinds = 6; /* each metric, nearest and farthest */
#endif
    emb_err err;
    for (int i = 0; i < n_kinds; i++) {
        emb_search_opts o = {.size = sizeof o, .k = K, .metric = metrics[i / 2], .farthest = i % 2};
        CHECK(emb_search(t.tables[4], &block, &o, want, counts[0], NULL, &err) == EMB_OK, "AVX2");
        for (int c = 0; c < 2; c++) {
            CHECK(emb_search(t.tables[c ? 5 : 0], &block, &o, got, counts[1], NULL, &err) == EMB_OK,
                  "context %d", c);
            CHECK(memcmp(counts[0], counts[1], sizeof counts[0]) == 0, "metric %d: counts", i);
            for (size_t h = 0; h < MANY * K; h++)
                CHECK(got[h].row == want[h].row && got[h].score == want[h].score,
                      "metric %d query %zu hit %zu: row %llu, not %llu", i, h / K, h % K,
                      (unsigned long long)got[h].row, (unsigned long long)want[h].row);
        }
    }
    free(want);
    free(got);
    free(q);
    drop_table(&t);
}

int main(void)
{
    need(mkdtemp(directory) != NULL, "mkdtemp");
    open_contexts();
    RUN(test_exact_scores());
    RUN(test_types());
    RUN(test_extremes());
    RUN(test_integers());
    RUN(test_ties());
    RUN(test_words());
    RUN(test_filters());
    RUN(test_batches());
    RUN(test_biases());
    RUN(test_order_of_scores());
    RUN(test_long_and_short_queries());
    RUN(test_many_queries());
    RUN(test_long_rows());
    RUN(test_bf16());
    RUN(test_without_plugin());
    RUN(test_refusals());
    RUN(test_empty_and_old());
    RUN(test_mul());
    RUN(test_combine());
    RUN(test_mean(EMB_F32));
    RUN(test_mean(EMB_BF16));
    RUN(test_mean(EMB_F64));
    for (int i = 0; i < CONTEXTS; i++)
        emb_ctx_free(contexts[i]);
    static const char *const names[] = {"t.raw", "t.bin", "empty.npy"};
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
    if (n_ways < (int)(sizeof ways / sizeof *ways))
        printf("without --backend blas: OpenBLAS is not installed\n");
    printf("%d searches\n%d passed, %d failed\n", searches, passed, failed);
    return failed != 0;
}
