/* gguf_write.c - writes GGUF files: version 3, little-endian, tensors at multiples of 32.
 *
 * The head says no more than that this is a table: an architecture of its own, "embedding", and,
 * where rows have tokens, what is known of them (embi_sink.notes); where nothing is, a tokenizer
 * "none", which readers take for a bare list. Tokens stand before the tensors, so all of them must
 * be known when the file begins (embi_sink.all_tokens); they go to the file as they are, a piece at
 * a time. A row count that comes late is put into the head at the end, which has the same length
 * whatever the numbers. Specification: docs/gguf.md of ggml; the words for tokens are those of its
 * convert scripts.
 */
#include "fmt/gguf_read.h"
#include "fmt/sink.h"

#include "util/err.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdio.h>

enum { VERSION = 3, ALIGNMENT = 32, NAME_BYTES_MAX = 63, QUANTIZATION_VERSION = 2 };

#define NAMED "tokenizer.ggml."

/* ------------------------------------------------------------------------------------------------
 * Pieces of a head
 */

static void add_u32(struct embi_buf *b, uint32_t x)
{
    embi_buf_add(b, &x, sizeof x);
}

static void add_u64(struct embi_buf *b, uint64_t x)
{
    embi_buf_add(b, &x, sizeof x);
}

static void add_string(struct embi_buf *b, emb_str s)
{
    add_u64(b, s.n);
    embi_buf_add(b, s.s, s.n);
}

static void add_key(struct embi_buf *b, const char *key, enum embi_gguf_kind kind)
{
    add_string(b, (emb_str){key, strlen(key)});
    add_u32(b, kind);
}

static void add_text(struct embi_buf *b, const char *key, const char *value)
{
    add_key(b, key, EMBI_GGUF_STRING);
    add_string(b, (emb_str){value, strlen(value)});
}

static void add_array(struct embi_buf *b, const char *key, enum embi_gguf_kind kind, uint64_t n)
{
    add_key(b, key, EMBI_GGUF_ARRAY);
    add_u32(b, kind);
    add_u64(b, n);
}

/* A head in the making. What of it is long goes to the file at once, unless it is to be written
 * again: then all of it stays in s->buf. */
struct head {
    struct embi_sink *s;
    bool whole;
    uint64_t flushed;
};

static emb_status flush(struct head *h, size_t least, emb_err *err)
{
    struct embi_buf *b = &h->s->buf;
    if (b->failed)
        return embi_fail_memory(err, b->n, "the head of a file");
    if (h->whole || b->n < least)
        return EMB_OK;
    h->flushed += b->n;
    emb_status status = embi_sink_append_buf(h->s, err);
    b->n = 0;
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

/* A row without a token gets the name that converters give it. */
static void add_token(struct embi_buf *b, const struct embi_sink *s, uint64_t row)
{
    char name[32];
    emb_str token = s->all_tokens[row];
    if (!token.s)
        token = (emb_str){name, (size_t)snprintf(name, sizeof name, "[PAD%" PRIu64 "]", row)};
    add_string(b, token);
}

static void add_score(struct embi_buf *b, const struct embi_sink *s, uint64_t row)
{
    float score = s->notes ? s->notes->scores[row] : 0;
    embi_buf_add(b, &score, sizeof score);
}

static void add_type(struct embi_buf *b, const struct embi_sink *s, uint64_t row)
{
    int32_t type = s->notes && s->notes->types ? s->notes->types[row] : EMBI_TOKEN_UNSAID;
    if (type == EMBI_TOKEN_UNSAID)
        type = s->all_tokens[row].s ? EMBI_TOKEN_NORMAL : EMBI_TOKEN_UNUSED;
    add_u32(b, (uint32_t)type);
}

/* An array with an element for each row. */
static emb_status add_for_rows(struct head *h, const char *key, enum embi_gguf_kind kind,
                               void add(struct embi_buf *b, const struct embi_sink *s,
                                        uint64_t row),
                               emb_err *err)
{
    uint64_t n = h->s->arrays[0].shape[0];
    emb_status status = EMB_OK;
    add_array(&h->s->buf, key, kind, n);
    for (uint64_t row = 0; !status && row < n; row++) {
        add(&h->s->buf, h->s, row);
        status = flush(h, EMBI_FLUSH_BYTES, err);
    }
    return status;
}

/* Where nothing is known of the tokens each has a score, which old readers ask for. */
static bool has_scores(const struct embi_sink *s)
{
    return !s->notes || s->notes->scores;
}

static uint64_t count_token_keys(const struct embi_sink *s)
{
    const struct embi_token_notes *notes = s->notes;
    uint64_t n = 3 + has_scores(s);
    return s->tokens ? n + (notes ? notes->n_ids + notes->any.n + notes->whole.n : 0) : 0;
}

static void add_notes(struct embi_buf *b, const struct embi_token_notes *notes)
{
    for (size_t i = 0; i < notes->n_ids; i++) {
        add_string(b, notes->ids[i].key);
        add_u32(b, EMBI_GGUF_U32);
        add_u32(b, (uint32_t)notes->ids[i].id);
    }
    embi_buf_add(b, notes->any.bytes.s, notes->any.bytes.n);
    embi_buf_add(b, notes->whole.bytes.s, notes->whole.bytes.n);
}

static emb_status add_tokens(struct head *h, emb_err *err)
{
    const struct embi_token_notes *notes = h->s->notes;
    add_key(&h->s->buf, NAMED "model", EMBI_GGUF_STRING);
    add_string(&h->s->buf, notes && notes->model.s ? notes->model : (emb_str){"none", 4});
    emb_status status = add_for_rows(h, NAMED "tokens", EMBI_GGUF_STRING, add_token, err);
    if (!status && has_scores(h->s))
        status = add_for_rows(h, NAMED "scores", EMBI_GGUF_F32, add_score, err);
    if (!status)
        status = add_for_rows(h, NAMED "token_type", EMBI_GGUF_I32, add_type, err);
    if (!status && notes)
        add_notes(&h->s->buf, notes);
    return status ? status : flush(h, EMBI_FLUSH_BYTES, err);
}

const char *embi_gguf_refuses(emb_str token)
{
    return token.s && !embi_utf8_valid(token.s, token.n) ? "it is not UTF-8" : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * The head
 */

static uint64_t padding(uint64_t n)
{
    return (ALIGNMENT - n % ALIGNMENT) % ALIGNMENT;
}

/* Bytes of an array; 0 while its rows are not counted. */
static uint64_t bytes_of(const emb_array *a)
{
    return embi_array_open_ended(a) ? 0 : a->shape[0] * embi_array_row_bytes(a);
}

/* The infos: sizes with the last axis first, offsets from the end of the head. */
static emb_status add_infos(const struct embi_sink *s, struct embi_buf *b, emb_err *err)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < s->n; i++) {
        const emb_array *a = &s->arrays[i];
        uint64_t bytes = bytes_of(a);
        uint32_t type = 0;
        (void)embi_gguf_type_number(a->dtype, &type); /* which the check has seen */
        add_string(b, embi_array_name(a));
        add_u32(b, (uint32_t)a->ndim);
        for (int k = a->ndim - 1; k >= 0; k--)
            add_u64(b, a->shape[k]);
        add_u32(b, type);
        add_u64(b, offset);
        if (!embi_add(offset, bytes, &offset) || offset > INT64_MAX)
            return embi_fail(err, EMB_BAD_ARG, (int64_t)i, "arrays of 2^63 bytes and more");
        offset += padding(offset);
    }
    return EMB_OK;
}

