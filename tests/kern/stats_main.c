/* tests/kern/stats_main.c - stats and init on several threads, as a plain program, so that it
 * can run under ThreadSanitizer. Results must have the bits that one thread gives, with every
 * kernel set.
 */
#include "emb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int passed, failed;

static void check(bool good, const char *what)
{
    passed += good;
    failed += !good;
    if (!good)
        printf("FAIL %s\n", what);
}

/* The program cannot go on. */
static void need(emb_status status, const emb_err *err)
{
    if (status) {
        printf("FAIL %s\n0 passed, 1 failed\n", err->msg);
        exit(1);
    }
}

static emb_ctx *new_context(int threads, const char *disable_cpu)
{
    emb_ctx_opts opts = {.size = sizeof opts, .threads = threads, .disable_cpu = disable_cpu};
    emb_ctx *ctx;
    emb_err err;
    need(emb_ctx_new(&opts, &ctx, &err), &err);
    return ctx;
}

/* [rows, dims] of f32, normal. */
static float *make(int threads, const char *disable_cpu, uint64_t rows, uint32_t dims)
{
    emb_ctx *ctx = new_context(threads, disable_cpu);
    emb_block block = {.rows = rows, .dims = dims, .dtype = EMB_F32};
    emb_err err;
    block.data = malloc(rows * dims * sizeof(float));
    if (!block.data)
        exit(1);
    need(emb_init_rows(ctx, NULL, 0, &block, &err), &err);
    emb_ctx_free(ctx);
    return block.data;
}

static void stats_of(const char *path, int threads, const char *disable_cpu, uint32_t dims,
                     emb_stats *stats)
{
    emb_ctx *ctx = new_context(threads, disable_cpu);
    emb_open_opts open_opts = {.size = sizeof open_opts, .format = "raw", .input_dtype = EMB_F32};
    emb_stats_opts opts = {.size = sizeof opts, .columns = true, .list_rows = true};
    emb_table *table;
    emb_err err;
    open_opts.raw_dims = dims;
    need(emb_table_open(ctx, path, &open_opts, &table, &err), &err);
    need(emb_stats_run(table, &opts, stats, &err), &err);
    emb_table_close(table);
    emb_ctx_free(ctx);
}

static bool same_columns(const emb_stats *a, const emb_stats *b, uint32_t dims)
{
    size_t bytes = dims * sizeof(double);
    return memcmp(a->col_mean, b->col_mean, bytes) == 0 &&
           memcmp(a->col_std, b->col_std, bytes) == 0 &&
           memcmp(a->col_min, b->col_min, bytes) == 0 && memcmp(a->col_max, b->col_max, bytes) == 0;
}

int main(void)
{
    enum { ROWS = 90001, DIMS = 50 };
    static const char *const disabled[] = {NULL, "avx2"};
    char path[] = "/tmp/stats-threads-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    float *table = make(1, NULL, ROWS, DIMS);
    emb_stats first, stats;
    if (!f || fwrite(table, sizeof *table, (size_t)ROWS * DIMS, f) != (size_t)ROWS * DIMS ||
        fclose(f))
        return 1;
    stats_of(path, 1, NULL, DIMS, &first);
    check(first.rows == ROWS && first.finite_rows == ROWS, "rows");
    for (int threads = 1; threads <= 4; threads++)
        for (size_t i = 0; i < 2; i++) {
            float *again = make(threads, disabled[i], ROWS, DIMS);
            check(memcmp(again, table, sizeof *table * ROWS * DIMS) == 0, "init");
            free(again);
            stats_of(path, threads, disabled[i], DIMS, &stats);
            check(memcmp(&stats, &first, offsetof(emb_stats, col_mean)) == 0, "stats");
            check(same_columns(&stats, &first, DIMS), "columns");
            emb_stats_free(&stats);
        }
    emb_stats_free(&first);
    unlink(path);
    free(table);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
