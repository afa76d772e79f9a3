/* gguf_place.c - numbers and strings of a GGUF file, one after another, of either byte order.
 *
 * Nothing is read that does not lie in the file, and no count is believed that the bytes which
 * remain could not hold.
 */
#include "fmt/gguf_read.h"

#include "util/err.h"
#include "util/map.h"

#include <inttypes.h>

emb_status embi_gguf_skip(struct embi_gguf_place *p, const char *what, uint64_t n, emb_err *err)
{
    if (!embi_inside(p->at, n, p->size))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)p->at,
                         "%s: expected %" PRIu64 " bytes at %" PRIu64 ", the file ends at %" PRIu64,
                         what, n, p->at, p->size);
    p->at += n;
    return EMB_OK;
}

emb_status embi_gguf_need(struct embi_gguf_place *p, emb_err *err)
{
    const void *file;
    if (p->at <= p->have)
        return EMB_OK;
    emb_status status = embi_io_front(p->io, p->at, &file, &p->have, err);
    if (!status)
        p->file = file;
    return status;
}

emb_status embi_gguf_u32(struct embi_gguf_place *p, const char *what, uint32_t *x, emb_err *err)
{
    const uint64_t at = p->at;
    emb_status status = embi_gguf_skip(p, what, sizeof *x, err);
    if (!status)
        status = embi_gguf_need(p, err);
    if (status)
        return status;
    const unsigned char *from = p->file + at;
    *x = p->swap ? __builtin_bswap32(embi_le32(from)) : embi_le32(from);
    return EMB_OK;
}

emb_status embi_gguf_u64(struct embi_gguf_place *p, const char *what, uint64_t *x, emb_err *err)
{
    const uint64_t at = p->at;
    emb_status status = embi_gguf_skip(p, what, sizeof *x, err);
    if (!status)
        status = embi_gguf_need(p, err);
    if (status)
        return status;
    const unsigned char *from = p->file + at;
    *x = p->swap ? __builtin_bswap64(embi_le64(from)) : embi_le64(from);
    return EMB_OK;
}

emb_status embi_gguf_length(struct embi_gguf_place *p, const char *what, uint64_t *x, emb_err *err)
{
    uint32_t small;
    if (p->version > 1)
        return embi_gguf_u64(p, what, x, err);
    emb_status status = embi_gguf_u32(p, what, &small, err);
    if (!status)
        *x = small;
    return status;
}

/* As in ggml: longer ones are taken for damage. */
enum { STRING_MAX_BYTES = 1 << 30 };

emb_status embi_gguf_text(struct embi_gguf_place *p, const char *what, emb_str *text, emb_err *err)
{
    uint64_t n, at = p->at;
    emb_status status = embi_gguf_length(p, what, &n, err);
    if (status)
        return status;
    if (n > STRING_MAX_BYTES)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)at,
                         "%s: a string of %" PRIu64 " bytes, at most %d are allowed", what, n,
                         STRING_MAX_BYTES);
    at = p->at;
    status = embi_gguf_skip(p, what, n, err);
    if (!status)
        status = embi_gguf_need(p, err);
    if (!status)
        *text = (emb_str){(const char *)p->file + at, (size_t)n};
    return status;
}

emb_status embi_gguf_believe(const struct embi_gguf_place *p, const char *what, uint64_t n,
                             uint64_t bytes, emb_err *err)
{
    uint64_t rest = p->size - p->at;
    if (n <= rest / bytes)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, (int64_t)p->at,
                     "%s is %" PRIu64 ", of at least %" PRIu64 " bytes each: %" PRIu64
                     " bytes are left at %" PRIu64,
                     what, n, bytes, rest, p->at);
}

emb_status embi_gguf_differ(const emb_str *names, size_t n, const char *what, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    size_t twin;
    emb_status status = embi_find_twin(names, n, &twin, err);
    if (status || twin == n)
        return status;
    return embi_fail(err, EMB_BAD_DATA, -1, "%s '%s' is there twice", what,
                     embi_show(shown, names[twin]));
}
