/* logits.c - `embtool logits`: hidden states times the output table of a model.
 *
 * Options, and what they mean together; the highest logits are logits_top.c's, whole arrays
 * logits_array.c's. The numbers are the library's.
 */
#include "logits.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

#define AT(member) offsetof(struct logits_opts, member)

static const struct opt options[] = {
    OPT_HEADING("Logits"),
    OPT("top-k", 'k', OPT_COUNT, AT(k), "N",
        "print the N highest of each hidden state (default 10; 0: all)", .given = AT(has_k),
        .aliases = " topn topk top n "),
    OPT("as-model", 0, OPT_FLAG, AT(as_model), NULL,
        "do what the model does besides the product: factors, soft cap"),
    OPT("temperature", 0, OPT_NUMBER, AT(temperature), "T", "divide by T, last of all",
        .given = AT(has_temperature)),
    OPT("softmax", 0, OPT_FLAG, AT(softmax), NULL,
        "probabilities: beside the logits in text, in place of them in arrays",
        .aliases = " probabilities probs "),
    COMMON_DEVICE,
    OPT_HEADING("Output"),
    COMMON_OUTPUT,
    COMMON_FORMAT(LOGITS_FORMATS),
    COMMON_DTYPE,
    OPT("name", 0, OPT_TEXT, AT(name), "TENSOR", "name of the array (default: logits)"),
    COMMON_JSON,
    OPT("digits", 0, OPT_COUNT, AT(digits), "N",
        "significant digits of scores, 1 to 17 (default 6; 0: all)", .aliases = " precision "),
    COMMON_PIECES,
    COMMON_RAW_TOKENS,
    COMMON_WRITE,
    COMMON_TABLE,
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

static const struct logits_opts defaults = {.k = 10, .digits = 6};

static bool is_array(const struct logits_run *l)
{
    return strcmp(l->format, "text") != 0 && strcmp(l->format, "json") != 0;
}

/* ------------------------------------------------------------------------------------------------
 * What was asked
 */

static int check_output(struct logits_run *l)
{
    const struct logits_opts *o = l->opts;
    const struct common *c = &o->common;
    int code = output_format(l->run, LOGITS_FORMATS, &l->format);
    if (code)
        return code;
    if (is_array(l) && o->has_k)
        return usage_error(l->run,
                           "-k prints the highest logits, and %s holds all of them: which "
                           "one?",
                           l->format);
    if (!is_array(l) && c->dtype)
        return usage_error(l->run, "--dtype is for arrays, not for %s", l->format);
    if (c->dtype && (!emb_dtype_is_float(c->dtype) || c->dtype == EMB_F8_E8M0))
        return usage_error(l->run, "--dtype %s: expected f64, f32, f16, bf16 or a float of 8 bits",
                           emb_dtype_name(c->dtype));
    return is_array(l) ? refuse_device(l->run, "an array of logits") : EXIT_DONE;
}

static int check_options(struct logits_run *l)
{
    const struct logits_opts *o = l->opts;
    const char *table = o->common.table;
    if (l->run->items.n != 1)
        return usage_error(l->run, l->run->items.n ? "expected one file of hidden states"
                                                   : "no hidden states: say which file");
    l->hidden_path = l->run->items.v[0].s;
    if (is_stream(l->hidden_path) && table && is_stream(table))
        return usage_error(l->run, "the table and the hidden states cannot both come from standard "
                                   "input");
    if (o->has_temperature && !(o->temperature > 0))
        return usage_error(l->run, "--temperature: expected a number above 0");
    if (o->digits > 17)
        return usage_error(l->run, "--digits: expected 0 to 17");
    return check_output(l);
}

/* ------------------------------------------------------------------------------------------------
 * What is there
 */

static int open_hidden(struct logits_run *l)
{
    struct run *run = l->run;
    const struct common *c = run->common;
    emb_open_opts opts = {
        .size = sizeof opts, .flat = true, .input_dtype = c->input_dtype, .strict = c->strict};
    emb_err err;
    watch_file(run, l->hidden_path);
    if (emb_table_open(run->ctx, l->hidden_path, &opts, &l->hidden, &err) != EMB_OK ||
        emb_table_describe(l->hidden, &l->hidden_info, &err) != EMB_OK)
        return fail(run, l->hidden_path, &err);
    report_input(run, l->hidden_info.path);
    if (!emb_dtype_is_float(l->hidden_info.dtype))
        return fail_with(run, EXIT_DATA, l->hidden_path,
                         "numbers of type %s are no hidden states: expected floats",
                         emb_dtype_name(l->hidden_info.dtype));
    return EXIT_DONE;
}

static int check_widths(struct logits_run *l)
{
    if (l->hidden_info.dims == l->info.dims)
        return EXIT_DONE;
    return fail_with(l->run, EXIT_DATA, l->hidden_path,
                     "hidden states of %u numbers; the output table%s%s has rows of %u",
                     l->hidden_info.dims, l->info.tensor ? " " : "",
                     l->info.tensor ? l->info.tensor : "", l->info.dims);
}

/* Said where the model goes on, and it was not asked for. */
static void note_model(struct logits_run *l)
{
    const emb_logits_info *i = emb_logits_describe(l->logits);
    if (l->opts->as_model || !i->known)
        return;
    if (i->hidden_scale != 1)
        note(l->run, NULL, "a %s model multiplies hidden states by %.6g first: --as-model does so",
             i->type, i->hidden_scale);
    if (i->scale != 1)
        note(l->run, NULL, "a %s model multiplies logits by %.6g: --as-model does so", i->type,
             i->scale);
    if (i->soft_cap > 0)
        note(l->run, NULL, "a %s model caps logits at %.6g: --as-model does so", i->type,
             i->soft_cap);
}

static int open_logits(struct logits_run *l)
{
    const emb_logits_opts opts = {.size = sizeof opts,
                                  .as_model = l->opts->as_model,
                                  .temperature = l->opts->temperature,
                                  .device = l->run->device};
    emb_err err;
    if (emb_logits_open(l->table, &opts, &l->logits, &err) != EMB_OK) {
        struct run *run = l->run;
        return l->opts->as_model && err.status == EMB_UNSUPPORTED
                   ? fail_with(run, EXIT_DATA, run->table_name, "--as-model: %s", err.msg)
                   : fail(run, run->table_name, &err);
    }
    note_model(l);
    return EXIT_DONE;
}

int logits_hidden(struct logits_run *l, uint64_t first, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t row = first + i;
        emb_block one = {to + i * l->info.dims, 1, l->info.dims, EMB_F64, 0};
        emb_err err;
        if (emb_table_gather(l->hidden, &row, 1, &one, &err) != EMB_OK)
            return fail(l->run, l->hidden_path, &err);
    }
    return EXIT_DONE;
}

