/* weights.c - see weights.h.
 */
#include "weights.h"
#include "input.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int wrong_count(struct run *run, const char *path, uint64_t expected, uint64_t found)
{
    return fail_with(run, EXIT_DATA, path,
                     "expected %" PRIu64 " weights, one for each row of the table, found %" PRIu64,
                     expected, found);
}

static emb_status take_block(void *arg, const emb_block *block, uint64_t first, emb_err *err)
{
    double *weights = arg;
    (void)err;
    memcpy(weights + first * block->dims, block->data, block->rows * block->dims * sizeof *weights);
    return EMB_OK;
}

static int read_npy(struct run *run, const char *path, uint64_t n, double *weights)
{
    emb_open_opts opts = {.size = sizeof opts, .format = "npy", .flat = true};
    emb_table_info info;
    emb_table *table;
    emb_err err;
    opts.input_dtype = run->common->input_dtype;
    if (emb_table_open(run->ctx, path, &opts, &table, &err) != EMB_OK)
        return fail(run, path, &err);
    int code = EXIT_DONE;
    emb_status status = emb_table_describe(table, &info, &err);
    if (!status && info.rows * info.dims != n)
        code = wrong_count(run, path, n, info.rows * info.dims);
    else if (!status)
        status = emb_table_scan(table, 0, info.rows, EMB_F64, take_block, weights, &err);
    emb_table_close(table);
    return status ? fail(run, path, &err) : code;
}

static bool is_break(char c)
{
    return strchr(" \t\r\n,", c) != NULL;
}

/* All of the text is in memory. */
static int parse(struct run *run, const struct input *in, uint64_t n, double *weights)
{
    const char *p = in->s + in->at, *end = in->s + in->n;
    uint64_t found = 0;
    for (;;) {
        while (p < end && is_break(*p))
            p++;
        if (p == end)
            break;
        const char *word = p;
        double x;
        while (p < end && !is_break(*p))
            p++;
        if (!emb_number_parse((emb_str){word, (size_t)(p - word)}, EMB_F64, &x))
            return fail_with(run, EXIT_DATA, in->path, "weight %" PRIu64 ": '%.*s' is no number",
                             found + 1, (int)(p - word < 60 ? p - word : 60), word);
        if (found < n)
            weights[found] = x;
        found++;
    }
    return found == n ? EXIT_DONE : wrong_count(run, in->path, n, found);
}

static int check_finite(struct run *run, const char *path, uint64_t n, const double *weights)
{
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(weights[i]))
            return fail_with(run, EXIT_DATA, path, "weight %" PRIu64 " is NaN or infinite", i + 1);
    return EXIT_DONE;
}

int weights_read(struct run *run, const char *path, uint64_t n, double **weights)
{
    struct input in;
    *weights = calloc((size_t)n + 1, sizeof **weights);
    if (!*weights)
        return fail_with(run, EXIT_MEMORY, NULL, "out of memory");
    int code = input_open(&in, run, path);
    if (!code)
        code = input_more(&in);
    bool npy = !code && in.n > 0 && in.s[0] == '\x93';
    if (!code && !npy)
        code = input_rest(&in);
    if (!code)
        code = npy ? read_npy(run, path, n, *weights) : parse(run, &in, n, *weights);
    input_close(&in);
    return code ? code : check_finite(run, path, n, *weights);
}
