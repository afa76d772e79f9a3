/* gguf_values.c - the key-value part of a GGUF file.
 *
 * Each value is passed over and its place noted. Arrays of strings have no length in bytes: they
 * are walked along, which takes about a millisecond for 250,000 tokens. What ggml refuses is
 * refused here: empty keys, keys that are there twice, arrays in arrays.
 */
#include "fmt/gguf_read.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ELEMENTS_MAX = 1 << 30, /* as in ggml                                                      */
    WALKED_BYTES = 1 << 24  /* along an array, after which they need not stay in memory        */
};

static const struct {
    const char *name;
    uint8_t bytes; /* 0: varies */
} kinds[EMBI_GGUF_KINDS] = {
    [EMBI_GGUF_U8] = {"u8", 1},         [EMBI_GGUF_I8] = {"i8", 1},
    [EMBI_GGUF_U16] = {"u16", 2},       [EMBI_GGUF_I16] = {"i16", 2},
    [EMBI_GGUF_U32] = {"u32", 4},       [EMBI_GGUF_I32] = {"i32", 4},
    [EMBI_GGUF_F32] = {"f32", 4},       [EMBI_GGUF_BOOL] = {"bool", 1},
    [EMBI_GGUF_STRING] = {"string", 0}, [EMBI_GGUF_ARRAY] = {"array", 0},
    [EMBI_GGUF_U64] = {"u64", 8},       [EMBI_GGUF_I64] = {"i64", 8},
    [EMBI_GGUF_F64] = {"f64", 8},
};

const char *embi_gguf_kind_name(enum embi_gguf_kind kind)
{
    return kinds[kind].name;
}

unsigned embi_gguf_kind_bytes(enum embi_gguf_kind kind)
{
    return kinds[kind].bytes;
}

/* ------------------------------------------------------------------------------------------------
 * Passing over
 */

static emb_status read_kind(struct embi_gguf_place *p, const char *what, enum embi_gguf_kind *kind,
                            emb_err *err)
{
    uint32_t number, known = p->version > 1 ? EMBI_GGUF_KINDS : EMBI_GGUF_U64;
    int64_t at = (int64_t)p->at;
    emb_status status = embi_gguf_u32(p, what, &number, err);
    if (!status && number >= known)
        return embi_fail(err, EMB_BAD_DATA, at, "%s: expected 0 to %" PRIu32 ", found %" PRIu32,
                         what, known - 1, number);
    if (!status)
        *kind = (enum embi_gguf_kind)number;
    return status;
}

static emb_status skip_strings(struct embi_gguf_place *p, uint64_t n, emb_err *err)
{
    emb_str text;
    emb_status status = EMB_OK;
    if (n > EMBI_GGUF_STRINGS_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, (int64_t)p->at,
                         "an array of %" PRIu64 " strings; more than %d are not believed", n,
                         EMBI_GGUF_STRINGS_MAX);
    for (uint64_t i = 0, from = p->at; !status && i < n; i++) {
        status = embi_gguf_text(p, "a string", &text, err);
        if (p->at - from < WALKED_BYTES)
            continue;
        embi_io_forget(p->io, from, p->at - from);
        from = p->at;
    }
    return status;
}

static emb_status skip_array(struct embi_gguf_place *p, struct embi_gguf_value *v, emb_err *err)
{
    uint64_t bytes;
    emb_status status = read_kind(p, "type of an array's elements", &v->element, err);
    if (!status && v->element == EMBI_GGUF_ARRAY)
        return embi_fail(err, EMB_UNSUPPORTED, (int64_t)p->at, "an array of arrays: not read");
    if (!status)
        status = embi_gguf_length(p, "length of an array", &v->n, err);
    if (!status && v->n > ELEMENTS_MAX)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)p->at,
                         "an array of %" PRIu64 " elements, at most %d are allowed", v->n,
                         ELEMENTS_MAX);
    if (status)
        return status;
    v->at = p->at;
    bytes = kinds[v->element].bytes;
    return bytes ? embi_gguf_skip(p, "an array", v->n * bytes, err) : skip_strings(p, v->n, err);
}

static emb_status skip_string(struct embi_gguf_place *p, struct embi_gguf_value *v, emb_err *err)
{
    emb_str text;
    emb_status status = embi_gguf_text(p, "a string", &text, err);
    if (status)
        return status;
    v->n = text.n;
    v->at = p->at - text.n;
    return EMB_OK;
}

static emb_status skip_value(struct embi_gguf_place *p, struct embi_gguf_value *v, emb_err *err)
{
    emb_status status = read_kind(p, "type", &v->kind, err);
    if (status)
        return status;
    if (v->kind == EMBI_GGUF_ARRAY)
        return skip_array(p, v, err);
    if (v->kind == EMBI_GGUF_STRING)
        return skip_string(p, v, err);
    v->n = 1;
    v->at = p->at;
    status = embi_gguf_skip(p, kinds[v->kind].name, kinds[v->kind].bytes, err);
    return status ? status : embi_gguf_need(p, err);
}