int logits_failed(struct logits_run *l, uint64_t first, const emb_err *err)
{
    if (err->status != EMB_BAD_DATA || err->at < 0)
        return fail(l->run, l->run->table_name, err);
    return fail_with(l->run, EXIT_DATA, l->hidden_path,
                     "hidden state %" PRIu64 " holds NaN or an infinity",
                     first + (uint64_t)err->at);
}

static int run_logits(struct run *run, void *opts)
{
    struct logits_run l = {.run = run, .opts = opts};
    int code = check_options(&l);
    if (code)
        return code;
    run->common->output_table = true;
    code = load_device(run, true);
    if (!code)
        code = open_table(run, &l.table, &l.info);
    if (!code)
        code = open_hidden(&l);
    if (!code)
        code = check_widths(&l);
    if (!code)
        code = open_logits(&l);
    if (!code)
        code = is_array(&l) ? logits_array(&l) : logits_top(&l);
    emb_logits_close(l.logits);
    emb_table_close(l.hidden);
    emb_table_close(l.table);
    return code;
}

const struct cmd cmd_logits = {
    .name = "logits",
    .group = "Learn",
    .summary = "hidden states to scores over the vocabulary",
    .usage = "HIDDEN [-t TABLE] [-k N] [--softmax]\nHIDDEN [-t TABLE] -o FILE",
    .about = "Multiplies the hidden states in HIDDEN, [..., d], with the output table of a model, "
             "tied or not, and adds its bias where there is one. Prints the N highest logits of "
             "each, or writes all of them, [..., V].\n"
             "To a pipe: `row TAB token TAB id TAB score`, and `TAB probability` with --softmax; "
             "equal scores come by id. Hidden states are those that the output table receives: "
             "after the last norm, and after the transform of models like BERT.",
    .examples = "embtool logits h.npy -t model/\n"
                "embtool logits h.npy -t model/ -k 5 --softmax --as-model --temperature 0.7\n"
                "embtool logits h.safetensors#h -t model/ -o logits.npy",
    .options = options,
    .defaults = &defaults,
    .opts_bytes = sizeof(struct logits_opts),
    .run = run_logits,
};
