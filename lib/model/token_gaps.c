/* token_gaps.c - see token_gaps.h.
 *
 * With a tokenizer.json the loaders' rule is followed entry by entry: next = the number of entries
 * of the vocabulary; an added token that is none of them gets next, and next grows. A hole inside
 * the vocabulary makes next too small from the start, a gap in front of an added token moves that
 * token. Without a tokenizer.json loaders build one from the vocabulary file by the same rule, and
 * every id below the next one has to have a token.
 */
#include "model/token_gaps.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_FILLS = 1 << 16 };

/* Says what is the matter first; later findings follow from it or come on another run. */
static void EMBI_PRINTF(2, 3) say(struct embi_token_sources *s, const char *format, ...)
{
    va_list args;
    if (s->gap[0])
        return;
    va_start(args, format);
    (void)vsnprintf(s->gap, sizeof s->gap, format, args);
    va_end(args);
}

static emb_status push(struct embi_token_sources *s, const struct embi_token_fill *fill,
                       emb_err *err)
{
    if (s->n_fills == s->fills_capacity) {
        size_t capacity = s->fills_capacity ? 2 * s->fills_capacity : 16;
        struct embi_token_fill *fills = realloc(s->fills, capacity * sizeof *fills);
        if (!fills)
            return embi_fail_memory(err, capacity * sizeof *fills, "missing tokens");
        s->fills = fills;
        s->fills_capacity = capacity;
    }
    s->fills[s->n_fills++] = *fill;
    return EMB_OK;
}

/* The files that have a list without this text; s NULL: all that have one. */
static unsigned lists_without(const struct embi_token_sources *s, emb_str text)
{
    unsigned files = 0;
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++)
        if (s->lists[f].found && (!text.s || !embi_token_list_find(&s->lists[f], text)))
            files |= EMBI_TOKENS_BIT(f);
    return files;
}

