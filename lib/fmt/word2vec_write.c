/* word2vec_write.c - writes the binary form of word2vec, as the original tool does: "V D", then for
 * each row the word, a space, D little-endian f32, LF.
 *
 * A word ends at its first space and LFs before it are skipped, so words with a space, or that
 * begin with LF, are refused rather than changed; so are those that our reader would call too long.
 */
#include "fmt/sink.h"
#include "fmt/words.h"
#include "util/err.h"

emb_status embi_word2vec_check(const struct embi_sink *s, emb_err *err)
{
    emb_status status = embi_words_check(s, err);
    if (!status && s->arrays[0].dtype != EMB_F32)
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "word2vec holds f32 only, not %s",
                           emb_dtype_name(s->arrays[0].dtype));
    return status;
}

const char *embi_word2vec_refuses(emb_str token)
{
    const char *why = embi_words_refuses(token);
    if (why)
        return why;
    if (memchr(token.s, ' ', token.n))
        return "a space ends a word";
    if (token.s[0] == '\n')
        return "a word cannot begin with a newline";
    return token.n >= EMBI_WORD_MAX ? "it is longer than 4095 bytes" : NULL;
}

emb_status embi_word2vec_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                             const emb_str *tokens, emb_err *err)
{
    struct embi_words_sink *state = s->state;
    const size_t row_bytes = s->arrays[0].shape[1] * sizeof(float);
    const char *row = data; /* [rows, d] */
    const uint64_t rows = n_bytes / row_bytes;
    for (uint64_t r = 0; r < rows; r++, row += row_bytes, state->rows++) {
        emb_status status = embi_words_token(s, tokens[r], state->rows, err);
        if (status)
            return status;
        embi_buf_add(&s->buf, tokens[r].s, tokens[r].n);
        embi_buf_byte(&s->buf, ' ');
        embi_buf_add(&s->buf, row, row_bytes);
        embi_buf_byte(&s->buf, '\n');
        status = embi_sink_flush_full(s, err);
        if (status)
            return status;
    }
    return embi_sink_flush(s, err);
}
