/* replay.c - runs a fuzz target over files that are named, once each: for compilers without libFuzzer,
 * and to look at one finding in a debugger.
 */
#include "fuzz.h"

static bool run_file(const char *path)
{
    struct embi_io *io;
    const void *data;
    emb_err err;
    emb_status status = embi_io_open(fuzz_env(), path, EMBI_IO_READ, &io, &err);
    if (status == EMB_OK)
        status = embi_io_map(io, &data, &err);
    if (status != EMB_OK) {
        (void)fprintf(stderr, "%s: %s\n", path, err.msg);
        return false;
    }
    LLVMFuzzerTestOneInput(data, io->size);
    embi_io_close(io);
    return true;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!run_file(argv[i]))
            return EXIT_FAILURE;
    emb_ctx_free(fuzz_ctx());
    return EXIT_SUCCESS;
}
