/* resize_model_text.c - the small files of a model in step with its tables: tokens, names and roles
 * in the tokenizer's files, sizes in config.json and in the index of shards.
 *
 * All edits are made in memory before anything is written; what they are is
 * model/tokenizer_edit.h's and model/config_edit.h's to say.
 */
#include "ops/resize_model.h"

#include "model/config_edit.h"
#include "model/positions.h"
#include "model/sidecar.h"
#include "util/err.h"

#include <stdlib.h>

static const char index_name[] = "model.safetensors.index.json";

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

/* Is one of the tokens in no file yet? Those past the end of the table are in one. */
static emb_status any_new(const emb_model_resize *r, bool *any, emb_err *err)
{
    emb_status status = EMB_OK;
    uint64_t row;
    *any = false;
    for (size_t i = 0; !status && !*any && i < r->o.n_add; i++) {
        status = emb_table_find(r->table, r->o.add[i], &row, err);
        if (status != EMB_NOT_FOUND)
            continue;
        *any = err->at < 0;
        status = EMB_OK;
    }
    return status;
}

/* A copy without new tokens stays as the model is, whatever the directory that it replaces. */
static bool fills_alone(const emb_model_resize *r)
{
    return r->mo.fill_gaps && r->mo.in_place && r->m->tokenizer_found;
}

emb_status embi_model_resize_next_id(emb_model_resize *r, emb_err *err)
{
    bool any;
    if (r->mo.no_tokenizer || !r->m->tokenizer_found)
        return EMB_OK;
    emb_status status = any_new(r, &any, err);
    if (status || (!any && !fills_alone(r)))
        return status;
    struct embi_tokenizer_changes changes = {.n_add = any, .fill_gaps = r->mo.fill_gaps};
    return embi_tokenizer_next_id(&r->quiet.env, r->m->dir, &r->m->tokenizer, &changes,
                                  &r->o.next_id, err);
}

/* <|...|> */
static bool looks_special(emb_str s)
{
    return s.n >= 4 && memcmp(s.s, "<|", 2) == 0 && memcmp(s.s + s.n - 2, "|>", 2) == 0;
}

static bool is_special(const emb_model_resize *r, emb_str token)
{
    return r->mo.special > 0 || (r->mo.special == 0 && looks_special(token));
}

/* The changes as the tokenizer's editor wants them; arrays are freed by free_changes. */
struct changes {
    struct embi_tokenizer_changes all;
    struct embi_new_token *add;
    struct embi_token_rename *renames;
    struct embi_token_role *roles;
};

static void free_changes(struct changes *c)
{
    free(c->add);
    free(c->renames);
    free(c->roles);
}

static emb_status list_changes(const emb_model_resize *r, struct changes *c, emb_err *err)
{
    const emb_model_resize_opts *mo = &r->mo;
    size_t n = 0;
    c->add = calloc(r->rows.n_added + 1, sizeof *c->add);
    c->renames = calloc(mo->n_renames + 1, sizeof *c->renames);
    c->roles = calloc(mo->n_roles + 1, sizeof *c->roles);
    if (!c->add || !c->renames || !c->roles)
        return embi_fail_memory(err, r->rows.n_added * sizeof *c->add, "new tokens");
    for (size_t i = 0; i < r->rows.n_added; i++) {
        const emb_resize_token *t = &r->rows.added[i];
        if (!t->present)
            c->add[n++] = (struct embi_new_token){t->token, t->row, r->special[i]};
    }
    for (size_t i = 0; i < mo->n_renames; i++)
        c->renames[i] = (struct embi_token_rename){mo->renames[i].from, mo->renames[i].to,
                                                   is_special(r, mo->renames[i].to)};
    for (size_t i = 0; i < mo->n_roles; i++)
        c->roles[i] = (struct embi_token_role){mo->roles[i].role, mo->roles[i].token};
    c->all = (struct embi_tokenizer_changes){.add = c->add,
                                             .n_add = n,
                                             .renames = c->renames,
                                             .n_renames = mo->n_renames,
                                             .roles = c->roles,
                                             .n_roles = mo->n_roles,
                                             .fill_gaps = mo->fill_gaps && (n || fills_alone(r))};
    return EMB_OK;
}

static emb_status edit_tokenizer(emb_model_resize *r, emb_err *err)
{
    struct changes c = {0};
    uint64_t pad = embi_positions_pad(&r->m->config);
    emb_status status = list_changes(r, &c, err);
    c.all.pad = embi_positions_follow_pad(&r->m->config) ? &pad : NULL;
    bool any = c.all.n_add || c.all.n_renames || c.all.n_roles || c.all.fill_gaps;
    if (!status && any)
        status = embi_tokenizer_edit(&r->ctx->env, r->m->dir, &r->m->tokenizer, &c.all, &r->edits,
                                     &r->fills, err);
    free_changes(&c);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Sizes
 */

static emb_status edit_config(emb_model_resize *r, emb_err *err)
{
    struct embi_config_rows rows = {.old_rows = r->rows.old_rows, .rows = r->rows.rows};
    for (size_t i = 0; i < r->v.n; i++) {
        if (r->v.list[i].role != EMBI_VOCAB_PER_LAYER)
            continue;
        rows.per_layer = r->entries[i].changes ? r->rows.rows : r->v.list[i].rows;
    }
    return embi_config_edit_rows(&r->ctx->env, r->m->dir, &rows, &r->edits, err);
}

/* Of any type: bytes say nothing of it where numbers lie in blocks. */
static int64_t row_elements(const struct embi_tensor *t)
{
    int64_t n = 1;
    for (int i = 1; i < t->ndim; i++)
        n *= (int64_t)t->shape[i];
    return n;
}

/* The sums are those of all shards. One that cannot be read, and has no table, is no reason to
 * stop: what the index says of the others then changes by what is added. */
static emb_status edit_index(emb_model_resize *r, emb_err *err)
{
    struct embi_index_totals totals = {0};
    emb_err unread;
    if (!embi_sidecar_exists(r->m->env, r->m->dir, index_name))
        return EMB_OK;
    for (size_t i = 0; i < r->v.n; i++) {
        const struct embi_tensor *t = embi_model_resize_tensor(r, i);
        int64_t more = (int64_t)r->rows.rows - (int64_t)r->v.list[i].rows;
        if (!r->entries[i].changes || r->v.list[i].rows == 0)
            continue;
        totals.more_bytes += more * (int64_t)(t->bytes / r->v.list[i].rows);
        totals.more_params += more * row_elements(t);
    }
    if (embi_weights_read_all(&r->m->weights, &unread) == EMB_OK) {
        uint64_t floats = embi_weights_floats(&r->m->weights);
        totals.bytes = embi_weights_bytes(&r->m->weights) + (uint64_t)totals.more_bytes;
        totals.params = floats ? floats + (uint64_t)totals.more_params : 0;
    }
    return embi_index_edit_totals(&r->ctx->env, r->m->dir, index_name, &totals, &r->edits, err);
}

emb_status embi_model_resize_edit(emb_model_resize *r, emb_err *err)
{
    r->special = calloc(r->rows.n_added + 1, sizeof *r->special);
    if (!r->special)
        return embi_fail_memory(err, r->rows.n_added, "a plan");
    for (size_t i = 0; i < r->rows.n_added; i++)
        r->special[i] = is_special(r, r->rows.added[i].token);
    emb_status status = edit_config(r, err);
    if (!status)
        status = edit_index(r, err);
    return status || r->mo.no_tokenizer ? status : edit_tokenizer(r, err);
}
