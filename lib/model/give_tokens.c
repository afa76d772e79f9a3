/* give_tokens.c - tokens for a table: from the tokenizer of its model, when one is first needed, or
 * from a file that the user names.
 */
#include "io/place.h"
#include "model/gguf_model.h"
#include "model/model.h"
#include "util/err.h"

#include <stdlib.h>

bool embi_tokenizer_text(const struct embi_tokenizer *t, emb_str token, struct embi_buf *out)
{
    const struct embi_pieces *p = &t->pieces;
    if (!p->byte_level && !p->byte_fallback && !p->space.n && !p->prefix.n && !p->suffix.n)
        return false;
    embi_piece_text(p, token, out);
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * The model's own
 */

static emb_status load_model(void *state, const emb_str **tokens, uint64_t *n, emb_err *err)
{
    struct embi_model *m = state;
    emb_status status =
        embi_tokenizer_open_dir(m->env, m->dir, &m->tokenizer, &m->tokenizer_found, err);
    *tokens = m->tokenizer.tokens;
    *n = m->tokenizer.n;
    return status;
}

static emb_status load_gguf(void *state, const emb_str **tokens, uint64_t *n, emb_err *err)
{
    struct embi_model *m = state;
    emb_status status = embi_gguf_tokens(&m->weights, &m->tokenizer, err);
    *tokens = m->tokenizer.tokens;
    *n = m->tokenizer.n;
    return status;
}

static bool text_of_model(const void *state, emb_str token, struct embi_buf *out)
{
    const struct embi_model *m = state;
    return embi_tokenizer_text(&m->tokenizer, token, out);
}

static emb_status notes_of_model(const void *state, struct embi_token_notes *notes, emb_err *err)
{
    const struct embi_model *m = state;
    return embi_tokenizer_notes(&m->tokenizer, notes, err);
}

static emb_status notes_of_gguf(const void *state, struct embi_token_notes *notes, emb_err *err)
{
    const struct embi_model *m = state;
    return embi_gguf_notes(&m->weights, notes, err);
}

/* Are the table's rows those of tokens? Positions, token types and layers have rows of their own.
 */
static bool has_token_rows(const struct embi_model *m, const emb_table *table)
{
    int rank;
    emb_str name = m->weights.tensors[m->table].name;
    switch (embi_role_of(name, &rank)) {
    case EMBI_ROLE_INPUT:
    case EMBI_ROLE_HEAD: return true;
    case EMBI_ROLE_OTHER: return false;
    case EMBI_ROLE_NONE: break;
    }
    return !m->config.vocab_size || table->layout.rows == m->config.vocab_size;
}

emb_status embi_model_give_tokens(struct embi_model *m, emb_table *table, emb_err *err)
{
    struct embi_vocab_source own = {
        .state = m, .load = load_model, .text = text_of_model, .notes = notes_of_model};
    bool found = false;
    emb_status status = EMB_OK;
    if (table->own_tokens || !has_token_rows(m, table))
        return EMB_OK;
    if (m->config.gguf && embi_gguf_has_tokens(&m->weights)) {
        own.load = load_gguf;
        own.notes = notes_of_gguf;
        found = true;
    } else if (m->dir) {
        status = embi_tokenizer_in_dir(m->env, m->dir, &found, err);
    }
    if (status || !found)
        return status;
    embi_table_use_source(table, &own); /* the table owns m already */
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The user's
 */

static emb_status load_given(void *state, const emb_str **tokens, uint64_t *n, emb_err *err)
{
    const struct embi_tokenizer *t = state;
    (void)err;
    *tokens = t->tokens;
    *n = t->n;
    return EMB_OK;
}

static bool text_of_given(const void *state, emb_str token, struct embi_buf *out)
{
    return embi_tokenizer_text(state, token, out);
}

static emb_status notes_of_given(const void *state, struct embi_token_notes *notes, emb_err *err)
{
    return embi_tokenizer_notes(state, notes, err);
}

static void free_given(void *state)
{
    embi_tokenizer_free(state);
    free(state);
}

static emb_status open_vocab(const struct embi_env *env, const char *path, struct embi_tokenizer *t,
                             emb_err *err)
{
    bool found = true;
    emb_status status;
    if (embi_path_is_dir(env, path))
        status = embi_tokenizer_open_dir(env, path, t, &found, err);
    else
        status = embi_tokenizer_open_file(env, path, t, err);
    if (!status && !found)
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "is a directory without a tokenizer");
    return status;
}

emb_status embi_give_vocab(emb_table *table, const char *path, emb_err *err)
{
    struct embi_tokenizer *t = calloc(1, sizeof *t);
    if (!t)
        return embi_fail_memory(err, sizeof *t, "a tokenizer");
    emb_status status = open_vocab(table->env, path, t, err);
    if (status) {
        free(t);
        return embi_fail_in(err, "%s", path);
    }
    struct embi_vocab_source source = {.state = t,
                                       .owned = true,
                                       .load = load_given,
                                       .text = text_of_given,
                                       .notes = notes_of_given,
                                       .free = free_given};
    embi_table_use_source(table, &source);
    return EMB_OK;
}
