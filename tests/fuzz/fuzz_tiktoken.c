/* fuzz_tiktoken.c - tiktoken ranks. */
#include "vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_vocab("a.tiktoken", data, size);
}
