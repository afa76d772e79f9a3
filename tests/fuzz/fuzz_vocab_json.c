/* fuzz_vocab_json.c - vocab.json, an object of tokens and ids. */
#include "vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_vocab("vocab.json", data, size);
}
