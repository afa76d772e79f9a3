/* ops_main.c - the library over a device, against itself without one: what no command reaches.
 * ops_main PLUGINS FILE [DEVICE [may-fail]]: FILE is for tables, and is overwritten; DEVICE is
 * "cuda" if it is not said. With may-fail a call of the driver does not work, and each function must
 * say so or do without. With "auto" it is looked at which searches take the device that is open.
 * Prints how it went.
 */
#include "../kern/check.h"
#include "dev/device.h"
#include "emb.h"

#include <stdlib.h>
#include <string.h>

enum { V = 700, D = 37, N = 900 };

static bool may_fail;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t state = 5;
static uint64_t random_bits(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Did the call do what it should? Where calls of the driver fail, the error says so. */
static bool worked(emb_status status, const emb_err *err)
{
    if (status == EMB_OK)
        return true;
    CHECK(may_fail && (status == EMB_DEVICE || status == EMB_NO_MEMORY) && err->status == status &&
              err->msg[0],
          "status %d: %s", (int)status, err->msg);
    return false;
}

/* Rows of a random table of that type. */
static void fill(emb_ctx *ctx, emb_block *block, uint64_t seed)
{
    const emb_init_opts opts = {.size = sizeof opts, .seed = seed};
    emb_err err;
    CHECK(emb_init_rows(ctx, &opts, 0, block, &err) == EMB_OK, "%s", err.msg);
}

/* Both ways to add gradients, with frozen rows and rows that many gradients go to. */
static void scatter(emb_ctx *ctx, emb_device *device, emb_dtype dtype)
{
    size_t row = D * emb_dtype_bytes(dtype);
    emb_block a = {malloc(V * row), V, D, dtype, 0}, b = {malloc(V * row), V, D, dtype, 0};
    emb_block grads = {malloc(N * row), N, D, dtype, 0};
    uint64_t rows[N];
    uint8_t frozen[V / 8 + 1] = {0};
    emb_scatter_opts opts = {.size = sizeof opts, .frozen = frozen};
    emb_err err;
    fill(ctx, &a, 1);
    fill(ctx, &grads, 2);
    memcpy(b.data, a.data, V * row);
    for (size_t i = 0; i < N; i++)
        rows[i] = i % 3 ? random_bits() % V : 7;
    for (size_t i = 0; i < V; i += 5)
        frozen[i / 8] |= (uint8_t)(1u << i % 8);
    CHECK(emb_scatter_add(ctx, &a, rows, &grads, &opts, &err) == EMB_OK, "%s", err.msg);
    opts.device = device;
    if (worked(emb_scatter_add(ctx, &b, rows, &grads, &opts, &err), &err))
        CHECK(memcmp(a.data, b.data, V * row) == 0, "sums of %s differ", emb_dtype_name(dtype));
    free(a.data);
    free(b.data);
    free(grads.data);
}

static void draw(emb_ctx *ctx, emb_device *device, emb_dtype dtype, emb_dist dist)
{
    size_t row = D * emb_dtype_bytes(dtype), gap = row + 3;
    emb_block a = {calloc(V, gap), V, D, dtype, gap}, b = {calloc(V, gap), V, D, dtype, gap};
    emb_init_opts opts = {.size = sizeof opts, .dist = dist, .seed = 9, .stream = 4};
    emb_err err;
    CHECK(emb_init_rows(ctx, &opts, 1000, &a, &err) == EMB_OK, "%s", err.msg);
    opts.device = device;
    if (worked(emb_init_rows(ctx, &opts, 1000, &b, &err), &err))
        CHECK(memcmp(a.data, b.data, V * gap) == 0, "random rows of %s differ",
              emb_dtype_name(dtype));
    free(a.data);
    free(b.data);
}

static emb_table *open_raw(emb_ctx *ctx, const char *path, emb_dtype dtype)
{
    emb_open_opts opts = {
        .size = sizeof opts, .format = "raw", .input_dtype = dtype, .raw_dims = D, .raw_rows = V};
    emb_table *table = NULL;
    emb_err err;
    CHECK(emb_table_open(ctx, path, &opts, &table, &err) == EMB_OK, "%s", err.msg);
    return table;
}

static void gather(emb_device *device, const emb_table *table, emb_dtype as)
{
    size_t row = D * emb_dtype_bytes(as);
    emb_block a = {malloc(N * row), N, D, as, 0}, b = {malloc(N * row), N, D, as, 0};
    uint64_t rows[N];
    emb_err err;
    for (size_t i = 0; i < N; i++)
        rows[i] = random_bits() % V;
    CHECK(emb_table_gather(table, rows, N, &a, &err) == EMB_OK, "%s", err.msg);
    if (worked(emb_device_gather(device, table, rows, N, &b, &err), &err))
        CHECK(memcmp(a.data, b.data, N * row) == 0, "rows as %s differ", emb_dtype_name(as));
    free(a.data);
    free(b.data);
}

/* Sequences of which one goes on from before, one has no rows, and one has many. */
static void pool(emb_ctx *ctx, emb_device *device, const emb_table *table, emb_pooling how)
{
    enum { BAGS = 4 };
    static const uint64_t ends[BAGS] = {2, 2, 500, N};
    double a[BAGS * D], b[BAGS * D], weights[N];
    uint64_t rows[N], counts[BAGS] = {3, 0, 0, 1}, again[BAGS] = {3, 0, 0, 1};
    bool weighted = how == EMB_POOL_SUM;
    emb_err err;
    for (size_t i = 0; i < N; i++) {
        rows[i] = random_bits() % V;
        weights[i] = (double)(random_bits() >> 40);
    }
    for (size_t i = 0; i < BAGS * D; i++)
        a[i] = b[i] = (double)i;
    CHECK(emb_pool_rows(ctx, NULL, how, table, rows, ends, BAGS, weighted ? weights : NULL, a,
                        counts, &err) == EMB_OK,
          "%s", err.msg);
    if (!worked(emb_pool_rows(ctx, device, how, table, rows, ends, BAGS, weighted ? weights : NULL,
                              b, again, &err),
                &err))
        return;
    CHECK(memcmp(counts, again, sizeof counts) == 0, "counts differ");
    for (size_t i = 0; i < BAGS; i++)
        for (size_t c = i * D; c < (i + 1) * D; c++)
            CHECK(counts[i] == 0 || a[c] == b[c] || (a[c] != a[c] && b[c] != b[c]),
                  "vector %zu, pooling %d", i, (int)how);
}

/* q queries, of all metrics, with and without what a search can be told. */
static void search(emb_device *device, const emb_table *table, size_t q, emb_search_opts opts)
{
    enum { K = 5, Q = 40 };
    float vectors[Q * D];
    emb_hit a[Q * K], b[Q * K];
    size_t counts[Q], again[Q];
    emb_search_info info, also;
    emb_err err;
    for (size_t i = 0; i < q * D; i++)
        vectors[i] = (float)(int64_t)random_bits() * 0x1p-63f;
    const emb_block block = {vectors, q, D, EMB_F32, 0};
    opts.size = sizeof opts;
    opts.k = K;
    CHECK(emb_search(table, &block, &opts, a, counts, &info, &err) == EMB_OK, "%s", err.msg);
    opts.device = device;
    if (!worked(emb_search(table, &block, &opts, b, again, &also, &err), &err))
        return;
    CHECK(memcmp(counts, again, q * sizeof *counts) == 0 &&
              info.nonfinite_rows == also.nonfinite_rows,
          "counts differ");
    for (size_t i = 0; i < q; i++)
        CHECK(memcmp(a + i * K, b + i * K, counts[i] * sizeof *a) == 0,
              "hits of query %zu of %zu differ, metric %d", i, q, (int)opts.metric);
}

/* Of two queries the rows that answer best may not: as many others do. */
static void search_the_rest(emb_device *device, const emb_table *table)
{
    enum { K = 5 };
    float vectors[2 * D];
    emb_hit hits[2 * K], rest[2][2 * K];
    uint64_t exclude[2 * K];
    size_t ends[] = {K, 2 * K}, counts[2];
    const emb_block block = {vectors, 2, D, EMB_F32, 0};
    emb_search_opts opts = {.size = sizeof opts, .k = K};
    emb_err err;
    for (size_t i = 0; i < 2 * D; i++)
        vectors[i] = (float)(int64_t)random_bits() * 0x1p-63f;
    CHECK(emb_search(table, &block, &opts, hits, counts, NULL, &err) == EMB_OK, "%s", err.msg);
    for (size_t i = 0; i < 2 * K; i++)
        exclude[i] = hits[i].row;
    opts.exclude = exclude;
    opts.exclude_ends = ends;
    for (int by = 0; by < 2; by++, opts.device = device) {
        if (!worked(emb_search(table, &block, &opts, rest[by], counts, NULL, &err), &err))
            return;
        CHECK(counts[0] == K && counts[1] == K, "%zu and %zu hits", counts[0], counts[1]);
    }
    CHECK(memcmp(rest[0], rest[1], sizeof rest[0]) == 0, "the rest differs");
}

static void searches(emb_device *device, const emb_table *table)
{
    static double center[D], bias[V];
    static uint8_t allowed[V / 8 + 1];
    uint64_t exclude[] = {3, 600, 5};
    size_t ends[40] = {2};
    for (size_t i = 1; i < 40; i++)
        ends[i] = 3;
    for (size_t i = 0; i < D; i++)
        center[i] = 0.01 * (double)i;
    for (size_t i = 0; i < V; i++)
        bias[i] = (double)(random_bits() % 100) / 100;
    for (size_t i = 0; i < sizeof allowed; i++)
        allowed[i] = (uint8_t)random_bits();
    for (size_t q = 1; q <= 40; q = q * 3 + 1)
        for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++)
            for (int farthest = 0; farthest < 2; farthest++)
                search(device, table, q,
                       (emb_search_opts){.metric = (emb_metric)metric, .farthest = farthest});
    search(device, table, 2, (emb_search_opts){.exclude = exclude, .exclude_ends = ends});
    search(device, table, 20, (emb_search_opts){.allowed = allowed, .restrict_rows = V - 9});
    search(device, table, 20, (emb_search_opts){.metric = EMB_DOT, .bias = bias});
    search(device, table, 20, (emb_search_opts){.metric = EMB_DOT, .bias = bias, .farthest = true});
    search(device, table, 3, (emb_search_opts){.center = center, .metric = EMB_EUCLIDEAN});
}

