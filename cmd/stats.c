/* stats.c - `embtool stats`: what is in a table, and is it healthy.
 *
 * Options, the gates of --fail-on, and rows without a token. The figures are the library's; they
 * are written by figures_text.c and figures_json.c.
 */
#include "figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct stats_opts {
    struct common common;
    const char *fail_on;
    bool columns, spectrum, has_k;
    uint64_t k;
    int rows;
};

#define FORMATS    "text|json"
#define AT(member) offsetof(struct stats_opts, member)

static const struct opt options[] = {
    OPT_HEADING("Figures"),
    OPT("columns", 0, OPT_FLAG, AT(columns), NULL,
        "mean, deviation, least and greatest value of each dimension"),
    OPT("spectrum", 0, OPT_FLAG, AT(spectrum), NULL,
        "mean cosine between rows, effective rank, largest singular values; needs the BLAS plugin",
        .aliases = " svd pca rank isotropy "),
    OPT("top-k", 'k', OPT_COUNT, AT(k), "N",
        "singular values to list with --spectrum (default: 10; 0: all)", .given = AT(has_k),
        .aliases = " topk "),
    OPT("rows", 0, OPT_CHOICE, AT(rows), "ids",
        "list the odd rows: id, and token where there is one"),
    OPT("fail-on", 0, OPT_TEXT, AT(fail_on), "KINDS",
        "exit 1 if there are rows of these kinds: zero,nonfinite,duplicate,unowned",
        .aliases = " check gate "),
    OPT_HEADING("Output"),
    COMMON_JSON,
    COMMON_OUTPUT,
    COMMON_FORMAT(FORMATS),
    COMMON_WRITE,
    COMMON_RAW_TOKENS,
    COMMON_TABLE,
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

static const struct stats_opts defaults = {.k = 10, .rows = -1};

static const char *const odd_names[ODD_KINDS] = {"zero", "nonfinite", "duplicate", "unowned"};

const char *odd_name(enum odd kind)
{
    return odd_names[kind];
}

uint64_t odd_rows(const struct figures *f, enum odd kind)
{
    switch (kind) {
    case ODD_ZERO: return f->stats.zero_rows;
    case ODD_NONFINITE: return f->stats.nonfinite_rows;
    case ODD_DUPLICATE: return f->stats.duplicate_rows;
    default: return f->info.has_tokens ? f->info.rows - f->tokens : 0;
    }
}

const uint64_t *odd_list(const struct figures *f, enum odd kind)
{
    switch (kind) {
    case ODD_ZERO: return f->stats.zero_list;
    case ODD_NONFINITE: return f->stats.nonfinite_list;
    case ODD_DUPLICATE: return f->stats.duplicate_list;
    default: return f->unowned;
    }
}

/* Counts the rows that have a token. */
static int count_tokens(struct figures *f)
{
    emb_err err;
    if (!f->info.has_tokens)
        return EXIT_DONE;
    for (uint64_t row = 0; row < f->info.rows; row++) {
        emb_str token;
        emb_status status = emb_table_token(f->table, row, &token, &err);
        if (status && status != EMB_NOT_FOUND)
            return fail(f->run, f->run->table_name, &err);
        f->tokens += status == EMB_OK;
    }
    return EXIT_DONE;
}

static int list_unowned(struct figures *f)
{
    emb_err err;
    uint64_t n = odd_rows(f, ODD_UNOWNED), found = 0;
    if (!f->rows || n == 0)
        return EXIT_DONE;
    f->unowned = malloc(n * sizeof *f->unowned);
    if (!f->unowned)
        return fail_with(f->run, EXIT_MEMORY, NULL, "out of memory");
    for (uint64_t row = 0; row < f->info.rows && found < n; row++) {
        emb_str token;
        if (emb_table_token(f->table, row, &token, &err) == EMB_NOT_FOUND)
            f->unowned[found++] = row;
    }
    return EXIT_DONE;
}

/* The kinds of --fail-on as bits. */
static int parse_kinds(struct run *run, const char *text, unsigned *kinds)
{
    *kinds = 0;
    while (text) {
        const char *comma = strchr(text, ',');
        size_t n = comma ? (size_t)(comma - text) : strlen(text);
        int kind = 0;
        while (kind < ODD_KINDS &&
               (strlen(odd_names[kind]) != n || memcmp(odd_names[kind], text, n) != 0))
            kind++;
        if (kind == ODD_KINDS)
            return usage_error(run,
                               "--fail-on %.*s: expected zero, nonfinite, duplicate or unowned",
                               (int)embi_min(n, 60), text);
        *kinds |= 1u << kind;
        text = comma ? comma + 1 : NULL;
    }
    return EXIT_DONE;
}

/* A gate that cannot be answered must not look passed. */
static int check_gates(const struct figures *f, unsigned kinds)
{
    if (!(kinds >> ODD_UNOWNED & 1) || f->info.has_tokens)
        return EXIT_DONE;
    return fail_with(f->run, EXIT_DATA, f->run->table_name,
                     "the table has no tokens: --fail-on unowned has no answer");
}

static int apply_gates(const struct figures *f, unsigned kinds)
{
    int code = EXIT_DONE;
    for (int kind = 0; kind < ODD_KINDS; kind++) {
        uint64_t n = odd_rows(f, (enum odd)kind);
        if ((kinds >> kind & 1) && n)
            code = fail_with(f->run, EXIT_NO, f->run->table_name, "%" PRIu64 " %s row%s", n,
                             odd_names[kind], n == 1 ? "" : "s");
    }
    return code;
}

static int print(const struct figures *f)
{
    struct out out;
    int code = out_open(f->run, f->run->common->output, &out);
    if (!code && strcmp(f->format, "json") == 0)
        figures_json(f, &out);
    else if (!code)
        figures_text(f, &out);
    return out_close(&out, code);
}

/* First, since it may be what cannot be had; k 0: all. */
static int take_spectrum(struct figures *f, uint64_t k)
{
    emb_err err;
    if (!f->with_spectrum)
        return EXIT_DONE;
    if (emb_spectrum_run(f->table, &f->spectrum, &err) != EMB_OK)
        return fail(f->run, f->run->table_name, &err);
    f->listed = k ? (size_t)embi_min(k, f->spectrum.n) : f->spectrum.n;
    return EXIT_DONE;
}

static int measure(struct figures *f, unsigned kinds)
{
    emb_err err;
    emb_stats_opts opts = {.size = sizeof opts, .columns = f->columns, .list_rows = f->rows};
    if (emb_stats_run(f->table, &opts, &f->stats, &err) != EMB_OK)
        return fail(f->run, f->run->table_name, &err);
    int code = emb_table_model(f->table, &f->model, &err) == EMB_OK
                   ? count_tokens(f)
                   : fail(f->run, f->run->table_name, &err);
    if (!code)
        code = list_unowned(f);
    if (!code)
        code = print(f);
    if (!code)
        code = apply_gates(f, kinds);
    free(f->unowned);
    emb_stats_free(&f->stats);
    return code;
}

static int run_stats(struct run *run, void *opts)
{
    const struct stats_opts *o = opts;
    struct figures f = {.run = run, .columns = o->columns, .rows = o->rows >= 0};
    f.with_spectrum = o->spectrum;
    unsigned kinds;
    emb_table *table;
    take_table_argument(run);
    if (run->items.n)
        return usage_error(run, "one table at a time: what is '%s'?", run->items.v[0].s);
    if (o->has_k && !o->spectrum)
        return usage_error(run, "-k goes with --spectrum");
    int code = parse_kinds(run, o->fail_on, &kinds);
    if (!code)
        code = output_format(run, FORMATS, &f.format);
    if (!code && o->spectrum)
        code = load_blas(run, "--spectrum");
    if (!code)
        code = open_table(run, &table, &f.info);
    if (code)
        return code;
    f.table = table;
    code = check_gates(&f, kinds);
    if (!code)
        code = take_spectrum(&f, o->k);
    if (!code)
        code = measure(&f, kinds);
    emb_spectrum_free(&f.spectrum);
    emb_table_close(table);
    return code;
}

const struct cmd cmd_stats = {
    .name = "stats",
    .group = "Look",
    .summary = "what is in a table, and is it healthy",
    .usage = "[TABLE] [--columns] [--spectrum] [--fail-on KINDS]",
    .about = "One pass over the table: shape, type, size; mean, deviation, least and greatest "
             "value; L2 norms of "
             "the rows; rows that are zero, hold NaN or an infinity, equal an earlier row, or have "
             "no token.\n"
             "Rows with NaN or an infinity take no part in the figures. The deviation is that of "
             "the population.",
    .examples = "embtool stats\n"
                "embtool stats words.bin --json\n"
                "embtool stats words.bin --spectrum\n"
                "embtool stats model.safetensors --fail-on zero,nonfinite",
    .options = options,
    .defaults = &defaults,
    .opts_bytes = sizeof(struct stats_opts),
    .run = run_stats,
};