/* ------------------------------------------------------------------------------------------------
 * The list
 */

static emb_status more_values(struct embi_gguf *g, emb_err *err)
{
    if (g->n < g->capacity)
        return EMB_OK;
    size_t capacity = g->capacity ? 2 * g->capacity : 64;
    struct embi_gguf_value *values = realloc(g->values, capacity * sizeof *values);
    if (!values)
        return embi_fail_memory(err, capacity * sizeof *values, "the list of keys");
    g->values = values;
    g->capacity = capacity;
    return EMB_OK;
}

static emb_status read_value(struct embi_gguf *g, emb_err *err)
{
    struct embi_gguf_value v = {0};
    char what[32], shown[EMBI_SHOW_MAX];
    int64_t at = (int64_t)g->place.at;
    emb_status status = more_values(g, err);
    if (status)
        return status;
    (void)snprintf(what, sizeof what, "key %zu", g->n + 1);
    status = embi_gguf_text(&g->place, what, &v.key, err);
    if (!status && v.key.n == 0)
        return embi_fail(err, EMB_BAD_DATA, at, "%s is empty", what);
    if (status)
        return status;
    status = skip_value(&g->place, &v, err);
    if (status)
        return embi_fail_in(err, "key '%s'", embi_show(shown, v.key));
    g->values[g->n++] = v;
    return EMB_OK;
}

static emb_status check_keys(const struct embi_gguf *g, emb_err *err)
{
    emb_str *keys = calloc(g->n + 1, sizeof *keys);
    if (!keys)
        return embi_fail_memory(err, g->n * sizeof *keys, "the list of keys");
    for (size_t i = 0; i < g->n; i++)
        keys[i] = g->values[i].key;
    emb_status status = embi_gguf_differ(keys, g->n, "key", err);
    free(keys);
    return status;
}

emb_status embi_gguf_read_values(struct embi_gguf *g, uint64_t n, emb_err *err)
{
    uint64_t length = g->place.version > 1 ? sizeof(uint64_t) : sizeof(uint32_t);
    /* a key of one byte, the number of a type, a value of one byte */
    emb_status status =
        embi_gguf_believe(&g->place, "kv_count", n, length + 1 + sizeof(uint32_t) + 1, err);
    for (uint64_t i = 0; !status && i < n; i++)
        status = read_value(g, err);
    return status ? status : check_keys(g, err);
}

/* ------------------------------------------------------------------------------------------------
 * Asking for values
 */

static const struct embi_gguf *state(const struct embi_reader *r)
{
    return r->state;
}

const struct embi_gguf_value *embi_gguf_find(const struct embi_reader *r, const char *key)
{
    const struct embi_gguf *g = state(r);
    for (size_t i = 0; i < g->n; i++)
        if (embi_str_is(g->values[i].key, key))
            return &g->values[i];
    return NULL;
}

static bool is_signed(enum embi_gguf_kind kind)
{
    return kind == EMBI_GGUF_I8 || kind == EMBI_GGUF_I16 || kind == EMBI_GGUF_I32 ||
           kind == EMBI_GGUF_I64;
}

static bool is_unsigned(enum embi_gguf_kind kind)
{
    return kind == EMBI_GGUF_U8 || kind == EMBI_GGUF_U16 || kind == EMBI_GGUF_U32 ||
           kind == EMBI_GGUF_U64;
}

bool embi_gguf_number(const struct embi_reader *r, const struct embi_gguf_value *v, uint64_t *x)
{
    const struct embi_gguf_place *p = &state(r)->place;
    if (!v || (!is_signed(v->kind) && !is_unsigned(v->kind)))
        return false;
    unsigned n = kinds[v->kind].bytes;
    uint64_t highest = v->at + (p->swap ? 0 : n - 1);
    *x = 0;
    for (unsigned i = 0; i < n; i++) /* the highest byte first */
        *x = *x << 8 | p->file[p->swap ? highest + i : highest - i];
    return is_unsigned(v->kind) || !(p->file[highest] & 0x80);
}

emb_str embi_gguf_string(const struct embi_reader *r, const struct embi_gguf_value *v)
{
    if (!v || v->kind != EMBI_GGUF_STRING)
        return (emb_str){NULL, 0};
    return (emb_str){(const char *)state(r)->place.file + v->at, (size_t)v->n};
}

emb_status embi_gguf_strings(const struct embi_reader *r, const struct embi_gguf_value *v,
                             emb_str *out, emb_err *err)
{
    struct embi_gguf_place p = state(r)->place;
    emb_status status = EMB_OK;
    p.at = v->at;
    for (uint64_t i = 0; !status && i < v->n; i++)
        status = embi_gguf_text(&p, "a string", &out[i], err);
    return status;
}
