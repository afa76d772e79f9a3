/* test_block_table.c - tables of quantised blocks: whatever computes with one answers as for the
 * table of the same numbers in f32, and rows can be had as the blocks that they are.
 *
 * The f32 table is made with emb_convert, which test_blocks.c holds against other programs.
 */
#include "io_fixture.h"

#include "emb.h"
#include "num/dtype.h"

#include <math.h>

enum { ROWS = 300, DIMS = 512, SOME = 40 };

static emb_ctx *ctx;
static emb_table *blocks, *plain;
static unsigned char *bytes; /* [ROWS, row_bytes] */
static float *numbers;       /* [ROWS, DIMS] */
static size_t row_bytes;

static void put_bytes(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(data, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

static void open_table(const char *path, emb_dtype dtype, emb_table **table)
{
    emb_open_opts opts = {
        .size = sizeof opts, .format = "raw", .raw_dims = DIMS, .input_dtype = dtype};
    cr_assert_eq(emb_table_open(ctx, path, &opts, table, &err), EMB_OK, "%s", err.msg);
}

/* Bytes of any kind whose upper bits are zero where they are of f16, so that no scale is infinite:
 * both bytes of a scale may be anything up to 3F then. Row 7 is zero, row 9 is row 8. */
static void make_tables(emb_dtype dtype)
{
    row_bytes = emb_dtype_row_bytes(dtype, DIMS);
    bytes = malloc(ROWS * row_bytes);
    numbers = malloc(ROWS * DIMS * sizeof *numbers);
    uint64_t x = dtype;
    for (size_t i = 0; i < ROWS * row_bytes; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bytes[i] = (unsigned char)(x >> 58);
    }
    memset(bytes + 7 * row_bytes, 0, row_bytes);
    memcpy(bytes + 9 * row_bytes, bytes + 8 * row_bytes, row_bytes);
    cr_assert_eq(emb_convert(numbers, EMB_F32, bytes, dtype, ROWS * DIMS, NULL, &err), EMB_OK);
    put_bytes("blocks", bytes, ROWS * row_bytes);
    put_bytes("plain", numbers, ROWS * DIMS * sizeof *numbers);
    open_table("blocks", dtype, &blocks);
    open_table("plain", EMB_F32, &plain);
}

static void drop_tables(void)
{
    emb_table_close(blocks);
    emb_table_close(plain);
    free(bytes);
    free(numbers);
    blocks = plain = NULL;
    bytes = NULL;
    numbers = NULL;
}

static void enter(void)
{
    enter_folder();
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
}

static void leave(void)
{
    emb_ctx_free(ctx);
    leave_folder();
}

TestSuite(block_table, .init = enter, .fini = leave);

#define EACH_TYPE(dtype) \
    for (emb_dtype dtype = EMB_Q4_0; dtype < EMB_DTYPE_COUNT; drop_tables(), dtype++)

Test(block_table, describe_and_map)
{
    EACH_TYPE(dtype)
    {
        emb_table_info info;
        emb_block view;
        make_tables(dtype);
        cr_assert_eq(emb_table_describe(blocks, &info, &err), EMB_OK);
        cr_expect(info.rows == ROWS && info.dims == DIMS && info.dtype == dtype);
        cr_expect_eq(info.bytes, ROWS * row_bytes);
        cr_assert(emb_table_map(blocks, &view));
        cr_expect(view.dtype == dtype && view.stride_bytes == row_bytes);
        cr_expect_arr_eq(view.data, bytes, ROWS * row_bytes);
    }
}

static void *gather(const emb_table *table, emb_dtype as)
{
    uint64_t rows[SOME];
    size_t n = SOME * emb_dtype_row_bytes(as, DIMS);
    void *data = malloc(n);
    for (uint64_t i = 0; i < SOME; i++)
        rows[i] = i * i * 7 % ROWS;
    emb_block dst = {.data = data, .rows = SOME, .dims = DIMS, .dtype = as};
    memset(data, 0xA5, n);
    cr_assert_eq(emb_table_gather(table, rows, SOME, &dst, &err), EMB_OK, "%s", err.msg);
    return data;
}

Test(block_table, gather)
{
    static const emb_dtype types[] = {EMB_F32, EMB_F64, EMB_F16, EMB_BF16, EMB_F8_E5M2, EMB_Q8_0};
    EACH_TYPE(dtype)
    {
        make_tables(dtype);
        for (size_t i = 0; i < EMBI_LEN(types); i++) {
            if (types[i] == dtype)
                continue;
            void *got = gather(blocks, types[i]), *want = gather(plain, types[i]);
            cr_expect_arr_eq(got, want, SOME * emb_dtype_row_bytes(types[i], DIMS), "%s as %s",
                             emb_dtype_name(dtype), emb_dtype_name(types[i]));
            free(got);
            free(want);
        }
        unsigned char *stored = gather(blocks, dtype);
        for (size_t i = 0; i < SOME; i++)
            cr_expect_arr_eq(stored + i * row_bytes, bytes + i * i * 7 % ROWS * row_bytes,
                             row_bytes);
        free(stored);
    }
}

struct scanned {
    char *data;
    size_t n;
    emb_dtype dtype;
};

static emb_status take(void *arg, const emb_block *block, uint64_t first, emb_err *e)
{
    struct scanned *s = arg;
    size_t bytes_here = emb_dtype_row_bytes(block->dtype, block->dims);
    (void)first;
    (void)e;
    s->dtype = block->dtype;
    for (uint64_t r = 0; r < block->rows; r++, s->n += bytes_here) {
        size_t stride = block->stride_bytes ? block->stride_bytes : bytes_here;
        memcpy(s->data + s->n, (const char *)block->data + r * stride, bytes_here);
    }
    return EMB_OK;
}

Test(block_table, scan)
{
    EACH_TYPE(dtype)
    {
        make_tables(dtype);
        struct scanned s = {.data = malloc(ROWS * DIMS * sizeof(float))};
        cr_assert_eq(emb_table_scan(blocks, 0, ROWS, EMB_DTYPE_NONE, take, &s, &err), EMB_OK);
        cr_expect_eq(s.dtype, EMB_F32);
        cr_expect_arr_eq(s.data, numbers, ROWS * DIMS * sizeof(float), "%s", emb_dtype_name(dtype));
        s.n = 0;
        cr_assert_eq(emb_table_scan(blocks, 1, ROWS - 1, dtype, take, &s, &err), EMB_OK);
        cr_expect(s.dtype == dtype && s.n == (ROWS - 1) * row_bytes);
        cr_expect_arr_eq(s.data, bytes + row_bytes, s.n);
        free(s.data);
    }
}

/* Types that numbers are not put into, and rows that no block divides. */
Test(block_table, refused)
{
    float v[48];
    emb_block dst = {.data = v, .rows = 1, .dims = DIMS, .dtype = EMB_Q4_K};
    struct scanned s = {0};
    make_tables(EMB_Q8_0);
    cr_expect_eq(emb_table_gather(blocks, (uint64_t[]){0}, 1, &dst, &err), EMB_UNSUPPORTED);
    cr_expect_str_eq(err.msg,
                     "numbers cannot be put into q4_k; of the block types q8_0 and q4_0 can");
    drop_tables();

    emb_open_opts opts = {
        .size = sizeof opts, .format = "raw", .raw_dims = 48, .input_dtype = EMB_F32};
    put_bytes("48", v, sizeof v);
    cr_assert_eq(emb_table_open(ctx, "48", &opts, &plain, &err), EMB_OK);
    dst = (emb_block){.data = v, .rows = 1, .dims = 48, .dtype = EMB_Q8_0};
    cr_expect_eq(emb_table_gather(plain, (uint64_t[]){0}, 1, &dst, &err), EMB_BAD_ARG);
    cr_expect_eq(emb_table_scan(plain, 0, 1, EMB_Q8_0, take, &s, &err), EMB_BAD_ARG);
    opts.input_dtype = EMB_Q8_0;
    cr_expect_eq(emb_table_open(ctx, "48", &opts, &blocks, &err), EMB_BAD_ARG);
    cr_expect_str_eq(err.msg, "raw: 48 dimensions are no multiple of 32, the block of q8_0");
    drop_tables();
}

/* Not even the last bit of a figure differs. */
Test(block_table, stats)
{
    emb_stats_opts opts = {.size = sizeof opts, .columns = true};
    EACH_TYPE(dtype)
    {
        emb_stats got, want;
        make_tables(dtype);
        cr_assert_eq(emb_stats_run(blocks, &opts, &got, &err), EMB_OK);
        cr_assert_eq(emb_stats_run(plain, &opts, &want, &err), EMB_OK);
        cr_expect_eq(got.duplicate_rows, 1);
        cr_expect_arr_eq(&got, &want, offsetof(emb_stats, col_mean), "%s", emb_dtype_name(dtype));
        cr_expect_arr_eq(got.col_mean, want.col_mean, DIMS * sizeof(double));
        cr_expect_arr_eq(got.col_std, want.col_std, DIMS * sizeof(double));
        emb_stats_free(&got);
        emb_stats_free(&want);
    }
}

Test(block_table, search)
{
    enum { QUERIES = 3, K = 20 };
    EACH_TYPE(dtype)
    {
        double mean[DIMS], mean_plain[DIMS];
        emb_hit got[QUERIES * K], want[QUERIES * K];
        size_t n[QUERIES], n_plain[QUERIES];
        make_tables(dtype);
        emb_block queries = {
            .data = numbers + 20 * DIMS, .rows = QUERIES, .dims = DIMS, .dtype = EMB_F32};
        for (int metric = EMB_COSINE; metric <= EMB_EUCLIDEAN; metric++) {
            emb_search_opts opts = {.size = sizeof opts, .k = K, .metric = (emb_metric)metric};
            cr_assert_eq(emb_search(blocks, &queries, &opts, got, n, NULL, &err), EMB_OK);
            cr_assert_eq(emb_search(plain, &queries, &opts, want, n_plain, NULL, &err), EMB_OK);
            cr_expect_arr_eq(n, n_plain, sizeof n);
            cr_expect_arr_eq(got, want, sizeof got, "%s", emb_dtype_name(dtype));
        }
        cr_assert_eq(emb_mean_row(blocks, mean, &err), EMB_OK);
        cr_assert_eq(emb_mean_row(plain, mean_plain, &err), EMB_OK);
        cr_expect_arr_eq(mean, mean_plain, sizeof mean);
    }
}
