/* lookup_matmul.c - --via matmul: each block of rows comes out of a product of matrices, and is
 * held against the rows that a lookup gives.
 *
 * The two are equal, since all terms of a sum but one are zeros; only the sign of a zero is lost in
 * a sum. What it took is said at the end.
 */
#include "lookup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int make_room(struct lookup *l, emb_dtype dtype)
{
    struct products *p = &l->products;
    if (p->gathered)
        return EXIT_DONE;
    p->gathered = malloc(embi_max(l->block_rows * l->info.dims * emb_dtype_bytes(dtype), 1));
    p->wide = malloc(2 * l->info.dims * sizeof *p->wide + 1);
    if (!p->gathered || !p->wide)
        return fail_with(l->run, EXIT_MEMORY, NULL, "out of memory");
    return EXIT_DONE;
}

/* Rows that differ in their bytes: do they in a number, or only in signs of zeros? */
static bool same_numbers(struct lookup *l, const char *product, const char *row, emb_dtype dtype)
{
    size_t d = l->info.dims, size = emb_dtype_bytes(dtype);
    double *x = l->products.wide, *y = x + d;
    emb_err err;
    if (emb_convert(x, EMB_F64, product, dtype, d, NULL, &err) != EMB_OK ||
        emb_convert(y, EMB_F64, row, dtype, d, NULL, &err) != EMB_OK)
        return false;
    for (size_t i = 0; i < d; i++) {
        if (x[i] != y[i])
            return false;
        l->products.minus_zeros += memcmp(product + i * size, row + i * size, size) != 0;
    }
    return true;
}

static int compare(struct lookup *l, const uint64_t *rows, size_t n, const emb_block *block)
{
    size_t row_bytes = l->info.dims * emb_dtype_bytes(block->dtype);
    const char *product = block->data, *row = l->products.gathered;
    for (size_t i = 0; i < n; i++, product += row_bytes, row += row_bytes)
        if (memcmp(product, row, row_bytes) != 0 && !same_numbers(l, product, row, block->dtype))
            return fail_with(l->run, EXIT_BUG, l->run->table_name,
                             "row %" PRIu64 ": one-hot x table is not the row", rows[i]);
    return EXIT_DONE;
}

int lookup_multiply(struct lookup *l, const uint64_t *rows, size_t n, emb_block *block)
{
    struct products *p = &l->products;
    emb_err err;
    int code = make_room(l, block->dtype);
    emb_block gathered = *block;
    gathered.data = p->gathered;
    if (!code && (emb_table_multiply(l->table, rows, n, block, &err) != EMB_OK ||
                  emb_table_gather(l->table, rows, n, &gathered, &err) != EMB_OK))
        code = fail(l->run, l->run->table_name, &err);
    if (!code)
        code = compare(l, rows, n, block);
    p->rows += n;
    p->passes += n > 0;
    return code;
}

/* The products were computed, so their number fits. */
void lookup_report_products(const struct lookup *l)
{
    const struct products *p = &l->products;
    uint64_t row_bytes = emb_dtype_row_bytes(l->info.dtype, l->info.dims);
    note(l->run, NULL,
         "one-hot [%" PRIu64 ", %" PRIu64 "] x table [%" PRIu64 ", %u]: %" PRIu64
         " multiplications and additions, %" PRIu64
         " bytes of the table read; a lookup reads %" PRIu64 ", and gives the same rows",
         p->rows, l->info.rows, l->info.rows, l->info.dims,
         2 * p->rows * l->info.rows * l->info.dims, p->passes * l->info.rows * row_bytes,
         p->rows * row_bytes);
    if (p->minus_zeros)
        note(l->run, NULL, "numbers that are -0 in the table and 0 in a sum: %" PRIu64,
             p->minus_zeros);
}

void lookup_free_products(struct lookup *l)
{
    free(l->products.gathered);
    free(l->products.wide);
}
