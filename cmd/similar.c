/* similar.c - `embtool similar`: the rows nearest to a token, a sum of tokens or a vector.
 *
 * Options, and what they mean together. Queries are read by query.c, their vectors made by
 * similar_batch.c, the search is in similar_search.c, scores of named rows in similar_scores.c, and
 * hits are written by hits.c.
 */
#include "similar.h"

#include <stdlib.h>
#include <string.h>

#define FORMATS    "text|json|npz|safetensors"
#define AT(member) offsetof(struct similar_opts, member)

static const struct opt options[] = {
    OPT_HEADING("Queries"),
    OPT("id", 0, OPT_ITEM, 0, "N", "the row of an id, or a range of them: 0..99", .tag = QUERY_ID),
    OPT("token", 0, OPT_ITEM, 0, "T", "the row of a token, even if it looks like #7",
        .tag = QUERY_TOKEN, .aliases = " word "),
    OPT("expr", 0, OPT_ITEM, 0, "TEXT", "a sum of rows: 'king - man + woman', '2*king - #7'",
        .tag = QUERY_EXPR, .aliases = " expression "),
    OPT("analogy", 0, OPT_ITEM, 0, "A B C", "A is to B as C is to ?: B - A + C",
        .tag = QUERY_ANALOGY, .values = 3),
    OPT("tokens", 0, OPT_FLAG, AT(tokens), NULL,
        "read queries from standard input, one a line (the default without QUERY)",
        .aliases = " words "),
    OPT("tokens-file", 0, OPT_TEXT, AT(tokens_file), "FILE", "read queries from FILE, one a line"),
    OPT("vectors", 0, OPT_TEXT, AT(vectors), "FILE", "the rows of a table or .npy file",
        .aliases = " queries "),
    OPT("all", 0, OPT_FLAG, AT(all), NULL, "every row of the table"),
    OPT("raw-terms", 0, OPT_FLAG, AT(raw_terms), NULL,
        "sum rows as they are (default with cosine: each scaled to length 1 first)"),
    OPT_HEADING("Search"),
    OPT("top-k", 'k', OPT_COUNT, AT(k), "N", "hits for each query (default 10; 0: all)",
        .aliases = " topn topk top n neighbors neighbours "),
    OPT("metric", 0, OPT_CHOICE, AT(metric), "cosine|dot|euclidean",
        "how rows are compared (default cosine); euclidean scores are -distance",
        .aliases = " distance "),
    OPT("method", 0, OPT_CHOICE, AT(method), "add|mul",
        "how terms make one score: 3CosAdd (default) or 3CosMul"),
    OPT("min-score", 0, OPT_NUMBER, AT(min_score), "X", "only hits that score X or more",
        .given = AT(has_min_score), .aliases = " threshold "),
    OPT("farthest", 0, OPT_FLAG, AT(farthest), NULL, "lowest scores first"),
    OPT("restrict", 0, OPT_COUNT, AT(restrict_rows), "N", "only rows 0..N-1 may answer",
        .given = AT(has_restrict), .aliases = " restrict-vocab "),
    OPT("match", 0, OPT_TEXT, AT(match), "PATTERN",
        "only tokens that match a shell pattern (*, ?, [a-z]) may answer"),
    OPT("exclude", 0, OPT_LIST, AT(exclude), "TOKEN", "this row may not answer; repeatable"),
    OPT("include-query", 0, OPT_FLAG, AT(include_query), NULL, "rows of the query may answer it"),
    OPT("center", 0, OPT_FLAG, AT(center), NULL, "subtract the table's mean row first"),
    COMMON_DEVICE,
    OPT("backend", 0, OPT_CHOICE, AT(backend), "auto|native|blas",
        "who multiplies: our own loops, OpenBLAS, or what is faster (default auto)"),
    OPT_HEADING("Scores instead of a search"),
    OPT("pairs", 0, OPT_FLAG, AT(pairs), NULL,
        "the score of each two arguments, or of each line `a TAB b`"),
    OPT("matrix", 0, OPT_FLAG, AT(matrix), NULL, "the scores of all tokens with each other"),
    OPT_HEADING("Output"),
    COMMON_OUTPUT,
    COMMON_FORMAT(FORMATS),
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

static const struct similar_opts defaults = {.k = 10, .digits = 6};

static bool is_scores(const struct similar_opts *o)
{
    return o->pairs || o->matrix;
}

/* Queries come from one place: arguments win over a pipe, but not over another option. */
static int check_sources(struct run *run, const struct similar_opts *o)
{
    const char *table = o->common.table;
    bool lines = o->tokens || o->tokens_file;
    int named = (run->items.n > 0) + o->all + (o->vectors != NULL) + lines;
    bool from_stdin =
        !run->items.n && !o->all && is_stream(o->vectors ? o->vectors : o->tokens_file);
    if (named > 1)
        return usage_error(run, "queries are named in two ways: by arguments, --tokens, --vectors "
                                "or --all, not by several");
    if (from_stdin && table && is_stream(table))
        return usage_error(run, "the table and the queries cannot both come from standard input");
    if (!named && run->in_tty)
        return usage_error(run, "no query: name a token, '#ID' or --expr; -h says more");
    return queries_check(run);
}

static int check_search(struct run *run, const struct similar_opts *o)
{
    if (o->digits > 17)
        return usage_error(run, "--digits: expected 0 to 17");
    if (o->has_restrict && o->restrict_rows == 0)
        return usage_error(run, "--restrict 0: expected 1 or more");
    if (o->method == METHOD_MUL && o->backend == EMB_BACKEND_BLAS)
        return usage_error(run, "--method mul is no product of matrices: --backend blas has no "
                                "part in it");
    if (o->method == METHOD_MUL && o->metric != EMB_COSINE)
        return usage_error(run, "--method mul is defined for the cosine metric alone");
    if (o->method == METHOD_MUL)
        return refuse_device(run, "--method mul");
    if (o->backend != EMB_BACKEND_AUTO)
        return refuse_device(run, "--backend");
    return EXIT_DONE;
}

/* --pairs and --matrix search for nothing. */
static int check_scores(struct run *run, const struct similar_opts *o, const char *format)
{
    const char *name = o->pairs ? "--pairs" : "--matrix";
    bool filtered = o->has_min_score || o->farthest || o->has_restrict || o->match ||
                    o->exclude.n || o->backend == EMB_BACKEND_BLAS;
    if (!is_scores(o))
        return EXIT_DONE;
    if (o->pairs && o->matrix)
        return usage_error(run, "--pairs and --matrix: which one?");
    if (o->all || o->vectors)
        return usage_error(run, "%s is for rows that are named", name);
    for (size_t i = 0; i < run->items.n; i++) {
        if (run->items.v[i].tag == QUERY_EXPR || run->items.v[i].tag == QUERY_ANALOGY)
            return usage_error(run, "%s is for rows, not for sums of rows", name);
    }
    if (filtered || o->method == METHOD_MUL)
        return usage_error(run,
                           "%s scores just the rows that are named: no options that choose "
                           "hits, no --method mul, no --backend blas",
                           name);
    if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0)
        return usage_error(run, "%s writes text or JSON, not %s", name, format);
    return refuse_device(run, name);
}

