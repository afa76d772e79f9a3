/* rows.c - reads the rows a run asks for. Arguments are all looked at before the first row is
 * handed out, so that a bad one leaves nothing half printed.
 */
#include "rows.h"
#include "names.h"

#include <string.h>

struct span {
    uint64_t first, last;
};

static int add_span(struct rows *rows, uint64_t first, uint64_t last)
{
    struct span span = {first, last};
    embi_buf_add(&rows->spans, &span, sizeof span);
    return rows->spans.failed ? fail_with(rows->run, EXIT_MEMORY, NULL, "out of memory")
                              : EXIT_DONE;
}

/* A token that is not found is no reason to stop. */
static int find(struct rows *rows, emb_str word, uint64_t *row)
{
    if (!rows->info.has_tokens)
        return fail_with(
            rows->run, EXIT_DATA, rows->run->table_name,
            "the table has no tokens: name rows by id (0, 1, 2 ...), or say --vocab FILE");
    int code = find_token(rows->run, rows->table, word, row);
    rows->code = code == EXIT_NO ? EXIT_NO : rows->code;
    return code;
}

static int add_token(struct rows *rows, const char *s)
{
    uint64_t row = 0;
    int code = find(rows, (emb_str){s, strlen(s)}, &row);
    if (code == EXIT_NO)
        return EXIT_DONE;
    return code ? code : add_span(rows, row, row);
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
    return add_token(rows, item->s);
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
                  const emb_table_info *info, enum rows_kind kind)
{
    *rows = (struct rows){.run = run, .table = table, .info = *info, .kind = kind};
}

int rows_of_arguments(struct rows *rows, struct run *run, const emb_table *table,
                      const emb_table_info *info)
{
    int code = EXIT_DONE;
    begin(rows, run, table, info, ROWS_ARGUMENTS);
    for (size_t i = 0; !code && i < run->items.n; i++)
        code = add_item(rows, &run->items.v[i]);
    return code;
}

int rows_of_words(struct rows *rows, struct run *run, const emb_table *table,
                  const emb_table_info *info, const char *path)
{
    begin(rows, run, table, info, ROWS_WORDS);
    return input_open(&rows->in, run, path);
}

int rows_of_ids(struct rows *rows, struct run *run, const emb_table *table,
                const emb_table_info *info, const char *path, const char *format, bool keep)
{
    begin(rows, run, table, info, ROWS_IDS);
    return ids_open(&rows->ids, run, path, format, info->rows, keep);
}

void rows_close(struct rows *rows)
{
    embi_buf_free(&rows->spans);
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
    while (*n < max) {
        switch (input_line(&rows->in, &line, &code)) {
        case INPUT_END: rows->ended = true; return EXIT_DONE;
        case INPUT_PAUSE: rows->paused = true; return EXIT_DONE;
        case INPUT_FAILED: return code;
        case INPUT_LINE: break;
        }
        code = find(rows, line, &out[*n]);
        if (code == EXIT_DONE)
            ++*n;
        else if (code != EXIT_NO)
            return code;
    }
    return EXIT_DONE;
}

int rows_read(struct rows *rows, uint64_t *out, size_t max, size_t *n)
{
    int code;
    *n = 0;
    rows->paused = false;
    switch (rows->kind) {
    case ROWS_ARGUMENTS: return read_arguments(rows, out, max, n);
    case ROWS_WORDS: return read_words(rows, out, max, n);
    case ROWS_IDS: break;
    }
    code = ids_read(&rows->ids, out, max, n);
    rows->ended = rows->ids.ended;
    rows->paused = rows->ids.paused;
    return code;
}
