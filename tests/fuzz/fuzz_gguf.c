/* fuzz_gguf.c - GGUF files: headers, values, tables of every type, tokens. */
#include "table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_table(&(struct fuzz_file){.data = data, .size = size, .format = &embi_format_gguf});
}
