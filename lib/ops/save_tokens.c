/* save_tokens.c - the tokens of a table that is saved, as its target can hold them.
 *
 * They go into the file, or into one beside it, of the first kind that holds them all. A token that
 * the target cannot hold is refused with its row and the reason, or changed where that is allowed.
 */
#include "ops/save.h"

#include "fmt/sink.h"
#include "util/err.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ID_BYTES = 24, CHANGED_MAX = 4095 };

/* Who holds the tokens: the format itself, or a kind of file beside it. */
struct holder {
    const char *name;
    const char *(*refuses)(emb_str token); /* NULL: nothing */
    emb_str breaks;
};

/* Tokens that a holder cannot hold. */
struct misfits {
    uint64_t n, bytes; /* of them all */
    uint64_t row;      /* the first, and why */
    const char *why;
    uint64_t nameless; /* of the n: rows without a token, or with an empty one */
};

static const char *refusal(const struct holder *h, emb_str token)
{
    return h->refuses ? h->refuses(token) : NULL;
}

static void find_misfits(const emb_save *s, const struct holder *h, struct misfits *m)
{
    *m = (struct misfits){0};
    for (uint64_t i = 0; h->refuses && i < s->plan.rows; i++) {
        const char *why = h->refuses(s->tokens[i]);
        if (!why)
            continue;
        if (m->n++ == 0) {
            m->row = i;
            m->why = why;
        }
        m->nameless += s->tokens[i].n == 0;
        m->bytes += embi_max(s->tokens[i].n, ID_BYTES);
    }
}

/* Does the holder name this byte as one that it cannot hold? */
static bool breaks(const struct holder *h, char byte)
{
    return h->breaks.n > 0 && memchr(h->breaks.s, byte, h->breaks.n) != NULL;
}

/* The token with its offending bytes replaced, at `to`, where there is room: those that the holder
 * names, and where that is not enough those that are no UTF-8. */
static emb_str change(const struct holder *h, emb_str token, uint64_t row, char *to)
{
    if (token.n == 0)
        return (emb_str){to, (size_t)snprintf(to, ID_BYTES, "#%" PRIu64, row)};
    for (size_t i = 0; i < token.n; i++)
        to[i] = breaks(h, token.s[i]) ? '_' : token.s[i];
    emb_str changed = {to, token.n}, cut = {to, embi_min(token.n, CHANGED_MAX)};
    if (refusal(h, changed) && !refusal(h, cut))
        return cut;
    for (size_t at = 0; refusal(h, changed) && at < token.n; at++) {
        at += embi_utf8_check(to + at, token.n - at);
        if (at < token.n)
            to[at] = '_';
    }
    return changed;
}

static emb_status change_all(emb_save *s, const struct holder *h, const struct misfits *m,
                             emb_err *err)
{
    char *to = embi_buf_room(&s->changed, m->bytes);
    if (!to)
        return embi_fail_memory(err, m->bytes, "tokens");
    for (uint64_t i = 0; i < s->plan.rows; i++) {
        if (!refusal(h, s->tokens[i]))
            continue;
        s->tokens[i] = change(h, s->tokens[i], i, to);
        to += s->tokens[i].n;
    }
    return EMB_OK;
}

/* What a holder refuses is a loss, and changed. */
static emb_status fit(emb_save *s, const struct holder *h, emb_err *err)
{
    struct misfits m;
    char shown[EMBI_SHOW_MAX];
    emb_status status = EMB_OK;
    find_misfits(s, h, &m);
    if (m.nameless)
        status = embi_save_loss(s, "they are named by their numbers, as #0", err,
                                "%s needs a token for every row, and %" PRIu64
                                " have none or an empty one",
                                h->name, m.nameless);
    if (!status && m.n > m.nameless) {
        while (s->tokens[m.row].n == 0 || !(m.why = refusal(h, s->tokens[m.row])))
            m.row++;
        status =
            embi_save_loss(s, "bytes that it cannot hold become _", err,
                           "row %" PRIu64 ": %s cannot hold '%s': %s (%" PRIu64 " in all)", m.row,
                           h->name, embi_show(shown, s->tokens[m.row]), m.why, m.n - m.nameless);
    }
    return status || !m.n ? status : change_all(s, h, &m, err);
}

