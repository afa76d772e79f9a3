/* rows_main.c - gather and scan on several threads: every row where it belongs, whole.
 *
 * A plain main, so that it runs under ThreadSanitizer. The table is a .npy file in Fortran order, so
 * that each row is put together on the way, large enough for the pool to be used. Element (r, c)
 * is 65536 c + r by the file's making, and so must it be in every answer.
 */
#include "check.h"
#include "emb.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 60000, DIMS = 24, THREADS_MAX = 5 };

static float expected(uint64_t row, uint32_t column)
{
    return (float)(65536 * column + row);
}

static void need(bool ok, const char *what)
{
    if (!ok) {
        printf("rows_main: %s failed\n", what);
        exit(2);
    }
}

/* The format's version 1.0: magic, length of the header, header, columns one after another. */
static void write_table(const char *path)
{
    static float column[ROWS];
    char head[129];
    FILE *f = fopen(path, "wb");
    snprintf(head, sizeof head, "\x93NUMPY\x01%c\x76%c%-117s\n", 0, 0,
             "{'descr': '<f4', 'fortran_order': True, 'shape': (60000, 24), }");
    need(f && fwrite(head, 128, 1, f) == 1, "writing");
    for (uint32_t c = 0; c < DIMS; c++) {
        for (uint64_t r = 0; r < ROWS; r++)
            column[r] = expected(r, c);
        need(fwrite(column, sizeof column, 1, f) == 1, "writing");
    }
    need(fclose(f) == 0, "writing");
}

static uint64_t wrong_in(const float *row, uint64_t id)
{
    uint64_t wrong = 0;
    for (uint32_t c = 0; c < DIMS; c++)
        wrong += row[c] != expected(id, c);
    return wrong;
}

/* Rows in an order of their own, each several times. */
static void test_gather(const emb_table *table)
{
    size_t n = 2 * ROWS;
    uint64_t *ids = malloc(n * sizeof *ids), wrong = 0;
    float *rows = malloc(n * DIMS * sizeof *rows);
    emb_block block = {rows, n, DIMS, EMB_F32, 0};
    emb_err err;
    need(ids && rows, "memory");
    for (size_t i = 0; i < n; i++)
        ids[i] = i * 7919 % ROWS;
    emb_status status = emb_table_gather(table, ids, n, &block, &err);
    CHECK(status == EMB_OK, "gather: %s", err.msg);
    for (size_t i = 0; status == EMB_OK && i < n; i++)
        wrong += wrong_in(rows + i * DIMS, ids[i]);
    CHECK(wrong == 0, "gather: %llu wrong elements", (unsigned long long)wrong);
    free(rows);
    free(ids);
}

struct seen {
    uint64_t rows, wrong;
};

static emb_status look(void *arg, const emb_block *block, uint64_t first, emb_err *err)
{
    struct seen *seen = arg;
    size_t stride = block->stride_bytes ? block->stride_bytes : DIMS * sizeof(float);
    (void)err;
    seen->wrong += first != seen->rows; /* in order, nothing left out */
    for (uint64_t r = 0; r < block->rows; r++)
        seen->wrong += wrong_in((const float *)((const char *)block->data + r * stride), first + r);
    seen->rows += block->rows;
    return EMB_OK;
}

static void test_scan(const emb_table *table)
{
    struct seen seen = {0, 0};
    emb_err err;
    CHECK(emb_table_scan(table, 0, ROWS, EMB_F32, look, &seen, &err) == EMB_OK, "scan: %s",
          err.msg);
    CHECK(seen.rows == ROWS && seen.wrong == 0, "scan: %llu rows, %llu wrong",
          (unsigned long long)seen.rows, (unsigned long long)seen.wrong);
}

int main(void)
{
    char folder[] = "/tmp/rows_main.XXXXXX", path[64];
    need(mkdtemp(folder) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/t.npy", folder);
    write_table(path);
    for (int threads = 1; threads <= THREADS_MAX; threads += 2) {
        emb_ctx_opts opts = {.size = sizeof opts, .threads = threads};
        emb_ctx *ctx;
        emb_table *table;
        emb_err err;
        need(emb_ctx_new(&opts, &ctx, &err) == EMB_OK, "a context");
        need(emb_table_open(ctx, path, NULL, &table, &err) == EMB_OK, "opening");
        RUN(test_gather(table));
        RUN(test_scan(table));
        emb_table_close(table);
        emb_ctx_free(ctx);
    }
    need(unlink(path) == 0 && rmdir(folder) == 0, "cleaning up");
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
