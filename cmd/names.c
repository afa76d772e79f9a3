/* names.c - reads ids strictly, and finds tokens with a word about what they were taken for.
 */
#include "names.h"
#include "miss.h"

#include <inttypes.h>
#include <string.h>

enum id_text id_read(const char *s, size_t n, uint64_t rows, uint64_t *id)
{
    uint64_t x = 0;
    bool negative = n && s[0] == '-', fits = true;
    size_t at = negative;
    if (at == n)
        return ID_NONE;
    for (; at < n; at++) {
        if (s[at] < '0' || s[at] > '9')
            return ID_NONE;
        fits = fits && !__builtin_mul_overflow(x, 10u, &x) &&
               !__builtin_add_overflow(x, (uint64_t)(s[at] - '0'), &x);
    }
    if (negative || !fits || x >= rows)
        return ID_OUTSIDE;
    *id = x;
    return ID_OK;
}

const char *id_range(char out[RANGE_MAX], uint64_t rows)
{
    if (rows)
        snprintf(out, RANGE_MAX, "0..%" PRIu64, rows - 1);
    else
        snprintf(out, RANGE_MAX, "a table of no rows");
    return out;
}

int id_span(struct run *run, const char *text, uint64_t rows, uint64_t *first, uint64_t *last)
{
    char range[RANGE_MAX];
    const char *dots = strstr(text, "..");
    const char *end = dots ? dots + 2 : text;
    enum id_text a = id_read(text, dots ? (size_t)(dots - text) : strlen(text), rows, first);
    enum id_text b = id_read(end, strlen(end), rows, last);
    if (a == ID_NONE || b == ID_NONE)
        return usage_error(run, "--id %s: expected an id or a range such as 0..99", text);
    if (a == ID_OUTSIDE || b == ID_OUTSIDE)
        return fail_with(run, EXIT_DATA, NULL, "--id %s: outside %s", text, id_range(range, rows));
    if (*first > *last)
        return usage_error(run, "--id %s: the range is empty", text);
    return EXIT_DONE;
}

const char *word_show(char out[WORD_MAX], const char *s, size_t n)
{
    static const char nul[] = "\\x00";
    size_t used = 0;
    for (size_t i = 0; i < n && used + sizeof nul < WORD_MAX; i++) {
        size_t bytes = s[i] ? 1 : sizeof nul - 1;
        memcpy(out + used, s[i] ? s + i : nul, bytes);
        used += bytes;
    }
    out[used] = 0;
    return out;
}

bool shows_text(const struct run *run)
{
    const struct common *c = run->common;
    if (c->pieces)
        return strcmp(c->pieces, "text") == 0;
    return run->out_tty && (!c->output || strcmp(c->output, "-") == 0);
}

bool row_token(const emb_table *table, uint64_t row, bool text, emb_str *token)
{
    emb_err err;
    return (text && emb_table_text(table, row, token, &err) == EMB_OK) ||
           emb_table_token(table, row, token, &err) == EMB_OK;
}

int load_tokens(struct run *run, const emb_table *table, const emb_table_info *info)
{
    emb_str token;
    emb_err err;
    if (!info->has_tokens || info->rows == 0)
        return EXIT_DONE;
    emb_status status = emb_table_token(table, 0, &token, &err);
    return status == EMB_OK || status == EMB_NOT_FOUND ? EXIT_DONE
                                                       : fail(run, run->table_name, &err);
}

bool row_is_spelt(const emb_table *table, uint64_t row, emb_str word)
{
    emb_str s;
    emb_err err;
    return (emb_table_token(table, row, &s, &err) == EMB_OK && embi_str_equal(s, word)) ||
           (emb_table_text(table, row, &s, &err) == EMB_OK && embi_str_equal(s, word));
}

int find_token(struct run *run, const emb_table *table, emb_str word, uint64_t *row)
{
    emb_err err;
    emb_str token;
    char typed[WORD_MAX], found[WORD_MAX];
    emb_status status = emb_table_resolve(table, word, row, &err);
    if (status == EMB_NOT_FOUND && err.at >= 0) /* it has an id, but no row */
        return fail(run, NULL, &err);
    if (status == EMB_NOT_FOUND)
        return miss_say(run, table, word);
    if (status == EMB_OK)
        status = emb_table_token(table, *row, &token, &err);
    if (status != EMB_OK)
        return fail(run, run->table_name, &err);
    word_show(typed, word.s, word.n);
    word_show(found, token.s, token.n);
    if (run->common->strict && !row_is_spelt(table, *row, word))
        return fail_with(run, EXIT_NO, NULL,
                         "%s: not in the vocabulary; without --strict the row of %s answers", typed,
                         found);
    if (!embi_str_equal(token, word))
        note(run, NULL, "%s: the row of %s answers", typed, found);
    return EXIT_DONE;
}
