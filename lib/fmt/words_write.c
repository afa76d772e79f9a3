/* words_write.c - what the writers of word vectors share: the header line, refusals, the buffer.
 *
 * A word-vector file holds one array [V, d] and a token for every row. The header line stands
 * before the rows; where V is known only after them, its place is kept (20 digits, zeros in front,
 * which readers take that split at single spaces as well) and patched. Nothing is written that
 * would be read back as another token. The writer (table/) has seen to it that there is one array
 * with a type and a size, and that a count which comes late can be patched.
 */
#include "fmt/sink.h"
#include "fmt/words.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT_DIGITS = 20 }; /* of UINT64_MAX */

emb_status embi_words_check(const struct embi_sink *s, emb_err *err)
{
    emb_status status = embi_sink_check_table(s, err);
    if (!status && !s->tokens)
        status =
            embi_fail(err, EMB_UNSUPPORTED, -1, "%s needs a token for every row", s->format->name);
    return status;
}

emb_status embi_words_begin(struct embi_sink *s, emb_err *err)
{
    struct embi_words_sink *state = calloc(1, sizeof *state);
    if (!state)
        return embi_fail_memory(err, sizeof *state, "a writer");
    state->late = s->arrays[0].shape[0] == EMB_ROWS_UNKNOWN;
    s->state = state;
    return EMB_OK;
}

emb_status embi_words_begin_header(struct embi_sink *s, emb_err *err)
{
    const emb_array *a = &s->arrays[0];
    emb_status status = embi_words_begin(s, err);
    if (status)
        return status;
    if (a->shape[0] == EMB_ROWS_UNKNOWN)
        embi_buf_fill(&s->buf, '0', COUNT_DIGITS);
    else
        embi_buf_print(&s->buf, "%" PRIu64, a->shape[0]);
    embi_buf_print(&s->buf, " %" PRIu64 "\n", a->shape[1]);
    return embi_sink_flush(s, err);
}

emb_status embi_words_finish(struct embi_sink *s, emb_err *err)
{
    const struct embi_words_sink *state = s->state;
    char count[COUNT_DIGITS + 1];
    if (state->rows == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s cannot hold a table of 0 rows",
                         s->format->name);
    if (!state->late)
        return EMB_OK;
    (void)snprintf(count, sizeof count, "%0*" PRIu64, COUNT_DIGITS, state->rows);
    return embi_io_patch(s->io, count, COUNT_DIGITS, 0, err);
}

const char *embi_words_refuses(emb_str token)
{
    return !token.s ? "this one has none" : token.n == 0 ? "this one is empty" : NULL;
}

emb_status embi_words_token(const struct embi_sink *s, emb_str token, uint64_t row, emb_err *err)
{
    const char *why = embi_words_refuses(token);
    if (!why)
        return embi_sink_check_token(s, token, row, err);
    return embi_fail(err, EMB_BAD_DATA, (int64_t)row,
                     "row %" PRIu64 ": %s needs a token for every row, %s", row, s->format->name,
                     why);
}
