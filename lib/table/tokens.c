/* tokens.c - from rows to tokens and back, for the public interface.
 *
 * Tokens are loaded when first asked for: a table that is only read by row never pays for them.
 */
#include "table/spelling.h"
#include "table/table.h"
#include "util/err.h"

/* Tokens that stand in the file itself (word2vec, text). */
static emb_status load_own(const emb_table *t, struct embi_vocab *vocab, emb_err *err)
{
    struct embi_reader *r = t->reader;
    emb_status status = EMB_OK;
    if (!r->tokens && r->format->tokens)
        status = r->format->tokens(r, err);
    if (!status && r->tokens) {
        vocab->tokens = r->tokens;
        vocab->n = t->layout.rows;
    }
    vocab->loaded = status == EMB_OK;
    return status;
}

static emb_status load(const emb_table *table, struct embi_vocab **vocab, emb_err *err)
{
    struct embi_vocab *v = (struct embi_vocab *)&table->vocab;
    emb_status status = embi_table_ready(table, err);
    if (!status && !v->loaded)
        status = load_own(table, v, err);
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

/* Files of tokenizers are known by their extension: their lines are no tokens. */
static bool is_tokenizer(const char *path)
{
    static const char *const ends[] = {".json", ".model", ".tiktoken"};
    size_t n = strlen(path);
    for (size_t i = 0; i < EMBI_LEN(ends); i++) {
        size_t m = strlen(ends[i]);
        if (n > m && strcmp(path + n - m, ends[i]) == 0)
            return true;
    }
    return false;
}

emb_status embi_table_use_vocab_file(emb_table *t, const char *path, emb_err *err)
{
    struct embi_io *file = NULL;
    emb_status status = embi_table_ready(t, err);
    if (!status && is_tokenizer(path))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "%s: the file of a tokenizer; a vocabulary has one token a line", path);
    if (!status && (status = embi_io_open(t->env, path, EMBI_IO_READ, &file, err)) != EMB_OK)
        return embi_fail_in(err, "%s", path);
    if (!status)
        status = embi_vocab_read_lines(&t->vocab, file, err);
    if (status) {
        if (t->vocab.file != file)
            embi_io_close(file);
        return status;
    }
    if (t->vocab.n > t->layout.rows && !t->limit_rows)
        embi_log(t->env, EMB_LOG_WARNING, path,
                 "%llu tokens for %llu rows: those past the end are ignored",
                 (unsigned long long)t->vocab.n, (unsigned long long)t->layout.rows);
    t->vocab.n = embi_min(t->vocab.n, t->layout.rows);
    return EMB_OK;
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

static emb_status not_found(emb_str token, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
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
    return *row == EMBI_MAP_NONE ? not_found(token, err) : EMB_OK;
}

emb_status emb_table_resolve(const emb_table *t, emb_str word, uint64_t *row, emb_err *err)
{
    struct embi_vocab *v;
    emb_status status = load_indexed(t, &v, err);
    if (status)
        return status;
    status = embi_spelling_resolve(&v->map, word, row, err);
    return status == EMB_NOT_FOUND ? not_found(word, err) : status;
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
