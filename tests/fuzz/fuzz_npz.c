/* fuzz_npz.c - .npz archives: their arrays, and the tokens beside them. */
#include "table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_table(&(struct fuzz_file){.data = data, .size = size, .format = &embi_format_npz});
}
