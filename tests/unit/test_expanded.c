/* test_expanded.c - rows of a table in place: a tensor that was expanded, whose rows are all one row.
 */
#include "memory_file.h"

#include "table/table.h"

enum { V = 5, D = 3 };

static const float row[D] = {1, -2, 0.5F};

/* The row in memory, said V times by a stride of 0. */
static emb_table *open_expanded(emb_ctx *ctx)
{
    const struct embi_read_opts opts = {.input_dtype = EMB_F32, .raw_dims = D};
    struct embi_reader *r;
    emb_table *table;
    emb_err err;
    cr_assert_eq(open_bytes(&ctx->env, row, sizeof row, "t", &embi_format_raw, &opts, &r, &err),
                 EMB_OK);
    r->tensors[0].shape[0] = V;
    r->tensors[0].strided = true;
    r->tensors[0].strides[1] = 1;
    cr_assert_eq(embi_table_new(ctx, r, 0, 0, &table, &err), EMB_OK, "%s", err.msg);
    return table;
}

/* arg: how many rows came. */
static emb_status compare(void *arg, const emb_block *block, uint64_t first, emb_err *err)
{
    size_t stride = block->stride_bytes ? block->stride_bytes : sizeof row;
    (void)err;
    cr_assert_eq(first, *(uint64_t *)arg);
    for (uint64_t r = 0; r < block->rows; r++)
        cr_expect(memcmp((const char *)block->data + r * stride, row, sizeof row) == 0);
    *(uint64_t *)arg += block->rows;
    return EMB_OK;
}

Test(expanded, rows_are_scanned_as_they_are)
{
    emb_ctx *ctx;
    emb_err err;
    emb_block view;
    uint64_t rows = 0;
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
    emb_table *table = open_expanded(ctx);
    cr_expect_eq(emb_table_scan(table, 0, V, EMB_DTYPE_NONE, compare, &rows, &err), EMB_OK);
    cr_expect_eq(rows, V);
    cr_expect(!emb_table_map(table, &view), "a block cannot say a stride of 0");
    emb_table_close(table);
    emb_ctx_free(ctx);
}
