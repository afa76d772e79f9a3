/* check_model.c - do the parts of a model directory agree? Tables and their sizes here, config.json
 * in check_config.c, special ids and roles in check_ids.c and check_roles.c, the index of shards in
 * check_index.c.
 *
 * Headers are read, and of tensors only the bytes of those that may be copies of each other.
 * Implements docs/formats/model.md, "what loaders check".
 */
#include "ops/check_model.h"

#include "model/hub.h"
#include "model/token_sources.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------------------------------------
 * Findings
 */

void embi_check_say(struct embi_checking *c, const char *what, const char *mend, const char *format,
                    ...)
{
    emb_check *check = c->check;
    va_list args;
    struct embi_buf message = {0};
    char *options = mend ? strdup(mend) : NULL;
    va_start(args, format);
    embi_buf_vprint(&message, format, args);
    va_end(args);
    const char *text = embi_buf_cstr(&message);
    emb_fault *faults = realloc(check->faults, (check->n_faults + 1) * sizeof *faults);
    if (faults)
        check->faults = faults;
    if (message.failed || !faults || (mend && !options)) {
        c->failed = true;
        embi_buf_free(&message);
        free(options);
        return;
    }
    faults[check->n_faults++] = (emb_fault){what, text, options};
}

void emb_check_free(emb_check *check)
{
    for (size_t i = 0; i < check->n_faults; i++) {
        free((char *)check->faults[i].message);
        free((char *)check->faults[i].mend);
    }
    free(check->faults);
    free(check->dir);
    *check = (emb_check){0};
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

static emb_str name_of(const struct embi_checking *c, size_t i)
{
    return c->model->weights.tensors[c->vocab.list[i].tensor].name;
}

/* Llama 3.2 Vision has rows for image tokens, which are never put out. */
static bool head_may_be_shorter(const struct embi_checking *c)
{
    return strncmp(c->model->config.type, "mllama", 6) == 0;
}

static void check_tensor(struct embi_checking *c, size_t i)
{
    const struct embi_vocab_tensor *t = &c->vocab.list[i];
    const char *what = t->role == EMBI_VOCAB_HEAD   ? "head"
                       : t->role == EMBI_VOCAB_BIAS ? "bias"
                                                    : "copy";
    char shown[EMBI_SHOW_MAX];
    bool shorter = head_may_be_shorter(c) && t->rows < c->rows;
    if (t->role == EMBI_VOCAB_PER_LAYER || t->rows == c->rows || shorter)
        return;
    embi_check_say(c, what, NULL, "%s has %" PRIu64 " %s, the embedding %s has %" PRIu64 " rows",
                   embi_show(shown, name_of(c, i)), t->rows,
                   t->role == EMBI_VOCAB_BIAS ? "entries" : "rows", c->name, c->rows);
}

/* Does config.json name a class with an output table? */
static emb_status has_head_class(struct embi_checking *c, bool *has, emb_err *err)
{
    static const char *const words[] = {"ForCausalLM", "ForConditionalGeneration", "LMHeadModel",
                                        "ForMaskedLM"};
    struct embi_sidecar file;
    *has = false;
    emb_status status = embi_sidecar_open(c->env, c->model->dir, "config.json", &file, err);
    for (size_t i = 0; !status && file.n > 0 && i < EMBI_LEN(words); i++)
        *has = *has || memmem(file.s, file.n, words[i], strlen(words[i])) != NULL;
    embi_sidecar_close(&file);
    return status;
}

/* What config.json says of tied tables, beside what is stored. */
static emb_status check_tied(struct embi_checking *c, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    size_t head = c->vocab.head;
    int tied = c->model->config.tied;
    bool class = false;
    if (head != EMBI_NO_TENSOR) {
        const struct embi_vocab_tensor *t = &c->vocab.list[head];
        if (tied == 1 && t->role == EMBI_VOCAB_HEAD && t->rows == c->rows)
            embi_check_say(c, "tied", NULL,
                           "config.json says tie_word_embeddings, but %s is not the embedding %s: "
                           "loaders differ in which they use",
                           embi_show(shown, name_of(c, head)), c->name);
        return EMB_OK;
    }
    if (tied != 0)
        return EMB_OK;
    emb_status status = has_head_class(c, &class, err);
    if (!status && class)
        embi_check_say(
            c, "tied", NULL,
            "config.json says that the output table is one of its own "
            "(tie_word_embeddings false), but none is stored: loaders make a random one");
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The tokenizer
 */

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
        embi_check_say(c, "tokenizer", EMBI_MEND,
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
        return EMB_OK;
    }
    if (status)
        return status;
    if (sources.gap[0])
        embi_check_say(c, "tokenizer", sources.unfillable ? NULL : "--force " EMBI_MEND, "%s",
                       sources.gap);
    embi_token_sources_free(&sources);
    return EMB_OK;
}

static emb_status check_tokenizer(struct embi_checking *c, emb_err *err)
{
    emb_status status =
        embi_tokenizer_open_dir(c->env, c->model->dir, &c->tokenizer, &c->has_tokenizer, err);
    if (status || !c->has_tokenizer)
        return status;
    c->check->tokens = c->tokenizer.n;
    status = check_largest_id(c, err);
    return status ? status : check_sources(c, err);
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

static emb_status find_tensors(struct embi_checking *c, char shown[EMBI_SHOW_MAX], emb_err *err)
{
    emb_status status = embi_vocab_tensors_find(c->model, &c->vocab, err);
    if (status)
        return status;
    c->check->rows = c->rows = c->vocab.list[0].rows;
    c->name = embi_show(shown, name_of(c, 0));
    return EMB_OK;
}

/* A GGUF file has its tokens and sizes in itself: it has no parts that loaders compare. */
static emb_status refuse_gguf(const struct embi_model *m, emb_err *err)
{
    return m->config.gguf ? embi_fail(err, EMB_UNSUPPORTED, -1,
                                      "the weights are GGUF: expected a model of safetensors or "
                                      "PyTorch weights with its config.json and tokenizer")
                          : EMB_OK;
}

static emb_status check_all(struct embi_checking *c, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    bool whole = false;
    emb_status status = refuse_gguf(c->model, err);
    if (!status)
        status = embi_check_index(c, &whole, err);
    if (status || !whole)
        return status;
    status = find_tensors(c, shown, err);
    for (size_t i = 1; !status && i < c->vocab.n; i++)
        check_tensor(c, i);
    if (!status)
        status = check_tied(c, err);
    if (!status)
        status = check_tokenizer(c, err);
    if (!status)
        status = embi_check_config(c, err);
    if (!status)
        status = embi_check_ids(c, err);
    return status;
}

/* A file stands for the directory that it lies in, which must be a model's. */
static emb_status dir_of_file(char **dir, emb_err *err)
{
    struct stat st;
    char *folder;
    if (stat(*dir, &st) != 0 || !S_ISREG(st.st_mode))
        return EMB_OK;
    emb_status status = embi_path_dir(*dir, &folder, err);
    if (status)
        return status;
    free(*dir);
    *dir = folder;
    return embi_sidecar_exists(*dir, "config.json")
               ? EMB_OK
               : embi_fail(err, EMB_UNSUPPORTED, -1,
                           "expected a model: found a file without a config.json beside it");
}

static emb_status find_dir(const emb_ctx *ctx, const char *url, char **dir, emb_err *err)
{
    emb_status status = EMB_OK;
    if (embi_hub_is_name(url))
        status = embi_hub_path(ctx->hub_cache, url, dir, err);
    else
        *dir = strdup(url);
    if (status)
        return status;
    return *dir ? dir_of_file(dir, err) : embi_fail_memory(err, strlen(url), "a path");
}

static emb_status check_dir(emb_ctx *ctx, emb_check *check, emb_err *err)
{
    struct embi_checking c = {.env = &ctx->env, .check = check};
    struct embi_read_opts opts = {0};
    emb_status status = embi_model_open_dir(&ctx->env, check->dir, &opts, &c.model, err);
    if (status)
        return status;
    c.vocab.head = EMBI_NO_TENSOR;
    status = check_all(&c, err);
    if (!status && c.failed)
        status = embi_fail_memory(err, 0, "what was found");
    embi_vocab_tensors_free(&c.vocab);
    embi_tokenizer_free(&c.tokenizer);
    embi_model_free(c.model);
    return status;
}

emb_status emb_check_model(emb_ctx *ctx, const char *url, emb_check *check, emb_err *err)
{
    *check = (emb_check){0};
    emb_status status = find_dir(ctx, url, &check->dir, err);
    if (!status)
        status = check_dir(ctx, check, err);
    if (status)
        emb_check_free(check);
    return status;
}
