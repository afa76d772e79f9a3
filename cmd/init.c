/* init.c - `embtool init`: a new table.
 *
 * Rows are made and written block by block, as the plan says (init_plan.c). The numbers are the
 * library's.
 */
#include "init.h"
#include "out.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4 << 20 };

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
    COMMON_DTYPE,
    OPT_HEADING("Rows"),
    OPT("tokens", 0, OPT_TEXT, AT(tokens), "FILE", "tokens, one a line; V may then be left out",
        .aliases = " vocab "),
    OPT("pad-to-multiple-of", 0, OPT_COUNT, AT(multiple), "N",
        "more rows, until V is a multiple of N", .given = AT(has_multiple), .aliases = " pad-to "),
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

/* Rows first .. of the table into block, in the type that is written. `made` is scratch where that
 * type is no plain float. */
static emb_status fill(const struct plan *plan, uint64_t first, emb_block *block, void *made,
                       emb_err *err)
{
    const struct init_opts *o = plan->opts;
    uint64_t overflows = 0;
    emb_block direct = {made ? made : block->data, block->rows, block->dims,
                        made ? EMB_F32 : block->dtype, 0};
    size_t row_bytes = direct.dims * emb_dtype_bytes(direct.dtype);
    emb_status status = emb_init_rows(plan->run->ctx, &plan->how, first, &direct, err);
    if (status)
        return status;
    if (o->has_padding && o->padding_idx >= first && o->padding_idx - first < block->rows)
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

static emb_status write_rows(const struct plan *plan, emb_writer *writer, emb_err *err)
{
    const emb_array *a = &plan->array;
    size_t row_bytes = a->shape[1] * emb_dtype_bytes(a->dtype),
           row_made = a->shape[1] * sizeof(float);
    uint64_t step = embi_min(embi_max(BLOCK_BYTES / row_made, 1), a->shape[0]);
    void *rows = malloc(step * row_bytes),
         *made = is_made_directly(a->dtype) ? NULL : malloc(step * row_made);
    emb_status status = EMB_OK;
    struct progress progress;
    if (!rows || (!made && !is_made_directly(a->dtype))) {
        *err = (emb_err){
            .status = EMB_NO_MEMORY, .at = -1, .msg = "out of memory for a block of rows"};
        status = EMB_NO_MEMORY;
    }
    progress_begin(&progress, plan->run, a->shape[0], row_bytes);
    for (uint64_t first = 0; !status && first < a->shape[0]; first += step) {
        emb_block block = {rows, embi_min(step, a->shape[0] - first), (uint32_t)a->shape[1],
                           a->dtype, 0};
        status = fill(plan, first, &block, made, err);
        if (!status)
            status =
                emb_writer_put(writer, &block, plan->tokens.n ? plan->tokens.v + first : NULL, err);
        progress_add(&progress, block.rows);
    }
    progress_end(&progress);
    free(made);
    free(rows);
    return status;
}

static int write_table(struct plan *plan)
{
    emb_writer *writer;
    emb_write_opts opts;
    emb_err err;
    const char *path = plan->opts->common.output;
    write_opts(plan->run, plan->format, &opts);
    opts.tokens = plan->tokens.n > 0;
    if (emb_writer_open(plan->run->ctx, path, &plan->array, 1, &opts, &writer, &err) != EMB_OK)
        return fail(plan->run, path, &err);
    emb_status status = write_rows(plan, writer, &err);
    if (!status)
        status = emb_writer_commit(writer, &err);
    emb_writer_close(writer);
    if (status)
        return fail(plan->run, path, &err);
    report_output(plan->run, path);
    return EXIT_DONE;
}

static void print_number(struct out *out, const char *key, uint64_t x, bool json, const char *end)
{
    out_print(out, json ? "\"%s\":" : "%s\t", key);
    out_u64(out, x);
    out_text(out, json ? end : "\n");
}

/* What was made; nothing where the table itself went to standard output. */
static int print_plan(const struct plan *plan)
{
    struct out out;
    const struct common *c = &plan->opts->common;
    const emb_array *a = &plan->array;
    uint64_t params = a->shape[0] * a->shape[1];
    if (is_stream(c->output))
        return EXIT_DONE;
    int code = out_open(plan->run, NULL, &out);
    if (c->json)
        out_byte(&out, '{');
    print_number(&out, "rows", a->shape[0], c->json, ",");
    print_number(&out, "dims", a->shape[1], c->json, ",");
    out_print(&out, c->json ? "\"dtype\":\"%s\"," : "dtype\t%s\n", emb_dtype_name(a->dtype));
    print_number(&out, "bytes", params * emb_dtype_bytes(a->dtype), c->json, ",");
    print_number(&out, "params", params, c->json, ",");
    print_number(&out, "seed", c->seed, c->json, "}\n");
    return out_close(&out, code);
}

static int run_init(struct run *run, void *opts)
{
    const struct init_opts *o = opts;
    struct plan plan = {
        .run = run,
        .opts = o,
        .array = {.name = o->name, .dtype = o->common.dtype ? o->common.dtype : EMB_F32, .ndim = 2},
        .how = {.size = sizeof plan.how, .std = o->has_std ? o->std : 0, .seed = o->common.seed},
    };
    int code = init_plan(&plan);
    if (!code && !o->dry_run)
        code = write_table(&plan);
    if (!code)
        code = print_plan(&plan);
    token_list_free(&plan.tokens);
    return code;
}

const struct cmd cmd_init = {
    .name = "init",
    .group = "Make",
    .summary = "a new table",
    .usage = "V D -o FILE\n--tokens FILE D -o FILE",
    .about = "Writes a table of V rows of D numbers. An element depends on the seed, its row and "
             "its column alone: the "
             "same seed gives the same bytes on any machine and any number of threads.",
    .examples = "embtool init 50257 768 --std 0.02 -o wte.safetensors\n"
                "embtool init --tokens words.txt 300 -o words.bin\n"
                "embtool init 8449 768 --dtype bf16 --padding-idx 0 -o table.safetensors",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct init_opts),
    .run = run_init,
};
