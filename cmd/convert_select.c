/* convert_select.c - the rows of --select FILE and --select-tokens FILE: an id or a token a line.
 */
#include "convert.h"
#include "input.h"
#include "names.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

/* "#12" where no token is written so. */
static bool is_marked_id(const struct convert *cv, emb_str line, uint64_t *row)
{
    emb_err err;
    uint64_t written_so;
    return line.n > 1 && line.s[0] == '#' &&
           emb_table_find(cv->table, line, &written_so, &err) != EMB_OK &&
           id_read(line.s + 1, line.n - 1, cv->info.rows, row) == ID_OK;
}

static int find_row(struct convert *cv, const char *path, size_t number, emb_str line,
                    uint64_t *row)
{
    char range[RANGE_MAX], shown[WORD_MAX];
    bool ids = !cv->opts->select_tokens;
    if (line.n == 0)
        return fail_with(cv->run, EXIT_DATA, path, "line %zu: expected a token%s, found nothing",
                         number, ids ? " or an id" : "");
    switch (ids ? id_read(line.s, line.n, cv->info.rows, row) : ID_NONE) {
    case ID_OK: return EXIT_DONE;
    case ID_OUTSIDE:
        return fail_with(cv->run, EXIT_DATA, path, "line %zu: id %s is outside %s", number,
                         word_show(shown, line.s, line.n), id_range(range, cv->info.rows));
    case ID_NONE: break;
    }
    if (is_marked_id(cv, line, row))
        return EXIT_DONE;
    return find_token(cv->run, cv->table, line, row);
}

static int read_rows(struct convert *cv, struct input *in, const char *path)
{
    int code = EXIT_DONE, result = EXIT_DONE;
    emb_str line;
    for (size_t number = 1;;) {
        uint64_t row;
        enum input_event event = input_line(in, &line, &code);
        if (event == INPUT_FAILED)
            return code;
        if (event == INPUT_END)
            break;
        if (event == INPUT_PAUSE)
            continue;
        code = find_row(cv, path, number++, line, &row);
        result = worse(result, code);
        if (code > EXIT_NO)
            return code;
        if (code == EXIT_DONE)
            embi_buf_add(&cv->rows, &row, sizeof row);
    }
    if (cv->rows.failed)
        return fail_with(cv->run, EXIT_MEMORY, NULL, "out of memory for the rows");
    if (result == EXIT_DONE && cv->rows.n == 0)
        return fail_with(cv->run, EXIT_DATA, path, "expected a token or an id a line, found none");
    return result;
}

int convert_select(struct convert *cv)
{
    const struct convert_opts *o = cv->opts;
    const char *path = o->select ? o->select : o->select_tokens;
    struct input in;
    if (!path)
        return EXIT_DONE;
    if (o->select && o->select_tokens)
        return usage_error(cv->run, "--select and --select-tokens: which one?");
    if (is_stream(path) && is_stream(cv->info.path))
        return usage_error(cv->run, "the table and the list of rows cannot both come from standard "
                                    "input");
    int code = input_open(&in, cv->run, path);
    if (!code)
        code = read_rows(cv, &in, path);
    input_close(&in);
    if (!code)
        report_input(cv->run, path);
    return code;
}
