/* fuzz_raw.c - rows of every element type without a header: the first bytes say what the user would. */
#include "table.h"

enum { TYPE_AT, DIMS_AT, ROWS_AT, OFFSET_AT, OPTIONS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < OPTIONS)
        return 0;
    struct fuzz_file f = {
        .data = data + OPTIONS, .size = size - OPTIONS, .format = &embi_format_raw};
    f.opts.input_dtype = data[TYPE_AT] % EMB_DTYPE_COUNT;
    f.opts.raw_dims = data[DIMS_AT];
    f.opts.raw_rows = data[ROWS_AT];
    f.opts.raw_offset = data[OFFSET_AT];
    return fuzz_table(&f);
}
