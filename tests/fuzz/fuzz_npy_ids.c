/* fuzz_npy_ids.c - lists of ids in .npy files: the same in chunks of any size, each below V. */
#include "fuzz.h"

enum { IDS_MAX = 1 << 14 };

static emb_ids *open_ids(const void *data, size_t size)
{
    emb_ids *ids;
    emb_err err;
    return fuzz_went_well(emb_ids_open(fuzz_ctx(), NULL, data, size, &ids, &err), &err) ? ids
                                                                                        : NULL;
}

static uint64_t count(const emb_ids *ids)
{
    uint64_t shape[3], n = 1;
    int ndim = emb_ids_shape(ids, shape);
    CHECK(ndim >= 1 && ndim <= 3);
    for (int i = 0; i < ndim; i++)
        CHECK(embi_mul(n, shape[i], &n));
    return embi_min(n, IDS_MAX);
}

/* Reads n ids in chunks; false where one is no id, which is where others say so too. */
static bool read_ids(emb_ids *ids, uint64_t rows, size_t n, size_t chunk, uint64_t *out,
                     int64_t *at)
{
    emb_err err = {.at = -1};
    bool good = true;
    for (size_t done = 0, step; good && done < n; done += step) {
        step = embi_min(chunk, n - done);
        good = fuzz_went_well(emb_ids_read(ids, rows, out + done, step, &err), &err);
    }
    for (size_t i = 0; good && i < n; i++)
        CHECK(out[i] < rows);
    *at = err.at;
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t out[2][IDS_MAX];
    static const uint64_t rows[] = {0, 1, 128, 50257, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX};
    int64_t at[2];
    char *file = fuzz_copy(data, size);
    emb_ids *whole = open_ids(file, size), *parts = open_ids(file, size);
    CHECK((whole == NULL) == (parts == NULL));
    if (whole) {
        size_t n = count(whole);
        uint64_t v = rows[size % EMBI_LEN(rows)];
        bool good = read_ids(whole, v, n, n + 1, out[0], &at[0]);
        CHECK(read_ids(parts, v, n, 1 + size % 7, out[1], &at[1]) == good);
        CHECK(good ? memcmp(out[0], out[1], n * sizeof **out) == 0 : at[0] == at[1]);
    }
    emb_ids_close(whole);
    emb_ids_close(parts);
    free(file);
    return 0;
}
