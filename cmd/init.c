/* init.c - `embtool init`: a new table, or the tables of a new model.
 *
 * Rows are made and written block by block, as the plan says (init_plan.c, init_model.c). The
 * numbers are the library's.
 */
#include "init.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_BYTES = 64 << 20 };

#define AT(member) offsetof(struct init_opts, member)

static const struct opt options[] = {
    OPT_HEADING("Numbers"),
    OPT("dist", 0, OPT_TEXT, AT(dist), "D",
        "normal (default), uniform, truncated, zeros, constant:X or identity",
        .aliases = " distribution init "),
    OPT("std", 0, OPT_NUMBER, AT(std), "X", "standard deviation (default: 1/sqrt(D))",
        .given = AT(has_std)),
    OPT("padding-idx", 0, OPT_COUNT, AT(padding_idx), "I", "row I is zero",
        .given = AT(has_padding)),
    COMMON_SEED,
    COMMON_DEVICE,
    COMMON_DTYPE,
    OPT_HEADING("Rows"),
    OPT("tokens", 0, OPT_TEXT, AT(tokens), "FILE", "tokens, one a line; V may then be left out",
        .aliases = " vocab "),
    OPT("pad-to-multiple-of", 0, OPT_COUNT, AT(multiple), "N",
        "more rows, until V is a multiple of N", .given = AT(has_multiple), .aliases = " pad-to "),
    OPT_HEADING("Model"),
    OPT("preset", 0, OPT_TEXT, AT(preset), "NAME",
        "the tables of a well-known model: andrea-120m, sophia, bert-base, gpt2, llama-3-8b, "
        "qwen2.5-7b or word2vec-google",
        .aliases = " model "),
    OPT("positions", 0, OPT_COUNT, AT(positions), "T", "a table of T learned positions as well",
        .given = AT(has_positions)),
    OPT("untied", 0, OPT_FLAG, AT(untied), NULL, "an output table (lm_head) as well",
        .aliases = " head "),
    OPT("arch", 0, OPT_TEXT, AT(arch), "NAME",
        "the architecture: gpt2, llama, mistral, qwen2, gpt_neox, bert or distilbert (default: "
        "gpt2 where there are positions, else llama)",
        .aliases = " architecture model-type "),
    OPT("like", 0, OPT_TEXT, AT(like), "DIR",
        "shape, names, dtype, configuration and tokenizer of the model in DIR"),
    OPT("tokenizer", 0, OPT_TEXT, AT(tokenizer), "DIR",
        "copy the tokenizer in DIR into the model; V may then be left out"),
    OPT_HEADING("Output"),
    COMMON_OUTPUT,
    COMMON_FORMAT(INIT_FORMATS),
    OPT("name", 0, OPT_TEXT, AT(name), "TENSOR", "name of the tensor (default: embedding.weight)",
        .aliases = " tensor "),
    COMMON_JSON,
    COMMON_WRITE,
    OPT("dry-run", 'n', OPT_FLAG, AT(dry_run), NULL, "say what would be made, and make nothing"),
    COMMON_GENERAL,
    {0},
};

/* A table that is part NaN is none. */
static emb_status too_large(emb_dtype dtype, emb_err *err)
{
    *err = (emb_err){.status = EMB_BAD_ARG, .at = -1};
    snprintf(err->msg, sizeof err->msg, "%s cannot hold all of these numbers",
             emb_dtype_name(dtype));
    return EMB_BAD_ARG;
}

/* Rows first .. of table t into block, in the type that is written. `made` is scratch where that
 * type is no plain float. Tables of one seed differ by their streams. */
static emb_status fill(const struct plan *plan, int t, uint64_t first, emb_block *block, void *made,
                       emb_err *err)
{
    const struct init_opts *o = plan->opts;
    emb_init_opts how = plan->how;
    uint64_t overflows = 0;
    emb_block direct = {made ? made : block->data, block->rows, block->dims,
                        made ? EMB_F32 : block->dtype, 0};
    size_t row_bytes = direct.dims * emb_dtype_bytes(direct.dtype);
    how.stream = (uint32_t)t;
    emb_status status = emb_init_rows(plan->run->ctx, &how, first, &direct, err);
    if (status)
        return status;
    if (t == EMB_NEW_EMBEDDING && o->has_padding && o->padding_idx >= first &&
        o->padding_idx - first < block->rows)
        memset((char *)direct.data + (o->padding_idx - first) * row_bytes, 0, row_bytes);
    if (!made)
        return EMB_OK;
    status = emb_convert(block->data, block->dtype, made, EMB_F32, block->rows * block->dims,
                         &overflows, err);
    if (!status && overflows)
        status = too_large(block->dtype, err);
    return status;
}

static bool is_made_directly(emb_dtype dtype)
{
    return dtype == EMB_F64 || dtype == EMB_F32 || dtype == EMB_F16 || dtype == EMB_BF16;
}

/* A table that is made as it is written: rows first .. of table t. */
struct making {
    const struct plan *plan;
    int t;
    uint64_t first;
};

static emb_status make_rows(void *arg, uint64_t first, emb_block *block, emb_err *err)
{
    const struct making *m = arg;
    void *made = NULL;
    if (!is_made_directly(block->dtype)) {
        made = malloc(block->rows * block->dims * sizeof(float) + 1);
        if (!made) {
            *err = (emb_err){
                .status = EMB_NO_MEMORY, .at = -1, .msg = "out of memory for a block of rows"};
            return EMB_NO_MEMORY;
        }
    }
    emb_status status = fill(m->plan, m->t, m->first + first, block, made, err);
    free(made);
    return status;
}

