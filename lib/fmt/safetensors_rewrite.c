/* safetensors_rewrite.c - a safetensors file in which tables have other numbers of rows.
 *
 * The header is edited by splicing: one number of each table's shape and the offsets that move
 * change, every other byte stays, in its order; blanks at the end make the data begin at a multiple
 * of 8. Other tensors keep their bytes and their order. Bytes after the last tensor are not written
 * again. Specification: the "Format" section of the safetensors documentation.
 */
#include "fmt/rewrite.h"
#include "fmt/safetensors.h"

#include "util/err.h"

#include <inttypes.h>

enum { LENGTH_BYTES = 8 };

/* The walk over the header's text, which was checked when the file was opened. */
struct splice {
    const struct embi_rewrite *w;
    struct embi_json json;
    const char *copied; /* text before it is in `out` */
    struct embi_buf *out;
    uint64_t data; /* where the data begin in the old file */
};

enum { NO_PART = -1 };

/* What the parts before `part` (NO_PART: all) that end at or before byte `off` of the data grow by,
 * modulo 2^64. */
static uint64_t growth_before(const struct splice *s, uint64_t off, int part)
{
    uint64_t growth = 0;
    size_t n = part == NO_PART ? s->w->n_parts : (size_t)part;
    for (size_t i = 0; i < n; i++) {
        const struct embi_rewrite_part *p = &s->w->parts[i];
        if (embi_part_end(p) - s->data <= off)
            growth += p->length * p->entry_bytes - p->table->bytes;
    }
    return growth;
}

/* Puts x in place of the number v. */
static void put_number(struct splice *s, const struct embi_json_value *v, uint64_t x)
{
    embi_buf_add(s->out, s->copied, (size_t)(v->s - s->copied));
    embi_buf_print(s->out, "%" PRIu64, x);
    s->copied = v->s + v->n;
}

/* The next item of an array, a number. */
static bool next_number(struct splice *s, struct embi_json_value *v, uint64_t *x)
{
    if (!embi_json_item(&s->json))
        return false;
    embi_json_next(&s->json, v);
    if (embi_json_u64(v, x))
        return true;
    embi_json_reject(&s->json, v, "an unsigned integer");
    return false;
}

static void edit_shape(struct splice *s, const struct embi_rewrite_part *part)
{
    struct embi_json_value v;
    uint64_t old;
    embi_json_enter(&s->json, EMBI_JSON_ARRAY);
    for (int axis = 0; axis <= part->axis && next_number(s, &v, &old); axis++)
        if (axis == part->axis)
            put_number(s, &v, part->length);
    embi_json_leave(&s->json);
}

/* Offsets behind a table move by what it grew; its own end does. */
static void edit_offsets(struct splice *s, int part)
{
    struct embi_json_value v[2];
    uint64_t begin, end;
    embi_json_enter(&s->json, EMBI_JSON_ARRAY);
    if (next_number(s, &v[0], &begin) && next_number(s, &v[1], &end)) {
        uint64_t to = begin + growth_before(s, begin, part), bytes = end - begin;
        if (part != NO_PART)
            bytes = s->w->parts[part].length * s->w->parts[part].entry_bytes;
        put_number(s, &v[0], to);
        put_number(s, &v[1], to + bytes);
    }
    embi_json_leave(&s->json);
}

static void edit_tensor(struct splice *s, int part)
{
    struct embi_json_value key;
    embi_json_enter(&s->json, EMBI_JSON_OBJECT);
    while (embi_json_member(&s->json, &key)) {
        if (part != NO_PART && embi_json_is(&key, "shape"))
            edit_shape(s, &s->w->parts[part]);
        else if (embi_json_is(&key, "data_offsets"))
            edit_offsets(s, part);
    }
}

/* *part = the one of that name, or NO_PART. */
static emb_status find_part(const struct splice *s, const struct embi_json_value *key,
                            struct embi_buf *scratch, int *part, emb_err *err)
{
    *part = NO_PART;
    scratch->n = 0;
    embi_json_string(key, scratch);
    if (scratch->failed)
        return embi_fail_memory(err, key->n, "a tensor's name");
    for (size_t i = 0; *part == NO_PART && i < s->w->n_parts; i++)
        if (embi_str_equal((emb_str){scratch->s, scratch->n}, s->w->parts[i].table->name))
            *part = (int)i;
    return EMB_OK;
}

static emb_status edit_object(struct splice *s, emb_err *err)
{
    struct embi_buf name = {0};
    struct embi_json_value key;
    emb_status status = EMB_OK;
    embi_json_enter(&s->json, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&s->json, &key)) {
        int part;
        if (embi_json_is(&key, "__metadata__"))
            continue;
        status = find_part(s, &key, &name, &part, err);
        if (!status)
            edit_tensor(s, part);
    }
    embi_buf_free(&name);
    return status ? status : embi_json_finish(&s->json, LENGTH_BYTES, err);
}

/* Blanks behind the object go, and as many come as alignment needs. */
static emb_status end_header(struct embi_buf *out, emb_err *err)
{
    while (out->n > LENGTH_BYTES && strchr(" \t\r\n", out->s[out->n - 1]))
        out->n--;
    embi_buf_fill(out, ' ', (out->n + 7) / 8 * 8 - out->n);
    if (out->failed)
        return embi_fail_memory(err, out->n, "the header");
    uint64_t json_bytes = out->n - LENGTH_BYTES;
    if (json_bytes > EMBI_ST_HEADER_MAX_BYTES)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "a header of %" PRIu64 " bytes; safetensors allows %d", json_bytes,
                         EMBI_ST_HEADER_MAX_BYTES);
    memcpy(out->s, &json_bytes, sizeof json_bytes);
    return EMB_OK;
}

static emb_status begin(struct embi_rewrite *w, emb_err *err)
{
    const uint64_t data = LENGTH_BYTES + embi_le64(w->file);
    const char *text = (const char *)w->file + LENGTH_BYTES;
    struct splice s = {.w = w, .copied = text, .out = &w->sink.buf, .data = data};
    embi_buf_fill(s.out, '\0', LENGTH_BYTES);
    embi_json_init(&s.json, text, (size_t)(data - LENGTH_BYTES), 0);
    emb_status status = edit_object(&s, err);
    if (status)
        return status;
    embi_buf_add(s.out, s.copied, (size_t)(text + (data - LENGTH_BYTES) - s.copied));
    status = end_header(s.out, err);
    if (!status)
        status = embi_sink_append_buf(&w->sink, err);
    return status ? status : embi_rewrite_copy(w, data, w->parts[0].table->offset - data, err);
}

/* Where the last tensor ends. */
static uint64_t data_end(const struct embi_reader *r)
{
    uint64_t end = 0;
    for (size_t i = 0; i < r->n_tensors; i++)
        end = embi_max(end, r->tensors[i].offset + r->tensors[i].bytes);
    return end;
}

static emb_status end(struct embi_rewrite *w, emb_err *err)
{
    uint64_t at = embi_part_end(&w->parts[w->current]);
    return embi_rewrite_copy(w, at, data_end(w->r) - at, err);
}

const struct embi_rewriter embi_rewriter_safetensors = {&embi_format_safetensors, begin, NULL, end};
