/* vocab_lines.c - text with one token a line; the id is the number of the line, from 0.
 *
 * LF or CR LF ends a line, an empty one uses up an id. A file named vocab.txt is WordPiece's, whose
 * loaders drop blanks at the end of a line; elsewhere they belong to the token.
 */
#include "model/tokenizer_read.h"

#include "table/vocab.h"
#include "util/err.h"

#include <stdlib.h>

static bool named_vocab_txt(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "vocab.txt") == 0;
}

static void trim(emb_str *token)
{
    while (token->n > 0 && strchr(" \t\v\f\r", token->s[token->n - 1]) != NULL &&
           token->s[token->n - 1] != 0)
        token->n--;
    if (token->n == 0)
        token->s = NULL;
}

emb_status embi_read_vocab_lines(struct embi_token_source *src, emb_err *err)
{
    struct embi_vocab lines = {0};
    struct embi_tokenizer *t = src->t;
    const char *nul = memchr(src->s, 0, embi_min(src->n, 4096));
    if (nul)
        return embi_fail(err, EMB_UNSUPPORTED, nul - src->s,
                         "neither text nor a vocabulary file that is read here: byte %td is 0",
                         nul - src->s);
    emb_status status = embi_vocab_read_lines(&lines, src->file, err);
    if (status)
        return status;
    t->tokens = lines.owned; /* the file is t's already */
    t->n = t->capacity = t->next_id = lines.n;
    bool wordpiece = named_vocab_txt(src->path);
    for (uint64_t i = 0; i < t->n; i++) {
        if (t->tokens[i].s && wordpiece)
            trim(&t->tokens[i]);
        t->count += t->tokens[i].s != NULL;
    }
    while (t->n > 0 && !t->tokens[t->n - 1].s)
        t->n--;
    t->pieces = embi_pieces_guess(t->tokens, t->n);
    return EMB_OK;
}
