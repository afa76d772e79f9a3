/* fuzz_tokenizer_json.c - tokenizer.json of every model, with its decoder and added tokens. */
#include "vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_vocab("tokenizer.json", data, size);
}
