/* resize_model_check.c - the directory that was written, opened as any other: is it what was
 * planned? What is wrong here is a fault of this program, and must not take the old one's name.
 */
#include "ops/resize_model.h"

#include "model/sidecar.h"
#include "util/err.h"

#include <inttypes.h>

/* The tensor of the new directory that tensor i of the plan has become. */
static emb_status find_again(const emb_model_resize *r, struct embi_model *m, size_t i,
                             size_t *tensor, emb_err *err)
{
    const struct embi_vocab_tensor *v = &r->v.list[i];
    const struct embi_tensor *t, *old = embi_model_resize_tensor(r, i);
    uint64_t rows = r->entries[i].changes ? r->rows.rows : v->rows;
    char shown[EMBI_SHOW_MAX];
    *tensor = embi_weights_find(&m->weights, old->name);
    embi_show(shown, old->name);
    if (*tensor == EMBI_NO_TENSOR)
        return embi_fail(err, EMB_BUG, -1, "the new directory has no %s", shown);
    emb_status status = embi_weights_read(&m->weights, *tensor, &t, err);
    if (status || (t->ndim == old->ndim && t->shape[v->axis] == rows))
        return status;
    return embi_fail(err, EMB_BUG, -1, "%s has %" PRIu64 " rows, expected %" PRIu64, shown,
                     t->shape[v->axis], rows);
}

/* Is what tensor i of the plan has become, `tensor`, still a copy of its leader? */
static emb_status check_copy(const emb_model_resize *r, struct embi_model *m, size_t i,
                             size_t tensor, emb_err *err)
{
    bool same;
    size_t leader =
        embi_weights_find(&m->weights, embi_model_resize_tensor(r, r->v.list[i].leader)->name);
    char shown[EMBI_SHOW_MAX];
    emb_status status = embi_weights_same(&m->weights, leader, tensor, &same, err);
    if (status || same)
        return status;
    return embi_fail(err, EMB_BUG, -1, "%s was a copy, and is none in the new directory",
                     embi_show(shown, embi_model_resize_tensor(r, i)->name));
}

/* By name: what else has as many rows now is no business of this resize. Leaders come before their
 * copies. */
static emb_status check_tensors(const emb_model_resize *r, struct embi_model *m, emb_err *err)
{
    emb_status status = EMB_OK;
    size_t tensor;
    for (size_t i = 0; !status && i < r->v.n; i++) {
        status = find_again(r, m, i, &tensor, err);
        if (!status && r->v.list[i].leader != i)
            status = check_copy(r, m, i, tensor, err);
    }
    return status;
}

static bool tokenizer_edited(const emb_model_resize *r)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json",
                                        "added_tokens.json"};
    for (size_t i = 0; i < EMBI_LEN(names); i++)
        if (embi_file_edits_find(&r->edits, names[i]))
            return true;
    return false;
}

/* Each token that was added has its id, where the tokenizer was edited. */
static emb_status check_tokens(const emb_model_resize *r, const struct embi_model *m, emb_err *err)
{
    struct embi_tokenizer t;
    bool found;
    char shown[EMBI_SHOW_MAX];
    if (!tokenizer_edited(r))
        return EMB_OK;
    emb_status status = embi_tokenizer_open_dir(m->env, m->dir, &t, &found, err);
    for (size_t i = 0; !status && i < r->rows.n_added; i++) {
        const emb_resize_token *a = &r->rows.added[i];
        if (!found || a->row >= t.n || !embi_str_equal(t.tokens[a->row], a->token))
            status = embi_fail(err, EMB_BUG, -1, "the tokenizer has no %s with id %" PRIu64,
                               embi_show(shown, a->token), a->row);
    }
    embi_tokenizer_free(&t);
    return status;
}

/* Each file that was edited lies where the model is read, byte for byte. */
static emb_status check_files(const emb_model_resize *r, const struct embi_model *m, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < r->edits.n; i++) {
        const struct embi_file_edit *e = &r->edits.list[i];
        struct embi_sidecar file;
        status = embi_sidecar_open(m->env, m->dir, e->name, &file, err);
        if (status)
            return status;
        if (!file.io || file.n != e->bytes.n || memcmp(file.s, e->bytes.s, file.n) != 0)
            status =
                embi_fail(err, EMB_BUG, -1, "%s is not as planned in the new directory", e->name);
        embi_sidecar_close(&file);
    }
    return status;
}

emb_status embi_model_resize_check(const emb_model_resize *r, const char *dir, emb_err *err)
{
    struct embi_model *m;
    struct embi_read_opts opts = {0};
    emb_status status = embi_model_open_dir(&r->quiet.env, dir, &opts, &m, err);
    if (status)
        return embi_fail_in(err, "the new directory");
    status = check_files(r, m, err);
    if (!status)
        status = check_tensors(r, m, err);
    if (!status)
        status = check_tokens(r, m, err);
    embi_model_free(m);
    return status;
}
