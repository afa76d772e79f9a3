/* gguf_copy.c - values of a GGUF file as numbers of this machine, and as another file has them: of
 * version 3 and little-endian, whatever the first one is.
 *
 * Each value was inside its file when that was opened.
 */
#include "fmt/gguf_read.h"

#include "num/dtype.h"

static const struct embi_gguf_place *place(const struct embi_reader *r)
{
    return &((const struct embi_gguf *)r->state)->place;
}

/* Numbers [n] of `bytes` bytes each, put into the order of this machine. */
static void load(const struct embi_reader *r, uint64_t at, uint64_t n, size_t bytes, void *out)
{
    memcpy(out, place(r)->file + at, n * bytes);
    if (place(r)->swap)
        embi_swap_bytes(out, bytes, n);
}

void embi_gguf_f32s(const struct embi_reader *r, const struct embi_gguf_value *v, float *out)
{
    load(r, v->at, v->n, sizeof *out, out);
}

void embi_gguf_i32s(const struct embi_reader *r, const struct embi_gguf_value *v, int32_t *out)
{
    load(r, v->at, v->n, sizeof *out, out);
}

const struct embi_gguf_value *embi_gguf_list(const struct embi_reader *r, size_t *n)
{
    const struct embi_gguf *g = r->state;
    *n = g->n;
    return g->values;
}

static void add_u32(struct embi_buf *out, uint32_t x)
{
    embi_buf_add(out, &x, sizeof x);
}

static void add_string(struct embi_buf *out, emb_str s)
{
    uint64_t n = s.n;
    embi_buf_add(out, &n, sizeof n);
    embi_buf_add(out, s.s, s.n);
}

static void add_numbers(const struct embi_reader *r, enum embi_gguf_kind kind, uint64_t at,
                        uint64_t n, struct embi_buf *out)
{
    size_t bytes = embi_gguf_kind_bytes(kind);
    char *room = embi_buf_room(out, n * bytes);
    if (!room)
        return;
    load(r, at, n, bytes, room);
    out->n += n * bytes;
}

static void add_strings(const struct embi_reader *r, const struct embi_gguf_value *v,
                        struct embi_buf *out)
{
    struct embi_gguf_place p = *place(r);
    emb_str text;
    emb_err err;
    p.at = v->at;
    for (uint64_t i = 0; i < v->n && embi_gguf_text(&p, "a string", &text, &err) == EMB_OK; i++)
        add_string(out, text);
}

static void add_array(const struct embi_reader *r, const struct embi_gguf_value *v,
                      struct embi_buf *out)
{
    add_u32(out, v->element);
    embi_buf_add(out, &v->n, sizeof v->n);
    if (v->element == EMBI_GGUF_STRING)
        add_strings(r, v, out);
    else
        add_numbers(r, v->element, v->at, v->n, out);
}

void embi_gguf_copy(const struct embi_reader *r, const struct embi_gguf_value *v,
                    struct embi_buf *out)
{
    add_string(out, v->key);
    add_u32(out, v->kind);
    if (v->kind == EMBI_GGUF_ARRAY)
        add_array(r, v, out);
    else if (v->kind == EMBI_GGUF_STRING)
        add_string(out, embi_gguf_string(r, v));
    else
        add_numbers(r, v->kind, v->at, 1, out);
}
