/* text_tokens.c - word vectors as text: the tokens of all rows, by all threads.
 *
 * The last d fields are numbers, whatever stands before them. Where that is one field the walk has
 * found it; else the fields of the line are counted. Tokens are looked at again and again by who
 * searches and writes: those that lie far apart, with numbers between them, are copied to one
 * place.
 */
#include "fmt/text.h"

#include "num/decimal.h"
#include "util/err.h"
#include "util/large.h"
#include "util/loop.h"

#include <inttypes.h>
#include <stdlib.h>

enum { APART = 8, AHEAD_ROWS = 16 };

/* Tokens whose last word is a number: they are possible ("Apollo 11"), but so is a row with a value
 * too many, which then has a wrong token and wrong numbers. */
struct suspects {
    uint64_t n, row; /* the first one's */
};

/* Rows are taken in pieces. */
struct job {
    const struct embi_reader *r;
    emb_str *tokens; /* [V] */
    uint64_t rows_of_piece;
    struct suspects *suspects; /* [pieces] */
    uint64_t *bytes;           /* [pieces], of their tokens */
    char *copies;              /* of all tokens, one after another */
};

static uint64_t begin_of(const struct job *j, size_t piece)
{
    return piece * j->rows_of_piece;
}

static uint64_t end_of(const struct job *j, size_t piece)
{
    return embi_min(begin_of(j, piece) + j->rows_of_piece, j->r->rows);
}

/* ------------------------------------------------------------------------------------------------
 * Cutting
 */

static bool ends_in_number(emb_str token)
{
    size_t at = token.n;
    float x;
    while (at > 0 && !embi_words_blank(token.s[at - 1]))
        at--;
    return embi_read_f32(token.s + at, token.n - at, &x);
}

/* A row whose line does not just have d fields behind the first. */
static emb_status cut_odd_row(const struct job *j, uint64_t row, struct suspects *s, emb_err *err)
{
    size_t found;
    const emb_str line = embi_text_line(j->r, row);
    const char *values = embi_line_values(line.s, line.n, j->r->dims, &found);
    if (!values)
        return embi_text_too_few(j->r, row, found, err);
    j->tokens[row] = (emb_str){line.s, (size_t)(values - line.s) - 1};
    if (found > j->r->dims && ends_in_number(j->tokens[row]) && s->n++ == 0)
        s->row = row;
    return EMB_OK;
}

static emb_status cut_piece(void *arg, size_t piece, int worker, emb_err *err)
{
    const struct job *j = arg;
    const struct embi_text *t = j->r->state;
    emb_status status = EMB_OK;
    (void)worker;
    for (uint64_t row = begin_of(j, piece); row < end_of(j, piece) && !status; row++) {
        j->tokens[row] = (emb_str){t->data + j->r->row_offsets[row], t->cuts[row]};
        if (t->cuts[row] == EMBI_TEXT_UNCUT)
            status = cut_odd_row(j, row, &j->suspects[piece], err);
        j->bytes[piece] += j->tokens[row].n;
    }
    return status;
}

static emb_status report(const struct job *j, size_t pieces, emb_err *err)
{
    const struct embi_reader *r = j->r;
    struct suspects all = {0};
    char shown[EMBI_SHOW_MAX];
    for (size_t i = 0; i < pieces; i++) {
        if (all.n == 0)
            all.row = j->suspects[i].row;
        all.n += j->suspects[i].n;
    }
    if (all.n == 0)
        return EMB_OK;
    embi_show(shown, j->tokens[all.row]);
    if (r->opts.strict) {
        embi_fail(err, EMB_BAD_DATA, (int64_t)all.row,
                  "the token '%s' ends with a number: more than %" PRIu32 " values?", shown,
                  r->dims);
        return embi_text_fail_in(r, all.row, err);
    }
    embi_log(r->env, EMB_LOG_WARNING, r->path,
             "%" PRIu64 " of the tokens end with a number, the first is '%s' in line %" PRIu64
             ": has it more than %" PRIu32 " values?",
             all.n, shown, embi_text_line_number(r->state, all.row), r->dims);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Copying
 */

static emb_status copy_piece(void *arg, size_t piece, int worker, emb_err *err)
{
    const struct job *j = arg;
    char *to = j->copies + j->bytes[piece];
    const uint64_t end = end_of(j, piece);
    (void)worker;
    (void)err;
    for (uint64_t row = begin_of(j, piece); row < end; row++) {
        emb_str *token = &j->tokens[row];
        __builtin_prefetch(j->tokens[embi_min(row + AHEAD_ROWS, end - 1)].s);
        if (token->n > 0)
            memcpy(to, token->s, token->n);
        token->s = to;
        to += token->n;
    }
    return EMB_OK;
}

static emb_status bring_together(struct job *j, size_t pieces, struct embi_reader *r, emb_err *err)
{
    uint64_t all = 0;
    for (size_t i = 0; i < pieces; i++) {
        uint64_t n = j->bytes[i];
        j->bytes[i] = all; /* where its tokens begin, from now on */
        all += n;
    }
    if (all > r->io->size / APART)
        return EMB_OK;
    r->token_bytes = j->copies = embi_large_alloc(all + 1);
    if (!j->copies)
        return embi_fail_memory(err, all, "tokens");
    return embi_loop(r->env->pool, pieces, copy_piece, j, err);
}

/* ------------------------------------------------------------------------------------------------
 * All
 */

/* So many rows take about the bytes of a piece. */
static uint64_t rows_of_piece(const struct embi_reader *r)
{
    const struct embi_text *t = r->state;
    if (r->rows == 0)
        return 1;
    uint64_t bytes = r->row_offsets[r->rows - 1] - r->row_offsets[0];
    return embi_max(1, t->piece_bytes / (bytes / r->rows + 1));
}

emb_status embi_text_tokens(struct embi_reader *r, emb_err *err)
{
    struct job j = {.r = r, .rows_of_piece = rows_of_piece(r)};
    const size_t pieces = (size_t)((r->rows + j.rows_of_piece - 1) / j.rows_of_piece);
    emb_status status = EMB_OK;
    j.tokens = embi_large_alloc((r->rows + 1) * sizeof *j.tokens);
    j.suspects = calloc(pieces + 1, sizeof *j.suspects);
    j.bytes = calloc(pieces + 1, sizeof *j.bytes);
    if (!j.tokens || !j.suspects || !j.bytes)
        status = embi_fail_memory(err, r->rows * sizeof *j.tokens, "tokens");
    if (!status)
        status = embi_loop(r->env->pool, pieces, cut_piece, &j, err);
    if (!status)
        status = report(&j, pieces, err);
    if (!status)
        status = bring_together(&j, pieces, r, err);
    if (status)
        free(j.tokens);
    else
        r->tokens = j.tokens;
    free(j.suspects);
    free(j.bytes);
    return status;
}
