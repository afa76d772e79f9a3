/* tokenizer.c - a vocabulary file of any kind: which it is, and who reads it.
 */
#include "model/tokenizer.h"

#include "model/gguf_model.h"
#include "model/tokenizer_read.h"
#include "util/err.h"

#include <stdlib.h>

typedef emb_status reader_fn(struct embi_token_source *src, emb_err *err);

static reader_fn *const readers[] = {
    [EMBI_TOKENIZER_JSON] = embi_read_tokenizer_json,
    [EMBI_TOKENIZER_VOCAB_JSON] = embi_read_vocab_json,
    [EMBI_TOKENIZER_LINES] = embi_read_vocab_lines,
    [EMBI_TOKENIZER_SENTENCEPIECE] = embi_read_sentencepiece,
    [EMBI_TOKENIZER_TIKTOKEN] = embi_read_tiktoken,
    [EMBI_TOKENIZER_TEKKEN] = embi_read_tekken,
};

/* What a file that does not show what it is should have been, so that errors speak of that. */
static enum embi_tokenizer_kind kind_by_name(const char *path)
{
    if (embi_ends_in(path, "tekken.json"))
        return EMBI_TOKENIZER_TEKKEN;
    if (embi_ends_in(path, "vocab.json") || embi_ends_in(path, "added_tokens.json"))
        return EMBI_TOKENIZER_VOCAB_JSON;
    if (embi_ends_in(path, ".json"))
        return EMBI_TOKENIZER_JSON;
    if (embi_ends_in(path, ".model") || embi_ends_in(path, ".spm"))
        return EMBI_TOKENIZER_SENTENCEPIECE;
    if (embi_ends_in(path, ".tiktoken"))
        return EMBI_TOKENIZER_TIKTOKEN;
    return EMBI_TOKENIZER_LINES;
}

static enum embi_tokenizer_kind kind_of(const struct embi_token_source *src)
{
    enum embi_tokenizer_kind kind = embi_sniff_json(src->s, src->n);
    if (kind)
        return kind;
    if (embi_sniff_sentencepiece(src->s, src->n))
        return EMBI_TOKENIZER_SENTENCEPIECE;
    if (embi_sniff_tiktoken(src->s, src->n))
        return EMBI_TOKENIZER_TIKTOKEN;
    return kind_by_name(src->path);
}

/* A text may begin with these letters, but no version follows them there. */
static bool is_gguf(const struct embi_token_source *src)
{
    return embi_format_gguf.probe((const unsigned char *)src->s, src->n, src->n, "") > 0;
}

static emb_status refuse_pointer(const struct embi_token_source *src, emb_err *err)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/";
    size_t n = sizeof pointer - 1;
    if (src->n < n || memcmp(src->s, pointer, n) != 0)
        return EMB_OK;
    return embi_fail(err, EMB_UNSUPPORTED, 0,
                     "a Git LFS pointer; the file itself was not pulled: git lfs pull");
}

/* kind EMBI_TOKENIZER_NONE: the content says it. */
static emb_status read_file(const struct embi_env *env, struct embi_io *file, const char *path,
                            enum embi_tokenizer_kind kind, struct embi_tokenizer *t, emb_err *err)
{
    struct embi_token_source src;
    *t = (struct embi_tokenizer){0};
    emb_status status = embi_token_source_open(&src, env, file, path, t, err);
    if (!status)
        status = refuse_pointer(&src, err);
    if (!status && !kind && is_gguf(&src)) {
        status = embi_read_gguf(&src, err);
    } else if (!status) {
        t->kind = kind ? kind : kind_of(&src);
        status = readers[t->kind](&src, err);
    }
    if (status) {
        embi_tokenizer_free(t);
        return status;
    }
    t->conflict = src.conflict;
    embi_token_conflict_report(&src);
    return EMB_OK;
}

emb_status embi_tokenizer_open_io(const struct embi_env *env, struct embi_io *file,
                                  const char *path, struct embi_tokenizer *t, emb_err *err)
{
    return read_file(env, file, path, EMBI_TOKENIZER_NONE, t, err);
}

emb_status embi_tokenizer_open_kind(const struct embi_env *env, const char *path,
                                    enum embi_tokenizer_kind kind, struct embi_tokenizer *t,
                                    emb_err *err)
{
    struct embi_io *file;
    *t = (struct embi_tokenizer){0};
    emb_status status = embi_io_open(env, path, EMBI_IO_READ, &file, err);
    return status ? status : read_file(env, file, path, kind, t, err);
}

emb_status embi_tokenizer_open_file(const struct embi_env *env, const char *path,
                                    struct embi_tokenizer *t, emb_err *err)
{
    return embi_tokenizer_open_kind(env, path, EMBI_TOKENIZER_NONE, t, err);
}

void embi_tokenizer_free(struct embi_tokenizer *t)
{
    free(t->tokens);
    free(t->notes);
    for (int i = 0; i < t->n_parts; i++) {
        embi_buf_free(&t->parts[i].strings);
        embi_io_close(t->parts[i].file);
    }
    *t = (struct embi_tokenizer){0};
}
