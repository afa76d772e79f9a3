/* fuzz_word2vec.c - binary word2vec files. */
#include "table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_table(
        &(struct fuzz_file){.data = data, .size = size, .format = &embi_format_word2vec});
}