static emb_status make_head(struct embi_sink *s, bool whole, emb_err *err)
{
    struct head h = {s, whole, 0};
    struct embi_buf *b = &s->buf;
    bool blocks = false;
    emb_status status = EMB_OK;
    for (size_t i = 0; i < s->n; i++)
        blocks |= emb_dtype_block(s->arrays[i].dtype) > 1;
    b->n = 0;
    embi_buf_text(b, "GGUF");
    add_u32(b, VERSION);
    add_u64(b, s->n);
    add_u64(b, 1u + blocks + count_token_keys(s));
    add_text(b, "general.architecture", "embedding");
    if (blocks) {
        add_key(b, "general.quantization_version", EMBI_GGUF_U32);
        add_u32(b, QUANTIZATION_VERSION);
    }
    if (s->tokens)
        status = add_tokens(&h, err);
    if (!status)
        status = add_infos(s, b, err);
    embi_buf_fill(b, '\0', (size_t)padding(h.flushed + b->n));
    return status ? status : flush(&h, 1, err);
}

/* ------------------------------------------------------------------------------------------------
 * The format's part
 */

static emb_status check_array(const emb_array *a, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    uint32_t type;
    emb_str name = embi_array_name(a);
    if (name.n > NAME_BYTES_MAX || !embi_utf8_valid(name.s, name.n))
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "'%s' cannot be a name in GGUF: UTF-8 of at most %d bytes is expected",
                         embi_show(show, name), NAME_BYTES_MAX);
    if (!embi_gguf_type_number(a->dtype, &type))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "gguf cannot hold %s; use --dtype f32",
                         emb_dtype_name(a->dtype));
    return EMB_OK;
}

static emb_status check_tokens(const struct embi_sink *s, emb_err *err)
{
    if (!s->tokens)
        return EMB_OK;
    if (!s->all_tokens)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "gguf has its tokens before the rows: all must be known first");
    if (s->arrays[0].shape[0] > EMBI_GGUF_STRINGS_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%" PRIu64 " tokens; gguf holds %" PRIu64,
                         s->arrays[0].shape[0], (uint64_t)EMBI_GGUF_STRINGS_MAX);
    return embi_sink_check_tokens(s, err);
}

emb_status embi_gguf_check(const struct embi_sink *s, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < s->n; i++)
        status = check_array(&s->arrays[i], err);
    if (!status)
        status = embi_sink_check_names(s, err);
    return status ? status : check_tokens(s, err);
}

/* s->buf keeps the head until the end only where it is to be written anew. */
emb_status embi_gguf_begin(struct embi_sink *s, emb_err *err)
{
    bool late = false;
    for (size_t i = 0; i < s->n; i++)
        late |= embi_array_open_ended(&s->arrays[i]);
    emb_status status = make_head(s, late, err);
    return status || !late ? status : embi_sink_append_buf(s, err);
}

/* Every tensor is padded, the last one too. */
emb_status embi_gguf_finish(struct embi_sink *s, emb_err *err)
{
    static const char zeros[ALIGNMENT];
    size_t n = (size_t)padding(bytes_of(&s->arrays[s->current]));
    return n ? embi_io_append(s->io, zeros, n, err) : EMB_OK;
}

emb_status embi_gguf_end(struct embi_sink *s, emb_err *err)
{
    if (s->buf.n == 0)
        return EMB_OK;
    emb_status status = make_head(s, true, err);
    return status ? status : embi_sink_patch_buf(s, err);
}
