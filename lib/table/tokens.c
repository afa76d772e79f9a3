/* tokens.c - from rows to tokens and back, for the public interface.
 *
 * Tokens are loaded when first asked for: a table that is only read by row never pays for them.
 */
#include "table/spelling.h"
#include "table/table.h"
#include "util/err.h"

/* Tokens that stand in the file itself (word2vec, text, npz). */
static emb_status load_own(const emb_table *t, struct embi_vocab *vocab, emb_err *err)
{
    struct embi_reader *r = t->reader;
    emb_status status = EMB_OK;
    if (!t->own_tokens)
        return EMB_OK;
    if (!r->tokens && r->format->tokens && (status = r->format->tokens(r, err)) != EMB_OK)
        status = embi_io_fail_in(r->io, err);
    if (!status && r->tokens) {
        vocab->tokens = r->tokens;
        vocab->n = vocab->total = t->layout.rows;
    }
    return status;
}

/* Tokens that somebody brought. A model may have more of them than rows: a stale table. */
static emb_status load_source(const emb_table *t, struct embi_vocab *vocab, emb_err *err)
{
    emb_status status = vocab->source.load(vocab->source.state, &vocab->tokens, &vocab->total, err);
    if (status)
        return status;
    vocab->n = embi_min(vocab->total, t->layout.rows);
    if (vocab->n < vocab->total && !t->limit_rows)
        embi_log(t->env, EMB_LOG_WARNING, t->path,
                 "%llu tokens, %llu rows: tokens past the end are not found",
                 (unsigned long long)vocab->total, (unsigned long long)t->layout.rows);
    return EMB_OK;
}

static emb_status load(const emb_table *table, struct embi_vocab **vocab, emb_err *err)
{
    struct embi_vocab *v = (struct embi_vocab *)&table->vocab;
    emb_status status = embi_table_lay_out(table, err);
    if (!status && !v->loaded) {
        status = v->source.load ? load_source(table, v, err) : load_own(table, v, err);
        v->loaded = status == EMB_OK;
    }
    *vocab = v;
    return status;
}

emb_status embi_table_vocab(const emb_table *table, const struct embi_vocab **vocab, emb_err *err)
{
    struct embi_vocab *v;
    emb_status status = load(table, &v, err);
    *vocab = v;
    return status;
}

void embi_table_use_source(emb_table *t, const struct embi_vocab_source *source)
{
    embi_vocab_free(&t->vocab);
    t->vocab.source = *source;
}

emb_status emb_table_token(const emb_table *t, uint64_t row, emb_str *token, emb_err *err)
{
    struct embi_vocab *v;
    emb_status status = load(t, &v, err);
    if (status)
        return status;
    if (row >= t->layout.rows)
        return embi_fail(err, EMB_RANGE, 0, "row %llu is outside the table",
                         (unsigned long long)row);
    if (row >= v->n || !v->tokens[row].s)
        return embi_fail(err, EMB_NOT_FOUND, (int64_t)row, "row %llu has no token",
                         (unsigned long long)row);
    *token = v->tokens[row];
    return EMB_OK;
}

emb_status emb_table_text(const emb_table *t, uint64_t row, emb_str *text, emb_err *err)
{
    emb_str token = {NULL, 0};
    emb_status status = emb_table_token(t, row, &token, err);
    if (status)
        return status;
    struct embi_vocab *v = (struct embi_vocab *)&t->vocab;
    v->text.n = 0;
    if (!v->source.load || !v->source.text(v->source.state, token, &v->text))
        return embi_fail(err, EMB_NOT_FOUND, (int64_t)row, "tokens are their own text");
    if (v->text.failed)
        return embi_fail_memory(err, token.n, "the text of a token");
    *text = (emb_str){v->text.s ? v->text.s : "", v->text.n};
    return EMB_OK;
}

/* err->at is the id of a token that has no row. */
static emb_status not_found(const emb_table *t, emb_str token, emb_err *err)
{
    const struct embi_vocab *v = &t->vocab;
    char shown[EMBI_SHOW_MAX];
    for (uint64_t i = v->n; i < v->total; i++)
        if (v->tokens[i].s && embi_str_equal(v->tokens[i], token))
            return embi_fail(err, EMB_NOT_FOUND, (int64_t)i,
                             "%s: token %llu is past the end of the table, which has %llu rows",
                             embi_show(shown, token), (unsigned long long)i,
                             (unsigned long long)t->layout.rows);
    return embi_fail(err, EMB_NOT_FOUND, -1, "%s: not in the vocabulary", embi_show(shown, token));
}

static emb_status load_indexed(const emb_table *t, struct embi_vocab **v, emb_err *err)
{
    emb_status status = load(t, v, err);
    if (status)
        return status;
    if ((*v)->n == 0)
        return embi_fail(err, EMB_NOT_FOUND, -1, "the table has no tokens, only rows 0..V-1");
    return embi_vocab_index(*v, t->env, t->path, err);
}

emb_status emb_table_find(const emb_table *t, emb_str token, uint64_t *row, emb_err *err)
{
    struct embi_vocab *v;
    emb_status status = load_indexed(t, &v, err);
    if (status)
        return status;
    *row = embi_map_find(&v->map, token);
    return *row == EMBI_MAP_NONE ? not_found(t, token, err) : EMB_OK;
}

emb_status emb_table_resolve(const emb_table *t, emb_str word, uint64_t *row, emb_err *err)
{
    struct embi_vocab *v;
    emb_status status = load_indexed(t, &v, err);
    if (status)
        return status;
    status = embi_spelling_resolve(&v->map, word, row, err);
    return status == EMB_NOT_FOUND ? not_found(t, word, err) : status;
}

emb_status emb_table_suggest(const emb_table *t, emb_str word, uint64_t *rows, size_t n,
                             size_t *found, emb_err *err)
{
    struct embi_vocab *v;
    *found = 0;
    emb_status status = load(t, &v, err);
    if (!status)
        *found = embi_spelling_close(v->tokens, v->n, word, rows, n);
    return status;
}
