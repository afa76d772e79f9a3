/* safetensors.c - reads the header of a safetensors file: the list of its tensors.
 *
 * Stricter than the reference implementation where that one lets a name win silently (a tensor or
 * metadata key listed twice) or takes a form no writer makes (an entry written as an array); more
 * tolerant in bytes after the last tensor. Only the header is read, never the data.
 * Specification: the "Format" section of the safetensors documentation.
 */
#include "fmt/safetensors.h"
#include "fmt/beside.h"
#include "fmt/shape.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { JSON_AT = 8, EXT_BID = 60 };

struct header {
    struct embi_reader *r;
    struct embi_json json;
    struct embi_st_keys names; /* of the tensors */
    bool metadata; /* seen                                                                     */
    uint64_t data_at, data_bytes;
};

/* One tensor while its entry is read. */
struct entry {
    struct embi_tensor tensor;
    struct embi_st_type type;
    uint64_t begin, end;
    int64_t at, shape_at, offsets_at; /* in the file */
};

static bool starts_object(const unsigned char *head, size_t n)
{
    for (size_t i = JSON_AT; i < n; i++)
        if (!strchr(" \t\n\r", head[i]) || head[i] == '\0')
            return head[i] == '{';
    return false;
}

static int probe(const unsigned char *head, size_t n, uint64_t size, const char *ext)
{
    (void)size; /* a length beyond the end is a truncated file, which open can explain */
    if (n > JSON_AT && embi_le64(head) <= EMBI_ST_HEADER_MAX_BYTES && starts_object(head, n))
        return 100;
    return strcmp(ext, ".safetensors") == 0 ? EXT_BID : 0;
}

/* ------------------------------------------------------------------------------------------------
 * JSON
 */

static int64_t place(const struct header *h, const struct embi_json_value *v)
{
    return JSON_AT + (v->s - h->json.s);
}

/* A value that is not what was expected; `what` names the field. */
static emb_status fail_value(const struct header *h, const struct embi_json_value *v,
                             const char *what, const char *expected, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_DATA, place(h, v), "%s: expected %s, found %s", what, expected,
                     embi_show(show, (emb_str){v->s, v->n}));
}

/* EMB_OK where the reader met no error; else that error. */
static emb_status json_status(struct header *h, emb_err *err)
{
    return h->json.expected ? embi_json_finish(&h->json, JSON_AT, err) : EMB_OK;
}