/* A table with zero rows, rows that are not finite, and equal ones. */
static void write_table(emb_ctx *ctx, const char *path, emb_dtype dtype)
{
    size_t row = D * emb_dtype_bytes(dtype);
    emb_block block = {malloc(V * row), V, D, dtype, 0};
    char *bytes = block.data;
    FILE *f = fopen(path, "w");
    fill(ctx, &block, 3);
    memset(bytes + 10 * row, 0, 3 * row);
    memset(bytes + 100 * row, 0xff, row);
    for (size_t i = 200; i < 220; i++)
        memcpy(bytes + i * row, bytes + 199 * row, row);
    CHECK(f && fwrite(bytes, row, V, f) == V && fclose(f) == 0, "%s cannot be written", path);
    free(block.data);
}

static void all(emb_ctx *ctx, emb_device *device, const char *path)
{
    static const emb_dtype types[] = {EMB_F64, EMB_F32, EMB_F16, EMB_BF16};
    static const emb_dist dists[] = {EMB_NORMAL, EMB_UNIFORM, EMB_TRUNCATED};
    for (size_t i = 0; i < 4; i++) {
        write_table(ctx, path, types[i]);
        emb_table *table = open_raw(ctx, path, types[i]);
        RUN(gather(device, table, types[i]));
        RUN(gather(device, table, EMB_F32));
        RUN(searches(device, table));
        RUN(search_the_rest(device, table));
        for (int how = EMB_POOL_MEAN; how <= EMB_POOL_LAST; how++)
            RUN(pool(ctx, device, table, (emb_pooling)how));
        emb_table_close(table);
        RUN(scatter(ctx, device, types[i]));
        for (size_t j = 0; j < 3; j++)
            RUN(draw(ctx, device, types[i], dists[j]));
    }
}

