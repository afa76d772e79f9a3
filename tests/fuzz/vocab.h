/* vocab.h - for the fuzz targets of tokenizers: bytes opened as a vocabulary file, all tokens used. */
#ifndef FUZZ_VOCAB_H
#define FUZZ_VOCAB_H

#include "fuzz.h"

#include "model/tokenizer.h"

enum { FUZZ_PIECES = 4096 };

/* The tokens as they must be: counted, the last id with one, each readable. */
static inline void fuzz_vocab_tokens(const struct embi_tokenizer *t)
{
    struct embi_buf text = {0};
    uint64_t count = 0;
    for (uint64_t id = 0; id < t->n; id++) {
        count += t->tokens[id].s != NULL;
        if (t->tokens[id].s && count < FUZZ_PIECES)
            embi_piece_text(&t->pieces, t->tokens[id], &text);
    }
    CHECK(count == t->count && !text.failed);
    CHECK(t->n == 0 || t->tokens[t->n - 1].s != NULL);
    embi_pieces_guess(t->tokens, embi_min(t->n, FUZZ_PIECES));
    embi_buf_free(&text);
}

/* Opens the bytes as a file of that name. */
static inline int fuzz_vocab(const char *name, const void *data, size_t size)
{
    struct embi_tokenizer t;
    emb_err err;
    emb_status status = embi_tokenizer_open_io(fuzz_env(), fuzz_io(data, size), name, &t, &err);
    if (!fuzz_went_well(status, &err)) {
        CHECK(!t.tokens && t.n_parts == 0);
        return 0;
    }
    fuzz_vocab_tokens(&t);
    embi_tokenizer_free(&t);
    return 0;
}

#endif
