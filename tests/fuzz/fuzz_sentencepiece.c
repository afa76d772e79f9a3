/* fuzz_sentencepiece.c - SentencePiece models, and the reader of protobuf messages under them. */
#include "vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_vocab("tokenizer.model", data, size);
}