/* -------------------------------------------------------------------------------------------------
 * auto
 */

/* What searches said of who multiplies, the last one; and whether a device failed. */
static char chosen[200];
static bool went_on;

static void listen(void *arg, int level, const char *path, const char *line)
{
    (void)arg, (void)level, (void)path;
    if (strncmp(line, "search: ", 8) != 0)
        return;
    if (strstr(line, "products by"))
        snprintf(chosen, sizeof chosen, "%s", line);
    went_on |= strstr(line, "the CPU goes on") != NULL;
}

/* One search, which works where calls fail too; where none does, is it the device's? */
static void search_and_see(emb_device *device, const emb_table *table, size_t q, bool by_device)
{
    const bool calls_fail = may_fail;
    may_fail = false;
    search(device, table, q, (emb_search_opts){0}); /* by the CPU, and then by whom pays */
    may_fail = calls_fail;
    CHECK(may_fail || (strstr(chosen, "a device, cuda:0") != NULL) == by_device, "%zu queries: %s",
          q, chosen);
    CHECK(may_fail || !went_on, "%zu queries: the device failed", q);
}

/* A device that is open takes no time to start. 700 rows of 37 f32, 103600 bytes, take 5.2 us to get
 * there, as they take a CPU to read; 40 times as many products take two threads of it 13 us. So one
 * query does not pay, 40 do, and then the table is there and one does. */
