/* alloc_main.c - every allocation of the library fails once, and all from the n-th on: alloc_main DATA.
 *
 * A scenario opens, reads, searches, resizes or writes through emb.h alone. It is run with n = 1, 2,
 * 3 ... until no call is left to fail. Each time it either gives EMB_NO_MEMORY with a message, or,
 * where the library can do without, the very answer (files, numbers, warnings) that it gives with
 * memory; nothing that was taken is kept, and the folder is as it was. A plain main, since the
 * library is linked behind the shim. DATA is tests/data.
 */
#include "../kern/check.h"
#include "emb.h"
#include "shim.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIMS_MAX = 64, ROWS_MAX = 2048 };

/* One run of a scenario. */
struct world {
    emb_ctx *ctx;
    emb_table *table;
    emb_table_info info;
    emb_err err;
    uint64_t answer; /* a hash over all that was answered */
};

struct scenario {
    const char *name;
    emb_status (*run)(struct world *w, const struct scenario *s);
    const char *url, *vocab;
    const char *format; /* of what is written, or of a table that does not say it */
    bool force;         /* out/target is there, and replaced */
    bool late;          /* the number of rows is not known at first */
    emb_fill fill;
};

static void need(bool ok, const char *what)
{
    if (!ok) {
        printf("alloc_main: %s failed\n", what);
        exit(2);
    }
}

/* FNV-1a (Fowler, Noll, Vo) */
static void add(struct world *w, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->answer = (w->answer ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3u;
}

static void add_line(void *arg, int level, const char *path, const char *line)
{
    (void)path;
    if (level == EMB_LOG_WARNING)
        add(arg, line, strlen(line));
}

/* ------------------------------------------------------------------------------------------------
 * The folder `out`, which a scenario may write into
 */
static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    need(f && fputs(text, f) >= 0 && fclose(f) == 0, path);
}

/* Removes everything in the folder, one level of folders included. */
static void empty_folder(const char *path)
{
    char inner[512];
    DIR *dir = opendir(path);
    need(dir != NULL, path);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
        if (unlink(inner) == 0)
            continue;
        empty_folder(inner);
        need(rmdir(inner) == 0, inner);
    }
    closedir(dir);
}

static void add_file(struct world *w, const char *path)
{
    char bytes[4096];
    FILE *f = fopen(path, "r");
    need(f != NULL, path);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, f)) > 0;)
        add(w, bytes, n);
    fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The names below the folder and what is in the files; scandir's own memory is not the library's. */
static void add_folder(struct world *w, const char *path)
{
    struct dirent **entries;
    char inner[512];
    struct stat st;
    int n = scandir(path, &entries, NULL, by_name);
    need(n >= 2, path);
    for (int i = 2; i < n; i++) { /* behind "." and ".." */
        add(w, entries[i]->d_name, strlen(entries[i]->d_name));
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        need(stat(inner, &st) == 0, inner);
        if (S_ISDIR(st.st_mode))
            add_folder(w, inner);
        else
            add_file(w, inner);
    }
    for (int i = 0; i < n; i++)
        (free)(entries[i]);
    (free)(entries);
}

static uint64_t folder_hash(void)
{
    struct world w = {.answer = 1};
    add_folder(&w, "out");
    return w.answer;
}

