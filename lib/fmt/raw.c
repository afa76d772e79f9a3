/* raw.c - rows without a header: only by name (--format raw), as nothing in the bytes says so.
 *
 * Reading needs the row length and the element type from the user; the row count may come from the
 * size of the file, which must then hold whole rows. Writing puts the bytes of one array as they
 * are, little-endian, so it can go to a pipe.
 */
#include "fmt/sink.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

static emb_status open_raw(struct embi_reader *r, emb_err *err)
{
    uint64_t dims = r->opts.raw_dims, rows = r->opts.raw_rows, offset = r->opts.raw_offset;
    uint32_t block = emb_dtype_block(r->opts.input_dtype);
    uint64_t row_bytes = emb_dtype_row_bytes(r->opts.input_dtype, r->opts.raw_dims);
    if (dims == 0 || block == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "raw: %s",
                         dims ? "the element type is needed (--input-dtype)"
                              : "the shape is needed (--shape V,D)");
    if (row_bytes == 0)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "raw: %" PRIu64 " dimensions are no multiple of %" PRIu32
                         ", the block of %s",
                         dims, block, emb_dtype_name(r->opts.input_dtype));
    if (offset > r->io->size)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)r->io->size,
                         "raw: rows begin at byte %" PRIu64 ", the file has %" PRIu64, offset,
                         r->io->size);
    uint64_t left = r->io->size - offset;
    struct embi_tensor t = {.dtype = r->opts.input_dtype, .ndim = 2, .offset = offset};
    if (rows == 0) {
        rows = left / row_bytes;
        if (left % row_bytes)
            return embi_fail(err, EMB_BAD_DATA, (int64_t)(offset + rows * row_bytes),
                             "raw: %" PRIu64 " bytes are not a whole number of rows of %" PRIu64
                             " bytes",
                             left, row_bytes);
    }
    if (!embi_mul(rows, row_bytes, &t.bytes) || t.bytes > left)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)offset,
                         "raw: %" PRIu64 " rows of %" PRIu64 " bytes expected, found %" PRIu64
                         " bytes",
                         rows, row_bytes, left);
    t.shape[0] = rows;
    t.shape[1] = dims;
    (void)snprintf(t.type_name, sizeof t.type_name, "%s", emb_dtype_name(t.dtype));
    return embi_reader_add(r, (emb_str){NULL, 0}, &t, err);
}

const struct embi_format embi_format_raw = {
    .name = "raw",
    .about = "rows without a header",
    .exts = " .raw .f32 ",
    .caps = EMBI_FMT_READ | EMBI_FMT_WRITE | EMBI_FMT_STREAM,
    .open = open_raw,
    .check = embi_sink_refuse_tokens,
    .put = embi_sink_put,
};
