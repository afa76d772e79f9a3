/* fuzz.h - what the fuzz targets share: a check that ends the run, bytes as a file, and what every
 * failure of the library must look like.
 *
 * A target is one function that gets bytes and hands them to one reader as a user's file. It looks
 * for more than crashes: what CHECK says must hold for any bytes. It does so alone, without files and
 * without threads, so that the same bytes always give the same run.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "io/io.h"
#include "table/table.h"
#include "util/utf8.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(fact) ((fact) ? (void)0 : fuzz_stop(__FILE__, __LINE__, #fact))

static inline void fuzz_stop(const char *file, int line, const char *fact)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, fact);
    abort();
}

/* What may not fail. */
static inline void fuzz_must(emb_status status, const emb_err *err)
{
    if (status != EMB_OK)
        (void)fprintf(stderr, "status %d: %s\n", (int)status, err->msg);
    CHECK(status == EMB_OK);
}

/* Where there is no file, and nothing beside it. */
#define FUZZ_PATH "/dev/null/fuzz"

static inline emb_ctx *fuzz_ctx(void)
{
    static emb_ctx *ctx;
    const emb_ctx_opts opts = {.size = sizeof opts, .threads = 1};
    emb_err err;
    if (!ctx)
        CHECK(emb_ctx_new(&opts, &ctx, &err) == EMB_OK);
    return ctx;
}

static inline const struct embi_env *fuzz_env(void)
{
    return &fuzz_ctx()->env;
}

/* The bytes as a file, in a block of exactly their size, so that what is read past it is seen. */
static inline struct embi_io *fuzz_io(const void *data, size_t size)
{
    struct embi_io *io;
    emb_err err;
    void *copy = malloc(size ? size : 1);
    CHECK(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    CHECK(embi_io_memory(fuzz_env(), copy, size, copy, &io, &err) == EMB_OK);
    return io;
}

/* The input as a block of exactly its size; free it. */
static inline char *fuzz_copy(const void *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    CHECK(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

/* Did it go well? A file may be bad, be of a kind that is not read, or lack what was asked for; a
 * small one may not take all memory, and never shows a fault of ours. A message is one line of text. */
static inline bool fuzz_went_well(emb_status status, const emb_err *err)
{
    if (status == EMB_OK)
        return true;
    size_t n = strnlen(err->msg, sizeof err->msg);
    CHECK(err->status == status);
    CHECK(status == EMB_BAD_DATA || status == EMB_UNSUPPORTED || status == EMB_BAD_ARG ||
          status == EMB_NOT_FOUND || status == EMB_RANGE);
    CHECK(n > 0 && n < sizeof err->msg && embi_utf8_valid(err->msg, n));
    for (size_t i = 0; i < n; i++)
        CHECK((unsigned char)err->msg[i] >= 0x20 && err->msg[i] != 0x7F);
    return false;
}

#endif
