/* encode_bpe.c - byte-pair encoding: a word is its characters, then the merge of the lowest rank,
 * the leftmost of equal ones, is applied until none applies (Sennrich et al. 2016, section 3.2).
 *
 * What waits is kept in a heap, so a word of n characters takes n log n steps. An entry whose two
 * symbols have changed meanwhile is passed over, unless they still make the same piece.
 */
#include "model/encode_model.h"

#include "util/err.h"
#include "util/utf8.h"

#include <stdlib.h>

enum { NONE = -1 };

struct symbol {
    uint32_t id;
    int32_t before, after; /* NONE: it is the first, the last */
    bool gone;             /* it was merged into the one before it */
};

struct waiting {
    uint32_t rank, id;
    int32_t at;
};

struct word {
    const struct embi_piece_model *model;
    struct symbol *symbols; /* [n] */
    struct waiting *heap;   /* [n_heap], at most three for each symbol */
    size_t n_heap;
};

/* ------------------------------------------------------------------------------------------------
 * The heap
 */

static bool is_before(const struct waiting *a, const struct waiting *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void swap(struct waiting *a, struct waiting *b)
{
    struct waiting kept = *a;
    *a = *b;
    *b = kept;
}

static void push(struct word *w, struct waiting item)
{
    size_t i = w->n_heap++;
    w->heap[i] = item;
    for (; i > 0 && is_before(&w->heap[i], &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&w->heap[i], &w->heap[(i - 1) / 2]);
}

static struct waiting pop(struct word *w)
{
    struct waiting top = w->heap[0];
    w->heap[0] = w->heap[--w->n_heap];
    for (size_t i = 0, child; (child = 2 * i + 1) < w->n_heap; i = child) {
        if (child + 1 < w->n_heap && is_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!is_before(&w->heap[child], &w->heap[i]))
            break;
        swap(&w->heap[child], &w->heap[i]);
    }
    return top;
}

/* ------------------------------------------------------------------------------------------------
 * Merging
 */

static const struct embi_merge *merge_at(const struct word *w, int32_t at)
{
    int32_t after = w->symbols[at].after;
    return after == NONE
               ? NULL
               : embi_merges_find(&w->model->merges, w->symbols[at].id, w->symbols[after].id);
}

/* If the symbol and the one after it make a piece, that waits. */
static void consider(struct word *w, int32_t at)
{
    const struct embi_merge *merge = at == NONE ? NULL : merge_at(w, at);
    if (merge)
        push(w, (struct waiting){merge->rank, merge->id, at});
}

static void merge_all(struct word *w)
{
    while (w->n_heap) {
        struct waiting top = pop(w);
        struct symbol *left = &w->symbols[top.at];
        const struct embi_merge *merge = left->gone ? NULL : merge_at(w, top.at);
        if (!merge || merge->id != top.id)
            continue;
        struct symbol *right = &w->symbols[left->after];
        right->gone = true;
        left->id = top.id;
        left->after = right->after;
        if (left->after != NONE)
            w->symbols[left->after].before = top.at;
        consider(w, left->before);
        consider(w, top.at);
    }
}

static emb_status merge_ids(const struct embi_piece_model *model, const struct embi_ids *chars,
                            struct embi_ids *ids, emb_err *err)
{
    size_t n = chars->n;
    struct word w = {model, calloc(n, sizeof *w.symbols), calloc(3 * n, sizeof *w.heap), 0};
    if (!w.symbols || !w.heap) {
        free(w.symbols);
        free(w.heap);
        return embi_fail_memory(err, n * sizeof *w.symbols, "a word");
    }
    for (size_t i = 0; i < n; i++)
        w.symbols[i] =
            (struct symbol){chars->v[i], (int32_t)i - 1, i + 1 < n ? (int32_t)i + 1 : NONE, false};
    for (size_t i = 0; i + 1 < n; i++)
        consider(&w, (int32_t)i);
    merge_all(&w);
    for (int32_t at = 0; at != NONE; at = w.symbols[at].after)
        embi_ids_add(ids, w.symbols[at].id);
    free(w.symbols);
    free(w.heap);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Characters
 */

/* What is unknown waits until it is known whether more of it follows. */
struct spelling {
    const struct embi_piece_model *model;
    struct embi_buf piece; /* one character with its marks */
    struct embi_ids ids;
    bool unknown;
};

static void end_unknown(struct spelling *x)
{
    if (x->unknown)
        embi_ids_add(&x->ids, x->model->unknown);
    x->unknown = false;
}

static emb_status add_char(struct spelling *x, const char *s, size_t n, bool first, bool last,
                           emb_err *err)
{
    const struct embi_piece_model *m = x->model;
    x->piece.n = 0;
    if (!first)
        embi_buf_add(&x->piece, m->prefix.s, m->prefix.n);
    embi_buf_add(&x->piece, s, n);
    if (last)
        embi_buf_add(&x->piece, m->suffix.s, m->suffix.n);
    if (x->piece.failed)
        return embi_fail_memory(err, n, "a word");
    uint64_t at = embi_piece_find(m, x->piece.s, x->piece.n);
    if (at != EMBI_MAP_NONE) {
        end_unknown(x);
        embi_ids_add(&x->ids, m->ids[at]);
        return EMB_OK;
    }
    /* as in the reference library, these come before what is unknown and waits */
    if (m->byte_fallback && embi_piece_bytes(m, x->piece.s, x->piece.n, &x->ids))
        return EMB_OK;
    if (!m->has_unknown)
        return m->drops_unknown ? EMB_OK : embi_fail_unknown(err, s, n);
    if (!m->fuse_unknown)
        end_unknown(x);
    x->unknown = true;
    return EMB_OK;
}

static emb_status spell(struct spelling *x, const char *s, size_t n, emb_err *err)
{
    emb_status status = EMB_OK;
    uint32_t c;
    for (size_t at = 0, bytes; !status && at < n; at += bytes) {
        bytes = (size_t)abs(embi_utf8_decode(s + at, n - at, &c));
        status = add_char(x, s + at, bytes, at == 0, at + bytes == n, err);
    }
    end_unknown(x);
    return !status && x->ids.failed ? embi_fail_memory(err, n, "a word") : status;
}

emb_status embi_bpe_split(const struct embi_piece_model *model, const char *s, size_t n,
                          struct embi_ids *ids, emb_err *err)
{
    struct spelling x = {.model = model};
    uint64_t whole = model->ignore_merges ? embi_piece_find(model, s, n) : EMBI_MAP_NONE;
    if (whole != EMBI_MAP_NONE) {
        embi_ids_add(ids, model->ids[whole]);
        return EMB_OK;
    }
    emb_status status = spell(&x, s, n, err);
    if (!status && x.ids.n)
        status = merge_ids(model, &x.ids, ids, err);
    embi_ids_free(&x.ids);
    embi_buf_free(&x.piece);
    return status;
}
