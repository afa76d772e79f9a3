/* encode_normal.c - what each normaliser does to a text; see encode_normal.h.
 *
 * Whether a text still begins with what the whole text began with follows the reference library
 * (tokenizers), whose word splitters ask for it.
 */
#include "model/encode_normal.h"

#include "model/encode_text.h"
#include "util/err.h"
#include "util/utf8.h"

#include <stdlib.h>

/* One step on its way: in becomes out. */
struct work {
    const struct embi_normal *step;
    const char *s; /* [n] */
    size_t n;
    struct embi_buf out;
    bool *first;
};

static void form(struct work *w)
{
    embi_unicode_normalize(&w->out, w->step->form, w->s, w->n);
}

/* Calls put for each character, which says whether it stays (in whatever form). */
static void each(struct work *w, bool (*put)(struct embi_buf *out, uint32_t c))
{
    uint32_t c;
    bool any = false;
    for (size_t at = 0; at < w->n;) {
        at += (size_t)abs(embi_utf8_decode(w->s + at, w->n - at, &c));
        bool stays = put(&w->out, c);
        if (!any && !stays)
            *w->first = false;
        any = any || stays;
    }
}

static bool put_lower(struct embi_buf *out, uint32_t c)
{
    embi_unicode_lower(out, c);
    return true;
}

static bool put_unless(struct embi_buf *out, uint32_t c, bool goes)
{
    if (!goes)
        embi_unicode_put(out, c);
    return !goes;
}

static bool put_no_mark(struct embi_buf *out, uint32_t c)
{
    return put_unless(out, c, embi_is_mark(c));
}

static void strip(struct work *w)
{
    struct embi_cuts cuts = {0};
    size_t start = 0, end = w->n;
    embi_cut_chars(embi_is_space, 0, w->s, w->n, &cuts);
    for (size_t i = 0; w->step->left && i < cuts.n && cuts.v[i].match; i++)
        start = cuts.v[i].end;
    for (size_t i = cuts.n; w->step->right && i-- > 0 && cuts.v[i].match;)
        end = cuts.v[i].start;
    if (start < end)
        embi_buf_add(&w->out, w->s + start, end - start);
    if (start > 0)
        *w->first = false;
    w->out.failed |= cuts.failed;
    embi_cuts_free(&cuts);
}

static void prepend(struct work *w)
{
    if (w->n > 0)
        embi_buf_add(&w->out, w->step->text.s, w->step->text.n);
    embi_buf_add(&w->out, w->s, w->n);
}

/* What replaces a match counts as where the last character of the match was. */
static emb_status replace(struct work *w, emb_err *err)
{
    struct embi_cuts cuts = {0};
    emb_status status = w->n ? embi_cut_regex(w->step->pattern, w->s, w->n, &cuts, err) : EMB_OK;
    for (size_t i = 0; i < cuts.n && w->out.n <= EMBI_TEXT_MOST; i++) {
        const struct embi_cut *cut = &cuts.v[i];
        if (!cut->match) {
            embi_buf_add(&w->out, w->s + cut->start, cut->end - cut->start);
            continue;
        }
        uint32_t c;
        bool one = cut->end == 0 || (size_t)abs(embi_utf8_decode(w->s, w->n, &c)) == cut->end;
        if (cut->start == 0 && cut->end > 0 && (!one || w->step->text.n == 0))
            *w->first = false;
        embi_buf_add(&w->out, w->step->text.s, w->step->text.n);
    }
    w->out.failed |= cuts.failed;
    embi_cuts_free(&cuts);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Nmt
 */

static bool is_nmt_control(uint32_t c)
{
    return (c >= 1 && c <= 8) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
           c == 0x9F;
}

static bool is_nmt_blank(uint32_t c)
{
    return c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

static bool put_nmt(struct embi_buf *out, uint32_t c)
{
    return put_unless(out, is_nmt_blank(c) ? ' ' : c, is_nmt_control(c));
}

/* ------------------------------------------------------------------------------------------------
 * BertNormalizer
 */

static bool put_clean(struct embi_buf *out, uint32_t c)
{
    bool kept = c == '\t' || c == '\n' || c == '\r';
    bool goes = !kept && (c == 0 || c == 0xFFFD || embi_is_other(c));
    return put_unless(out, embi_is_space(c) ? ' ' : c, goes);
}

/* The ranges of the reference library, whose 2B920 is 2B820 in BERT's own code. */
static bool is_chinese(uint32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static bool put_spaced(struct embi_buf *out, uint32_t c)
{
    bool spaced = is_chinese(c);
    embi_buf_text(out, spaced ? " " : "");
    embi_unicode_put(out, c);
    embi_buf_text(out, spaced ? " " : "");
    return true;
}

static bool put_no_accent(struct embi_buf *out, uint32_t c)
{
    return put_unless(out, c, embi_is_mark_nonspacing(c));
}

/* One of the four parts: what it makes of w->s goes into w->out, and is w->s for the next. */
static void bert_part(struct work *w, struct embi_buf *kept,
                      bool (*put)(struct embi_buf *out, uint32_t c))
{
    w->out.n = 0;
    each(w, put);
    struct embi_buf swap = *kept;
    *kept = w->out;
    w->out = swap;
    w->s = kept->s;
    w->n = kept->n;
}

static void bert(struct work *w)
{
    const struct embi_normal *step = w->step;
    struct embi_buf kept = {0}, decomposed = {0};
    if (step->clean)
        bert_part(w, &kept, put_clean);
    if (step->chinese)
        bert_part(w, &kept, put_spaced);
    if (step->accents) {
        embi_unicode_normalize(&decomposed, EMBI_NFD, w->s, w->n);
        w->s = decomposed.s;
        w->n = decomposed.n;
        bert_part(w, &kept, put_no_accent);
    }
    if (step->lower)
        bert_part(w, &kept, put_lower);
    w->out.n = 0;
    embi_buf_add(&w->out, w->s, w->n);
    w->out.failed |= kept.failed || decomposed.failed;
    embi_buf_free(&kept);
    embi_buf_free(&decomposed);
}

/* ------------------------------------------------------------------------------------------------
 * All steps
 */

static emb_status apply(struct work *w, emb_err *err)
{
    switch (w->step->kind) {
    case EMBI_NORMAL_FORM: form(w); break;
    case EMBI_NORMAL_LOWER: each(w, put_lower); break;
    case EMBI_NORMAL_ACCENTS: each(w, put_no_mark); break;
    case EMBI_NORMAL_STRIP: strip(w); break;
    case EMBI_NORMAL_PREPEND: prepend(w); break;
    case EMBI_NORMAL_REPLACE: return replace(w, err);
    case EMBI_NORMAL_BERT: bert(w); break;
    case EMBI_NORMAL_NMT: each(w, put_nmt); break;
    case EMBI_NORMAL_PRECOMPILED: embi_charsmap_apply(&w->step->map, w->s, w->n, &w->out); break;
    case EMBI_NORMAL_BYTES: embi_bytes_put(&w->out, w->s, w->n); break;
    }
    return EMB_OK;
}

emb_status embi_normals_apply(const struct embi_normals *normals, struct embi_buf *text,
                              bool *first, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < normals->n; i++) {
        struct work w = {&normals->v[i], text->s, text->n, {0}, first};
        status = apply(&w, err);
        if (!status && w.out.failed)
            status = embi_fail_memory(err, text->n, "a text");
        if (!status && w.out.n > EMBI_TEXT_MOST)
            status = embi_fail(err, EMB_UNSUPPORTED, -1, "the text grows beyond measure");
        embi_buf_free(text);
        *text = w.out;
    }
    return status;
}
