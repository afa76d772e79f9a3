/* gguf_model.c - the size and the vocabulary of a model in GGUF files, by the keys that llama.cpp
 * gives them.
 *
 * Tokens stay in the file; scores, token types and special ids are only looked at for whether they
 * fit the tokens. Specification: docs/gguf.md of ggml; llama-vocab.cpp of llama.cpp for alphabets.
 */
#include "model/gguf_model.h"
#include "model/tokenizer_read.h"

#include "fmt/gguf.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TOKENS "tokenizer.ggml.tokens"

enum { KEY_MAX = EMBI_MODEL_TYPE_MAX + 32 };

bool embi_weights_are_gguf(const struct embi_weights *w)
{
    const struct embi_reader *r = w->n_files ? w->files[0].reader : NULL;
    return r && r->format == &embi_format_gguf;
}

/* The value of a key in whichever part has it, and that part. */
static const struct embi_gguf_value *find(const struct embi_weights *w, const char *key,
                                          const struct embi_reader **r)
{
    const struct embi_gguf_value *v = NULL;
    for (size_t i = 0; !v && i < w->n_files; i++) {
        *r = w->files[i].reader;
        v = embi_gguf_find(*r, key);
    }
    return v;
}

static bool find_number(const struct embi_weights *w, const char *key, uint64_t *x)
{
    const struct embi_reader *r;
    const struct embi_gguf_value *v = find(w, key, &r);
    return v && embi_gguf_number(r, v, x);
}

/* ------------------------------------------------------------------------------------------------
 * Sizes
 */

/* A number under the name of the architecture: "llama.vocab_size". */
static bool of_type(const struct embi_weights *w, const struct embi_config *config,
                    const char *name, uint64_t *x)
{
    char key[KEY_MAX];
    (void)snprintf(key, sizeof key, "%s.%s", config->type, name);
    return find_number(w, key, x);
}

void embi_gguf_config(const struct embi_weights *w, struct embi_config *config)
{
    const struct embi_reader *r;
    const struct embi_gguf_value *v = find(w, "general.architecture", &r);
    emb_str type = v ? embi_gguf_string(r, v) : (emb_str){NULL, 0};
    *config = (struct embi_config){.found = true, .gguf = true, .tied = -1};
    if (type.n > 0 && type.n < sizeof config->type && !memchr(type.s, 0, type.n))
        memcpy(config->type, type.s, type.n);
    if (of_type(w, config, "embedding_length", &config->widths[0]))
        config->n_widths = 1;
    if (of_type(w, config, "vocab_size", &config->vocab_size))
        return;
    v = find(w, TOKENS, &r);
    config->vocab_size = v && v->kind == EMBI_GGUF_ARRAY ? v->n : 0;
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

bool embi_gguf_has_tokens(const struct embi_weights *w)
{
    const struct embi_reader *r;
    return find(w, TOKENS, &r) != NULL;
}

/* Alphabets by tokenizer.ggml.model. WordPiece is rewritten for GGUF: what begins a word has U+2581
 * in front, what continues one has lost its ##. */
static const struct {
    const char *model;
    struct embi_pieces pieces;
} alphabets[] = {
    {"gpt2", {.byte_level = true}},
    {"llama", {.byte_fallback = true, .space = {"\u2581", 3}}},
    {"t5", {.space = {"\u2581", 3}}},
    {"bert", {.space = {"\u2581", 3}}},
};

static struct embi_pieces alphabet(const struct embi_reader *r, const struct embi_tokenizer *t)
{
    emb_str model = embi_gguf_string(r, embi_gguf_find(r, "tokenizer.ggml.model"));
    for (size_t i = 0; i < EMBI_LEN(alphabets); i++)
        if (embi_str_is(model, alphabets[i].model))
            return alphabets[i].pieces;
    return embi_pieces_guess(t->tokens, t->n);
}

/* What stands beside the tokens has an entry for each of them. */
static emb_status check_beside(const struct embi_reader *r, const char *key,
                               enum embi_gguf_kind element, uint64_t n, emb_err *err)
{
    const struct embi_gguf_value *v = embi_gguf_find(r, key);
    if (!v || (v->kind == EMBI_GGUF_ARRAY && v->element == element && v->n == n))
        return EMB_OK;
    if (v->kind != EMBI_GGUF_ARRAY || v->element != element)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)v->at, "%s: expected an array of %s", key,
                         embi_gguf_kind_name(element));
    return embi_fail(err, EMB_BAD_DATA, (int64_t)v->at,
                     "%s has %" PRIu64 " entries, " TOKENS " %" PRIu64, key, v->n, n);
}

static void check_special(const struct embi_reader *r, uint64_t n)
{
    static const char *const roles[] = {"bos",     "eos", "unknown", "seperator", "separator",
                                        "padding", "cls", "mask",    "eot"};
    for (size_t i = 0; i < EMBI_LEN(roles); i++) {
        char key[KEY_MAX];
        uint64_t id;
        (void)snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", roles[i]);
        /* all bits set: there is none, in files of old */
        if (embi_gguf_number(r, embi_gguf_find(r, key), &id) && id >= n && id != UINT32_MAX)
            embi_log(r->env, EMB_LOG_WARNING, r->path,
                     "%s is %" PRIu64 ", there are %" PRIu64 " tokens", key, id, n);
    }
}

static emb_status take_tokens(const struct embi_reader *r, const struct embi_gguf_value *v,
                              struct embi_tokenizer *t, emb_err *err)
{
    if (v->kind != EMBI_GGUF_ARRAY || v->element != EMBI_GGUF_STRING)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)v->at,
                         TOKENS ": expected an array of strings");
    emb_status status = check_beside(r, "tokenizer.ggml.scores", EMBI_GGUF_F32, v->n, err);
    if (!status)
        status = check_beside(r, "tokenizer.ggml.token_type", EMBI_GGUF_I32, v->n, err);
    if (status)
        return status;
    t->tokens = calloc(v->n + 1, sizeof *t->tokens);
    if (!t->tokens)
        return embi_fail_memory(err, v->n * sizeof *t->tokens, "tokens");
    t->n = t->count = t->capacity = t->next_id = v->n;
    return embi_gguf_strings(r, v, t->tokens, err);
}

/* t is freed by who called where this fails. */
static emb_status read_tokens(const struct embi_reader *r, struct embi_tokenizer *t, emb_err *err)
{
    const struct embi_gguf_value *v = embi_gguf_find(r, TOKENS);
    if (!v)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "a GGUF file without " TOKENS);
    emb_status status = take_tokens(r, v, t, err);
    if (status)
        return status;
    t->pieces = alphabet(r, t);
    check_special(r, t->n);
    return EMB_OK;
}

emb_status embi_gguf_tokens(const struct embi_weights *w, struct embi_tokenizer *t, emb_err *err)
{
    const struct embi_reader *r;
    *t = (struct embi_tokenizer){0};
    if (!find(w, TOKENS, &r))
        return EMB_OK;
    emb_status status = read_tokens(r, t, err);
    if (status)
        embi_tokenizer_free(t);
    return status;
}

/* The reader is closed again: tokens lie in the bytes, which are the source's. */
emb_status embi_read_gguf(struct embi_token_source *src, emb_err *err)
{
    struct embi_io *io;
    struct embi_reader *r;
    emb_status status = embi_io_memory(src->env, src->s, src->n, NULL, &io, err);
    if (!status)
        status = embi_reader_open(src->env, io, src->path, &embi_format_gguf, NULL, &r, err);
    if (status)
        return status;
    status = read_tokens(r, src->t, err);
    src->t->gguf = true;
    embi_reader_close(r);
    return status;
}
