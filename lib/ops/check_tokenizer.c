/* check_tokenizer.c - the ids of a tokenizer beside the rows of the embedding, and its files beside
 * each other (docs/formats/model.md, "what has to agree").
 */
#include "ops/check_model.h"

#include "model/token_sources.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

/* Rows that ids may have: static embeddings may store fewer, with a tensor that maps ids to
 * rows. */
static emb_status rows_for_ids(struct embi_checking *c, uint64_t *rows, emb_err *err)
{
    const struct embi_tensor *t;
    struct embi_weights *w = &c->model->weights;
    size_t mapping = embi_weights_find(w, (emb_str){"mapping", 7});
    *rows = c->rows;
    if (mapping == EMBI_NO_TENSOR || c->model->config.type[0])
        return EMB_OK;
    emb_status status = embi_weights_read(w, mapping, &t, err);
    if (!status && t->ndim == 1)
        *rows = t->shape[0];
    return status;
}

static emb_status check_largest_id(struct embi_checking *c, emb_err *err)
{
    const struct embi_tokenizer *t = &c->tokenizer;
    char shown[EMBI_SHOW_MAX];
    uint64_t rows;
    emb_status status = rows_for_ids(c, &rows, err);
    if (!status && t->n > rows)
        embi_check_say(c, "tokenizer", embi_check_mend_rows(c, EMBI_MEND),
                       "the token '%s' has the id %" PRIu64 ", the embedding %s has %" PRIu64
                       " rows",
                       embi_show(shown, t->tokens[t->n - 1]), t->n - 1, c->name, rows);
    return status;
}

/* Files that give a token different ids, and ids that loaders would give otherwise. */
static emb_status check_sources(struct embi_checking *c, emb_err *err)
{
    struct embi_token_sources sources;
    emb_status status =
        embi_token_sources_open(c->env, c->model->dir, &c->tokenizer, &sources, err);
    if (status == EMB_BAD_DATA) {
        embi_check_say(c, "tokenizer", NULL, "%s", err->msg);
        c->tokens_stay = true;
        return EMB_OK;
    }
    if (status)
        return status;
    if (sources.gap[0])
        embi_check_say(c, "tokenizer",
                       sources.unfillable ? NULL : embi_check_mend_rows(c, "--force " EMBI_MEND),
                       "%s", sources.gap);
    embi_token_sources_free(&sources);
    return EMB_OK;
}

/* Ids with two tokens, of which every loader keeps one, not all the same. */
static void check_conflict(struct embi_checking *c)
{
    const struct embi_token_conflict *x = &c->tokenizer.conflict;
    char kept[EMBI_SHOW_MAX], other[EMBI_SHOW_MAX], more[48] = "";
    if (x->n == 0)
        return;
    if (x->n > 1)
        (void)snprintf(more, sizeof more, ", and %" PRIu64 " more", x->n - 1);
    embi_check_say(c, "tokenizer", NULL, "id %" PRIu64 " has two tokens, '%s' and '%s'%s", x->id,
                   embi_show(kept, x->kept), embi_show(other, x->other), more);
}

emb_status embi_check_tokenizer(struct embi_checking *c, emb_err *err)
{
    emb_status status =
        embi_tokenizer_open_dir(c->env, c->model->dir, &c->tokenizer, &c->has_tokenizer, err);
    if (status || !c->has_tokenizer)
        return status;
    c->check->tokens = c->tokenizer.n;
    status = check_largest_id(c, err);
    check_conflict(c);
    if (!status)
        status = check_sources(c, err);
    return status ? status : embi_check_vocabularies(c, err);
}
