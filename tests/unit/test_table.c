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