/* Ids first .. end-1 of which `before` is the entry that follows in tokenizer.json. */
static emb_status fill_ids(struct embi_token_sources *s, uint64_t first, uint64_t end,
                           bool in_vocab, const struct embi_token_entry *before, emb_err *err)
{
    emb_status status = EMB_OK;
    if (end - first > MOST_FILLS - s->n_fills)
        s->unfillable = true;
    for (uint64_t id = first; !status && !s->unfillable && id < end; id++) {
        const struct embi_token_ref *known = embi_token_sources_at(s, id);
        struct embi_token_fill fill = {.id = id, .in_vocab = in_vocab, .before = before};
        if (known) {
            fill.text = known->entry->text;
            fill.flags = known->entry->flags;
        }
        fill.files = in_vocab ? 0 : lists_without(s, fill.text);
        status = push(s, &fill, err);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * With a tokenizer.json
 */

/* Holes inside model.vocab: from there on loaders count too low. */
static emb_status find_holes(struct embi_token_sources *s, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    emb_status status = EMB_OK;
    if (s->entries == s->n_base)
        return EMB_OK;
    say(s,
        "tokenizer.json: the vocabulary has %" PRIu64 " entries, its largest id is %" PRIu64
        " ('%s'): loaders would give a new token the id %" PRIu64,
        s->entries, s->n_base ? s->n_base - 1 : 0,
        embi_show(shown, s->n_base ? s->base[s->n_base - 1] : (emb_str){0}), s->entries);
    if (s->entries > s->n_base)
        s->unfillable = true;
    for (uint64_t id = 0; !status && !s->unfillable && id < s->n_base; id++)
        if (!s->base[id].s)
            status = fill_ids(s, id, id + 1, true, NULL, err);
    return status;
}

/* The range of ids that loaders leave out when they come to `entry`. */
static void say_moved(struct embi_token_sources *s, const struct embi_token_entry *entry,
                      uint64_t next)
{
    char shown[EMBI_SHOW_MAX];
    const char *text = embi_show(shown, entry->text);
    if (entry->id == next + 1)
        say(s,
            "tokenizer.json: '%s' has the id %" PRIu64 ", but loaders give it %" PRIu64
            ", an id that no token before it has",
            text, entry->id, next);
    else if (entry->id > next)
        say(s,
            "tokenizer.json: '%s' has the id %" PRIu64 ", but loaders give it %" PRIu64
            ": no token before it has the ids %" PRIu64 " to %" PRIu64,
            text, entry->id, next, next, entry->id - 1);
    else
        say(s,
            "tokenizer.json: '%s' has the id %" PRIu64 ", but loaders give it %" PRIu64
            ": the added tokens are not in the order of their ids",
            text, entry->id, next);
}

/* Is the token of that id one of model.vocab, or will it be when holes are filled? */
static bool in_vocab(const struct embi_token_sources *s, const struct embi_token_entry *entry)
{
    return entry->id < s->n_base;
}

static bool seen_before(const struct embi_token_list *list, size_t i)
{
    return embi_token_list_find(list, list->items[i].text) != &list->items[i];
}

static emb_status follow_rule(struct embi_token_sources *s, uint64_t *next, emb_err *err)
{
    const struct embi_token_list *list = &s->lists[EMBI_TOKENS_OF_JSON];
    emb_status status = EMB_OK;
    *next = s->n_base;
    for (size_t i = 0; !status && !s->unfillable && i < list->n; i++) {
        const struct embi_token_entry *entry = &list->items[i];
        if (in_vocab(s, entry) || seen_before(list, i))
            continue;
        if (entry->id != *next)
            say_moved(s, entry, *next);
        if (entry->id < *next)
            s->unfillable = true;
        else
            status = fill_ids(s, *next, entry->id, false, entry, err);
        *next = entry->id + 1;
    }
    return status;
}

/* Tokens behind all of tokenizer.json's that other files have. */
static emb_status find_behind(struct embi_token_sources *s, uint64_t next, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    if (s->unfillable || next >= s->next_id)
        return EMB_OK;
    const struct embi_token_ref *last = embi_token_sources_at(s, s->next_id - 1);
    if (last)
        say(s, "'%s' (id %" PRIu64 ") stands in %s, but not in tokenizer.json",
            embi_show(shown, last->entry->text), last->entry->id, last->list->file);
    return fill_ids(s, next, s->next_id, false, NULL, err);
}

/* Some loaders take added tokens from the decoder alone, where there is one. */
static emb_status find_missing_in_decoder(struct embi_token_sources *s, emb_err *err)
{
    const struct embi_token_list *json = &s->lists[EMBI_TOKENS_OF_JSON],
                                 *decoder = &s->lists[EMBI_TOKENS_OF_CONFIG];
    char shown[EMBI_SHOW_MAX];
    emb_status status = EMB_OK;
    for (size_t i = 0; decoder->found && !status && !s->unfillable && i < json->n; i++) {
        const struct embi_token_entry *entry = &json->items[i];
        if (in_vocab(s, entry) || embi_token_list_find(decoder, entry->text) ||
            seen_before(json, i))
            continue;
        say(s, "'%s' (id %" PRIu64 ") stands in tokenizer.json, but not in tokenizer_config.json",
            embi_show(shown, entry->text), entry->id);
        struct embi_token_fill fill = {.id = entry->id,
                                       .text = entry->text,
                                       .flags = entry->flags,
                                       .files = EMBI_TOKENS_BIT(EMBI_TOKENS_OF_CONFIG)};
        status = push(s, &fill, err);
    }
    return status;
}

static emb_status find_in_json(struct embi_token_sources *s, emb_err *err)
{
    uint64_t next;
    emb_status status = find_holes(s, err);
    if (!status)
        status = follow_rule(s, &next, err);
    if (!status)
        status = find_behind(s, next, err);
    if (!status)
        status = find_missing_in_decoder(s, err);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Without
 */

static emb_status find_without_json(struct embi_token_sources *s, emb_err *err)
{
    uint64_t vocab_end = s->n_base;
    emb_status status = EMB_OK;
    while (vocab_end > 0 && (!s->base[vocab_end - 1].s || embi_token_sources_at(s, vocab_end - 1)))
        vocab_end--;
    for (uint64_t id = 0; !status && !s->unfillable && id < s->n_base; id++) {
        if (s->base[id].s)
            continue;
        say(s,
            "no token has the id %" PRIu64 ", but the largest is %" PRIu64
            ": loaders would number the tokens behind it differently",
            id, s->n_base - 1);
        if (id < vocab_end)
            s->unfillable = true;
        else
            status = fill_ids(s, id, id + 1, false, NULL, err);
    }
    return status;
}

emb_status embi_token_gaps_find(struct embi_token_sources *s, emb_err *err)
{
    return s->json ? find_in_json(s, err) : find_without_json(s, err);
}
