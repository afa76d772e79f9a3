/* shard.c - `embtool shard`: a table cut for tensor parallelism, and put together again.
 *
 * What is cut, and how, is the library's (emb_shards_open); here are the options, and the progress.
 */
#include "shard.h"
#include "progress.h"
#include "report.h"

#include <inttypes.h>

#define AT(member) offsetof(struct shard_opts, member)

static const struct opt options[] = {
    OPT_HEADING("Shards"),
    OPT("tp", 0, OPT_COUNT, AT(parts), "N", "how many, one for each GPU: 1 to 512",
        .aliases = " shards parts gpus tensor-parallel ", .given = AT(has_parts)),
    OPT("axis", 0, OPT_CHOICE, AT(axis), "vocab|dims",
        "what is cut: rows (default), as vocabulary-parallel training expects, or dims",
        .given = AT(has_axis)),
    OPT("join", 0, OPT_FLAG, AT(join), NULL,
        "make the table again out of a directory of shards, in any format that is written"),
    OPT_HEADING("Output"),
    OPT("output", 'o', OPT_TEXT, COMMON_AT(output), "DIR",
        "the directory that is made; with --join the file", .aliases = " out "),
    OPT("lossy", 0, OPT_FLAG, AT(lossy), NULL,
        "tokens that no file beside the table can hold may be changed: each loss is said"),
    OPT("dry-run", 'n', OPT_FLAG, AT(dry_run), NULL, "say what would be made, and make nothing"),
    COMMON_JSON,
    COMMON_WRITE,
    OPT_HEADING("Table"),
    OPT("table", 't', OPT_TEXT, COMMON_AT(table), "TABLE",
        "in place of the argument: a file, a model directory, hf://org/model, - for "
        "standard input, or any with #TENSOR",
        .aliases = " model embedding input "),
    COMMON_TABLE_TENSOR,
    OPT("head", 0, OPT_FLAG, COMMON_AT(head), NULL, "the output table of a model alone",
        .aliases = " lm-head output-table unembedding "),
    COMMON_TABLE_RAW,
    COMMON_STRICT,
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

static int check_arguments(struct run *run, const struct shard_opts *o)
{
    take_table_argument(run);
    if (!o->common.table)
        return usage_error(run, "no table: say embtool shard TABLE --tp N -o DIR");
    if (run->items.n)
        return usage_error(run, "unexpected argument '%s'", run->items.v[0].s);
    if (!o->common.output)
        return usage_error(run, "no output: say -o %s", o->join ? "FILE" : "DIR");
    if (o->join && (o->has_parts || o->has_axis))
        return usage_error(run, "--join: the shards say themselves how they were cut: leave out %s",
                           o->has_parts ? "--tp" : "--axis");
    if (o->join)
        return EXIT_DONE;
    if (!o->has_parts)
        return usage_error(run, "--tp is missing: how many shards?");
    if (o->parts < 1 || o->parts > EMB_SHARDS_MAX)
        return usage_error(run, "--tp %" PRIu64 ": expected 1 to %d", o->parts, EMB_SHARDS_MAX);
    if (is_stream(o->common.output))
        return usage_error(run, "-o -: shards are a directory, which no stream can hold");
    return EXIT_DONE;
}

static void add_done(void *arg, uint64_t rows)
{
    progress_add(arg, rows);
}

/* ------------------------------------------------------------------------------------------------
 * Cutting
 */

static void report_files(struct run *run, const char *dir, uint32_t parts)
{
    struct embi_buf path = {0};
    for (uint32_t k = 1; run->common->report && k <= parts; k++) {
        path.n = 0;
        embi_buf_print(&path, "%s/table-%05" PRIu32 "-of-%05" PRIu32 ".safetensors", dir, k, parts);
        report_output(run, embi_buf_cstr(&path));
    }
    embi_buf_free(&path);
}

static int write_shards(struct run *run, const struct shard_opts *o, emb_shards *shards,
                        const emb_table_info *info, struct progress *progress)
{
    const emb_shards_plan *plan = emb_shards_plan_of(shards);
    emb_write_opts opts;
    emb_err err;
    write_opts(run, NULL, &opts);
    progress_begin(progress, run, plan->rows, emb_dtype_row_bytes(info->dtype, info->dims));
    emb_status status = emb_shards_write(shards, &opts, &err);
    progress_end(progress);
    if (status)
        return fail(run, status == EMB_BAD_DATA ? run->table_name : o->common.output, &err);
    report_files(run, o->common.output, plan->parts);
    return EXIT_DONE;
}

static int cut(struct run *run, const struct shard_opts *o, const emb_table *table,
               const emb_table_info *info)
{
    struct progress progress;
    emb_shards *shards;
    emb_err err;
    emb_shards_opts opts = {.size = sizeof opts,
                            .parts = (uint32_t)o->parts,
                            .axis = (emb_shard_axis)o->axis,
                            .lossy = o->lossy,
                            .done = add_done,
                            .done_arg = &progress};
    emb_status status = emb_shards_open(run->ctx, table, o->common.output, &opts, &shards, &err);
    if (status)
        return fail(run, run->table_name, &err);
    const emb_shards_plan *plan = emb_shards_plan_of(shards);
    for (size_t i = 0; i < plan->n_losses; i++)
        warn(run, o->common.output, "%s", plan->losses[i]);
    int code = o->dry_run ? EXIT_DONE : write_shards(run, o, shards, info, &progress);
    if (!code)
        code = shard_say(run, o, shards);
    emb_shards_close(shards);
    return code;
}

static int run_shard(struct run *run, void *opts)
{
    const struct shard_opts *o = opts;
    emb_table *table = NULL;
    emb_table_info info;
    int code = check_arguments(run, o);
    if (!code)
        code = open_table(run, &table, &info);
    if (!code)
        code = o->join ? shard_join(run, o, table, &info) : cut(run, o, table, &info);
    emb_table_close(table);
    return code;
}

const struct cmd cmd_shard = {
    .name = "shard",
    .group = "Change",
    .summary = "cut a table for tensor parallelism, and join it again",
    .usage = "TABLE --tp N [--axis vocab|dims] -o DIR\n--join DIR -o FILE",
    .about =
        "Makes a directory of N files of one shape, each with one part of the table and zeros "
        "where there is no more of it: table-00001-of-0000N.safetensors. Their metadata say which "
        "rows (or dims) they have. Of a model directory the embedding, the output table and its "
        "bias are cut, and config.json and the tokenizer are copied.\n"
        "The directory opens as one table wherever a TABLE is taken. --join makes it a file again, "
        "with the same rows and tokens.\n"
        "The output appears whole or not at all.",
    .examples = "embtool shard model/ --tp 8 -o shards\n"
                "embtool similar -t shards cat\n"
                "embtool shard table.npy --tp 4 --axis dims -o shards\n"
                "embtool shard --join shards -o table.safetensors",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct shard_opts),
    .run = run_shard,
};