static emb_status read_u64(struct header *h, const char *what, uint64_t *x, emb_err *err)
{
    struct embi_json_value v;
    if (embi_json_next(&h->json, &v) == EMBI_JSON_ERROR)
        return json_status(h, err);
    if (!embi_json_u64(&v, x))
        return fail_value(h, &v, what, "an unsigned integer", err);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The fields of a tensor's entry
 */

static emb_status read_dtype(struct header *h, struct entry *e, emb_err *err)
{
    struct embi_json_value v;
    if (embi_json_next(&h->json, &v) == EMBI_JSON_ERROR)
        return json_status(h, err);
    if (v.kind != EMBI_JSON_STRING)
        return fail_value(h, &v, "dtype", "a string", err);
    const struct embi_st_type *type = embi_st_type_named(&v);
    if (!type)
        return fail_value(h, &v, "dtype", "a type of safetensors", err);
    e->type = *type;
    e->tensor.dtype = type->dtype;
    (void)snprintf(e->tensor.type_name, sizeof e->tensor.type_name, "%s", type->name);
    return EMB_OK;
}

static emb_status read_shape(struct header *h, struct entry *e, emb_err *err)
{
    struct embi_tensor *t = &e->tensor;
    e->shape_at = (int64_t)(JSON_AT + embi_json_at(&h->json));
    if (!embi_json_enter(&h->json, EMBI_JSON_ARRAY))
        return json_status(h, err);
    while (embi_json_item(&h->json)) {
        if (t->ndim == EMBI_MAX_DIMS)
            return embi_fail(err, EMB_UNSUPPORTED, e->shape_at, "shape: more than %d dimensions",
                             EMBI_MAX_DIMS);
        emb_status status = read_u64(h, "shape", &t->shape[t->ndim], err);
        if (status != EMB_OK)
            return status;
        t->ndim++;
    }
    return json_status(h, err);
}

static emb_status read_offsets(struct header *h, struct entry *e, emb_err *err)
{
    uint64_t pair[2] = {0};
    int n = 0;
    e->offsets_at = (int64_t)(JSON_AT + embi_json_at(&h->json));
    if (!embi_json_enter(&h->json, EMBI_JSON_ARRAY))
        return json_status(h, err);
    while (embi_json_item(&h->json)) {
        if (n == 2)
            return embi_fail(err, EMB_BAD_DATA, e->offsets_at,
                             "data_offsets: expected 2 numbers, found more");
        emb_status status = read_u64(h, "data_offsets", &pair[n], err);
        if (status != EMB_OK)
            return status;
        n++;
    }
    emb_status status = json_status(h, err);
    if (status != EMB_OK)
        return status;
    if (n < 2)
        return embi_fail(err, EMB_BAD_DATA, e->offsets_at,
                         "data_offsets: expected 2 numbers, found %d", n);
    e->begin = pair[0];
    e->end = pair[1];
    return EMB_OK;
}

static const struct {
    const char *name;
    emb_status (*read)(struct header *, struct entry *, emb_err *);
} fields[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};

static emb_status read_fields(struct header *h, struct entry *e, emb_err *err)
{
    struct embi_json_value key;
    bool seen[EMBI_LEN(fields)] = {false};
    if (!embi_json_enter(&h->json, EMBI_JSON_OBJECT))
        return json_status(h, err);
    while (embi_json_member(&h->json, &key)) {
        for (size_t i = 0; i < EMBI_LEN(fields); i++) { /* other fields are ignored */
            if (!embi_json_is(&key, fields[i].name))
                continue;
            if (seen[i])
                return embi_fail(err, EMB_BAD_DATA, place(h, &key), "%s is there twice",
                                 fields[i].name);
            seen[i] = true;
            emb_status status = fields[i].read(h, e, err);
            if (status != EMB_OK)
                return status;
        }
    }
    emb_status status = json_status(h, err);
    for (size_t i = 0; status == EMB_OK && i < EMBI_LEN(fields); i++)
        if (!seen[i])
            status = embi_fail(err, EMB_BAD_DATA, e->at, "%s is missing", fields[i].name);
    return status;
}

/* Do shape, type and offsets agree, within the file? */
static emb_status check_entry(const struct header *h, struct entry *e, emb_err *err)
{
    struct embi_tensor *t = &e->tensor;
    char shape[EMBI_SHAPE_MAX];
    uint64_t bits;
    embi_shape_show(shape, t->shape, t->ndim);
    if (!embi_shape_count(t->shape, t->ndim, &bits) || !embi_mul(bits, e->type.bits, &bits))
        return embi_fail(err, EMB_BAD_DATA, e->shape_at, "shape %s of %s is too large", shape,
                         e->type.name);
    if (bits % 8)
        return embi_fail(err, EMB_BAD_DATA, e->shape_at, "shape %s of %s does not fill whole bytes",
                         shape, e->type.name);
    if (e->end < e->begin)
        return embi_fail(err, EMB_BAD_DATA, e->offsets_at,
                         "data_offsets: the end %" PRIu64 " is before the beginning %" PRIu64,
                         e->end, e->begin);
    if (e->end - e->begin != bits / 8)
        return embi_fail(err, EMB_BAD_DATA, e->offsets_at,
                         "data_offsets: expected %" PRIu64 " bytes for %s %s, found %" PRIu64,
                         bits / 8, e->type.name, shape, e->end - e->begin);
    if (e->end > h->data_bytes)
        return embi_fail(err, EMB_BAD_DATA, e->offsets_at,
                         "data_offsets end at byte %" PRIu64 ", the file has %" PRIu64
                         " bytes of data",
                         e->end, h->data_bytes);
    t->offset = h->data_at + e->begin;
    t->bytes = bits / 8;
    return EMB_OK;
}

static emb_status read_tensor(struct header *h, const struct embi_json_value *key, emb_err *err)
{
    struct entry e = {.at = place(h, key)};
    char show[EMBI_SHOW_MAX];
    emb_status status = embi_st_keys_add(&h->names, key, (uint64_t)e.at, err);
    if (status != EMB_OK)
        return status;
    emb_str name = embi_st_keys_get(&h->names, h->names.n - 1);
    status = read_fields(h, &e, err);
    if (status == EMB_OK)
        status = check_entry(h, &e, err);
    if (status != EMB_OK)
        return embi_fail_in(err, "tensor '%s'", embi_show(show, name));
    return embi_reader_add(h->r, name, &e.tensor, err);
}

/* ------------------------------------------------------------------------------------------------
 * Metadata, the header, the file
 */

static emb_status fail_metadata(const struct header *h, emb_str key,
                                const struct embi_json_value *v, emb_err *err)
{
    char show[EMBI_SHOW_MAX], what[EMBI_SHOW_MAX + 16];
    (void)snprintf(what, sizeof what, "the value of '%s'", embi_show(show, key));
    return fail_value(h, v, what, "a string", err);
}

/* Reads the object of strings; its bytes are kept as they are. */
static emb_status read_strings(struct header *h, emb_err *err)
{
    struct embi_st_keys keys = {0};
    struct embi_json_value key, v;
    emb_status status = EMB_OK;
    if (!embi_json_enter(&h->json, EMBI_JSON_OBJECT))
        return json_status(h, err);
    while (status == EMB_OK && embi_json_member(&h->json, &key)) {
        status = embi_st_keys_add(&keys, &key, (uint64_t)place(h, &key), err);
        if (status != EMB_OK || embi_json_next(&h->json, &v) == EMBI_JSON_ERROR)
            break;
        if (v.kind != EMBI_JSON_STRING)
            status = fail_metadata(h, embi_st_keys_get(&keys, keys.n - 1), &v, err);
    }
    if (status == EMB_OK)
        status = json_status(h, err);
    if (status == EMB_OK)
        status = embi_st_keys_differ(&keys, "the key", err);
    embi_st_keys_free(&keys);
    return status;
}

static emb_status read_metadata(struct header *h, const struct embi_json_value *key, emb_err *err)
{
    struct embi_json_value v;
    struct embi_json ahead = h->json; /* to know the span, and null */
    if (h->metadata)
        return embi_fail(err, EMB_BAD_DATA, place(h, key), "__metadata__ is there twice");
    h->metadata = true;
    if (embi_json_skip(&ahead, &v) && v.kind == EMBI_JSON_NULL)
        return EMB_OK; /* the next member skips it */
    emb_status status = read_strings(h, err);
    if (status != EMB_OK)
        return embi_fail_in(err, "__metadata__");
    embi_buf_add(&h->r->metadata, v.s, v.n);
    return h->r->metadata.failed ? embi_fail_memory(err, v.n, "metadata") : EMB_OK;
}

static emb_status read_object(struct header *h, emb_err *err)
{
    struct embi_json_value key;
    emb_status status = EMB_OK;
    embi_json_enter(&h->json, EMBI_JSON_OBJECT);
    while (status == EMB_OK && embi_json_member(&h->json, &key))
        status = embi_json_is(&key, "__metadata__") ? read_metadata(h, &key, err)
                                                    : read_tensor(h, &key, err);
    if (status != EMB_OK)
        return status;
    status = embi_json_finish(&h->json, JSON_AT, err);
    if (status != EMB_OK)
        return embi_fail_in(err, "header");
    status = embi_st_keys_differ(&h->names, "tensor", err);
    return status == EMB_OK ? embi_st_check_spans(h->r, &h->names, h->data_at, h->data_bytes, err)
                            : status;
}

/* The length of the JSON text, checked against the file and the limit. */
static emb_status read_length(const struct embi_reader *r, uint64_t *n, emb_err *err)
{
    unsigned char head[JSON_AT];
    if (r->io->size < JSON_AT)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)r->io->size,
                         "header length: expected 8 bytes, found %" PRIu64, r->io->size);
    emb_status status = embi_io_pread(r->io, head, sizeof head, 0, err);
    if (status != EMB_OK)
        return status;
    *n = embi_le64(head);
    if (*n > EMBI_ST_HEADER_MAX_BYTES)
        return embi_fail(err, EMB_BAD_DATA, 0,
                         "header length: %" PRIu64 " bytes, at most %d are allowed: not a "
                         "safetensors file, or damaged",
                         *n, EMBI_ST_HEADER_MAX_BYTES);
    if (*n > r->io->size - JSON_AT)
        return embi_fail(err, EMB_BAD_DATA, 0, "header: expected %" PRIu64 " bytes, found %" PRIu64,
                         *n, r->io->size - JSON_AT);
    return EMB_OK;
}

static emb_status open_safetensors(struct embi_reader *r, emb_err *err)
{
    struct header h = {.r = r};
    uint64_t n = 0;
    emb_status status = read_length(r, &n, err);
    if (status != EMB_OK)
        return status;
    char *text = malloc((size_t)n + 1); /* [n] */
    if (!text)
        return embi_fail_memory(err, n + 1, "the header");
    status = embi_io_pread(r->io, text, (size_t)n, JSON_AT, err);
    if (status == EMB_OK) {
        h.data_at = JSON_AT + n;
        h.data_bytes = r->io->size - h.data_at;
        embi_json_init(&h.json, text, (size_t)n, 0);
        status = read_object(&h, err);
    }
    embi_st_keys_free(&h.names);
    free(text);
    return status;
}

const struct embi_format embi_format_safetensors = {
    .name = "safetensors",
    .about = "Hugging Face safetensors",
    .exts = " .safetensors ",
    .caps = EMBI_FMT_READ | EMBI_FMT_WRITE | EMBI_FMT_NAMES,
    .probe = probe,
    .open = open_safetensors,
    .check = embi_st_check,
    .begin = embi_st_begin,
    .put = embi_sink_put,
    .end = embi_st_end,
    .beside = embi_beside_vocab,
};
