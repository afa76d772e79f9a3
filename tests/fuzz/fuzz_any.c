/* fuzz_any.c - files of which nobody said what they are: the first byte chooses an extension. */
#include "table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {
        FUZZ_PATH,         FUZZ_PATH ".npy", FUZZ_PATH ".safetensors", FUZZ_PATH ".bin",
        FUZZ_PATH ".txt",  FUZZ_PATH ".vec", FUZZ_PATH ".pt",          FUZZ_PATH ".npz",
        FUZZ_PATH ".gguf", FUZZ_PATH ".raw", FUZZ_PATH ".tar.gz",      FUZZ_PATH ".json",
        FUZZ_PATH ".fifu", FUZZ_PATH ".h5",  FUZZ_PATH ".onnx",        FUZZ_PATH ".PTH",
    };
    if (size == 0)
        return 0;
    return fuzz_table(&(struct fuzz_file){
        .data = data + 1, .size = size - 1, .path = paths[data[0] % EMBI_LEN(paths)]});
}
