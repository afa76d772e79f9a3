/* miss.c - close spellings of an unknown word, and what it may have been meant as.
 */
#include "miss.h"

#include <string.h>
#include <sys/stat.h>

enum { SUGGESTIONS = 5, COMPARED_MAX = 1 << 24 };

static const char unknown[] = "not in the vocabulary";

/* Another spelling, which with --strict may not answer, is the closest of all. */
static size_t lead_with_spelling(const emb_table *table, emb_str word, uint64_t rows[SUGGESTIONS],
                                 size_t found)
{
    uint64_t row;
    size_t at = 0;
    emb_err err;
    if (emb_table_resolve(table, word, &row, &err) != EMB_OK)
        return found;
    while (at < found && rows[at] != row)
        at++;
    if (at == found)
        found = embi_min(found + 1, SUGGESTIONS);
    memmove(rows + 1, rows, embi_min(at, found - 1) * sizeof *rows);
    rows[0] = row;
    return found;
}

/* Rows of tokens that are spelled like an unknown word, closest first; returns how many. A run that
 * compared words with very many tokens gets none, after a note: a pipe of unknown words would take
 * forever. */
static size_t find_close(struct run *run, const emb_table *table, emb_str word,
                         uint64_t rows[SUGGESTIONS])
{
    size_t found = 0;
    emb_table_info info;
    emb_err err;
    if (run->compared >= COMPARED_MAX || emb_table_describe(table, &info, &err) != EMB_OK ||
        emb_table_suggest(table, word, rows, SUGGESTIONS, &found, &err) != EMB_OK)
        return 0;
    run->compared += info.rows;
    if (run->compared >= COMPARED_MAX)
        note(run, NULL, "so many words are unknown: no more close spellings are looked for");
    return lead_with_spelling(table, word, rows, found);
}

int miss_say(struct run *run, const emb_table *table, emb_str word)
{
    uint64_t rows[SUGGESTIONS];
    size_t found = find_close(run, table, word, rows);
    emb_str token;
    emb_err err;
    struct embi_buf line = {0};
    char shown[WORD_MAX];
    embi_buf_print(&line, "%s: %s", word.n ? word_show(shown, word.s, word.n) : "''", unknown);
    for (size_t i = 0; i < found; i++) {
        if (emb_table_token(table, rows[i], &token, &err) != EMB_OK)
            continue;
        embi_buf_text(&line, i ? ", " : "; close: ");
        embi_buf_text(&line, word_show(shown, token.s, token.n));
    }
    fail_with(run, EXIT_NO, NULL, "%s", embi_buf_cstr(&line));
    embi_buf_free(&line);
    return EXIT_NO;
}

void miss_json(struct out *out, struct run *run, const emb_table *table, emb_str word)
{
    uint64_t rows[SUGGESTIONS];
    size_t found = find_close(run, table, word, rows), printed = 0;
    emb_str token;
    emb_err err;
    out_print(out, "\"error\":\"%s\",\"suggestions\":[", unknown);
    for (size_t i = 0; i < found; i++) {
        if (emb_table_token(table, rows[i], &token, &err) != EMB_OK)
            continue;
        if (printed++)
            out_byte(out, ',');
        out_json_string(out, token);
    }
    out_byte(out, ']');
}

/* `0..99`: digits, two dots, digits. */
static bool is_range(const char *text)
{
    static const char digits[] = "0123456789";
    size_t first = strspn(text, digits);
    const char *last = text + first + 2;
    return first && strncmp(text + first, "..", 2) == 0 && *last && !last[strspn(last, digits)];
}

void miss_hint(struct run *run, const char *argument)
{
    struct stat info;
    char shown[WORD_MAX];
    word_show(shown, argument, strlen(argument));
    if (is_range(argument))
        note(run, NULL, "--id %s names a range of rows", shown);
    else if (!run->common->table && stat(argument, &info) == 0 && S_ISREG(info.st_mode))
        note(run, NULL, "%s is a file: -t %s names a table", shown, shown);
}
