/* gguf.c - the format "gguf": models as llama.cpp and its kin store them, versions 1 to 3.
 *
 * Of the values only general.alignment counts here; the others are noted, and model/ asks for them.
 * A file may be big-endian, with the magic either way round: its version says so. Specification:
 * docs/gguf.md of ggml, and gguf.cpp there for what it refuses.
 */
#include "fmt/gguf_read.h"
#include "fmt/sink.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    MAGIC_BYTES = 4,
    DEFAULT_ALIGNMENT = 32,
    NEWEST = 3,
    BELIEVED_VERSIONS = 1 << 16,
    EXT_BID = 60
};

static bool has_magic(const unsigned char *head, size_t n)
{
    return n >= MAGIC_BYTES &&
           (memcmp(head, "GGUF", MAGIC_BYTES) == 0 || memcmp(head, "FUGG", MAGIC_BYTES) == 0);
}

/* The magic alone may begin a text. */
static int probe(const unsigned char *head, size_t n, uint64_t size, const char *ext)
{
    bool named = strcmp(ext, ".gguf") == 0;
    (void)size;
    if (n >= 2 * MAGIC_BYTES && has_magic(head, n)) {
        uint32_t version = embi_le32(head + MAGIC_BYTES);
        if (embi_min(version, __builtin_bswap32(version)) < BELIEVED_VERSIONS)
            return 100;
    }
    return named ? EXT_BID : 0;
}

/* ------------------------------------------------------------------------------------------------
 * The header
 */

static emb_status read_version(struct embi_gguf_place *p, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    if (!has_magic(p->file, (size_t)p->have))
        return embi_fail(err, EMB_BAD_DATA, 0, "expected the bytes \"GGUF\" first, found \"%s\"",
                         embi_show(shown, (emb_str){(const char *)p->file,
                                                    (size_t)embi_min(p->size, MAGIC_BYTES)}));
    p->at = MAGIC_BYTES;
    emb_status status = embi_gguf_u32(p, "version", &p->version, err);
    if (status)
        return status;
    p->swap = p->version % BELIEVED_VERSIONS == 0;
    if (p->swap)
        p->version = __builtin_bswap32(p->version);
    if (p->version < 1 || p->version > NEWEST)
        return embi_fail(err, EMB_UNSUPPORTED, MAGIC_BYTES,
                         "GGUF of version %" PRIu32 ": expected 1 to %d", p->version, NEWEST);
    return EMB_OK;
}

static emb_status read_alignment(const struct embi_reader *r, uint64_t *alignment, emb_err *err)
{
    const struct embi_gguf_value *v = embi_gguf_find(r, "general.alignment");
    *alignment = DEFAULT_ALIGNMENT;
    if (!v)
        return EMB_OK;
    if (v->kind != EMBI_GGUF_U32)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)v->at,
                         "general.alignment: expected a u32, found a value of type %s",
                         embi_gguf_kind_name(v->kind));
    (void)embi_gguf_number(r, v, alignment);
    if (*alignment == 0 || (*alignment & (*alignment - 1)))
        return embi_fail(err, EMB_BAD_DATA, (int64_t)v->at,
                         "general.alignment: expected a power of two, found %" PRIu64, *alignment);
    return EMB_OK;
}

static emb_status read_header(struct embi_reader *r, struct embi_gguf *g, emb_err *err)
{
    uint64_t tensors, values, alignment;
    emb_status status = read_version(&g->place, err);
    if (!status)
        status = embi_gguf_length(&g->place, "tensor_count", &tensors, err);
    if (!status)
        status = embi_gguf_length(&g->place, "kv_count", &values, err);
    if (!status)
        status = embi_gguf_read_values(g, values, err);
    if (!status)
        status = read_alignment(r, &alignment, err);
    if (!status)
        status = embi_gguf_read_tensors(&g->place, r, tensors, alignment, err);
    return status;
}

static emb_status open_gguf(struct embi_reader *r, emb_err *err)
{
    const void *file;
    uint64_t have;
    emb_status status = embi_io_front(r->io, embi_min(r->io->size, MAGIC_BYTES), &file, &have, err);
    if (status)
        return status;
    struct embi_gguf *g = calloc(1, sizeof *g);
    if (!g)
        return embi_fail_memory(err, sizeof *g, "a GGUF file");
    g->place =
        (struct embi_gguf_place){.io = r->io, .file = file, .have = have, .size = r->io->size};
    r->state = g;
    return read_header(r, g, err);
}

static void free_gguf(void *state)
{
    struct embi_gguf *g = state;
    free(g->values);
    free(g);
}

const struct embi_format embi_format_gguf = {
    .name = "gguf",
    .about = "a GGUF model",
    .exts = " .gguf ",
    .caps = EMBI_FMT_READ | EMBI_FMT_WRITE | EMBI_FMT_NAMES | EMBI_FMT_TOKENS |
            EMBI_FMT_TOKENS_FIRST | EMBI_FMT_NOTES,
    .array_name = "token_embd.weight",
    .probe = probe,
    .open = open_gguf,
    .check = embi_gguf_check,
    .begin = embi_gguf_begin,
    .put = embi_sink_put,
    .finish = embi_gguf_finish,
    .end = embi_gguf_end,
    .refuses = embi_gguf_refuses,
    .free = free_gguf,
};
