/* convert.c - `embtool convert`: a table in another format, of another type, or some of its rows.
 *
 * What the target can hold, and every number, is the library's (emb_save_open); here are the
 * options and what is said.
 */
#include "convert.h"
#include "progress.h"
#include "report.h"

#include <string.h>

#define AT(member) offsetof(struct convert_opts, member)

/* What can be written. */
#define FORMATS "safetensors|gguf|npy|npz|word2vec|word2vec-text|text|csv|tsv|raw"

static const struct opt options[] = {
    OPT_HEADING("Output"),
    OPT("output", 'o', OPT_TEXT, COMMON_AT(output), "FILE",
        "where to write, in place of OUT; - for standard output", .aliases = " out "),
    OPT("to", 'O', OPT_WORD, COMMON_AT(output_format), FORMATS,
        "what to write (default: by the extension of OUT)", .aliases = " output-format target "),
    OPT("dtype", 0, OPT_TARGET, COMMON_AT(dtype), "T",
        "type of the numbers that are written; gguf holds q8_0 and q4_0 too",
        .aliases = " type output-dtype "),
    OPT("lossy", 0, OPT_FLAG, AT(lossy), NULL,
        "what the format cannot hold may be lost: each loss is said", .aliases = " drop-tokens "),
    OPT("header", 0, OPT_WORD, AT(header), "auto|yes|no",
        "a line before the rows of text and csv (default: auto, all but text have one)"),
    OPT("separator", 0, OPT_TEXT, AT(separator), "S",
        "between the fields of text and csv: one character, or tab", .aliases = " delimiter sep "),
    OPT("name", 0, OPT_TEXT, AT(name), "TENSOR",
        "name of the tensor (default: as in IN, or what the format is used to)"),
    OPT_HEADING("Rows"),
    OPT("select", 0, OPT_TEXT, AT(select), "FILE",
        "these rows in this order, which may repeat: ids or tokens, one a line",
        .aliases = " rows ids keep "),
    OPT("select-tokens", 0, OPT_TEXT, AT(select_tokens), "FILE",
        "the same, but numbers are tokens too", .aliases = " tokens tokens-file "),
    OPT("normalize", 0, OPT_FLAG, AT(normalize), NULL,
        "scale each row to length 1 (L2 norm); rows of zeros stay", .aliases = " unit l2 "),
    OPT_HEADING("Run"),
    OPT("dry-run", 'n', OPT_FLAG, AT(dry_run), NULL, "say what would be made, and make nothing"),
    COMMON_JSON,
    COMMON_WRITE,
    OPT_HEADING("Table"),
    OPT("table", 't', OPT_TEXT, COMMON_AT(table), "TABLE",
        "in place of IN: a file, a model directory, an https:// or s3:// address, hf://org/model, "
        "- for standard input, or any with #TENSOR",
        .aliases = " model embedding input "),
    COMMON_TABLE_FORM,
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

/* ------------------------------------------------------------------------------------------------
 * Arguments
 */

static int take_arguments(struct convert *cv)
{
    struct run *run = cv->run;
    const struct common *c = run->common;
    take_table_argument(run);
    if (!c->table)
        return usage_error(run, "no table: say embtool convert IN OUT");
    size_t expected = c->output ? 0 : 1;
    if (run->items.n < expected)
        return usage_error(run, "no output: say embtool convert %s OUT", c->table);
    if (run->items.n > expected)
        return usage_error(run, "unexpected argument '%s'", run->items.v[expected].s);
    cv->target = c->output ? c->output : run->items.v[0].s;
    return EXIT_DONE;
}

/* One character that can be no part of a number or of a line's end, or its name. */
static int parse_separator(struct convert *cv, char *separator)
{
    const char *text = cv->opts->separator;
    *separator = 0;
    if (!text)
        return EXIT_DONE;
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        text = "\t";
    if (strlen(text) != 1 || (*text < ' ' && *text != '\t') || *text == '\x7F' ||
        strchr("0123456789+-.eEinfINFaA\"", *text))
        return usage_error(cv->run,
                           "--separator %s: expected one character that is no part of a number, "
                           "or tab",
                           cv->opts->separator);
    *separator = *text;
    return EXIT_DONE;
}

static int header_of(const struct convert_opts *o)
{
    if (!o->header || strcmp(o->header, "auto") == 0)
        return 0;
    return strcmp(o->header, "yes") == 0 ? 1 : -1;
}

/* ------------------------------------------------------------------------------------------------
 * Plan and write
 */

static void add_done(void *arg, uint64_t rows)
{
    progress_add(arg, rows);
}

static int plan(struct convert *cv, struct progress *progress)
{
    const struct convert_opts *o = cv->opts;
    emb_err err;
    emb_save_opts how = {.size = sizeof how,
                         .format = o->common.output_format,
                         .dtype = o->common.dtype,
                         .rows = (const uint64_t *)(void *)cv->rows.s,
                         .n_rows = cv->rows.n / sizeof(uint64_t),
                         .normalize = o->normalize,
                         .lossy = o->lossy,
                         .strict = o->common.strict,
                         .header = header_of(o),
                         .name = o->name,
                         .done = add_done,
                         .done_arg = progress};
    int code = parse_separator(cv, &how.separator);
    if (code)
        return code;
    if (emb_save_open(cv->run->ctx, cv->table, cv->target, &how, &cv->save, &err) != EMB_OK)
        return fail(cv->run, err.status == EMB_BAD_DATA ? cv->run->table_name : cv->target, &err);
    const emb_save_plan *made = emb_save_plan_of(cv->save);
    if (is_stream(cv->target) && cv->run->out_tty && !made->text && !o->dry_run)
        return usage_error(cv->run,
                           "%s is binary and this is a terminal: name a file, or use a "
                           "pipe",
                           made->format);
    convert_warn(cv);
    return EXIT_DONE;
}

static int write_all(struct convert *cv, struct progress *progress)
{
    const emb_save_plan *made = emb_save_plan_of(cv->save);
    emb_write_opts opts;
    emb_err err;
    write_opts(cv->run, NULL, &opts);
    progress_begin(progress, cv->run, made->rows, emb_dtype_row_bytes(cv->info.dtype, made->dims));
    emb_status status = emb_save_write(cv->save, &opts, &err);
    progress_end(progress);
    if (status == EMB_BAD_DATA)
        return fail(cv->run, cv->run->table_name, &err);
    if (status)
        return fail(cv->run, made->failed ? made->failed : cv->target, &err);
    report_output(cv->run, cv->target);
    if (made->beside)
        report_output(cv->run, made->beside);
    convert_warn_after(cv);
    return EXIT_DONE;
}

static int run_convert(struct run *run, void *opts)
{
    struct convert cv = {.run = run, .opts = opts};
    struct progress progress;
    int code = take_arguments(&cv);
    if (!code)
        code = open_table(run, &cv.table, &cv.info);
    if (!code)
        code = convert_select(&cv);
    if (!code)
        code = plan(&cv, &progress);
    if (!code && !cv.opts->dry_run)
        code = write_all(&cv, &progress);
    if (!code)
        code = convert_say(&cv);
    emb_save_close(cv.save);
    emb_table_close(cv.table);
    embi_buf_free(&cv.rows);
    return code;
}

const struct cmd cmd_convert = {
    .name = "convert",
    .group = "Change",
    .summary = "any format to any format, any type",
    .usage = "IN OUT [--to FORMAT] [--dtype T]\nIN OUT --select FILE [--normalize]",
    .about =
        "Writes the table IN to the file OUT, in the format that OUT's extension or --to says. "
        "Numbers keep every bit unless --dtype asks for another type; rows keep their order and "
        "their tokens. What the format cannot hold is refused with the reason; --lossy does "
        "without it and says what was lost.\n"
        "Tokens of safetensors lie beside it, in NAME.vocab.txt or NAME.vocab.json, and are found "
        "again when it is read; those of tsv in NAME.metadata.tsv.\n"
        "The output appears whole or not at all.",
    .examples = "embtool convert glove.txt glove.safetensors\n"
                "embtool convert model/ table.npy --dtype f16 --lossy\n"
                "embtool convert words.bin some.vec --select list.txt\n"
                "embtool convert words.bin - --to csv --limit 1000",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct convert_opts),
    .run = run_convert,
};
