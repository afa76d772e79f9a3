/* lookup_pool.c - --pool: one vector a line of ids, of rows as they would be written without it.
 *
 * A line is complete when all of its ids have been read; its vector then leaves. A line without ids
 * has the vector 0, so that vectors stay as many as lines.
 */
#include "lookup.h"
#include "weights.h"

#include <stdlib.h>
#include <string.h>

int lookup_check_pool(struct run *run, const struct lookup_opts *o)
{
    if (o->pool < 0 && o->weights)
        return usage_error(run, "--weights is for --pool mean or sum");
    if (o->pool < 0)
        return EXIT_DONE;
    if (o->weights && o->pool != EMB_POOL_MEAN && o->pool != EMB_POOL_SUM)
        return usage_error(run, "--weights is for --pool mean or sum");
    if (o->ragged || o->has_pad_id)
        return usage_error(run,
                           "--pool makes one vector of each line, whatever its length: without "
                           "--ragged and --pad-id");
    if (o->label == LABEL_TOKEN)
        return usage_error(run, "--label token: --pool makes one vector of many tokens");
    return EXIT_DONE;
}

int lookup_open_pool(struct lookup *l)
{
    struct pool *p = &l->pool;
    if (l->opts->pool < 0)
        return EXIT_DONE;
    p->sum = malloc(l->dims * sizeof *p->sum + 1);
    p->vector = malloc(l->dims * sizeof(double) + 1);
    p->of_rows = l->opts->weights ? malloc(l->block_rows * sizeof *p->of_rows) : NULL;
    bool device = l->run->device && !l->inputs.assembly;
    p->ends = device ? malloc(l->block_rows * sizeof *p->ends) : NULL;
    p->counts = device ? malloc(l->block_rows * sizeof *p->counts) : NULL;
    p->sums = device ? malloc(l->block_rows * l->dims * sizeof *p->sums + 1) : NULL;
    if (!p->sum || !p->vector || (l->opts->weights && !p->of_rows) ||
        (device && (!p->ends || !p->counts || !p->sums)))
        return fail_with(l->run, EXIT_MEMORY, NULL, "out of memory");
    return l->opts->weights ? weights_read(l->run, l->opts->weights, l->info.rows, &p->weights)
                            : EXIT_DONE;
}

void lookup_close_pool(struct lookup *l)
{
    struct pool *p = &l->pool;
    free(p->sum);
    free(p->vector);
    free(p->weights);
    free(p->of_rows);
    free(p->ends);
    free(p->counts);
    free(p->sums);
}

uint64_t lookup_pooled_count(const struct lookup *l)
{
    if (l->rows.kind == ROWS_IDS)
        return ids_complete(&l->rows.ids);
    return l->rows.ended && (l->pool.count || l->pool.line) ? 1 : 0;
}

static int end_line(struct lookup *l, lookup_pooled_fn *fn, void *arg)
{
    struct pool *p = &l->pool;
    emb_pool_end((emb_pooling)l->opts->pool, p->sum, l->dims, p->count);
    int code = lookup_finish(l, p->sum, EMB_F64, 1, p->vector);
    if (!code)
        code = fn(arg, p->line, p->count, p->vector);
    p->line++;
    p->count = 0;
    return code;
}

static int end_lines(struct lookup *l, uint64_t before, lookup_pooled_fn *fn, void *arg)
{
    int code = EXIT_DONE;
    while (!code && l->pool.line < before)
        code = end_line(l, fn, arg);
    return code;
}

/* Rows of one line, made already: those from `at` on. */
static int add_rows(struct lookup *l, const uint64_t *rows, size_t at, size_t n)
{
    struct pool *p = &l->pool;
    size_t row_bytes = l->dims * emb_dtype_bytes(l->made);
    emb_block block = {l->stored + at * row_bytes, n, l->dims, l->made, 0};
    emb_err err;
    for (size_t i = 0; p->weights && i < n; i++)
        p->of_rows[i] = p->weights[rows[at + i]];
    if (emb_pool_add(l->run->ctx, (emb_pooling)l->opts->pool, &block,
                     p->weights ? p->of_rows : NULL, p->sum, &p->count, &err) != EMB_OK)
        return fail(l->run, l->run->table_name, &err);
    return EXIT_DONE;
}

static size_t run_of(const uint64_t *lines, size_t at, size_t n)
{
    size_t run = 1;
    while (at + run < n && lines[at + run] == lines[at])
        run++;
    return run;
}

/* The lines of a block, in p->ends; the vector of the first goes on, those of others begin. */
static size_t cut_block(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n)
{
    struct pool *p = &l->pool;
    size_t count = 0;
    for (size_t at = 0; at < n; count++) {
        at += run_of(lines, at, n);
        p->ends[count] = at;
        p->counts[count] = 0;
    }
    for (size_t i = 0; p->weights && i < n; i++)
        p->of_rows[i] = p->weights[rows[i]];
    if (p->line == lines[0]) {
        p->counts[0] = p->count;
        memcpy(p->sums, p->sum, l->dims * sizeof *p->sum);
    }
    return count;
}

/* A block by a device: all of its lines at once. */
static int pool_block(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                      lookup_pooled_fn *fn, void *arg)
{
    struct pool *p = &l->pool;
    emb_err err;
    int code = end_lines(l, lines[0], fn, arg);
    if (code)
        return code;
    size_t count = cut_block(l, rows, lines, n);
    if (emb_pool_rows(l->run->ctx, l->run->device, (emb_pooling)l->opts->pool, l->table, rows,
                      p->ends, count, p->weights ? p->of_rows : NULL, p->sums, p->counts,
                      &err) != EMB_OK)
        return fail(l->run, l->run->table_name, &err);
    for (size_t i = 0; !code && i < count; i++) {
        code = end_lines(l, lines[p->ends[i] - 1], fn, arg);
        p->count = p->counts[i];
        memcpy(p->sum, p->sums + i * l->dims, l->dims * sizeof *p->sum);
    }
    return code;
}

static int add_block(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                     lookup_pooled_fn *fn, void *arg)
{
    if (l->pool.sums)
        return pool_block(l, rows, lines, n, fn, arg);
    emb_block block = {l->stored, n, l->dims, l->made, 0};
    int code = lookup_make(l, rows, lines, n, &block);
    for (size_t at = 0, run; !code && at < n; at += run) {
        run = run_of(lines, at, n);
        code = end_lines(l, lines[at], fn, arg);
        if (!code)
            code = add_rows(l, rows, at, run);
    }
    return code;
}

int lookup_pool(struct lookup *l, const uint64_t *rows, const uint64_t *lines, size_t n,
                lookup_pooled_fn *fn, void *arg)
{
    int code = EXIT_DONE;
    for (size_t at = 0; !code && at < n; at += l->block_rows) {
        size_t step = (size_t)embi_min(n - at, l->block_rows);
        code = lookup_ahead(l, rows, at, n);
        if (!code)
            code = add_block(l, rows + at, lines + at, step, fn, arg);
        progress_add(&l->progress, step);
    }
    return code ? code : end_lines(l, lookup_pooled_count(l), fn, arg);
}
