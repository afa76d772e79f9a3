/* sparse_main.c - a table of 3 * 10^9 elements, whose places do not fit 31 or 32 bits: gathers and
 * searches of rows around 2^31 and 2^32 elements and bytes, and the last.
 *
 * The file is a hole but for those rows, so it takes no space; where it cannot be made so large, the
 * test says so. Only rows that may answer are read.
 */
#include "check.h"
#include "emb.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { V = 3000000, D = 1000, MARKED = 9, Q = 20 };

static const uint64_t marked[MARKED] = {
    0,
    (1ull << 31) / (D * 4), /* bytes beyond 2^31 ... */
    (1ull << 32) / (D * 4), /* ... and 2^32          */
    (1ull << 31) / D - 1,
    (1ull << 31) / D, /* elements */
    (1ull << 31) / D + 1,
    (1ull << 31) / D + 100000,
    V - 2,
    V - 1,
};

static char path[] = "/tmp/sparse_main.XXXXXX";
static uint8_t allowed[V / 8 + 1];

static void need(bool ok, const char *what)
{
    if (!ok) {
        printf("sparse_main: %s failed\n", what);
        unlink(path);
        exit(2);
    }
}

/* Row i of those that are marked: its number of columns 1, the others 0; the lower the number, the
 * nearer to what `query` points at. */
static void fill_row(float *row, size_t i)
{
    memset(row, 0, D * sizeof *row);
    for (size_t c = 0; c <= i; c++)
        row[c] = 1;
}

/* False where the file system holds no such file. */
static bool make_file(void)
{
    int fd = mkstemp(path);
    float row[D];
    need(fd >= 0, "mkstemp");
    bool made = ftruncate(fd, (off_t)V * D * 4) == 0;
    for (size_t i = 0; made && i < MARKED; i++) {
        fill_row(row, i);
        made = pwrite(fd, row, sizeof row, (off_t)(marked[i] * D * 4)) == (ssize_t)sizeof row;
        allowed[marked[i] / 8] = (uint8_t)(allowed[marked[i] / 8] | 1u << marked[i] % 8);
    }
    close(fd);
    return made;
}

static void test_gather(const emb_table *table)
{
    static float got[MARKED * D], want[D];
    emb_block block = {.data = got, .rows = MARKED, .dims = D, .dtype = EMB_F32};
    emb_err err;
    CHECK(emb_table_gather(table, marked, MARKED, &block, &err) == EMB_OK, "%s", err.msg);
    for (size_t i = 0; i < MARKED; i++) {
        fill_row(want, i);
        CHECK(memcmp(got + i * D, want, sizeof want) == 0, "row %llu",
              (unsigned long long)marked[i]);
    }
    uint64_t beyond = V;
    CHECK(emb_table_gather(table, &beyond, 1, &block, &err) == EMB_RANGE, "a row too many");
}

/* The query is 1 in its first column alone, so row i of those marked scores 1 / sqrt(i + 1). */
static void test_search(const emb_table *table, size_t queries)
{
    static float query[Q * D];
    static emb_hit hits[Q * 5];
    size_t counts[Q];
    emb_block block = {.data = query, .rows = queries, .dims = D, .dtype = EMB_F32};
    emb_search_opts opts = {.size = sizeof opts, .k = 5, .allowed = allowed};
    emb_err err;
    for (size_t q = 0; q < queries; q++)
        query[q * D] = 1 + (float)q;
    CHECK(emb_search(table, &block, &opts, hits, counts, NULL, &err) == EMB_OK, "%s", err.msg);
    for (size_t q = 0; q < queries; q++) {
        CHECK(counts[q] == 5, "query %zu: %zu hits", q, counts[q]);
        for (size_t i = 0; i < 5; i++)
            CHECK(hits[q * 5 + i].row == marked[i], "query %zu hit %zu: row %llu, not %llu", q, i,
                  (unsigned long long)hits[q * 5 + i].row, (unsigned long long)marked[i]);
    }
}

/* New rows whose first element has a place beyond 2^32. */
static void test_init(emb_ctx *ctx)
{
    static float far[2 * D], again[D];
    emb_block block = {.data = far, .rows = 2, .dims = D, .dtype = EMB_F32};
    emb_init_opts opts = {.size = sizeof opts, .seed = 3};
    emb_err err;
    CHECK(emb_init_rows(ctx, &opts, 1ull << 33, &block, &err) == EMB_OK, "%s", err.msg);
    block = (emb_block){.data = again, .rows = 1, .dims = D, .dtype = EMB_F32};
    CHECK(emb_init_rows(ctx, &opts, (1ull << 33) + 1, &block, &err) == EMB_OK, "%s", err.msg);
    CHECK(memcmp(far + D, again, sizeof again) == 0, "the row depends on where the block begins");
    CHECK(emb_init_rows(ctx, &opts, 1, &block, &err) == EMB_OK, "%s", err.msg);
    CHECK(memcmp(far + D, again, sizeof again) != 0, "rows 1 and 2^33 + 1 are the same");
}

int main(void)
{
    if (!make_file()) {
        printf("no file of 12 GB can be made here\n0 passed, 0 failed, 1 skipped\n");
        unlink(path);
        return 0;
    }
    for (int threads = 1; threads <= 3; threads += 2) {
        emb_ctx_opts ctx_opts = {.size = sizeof ctx_opts, .threads = threads};
        emb_open_opts opts = {
            .size = sizeof opts, .format = "raw", .raw_dims = D, .input_dtype = EMB_F32};
        emb_ctx *ctx;
        emb_table *table;
        emb_table_info info;
        emb_err err;
        need(emb_ctx_new(&ctx_opts, &ctx, &err) == EMB_OK, "emb_ctx_new");
        need(emb_table_open(ctx, path, &opts, &table, &err) == EMB_OK, "emb_table_open");
        need(emb_table_describe(table, &info, &err) == EMB_OK && info.rows == V, "describe");
        RUN(test_gather(table));
        RUN(test_search(table, 1));
        RUN(test_search(table, 5));
        RUN(test_search(table, Q));
        RUN(test_init(ctx));
        emb_table_close(table);
        emb_ctx_free(ctx);
    }
    unlink(path);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
