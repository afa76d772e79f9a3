/* resize_table.c - `embtool resize` of a single file: the table with other rows, and the lists
 * beside it.
 *
 * The table and the lists (--row-map, --save-tokens) get their names only when all of them are
 * complete. The result is opened again and looked at.
 */
#include "out.h"
#include "report.h"
#include "resize.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *extension(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot : "";
}

/* The format that an extension stands for, text in both its forms being one. */
static const char *format_of(const char *path)
{
    const char *format = emb_format_of(path);
    return format && strcmp(format, "word2vec-text") == 0 ? "text" : format;
}

/* Where the table goes. It keeps its format: a name that promises another one is a mistake. */
static int choose_target(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    const char *format;
    rz->target = o->in_place ? rz->info.path : o->common.output;
    if (!rz->target)
        return EXIT_DONE;
    rz->to_stdout = is_stream(rz->target) || strcmp(rz->target, "/dev/stdout") == 0;
    if (rz->to_stdout && rz->run->out_tty && !rz->info.text)
        return usage_error(rz->run, "%s is binary and this is a terminal: say -o FILE",
                           rz->info.format);
    if (rz->info.packed &&
        (o->in_place || strcmp(extension(rz->target), extension(rz->info.path)) == 0))
        return usage_error(rz->run,
                           "%s is packed, a table that is resized is not: name another file",
                           rz->info.path);
    if (o->common.report && is_same_file(rz->target, rz->info.path))
        return usage_error(rz->run, "--report tells the hash of the input, which %s replaces",
                           o->in_place ? "--in-place" : "-o");
    format = format_of(rz->target);
    if (!format || strcmp(format, rz->info.format) == 0 ||
        strcmp(extension(rz->target), extension(rz->info.path)) == 0)
        return EXIT_DONE;
    return usage_error(rz->run, "%s would be %s: a table that is resized stays %s", rz->target,
                       format, rz->info.format);
}

/* A table whose tokens lie in a file beside it keeps them so. */
static int find_beside(struct resize *rz)
{
    emb_err err;
    if (!rz->target || emb_resize_beside(rz->table, rz->target, &rz->beside, &err) == EMB_OK)
        return EXIT_DONE;
    return fail(rz->run, rz->target, &err);
}

/* ------------------------------------------------------------------------------------------------
 * The lists beside the table
 */

/* Would one be written over the other? Devices take all that comes. */
static bool collide(const char *a, const char *b)
{
    struct stat st;
    if (!a || !b)
        return false;
    if (is_same_file(a, b))
        return stat(a, &st) == 0 && S_ISREG(st.st_mode);
    return strcmp(a, b) == 0;
}

/* With --force a list would replace the table, or the other list, and nobody asks for that. */
static int check_lists(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    const char *input = is_stream(rz->info.path) ? NULL : rz->info.path;
    const struct {
        const char *option, *path, *other, *what;
    } pairs[] = {
        {"--row-map", o->row_map, input, "the table"},
        {"--row-map", o->row_map, rz->target, "the output"},
        {"--save-tokens", o->save_tokens, input, "the table"},
        {"--save-tokens", o->save_tokens, rz->target, "the output"},
        {"--row-map", o->row_map, rz->beside, "the file of the tokens"},
        {"--save-tokens", o->save_tokens, rz->beside, "the file of the tokens"},
        {"--row-map", o->row_map, o->save_tokens, "the file of --save-tokens"},
    };
    for (size_t i = 0; i < EMBI_LEN(pairs); i++)
        if (collide(pairs[i].path, pairs[i].other))
            return usage_error(rz->run, "%s %s is %s too: name another file", pairs[i].option,
                               pairs[i].path, pairs[i].what);
    return EXIT_DONE;
}

/* to[old row] = new row. */
static void map_rows(const emb_resize *plan, uint64_t *to)
{
    uint64_t at = 0;
    for (uint64_t r = 0; r < plan->old_rows; r++)
        to[r] = EMB_ROW_NEW;
    for (size_t i = 0; i < plan->n_runs; at += plan->runs[i++].rows)
        for (uint64_t k = 0; plan->runs[i].source != EMB_ROW_NEW && k < plan->runs[i].rows; k++)
            to[plan->runs[i].source + k] = at + k;
}

static int write_map(struct resize *rz, struct out *out)
{
    const emb_resize *plan = &rz->plan;
    uint64_t *to = malloc(plan->old_rows * sizeof *to + 1); /* [old rows] */
    if (!to)
        return fail_with(rz->run, EXIT_MEMORY, NULL, "out of memory");
    map_rows(plan, to);
    for (uint64_t r = 0; r < plan->old_rows; r++) {
        out_u64(out, r);
        if (to[r] == EMB_ROW_NEW) {
            out_text(out, "\t-1\n");
            continue;
        }
        out_byte(out, '\t');
        out_u64(out, to[r]);
        out_byte(out, '\n');
    }
    free(to);
    return out->code;
}