/* ------------------------------------------------------------------------------------------------
 * In a file beside the table
 */

static struct holder holder_beside(const struct embi_beside *kind)
{
    return (struct holder){kind->ending, kind->refuses, kind->breaks};
}

/* Does this kind hold all tokens as they are? */
static emb_status holds_all(const emb_save *s, const struct embi_beside *kind, bool *holds,
                            emb_err *err)
{
    struct holder h = holder_beside(kind);
    struct misfits m;
    size_t twin = s->plan.rows;
    emb_status status = EMB_OK;
    find_misfits(s, &h, &m);
    if (kind->unique && m.n == 0)
        status = embi_find_twin(s->tokens, s->plan.rows, &twin, err);
    *holds = m.n == 0 && twin == s->plan.rows;
    return status;
}

/* The first kind that holds them, or, where none does, the first there is: they are changed. */
static emb_status choose_beside(emb_save *s, emb_err *err)
{
    const struct embi_beside *kinds = s->format->beside, *kind;
    emb_status status = EMB_OK;
    bool holds = false;
    for (kind = kinds; kind->ending; kind++) {
        status = holds_all(s, kind, &holds, err);
        if (status || holds)
            break;
    }
    if (!status && !holds) {
        kind = kinds;
        struct holder h = holder_beside(kinds);
        status = fit(s, &h, err);
    }
    return status ? status : embi_tokens_file_plan(&s->beside, kind, s->table, s->path, err);
}

/* ------------------------------------------------------------------------------------------------
 * All
 */

static emb_status list_tokens(emb_save *s, bool *any, emb_err *err)
{
    const struct embi_vocab *vocab;
    emb_status status = embi_table_vocab(s->table, &vocab, err);
    *any = false;
    if (status)
        return status;
    s->tokens = calloc(s->plan.rows + 1, sizeof *s->tokens);
    if (!s->tokens)
        return embi_fail_memory(err, s->plan.rows * sizeof *s->tokens, "tokens");
    for (uint64_t i = 0; i < s->plan.rows; i++) {
        uint64_t row = embi_save_row(s, i);
        if (row < vocab->n)
            s->tokens[i] = vocab->tokens[row];
        *any |= s->tokens[i].s != NULL;
    }
    return EMB_OK;
}

/* What the vocabulary says of the tokens that are written. */
static emb_status take_notes(emb_save *s, emb_err *err)
{
    const struct embi_vocab_source *source = &s->table->vocab.source;
    struct embi_token_notes all = {0};
    if (!(s->format->caps & EMBI_FMT_NOTES) || !source->load || !source->notes)
        return EMB_OK;
    emb_status status = source->notes(source->state, &all, err);
    if (!status)
        status = embi_notes_pick(&all, s->o.rows, s->plan.rows, &s->notes, err);
    s->noted = status == EMB_OK;
    embi_notes_free(&all);
    return status;
}

static void drop_tokens(emb_save *s)
{
    free(s->tokens);
    s->tokens = NULL;
}

/* Is a row nothing without a token? Where tokens stand apart from the rows all may be missing. */
static bool needs_tokens(const struct embi_format *f)
{
    return !(f->caps & EMBI_FMT_TOKENS_FIRST) && f->refuses && f->refuses((emb_str){NULL, 0});
}

emb_status embi_save_tokens(emb_save *s, emb_err *err)
{
    bool any;
    struct holder own = {s->format->name, s->format->refuses, s->format->breaks};
    emb_status status = list_tokens(s, &any, err);
    if (status)
        return status;
    if ((s->format->caps & EMBI_FMT_TOKENS) && (any || needs_tokens(s->format))) {
        status = fit(s, &own, err);
        return status ? status : take_notes(s, err);
    }
    if (any && s->format->beside && embi_has_beside(s->path))
        return choose_beside(s, err);
    if (any)
        status = embi_save_loss(s, "they are left out", err, "%s holds no tokens", s->format->name);
    drop_tokens(s);
    return status;
}
