/* fetch.c - rows of any table as plain arrays: copied, put into native order, converted.
 *
 * Everything that scan and gather cannot use in place comes through here: big-endian and
 * column-major files, text, and every change of type. No file bytes are trusted: the layout was
 * checked when the file was opened.
 */
#include "num/blocks.h"
#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"

#include <stdlib.h>

/* Row `row` as stored, elements side by side in native order. */
static void load_row(const emb_table *t, uint64_t row, unsigned char *dst)
{
    const struct embi_layout *l = &t->layout;
    size_t size = emb_dtype_bytes(l->dtype); /* of a block type 0, as col_stride is */
    const unsigned char *src = embi_table_row(t, row);
    if (l->col_stride == size)
        memcpy(dst, src, embi_layout_row_bytes(l));
    else
        for (uint32_t c = 0; c < l->dims; c++)
            memcpy(dst + c * size, src + c * l->col_stride, size);
    if (l->swap && size == 0)
        embi_swap_blocks(dst, l->dtype, l->dims / emb_dtype_block(l->dtype));
    else if (l->swap)
        embi_swap_bytes(dst, size, l->dims);
}

/* The same for n rows [n, d] of a column-major table: column by column, so that the file is read in
 * its own order. */
static void load_columns(const emb_table *t, uint64_t first, uint64_t n, unsigned char *dst)
{
    const struct embi_layout *l = &t->layout;
    size_t size = emb_dtype_bytes(l->dtype);
    for (uint32_t c = 0; c < l->dims; c++) {
        const unsigned char *src = t->map + l->offset + first * l->row_stride + c * l->col_stride;
        for (uint64_t r = 0; r < n; r++)
            memcpy(dst + (r * l->dims + c) * size, src + r * l->row_stride, size);
    }
    if (l->swap)
        embi_swap_bytes(dst, size, n * l->dims);
}

static void load_block(const emb_table *t, uint64_t first, uint64_t n, unsigned char *dst)
{
    size_t row_bytes = embi_layout_row_bytes(&t->layout);
    if (!t->layout.row_offsets && t->layout.row_stride < t->layout.col_stride)
        load_columns(t, first, n, dst);
    else
        for (uint64_t r = 0; r < n; r++)
            load_row(t, first + r, dst + r * row_bytes);
}

/* Text: parsed as f32, or copied from what was parsed before. */
static emb_status fetch_parsed(const emb_table *t, uint64_t first, uint64_t n, float *dst,
                               emb_err *err)
{
    if (!t->decoded && t->reader->format->rows(t->reader, first, n, dst, err))
        return embi_io_fail_in(t->io, err);
    if (!t->decoded)
        return EMB_OK;
    memcpy(dst, t->decoded + first * t->layout.dims, n * t->layout.dims * sizeof *dst);
    return EMB_OK;
}

static emb_status load(const emb_table *t, uint64_t first, uint64_t n, void *dst, emb_err *err)
{
    if (t->reader->format->rows)
        return fetch_parsed(t, first, n, dst, err);
    load_block(t, first, n, dst);
    return EMB_OK;
}

/* May rows first .. be converted straight out of the file? */
static bool contiguous(const emb_table *t)
{
    return embi_table_direct(t) && !t->layout.row_offsets &&
           t->layout.row_stride == embi_layout_row_bytes(&t->layout);
}

emb_status embi_fetch(const emb_table *t, uint64_t first, uint64_t n, emb_dtype as, void *dst,
                      emb_err *err)
{
    emb_dtype stored = t->layout.dtype;
    uint64_t count = n * t->layout.dims;
    if (as == stored)
        return load(t, first, n, dst, err);
    if (contiguous(t))
        return embi_convert(t->env->kern, dst, as, embi_table_row(t, first), stored, count, NULL,
                            err);
    size_t bytes = n * embi_layout_row_bytes(&t->layout);
    void *raw = malloc(bytes + 1);
    if (!raw)
        return embi_fail_memory(err, bytes, "a block of rows");
    emb_status status = load(t, first, n, raw, err);
    if (!status)
        status = embi_convert(t->env->kern, dst, as, raw, stored, count, NULL, err);
    free(raw);
    return status;
}

emb_status embi_fetch_row_f64(const emb_table *t, uint64_t row, double *dst, emb_err *err)
{
    return embi_fetch(t, row, 1, EMB_F64, dst, err);
}
