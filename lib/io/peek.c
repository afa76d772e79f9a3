/* peek.c - see peek.h. The room for all that may be asked for is taken at once, and so never moves;
 * pages that stay unused cost nothing. To go on means to begin anew, in steps that grow fast.
 */
#include "io/peek.h"

#include "util/err.h"

#include <stdlib.h>

enum { FIRST_BYTES = 1 << 16, GROWTH = 4 };

#define VERY_MANY_BYTES (UINT64_C(1) << 62)

struct peek {
    struct embi_io io;
    struct embi_packed packed;
    char *head; /* [EMBI_PEEK_MAX_BYTES], n unpacked */
    size_t n;
    bool whole, fell_short;
};

static emb_status fail_short(struct peek *p, uint64_t n, emb_err *err)
{
    p->fell_short = true;
    return embi_fail(err, EMB_UNSUPPORTED, -1, "more than its first %llu bytes are needed",
                     (unsigned long long)n);
}

/* Makes the first n bytes at hand. */
static emb_status unpack(struct peek *p, uint64_t n, emb_err *err)
{
    size_t want = FIRST_BYTES;
    if (n <= p->n && p->n > 0)
        return EMB_OK;
    if (n > EMBI_PEEK_MAX_BYTES || p->whole)
        return fail_short(p, p->n, err);
    while (want < n)
        want *= GROWTH;
    emb_status status = embi_inflate_head(&p->packed, p->head, want, &p->n, err);
    if (status)
        return status;
    p->whole = p->n < want;
    return n <= p->n ? EMB_OK : fail_short(p, p->n, err);
}

static emb_status peek_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    struct peek *p = (struct peek *)io;
    emb_status status = unpack(p, off + n, err);
    if (status)
        return status;
    memcpy(dst, p->head + off, n);
    return EMB_OK;
}

static emb_status peek_map(struct embi_io *io, const void **data, emb_err *err)
{
    struct peek *p = (struct peek *)io;
    (void)data;
    return fail_short(p, p->n, err);
}

static emb_status peek_front(struct embi_io *io, uint64_t n, const void **data, uint64_t *have,
                             emb_err *err)
{
    struct peek *p = (struct peek *)io;
    emb_status status = unpack(p, n, err);
    *data = p->head;
    *have = p->n;
    return status;
}

static void peek_close(struct embi_io *io)
{
    struct peek *p = (struct peek *)io;
    free(p->head);
    free(p);
}

static const struct embi_scheme scheme_peek = {
    .name = "peek",
    .pread = peek_pread,
    .map = peek_map,
    .front = peek_front,
    .close = peek_close,
};

emb_status embi_peek_open(const struct embi_packed *packed, uint64_t size, struct embi_io **io,
                          bool *whole, emb_err *err)
{
    struct peek *p = calloc(1, sizeof *p);
    *io = NULL;
    if (p)
        p->head = malloc(EMBI_PEEK_MAX_BYTES);
    if (!p || !p->head) {
        free(p);
        return embi_fail_memory(err, EMBI_PEEK_MAX_BYTES, "the beginning of a packed file");
    }
    p->io.scheme = &scheme_peek;
    p->io.env = packed->io->env;
    p->io.caps = EMBI_IO_CAN_MAP;
    p->io.size = size ? size : VERY_MANY_BYTES;
    p->packed = *packed;
    emb_status status = unpack(p, 1, err);
    if (status && !p->fell_short) {
        embi_io_close(&p->io);
        return status;
    }
    *whole = p->whole;
    *io = &p->io;
    return EMB_OK;
}

bool embi_peek_fell_short(const struct embi_io *io)
{
    return ((const struct peek *)io)->fell_short;
}
