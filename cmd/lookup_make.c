/* lookup_make.c - rows of the table become vectors as they are written: which types that takes,
 * room for it, and the last two steps, --normalize and --dtype.
 */
#include "lookup.h"

#include <stdlib.h>
#include <string.h>

/* Are vectors pooled or scaled, in double precision? */
static bool is_computed(const struct lookup *l)
{
    return l->opts->pool >= 0 || l->opts->normalize;
}

/* The type that rows are had in, where nothing is made of them: blocks only come out of a table as
 * they are; integers are not computed with. */
emb_dtype lookup_plain_dtype(const struct lookup *l)
{
    emb_dtype dtype = emb_dtype_block(l->info.dtype) > 1 ? EMB_F32 : l->info.dtype;
    return is_computed(l) && !emb_dtype_is_float(dtype) ? EMB_F64 : dtype;
}

/* --dtype, else the type that rows are had in; only raw rows, which no product gives, can be
 * blocks; computed numbers are f32, but those out of f64; NumPy has no bf16 and no 8-bit floats,
 * which become f32. */
emb_dtype lookup_choose_dtype(const struct lookup *l)
{
    bool blocks = strcmp(l->format, "raw") == 0 && l->opts->via != VIA_MATMUL && !is_computed(l) &&
                  !l->inputs.assembly;
    emb_dtype dtype = blocks ? l->info.dtype : l->made;
    if (is_computed(l) && l->info.dtype != EMB_F64)
        dtype = EMB_F32;
    bool numpy = strcmp(l->format, "npy") == 0 || strcmp(l->format, "npz") == 0;
    if (l->opts->common.dtype)
        return l->opts->common.dtype;
    bool known = dtype == EMB_F64 || dtype == EMB_F32 || dtype == EMB_F16;
    return numpy && emb_dtype_is_float(dtype) && !known ? EMB_F32 : dtype;
}

/* Can a finite number of `from` be too large for `to`? Then it must be counted. */
static bool may_overflow(emb_dtype from, emb_dtype to)
{
    if (from == to || to == EMB_F64 || !emb_dtype_is_float(to))
        return false;
    return to != EMB_F32 || from == EMB_F64;
}

/* Rows are had as they are made, and then converted, where that must be watched or done by us. */
static bool is_staged(const struct lookup *l)
{
    return is_computed(l) || may_overflow(l->made, l->dtype);
}

bool lookup_is_direct(const struct lookup *l)
{
    return !l->run->device && l->opts->via != VIA_MATMUL && !is_staged(l);
}

bool lookup_is_plain(const struct lookup *l)
{
    return !l->inputs.assembly && lookup_is_direct(l);
}

int lookup_make_room(struct lookup *l)
{
    size_t made_row = emb_dtype_row_bytes(l->made, l->dims);
    size_t row = emb_dtype_row_bytes(l->dtype, l->dims);
    bool lines = l->opts->pool >= 0 || l->inputs.assembly;
    l->block_rows = embi_max(1, LOOKUP_BLOCK_BYTES / embi_max(embi_max(row, made_row), 1));
    l->ids = malloc(LOOKUP_IDS * sizeof *l->ids);
    l->lines = lines ? malloc(LOOKUP_IDS * sizeof *l->lines) : NULL;
    l->block = malloc(embi_max(l->block_rows * row, 1));
    l->stored = is_staged(l) ? malloc(l->block_rows * made_row + 1) : NULL;
    if (!l->ids || (lines && !l->lines) || !l->block || (is_staged(l) && !l->stored))
        return fail_with(l->run, EXIT_MEMORY, NULL, "out of memory");
    return EXIT_DONE;
}

int lookup_ahead(struct lookup *l, const uint64_t *rows, size_t at, size_t n)
{
    size_t chunk = l->block_rows * embi_max(LOOKUP_IDS / l->block_rows, 1);
    emb_err err;
    if (at % chunk == 0 &&
        emb_table_prefetch(l->table, rows + at, (size_t)embi_min(n - at, chunk), &err) != EMB_OK)
        return fail(l->run, l->run->table_name, &err);
    return EXIT_DONE;
}

int lookup_make(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                emb_block *block)
{
    emb_err err;
    if (l->inputs.assembly)
        return lookup_make_input(l, rows, lines, n, block);
    if (l->opts->via == VIA_MATMUL)
        return lookup_multiply(l, rows, n, block);
    if (emb_device_gather(l->run->device, l->table, rows, n, block, &err) != EMB_OK)
        return fail(l->run, l->run->table_name, &err);
    return EXIT_DONE;
}

int lookup_finish(struct lookup *l, const void *made, emb_dtype dtype, size_t n, char *out)
{
    emb_block src = {(void *)(uintptr_t)made, n, l->dims, dtype, 0};
    emb_block dst = {out, n, l->dims, l->dtype, 0};
    emb_status status;
    emb_err err;
    if (l->opts->normalize)
        status =
            emb_normalize_rows(l->run->ctx, &src, &dst, &l->zero_rows, &l->nonfinite_rows, &err);
    else
        status = emb_convert(out, l->dtype, made, dtype, n * l->dims, &l->overflows, &err);
    return status ? fail(l->run, l->run->table_name, &err) : EXIT_DONE;
}

int lookup_fetch(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n)
{
    emb_block block = {.data = l->stored ? l->stored : l->block,
                       .rows = n,
                       .dims = l->dims,
                       .dtype = l->stored ? l->made : l->dtype};
    int code = lookup_make(l, rows, lines, n, &block);
    return code || !l->stored ? code : lookup_finish(l, l->stored, l->made, n, l->block);
}
