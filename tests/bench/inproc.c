/* inproc.c - jobs of the benchmark done by libemb inside one process, for times without start-up.
 *
 *     inproc search TABLE FIRST QUERIES K [THREADS]     rows FIRST .. of the table are the queries
 *     inproc stats TABLE
 *     inproc rows TABLE IDS.npy                         a gather into memory that was touched before
 *     inproc token DIRECTORY TOKEN                      opens the directory and finds the token
 *
 * Says "ready" when the table is open and the job was done once; then does it once more for each line
 * of standard input and answers with one line of JSON: {"ms": wall time, "cpu_ms": of all threads,
 * "answer": [...]}. The peers of peers.py keep to the same protocol, so that bench.py can ask all in
 * turn.
 */
#include "emb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static emb_ctx *ctx;
static emb_err err;

static void need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "inproc: %s: %s\n", what, err.msg);
        exit(1);
    }
}

static void *take(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    need(p != NULL, "memory");
    return p;
}

static emb_table *open_table(const char *path)
{
    emb_table *table;
    need(emb_table_open(ctx, path, NULL, &table, &err) == EMB_OK, path);
    return table;
}

/* What a job needs, and its answer: some ids or row numbers. */
struct job {
    char **args;
    emb_table *table;
    emb_table_info info;
    uint64_t first, queries, k, n;
    emb_block block; /* queries [Q, d], or rows [n, d]    */
    emb_hit *hits;   /* [Q, k]                            */
    size_t *counts;  /* [Q]                               */
    uint64_t *ids;   /* [n]                               */
    uint64_t answer[32];
    size_t answers;
};

static void prepare_search(struct job *j)
{
    j->table = open_table(j->args[0]);
    need(emb_table_describe(j->table, &j->info, &err) == EMB_OK, "describe");
    j->first = strtoull(j->args[1], NULL, 10);
    j->queries = strtoull(j->args[2], NULL, 10);
    j->k = strtoull(j->args[3], NULL, 10);
    j->ids = take(j->queries, sizeof *j->ids);
    for (uint64_t i = 0; i < j->queries; i++)
        j->ids[i] = j->first + i;
    float *rows = take(j->queries * j->info.dims, sizeof *rows);
    j->block =
        (emb_block){.data = rows, .rows = j->queries, .dims = j->info.dims, .dtype = EMB_F32};
    need(emb_table_gather(j->table, j->ids, j->queries, &j->block, &err) == EMB_OK, "queries");
    j->hits = take(j->queries * j->k, sizeof *j->hits);
    j->counts = take(j->queries, sizeof *j->counts);
}

/* The ids of the first query; of many queries the second hit of each 500th. */
static void search(struct job *j)
{
    emb_search_opts opts = {.size = sizeof opts, .k = j->k};
    need(emb_search(j->table, &j->block, &opts, j->hits, j->counts, NULL, &err) == EMB_OK,
         "search");
    j->answers = 0;
    if (j->queries >= 1000)
        for (uint64_t q = 0; q < j->queries && j->answers < 20; q += 500)
            j->answer[j->answers++] = j->hits[q * j->k + 1].row;
    else
        for (; j->answers < 10 && j->answers < j->counts[0]; j->answers++)
            j->answer[j->answers] = j->hits[j->answers].row;
}

static void prepare_stats(struct job *j)
{
    j->table = open_table(j->args[0]);
}

static void stats(struct job *j)
{
    emb_stats s;
    need(emb_stats_run(j->table, NULL, &s, &err) == EMB_OK, "stats");
    j->answers = 1;
    j->answer[0] = s.finite_rows;
    emb_stats_free(&s);
}

static void prepare_rows(struct job *j)
{
    emb_ids *ids;
    uint64_t shape[3];
    j->table = open_table(j->args[0]);
    need(emb_table_describe(j->table, &j->info, &err) == EMB_OK, "describe");
    need(emb_ids_open(ctx, j->args[1], NULL, 0, &ids, &err) == EMB_OK, j->args[1]);
    need(emb_ids_shape(ids, shape) == 1, "ids of one axis");
    j->n = shape[0];
    j->ids = take(j->n, sizeof *j->ids);
    need(emb_ids_read(ids, j->info.rows, j->ids, j->n, &err) == EMB_OK, "ids");
    emb_ids_close(ids);
    emb_dtype as = emb_dtype_block(j->info.dtype) > 1 ? EMB_F32 : j->info.dtype;
    j->block = (emb_block){.rows = j->n, .dims = j->info.dims, .dtype = as};
    j->block.data = take(j->n, emb_dtype_row_bytes(as, j->info.dims));
}

static void rows(struct job *j)
{
    need(emb_table_gather(j->table, j->ids, j->n, &j->block, &err) == EMB_OK, "gather");
    j->answers = 1;
    j->answer[0] = j->n;
}

static void prepare_token(struct job *j)
{
    (void)j;
}

static void token(struct job *j)
{
    emb_table *table = open_table(j->args[0]);
    emb_str text = {j->args[1], strlen(j->args[1])};
    need(emb_table_find(table, text, &j->answer[0], &err) == EMB_OK, j->args[1]);
    j->answers = 1;
    emb_table_close(table);
}

static const struct {
    const char *name;
    int args;
    void (*prepare)(struct job *j), (*run)(struct job *j);
} jobs[] = {{"search", 4, prepare_search, search},
            {"stats", 1, prepare_stats, stats},
            {"rows", 2, prepare_rows, rows},
            {"token", 2, prepare_token, token}};

static double ms_of(struct timespec t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return ms_of(t);
}

static void serve(struct job *j, void (*run)(struct job *j))
{
    char line[64];
    run(j);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        double wall = clock_ms(CLOCK_MONOTONIC), cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
        run(j);
        wall = clock_ms(CLOCK_MONOTONIC) - wall;
        cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        printf("{\"ms\": %.4f, \"cpu_ms\": %.4f, \"answer\": [", wall, cpu);
        for (size_t i = 0; i < j->answers; i++)
            printf("%s%llu", i ? ", " : "", (unsigned long long)j->answer[i]);
        puts("]}");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    emb_ctx_opts opts = {.size = sizeof opts};
    for (size_t i = 0; argc > 1 && i < sizeof jobs / sizeof *jobs; i++)
        if (strcmp(argv[1], jobs[i].name) == 0 && argc >= 2 + jobs[i].args) {
            struct job j = {.args = argv + 2};
            opts.threads = argc > 2 + jobs[i].args ? atoi(argv[2 + jobs[i].args]) : 0;
            need(emb_ctx_new(&opts, &ctx, &err) == EMB_OK, "a context");
            jobs[i].prepare(&j);
            serve(&j, jobs[i].run);
            return 0;
        }
    fprintf(stderr, "usage: inproc search|stats|rows|token ARGS; the head of inproc.c has them\n");
    return 2;
}
