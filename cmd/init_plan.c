/* init_plan.c - from options and arguments to the plan of new tables.
 */
#include "init.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const char *const dist_names[] = {"normal", "uniform",  "truncated",
                                         "zeros",  "constant", "identity"};

static int parse_dist(struct run *run, const char *text, emb_init_opts *how)
{
    size_t n = text ? strcspn(text, ":") : 0;
    if (!text)
        return EXIT_DONE;
    for (size_t i = 0; i < EMBI_LEN(dist_names); i++) {
        if (strlen(dist_names[i]) != n || memcmp(dist_names[i], text, n) != 0)
            continue;
        how->dist = (emb_dist)i;
        if ((how->dist == EMB_CONSTANT) != (text[n] == ':'))
            break;
        emb_str value = {text + n + 1, how->dist == EMB_CONSTANT ? strlen(text + n + 1) : 0};
        if (how->dist == EMB_CONSTANT &&
            (!emb_number_parse(value, EMB_F64, &how->value) || !isfinite(how->value)))
            break;
        return EXIT_DONE;
    }
    return usage_error(
        run, "--dist %s: expected normal, uniform, truncated, zeros, constant:X or identity", text);
}

static int parse_size(struct run *run, const char *what, const char *text, uint64_t *size)
{
    if (!opt_u64(text, size) || *size == 0)
        return usage_error(run, "%s %s: expected a whole number, 1 or more", what, text);
    return EXIT_DONE;
}

int init_shape(struct plan *plan, const char *from, uint64_t *rows, uint64_t *dims)
{
    const struct opt_items *items = &plan->run->items;
    size_t given = items->n;
    int code = EXIT_DONE;
    if (given != 2 && !(given == 1 && from))
        return usage_error(plan->run, "expected V and D%s, found %zu", from ? ", or D alone" : "",
                           given);
    if (given == 2)
        code = parse_size(plan->run, "V", items->v[0].s, rows);
    if (!code)
        code = parse_size(plan->run, "D", items->v[given - 1].s, dims);
    if (!code && *dims > UINT32_MAX)
        code = usage_error(plan->run, "D %s: too large", items->v[given - 1].s);
    return code;
}

static int pad_rows(struct plan *plan)
{
    uint64_t *rows = &plan->arrays[EMB_NEW_EMBEDDING].shape[0], multiple = plan->opts->multiple;
    if (!plan->opts->has_multiple)
        return EXIT_DONE;
    if (multiple == 0 || *rows > UINT64_MAX - multiple)
        return usage_error(plan->run, "--pad-to-multiple-of %" PRIu64 ": %s", multiple,
                           multiple ? "too large" : "expected 1 or more");
    *rows = (*rows + multiple - 1) / multiple * multiple;
    return EXIT_DONE;
}

/* One table; V may be left out where --tokens says it. */
static int plan_table(struct plan *plan)
{
    emb_array *a = &plan->arrays[EMB_NEW_EMBEDDING];
    uint64_t tokens = plan->tokens.n;
    *a = (emb_array){.name = plan->opts->name,
                     .dtype = plan->run->common->dtype ? plan->run->common->dtype : EMB_F32,
                     .ndim = 2,
                     .shape = {tokens}};
    int code = init_shape(plan, plan->opts->tokens, &a->shape[0], &a->shape[1]);
    if (!code && plan->opts->tokens && tokens == 0)
        return fail_with(plan->run, EXIT_DATA, plan->opts->tokens,
                         "expected tokens, one a line, found an empty file");
    if (!code && plan->opts->tokens && a->shape[0] < tokens)
        code = usage_error(plan->run, "V %" PRIu64 ": %s holds %" PRIu64 " tokens", a->shape[0],
                           plan->opts->tokens, tokens);
    return code ? code : pad_rows(plan);
}