static int open_queries(struct similar *s)
{
    const struct similar_opts *o = s->opts;
    enum queries_kind kind = o->all            ? QUERIES_TABLE
                             : o->vectors      ? QUERIES_VECTORS
                             : s->run->items.n ? QUERIES_ARGUMENTS
                                               : QUERIES_LINES;
    int code = queries_open(&s->queries, s->run, s->table, &s->info, kind,
                            o->vectors ? o->vectors : o->tokens_file);
    s->queries.pairs = o->pairs;
    if (!code && o->pairs && kind == QUERIES_ARGUMENTS && s->queries.total % 2)
        code = usage_error(s->run, "--pairs takes rows two by two: the last one is alone");
    return code;
}

static int find_center(struct similar *s)
{
    emb_err err;
    if (!s->opts->center)
        return EXIT_DONE;
    s->center = malloc(s->info.dims * sizeof *s->center + 1);
    if (!s->center)
        return fail_with(s->run, EXIT_MEMORY, NULL, "out of memory");
    if (emb_mean_row(s->table, s->center, &err) != EMB_OK)
        return fail(s->run, s->run->table_name, &err);
    return EXIT_DONE;
}

/* The table is open. */
static int answer(struct similar *s)
{
    int code = open_queries(s);
    bool known = s->queries.total != EMB_ROWS_UNKNOWN;
    progress_begin(&s->progress, s->run, known ? s->queries.total : 0,
                   emb_dtype_row_bytes(s->info.dtype, s->info.dims));
    if (!code)
        code = find_center(s);
    if (!code)
        code = s->opts->pairs    ? similar_pairs(s)
               : s->opts->matrix ? similar_matrix(s)
                                 : similar_search(s);
    progress_end(&s->progress);
    queries_close(&s->queries);
    free(s->center);
    return code;
}

static int run_similar(struct run *run, void *opts)
{
    struct similar s = {.run = run, .opts = opts};
    s.metric = (emb_metric)s.opts->metric;
    int code = check_sources(run, s.opts);
    if (!code)
        code = check_search(run, s.opts);
    if (!code)
        code = output_format(run, FORMATS, &s.format);
    if (!code)
        code = check_scores(run, s.opts, s.format);
    if (!code && s.opts->backend == EMB_BACKEND_BLAS)
        code = load_blas(run, "--backend blas");
    if (!code)
        code = load_device(run, true);
    if (!code)
        code = open_table(run, &s.table, &s.info);
    if (code)
        return code;
    code = answer(&s);
    emb_table_close(s.table);
    return code;
}

const struct cmd cmd_similar = {
    .name = "similar",
    .group = "Look",
    .summary = "nearest rows, analogies, query algebra",
    .usage = "[QUERY...] [-t TABLE] [-k N]\n"
             "--expr 'king - man + woman' [-t TABLE]\n"
             "--vectors FILE | --all [-t TABLE] [-o FILE]\n"
             "--pairs | --matrix [QUERY...] [-t TABLE]",
    .about =
        "Prints the rows nearest to each QUERY, a token or #ID, best first. Without QUERY, tokens "
        "come from standard input, one a line, and are answered as they arrive.\n"
        "To a pipe: `query TAB token TAB id TAB score`. Rows of the query itself are left out; "
        "equal scores come by id. Arrays are `ids` and `scores`, [Q, k]; empty places hold -1 and "
        "NaN.",
    .examples = "embtool similar cat dog -k 3\n"
                "embtool similar --analogy man king woman\n"
                "embtool similar '#9246' -t words.bin --metric dot\n"
                "embtool similar --all -t words.bin -o neighbours.npz",
    .options = options,
    .defaults = &defaults,
    .opts_bytes = sizeof(struct similar_opts),
    .run = run_similar,
};
