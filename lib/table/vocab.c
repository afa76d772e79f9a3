/* vocab.c - the tokens of a table's rows, and the way from a token to its row (design.md D4, D9).
 */
#include "table/vocab.h"
#include "util/err.h"

#include <stdlib.h>

static uint64_t count_lines(const char *s, uint64_t n)
{
    uint64_t lines = 0;
    const char *end = s + n;
    for (const char *p = s; p < end; lines++) {
        const char *lf = memchr(p, '\n', (size_t)(end - p));
        p = lf ? lf + 1 : end;
    }
    return lines;
}

static void split_lines(const char *s, uint64_t n, emb_str *tokens)
{
    const char *end = s + n;
    for (const char *p = s; p < end;) {
        const char *lf = memchr(p, '\n', (size_t)(end - p));
        const char *stop = lf ? lf : end;
        size_t length = (size_t)(stop - p);
        if (length && p[length - 1] == '\r')
            length--;
        *tokens++ = (emb_str){length ? p : NULL, length};
        p = stop + 1;
    }
}

emb_status embi_vocab_read_lines(struct embi_vocab *vocab, struct embi_io *file, emb_err *err)
{
    const void *data;
    emb_status status = embi_io_map(file, &data, err);
    if (status)
        return status;
    uint64_t n = count_lines(data, file->size);
    vocab->owned = calloc(n + 1, sizeof *vocab->owned);
    if (!vocab->owned)
        return embi_fail_memory(err, n * sizeof *vocab->owned, "tokens");
    split_lines(data, file->size, vocab->owned);
    vocab->tokens = vocab->owned;
    vocab->n = vocab->total = n;
    vocab->file = file;
    vocab->loaded = true;
    return EMB_OK;
}

emb_status embi_vocab_index(struct embi_vocab *vocab, const struct embi_env *env, const char *path,
                            emb_err *err)
{
    if (vocab->indexed)
        return EMB_OK;
    emb_status status = embi_map_build(&vocab->map, vocab->tokens, vocab->n, err);
    if (status)
        return status;
    vocab->indexed = true;
    if (vocab->map.duplicates)
        embi_log(env, EMB_LOG_WARNING, path,
                 "%llu duplicate tokens: all rows stay, the first of each is found by name",
                 (unsigned long long)vocab->map.duplicates);
    return EMB_OK;
}

void embi_vocab_free(struct embi_vocab *vocab)
{
    embi_map_free(&vocab->map);
    embi_buf_free(&vocab->text);
    if (vocab->source.owned)
        vocab->source.free(vocab->source.state);
    free(vocab->owned);
    embi_io_close(vocab->file);
    *vocab = (struct embi_vocab){0};
}