static int check_plan(struct plan *plan)
{
    const struct init_opts *o = plan->opts;
    const emb_array *a = &plan->arrays[EMB_NEW_EMBEDDING];
    uint64_t count = emb_dtype_bytes(a->dtype);
    bool named = plan->tokens.n > 0;
    if (!embi_mul(count, a->shape[0], &count) || !embi_mul(count, a->shape[1], &count) ||
        count > INT64_MAX)
        return usage_error(plan->run, "a table of %" PRIu64 " x %" PRIu64 " has no size",
                           a->shape[0], a->shape[1]);
    if (o->has_padding && o->padding_idx >= a->shape[0])
        return usage_error(plan->run, "--padding-idx %" PRIu64 " is outside 0..%" PRIu64,
                           o->padding_idx, a->shape[0] - 1);
    if (o->has_std && o->std <= 0)
        return usage_error(plan->run, "--std: expected a number above 0");
    if (named && plan->tokens.n != a->shape[0])
        return usage_error(plan->run, "%" PRIu64 " rows and %zu tokens: %s needs one for every row",
                           a->shape[0], plan->tokens.n, plan->format);
    return EXIT_DONE;
}

/* Formats that hold tokens. */
static bool holds_tokens(const char *format)
{
    return strcmp(format, "word2vec") == 0 || strcmp(format, "word2vec-text") == 0 ||
           strcmp(format, "text") == 0;
}

static int check_tokens(struct plan *plan)
{
    const char *format = plan->format;
    if (plan->dir)
        return EXIT_DONE;
    if (holds_tokens(format) && !plan->opts->tokens)
        return usage_error(plan->run, "%s needs a token for every row: say --tokens FILE", format);
    if (!holds_tokens(format) && plan->opts->tokens)
        note(plan->run, plan->opts->tokens,
             "%s holds no tokens: name this file with --vocab when the table is read", format);
    return EXIT_DONE;
}

/* Text is not guessed for a new table: FILE.gguf would be a surprise. */
static int check_extension(struct run *run)
{
    const struct common *c = run->common;
    if (c->output_format || is_stream(c->output) || emb_format_of(c->output))
        return EXIT_DONE;
    return usage_error(run, "%s: no format goes by that extension: say -O " INIT_FORMATS,
                       c->output);
}

/* Is the output a directory? What ends in a slash or is there as one is; what has the extension of
 * a format, or goes by -O, is none; else it is one if the tables of a model were asked for. */
static bool is_directory(const struct plan *plan)
{
    struct stat st;
    const struct common *c = plan->run->common;
    size_t n = strlen(c->output);
    if (n && c->output[n - 1] == '/')
        return true;
    if (is_stream(c->output))
        return false;
    if (stat(c->output, &st) == 0 && S_ISDIR(st.st_mode))
        return true;
    return !c->output_format && !emb_format_of(c->output) && init_is_model(plan);
}

static int choose_output(struct plan *plan)
{
    struct run *run = plan->run;
    const struct common *c = run->common;
    if (!c->output)
        return usage_error(run, "no output: say -o FILE");
    plan->dir = is_directory(plan);
    if (!plan->dir) {
        int code = check_extension(run);
        return code ? code : output_format(run, INIT_FORMATS, &plan->format);
    }
    plan->format = "safetensors";
    if (c->output_format && strcmp(c->output_format, "safetensors") != 0)
        return usage_error(run, "%s is a directory: models are written as safetensors, not %s",
                           c->output, c->output_format);
    if (plan->opts->tokens)
        return usage_error(run, "%s is a directory: its tokens come with --tokenizer DIR",
                           c->output);
    return EXIT_DONE;
}

int init_plan(struct plan *plan)
{
    struct run *run = plan->run;
    const struct init_opts *o = plan->opts;
    int code = choose_output(plan);
    if (!code)
        code = parse_dist(run, o->dist, &plan->how);
    if (!code && o->tokens)
        code = token_list_read(&plan->tokens, run, o->tokens);
    if (!code)
        code = init_is_model(plan) ? init_plan_model(plan) : plan_table(plan);
    if (!code)
        code = check_tokens(plan);
    if (!code && !holds_tokens(plan->format))
        token_list_free(&plan->tokens);
    return code ? code : check_plan(plan);
}
