/* safetensors_write.c - writes safetensors files.
 *
 * Tensors lie in the order given; the metadata say {"format":"pt"}, which loaders of checkpoints
 * want; the JSON is padded with blanks so that the data begin at a multiple of 8. Where a row count
 * is not known at the beginning, the header gets room for the longest numbers and is filled in at
 * the end. Specification: the "Format" section of the safetensors documentation.
 */
#include "fmt/beside.h"
#include "fmt/safetensors.h"

#include "util/err.h"
#include "util/utf8.h"

#include <inttypes.h>

enum { LENGTH_BYTES = 8 };

/* The longest number there is, for what is not known yet: it stays that long whatever is added. */
static uint64_t add_or_longest(uint64_t a, uint64_t b)
{
    return embi_add(a, b, &a) ? a : UINT64_MAX;
}

static uint64_t mul_or_longest(uint64_t a, uint64_t b)
{
    return embi_mul(a, b, &a) ? a : UINT64_MAX;
}

static void add_entry(const emb_array *array, uint64_t begin, uint64_t end, struct embi_buf *out)
{
    emb_str name = embi_array_name(array);
    embi_json_quote(out, name.s, name.n, NULL);
    embi_buf_print(out, ":{\"dtype\":\"%s\",\"shape\":[%" PRIu64,
                   embi_st_type_of(array->dtype)->name, array->shape[0]);
    for (int i = 1; i < array->ndim; i++)
        embi_buf_print(out, ",%" PRIu64, array->shape[i]);
    embi_buf_print(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, end);
}

/* Makes s->buf the length and the JSON object, padded to `bytes`; 0: to a multiple of 8. */
static emb_status make_header(struct embi_sink *s, size_t bytes, emb_err *err)
{
    struct embi_buf *b = &s->buf;
    uint64_t begin = 0, end = 0;
    b->n = 0;
    embi_buf_fill(b, '\0', LENGTH_BYTES);
    embi_buf_text(b, "{\"__metadata__\":{\"format\":\"pt\"");
    if (s->tokens_in)
        embi_buf_print(b, ",\"%s\":\"%s\"", EMBI_BESIDE_KEY, s->tokens_in);
    for (size_t i = 0; i < 2 * s->n_metadata; i++) {
        embi_buf_byte(b, i % 2 ? ':' : ',');
        embi_json_quote(b, s->metadata[i], strlen(s->metadata[i]), NULL);
    }
    embi_buf_byte(b, '}');
    for (size_t i = 0; i < s->n; i++, begin = end) {
        const emb_array *array = &s->arrays[i]; /* EMB_ROWS_UNKNOWN is the longest number */
        end = add_or_longest(begin, mul_or_longest(array->shape[0], embi_array_row_bytes(array)));
        embi_buf_byte(b, ',');
        add_entry(array, begin, end, b);
    }
    embi_buf_byte(b, '}');
    embi_buf_fill(b, ' ', (bytes ? bytes : (b->n + 7) / 8 * 8) - b->n);
    if (b->failed)
        return embi_fail_memory(err, b->n, "the header");
    uint64_t json_bytes = b->n - LENGTH_BYTES;
    if (json_bytes > EMBI_ST_HEADER_MAX_BYTES)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "a header of %" PRIu64 " bytes; safetensors allows %d", json_bytes,
                         EMBI_ST_HEADER_MAX_BYTES);
    memcpy(b->s, &json_bytes, sizeof json_bytes);
    return EMB_OK;
}

emb_status embi_st_check(const struct embi_sink *s, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    emb_status status = embi_sink_refuse_tokens(s, err);
    for (size_t i = 0; status == EMB_OK && i < s->n; i++) {
        emb_str name = embi_array_name(&s->arrays[i]);
        if (!embi_utf8_valid(name.s, name.n))
            status = embi_fail(err, EMB_BAD_ARG, (int64_t)i, "the name '%s' is not UTF-8",
                               embi_show(show, name));
        else if (embi_str_is(name, "__metadata__"))
            status = embi_fail(err, EMB_BAD_ARG, (int64_t)i,
                               "no tensor can be named __metadata__ in safetensors");
        else if (!embi_st_type_of(s->arrays[i].dtype))
            status = embi_fail(err, EMB_UNSUPPORTED, (int64_t)i,
                               "safetensors cannot hold %s; use --dtype f32",
                               emb_dtype_name(s->arrays[i].dtype));
    }
    return status == EMB_OK ? embi_sink_check_names(s, err) : status;
}

/* s->buf keeps the header until the end only where it is to be written anew. */
emb_status embi_st_begin(struct embi_sink *s, emb_err *err)
{
    bool late = false;
    emb_status status = make_header(s, 0, err);
    if (status == EMB_OK)
        status = embi_sink_append_buf(s, err);
    for (size_t i = 0; i < s->n; i++)
        late |= embi_array_open_ended(&s->arrays[i]);
    if (!late)
        s->buf.n = 0;
    return status;
}

emb_status embi_st_end(struct embi_sink *s, emb_err *err)
{
    if (s->buf.n == 0)
        return EMB_OK;
    emb_status status = make_header(s, s->buf.n, err);
    return status == EMB_OK ? embi_sink_patch_buf(s, err) : status;
}
