/* fuzz_inflate.c - deflate and gzip: what is unpacked whole begins with what is unpacked at first, and
 * a size or checksum other than the true one is refused. The first byte says which of the two it is.
 */
#include "fuzz.h"

#include "io/inflate.h"

#include <stdlib.h>

enum { HEAD_BYTES = 1 << 16 };

static void check_begins(struct embi_io *io, const char *head, size_t n)
{
    const void *data;
    emb_err err;
    CHECK(embi_io_map(io, &data, &err) == EMB_OK);
    CHECK(io->size >= n && memcmp(data, head, n) == 0);
    CHECK(n == HEAD_BYTES || io->size == n);
}

/* A bare stream of at most HEAD_BYTES, now with its true size and checksum. */
static void check_bare(struct embi_packed *p, const char *head, size_t n)
{
    struct embi_io *io;
    emb_err err;
    p->bytes = n;
    p->crc = embi_crc32(NULL, head, n);
    if (!fuzz_went_well(embi_inflate(p, &io, &err), &err))
        return; /* bytes after the stream */
    check_begins(io, head, n);
    embi_io_close(io);
    p->crc++;
    CHECK(!fuzz_went_well(embi_inflate(p, &io, &err), &err) && !io);
    p->crc--;
    p->bytes++;
    CHECK(!fuzz_went_well(embi_inflate(p, &io, &err), &err) && !io);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char head[HEAD_BYTES];
    struct embi_io *io;
    emb_err err;
    size_t n;
    if (size == 0)
        return 0;
    struct embi_packed p = {.io = fuzz_io(data + 1, size - 1), .n = size - 1, .gzip = data[0] & 1};
    bool good = fuzz_went_well(embi_inflate_head(&p, head, sizeof head, &n, &err), &err);
    CHECK(n <= sizeof head);
    if (good && !p.gzip && n < sizeof head)
        check_bare(&p, head, n);
    if (p.gzip && fuzz_went_well(embi_inflate(&p, &io, &err), &err)) {
        CHECK(good);
        check_begins(io, head, n);
        embi_io_close(io);
    }
    embi_io_close(p.io);
    return 0;
}
