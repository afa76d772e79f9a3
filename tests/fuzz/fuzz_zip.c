/* fuzz_zip.c - the list of a zip archive's members: each inside the file, none twice, none in another. */
#include "fuzz.h"

#include "io/zip_read.h"

static void check_member(const struct embi_zip_list *list, size_t i, const char *file, size_t size)
{
    const struct embi_zip_member *m = &list->members[i];
    CHECK(m->name.s >= file && m->name.s + m->name.n <= file + size);
    CHECK(m->at < m->data_at && embi_inside(m->data_at, m->packed_bytes, size));
    CHECK(embi_zip_find(list, m->name) == m);
    for (size_t other = 0; other < i && other < 64; other++) {
        const struct embi_zip_member *o = &list->members[other];
        CHECK(m->data_at + m->packed_bytes <= o->at || o->data_at + o->packed_bytes <= m->at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_zip_list list;
    emb_err err;
    char *file = fuzz_copy(data, size);
    if (fuzz_went_well(embi_zip_list(file, size, &list, &err), &err)) {
        for (size_t i = 0; i < list.n; i++)
            check_member(&list, i, file, size);
        embi_zip_list_free(&list);
    } else {
        CHECK(!list.members && !list.names && list.n == 0);
    }
    free(file);
    return 0;
}
