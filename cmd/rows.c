/* rows.c - reads the rows a run asks for. Arguments are all looked at before the first row is
 * handed out, so that a bad one leaves nothing half printed.
 */
#include "rows.h"
#include "miss.h"

#include <string.h>

struct span {
    uint64_t first, last;
};

/* A word that is neither the token of row number `item` nor its text. */
struct asked {
    uint64_t item;
    size_t at, n; /* in rows->words */
};

static int add_span(struct rows *rows, uint64_t first, uint64_t last)
{
    struct span span = {first, last};
    embi_buf_add(&rows->spans, &span, sizeof span);
    rows->named += last - first + 1;
    return rows->spans.failed ? fail_with(rows->run, EXIT_MEMORY, NULL, "out of memory")
                              : EXIT_DONE;
}

static int keep_word(struct rows *rows, uint64_t item, emb_str word)
{
    struct asked asked = {item, rows->words.n, word.n};
    embi_buf_add(&rows->words, word.s, word.n);
    embi_buf_add(&rows->asked, &asked, sizeof asked);
    return rows->words.failed || rows->asked.failed
               ? fail_with(rows->run, EXIT_MEMORY, NULL, "out of memory")
               : EXIT_DONE;
}

/* The row of a word, which will be row number `item`. A token that is not found is no reason to
 * stop: EXIT_NO, and *row is ROW_UNKNOWN. */
static int find(struct rows *rows, emb_str word, uint64_t item, uint64_t *row)
{
    if (!rows->info.has_tokens)
        return fail_with(
            rows->run, EXIT_DATA, rows->run->table_name,
            "the table has no tokens: name rows by id (0, 1, 2 ...), or say --vocab FILE");
    int code = find_token(rows->run, rows->table, word, row), kept = EXIT_DONE;
    if (code == EXIT_NO) {
        rows->code = EXIT_NO;
        *row = ROW_UNKNOWN;
    }
    if (rows->keep && code <= EXIT_NO &&
        !(code == EXIT_DONE && row_is_spelt(rows->table, *row, word)))
        kept = keep_word(rows, item, word);
    return worse(code, kept);
}

static int add_token(struct rows *rows, const char *s)
{
    uint64_t row = 0;
    int code = find(rows, (emb_str){s, strlen(s)}, rows->named, &row);
    if (code == EXIT_DONE || (code == EXIT_NO && rows->keep))
        return worse(code, add_span(rows, row, row));
    return code;
}

/* `7`, or `#7` as everywhere else, is an id; anything else a token. */
static int add_argument(struct rows *rows, const struct opt_item *item)
{
    char range[RANGE_MAX];
    uint64_t row;
    const char *text = item->s + (item->s[0] == '#');
    switch (id_read(text, strlen(text), rows->info.rows, &row)) {
    case ID_OK: return add_span(rows, row, row);
    case ID_OUTSIDE:
        return fail_with(rows->run, EXIT_DATA, NULL, "argument %d: id %s is outside %s", item->at,
                         text, id_range(range, rows->info.rows));
    case ID_NONE: break;
    }
    int code = add_token(rows, item->s);
    if (code == EXIT_NO || code == EXIT_DATA)
        miss_hint(rows->run, item->s);
    return code;
}

static int add_item(struct rows *rows, const struct opt_item *item)
{
    uint64_t first, last;
    if (item->tag == ROW_TOKEN)
        return add_token(rows, item->s);
    if (item->tag == 0)
        return add_argument(rows, item);
    int code = id_span(rows->run, item->s, rows->info.rows, &first, &last);
    return code ? code : add_span(rows, first, last);
}

static void begin(struct rows *rows, struct run *run, const emb_table *table,
                  const emb_table_info *info, enum rows_kind kind, bool keep)
{
    *rows = (struct rows){.run = run, .table = table, .info = *info, .kind = kind, .keep = keep};
}

int rows_of_arguments(struct rows *rows, struct run *run, const emb_table *table,
                      const emb_table_info *info, bool keep)
{
    int code = EXIT_DONE;
    begin(rows, run, table, info, ROWS_ARGUMENTS, keep);
    for (size_t i = 0; code <= EXIT_NO && i < run->items.n; i++)
        code = add_item(rows, &run->items.v[i]);
    return code == EXIT_NO ? EXIT_DONE : code; /* rows->code has it */
}

int rows_of_words(struct rows *rows, struct run *run, const emb_table *table,
                  const emb_table_info *info, const char *path, bool keep)
{
    begin(rows, run, table, info, ROWS_WORDS, keep);
    return input_open(&rows->in, run, path);
}

int rows_of_ids(struct rows *rows, struct run *run, const emb_table *table,
                const emb_table_info *info, const char *path, const char *format, bool keep)
{
    begin(rows, run, table, info, ROWS_IDS, false);
    return ids_open(&rows->ids, run, path, format, info->rows, keep);
}

void rows_close(struct rows *rows)
{
    embi_buf_free(&rows->spans);
    embi_buf_free(&rows->asked);
    embi_buf_free(&rows->words);
    if (rows->kind == ROWS_WORDS)
        input_close(&rows->in);
    if (rows->kind == ROWS_IDS)
        ids_close(&rows->ids);
}

static int read_arguments(struct rows *rows, uint64_t *out, size_t max, size_t *n)
{
    struct span span;
    while (*n < max && rows->at < rows->spans.n) {
        char *place = rows->spans.s + rows->at;
        memcpy(&span, place, sizeof span);
        out[(*n)++] = span.first;
        if (span.first++ == span.last)
            rows->at += sizeof span;
        else
            memcpy(place, &span, sizeof span);
    }
    rows->ended = rows->at == rows->spans.n;
    return EXIT_DONE;
}

static int read_words(struct rows *rows, uint64_t *out, size_t max, size_t *n)
{
    emb_str line;
    int code = EXIT_DONE;
    rows->asked.n = rows->words.n = rows->asked_at = 0;
    while (*n < max) {
        switch (input_line(&rows->in, &line, &code)) {
        case INPUT_END: rows->ended = true; return EXIT_DONE;
        case INPUT_PAUSE: rows->paused = true; return EXIT_DONE;
        case INPUT_FAILED: return code;
        case INPUT_LINE: break;
        }
        code = find(rows, line, rows->told + *n, &out[*n]);
        if (code == EXIT_DONE || (code == EXIT_NO && rows->keep))
            ++*n;
        else if (code != EXIT_NO)
            return code;
    }
    return EXIT_DONE;
}

int rows_read(struct rows *rows, uint64_t *out, uint64_t *lines, size_t max, size_t *n)
{
    int code;
    *n = 0;
    rows->paused = false;
    if (lines && rows->kind != ROWS_IDS)
        memset(lines, 0, max * sizeof *lines);
    switch (rows->kind) {
    case ROWS_ARGUMENTS: return read_arguments(rows, out, max, n);
    case ROWS_WORDS: return read_words(rows, out, max, n);
    case ROWS_IDS: break;
    }
    code = ids_read(&rows->ids, out, lines, max, n);
    rows->ended = rows->ids.ended;
    rows->paused = rows->ids.paused;
    return code;
}

bool rows_asked(struct rows *rows, emb_str *word)
{
    struct asked asked;
    uint64_t item = rows->told++;
    if (rows->asked_at == rows->asked.n)
        return false;
    memcpy(&asked, rows->asked.s + rows->asked_at, sizeof asked);
    if (asked.item != item)
        return false;
    rows->asked_at += sizeof asked;
    *word = (emb_str){rows->words.s + asked.at, asked.n};
    return true;
}
