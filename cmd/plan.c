/* plan.c - `embtool plan`: what a table costs, of numbers, bytes and traffic.
 *
 * The table is one that is there, a preset's, or no more than V and D. The arithmetic is the
 * library's (emb_cost_of); here its inputs are gathered, and what the files of a model say of it.
 */
#include "plan.h"
#include "quantity.h"

#include <inttypes.h>
#include <string.h>

struct plan_opts {
    struct common common;
    const char *preset, *positions, *total, *gpus, *batch, *length;
    int optimizer;
    bool tied, untied;
};

#define AT(member) offsetof(struct plan_opts, member)
#define FORMATS    "text|json"
#define NUMBER     " (256k is 256000, 256Ki is 262144)"

static const struct opt options[] = {
    OPT_HEADING("Model"),
    OPT("preset", 0, OPT_TEXT, AT(preset), "NAME",
        "a well-known model: andrea-120m, sophia, bert-base, gpt2, llama-3-8b, qwen2.5-7b or "
        "word2vec-google"),
    OPT("tied", 0, OPT_FLAG, AT(tied), NULL, "the output table is the embedding"),
    OPT("untied", 0, OPT_FLAG, AT(untied), NULL, "the output table is one of its own"),
    OPT("positions", 0, OPT_TEXT, AT(positions), "T", "learned positions" NUMBER),
    OPT("total-params", 0, OPT_TEXT, AT(total), "N",
        "parameters of the whole model: 70e9, 1.5B (default: those of the files or the preset)",
        .aliases = " params model-params "),
    OPT("dtype", 0, OPT_DTYPE, COMMON_AT(dtype), "T",
        "type of the tables (default: as they are stored, else f32)", .aliases = " type "),
    OPT_HEADING("Use"),
    OPT("batch", 0, OPT_TEXT, AT(batch), "B", "sequences in a step (default: 1, with --length)",
        .aliases = " batch-size "),
    OPT("length", 0, OPT_TEXT, AT(length), "L", "tokens in each (default: 1, with --batch)",
        .aliases = " sequence-length seq-len context "),
    OPT("optimizer", 0, OPT_CHOICE, AT(optimizer),
        "none|sgd|momentum|adagrad|rmsprop|lion|adam|adamw|adafactor",
        "what training keeps of each parameter", .aliases = " optimiser "),
    OPT("tp", 0, OPT_TEXT, AT(gpus), "N", "tensor parallelism: rows are cut over N GPUs",
        .aliases = " gpus tensor-parallel "),
    OPT_HEADING("Output"),
    COMMON_JSON,
    COMMON_OUTPUT,
    COMMON_FORMAT(FORMATS),
    COMMON_WRITE,
    COMMON_TABLE,
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

static int parse(struct run *run, const char *what, const char *text, uint64_t *x)
{
    if (quantity_parse(text, x) && *x > 0)
        return EXIT_DONE;
    return usage_error(run, "%s %s: expected a whole number, 1 or more, as 50257, 256k or 256Ki",
                       what, *text ? text : "''");
}

/* What the options say, over what the table says. A total that was not typed follows what they
 * change. */
static int take_options(struct run *run, const struct plan_opts *o, emb_cost_opts *asked)
{
    const struct {
        const char *name, *text;
        uint64_t *x;
    } numbers[] = {
        {"--positions", o->positions, &asked->positions},
        {"--batch", o->batch, &asked->batch},
        {"--length", o->length, &asked->length},
        {"--tp", o->gpus, &asked->gpus},
        {"--total-params", o->total, &asked->total_params},
    };
    if (o->tied && o->untied)
        return usage_error(run, "--tied and --untied: which one?");
    for (size_t i = 0; i < EMBI_LEN(numbers); i++) {
        int code = numbers[i].text ? parse(run, numbers[i].name, numbers[i].text, numbers[i].x)
                                   : EXIT_DONE;
        if (code)
            return code;
    }
    asked->untied = o->untied || (asked->untied && !o->tied);
    if (run->common->dtype || !asked->dtype)
        asked->dtype = run->common->dtype ? run->common->dtype : EMB_F32;
    asked->optimizer = (emb_optimizer)o->optimizer;
    return EXIT_DONE;
}

static int from_preset(struct run *run, const char *name, emb_cost_opts *asked)
{
    const emb_preset *p = emb_preset_by_name(name);
    if (!p)
        return usage_error(run, "--preset %s: there is no such model; -h lists them", name);
    if (run->items.n || run->common->table)
        return usage_error(run, "--preset %s and %s: which one?", name,
                           run->items.n ? run->items.v[0].s : run->common->table);
    asked->rows = p->rows;
    asked->dims = p->dims;
    asked->positions = p->positions;
    asked->untied = p->untied;
    asked->dtype = p->dtype;
    asked->total_params = p->params;
    return EXIT_DONE;
}

static int from_shape(struct run *run, emb_cost_opts *asked)
{
    uint64_t dims = 0;
    int code = parse(run, "V", run->items.v[0].s, &asked->rows);
    if (!code)
        code = parse(run, "D", run->items.v[1].s, &dims);
    if (!code && dims > UINT32_MAX)
        code = usage_error(run, "D %s: too large", run->items.v[1].s);
    asked->dims = (uint32_t)dims;
    return code;
}

static int from_table(struct run *run, emb_cost_opts *asked)
{
    emb_table *table;
    emb_table_info info;
    emb_model_info model;
    emb_err err;
    int code = open_table(run, &table, &info);
    if (code)
        return code;
    if (emb_table_model(table, &model, &err) == EMB_OK) {
        asked->rows = info.rows;
        asked->dims = info.dims;
        asked->dtype = info.dtype;
        asked->positions = model.positions;
        asked->untied = model.tied == 0;
        asked->total_params = model.params;
    } else {
        code = fail(run, run->table_name, &err);
    }
    emb_table_close(table);
    return code;
}

static int choose(struct run *run, const struct plan_opts *o, emb_cost_opts *asked)
{
    if (o->preset)
        return from_preset(run, o->preset, asked);
    if (run->items.n == 2 && !run->common->table)
        return from_shape(run, asked);
    take_table_argument(run);
    if (run->items.n)
        return usage_error(run, "expected TABLE, or V and D: what is '%s'?", run->items.v[0].s);
    return from_table(run, asked);
}

/* Options change the tables of a model, and so its total. */
static int adjust_total(struct run *run, const emb_cost_opts *before, emb_cost_opts *asked)
{
    emb_cost old, new;
    emb_err err;
    emb_cost_opts was = *before, is = *asked;
    was.total_params = is.total_params = 0;
    if (emb_cost_of(&was, &old, &err) != EMB_OK || emb_cost_of(&is, &new, &err) != EMB_OK)
        return fail(run, run->table_name, &err);
    if (!embi_add(before->total_params, new.params, &asked->total_params) ||
        before->total_params < old.params)
        asked->total_params = 0;
    else
        asked->total_params -= old.params;
    return EXIT_DONE;
}

static int run_plan(struct run *run, void *opts)
{
    const struct plan_opts *o = opts;
    struct plan_figures f = {.run = run, .asked = {.size = sizeof f.asked}};
    emb_cost_opts found;
    emb_err err;
    int code = output_format(run, FORMATS, &f.format);
    if (!code)
        code = choose(run, o, &f.asked);
    found = f.asked;
    if (!code)
        code = take_options(run, o, &f.asked);
    if (!code && found.total_params && !o->total)
        code = adjust_total(run, &found, &f.asked);
    if (!code && emb_cost_of(&f.asked, &f.cost, &err) != EMB_OK)
        code = fail(run, run->table_name, &err);
    return code ? code : plan_say(&f);
}

const struct cmd cmd_plan = {
    .name = "plan",
    .group = "Learn",
    .summary = "what a table costs: parameters, bytes, traffic, GPUs",
    .usage = "[TABLE]\nV D\n--preset NAME",
    .about =
        "Says how many parameters a table has, alone and with learned positions and an output "
        "table; the bytes of them in each type; how much of the model that is; what a lookup "
        "reads, and what a one-hot product would; what a step makes of [B, L, D] and [B, L, V]; "
        "what an optimiser keeps; what each of N GPUs holds and sends.\n"
        "V, D and the other numbers may be written as 256k (256000), 256Ki (262144), 1.5M, 70e9 "
        "or 70B. Whole numbers are exact.",
    .examples = "embtool plan 50257 768 --positions 1024 --total-params 124439808\n"
                "embtool plan --preset llama-3-8b --tp 8 --batch 4 --length 8Ki\n"
                "embtool plan model/ --optimizer adam --json\n"
                "embtool plan 256Ki 4096 --dtype bf16 --untied",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct plan_opts),
    .run = run_plan,
};
