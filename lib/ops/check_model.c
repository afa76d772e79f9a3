/* check_model.c - do the parts of a model directory agree? Tables and their sizes here, the
 * tokenizer in check_tokenizer.c, config.json in check_config.c and check_positions.c, special ids
 * and roles in check_ids.c and check_roles.c, the index of shards in check_index.c.
 *
 * Headers are read, and of tensors only the bytes of those that may be copies of each other.
 * Implements docs/formats/model.md, "what loaders check".
 */
#include "ops/check_model.h"

#include "model/model_dir.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * Findings
 */

void embi_check_say(struct embi_checking *c, const char *what, const char *mend, const char *format,
                    ...)
{
    emb_check *check = c->check;
    va_list args;
    struct embi_buf message = {0};
    mend = c->mends_none ? NULL : mend;
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

const char *embi_check_mend_rows(const struct embi_checking *c, const char *mend)
{
    return c->rows_stay ? NULL : mend;
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
static bool has_head_class(const struct embi_checking *c)
{
    static const char *const words[] = {"ForCausalLM", "ForConditionalGeneration", "LMHeadModel",
                                        "ForMaskedLM"};
    for (size_t i = 0; c->config.n > 0 && i < EMBI_LEN(words); i++)
        if (memmem(c->config.s, c->config.n, words[i], strlen(words[i])))
            return true;
    return false;
}

/* Can a resize add rows to tensor i? What it refuses is resize_model.c's to say. */
static bool rows_stay(const struct embi_checking *c, size_t i)
{
    const struct embi_vocab_tensor *t = &c->vocab.list[i];
    const struct embi_weights *w = &c->model->weights;
    const struct embi_weights_tensor *named = &w->tensors[t->tensor];
    emb_err refused;
    if (t->role == EMBI_VOCAB_PER_LAYER && t->rows < c->rows)
        return false;
    return t->rows != c->rows ||
           w->files[named->file].reader->tensors[named->at].dtype == EMB_DTYPE_NONE ||
           embi_refuse_quantised(w, t->tensor, &refused) ||
           (t->axis == 0 && embi_refuse_transposed(c->model, t->tensor, &refused));
}

/* Which commands would be refused. */
static void find_what_stays(struct embi_checking *c)
{
    const struct embi_weights *w = &c->model->weights;
    const char *dir = c->model->dir;
    size_t file = w->tensors[c->vocab.list[0].tensor].file;
    c->mends_none = w->files[file].reader->format != &embi_format_safetensors ||
                    (embi_sidecar_exists(c->env, dir, "model.safetensors") &&
                     embi_sidecar_exists(c->env, dir, "model.safetensors.index.json"));
    for (size_t i = 0; i < c->vocab.n; i++)
        c->rows_stay |= rows_stay(c, i);
}

/* What config.json says of tied tables, beside what is stored. */
static void check_tied(struct embi_checking *c)
{
    char shown[EMBI_SHOW_MAX];
    size_t head = c->vocab.head;
    int tied = c->model->config.tied;
    if (head != EMBI_NO_TENSOR) {
        const struct embi_vocab_tensor *t = &c->vocab.list[head];
        if (tied == 1 && t->role == EMBI_VOCAB_HEAD && t->rows == c->rows)
            embi_check_say(c, "tied", NULL,
                           "config.json says tie_word_embeddings, but %s is not the embedding %s: "
                           "loaders differ in which they use",
                           embi_show(shown, name_of(c, head)), c->name);
        return;
    }
    if (tied == 0 && has_head_class(c))
        embi_check_say(
            c, "tied", NULL,
            "config.json says that the output table is one of its own "
            "(tie_word_embeddings false), but none is stored: loaders make a random one");
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

static emb_status open_config(struct embi_checking *c, emb_err *err)
{
    struct embi_config_objects found;
    emb_status status = embi_sidecar_open(c->env, c->model->dir, "config.json", &c->config, err);
    if (status || !c->config.io)
        return status;
    status = embi_config_objects_find(c->config.s, c->config.n, &found, err);
    if (status)
        return embi_fail_in(err, "config.json");
    c->n_objects = embi_config_text_objects(&found, c->objects);
    c->text_inside = found.text > 0;
    return EMB_OK;
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
    if (!status)
        find_what_stays(c);
    for (size_t i = 1; !status && i < c->vocab.n; i++)
        check_tensor(c, i);
    if (!status)
        status = open_config(c, err);
    if (!status)
        check_tied(c);
    if (!status)
        status = embi_check_tokenizer(c, err);
    if (!status)
        status = embi_check_config(c, err);
    if (!status)
        status = embi_check_positions(c, err);
    if (!status)
        status = embi_check_ids(c, err);
    return status;
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
    embi_sidecar_close(&c.config);
    embi_model_free(c.model);
    return status;
}

emb_status emb_check_model(emb_ctx *ctx, const char *url, emb_check *check, emb_err *err)
{
    *check = (emb_check){0};
    emb_status status = embi_model_dir(&ctx->env, url, &check->dir, err);
    if (!status)
        status = check_dir(ctx, check, err);
    if (status)
        emb_check_free(check);
    return status;
}
