/* give_beside.c - tokens from the file beside a table that was saved without a place for them:
 * x.vocab.txt or x.vocab.json for x.safetensors, whose metadata say which (fmt/beside.h).
 *
 * Without that word in the metadata nothing is looked for: a file of that name is somebody else's.
 */
#include "fmt/beside.h"
#include "model/model.h"
#include "model/sidecar.h"
#include "util/err.h"

#include <stdlib.h>
#include <unistd.h>

struct beside {
    const struct embi_env *env;
    char *path;
    enum embi_tokenizer_kind kind;
    struct embi_tokenizer tokenizer; /* empty until it is needed */
};

static emb_status load(void *state, const emb_str **tokens, uint64_t *n, emb_err *err)
{
    struct beside *b = state;
    emb_status status = embi_refuse_fifo(b->path, err);
    if (!status)
        status = embi_tokenizer_open_kind(b->env, b->path, b->kind, &b->tokenizer, err);
    *tokens = b->tokenizer.tokens;
    *n = b->tokenizer.n;
    return status ? embi_fail_in(err, "%s", b->path) : EMB_OK;
}

static bool text(const void *state, emb_str token, struct embi_buf *out)
{
    const struct beside *b = state;
    return embi_tokenizer_text(&b->tokenizer, token, out);
}

static void free_beside(void *state)
{
    struct beside *b = state;
    embi_tokenizer_free(&b->tokenizer);
    free(b->path);
    free(b);
}

/* Takes the path over. */
static emb_status use(emb_table *table, char *path, const struct embi_beside *kind, emb_err *err)
{
    struct beside *b = calloc(1, sizeof *b);
    if (!b) {
        free(path);
        return embi_fail_memory(err, sizeof *b, "tokens");
    }
    b->env = table->env;
    b->path = path;
    b->kind = kind->unique ? EMBI_TOKENIZER_VOCAB_JSON : EMBI_TOKENIZER_LINES;
    struct embi_vocab_source source = {
        .state = b, .owned = true, .load = load, .text = text, .free = free_beside};
    embi_table_use_source(table, &source);
    return EMB_OK;
}

/* The Embedding Projector's numbers have no column of tokens, and would be read as if they had one.
 */
static emb_status refuse_labels(const emb_table *table, emb_err *err)
{
    const char *ending = embi_beside_labels[0].ending;
    char *path;
    if (table->reader->format != &embi_format_text || !embi_ends_in(table->path, ".tsv"))
        return EMB_OK;
    emb_status status = embi_beside_path(table->path, ending, &path, err);
    if (status)
        return status;
    if (access(path, F_OK) == 0)
        status = embi_fail(err, EMB_UNSUPPORTED, -1,
                           "vectors of the Embedding Projector, with their labels in %s: not read; "
                           "keep the table that they were made of",
                           path);
    free(path);
    return status;
}

emb_status embi_give_beside(emb_table *table, bool named, emb_err *err)
{
    char *path;
    const struct embi_beside *kind = embi_beside_of(table->reader);
    if (!kind)
        return named ? EMB_OK : refuse_labels(table, err);
    if (strcmp(table->path, "-") == 0)
        return EMB_OK;
    emb_status status = embi_beside_path(table->path, kind->ending, &path, err);
    if (status)
        return status;
    if (access(path, F_OK) == 0)
        return use(table, path, kind, err);
    embi_log(table->env, EMB_LOG_WARNING, table->path,
             "its tokens lay beside it in %s, which is not there", path);
    free(path);
    return EMB_OK;
}
