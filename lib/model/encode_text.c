/* encode_text.c - see encode_text.h. */
#include "model/encode_text.h"

#include "util/err.h"
#include "util/unicode.h"
#include "util/utf8.h"

#include <stdlib.h>

/* Room for one more item in a list; false without memory. */
static bool grow(void **v, size_t n, size_t *cap, size_t bytes)
{
    if (n < *cap)
        return true;
    size_t more = *cap ? 2 * *cap : 16;
    void *grown = realloc(*v, more * bytes);
    if (!grown)
        return false;
    *v = grown;
    *cap = more;
    return true;
}

void embi_parts_add(struct embi_parts *parts, const char *s, size_t n, bool first, uint32_t id)
{
    void *v = parts->v;
    if (n == 0)
        return;
    parts->failed = parts->failed || !grow(&v, parts->n, &parts->cap, sizeof *parts->v);
    parts->v = v;
    size_t at = parts->text.n;
    embi_buf_add(&parts->text, s, n);
    parts->failed = parts->failed || parts->text.failed;
    if (!parts->failed)
        parts->v[parts->n++] = (struct embi_part){at, n, id, first};
}

void embi_parts_free(struct embi_parts *parts)
{
    embi_buf_free(&parts->text);
    free(parts->v);
    *parts = (struct embi_parts){0};
}

emb_status embi_parts_each(const struct embi_parts *in, embi_part_fn *fn, const void *step,
                           struct embi_parts *out, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < in->n; i++) {
        const struct embi_part *part = &in->v[i];
        const char *s = in->text.s + part->at;
        if (part->id != EMBI_NO_PIECE)
            embi_parts_add(out, s, part->n, part->first, part->id);
        else
            status = fn(step, s, part->n, part->first, out, err);
    }
    return !status && (in->failed || out->failed) ? embi_fail_memory(err, in->text.n, "a text")
                                                  : status;
}

/* ------------------------------------------------------------------------------------------------
 * Cuts
 */

void embi_cuts_add(struct embi_cuts *cuts, size_t start, size_t end, bool match)
{
    void *v = cuts->v;
    cuts->failed = cuts->failed || !grow(&v, cuts->n, &cuts->cap, sizeof *cuts->v);
    cuts->v = v;
    if (!cuts->failed)
        cuts->v[cuts->n++] = (struct embi_cut){start, end, match};
}

void embi_cuts_free(struct embi_cuts *cuts)
{
    free(cuts->v);
    *cuts = (struct embi_cuts){0};
}

static size_t char_bytes(const char *s, size_t n)
{
    uint32_t c;
    return (size_t)abs(embi_utf8_decode(s, n, &c));
}

emb_status embi_cut_regex(const struct embi_regex *regex, const char *s, size_t n,
                          struct embi_cuts *cuts, emb_err *err)
{
    size_t from = 0, before = 0, start, end;
    bool found = true, any = false;
    while (found && from <= n) {
        emb_status status = embi_regex_search(regex, s, n, from, &found, &start, &end, err);
        if (status)
            return status;
        if (!found)
            break;
        if (start == end && any && end == before) {
            from = end + (end < n ? char_bytes(s + end, n - end) : 1);
            continue;
        }
        if (before < start)
            embi_cuts_add(cuts, before, start, false);
        embi_cuts_add(cuts, start, end, true);
        before = from = end;
        any = true;
    }
    if (before < n)
        embi_cuts_add(cuts, before, n, false);
    return EMB_OK;
}

void embi_cut_chars(bool (*kind)(uint32_t), uint32_t c, const char *s, size_t n,
                    struct embi_cuts *cuts)
{
    size_t before = 0, bytes;
    uint32_t here;
    for (size_t at = 0; at < n; at += bytes) {
        bytes = (size_t)abs(embi_utf8_decode(s + at, n - at, &here));
        if (kind ? !kind(here) : here != c)
            continue;
        if (before < at)
            embi_cuts_add(cuts, before, at, false);
        before = at + bytes;
        embi_cuts_add(cuts, at, before, true);
    }
    if (before < n)
        embi_cuts_add(cuts, before, n, false);
}

/* Does a cut go into the one before it (in the direction of the walk)? */
static bool joins(enum embi_cut_behavior behavior, bool match, bool before)
{
    return behavior == EMBI_CUT_CONTIGUOUS ? match == before : match && !before;
}

static void join_forwards(struct embi_cuts *cuts, enum embi_cut_behavior behavior)
{
    size_t n = 0;
    bool before = false;
    for (size_t i = 0; i < cuts->n; i++) {
        struct embi_cut cut = cuts->v[i];
        if (n > 0 && joins(behavior, cut.match, before))
            cuts->v[n - 1].end = cut.end;
        else
            cuts->v[n++] = (struct embi_cut){cut.start, cut.end, false};
        before = cut.match;
    }
    cuts->n = n;
}

static void join_backwards(struct embi_cuts *cuts)
{
    size_t n = cuts->n; /* those that are done lie in v[n ..] */
    bool before = false;
    for (size_t i = cuts->n; i-- > 0;) {
        struct embi_cut cut = cuts->v[i];
        if (n < cuts->n && joins(EMBI_CUT_WITH_NEXT, cut.match, before))
            cuts->v[n].start = cut.start;
        else
            cuts->v[--n] = (struct embi_cut){cut.start, cut.end, false};
        before = cut.match;
    }
    if (n > 0)
        memmove(cuts->v, cuts->v + n, (cuts->n - n) * sizeof *cuts->v);
    cuts->n -= n;
}

void embi_cuts_join(struct embi_cuts *cuts, enum embi_cut_behavior behavior)
{
    switch (behavior) {
    case EMBI_CUT_REMOVED: break;
    case EMBI_CUT_ISOLATED:
        for (size_t i = 0; i < cuts->n; i++)
            cuts->v[i].match = false;
        break;
    case EMBI_CUT_CONTIGUOUS:
    case EMBI_CUT_WITH_PREVIOUS: join_forwards(cuts, behavior); break;
    case EMBI_CUT_WITH_NEXT: join_backwards(cuts); break;
    }
}

/* ------------------------------------------------------------------------------------------------
 * GPT-2's table
 */

/* Printable bytes are themselves; the other 68, in order, are U+0100 and on. */
static uint32_t char_of(unsigned char byte)
{
    if (byte <= 0x20)
        return 0x100u + byte;
    if (byte >= 0x7F && byte <= 0xA0)
        return 0x121u + byte - 0x7F;
    return byte == 0xAD ? 0x143 : byte;
}

void embi_bytes_put(struct embi_buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        embi_unicode_put(out, char_of((unsigned char)s[i]));
}
