/* tests/unit/test_table.c - what emb.h says of rows: which tables can be seen without a copy, and
 * which requests are refused. Files are a few bytes written here; what they hold is known.
 */
#include "io_fixture.h"

#include "emb.h"

static emb_ctx *ctx;
static emb_table *table;

static void enter(void)
{
    enter_folder();
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
}

static void leave(void)
{
    emb_table_close(table);
    emb_ctx_free(ctx);
    leave_folder();
}

TestSuite(table, .init = enter, .fini = leave);

/* "-2- " and two rows [1, 2], [3, 4] of u8. */
static void open_raw(void)
{
    emb_open_opts opts = {.size = sizeof opts,
                          .format = "raw",
                          .raw_dims = 2,
                          .raw_offset = 4,
                          .input_dtype = EMB_U8};
    put_file("t.raw", "-2- \1\2\3\4");
    cr_assert_eq(emb_table_open(ctx, "t.raw", &opts, &table, &err), EMB_OK, "%s", err.msg);
}

Test(table, map)
{
    emb_block view;
    open_raw();
    cr_assert(emb_table_map(table, &view));
    cr_expect_eq(view.rows, 2);
    cr_expect_eq(view.dims, 2);
    cr_expect_eq(view.dtype, EMB_U8);
    cr_expect_eq(view.stride_bytes, 2);
    cr_expect_arr_eq(view.data, "\1\2\3\4", 4);
}

/* Text has no rows to point at; those of word2vec lie at odd distances. */
Test(table, no_map)
{
    static const char *const files[] = {"cat 1 2\ndog 3 4\n", "2 1\ncat aaaa\ndogs bbbb\n"};
    static const char *const formats[] = {"text", "word2vec"};
    for (size_t i = 0; i < 2; i++) {
        emb_open_opts opts = {.size = sizeof opts, .format = formats[i]};
        emb_block view;
        put_file("t", files[i]);
        cr_assert_eq(emb_table_open(ctx, "t", &opts, &table, &err), EMB_OK, "%s", err.msg);
        cr_expect_not(emb_table_map(table, &view), "%s", formats[i]);
        emb_table_close(table);
        table = NULL;
    }
}

Test(table, gather)
{
    float v[4];
    emb_block dst = {.data = v, .rows = 2, .dims = 2, .dtype = EMB_F32};
    open_raw();
    cr_assert_eq(emb_table_gather(table, (uint64_t[]){1, 0}, 2, &dst, &err), EMB_OK);
    cr_expect(v[0] == 3 && v[1] == 4 && v[2] == 1 && v[3] == 2);
    cr_expect_eq(emb_table_gather(table, (uint64_t[]){1, 2}, 2, &dst, &err), EMB_RANGE);
    cr_expect_eq(err.at, 1);
    dst.dims = 3;
    cr_expect_eq(emb_table_gather(table, (uint64_t[]){1, 0}, 2, &dst, &err), EMB_BAD_ARG);
}

/* ------------------------------------------------------------------------------------------------
 * Rows on their way into a file: a few of a large table are read, many are taken from where they are
 * mapped
 */

enum { MANY = 1000, WIDE = 512 };

/* Element c of row r, exact in f16 too. */
static float element(uint64_t r, uint32_t c)
{
    return (float)(r % 64) + (float)(c % 16) / 16;
}

/* [MANY, WIDE] of f32 behind 3 bytes. */
static void open_large(void)
{
    static float rows[MANY][WIDE];
    emb_open_opts opts = {.size = sizeof opts,
                          .format = "raw",
                          .raw_dims = WIDE,
                          .raw_offset = 3,
                          .input_dtype = EMB_F32};
    for (uint64_t r = 0; r < MANY; r++)
        for (uint32_t c = 0; c < WIDE; c++)
            rows[r][c] = element(r, c);
    FILE *f = fopen("large.raw", "w");
    cr_assert_not_null(f);
    fputs("-3-", f);
    fwrite(rows, sizeof rows, 1, f);
    cr_assert_eq(fclose(f), 0);
    cr_assert_eq(emb_table_open(ctx, "large.raw", &opts, &table, &err), EMB_OK, "%s", err.msg);
}

static emb_status save_rows(const uint64_t *rows, size_t n, emb_dtype dtype, bool *reading)
{
    emb_array array = {.dtype = dtype, .ndim = 2, .shape = {n, WIDE}};
    emb_write_opts opts = {.size = sizeof opts, .format = "raw", .force = true};
    emb_writer *writer;
    cr_assert_eq(emb_writer_open(ctx, "out.raw", &array, 1, &opts, &writer, &err), EMB_OK);
    emb_status status = emb_writer_put_rows(writer, table, rows, n, dtype, reading, &err);
    if (!status)
        cr_assert_eq(emb_writer_commit(writer, &err), EMB_OK);
    emb_writer_close(writer);
    return status;
}

static void expect_rows(const uint64_t *rows, size_t n, emb_dtype dtype)
{
    size_t bytes = n * WIDE * sizeof(double);
    double *want = malloc(bytes);
    float *narrow = malloc(bytes);
    for (size_t i = 0; i < n * WIDE; i++)
        narrow[i] = (float)(want[i] = element(rows[i / WIDE], i % WIDE));
    cr_expect(dtype == EMB_F64 ? file_is("out.raw", want, bytes)
                               : file_is("out.raw", narrow, bytes / 2));
    free(want);
    free(narrow);
}

Test(table, rows_into_a_file)
{
    static const size_t counts[] = {0, 1, 7, 125, 126, MANY};
    uint64_t rows[MANY];
    bool reading;
    open_large();
    for (uint64_t i = 0; i < MANY; i++)
        rows[i] = (i + 1) * 617 % MANY; /* from the last to the first, in no order */
    for (size_t i = 0; i < EMBI_LEN(counts); i++)
        for (int wide = 0; wide <= 1; wide++) {
            emb_dtype dtype = wide ? EMB_F64 : EMB_F32;
            cr_assert_eq(save_rows(rows, counts[i], dtype, &reading), EMB_OK, "%s", err.msg);
            cr_expect_not(reading);
            expect_rows(rows, counts[i], dtype);
        }
}

/* The file is cut after it was opened: that is said, and nothing has the name. */
Test(table, rows_that_are_gone)
{
    bool reading = false;
    open_large();
    cr_assert_eq(truncate("large.raw", 3 + 4 * WIDE * 10), 0);
    cr_expect_eq(save_rows((uint64_t[]){9, 10}, 2, EMB_F32, &reading), EMB_IO);
    cr_expect(reading && strstr(err.msg, "became shorter"), "%s", err.msg);
    cr_expect_eq(access("out.raw", F_OK), -1);
}
