/* resize_model_check.c - the directory that was written, opened as any other: is it what was
 * planned? What is wrong here is a fault of this program, and must not take the old one's name.
 */
#include "ops/resize_model.h"

#include "util/err.h"

#include <inttypes.h>

static emb_status wrong(emb_err *err, const char *what)
{
    return embi_fail(err, EMB_BUG, -1, "the new directory is not as planned: %s", what);
}

/* The same tensors with vocabulary axes, as long as planned, copies of each other as before. */
static emb_status check_tensors(const emb_model_resize *r, struct embi_model *m, emb_err *err)
{
    struct embi_vocab_tensors v;
    char shown[EMBI_SHOW_MAX];
    emb_status status = embi_vocab_tensors_find(m, &v, err);
    if (status)
        return status;
    if (v.n != r->v.n)
        status = wrong(err, "another number of tables");
    for (size_t i = 0; !status && i < v.n; i++) {
        uint64_t rows = r->entries[i].changes ? r->rows.rows : r->v.list[i].rows;
        embi_show(shown, m->weights.tensors[v.list[i].tensor].name);
        if (v.list[i].rows != rows)
            status = embi_fail(err, EMB_BUG, -1, "%s has %" PRIu64 " rows, expected %" PRIu64,
                               shown, v.list[i].rows, rows);
        else if (r->v.list[i].leader != i && v.list[i].leader != r->v.list[i].leader)
            status = wrong(err, "copies that were equal differ");
    }
    embi_vocab_tensors_free(&v);
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

emb_status embi_model_resize_check(const emb_model_resize *r, const char *dir, emb_err *err)
{
    struct embi_model *m;
    struct embi_read_opts opts = {0};
    emb_status status = embi_model_open_dir(&r->quiet.env, dir, &opts, &m, err);
    if (status)
        return embi_fail_in(err, "the new directory");
    if (r->v.n)
        status = check_tensors(r, m, err);
    if (!status)
        status = check_tokens(r, m, err);
    embi_model_free(m);
    return status;
}
