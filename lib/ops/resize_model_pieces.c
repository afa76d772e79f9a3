/* resize_model_pieces.c - what new rows of a model are made of where a token's row is the mean of
 * the pieces that its text was split into before (EMB_FILL_PIECES).
 *
 * The tokenizer is the model's own, before it learns of any new token. A token of the tokenizer
 * whose id lies past the end of the table has no row either, and is split like a new one.
 */
#include "model/encode.h"
#include "ops/resize_model.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

/* Each piece has a row, as the table and its vocabulary are at odds otherwise. */
static emb_status check_rows(const emb_model_resize *r, emb_str token, const struct embi_ids *ids,
                             emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    if (ids->n == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "'%s' is split into nothing, so there are no rows to make its row of",
                         embi_show(shown, token));
    for (size_t i = 0; i < ids->n; i++)
        if (ids->v[i] >= r->rows.old_rows)
            return embi_fail(err, EMB_UNSUPPORTED, -1,
                             "'%s' has the piece %" PRIu32 ", but the table %" PRIu64 " rows",
                             embi_show(shown, token), ids->v[i], r->rows.old_rows);
    return EMB_OK;
}

static emb_status warn_of_unknown(emb_model_resize *r, const struct embi_encoder *e, emb_str token,
                                  const struct embi_ids *ids, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    uint32_t unknown;
    size_t n = 0;
    while (embi_encoder_unknown(e, &unknown) && n < ids->n && ids->v[n] == unknown)
        n++;
    if (n < ids->n)
        return EMB_OK;
    return embi_model_resize_warn(r, err,
                                  "'%s' is unknown to the tokenizer as a whole: its row is that of "
                                  "the unknown token",
                                  embi_show(shown, token));
}

/* Appends the rows of the next new row. */
static emb_status add(struct embi_made_of *m, const struct embi_ids *ids, emb_err *err)
{
    size_t before = m->n ? m->ends[m->n - 1] : 0, end = before + ids->n;
    if (end > m->cap) {
        size_t cap = (size_t)embi_max(end, 2 * m->cap);
        uint64_t *rows = realloc(m->rows, cap * sizeof *rows);
        if (!rows)
            return embi_fail_memory(err, cap * sizeof *rows, "pieces");
        m->rows = rows;
        m->cap = cap;
    }
    for (size_t i = 0; i < ids->n; i++)
        m->rows[before + i] = ids->v[i];
    m->ends[m->n++] = end;
    m->any_without = m->any_without || ids->n == 0;
    return EMB_OK;
}

static emb_status split(emb_model_resize *r, const struct embi_encoder *e, uint64_t row,
                        emb_err *err)
{
    struct embi_ids ids = {0};
    emb_str token = row < r->rows.n_tokens ? r->rows.tokens[row] : (emb_str){NULL, 0};
    emb_status status = EMB_OK;
    if (token.s) {
        char shown[EMBI_SHOW_MAX];
        status = embi_encode(e, token, &ids, err);
        if (status)
            embi_fail_in(err, "'%s'", embi_show(shown, token));
        if (!status)
            status = check_rows(r, token, &ids, err);
        if (!status)
            status = warn_of_unknown(r, e, token, &ids, err);
    }
    if (!status)
        status = add(&r->made_of, &ids, err);
    embi_ids_free(&ids);
    return status;
}

static emb_status split_all(emb_model_resize *r, const struct embi_encoder *e, emb_err *err)
{
    emb_status status = EMB_OK;
    uint64_t row = 0;
    r->made_of.ends = calloc(r->rows.new_rows + 1, sizeof *r->made_of.ends);
    if (!r->made_of.ends)
        return embi_fail_memory(err, r->rows.new_rows * sizeof *r->made_of.ends, "pieces");
    for (size_t i = 0; !status && i < r->rows.n_runs; row += r->rows.runs[i++].rows)
        for (uint64_t k = 0;
             r->rows.runs[i].source == EMB_ROW_NEW && !status && k < r->rows.runs[i].rows; k++)
            status = split(r, e, row + k, err);
    return status;
}

/* The number among the new rows of a row that is new. */
static uint64_t number_of(const emb_resize *plan, uint64_t row)
{
    uint64_t nth = 0, at = 0;
    for (size_t i = 0; i < plan->n_runs && at + plan->runs[i].rows <= row;
         at += plan->runs[i++].rows)
        nth += plan->runs[i].source == EMB_ROW_NEW ? plan->runs[i].rows : 0;
    return nth + (row - at);
}

static emb_status say_pieces(emb_model_resize *r, emb_err *err)
{
    const struct embi_made_of *m = &r->made_of;
    r->pieces = calloc(r->rows.n_added + 1, sizeof *r->pieces);
    if (!r->pieces)
        return embi_fail_memory(err, r->rows.n_added * sizeof *r->pieces, "a plan");
    for (size_t i = 0; i < r->rows.n_added; i++) {
        if (r->rows.added[i].present)
            continue;
        uint64_t nth = number_of(&r->rows, r->rows.added[i].row);
        size_t begin = nth ? m->ends[nth - 1] : 0;
        r->pieces[i] = (emb_token_pieces){m->rows + begin, m->ends[nth] - begin};
    }
    return EMB_OK;
}

emb_status embi_model_resize_split(emb_model_resize *r, emb_err *err)
{
    struct embi_encoder *e = NULL;
    if (r->o.fill != EMB_FILL_PIECES || r->rows.new_rows == 0)
        return EMB_OK;
    if (!r->m->tokenizer_found)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "no tokenizer was found in the directory, so no text can be split");
    emb_status status =
        embi_encoder_open(&r->quiet.env, r->m->dir, &r->m->tokenizer, r->rows.old_rows, &e, err);
    if (!status)
        status = split_all(r, e, err);
    if (!status)
        status = say_pieces(r, err);
    embi_encoder_free(e);
    return status;
}
