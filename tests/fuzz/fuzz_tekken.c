/* fuzz_tekken.c - tekken.json. */
#include "vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_vocab("tekken.json", data, size);
}