/* By a device, which one thread uses at a time. */
static emb_status put_drawn(struct making *m, emb_writer *writer, const emb_block *rows,
                            const emb_str *tokens, emb_err *err)
{
    emb_block block = *rows;
    block.data = malloc(rows->rows * rows->dims * emb_dtype_bytes(rows->dtype) + 1);
    if (!block.data) {
        *err = (emb_err){
            .status = EMB_NO_MEMORY, .at = -1, .msg = "out of memory for a block of rows"};
        return EMB_NO_MEMORY;
    }
    emb_status status = make_rows(m, 0, &block, err);
    if (!status)
        status = emb_writer_put(writer, &block, tokens, err);
    free(block.data);
    return status;
}

/* A step at a time, so that progress shows. */
static emb_status write_rows(const struct plan *plan, int t, emb_writer *writer, emb_err *err)
{
    const emb_array *a = &plan->arrays[t];
    size_t row_bytes = a->shape[1] * emb_dtype_bytes(a->dtype);
    uint64_t step = embi_max(STEP_BYTES / embi_max(row_bytes, 1), 1);
    struct making m = {plan, t, 0};
    emb_status status = EMB_OK;
    struct progress progress;
    progress_begin(&progress, plan->run, a->shape[0], row_bytes);
    for (; !status && m.first < a->shape[0]; m.first += step) {
        emb_block rows = {NULL, embi_min(step, a->shape[0] - m.first), (uint32_t)a->shape[1],
                          a->dtype, 0};
        const emb_str *tokens = plan->tokens.n ? plan->tokens.v + m.first : NULL;
        status = plan->run->device ? put_drawn(&m, writer, &rows, tokens, err)
                                   : emb_writer_put_made(writer, &rows, tokens, make_rows, &m, err);
        progress_add(&progress, rows.rows);
    }
    progress_end(&progress);
    return status;
}

static emb_status open_writer(const struct plan *plan, emb_writer **writer, emb_err *err)
{
    emb_array arrays[EMB_NEW_TENSORS];
    emb_write_opts opts;
    size_t n = 0;
    const char *path = plan->opts->common.output;
    write_opts(plan->run, plan->format, &opts);
    opts.tokens = plan->tokens.n > 0;
    if (plan->dir)
        return emb_writer_open_model(plan->run->ctx, path, plan->model, &opts, writer, err);
    for (int t = 0; t < EMB_NEW_TENSORS; t++)
        if (plan->arrays[t].ndim)
            arrays[n++] = plan->arrays[t];
    return emb_writer_open(plan->run->ctx, path, arrays, n, &opts, writer, err);
}

/* Of a directory, the files that are made here; those of a tokenizer are copies. */
static void report_files(const struct plan *plan)
{
    static const char *const names[] = {"config.json", "model.safetensors"};
    const char *output = plan->opts->common.output;
    size_t n = strlen(output);
    if (!plan->dir)
        report_output(plan->run, output);
    for (size_t i = 0; plan->dir && i < EMBI_LEN(names); i++) {
        struct embi_buf path = {0};
        embi_buf_print(&path, "%s%s%s", output, n && output[n - 1] == '/' ? "" : "/", names[i]);
        report_output(plan->run, embi_buf_cstr(&path));
        embi_buf_free(&path);
    }
}

static int write_tables(struct plan *plan)
{
    emb_writer *writer;
    emb_err err;
    const char *path = plan->opts->common.output;
    emb_status status = open_writer(plan, &writer, &err);
    if (status)
        return fail(plan->run, path, &err);
    for (int t = 0; !status && t < EMB_NEW_TENSORS; t++) {
        if (!plan->arrays[t].ndim)
            continue;
        status = write_rows(plan, t, writer, &err);
        if (!status)
            status = emb_writer_next(writer, &err);
    }
    if (!status)
        status = emb_writer_commit(writer, &err);
    emb_writer_close(writer);
    if (status)
        return fail(plan->run, path, &err);
    report_files(plan);
    return EXIT_DONE;
}

static int run_init(struct run *run, void *opts)
{
    const struct init_opts *o = opts;
    struct plan plan = {
        .run = run,
        .opts = o,
        .how = {.size = sizeof plan.how, .std = o->has_std ? o->std : 0, .seed = o->common.seed},
    };
    int code = init_plan(&plan);
    if (!code && !o->dry_run)
        code = load_device(run, false);
    plan.how.device = run->device;
    if (!code && !o->dry_run)
        code = write_tables(&plan);
    if (!code)
        code = init_say(&plan);
    emb_new_model_close(plan.model);
    token_list_free(&plan.tokens);
    return code;
}

const struct cmd cmd_init = {
    .name = "init",
    .group = "Make",
    .summary = "a new table",
    .usage = "V D -o FILE\n--tokens FILE D -o FILE\n"
             "V D [--arch NAME] [--positions T] [--untied] -o DIR\n--preset NAME -o DIR",
    .about = "Writes a table of V rows of D numbers. An element depends on the seed, its row and "
             "its column alone: the "
             "same seed gives the same bytes on any machine and any number of threads.\n"
             "A model directory holds model.safetensors and config.json. The output is one if it "
             "ends in a slash, or is there as a directory, or if an option of a model is given "
             "and no format goes by its extension.",
    .examples = "embtool init 50257 768 --std 0.02 -o wte.safetensors\n"
                "embtool init --tokens words.txt 300 -o words.bin\n"
                "embtool init 8449 768 --dtype bf16 --padding-idx 0 -o table.safetensors\n"
                "embtool init --preset gpt2 -o gpt2\n"
                "embtool init 8449 768 --positions 1024 --untied -o andrea",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct init_opts),
    .run = run_init,
};