static void reset_folder(const struct scenario *s)
{
    empty_folder("out");
    if (s->force && s->format) {
        put_text("out/target", "old");
    } else if (s->force) {
        need(mkdir("out/target", 0777) == 0, "mkdir");
        put_text("out/target/config.json", "{}");
        put_text("out/target/model.safetensors", "old");
    }
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 64; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */
static emb_status open_table(struct world *w, const struct scenario *s)
{
    bool raw = s->format && strcmp(s->format, "raw") == 0;
    emb_open_opts opts = {.size = sizeof opts,
                          .vocab = s->vocab,
                          .format = raw ? "raw" : NULL,
                          .raw_dims = raw ? 4 : 0,
                          .input_dtype = raw ? EMB_F32 : EMB_DTYPE_NONE};
    emb_status status = emb_table_open(w->ctx, s->url, &opts, &w->table, &w->err);
    if (!status)
        status = emb_table_describe(w->table, &w->info, &w->err);
    need(status || (w->info.dims <= DIMS_MAX && w->info.rows <= ROWS_MAX), "a table that fits");
    return status;
}

/* The answer "there is none" is one. */
static emb_status unless_none(struct world *w, emb_status status)
{
    add(w, &status, sizeof status);
    return status == EMB_NOT_FOUND ? EMB_OK : status;
}

static emb_status read_tokens(struct world *w)
{
    static const char *const words[] = {"the", "1999", " cat", "zzzz"};
    emb_status status = EMB_OK;
    emb_str s = {NULL, 0};
    uint64_t row = 0, rows[16];
    for (row = 0; !status && row < 3 && row < w->info.rows; row++) {
        status = unless_none(w, emb_table_token(w->table, row, &s, &w->err));
        if (!status && s.s)
            add(w, s.s, s.n);
        if (!status)
            status = unless_none(w, emb_table_text(w->table, row, &s, &w->err));
    }
    for (size_t i = 0; !status && i < sizeof words / sizeof *words; i++) {
        emb_str word = {words[i], strlen(words[i])};
        size_t found = 0;
        row = 0;
        status = unless_none(w, emb_table_find(w->table, word, &row, &w->err));
        if (!status)
            status = unless_none(w, emb_table_resolve(w->table, word, &row, &w->err));
        add(w, &row, sizeof row);
        if (!status)
            status = emb_table_suggest(w->table, word, rows, 16, &found, &w->err);
        add(w, rows, status ? 0 : found * sizeof *rows);
    }
    return status;
}

static emb_status take_block(void *arg, const emb_block *block, uint64_t first, emb_err *err)
{
    (void)err;
    add(arg, &first, sizeof first);
    for (uint64_t r = 0; r < block->rows; r++)
        add(arg,
            (const char *)block->data +
                r * (block->stride_bytes ? block->stride_bytes : block->dims * sizeof(double)),
            block->dims * sizeof(double));
    return EMB_OK;
}

static emb_status run_read(struct world *w, const struct scenario *s)
{
    float values[2 * DIMS_MAX];
    uint64_t ids[] = {1, 0};
    emb_block block;
    emb_model_info model;
    emb_status status = open_table(w, s);
    if (status)
        return status;
    if (!emb_table_map(w->table, &block))
        block.rows = 0; /* no map is no failure; gather says why */
    block = (emb_block){values, 2, w->info.dims, EMB_F32, 0};
    status = emb_table_gather(w->table, ids, 2, &block, &w->err);
    if (!status)
        add(w, values, 2 * w->info.dims * sizeof *values);
    if (!status)
        status = emb_table_scan(w->table, 0, w->info.rows, EMB_F64, take_block, w, &w->err);
    if (!status)
        status = read_tokens(w);
    if (!status)
        status = emb_table_model(w->table, &model, &w->err);
    if (!status)
        add(w, &model.params, sizeof model.params);
    return status;
}

static emb_status run_search(struct world *w, const struct scenario *s)
{
    double query[DIMS_MAX], weight = 1;
    emb_hit hits[6];
    size_t counts[2];
    emb_status status = open_table(w, s);
    emb_block queries = {query, 1, w->info.dims, EMB_F64, 0};
    emb_search_opts opts = {.size = sizeof opts, .k = 3};
    for (size_t i = 0; i < DIMS_MAX; i++)
        query[i] = (double)(i % 5) + 1;
    for (int metric = EMB_COSINE; !status && metric <= EMB_EUCLIDEAN; metric++) {
        opts.metric = metric;
        status = emb_search(w->table, &queries, &opts, hits, counts, NULL, &w->err);
        for (size_t i = 0; !status && i < counts[0]; i++)
            add(w, &hits[i].row, sizeof hits[i].row);
    }
    opts.metric = EMB_COSINE;
    if (!status)
        status = emb_search_mul(w->table, &queries, &weight, &opts, hits, counts, NULL, &w->err);
    if (!status)
        status = emb_mean_row(w->table, query, &w->err);
    if (!status)
        add(w, query, w->info.dims * sizeof *query);
    return status;
}

static emb_status run_stats(struct world *w, const struct scenario *s)
{
    emb_stats stats;
    emb_stats_opts opts = {.size = sizeof opts, .columns = true, .list_rows = true};
    emb_status status = open_table(w, s);
    if (!status)
        status = emb_stats_run(w->table, &opts, &stats, &w->err);
    if (status)
        return status;
    add(w, &stats.norm_median, sizeof stats.norm_median);
    add(w, stats.col_std, w->info.dims * sizeof *stats.col_std);
    add(w, stats.duplicate_list, stats.duplicate_rows * sizeof *stats.duplicate_list);
    emb_stats_free(&stats);
    return EMB_OK;
}

static emb_status run_list(struct world *w, const struct scenario *s)
{
    emb_tensors tensors;
    emb_status status = emb_tensors_list(w->ctx, s->url, NULL, &tensors, &w->err);
    if (status)
        return status;
    for (size_t i = 0; i < tensors.n; i++) {
        const emb_tensor_info *t = &tensors.list[i];
        add(w, t->name.s ? t->name.s : "-", t->name.s ? t->name.n : 1);
        add(w, t->dtype, strlen(t->dtype));
        add(w, t->file, strlen(t->file));
        add(w, t->role ? t->role : "-", t->role ? strlen(t->role) : 1);
        add(w, t->shape, sizeof t->shape);
        add(w, &t->bytes, sizeof t->bytes);
    }
    emb_tensors_free(&tensors);
    return EMB_OK;
}

static emb_status run_check(struct world *w, const struct scenario *s)
{
    emb_check check;
    emb_status status = emb_check_model(w->ctx, s->url, &check, &w->err);
    if (status)
        return status;
    for (size_t i = 0; i < check.n_faults; i++) {
        const emb_fault *f = &check.faults[i];
        add(w, f->message, strlen(f->message));
        add(w, f->mend ? f->mend : "-", f->mend ? strlen(f->mend) : 1);
    }
    emb_check_free(&check);
    return EMB_OK;
}

/* Rotary positions of a model, with a scaling in place of its own (format), and sinusoidal ones. */
static emb_status run_positions(struct world *w, const struct scenario *s)
{
    double rows[3][8] = {{0}};
    emb_rope *rope;
    emb_rope_opts opts = {
        .size = sizeof opts, .model = s->url, .dims = 8, .scaling = s->format, .positions = 3};
    emb_block block = {rows, 3, 4, EMB_F64, 0};
    emb_status status = emb_rope_open(w->ctx, &opts, &rope, &w->err);
    if (status)
        return status;
    status = emb_rope_rows(rope, true, 0, &block, &w->err);
    if (!status)
        add(w, rows, 3 * 4 * sizeof(double));
    block.dims = 8;
    if (!status)
        status = emb_rope_turn(rope, 0, 3, 1, 0, &block, &w->err);
    if (!status)
        status = emb_sinusoid_rows(w->ctx, 0, 0, &block, &w->err);
    if (!status)
        add(w, rows, sizeof rows);
    emb_rope_close(rope);
    return status;
}

/* All that a model does with its rows, in sequences of two; and what is made of them then. */
static emb_status run_input(struct world *w, const struct scenario *s)
{
    static const uint64_t rows[] = {1, 0, 1, 1}, positions[] = {0, 1, 0, 1};
    double numbers[4 * DIMS_MAX], sum[DIMS_MAX];
    emb_assembly_opts opts = {.size = sizeof opts, .input_layer = true};
    emb_assembly *assembly = NULL;
    uint64_t count = 0, none = 0;
    emb_status status = emb_table_open(w->ctx, s->url, NULL, &w->table, &w->err);
    if (!status)
        status = emb_assembly_open(w->ctx, w->table, &opts, &assembly, &w->err);
    if (status)
        return status;
    emb_block block = {numbers, 4, emb_assembly_describe(assembly)->dims, EMB_F64, 0};
    need(block.dims <= DIMS_MAX, "rows that fit");
    status = emb_assembly_rows(assembly, rows, positions, NULL, 4, &block, &w->err);
    if (!status)
        status = emb_normalize_rows(w->ctx, &block, &block, &none, &none, &w->err);
    if (!status)
        status = emb_pool_add(w->ctx, EMB_POOL_MAX, &block, NULL, sum, &count, &w->err);
    if (!status)
        add(w, sum, block.dims * sizeof *sum);
    emb_assembly_close(assembly);
    return status;
}

static emb_status run_ids(struct world *w, const struct scenario *s)
{
    emb_ids *ids;
    uint64_t shape[3] = {1, 1, 1}, out[64], n = 1;
    char hex[EMB_SHA256_HEX];
    emb_status status = emb_ids_open(w->ctx, s->url, NULL, 0, &ids, &w->err);
    if (status)
        return status;
    for (int i = 0, axes = emb_ids_shape(ids, shape); i < axes; i++)
        n *= shape[i];
    need(n <= 64, "ids that fit");
    status = emb_ids_read(ids, UINT64_MAX, out, n, &w->err);
    add(w, out, status ? 0 : n * sizeof *out);
    emb_ids_close(ids);
    if (!status)
        status = emb_sha256_file(s->url, &n, hex, &w->err);
    add(w, hex, status ? 0 : sizeof hex);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */
static const float numbers[3][4] = {{1, 2, 3, 4}, {0.5f, -1, 0, 8}, {9, 7, 5, 3}};
static const emb_str tokens[] = {{"cat", 3}, {"dog", 3}, {"of_the", 6}};

static emb_status run_write(struct world *w, const struct scenario *s)
{
    bool words = strstr(s->format, "word2vec") || strcmp(s->format, "text") == 0;
    emb_array array = {.dtype = EMB_F32, .ndim = 2, .shape = {s->late ? EMB_ROWS_UNKNOWN : 3, 4}};
    emb_write_opts opts = {
        .size = sizeof opts, .format = s->format, .force = s->force, .tokens = words};
    emb_block block = {(void *)numbers, 3, 4, EMB_F32, 0};
    emb_writer *writer;
    emb_status status = emb_writer_open(w->ctx, "out/target", &array, 1, &opts, &writer, &w->err);
    if (status)
        return status;
    status = emb_writer_put(writer, &block, words ? tokens : NULL, &w->err);
    if (!status)
        status = emb_writer_commit(writer, &w->err);
    emb_writer_close(writer);
    return status;
}

/* Through a link whose end does not exist yet. */
static emb_status run_write_link(struct world *w, const struct scenario *s)
{
    need(symlink("target", "out/link") == 0, "symlink");
    emb_array array = {.dtype = EMB_F32, .ndim = 1, .shape = {4}};
    emb_write_opts opts = {.size = sizeof opts, .format = s->format, .sync = 1};
    emb_block block = {(void *)numbers, 4, 1, EMB_F32, 0};
    emb_writer *writer;
    emb_status status = emb_writer_open(w->ctx, "out/link", &array, 1, &opts, &writer, &w->err);
    if (!status) {
        status = emb_writer_put(writer, &block, NULL, &w->err);
        if (!status)
            status = emb_writer_commit(writer, &w->err);
        emb_writer_close(writer);
    }
    need(unlink("out/link") == 0, "unlink");
    return status;
}

static emb_status write_model(struct world *w, const struct scenario *s, emb_new_model *model)
{
    static const float zeros[1 << 16];
    emb_write_opts opts = {.size = sizeof opts, .force = s->force, .sync = -1};
    emb_writer *writer;
    emb_status status = emb_writer_open_model(w->ctx, "out/target", model, &opts, &writer, &w->err);
    if (status)
        return status;
    for (int t = 0; !status && t < EMB_NEW_TENSORS; t++) {
        const emb_array *a = emb_new_model_array(model, t);
        if (!a)
            continue;
        need(a->shape[0] * a->shape[1] <= 1 << 16, "a model that fits");
        emb_block block = {(void *)zeros, a->shape[0], (uint32_t)a->shape[1], a->dtype, 0};
        status = emb_writer_put(writer, &block, NULL, &w->err);
        if (!status)
            status = emb_writer_next(writer, &w->err);
    }
    if (!status)
        status = emb_writer_commit(writer, &w->err);
    emb_writer_close(writer);
    return status;
}

/* A model directory with the tokenizer of `vocab`, or like `url`. */
static emb_status run_model(struct world *w, const struct scenario *s)
{
    emb_new_model_opts opts = {.size = sizeof opts,
                               .like = s->url,
                               .tokenizer = s->vocab,
                               .dims = s->url ? 0 : 4,
                               .positions = s->url ? 0 : 8,
                               .untied = !s->url};
    emb_new_model *model;
    emb_status status = emb_new_model_open(w->ctx, &opts, &model, &w->err);
    if (status)
        return status;
    status = write_model(w, s, model);
    emb_new_model_close(model);
    return status;
}

static emb_status run_resize(struct world *w, const struct scenario *s)
{
    static const emb_str new_tokens[] = {{"newest", 6}, {"#7", 2}};
    uint64_t source[] = {0, 1};
    emb_write_opts wopts = {.size = sizeof wopts, .force = s->force, .sync = -1};
    emb_resize plan;
    emb_status status = open_table(w, s);
    if (status)
        return status;
    emb_resize_opts opts = {.size = sizeof opts,
                            .fill = s->fill,
                            .fill_rows = s->fill == EMB_FILL_ROWS ? source : NULL,
                            .n_fill_rows = s->fill == EMB_FILL_ROWS ? 2 : 0,
                            .fill_table = s->fill == EMB_FILL_TABLE ? w->table : NULL};
    if (w->info.has_tokens) {
        opts.add = new_tokens;
        opts.n_add = 2;
    } else {
        opts.rows = w->info.rows + 3;
    }
    status = emb_resize_plan(w->table, &opts, &plan, &w->err);
    if (status)
        return status;
    status = emb_resize_write(w->ctx, w->table, &plan, &opts, "out/target", &wopts, &w->err);
    add(w, plan.runs, plan.n_runs * sizeof *plan.runs);
    emb_resize_free(&plan);
    return status;
}

/* Of a model with a bias: the highest, probabilities, and many hidden states at once. */
static emb_status run_logits(struct world *w, const struct scenario *s)
{
    enum { N = 20, D = 24, V = 61 };
    static float h[N][D], out[N][V];
    emb_hit hits[2 * N];
    size_t counts[N];
    double sums[N];
    emb_open_opts opts = {.size = sizeof opts, .output = true};
    emb_block block = {h, N, D, EMB_F32, 0};
    emb_logits *l = NULL;
    for (int i = 0; i < N * D; i++)
        h[i / D][i % D] = (float)(i % 7) - 3;
    emb_status status = emb_table_open(w->ctx, s->url, &opts, &w->table, &w->err);
    if (!status)
        status = emb_logits_open(w->table, NULL, &l, &w->err);
    if (!status)
        status = emb_logits_top(l, &block, 2, hits, counts, NULL, &w->err);
    if (!status)
        status = emb_logits_log_sums(l, &block, sums, &w->err);
    if (!status)
        status = emb_logits_rows(l, &block, 0, V, sums, out[0], V, &w->err);
    if (!status) {
        add(w, hits, sizeof hits);
        add(w, out, sizeof out);
    }
    emb_logits_close(l);
    return status;
}

/* What new tokens of a model are split into. */
static emb_status run_split(struct world *w, const struct scenario *s)
{
    static const emb_str new_tokens[] = {{"<|Tool|> na\xC3\xAFve", 15}, {"x  12", 5}};
    emb_resize_opts opts = {
        .size = sizeof opts, .fill = EMB_FILL_PIECES, .add = new_tokens, .n_add = 2};
    emb_model_resize *resize;
    emb_status status = open_table(w, s);
    if (!status)
        status = emb_model_resize_open(w->ctx, w->table, &opts, NULL, &resize, &w->err);
    if (status)
        return status;
    const emb_model_plan *plan = emb_model_resize_plan(resize);
    for (size_t i = 0; i < plan->rows->n_added; i++)
        add(w, plan->pieces[i].rows, plan->pieces[i].n * sizeof *plan->pieces[i].rows);
    emb_model_resize_close(resize);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The sweep
 */
#define GOLDEN(name) "data/golden/" name

static const struct scenario scenarios[] = {
    {"logits", run_logits, .url = "data/positions/models/gptj"},
    {"rotary positions", run_positions, .url = GOLDEN("hf/llama_sharded")},
    {"rotary positions with lists", run_positions, .url = GOLDEN("hf/llama_sharded/config.json"),
     .format = "longrope:original_max_position_embeddings=2,short_factor=[1,1,1,1],"
               "long_factor=[1,2,3,4],factor=2"},
    {"the input of BERT", run_input, .url = "data/positions/models/bert"},
    {"the input of Marian", run_input, .url = "data/positions/models/marian"},
    {"read npy", run_read, .url = GOLDEN("npy/f4_300x32.npy"), .vocab = "words.txt"},
    {"read npy of big-endian numbers", run_read, .url = GOLDEN("npy/f4_big_endian.npy")},
    {"read npy in Fortran order", run_read, .url = GOLDEN("npy/f4_fortran.npy")},
    {"read safetensors", run_read,
     .url = GOLDEN("safetensors/multi.safetensors#model.embed_tokens.weight")},
    {"read word2vec", run_read, .url = GOLDEN("word2vec/duplicates.bin")},
    {"read word2vec text", run_read, .url = GOLDEN("word2vec/gensim.txt")},
    {"read GloVe text", run_read, .url = GOLDEN("glove/small.txt")},
    {"read raw", run_read, .url = "ties.raw", .format = "raw"},
    {"read with threads", run_read, .url = "long.raw", .format = "raw"},
    {"read npz", run_read, .url = GOLDEN("npz/two.npz")},
    {"read npz, packed", run_read, .url = GOLDEN("npz/two_tables.npz#half")},
    {"read npz with bytes for words", run_read, .url = GOLDEN("npz/vocab_bytes.npz")},
    {"read a member of a zip", run_read, .url = GOLDEN("npz/deflate.npz#arr_0.npy")},
    {"read text in gzip", run_read, .url = GOLDEN("glove/small.txt.gz")},
    {"read npy in gzip", run_read, .url = GOLDEN("npy/f4_300x32.npy.gz")},
    {"read torch zip", run_read, .url = GOLDEN("torch2/tied.pt")},
    {"read torch legacy", run_read, .url = GOLDEN("torch2/tied_legacy.pth")},
    {"read torch checkpoint", run_read, .url = GOLDEN("torch2/checkpoint.ckpt")},
    {"read torch shards", run_read, .url = GOLDEN("torch2/sharded")},
    {"read GGUF", run_read, .url = GOLDEN("gguf/model_llama.gguf")},
    {"read GGUF, big-endian", run_read, .url = GOLDEN("gguf/model_gpt2_big_endian.gguf")},
    {"read GGUF in parts", run_read, .url = GOLDEN("gguf/split-00002-of-00002.gguf")},
    {"read GGUF of a directory", run_read, .url = "parts"},
    {"read gpt2", run_read, .url = GOLDEN("hf/gpt2_tied")},
    {"read llama shards", run_read, .url = GOLDEN("hf/llama_sharded")},
    {"read shards of no known architecture", run_read, .url = "plain"},
    {"read t5", run_read, .url = GOLDEN("hf/t5_padded")},
    {"read bert", run_read, .url = GOLDEN("hf/bert_mlm")},
    {"read model2vec", run_read, .url = GOLDEN("model2vec/weights_mapping")},
    {"read a part of a model", run_read, .url = GOLDEN("hf/gpt2_tied/model.safetensors")},
    {"SentencePiece", run_read, .url = GOLDEN("hf/t5_padded"),
     .vocab = GOLDEN("tokenizers/spm_bpe.model")},
    {"tiktoken", run_read, .url = GOLDEN("hf/t5_padded"),
     .vocab = GOLDEN("tokenizers/ranks.tiktoken")},
    {"tekken", run_read, .url = GOLDEN("hf/t5_padded"), .vocab = GOLDEN("tokenizers/tekken.json")},
    {"byte level", run_read, .url = GOLDEN("hf/t5_padded"),
     .vocab = GOLDEN("tokenizers/bytelevel_added.json")},
    {"unigram", run_read, .url = GOLDEN("hf/t5_padded"),
     .vocab = GOLDEN("tokenizers/unigram_added.json")},
    {"word level", run_read, .url = GOLDEN("hf/t5_padded"),
     .vocab = GOLDEN("tokenizers/wordlevel_added.json")},
    {"word piece", run_read, .url = GOLDEN("hf/t5_padded"),
     .vocab = GOLDEN("tokenizers/wordpiece_added.json")},
    {"a directory of ranks", run_read, .url = GOLDEN("hf/t5_padded"), .vocab = "ranks"},

    {"search npy", run_search, .url = GOLDEN("npy/f4_300x32.npy")},
    {"search ties", run_search, .url = "ties.raw", .format = "raw"},
    {"search text", run_search, .url = GOLDEN("glove/small.txt")},
    {"stats npy", run_stats, .url = GOLDEN("npy/f4_300x32.npy")},
    {"stats ties", run_stats, .url = "ties.raw", .format = "raw"},
    {"stats text", run_stats, .url = GOLDEN("glove/small.txt")},
    {"list shards", run_list, .url = "plain"},
    {"list torch", run_list, .url = GOLDEN("torch2/checkpoint.ckpt")},
    {"list text", run_list, .url = GOLDEN("glove/small.txt")},
    {"list a directory of files", run_list, .url = "files"},
    {"check a model", run_check, .url = GOLDEN("hf/gpt2_tied/config.json")},
    {"check a model that does not agree", run_check, .url = GOLDEN("hf/llama_sharded")},
    {"ids", run_ids, .url = GOLDEN("npy/ids_i4.npy")},

    {"write npy", run_write, .format = "npy"},
    {"write npy late", run_write, .format = "npy", .late = true},
    {"write npz", run_write, .format = "npz"},
    {"write safetensors", run_write, .format = "safetensors"},
    {"write raw", run_write, .format = "raw"},
    {"write text", run_write, .format = "text", .late = true},
    {"write word2vec", run_write, .format = "word2vec", .late = true},
    {"write word2vec text", run_write, .format = "word2vec-text", .force = true},
    {"write over a file", run_write, .format = "npy", .force = true},
    {"write through a link", run_write_link, .format = "raw"},
    {"a model with a tokenizer", run_model, .vocab = GOLDEN("hf/gpt2_tied")},
    {"a model with ranks", run_model, .vocab = "ranks"},
    {"a model over another", run_model, .url = GOLDEN("hf/gpt_neox_untied"), .force = true},

    {"resize npy", run_resize, .url = GOLDEN("npy/f4_300x32.npy"), .fill = EMB_FILL_COVARIANCE},
    {"resize safetensors", run_resize,
     .url = GOLDEN("safetensors/multi.safetensors#model.embed_tokens.weight"),
     .fill = EMB_FILL_NORMAL},
    {"resize word2vec", run_resize, .url = GOLDEN("word2vec/gensim.bin"), .fill = EMB_FILL_ROWS},
    {"resize text", run_resize, .url = GOLDEN("glove/small.txt"), .force = true, .format = "text"},
    {"resize from another table", run_resize, .url = GOLDEN("npy/f4_fortran.npy"),
     .fill = EMB_FILL_TABLE},
    {"resize raw", run_resize, .url = "ties.raw", .format = "raw"},
    {"split by merges", run_split, .url = GOLDEN("hf/gpt2_tied")},
    {"split by the longest piece", run_split, .url = GOLDEN("hf/bert_mlm")},
    {"split by scores", run_split, .url = GOLDEN("hf/t5_padded")},
};

static emb_status run_once(const struct scenario *s, struct world *w)
{
    *w = (struct world){.answer = 1, .err.status = EMB_BUG};
    emb_ctx_opts opts = {
        .size = sizeof opts, .threads = 2, .log = add_line, .log_arg = w, .hub_cache = "no-cache"};
    emb_status status = emb_ctx_new(&opts, &w->ctx, &w->err);
    if (status)
        return status;
    status = s->run(w, s);
    emb_table_close(w->table);
    emb_ctx_free(w->ctx);
    return status;
}

static void check_run(const struct scenario *s, const char *plan, const struct world *w,
                      emb_status status, uint64_t answer, uint64_t before, uint64_t after)
{
    bool none = shim_hits() == 0;
    shim_plan("");
    uint64_t now = folder_hash();
    if (status) {
        CHECK(!none, "%s: %s: failed with all its memory: %s", s->name, plan, w->err.msg);
        CHECK(status == EMB_NO_MEMORY && w->err.status == status,
              "%s: %s: status %d, in err %d: %s", s->name, plan, status, w->err.status, w->err.msg);
        CHECK(w->err.msg[0], "%s: %s: no message", s->name, plan);
        CHECK(now == before, "%s: %s: failed, but the folder is not as it was", s->name, plan);
    } else {
        CHECK(w->answer == answer, "%s: %s: done, with another answer", s->name, plan);
        CHECK(now == after, "%s: %s: done, but other files", s->name, plan);
    }
}

/* Fails call n = 1, 2 ... of a kind; returns how many there were. */
static unsigned long sweep(const struct scenario *s, const char *call, const char *how)
{
    char plan[64];
    struct world w;
    reset_folder(s);
    uint64_t before = folder_hash();
    emb_status status = run_once(s, &w);
    uint64_t answer = w.answer, after = folder_hash();
    if (status)
        printf("%s: %s\n", s->name, w.err.msg);
    need(!status, "a scenario");
    for (unsigned long n = 1;; n++) {
        reset_folder(s);
        snprintf(plan, sizeof plan, how, call, n);
        long held = shim_held();
        int files = open_files();
        need(shim_plan(plan), plan);
        status = run_once(s, &w);
        bool done = shim_hits() == 0;
        CHECK(shim_held() == held, "%s: %s: kept %ld of what it took", s->name, plan,
              shim_held() - held);
        CHECK(open_files() == files, "%s: %s: kept %d files open", s->name, plan,
              open_files() - files);
        check_run(s, plan, &w, status, answer, before, after);
        if (done)
            return n - 1;
    }
}

/* What fails, and how often it was met in all scenarios. */
static struct kind {
    const char *call, *how;
    unsigned long met;
} kinds[] = {
    {"alloc", "%s:%lu:ENOMEM", 0},
    {"alloc", "%s:%lu+:ENOMEM", 0},
    {"mmap", "%s:%lu:ENOMEM", 0},
    {"pthread_create", "%s:%lu+:EAGAIN", 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void test(const struct scenario *s)
{
    unsigned long allocations = kinds[0].met;
    for (size_t k = 0; k < KINDS; k++)
        kinds[k].met += sweep(s, kinds[k].call, kinds[k].how);
    CHECK(kinds[0].met > allocations, "%s: no allocation failed", s->name);
}

static void test_kinds(void)
{
    for (size_t k = 0; k < KINDS; k++)
        CHECK(kinds[k].met > 0, "no scenario calls %s", kinds[k].call);
}

/* The shards of a model whose architecture nobody knows. */
static void make_plain(const char *data)
{
    static const char *const shards[] = {
        "model.safetensors.index.json", "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"};
    char link[4200], name[64];
    need(mkdir("plain", 0777) == 0, "plain");
    put_text("plain/config.json", "{}");
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        snprintf(link, sizeof link, "%s/golden/hf/llama_sharded/%s", data, shards[i]);
        snprintf(name, sizeof name, "plain/%s", shards[i]);
        need(symlink(link, name) == 0, name);
    }
}

/* A GGUF model in two parts, in a folder of its own. */
static void make_parts(const char *data)
{
    char link[4200], name[64];
    need(mkdir("parts", 0777) == 0, "parts");
    for (int i = 1; i <= 2; i++) {
        snprintf(link, sizeof link, "%s/golden/gguf/split-0000%d-of-00002.gguf", data, i);
        snprintf(name, sizeof name, "parts/split-0000%d-of-00002.gguf", i);
        need(symlink(link, name) == 0, name);
    }
}

/* Files that are no model. */
static void make_files(const char *data)
{
    static const char *const files[] = {"npy/f4.npy", "safetensors/f16.safetensors"};
    char link[4200], name[64];
    need(mkdir("files", 0777) == 0, "files");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(link, sizeof link, "%s/golden/%s", data, files[i]);
        snprintf(name, sizeof name, "files/%s", strchr(files[i], '/') + 1);
        need(symlink(link, name) == 0, name);
    }
}

/* A raw file of rows that are all equal. */
static void put_zeros(const char *path, size_t rows)
{
    static const float zeros[ROWS_MAX][4];
    FILE *f = fopen(path, "w");
    need(f && fwrite(zeros, sizeof *zeros, rows, f) == rows && fclose(f) == 0, path);
}

/* A folder with all that the scenarios name. */
static void make_folder(const char *data, char *where)
{
    char full[4096], link[4200];
    need(realpath(data, full) && mkdtemp(where) && chdir(where) == 0, "a folder");
    need(symlink(full, "data") == 0 && mkdir("out", 0777) == 0 && mkdir("ranks", 0777) == 0,
         "data");
    snprintf(link, sizeof link, "%s/golden/tokenizers/ranks.tiktoken", full);
    need(symlink(link, "ranks/cl.tiktoken") == 0, "ranks");
    make_plain(full);
    make_parts(full);
    make_files(full);
    put_zeros("ties.raw", 300);
    put_zeros("long.raw", 2000);
    FILE *f = fopen("words.txt", "w");
    for (int i = 0; f && i < 300; i++)
        fprintf(f, "word%d\n", i);
    need(f && fclose(f) == 0, "words.txt");
}

int main(int argc, char **argv)
{
    char where[] = "/tmp/alloc_main.XXXXXX";
    setvbuf(stdout, NULL, _IOLBF, 0);
    need(argc > 1, "alloc_main DATA [PART OF A NAME]:");
    make_folder(argv[1], where);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (argc < 3 || strstr(scenarios[i].name, argv[2]))
            RUN(test(&scenarios[i]));
    if (argc < 3)
        RUN(test_kinds());
    empty_folder(".");
    need(chdir("/") == 0 && rmdir(where) == 0, "cleaning up");
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