static void auto_takes(emb_ctx *ctx, emb_device *device, const char *path)
{
    emb_err err;
    emb_status ready = embi_device_ready(device, &err);
    CHECK(!ready || may_fail, "%s", err.msg);
    write_table(ctx, path, EMB_F32);
    emb_table *table = open_raw(ctx, path, EMB_F32);
    RUN(search_and_see(device, table, 1, false));
    RUN(search_and_see(device, table, 40, true));
    RUN(search_and_see(device, table, 1, true));
    emb_table_close(table);
    printf("%s\n", went_on ? "the CPU went on" : "no device failed");
}

/* A context has one device, whatever it is called. */
static void name_again(emb_ctx *ctx, emb_device *device, const char *name)
{
    emb_device *again = NULL, *other = NULL;
    emb_err err;
    CHECK(emb_ctx_device(ctx, name, &again, &err) == EMB_OK && again == device, "%s", err.msg);
    CHECK(emb_ctx_device(ctx, "cuda:9,8", &other, &err) == EMB_BAD_ARG && !other, "two devices");
    CHECK(strstr(err.msg, "another device: cuda:") != NULL, "%s", err.msg);
}

int main(int argc, char **argv)
{
    emb_ctx_opts opts = {
        .size = sizeof opts, .plugin_path = argc > 1 ? argv[1] : NULL, .threads = 2, .log = listen};
    emb_device *device = NULL;
    emb_ctx *ctx;
    emb_err err;
    const char *name = argc > 3 ? argv[3] : "cuda";
    may_fail = argc > 4;
    if (argc < 3 || emb_ctx_new(&opts, &ctx, &err) != EMB_OK)
        return 2;
    if (strcmp(name, "auto") == 0) {
        RUN(CHECK(emb_ctx_device(ctx, name, &device, &err) == EMB_OK && device, "%s", err.msg));
        if (device)
            auto_takes(ctx, device, argv[2]);
    } else if (worked(emb_ctx_device(ctx, name, &device, &err), &err)) {
        RUN(name_again(ctx, device, name));
        all(ctx, device, argv[2]);
    } else
        passed++;
    emb_ctx_free(ctx);
    printf("device and CPU: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
