/* init_plan.c - from options and arguments to the plan of a new table.
 */
#include "init.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

/* V and D; V may be left out where --tokens says it. */
static int parse_shape(struct plan *plan)
{
    const struct opt_items *items = &plan->run->items;
    uint64_t *rows = &plan->array.shape[0], *dims = &plan->array.shape[1], tokens = plan->tokens.n;
    size_t given = items->n;
    int code = EXIT_DONE;
    if (given != 2 && !(given == 1 && plan->opts->tokens))
        return usage_error(plan->run, "expected V and D%s, found %zu arguments",
                           plan->opts->tokens ? ", or D alone" : "", given);
    if (plan->opts->tokens && tokens == 0)
        return fail_with(plan->run, EXIT_DATA, plan->opts->tokens,
                         "expected tokens, one a line, found an empty file");
    *rows = tokens;
    if (given == 2)
        code = parse_size(plan->run, "V", items->v[0].s, rows);
    if (!code)
        code = parse_size(plan->run, "D", items->v[given - 1].s, dims);
    if (!code && *dims > UINT32_MAX)
        code = usage_error(plan->run, "D %s: too large", items->v[given - 1].s);
    if (!code && plan->opts->tokens && *rows < tokens)
        code = usage_error(plan->run, "V %" PRIu64 ": %s holds %" PRIu64 " tokens", *rows,
                           plan->opts->tokens, tokens);
    return code;
}

static int pad_rows(struct plan *plan)
{
    uint64_t *rows = &plan->array.shape[0], multiple = plan->opts->multiple;
    if (!plan->opts->has_multiple)
        return EXIT_DONE;
    if (multiple == 0 || *rows > UINT64_MAX - multiple)
        return usage_error(plan->run, "--pad-to-multiple-of %" PRIu64 ": %s", multiple,
                           multiple ? "too large" : "expected 1 or more");
    *rows = (*rows + multiple - 1) / multiple * multiple;
    return EXIT_DONE;
}

static int check_plan(struct plan *plan)
{
    const struct init_opts *o = plan->opts;
    uint64_t count = emb_dtype_bytes(plan->array.dtype);
    bool named = plan->tokens.n > 0;
    if (!embi_mul(count, plan->array.shape[0], &count) ||
        !embi_mul(count, plan->array.shape[1], &count) || count > INT64_MAX)
        return usage_error(plan->run, "a table of %" PRIu64 " x %" PRIu64 " has no size",
                           plan->array.shape[0], plan->array.shape[1]);
    if (o->has_padding && o->padding_idx >= plan->array.shape[0])
        return usage_error(plan->run, "--padding-idx %" PRIu64 " is outside 0..%" PRIu64,
                           o->padding_idx, plan->array.shape[0] - 1);
    if (o->has_std && o->std <= 0)
        return usage_error(plan->run, "--std: expected a number above 0");
    if (named && plan->tokens.n != plan->array.shape[0])
        return usage_error(plan->run, "%" PRIu64 " rows and %zu tokens: %s needs one for every row",
                           plan->array.shape[0], plan->tokens.n, plan->format);
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
    if (!c->output)
        return usage_error(run, "no output: say -o FILE");
    if (c->output_format || is_stream(c->output) || emb_format_of(c->output))
        return EXIT_DONE;
    return usage_error(run, "%s: no format goes by that extension: say -O " INIT_FORMATS,
                       c->output);
}

int init_plan(struct plan *plan)
{
    struct run *run = plan->run;
    const struct init_opts *o = plan->opts;
    int code = check_extension(run);
    if (!code)
        code = output_format(run, INIT_FORMATS, &plan->format);
    if (!code)
        code = parse_dist(run, o->dist, &plan->how);
    if (!code && o->tokens)
        code = token_list_read(&plan->tokens, run, o->tokens);
    if (!code)
        code = parse_shape(plan);
    if (!code)
        code = pad_rows(plan);
    if (!code)
        code = check_tokens(plan);
    if (!code && !holds_tokens(plan->format))
        token_list_free(&plan->tokens);
    return code ? code : check_plan(plan);
}
