/* fuzz_index.c - the index of a model's shards: every tensor once, in a file beside the index. */
#include "fuzz.h"

#include "model/weights.h"

enum { SOUGHT = 256 }; /* tensors that are looked for: each takes a walk over all */

static void check_index(const struct embi_weights *w)
{
    CHECK(w->n_files > 0 && w->n_files <= w->n_tensors);
    for (size_t i = 0; i < w->n_files; i++)
        CHECK(!strchr(w->files[i].name, '/') && strncmp(w->files[i].path, "dir/", 4) == 0 &&
              strcmp(w->files[i].path + 4, w->files[i].name) == 0);
    for (size_t i = 0; i < w->n_tensors; i++)
        CHECK(w->tensors[i].file < w->n_files && w->tensors[i].at == EMBI_NO_TENSOR &&
              (i >= SOUGHT || embi_weights_find(w, w->tensors[i].name) == i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_weights w = {.env = fuzz_env()};
    emb_err err;
    char *text = fuzz_copy(data, size);
    if (fuzz_went_well(embi_index_parse(text, size, "dir", &w, &err), &err))
        check_index(&w);
    embi_weights_free(&w);
    free(text);
    return 0;
}
