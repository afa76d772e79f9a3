/* encode_split.c - what each of the steps does to parts of text; see encode_split.h. */
#include "model/encode_split.h"

#include "util/err.h"
#include "util/unicode.h"
#include "util/utf8.h"

#include <stdlib.h>

/* Appends the parts of s [n] between the cuts. */
static void add_cuts(const struct embi_cuts *cuts, const char *s, bool first,
                     struct embi_parts *out)
{
    for (size_t i = 0; i < cuts->n; i++) {
        const struct embi_cut *cut = &cuts->v[i];
        if (!cut->match)
            embi_parts_add(out, s + cut->start, cut->end - cut->start, first && cut->start == 0,
                           EMBI_NO_PIECE);
    }
    out->failed = out->failed || cuts->failed;
}

/* Parts s [n] at the characters or the pattern of the step. */
static emb_status part_text(const struct embi_split *step, const char *s, size_t n, bool first,
                            struct embi_parts *out, emb_err *err)
{
    struct embi_cuts cuts = {0};
    emb_status status = EMB_OK;
    if (step->pattern)
        status = embi_cut_regex(step->pattern, s, n, &cuts, err);
    else
        embi_cut_chars(step->chars, step->c, s, n, &cuts);
    for (size_t i = 0; step->invert && i < cuts.n; i++)
        cuts.v[i].match = !cuts.v[i].match;
    embi_cuts_join(&cuts, step->behavior);
    if (!status)
        add_cuts(&cuts, s, first, out);
    embi_cuts_free(&cuts);
    return status;
}

static void part_bert(const char *s, size_t n, bool first, struct embi_parts *out)
{
    struct embi_cuts words = {0};
    embi_cut_chars(embi_is_space, 0, s, n, &words);
    for (size_t i = 0; i < words.n; i++) {
        struct embi_cuts cuts = {0};
        const struct embi_cut *word = &words.v[i];
        if (!word->match)
            embi_cut_chars(embi_is_punctuation, 0, s + word->start, word->end - word->start, &cuts);
        embi_cuts_join(&cuts, EMBI_CUT_ISOLATED);
        add_cuts(&cuts, s + word->start, first && word->start == 0, out);
        embi_cuts_free(&cuts);
    }
    out->failed = out->failed || words.failed;
    embi_cuts_free(&words);
}

/* The parts of `words` with bytes as characters. */
static void put_bytes(const struct embi_parts *words, struct embi_parts *out)
{
    for (size_t i = 0; i < words->n; i++) {
        struct embi_buf bytes = {0};
        embi_bytes_put(&bytes, words->text.s + words->v[i].at, words->v[i].n);
        embi_parts_add(out, bytes.s, bytes.n, words->v[i].first, EMBI_NO_PIECE);
        out->failed = out->failed || bytes.failed;
        embi_buf_free(&bytes);
    }
    out->failed = out->failed || words->failed;
}

static emb_status part_bytes(const struct embi_split *step, const char *s, size_t n, bool first,
                             struct embi_parts *out, emb_err *err)
{
    struct embi_parts words = {0};
    struct embi_buf text = {0};
    emb_status status = EMB_OK;
    if (step->prefix && s[0] != ' ')
        embi_buf_byte(&text, ' ');
    embi_buf_add(&text, s, n);
    if (step->pattern && !text.failed)
        status = part_text(step, text.s, text.n, first, &words, err);
    else
        embi_parts_add(&words, text.s, text.n, first, EMBI_NO_PIECE);
    if (!status)
        put_bytes(&words, out);
    out->failed = out->failed || text.failed;
    embi_buf_free(&text);
    embi_parts_free(&words);
    return status;
}

static emb_status part_meta(const struct embi_split *step, const char *s, size_t n, bool first,
                            struct embi_parts *out, emb_err *err)
{
    struct embi_buf text = {0};
    char mark[EMBI_UTF8_MAX_BYTES];
    size_t bytes = embi_utf8_encode(step->c, mark);
    bool marked = n >= bytes && memcmp(s, mark, bytes) == 0;
    bool prepend = step->meta == EMBI_META_ALWAYS || (step->meta == EMBI_META_FIRST && first);
    if (prepend && !marked && s[0] != ' ')
        embi_buf_add(&text, mark, bytes);
    for (size_t i = 0; i < n; i++) {
        bool blank = s[i] == ' ';
        embi_buf_add(&text, blank ? mark : s + i, blank ? bytes : 1);
    }
    emb_status status = EMB_OK;
    if (text.failed)
        out->failed = true;
    else if (step->parts)
        status = part_text(step, text.s, text.n, first, out, err);
    else
        embi_parts_add(out, text.s, text.n, first, EMBI_NO_PIECE);
    embi_buf_free(&text);
    return status;
}

static void part_length(const struct embi_split *step, const char *s, size_t n, bool first,
                        struct embi_parts *out)
{
    for (size_t at = 0; at < n;) {
        size_t end = at;
        uint32_t c;
        for (uint64_t i = 0; i < step->length && end < n; i++)
            end += (size_t)abs(embi_utf8_decode(s + end, n - end, &c));
        embi_parts_add(out, s + at, end - at, first && at == 0, EMBI_NO_PIECE);
        at = end;
    }
}

static emb_status part_by_kind(const struct embi_split *step, const char *s, size_t n, bool first,
                               struct embi_parts *out, emb_err *err)
{
    switch (step->kind) {
    case EMBI_SPLIT_PATTERN:
    case EMBI_SPLIT_CHARS: return part_text(step, s, n, first, out, err);
    case EMBI_SPLIT_BYTES: return part_bytes(step, s, n, first, out, err);
    case EMBI_SPLIT_META: return part_meta(step, s, n, first, out, err);
    case EMBI_SPLIT_BERT: part_bert(s, n, first, out); break;
    case EMBI_SPLIT_LENGTH: part_length(step, s, n, first, out); break;
    }
    return EMB_OK;
}

static emb_status check_growth(const struct embi_parts *out, emb_err *err)
{
    return out->text.n > EMBI_TEXT_MOST
               ? embi_fail(err, EMB_UNSUPPORTED, -1, "the text grows beyond measure")
               : EMB_OK;
}

static emb_status part_one(const void *step, const char *s, size_t n, bool first,
                           struct embi_parts *out, emb_err *err)
{
    emb_status status = part_by_kind(step, s, n, first, out, err);
    return status ? status : check_growth(out, err);
}

emb_status embi_splits_apply(const struct embi_splits *splits, struct embi_parts *parts,
                             emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < splits->n; i++) {
        struct embi_parts out = {0};
        status = embi_parts_each(parts, part_one, &splits->v[i], &out, err);
        if (!status) /* added tokens count as well */
            status = check_growth(&out, err);
        embi_parts_free(parts);
        *parts = out;
    }
    return status;
}
