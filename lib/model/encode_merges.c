/* encode_merges.c - "merges" of a BPE: which two pieces that follow each other become one, and in
 * which order. Of a pair that is there twice the last counts, as for the reference library.
 *
 * A merge is "left right", or ["left", "right"] where a piece may hold a blank. What it makes is
 * both in one, without the mark of a continuation that the right one begins with.
 */
#include "model/encode_model.h"

#include "util/err.h"
#include "util/large.h"

#include <inttypes.h>
#include <stdlib.h>

enum { FEWEST_SLOTS = 16 };

static uint64_t hash_of(uint32_t left, uint32_t right)
{
    uint64_t x = ((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15);
    return x ^ x >> 32;
}

static struct embi_merge *slot_of(const struct embi_merges *merges, uint32_t left, uint32_t right)
{
    uint64_t i = hash_of(left, right) & merges->mask;
    while (merges->slots[i].id != EMBI_NO_PIECE &&
           (merges->slots[i].left != left || merges->slots[i].right != right))
        i = (i + 1) & merges->mask;
    return &merges->slots[i];
}

const struct embi_merge *embi_merges_find(const struct embi_merges *merges, uint32_t left,
                                          uint32_t right)
{
    const struct embi_merge *slot = merges->slots ? slot_of(merges, left, right) : NULL;
    return slot && slot->id != EMBI_NO_PIECE ? slot : NULL;
}

/* Room for n merges, at most half of the slots. */
static emb_status make_room(struct embi_merges *merges, uint64_t n, emb_err *err)
{
    uint64_t slots = FEWEST_SLOTS;
    while (slots < 2 * n)
        slots *= 2;
    merges->slots = embi_large_alloc(slots * sizeof *merges->slots);
    if (!merges->slots)
        return embi_fail_memory(err, slots * sizeof *merges->slots, "merges");
    memset(merges->slots, 0xFF, slots * sizeof *merges->slots); /* all empty */
    merges->mask = slots - 1;
    return EMB_OK;
}

struct reading {
    struct embi_piece_model *model;
    struct embi_buf pair;   /* the pieces of one merge, one behind the other */
    struct embi_buf joined; /* what they become */
    uint32_t rank;
};

static emb_status fail_piece(const struct reading *r, emb_str piece, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_DATA, r->rank, "merge %" PRIu32 ": '%s' is no piece", r->rank,
                     embi_show(shown, piece));
}

static emb_status add(struct reading *r, emb_str left, emb_str right, emb_err *err)
{
    const struct embi_piece_model *m = r->model;
    if (right.n < m->prefix.n)
        return fail_piece(r, right, err);
    r->joined.n = 0;
    embi_buf_add(&r->joined, left.s, left.n);
    embi_buf_add(&r->joined, right.s + m->prefix.n, right.n - m->prefix.n);
    if (r->joined.failed)
        return embi_fail_memory(err, left.n + right.n, "merges");
    emb_str joined = {embi_buf_cstr(&r->joined), r->joined.n};
    uint64_t a = embi_piece_find(m, left.s, left.n), b = embi_piece_find(m, right.s, right.n);
    uint64_t c = embi_piece_find(m, joined.s, joined.n);
    if (a == EMBI_MAP_NONE || b == EMBI_MAP_NONE || c == EMBI_MAP_NONE)
        return fail_piece(r, a == EMBI_MAP_NONE ? left : b == EMBI_MAP_NONE ? right : joined, err);
    struct embi_merge *slot = slot_of(&r->model->merges, m->ids[a], m->ids[b]);
    *slot = (struct embi_merge){m->ids[a], m->ids[b], r->rank++, m->ids[c]};
    return EMB_OK;
}

static emb_status fail_form(const struct reading *r, emb_err *err)
{
    return embi_fail(err, EMB_BAD_DATA, r->rank, "merge %" PRIu32 ": expected two pieces", r->rank);
}

/* "left right": one blank. */
static emb_status read_string(struct reading *r, const struct embi_json_value *v, emb_err *err)
{
    r->pair.n = 0;
    embi_json_string(v, &r->pair);
    if (r->pair.failed)
        return embi_fail_memory(err, v->n, "merges");
    emb_str all = {embi_buf_cstr(&r->pair), r->pair.n};
    const char *blank = memchr(all.s, ' ', all.n);
    size_t n = blank ? (size_t)(blank - all.s) : 0;
    if (!blank || memchr(blank + 1, ' ', all.n - n - 1))
        return fail_form(r, err);
    return add(r, (emb_str){all.s, n}, (emb_str){blank + 1, all.n - n - 1}, err);
}

/* ["left", "right"] */
static emb_status read_pair(struct reading *r, struct embi_json *j, emb_err *err)
{
    struct embi_json_value v;
    size_t ends[2];
    r->pair.n = 0;
    embi_json_enter(j, EMBI_JSON_ARRAY);
    for (size_t i = 0; i < 2; i++) {
        if (!embi_json_item(j) || embi_json_next(j, &v) != EMBI_JSON_STRING)
            return fail_form(r, err);
        embi_json_string(&v, &r->pair);
        ends[i] = r->pair.n;
    }
    if (embi_json_item(j))
        return fail_form(r, err);
    const char *s = embi_buf_cstr(&r->pair);
    if (r->pair.failed)
        return embi_fail_memory(err, ends[1], "merges");
    return add(r, (emb_str){s, ends[0]}, (emb_str){s + ends[0], ends[1] - ends[0]}, err);
}

/* What old files have before their first merge. */
static bool is_version(const struct embi_json_value *v)
{
    static const char version[] = "\"#version";
    return v->n >= sizeof version && memcmp(v->s, version, sizeof version - 1) == 0;
}

static emb_status read_all(struct reading *r, const struct embi_json_value *list, emb_err *err)
{
    struct embi_json j;
    struct embi_json_value v;
    emb_status status = EMB_OK;
    embi_json_init(&j, list->s, list->n, 0);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (!status && embi_json_item(&j)) {
        struct embi_json here = j;
        enum embi_json_kind kind = embi_json_next(&here, &v);
        if (kind == EMBI_JSON_ARRAY) {
            status = read_pair(r, &j, err);
            continue;
        }
        j = here;
        if (kind != EMBI_JSON_STRING)
            return fail_form(r, err);
        if (!is_version(&v))
            status = read_string(r, &v, err);
    }
    return status;
}

static uint64_t count_items(const struct embi_json_value *list)
{
    struct embi_json j;
    uint64_t n = 0;
    embi_json_init(&j, list->s, list->n, 0);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (embi_json_item(&j)) {
        embi_json_skip(&j, NULL);
        n++;
    }
    return n;
}

emb_status embi_merges_read(const struct embi_json_value *value, struct embi_piece_model *model,
                            emb_err *err)
{
    struct reading r = {.model = model};
    if (value->kind != EMBI_JSON_ARRAY)
        return embi_fail(err, EMB_BAD_DATA, -1, "\"merges\": expected an array");
    emb_status status = make_room(&model->merges, count_items(value), err);
    if (!status)
        status = read_all(&r, value, err);
    embi_buf_free(&r.pair);
    embi_buf_free(&r.joined);
    return status;
}
