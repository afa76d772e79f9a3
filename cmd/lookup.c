/* lookup.c - `embtool lookup`: the vectors of ids or tokens.
 *
 * Options, and what they mean together. The rows are read by rows.c and made by lookup_make.c;
 * text is written by lookup_text.c and arrays by lookup_array.c.
 */
#include "lookup.h"

#include <stdlib.h>
#include <string.h>

#define FORMATS    "text|json|npy|npz|safetensors|raw"
#define AT(member) offsetof(struct lookup_opts, member)

static const struct opt options[] = {
    OPT_HEADING("Rows"),
    OPT("id", 0, OPT_ITEM, 0, "N", "the row of an id, or a range of them: 0..99", .tag = ROW_ID),
    OPT("token", 0, OPT_ITEM, 0, "T", "the row of a token, even if it looks like a number",
        .tag = ROW_TOKEN, .aliases = " word "),
    OPT("input", 'i', OPT_TEXT, AT(input), "FILE",
        "read ids from FILE: text, JSON arrays or .npy (default: standard input)",
        .aliases = " ids "),
    OPT("ids-format", 0, OPT_WORD, AT(ids_format), "i32|i64|u16|u32",
        "ids are bare little-endian integers"),
    OPT("tokens", 0, OPT_FLAG, AT(tokens), NULL, "read tokens from standard input, one a line",
        .aliases = " words "),
    OPT("tokens-file", 0, OPT_TEXT, AT(tokens_file), "FILE", "read tokens from FILE, one a line"),
    OPT("via", 0, OPT_CHOICE, AT(via), "gather|matmul",
        "how rows are found: by their place (default), or, to show that it is the same, as one-hot "
        "x "
        "table by OpenBLAS"),
    COMMON_DEVICE,
    OPT_HEADING("What is made of them"),
    OPT("input-layer", 0, OPT_FLAG, AT(input_layer), NULL,
        "what the model hands to its first block: rows, positions, scale and all",
        .aliases = " assemble "),
    OPT("positions", 0, OPT_CHOICE, AT(positions), "none|auto|learned|sinusoidal",
        "add a row for each position, counted along lines (default none; auto: what the model has)",
        .given = AT(has_positions), .aliases = " position "),
    OPT("start", 0, OPT_COUNT, AT(start), "N", "the position of a line's first token (default 0)",
        .given = AT(has_start), .aliases = " offset "),
    OPT("type-ids", 0, OPT_TEXT, AT(type_ids), "FILE",
        "add the row of each token's type; FILE has one for each id, in the forms of -i",
        .aliases = " token-type-ids segment-ids "),
    OPT("scale", 0, OPT_TEXT, AT(scale), "X", "multiply rows with X: a number, or sqrt-d"),
    OPT("layer-norm", 0, OPT_FLAG, AT(layer_norm), NULL,
        "apply the model's LayerNorm of its input"),
    OPT("pool", 0, OPT_CHOICE, AT(pool), "mean|sum|max|first|last", "one vector a line of ids",
        .aliases = " pooling "),
    OPT("weights", 0, OPT_TEXT, AT(weights), "FILE",
        "of each row in --pool mean or sum: as many numbers as the table has rows, text or .npy"),
    OPT("normalize", 0, OPT_FLAG, AT(normalize), NULL, "scale vectors to length 1, last of all",
        .aliases = " unit l2 "),
    OPT_HEADING("Output"),
    COMMON_OUTPUT,
    COMMON_FORMAT(FORMATS),
    COMMON_JSON,
    OPT("label", 0, OPT_CHOICE, AT(label), "token|id|none",
        "what names a row in text (default: its token, else its id)"),
    COMMON_PIECES,
    COMMON_RAW_TOKENS,
    COMMON_DTYPE,
    OPT("ragged", 0, OPT_FLAG, AT(ragged), NULL,
        "lines may differ in length: write arrays `values` and `offsets`"),
    OPT("pad-id", 0, OPT_COUNT, AT(pad_id), "N", "fill short lines with the row of id N",
        .given = AT(has_pad_id), .aliases = " pad padding "),
    COMMON_WRITE,
    COMMON_TABLE,
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

static const struct lookup_opts defaults = {.label = -1, .pool = -1};

/* Is what goes out made of the whole list, by shape? */
static bool is_array(const char *format)
{
    return strcmp(format, "text") != 0 && strcmp(format, "json") != 0;
}

static bool has_words(const struct lookup_opts *o)
{
    return o->tokens || o->tokens_file;
}

/* Rows come from one place: arguments win over a pipe, but not over another option. */
static int check_sources(struct run *run, const struct lookup_opts *o)
{
    bool from_stdin = is_stream(has_words(o) ? o->tokens_file : o->input);
    int named = (run->items.n > 0) + has_words(o) + (o->input != NULL);
    if (named > 1)
        return usage_error(
            run, "rows are named in two ways: by arguments, -i or --tokens, not by several");
    if (o->ids_format && (run->items.n || has_words(o)))
        return usage_error(run, "--ids-format is for ids from -i FILE or standard input");
    if (run->items.n)
        return EXIT_DONE;
    if (from_stdin && o->common.table && is_stream(o->common.table))
        return usage_error(run, "the table and the rows cannot both come from standard input");
    if (!named && run->in_tty)
        return usage_error(run, "no rows: name ids or tokens, or -i FILE; -h says more");
    return EXIT_DONE;
}

/* --ragged and --pad-id only mean something for arrays made of lists. */
static int check_lists(struct run *run, const struct lookup_opts *o, const char *format)
{
    bool names = strcmp(format, "safetensors") == 0 || strcmp(format, "npz") == 0;
    if (!o->ragged && !o->has_pad_id)
        return EXIT_DONE;
    if (o->ragged && o->has_pad_id)
        return usage_error(run, "--ragged and --pad-id: which one?");
    if (run->items.n || has_words(o))
        return usage_error(run, "%s is for lists of ids", o->ragged ? "--ragged" : "--pad-id");
    if (o->ragged && !names)
        return usage_error(run, "--ragged makes two arrays: -O safetensors or npz, not %s", format);
    if (!is_array(format))
        return usage_error(run, "--pad-id makes an array: -O npy, npz, safetensors or raw, not %s",
                           format);
    return EXIT_DONE;
}

static int open_rows(struct lookup *l)
{
    const struct lookup_opts *o = l->opts;
    bool pooled = o->pool >= 0, json = strcmp(l->format, "json") == 0 && !pooled;
    if (l->run->items.n)
        return rows_of_arguments(&l->rows, l->run, l->table, &l->info, json);
    if (has_words(o))
        return rows_of_words(&l->rows, l->run, l->table, &l->info, o->tokens_file, json);
    return rows_of_ids(&l->rows, l->run, l->table, &l->info, o->input, o->ids_format,
                       o->ragged || o->has_pad_id || pooled);
}

static void report_numbers(struct lookup *l)
{
    bool to_nan = l->dtype == EMB_F8_E4M3 || l->dtype == EMB_F8_E4M3FNUZ ||
                  l->dtype == EMB_F8_E5M2FNUZ || l->dtype == EMB_F8_E8M0;
    if (l->overflows)
        warn(l->run, NULL, "%llu numbers are too large for %s and became %s",
             (unsigned long long)l->overflows, emb_dtype_name(l->dtype),
             to_nan ? "NaN" : "infinite");
    if (l->zero_rows)
        note(l->run, NULL, "%llu vectors are zero, and stay so", (unsigned long long)l->zero_rows);
    if (l->nonfinite_rows)
        warn(l->run, NULL, "%llu vectors hold NaN or an infinity, and stay as they are",
             (unsigned long long)l->nonfinite_rows);
}

static int open_all(struct lookup *l)
{
    int code;
    l->dims = l->info.dims;
    l->made = lookup_plain_dtype(l);
    code = lookup_open_input(l);
    l->dtype = lookup_choose_dtype(l);
    if (!code)
        code = open_rows(l);
    if (!code)
        code = lookup_make_room(l);
    if (!code)
        code = lookup_begin_input(l);
    return code ? code : lookup_open_pool(l);
}

static void close_all(struct lookup *l)
{
    rows_close(&l->rows);
    lookup_close_pool(l);
    lookup_close_input(l);
    lookup_free_products(l);
    free(l->stored);
    free(l->block);
    free(l->lines);
    free(l->ids);
}

/* The table is open. */
static int answer(struct lookup *l)
{
    int code = open_all(l);
    progress_begin(&l->progress, l->run, 0, emb_dtype_row_bytes(l->dtype, l->dims));
    if (!code)
        code = is_array(l->format) ? lookup_array(l) : lookup_text(l);
    progress_end(&l->progress);
    report_numbers(l);
    if (!code && l->opts->via == VIA_MATMUL)
        lookup_report_products(l);
    code = worse(code, l->rows.code);
    close_all(l);
    return code;
}

static int run_lookup(struct run *run, void *opts)
{
    struct lookup l = {.run = run, .opts = opts};
    int code = check_sources(run, l.opts);
    if (!code)
        code = output_format(run, FORMATS, &l.format);
    if (!code)
        code = check_lists(run, l.opts, l.format);
    if (!code)
        code = lookup_check_input(run, l.opts);
    if (!code)
        code = lookup_check_pool(run, l.opts);
    if (!code && l.opts->via == VIA_MATMUL)
        code = load_blas(run, "--via matmul");
    if (!code)
        code = load_device(run, false);
    if (!code)
        code = open_table(run, &l.table, &l.info);
    if (code)
        return code;
    if (l.opts->label == LABEL_TOKEN && !l.info.has_tokens)
        code = fail_with(run, EXIT_DATA, run->table_name, "--label token: the table has no tokens");
    if (!code)
        code = answer(&l);
    emb_table_close(l.table);
    return code;
}

const struct cmd cmd_lookup = {
    .name = "lookup",
    .group = "Look",
    .summary = "rows of ids or tokens, from arguments or a pipe",
    .usage = "[ROW...] [-t TABLE] [-o FILE]\n"
             "-i FILE [-t TABLE] [-o FILE]\n"
             "--tokens-file FILE [-t TABLE] [-o FILE]",
    .about =
        "Prints the vector of each ROW: a number, or #NUMBER, is an id, anything else a token. "
        "Without ROW, ids "
        "come from standard input: separated by blanks or commas, or as JSON arrays, a line a "
        "sequence; or a .npy file.\n"
        "Text is `LABEL v1 v2 ... vD`, a row a line; in a token \\x20 is a blank and other bytes "
        "that would break a line are escaped too, unless --raw-tokens writes tokens as they are. "
        "Arrays are [n, D], or [B, L, D] when B > 1 lines of one length came in; lines of one id "
        "each are one sequence.",
    .examples = "embtool lookup cat dog\n"
                "echo 256 1842 7301 | embtool lookup -t words.bin\n"
                "embtool lookup -t model.safetensors -i ids.npy -o vectors.npy",
    .options = options,
    .defaults = &defaults,
    .opts_bytes = sizeof(struct lookup_opts),
    .run = run_lookup,
};
