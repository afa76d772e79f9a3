/* fuzz_vocab_lines.c - vocab.txt, one token a line. */
#include "vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_vocab("vocab.txt", data, size);
}