/* Row after row; rows without a token are empty lines, at the end none. */
static int write_tokens(struct resize *rz, struct out *out)
{
    const emb_resize *plan = &rz->plan;
    uint64_t n = plan->n_tokens;
    if (!plan->tokens)
        return usage_error(rz->run, "--save-tokens: the table has no tokens");
    while (n && !plan->tokens[n - 1].s)
        n--;
    for (uint64_t r = 0; r < n; r++) {
        emb_str token = plan->tokens[r];
        if (token.s && (!token.n || memchr(token.s, '\n', token.n) || token.s[token.n - 1] == '\r'))
            return fail_with(rz->run, EXIT_DATA, rz->opts->save_tokens,
                             "the token of row %" PRIu64 " cannot be a line", r);
        out_bytes(out, token.s ? token.s : "", token.n);
        out_byte(out, '\n');
    }
    return out->code;
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

static int write_table(struct resize *rz)
{
    emb_write_opts opts;
    emb_err err;
    write_opts(rz->run, rz->info.format, &opts);
    opts.force = opts.force || rz->opts->in_place;
    if (emb_resize_write(rz->run->ctx, rz->table, &rz->plan, &rz->how, rz->target, &opts, &err))
        return fail(rz->run, err.status == EMB_BAD_DATA ? rz->run->table_name : rz->target, &err);
    report_output(rz->run, rz->target);
    if (rz->beside)
        report_output(rz->run, rz->beside);
    return EXIT_DONE;
}

/* A list that nobody asked for has no path. It is handed on whole before the table gets its name:
 * no full disk takes the list of a table that was replaced. */
static int open_list(struct resize *rz, const char *path, struct out *out,
                     int (*write)(struct resize *, struct out *))
{
    if (!path)
        return EXIT_DONE;
    int code = out_open(rz->run, path, out);
    if (!code)
        code = write(rz, out);
    return code ? code : out_flush(out);
}

static int close_list(const char *path, struct out *out, int code)
{
    return path && out->writer ? out_close(out, code) : code;
}

static int write_all(struct resize *rz)
{
    struct out map = {0}, tokens = {0};
    const struct resize_opts *o = rz->opts;
    int code = open_list(rz, o->row_map, &map, write_map);
    if (!code)
        code = open_list(rz, o->save_tokens, &tokens, write_tokens);
    if (!code)
        code = write_table(rz);
    code = close_list(o->save_tokens, &tokens, code);
    return close_list(o->row_map, &map, code);
}

/* Opens what was written: its shape must be the plan's. */
static int check_result(struct resize *rz)
{
    const struct common *c = &rz->opts->common;
    emb_open_opts opts = {.size = sizeof opts,
                          .format = rz->info.format,
                          .tensor = rz->info.tensor,
                          .input_dtype = c->input_dtype};
    emb_table *table;
    emb_table_info info = {0};
    emb_err err;
    struct stat st;
    if (strcmp(rz->info.format, "raw") == 0 || stat(rz->target, &st) || !S_ISREG(st.st_mode))
        return EXIT_DONE;
    emb_status status = emb_table_open(rz->run->ctx, rz->target, &opts, &table, &err);
    if (!status)
        status = emb_table_describe(table, &info, &err);
    bool right = !status && info.rows == rz->plan.rows && info.dims == rz->info.dims &&
                 info.dtype == rz->info.dtype;
    emb_table_close(table);
    if (status)
        return fail_with(rz->run, exit_code(status), rz->target,
                         "is written, but cannot be read back: %s", err.msg);
    return right ? EXIT_DONE
                 : fail_with(rz->run, EXIT_BUG, rz->target,
                             "is read back as [%" PRIu64 ", %u], expected [%" PRIu64 ", %u]",
                             info.rows, info.dims, rz->plan.rows, rz->info.dims);
}

/* ------------------------------------------------------------------------------------------------
 * Everything
 */

int resize_check_table_opts(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    const char *option = o->special        ? "--special"
                         : o->renames.n    ? "--rename-token"
                         : o->roles.n      ? "--role"
                         : o->no_tokenizer ? "--no-tokenizer"
                         : o->link         ? "--link"
                                           : NULL;
    if (!option && o->init && strcmp(o->init, "subword") == 0)
        return usage_error(rz->run, "--init subword splits texts with the tokenizer of a model "
                                    "directory: a single file has none");
    if (!option)
        return EXIT_DONE;
    return usage_error(rz->run, "%s is for model directories: %s is a single file", option,
                       is_stream(rz->info.path) ? "standard input" : rz->info.path);
}

int resize_table(struct resize *rz)
{
    emb_err err;
    int code = choose_target(rz);
    if (!code)
        code = find_beside(rz);
    if (!code)
        code = check_lists(rz);
    if (code)
        return code;
    if (emb_resize_plan(rz->table, &rz->how, &rz->plan, &err) != EMB_OK)
        return fail(rz->run, rz->run->table_name, &err);
    code = resize_say(rz);
    if (!code && !rz->opts->dry_run)
        code = write_all(rz);
    if (!code && !rz->opts->dry_run)
        code = check_result(rz);
    emb_resize_free(&rz->plan);
    return code;
}
