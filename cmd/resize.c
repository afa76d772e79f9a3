/* resize.c - `embtool resize`: a table, or all tables of a model, with rows added, removed or in
 * another order.
 *
 * The plan is said before anything is written. What goes where, and every number, is the library's;
 * resize_table.c writes single files, resize_model.c model directories.
 */
#include "resize.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AT(member) offsetof(struct resize_opts, member)

static const struct opt options[] = {
    OPT_HEADING("Tokens"),
    OPT("add-tokens", 0, OPT_ITEM, 0, "A,B", "tokens to add, parted by commas",
        .tag = RESIZE_ADD_LIST, .aliases = " add tokens "),
    OPT("add-token", 0, OPT_ITEM, 0, "T", "one token to add, which may hold commas (repeatable)",
        .tag = RESIZE_ADD_ONE),
    OPT("tokens-file", 0, OPT_ITEM, 0, "FILE", "tokens to add, one a line (repeatable)",
        .tag = RESIZE_ADD_FILE),
    OPT("special", 0, OPT_SWITCH, AT(special), NULL,
        "new tokens of a model are special, or are not (default: those written <|...|>)"),
    OPT("rename-token", 0, OPT_LIST, AT(renames), "OLD=NEW",
        "a token of a model, a reserved one say, gets another text (repeatable)",
        .aliases = " rename "),
    OPT("role", 0, OPT_LIST, AT(roles), "ROLE=T",
        "T becomes the bos, eos, pad, unk, sep, cls or mask token of a model (repeatable)"),
    OPT("no-tokenizer", 0, OPT_FLAG, AT(no_tokenizer), NULL,
        "of a model only tables and sizes change, not the tokenizer's files"),
    OPT("remove-tokens", 0, OPT_LIST, AT(remove), "A,B",
        "tokens whose rows go, parted by commas; #ID where there is no such token (repeatable)",
        .aliases = " remove delete drop "),
    OPT("keep-tokens", 0, OPT_TEXT, AT(keep), "FILE",
        "only the rows of these tokens stay, one a line", .aliases = " keep select "),
    OPT("reorder", 0, OPT_TEXT, AT(reorder), "FILE",
        "the rows of these tokens come first, in this order, one a line", .aliases = " order "),
    OPT_HEADING("Rows"),
    OPT("rows", 0, OPT_COUNT, AT(rows), "N", "final number of rows", .given = AT(has_rows)),
    OPT("pad-to-multiple-of", 0, OPT_COUNT, AT(multiple), "N",
        "more rows, until their number is a multiple of N", .given = AT(has_multiple)),
    OPT("pad-to", 0, OPT_COUNT, AT(multiple), "N", "the same", .given = AT(has_multiple)),
    OPT("shrink", 0, OPT_FLAG, AT(shrink), NULL,
        "--rows may cut rows off the end; without --rows: spare rows go"),
    OPT("init", 0, OPT_TEXT, AT(init), "HOW",
        "what new rows hold: mean (default), zeros, normal[:STD], covariance[:SCALE], copy:TOKEN, "
        "mean-of:T1+T2, subword (of a model: the mean of what the token's text was split into) or "
        "from:FILE",
        .aliases = " fill dist "),
    COMMON_SEED,
    OPT_HEADING("Output"),
    COMMON_OUTPUT,
    OPT("in-place", 0, OPT_FLAG, AT(in_place), NULL,
        "replace the file or directory, in one step, when the new one is complete",
        .aliases = " inplace "),
    OPT("link", 0, OPT_FLAG, AT(link), NULL,
        "files of a model that stay become second names of the old ones, not copies",
        .aliases = " hardlink "),
    OPT("row-map", 0, OPT_TEXT, AT(row_map), "FILE",
        "write old id, tab, new id of every old row; -1: it is gone"),
    OPT("save-tokens", 0, OPT_TEXT, AT(save_tokens), "FILE", "write the new tokens, one a line"),
    OPT("dry-run", 'n', OPT_FLAG, AT(dry_run), NULL, "say what would be done, and do nothing"),
    COMMON_JSON,
    COMMON_WRITE,
    OPT_HEADING("Table"),
    OPT("table", 't', OPT_TEXT, COMMON_AT(table), "TABLE",
        "a file, a model directory or a file in one, - for standard input, or FILE#TENSOR",
        .aliases = " model embedding "),
    OPT("format", 0, OPT_WORD, COMMON_AT(format), "safetensors|npy|word2vec|text|raw",
        "what the file is, where its bytes do not say", .aliases = " input-format "),
    OPT("tensor", 0, OPT_TEXT, COMMON_AT(tensor), "NAME", "the tensor of the file to use"),
    OPT("vocab", 0, OPT_TEXT, COMMON_AT(vocab), "FILE",
        "tokens for a table that has none: one a line, or a tokenizer's file or directory",
        .aliases = " vocabulary tokenizer "),
    OPT("shape", 0, OPT_TEXT, COMMON_AT(shape), "V,D",
        "rows and dimensions of a raw file; ,D: as many rows as it holds"),
    OPT("offset", 0, OPT_COUNT, COMMON_AT(offset), "N", "bytes before row 0 of a raw file"),
    OPT("input-dtype", 0, OPT_DTYPE, COMMON_AT(input_dtype), "T",
        "type of the numbers in a raw file, or of opaque bytes in .npy"),
    OPT("strict", 0, OPT_FLAG, COMMON_AT(strict), NULL,
        "warnings that can change an answer are errors"),
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int check_output(struct run *run, const struct resize_opts *o)
{
    if (!o->common.table)
        return usage_error(run, "no table: say which one to resize");
    if (o->in_place && o->common.output)
        return usage_error(run, "--in-place and -o %s: which one?", o->common.output);
    if (!o->in_place && !o->common.output && !o->dry_run)
        return usage_error(run, "no output: say -o FILE or --in-place");
    return EXIT_DONE;
}

/* hf://ORG/MODEL, without a file. */
static bool is_hub_model(const char *table)
{
    const char *org = emb_is_hub_name(table) ? strstr(table, "//") + 2 : "";
    const char *slash = strchr(org, '/');
    return slash && !strpbrk(slash + 1, "/#");
}

/* One table of a model cannot change its rows without the rest: a file that lies beside its
 * config.json stands for the directory. */
static int find_model_of(struct resize *rz)
{
    emb_model_info model;
    emb_err err;
    if (strcmp(rz->info.format, "gguf") == 0)
        return fail_with(
            rz->run, EXIT_DATA, rz->run->table_name,
            "GGUF is read, not rewritten: resize the model that it was converted from");
    if (emb_table_model(rz->table, &model, &err) != EMB_OK)
        return fail(rz->run, rz->run->table_name, &err);
    if (model.table_params == 0)
        return EXIT_DONE;
    rz->is_model = true;
    int code = resize_check_model_opts(rz);
    return code ? code : resize_open_model_of(rz);
}

/* Said before any target is judged: no name of one would do. */
static int check_rewritten(struct resize *rz)
{
    const char *format = rz->info.format;
    if (strcmp(format, "npz") != 0 && strcmp(format, "torch") != 0)
        return EXIT_DONE;
    return fail_with(
        rz->run, EXIT_DATA, rz->run->table_name,
        "%s is read, not rewritten: convert it to npy, safetensors, word2vec or text first",
        format);
}

/* The table, and what is asked of it at all. */
static int open_input(struct resize *rz)
{
    struct run *run = rz->run;
    const struct resize_opts *o = rz->opts;
    take_table_argument(run);
    int code = check_output(run, o);
    rz->is_model = !code && (is_directory(o->common.table) || is_hub_model(o->common.table));
    if (!code && rz->is_model)
        code = resize_check_model_opts(rz);
    if (!code && rz->is_model)
        code = resize_bring_model(rz, o->common.table);
    if (!code)
        code = open_table(run, &rz->table, &rz->info);
    if (!code && !rz->is_model)
        code = find_model_of(rz);
    if (code || rz->is_model)
        return code;
    code = check_rewritten(rz);
    if (code)
        return code;
    if (o->in_place && is_stream(rz->info.path))
        return usage_error(run, "--in-place: standard input cannot be replaced");
    return resize_check_table_opts(rz);
}

static bool is_empty(const char *dir)
{
    DIR *d = opendir(dir);
    int entries = 0;
    while (d && entries <= 2 && readdir(d)) /* "." and ".." */
        entries++;
    if (d)
        closedir(d);
    return entries <= 2;
}

/* What could not be written is not planned. The writer looks again, for what came meanwhile. */
static int check_existing(struct resize *rz)
{
    const char *target = rz->opts->common.output;
    struct stat st;
    emb_err file = {.status = EMB_EXISTS, .at = -1, .msg = "exists, and is no directory"};
    emb_err other = {.status = EMB_EXISTS, .at = -1, .msg = "exists; --force overwrites it"};
    if (!target || rz->opts->common.force || is_stream(target) || stat(target, &st) != 0)
        return EXIT_DONE;
    if (S_ISREG(st.st_mode))
        return fail(rz->run, target, rz->is_model ? &file : &other);
    bool dir = rz->is_model && S_ISDIR(st.st_mode) && !is_empty(target) &&
               !is_same_file(target, rz->opts->common.table);
    return dir ? fail(rz->run, target, &other) : EXIT_DONE;
}

static int run_resize(struct run *run, void *opts)
{
    struct resize rz = {.run = run, .opts = opts};
    int code = open_input(&rz);
    if (!code)
        code = resize_args(&rz);
    if (!code)
        code = check_existing(&rz);
    if (!code)
        code = rz.is_model ? resize_model(&rz) : resize_table(&rz);
    resize_args_free(&rz);
    emb_table_close(rz.table);
    free(rz.dir);
    free(rz.file);
    free(rz.beside);
    return code;
}

const struct cmd cmd_resize = {
    .name = "resize",
    .group = "Change",
    .summary = "add, remove, reorder tokens",
    .usage = "TABLE --add-tokens A,B -o FILE\nTABLE --pad-to-multiple-of N --in-place\n"
             "TABLE --keep-tokens FILE -o FILE [--row-map FILE]\n"
             "DIR --add-tokens A,B -o DIR\nDIR --rename-token OLD=NEW --role pad=T --in-place",
    .about =
        "Writes the table with other rows, in its own format. Rows that stay keep every bit, and "
        "other tensors of the file every byte. New tokens get the ids behind the largest in use; "
        "new rows are the mean of the rows that own a token, unless --init says otherwise. "
        "Nothing becomes smaller unless it is asked for. The plan is printed first.\n"
        "In a model directory all tables, output biases, config.json, the tokenizer's files and "
        "the "
        "index of shards change together, and every other byte stays.\n"
        "The output appears whole or not at all; --in-place replaces the file or the directory in "
        "one step.",
    .examples = "embtool resize words.bin --add-tokens foo,bar -o more.bin\n"
                "embtool resize model/ --add-tokens '<|tool|>,<|end|>' --pad-to 64 -o bigger/\n"
                "embtool resize model.safetensors --pad-to-multiple-of 64 --in-place\n"
                "embtool resize words.txt --keep-tokens list.txt -o small.txt --row-map ids.tsv",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct resize_opts),
    .run = run_resize,
};
