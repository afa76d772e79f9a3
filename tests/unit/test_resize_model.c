/* test_resize_model.c - the tensors of a model directory in step, and how the directory appears.
 *
 * Values are small whole numbers, so that means are exact and every expected row is worked out by
 * hand. Text files are not edited here.
 */
#include "model_fixture.h"

#include "emb.h"
#include "ops/resize_model.h"

#include <errno.h>
#include <string.h>

#define EMBED "model.embed_tokens.weight"
#define HEAD  "lm_head.weight"
#define LLAMA "{\"model_type\":\"llama\",\"hidden_size\":2}"

enum { ADDED_MAX = 8 };

static char folder[] = "/tmp/embtool-model-XXXXXX";
static emb_ctx *ctx;
static emb_table *table;
static emb_model_resize *resize;
static emb_err err;
static emb_resize_opts how;
static emb_model_resize_opts where;

static void enter(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
    how = (emb_resize_opts){.size = sizeof how};
    where = (emb_model_resize_opts){.size = sizeof where};
}

static void finish(void)
{
    emb_model_resize_close(resize);
    emb_table_close(table);
    resize = NULL;
    table = NULL;
}

static void leave(void)
{
    char command[64];
    finish();
    emb_ctx_free(ctx);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(system(command), 0);
}

/* m/: the tensors, a config.json and a vocabulary of the words. */
static void make(const struct fixture_tensor *t, size_t n, const char *config, const char *words)
{
    cr_assert_eq(system("rm -rf m out && mkdir m"), 0);
    fixture_weights("m/model.safetensors", t, n);
    fixture_text("m/config.json", config);
    if (words)
        fixture_text("m/vocab.txt", words);
}

static emb_status plan(const char *const *add, size_t n)
{
    static emb_str tokens[ADDED_MAX];
    for (size_t i = 0; i < n; i++)
        tokens[i] = (emb_str){add[i], strlen(add[i])};
    how.add = tokens;
    how.n_add = n;
    finish();
    emb_status status = emb_table_open(ctx, "m", NULL, &table, &err);
    return status ? status : emb_model_resize_open(ctx, table, &how, &where, &resize, &err);
}

static void resized(const char *const *add, size_t n, const char *to)
{
    cr_assert_eq(plan(add, n), EMB_OK, "%s", err.msg);
    cr_assert_eq(emb_model_resize_write(resize, to, NULL, &err), EMB_OK, "%s", err.msg);
}

/* A tensor of a directory holds exactly these values [n] in `rows` rows. */
static void holds(const char *dir, const char *name, uint64_t rows, const float *want, size_t n)
{
    emb_table *t;
    emb_table_info info;
    float got[64];
    uint64_t ids[16];
    emb_open_opts opts = {.size = sizeof opts, .tensor = name};
    cr_assert_eq(emb_table_open(ctx, dir, &opts, &t, &err), EMB_OK, "%s: %s", name, err.msg);
    cr_assert_eq(emb_table_describe(t, &info, &err), EMB_OK);
    cr_assert_eq(info.rows, rows, "%s has %d rows", name, (int)info.rows);
    for (uint64_t r = 0; r < rows; r++)
        ids[r] = r;
    emb_block block = {.data = got, .rows = rows, .dims = info.dims, .dtype = EMB_F32};
    cr_assert_eq(info.rows * info.dims, n);
    cr_assert_eq(emb_table_gather(t, ids, rows, &block, &err), EMB_OK);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(got[i], want[i], "%s: value %zu is %g, not %g", name, i, (double)got[i],
                     (double)want[i]);
    emb_table_close(t);
}

#define HOLDS(dir, name, rows, ...)                                  \
    do {                                                             \
        const float want_[] = {__VA_ARGS__};                         \
        holds(dir, name, rows, want_, sizeof want_ / sizeof *want_); \
    } while (0)

/* The last values of a file, where tensors that are no tables lie. */
static void ends_with(const char *path, const float *want, size_t n)
{
    size_t bytes;
    char *s = fixture_read(path, &bytes);
    cr_assert(memcmp(s + bytes - n * sizeof *want, want, n * sizeof *want) == 0, "%s", path);
    free(s);
}

static bool warned(const char *words)
{
    const emb_model_plan *p = emb_model_resize_plan(resize);
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], words))
            return true;
    return false;
}

static const char *const one[] = {"<x>"}, *const two[] = {"<x>", "<y>"};
static const char *const four[] = {"<w>", "<x>", "<y>", "<z>"};

TestSuite(resize_model, .init = enter, .fini = leave);

/* ------------------------------------------------------------------------------------------------
 * Values
 */

Test(resize_model, spare_rows_come_first)
{
    static const float rows[] = {1, 0, 2, 0, 3, 0, 4, 0, 5, 10, 0, 0, 0, 0, 0, 0};
    const struct fixture_tensor t[] = {{EMBED, 8, 2, 0, rows}};
    make(t, 1, LLAMA, "a\nb\nc\nd\ne\n");
    resized(two, 2, "out");
    HOLDS("out", EMBED, 8, 1, 0, 2, 0, 3, 0, 4, 0, 5, 10, 3, 2, 3, 2, 0, 0);
    cr_assert(warned("2 new rows are equal"));
    cr_assert_eq(system("rm -r out"), 0);
    resized(four, 4, "out");
    HOLDS("out", EMBED, 9, 1, 0, 2, 0, 3, 0, 4, 0, 5, 10, 3, 2, 3, 2, 3, 2, 3, 2);
}

/* A stored head that equals the table follows it; one that differs has its own mean. */
Test(resize_model, tied_or_not)
{
    static const float rows[] = {1, 1, 2, 2, 3, 3}, head[] = {9, 0, 9, 0, 9, 0};
    const struct fixture_tensor equal[] = {{HEAD, 3, 2, 0, rows}, {EMBED, 3, 2, 0, rows}};
    const struct fixture_tensor differs[] = {{HEAD, 3, 2, 0, head}, {EMBED, 3, 2, 0, rows}};
    make(equal, 2, LLAMA, "a\nb\nc\n");
    resized(one, 1, "out");
    HOLDS("out", EMBED, 4, 1, 1, 2, 2, 3, 3, 2, 2);
    HOLDS("out", HEAD, 4, 1, 1, 2, 2, 3, 3, 2, 2);
    make(differs, 2, "{\"model_type\":\"llama\",\"tie_word_embeddings\":true}", "a\nb\nc\n");
    resized(one, 1, "out");
    HOLDS("out", EMBED, 4, 1, 1, 2, 2, 3, 3, 2, 2);
    HOLDS("out", HEAD, 4, 9, 0, 9, 0, 9, 0, 9, 0);
    make(differs + 1, 1, "{\"model_type\":\"llama\",\"tie_word_embeddings\":false}", "a\nb\nc\n");
    resized(one, 1, "out");
    HOLDS("out", EMBED, 4, 1, 1, 2, 2, 3, 3, 2, 2);
    cr_assert(warned("none is stored"));
}

/* Biases [V] and [1, V] get 0, or what copied rows have; a tensor behind them keeps its bytes. */
Test(resize_model, biases)
{
    static const float rows[] = {1, 1, 2, 2, 6, 6}, bias[] = {4, 5, 6}, last[] = {7, 8, 9};
    static const float zero[] = {4, 5, 6, 0, 7, 8, 9}, copied[] = {4, 5, 6, 5, 7, 8, 9};
    static const float mean[] = {4, 5, 6, 5, 7, 8, 9};
    const struct fixture_tensor t[] = {{"model.shared.weight", 3, 2, 0, rows},
                                       {"final_logits_bias", 1, 3, 0, bias},
                                       {"model.encoder.layernorm_embedding.bias", 3, 0, 0, last}};
    const uint64_t source[] = {1, 0, 2};
    make(t, 3, "{\"model_type\":\"bart\"}", "a\nb\nc\n");
    resized(one, 1, "out");
    HOLDS("out", "model.shared.weight", 4, 1, 1, 2, 2, 6, 6, 3, 3);
    HOLDS("out", "final_logits_bias", 1, 4, 5, 6, 0);
    ends_with("out/model.safetensors", zero, 7);
    how.fill = EMB_FILL_ROWS;
    how.fill_rows = source;
    how.n_fill_rows = 1;
    make(t, 3, "{\"model_type\":\"bart\"}", "a\nb\nc\n");
    resized(one, 1, "out");
    HOLDS("out", "model.shared.weight", 4, 1, 1, 2, 2, 6, 6, 2, 2);
    ends_with("out/model.safetensors", copied, 7);
    cr_assert(warned("1 new row is equal to row 1"));
    how.n_fill_rows = 3;
    make(t, 3, "{\"model_type\":\"bart\"}", "a\nb\nc\n");
    resized(one, 1, "out");
    HOLDS("out", "model.shared.weight", 4, 1, 1, 2, 2, 6, 6, 3, 3);
    ends_with("out/model.safetensors", mean, 7);
}

/* A table that models look up by the same ids, and one that ends before the embedding does. */
Test(resize_model, tables_of_layers)
{
    static const float rows[] = {1, 1, 3, 3};
    const char name[] = "model.embed_tokens_per_layer.weight";
    const struct fixture_tensor same[] = {{EMBED, 2, 2, 0, rows}, {name, 2, 3, 5, NULL}};
    const struct fixture_tensor less[] = {{EMBED, 2, 2, 0, rows}, {name, 1, 3, 5, NULL}};
    make(same, 2, "{\"model_type\":\"gemma3n\"}", "a\nb\n");
    resized(one, 1, "out");
    HOLDS("out", name, 3, 5, 5, 5, 5, 5, 5, 5, 5, 5);
    make(less, 2, "{\"model_type\":\"gemma3n\"}", "a\nb\n");
    resized(one, 1, "out");
    HOLDS("out", EMBED, 3, 1, 1, 3, 3, 2, 2);
    HOLDS("out", name, 1, 5, 5, 5);
    cr_assert(warned("stays as it is"));
}

/* Tables that have as many rows as the embedding has now, by chance, are no part of it still. */
Test(resize_model, another_table_of_the_new_length)
{
    static const float rows[] = {1, 1, 3, 3};
    const struct fixture_tensor t[] = {{EMBED, 2, 2, 0, rows},
                                       {"other.word_embeddings.weight", 3, 2, 5, NULL},
                                       {"decoder.bias", 3, 0, 7, NULL}};
    make(t, 3, "{}", "a\nb\n");
    resized(one, 1, "out");
    HOLDS("out", EMBED, 3, 1, 1, 3, 3, 2, 2);
    HOLDS("out", "other.word_embeddings.weight", 3, 5, 5, 5, 5, 5, 5);
    ends_with("out/model.safetensors", (const float[]){7, 7, 7}, 3);
}

/* Random rows of an embedding and of its head are not the same ones. */
Test(resize_model, each_table_has_its_own_chance)
{
    static const float rows[] = {1, 1, 2, 3};
    const struct fixture_tensor t[] = {{EMBED, 2, 2, 0, rows}, {HEAD, 2, 2, 4, NULL}};
    size_t n, m;
    how.fill = EMB_FILL_NORMAL;
    make(t, 2, LLAMA, "a\nb\n");
    resized(one, 1, "out");
    char *first = fixture_read("out/model.safetensors", &n);
    cr_assert_neq(memcmp(first + n - 8, first + n - 32, 8), 0);
    cr_assert_eq(system("rm -r out"), 0);
    resized(one, 1, "out");
    char *again = fixture_read("out/model.safetensors", &m);
    cr_assert(n == m && memcmp(first, again, n) == 0);
    free(first);
    free(again);
}

/* Rows of new tokens are the means of their pieces in each table; a piece that occurs twice counts
 * twice; rows without a token get the mean row, biases 0. A token of the tokenizer that has no row
 * yet is split as the new ones are. */
Test(resize_model, pieces)
{
    static const float rows[] = {1, 1, 2, 8, 6, 0}, head[] = {3, 0, 0, 3, 9, 9}, bias[] = {4, 5, 6};
    static const float zero[] = {4, 5, 6, 0, 0, 0, 0};
    static const char json[] =
        "{\"added_tokens\":[{\"id\":3,\"content\":\"ba\",\"normalized\":false}],\"model\":"
        "{\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"a\":0,\"b\":1,\"u\":2},"
        "\"merges\":[]}}";
    static const char *const names[] = {"aab", "zz"};
    const struct fixture_tensor t[] = {
        {EMBED, 3, 2, 0, rows}, {HEAD, 3, 2, 0, head}, {"lm_head.bias", 3, 0, 0, bias}};
    how.fill = EMB_FILL_PIECES;
    how.rows = 7;
    make(t, 3, "{\"model_type\":\"phi\",\"hidden_size\":2}", NULL);
    fixture_text("m/tokenizer.json", json);
    resized(names, 2, "out");
    HOLDS("out", EMBED, 7, 1, 1, 2, 8, 6, 0, 1.5f, 4.5f, 4 / 3.0f, 10 / 3.0f, 6, 0, 3, 3);
    HOLDS("out", HEAD, 7, 3, 0, 0, 3, 9, 9, 1.5f, 1.5f, 2, 1, 9, 9, 4, 4);
    ends_with("out/model.safetensors", zero, 7);
    const emb_model_plan *said = emb_model_resize_plan(resize);
    cr_assert(said->pieces && said->pieces[0].n == 3 && said->pieces[1].n == 2);
    cr_assert(said->pieces[0].rows[1] == 0 && said->pieces[0].rows[2] == 1);
    cr_assert(warned("'zz' is unknown to the tokenizer as a whole"));
}

Test(resize_model, pieces_that_cannot_be_had)
{
    static const float rows[] = {1, 1, 2, 8};
    const struct fixture_tensor t[] = {{EMBED, 2, 2, 0, rows}};
    static const char *const name[] = {"aa"};
    how.fill = EMB_FILL_PIECES;
    make(t, 1, LLAMA, "a\nb\n");
    cr_assert_eq(plan(name, 1), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "there is no tokenizer.json"), "%s", err.msg);
    make(t, 1, LLAMA, NULL);
    fixture_text("m/tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"x\":0,\"y\":1},"
                                     "\"merges\":[]}}");
    cr_assert_eq(plan(name, 1), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "'aa' is split into nothing"), "%s", err.msg);
    fixture_text("m/tokenizer.json",
                 "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"x\":0,\"y\":1,\"a\":2},"
                 "\"merges\":[]}}");
    cr_assert_eq(plan(name, 1), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "'a' has the piece 2, but the table 2 rows"), "%s", err.msg);
}

Test(resize_model, nearly_equal_to_an_old_row)
{
    static const float rows[] = {1, 0, 0, 1, 0.5f, 0.5f}; /* the mean is [1/2, 1/2] */
    const struct fixture_tensor t[] = {{EMBED, 3, 2, 0, rows}};
    make(t, 1, LLAMA, "a\nb\nc\n");
    cr_assert_eq(plan(one, 1), EMB_OK);
    cr_assert(warned("new row 3 is nearly equal to row 2"));
}

/* ------------------------------------------------------------------------------------------------
 * Shards
 */

static void make_shards(void)
{
    static const float rows[] = {1, 2, 3, 4}, head[] = {5, 6, 7, 8}, x[] = {1, 2, 3};
    const struct fixture_tensor first[] = {{"model.norm.weight", 3, 0, 0, x},
                                           {EMBED, 2, 2, 0, rows}},
                                second[] = {{HEAD, 2, 2, 0, head}, {"model.y", 3, 0, 0, x}},
                                third[] = {{"model.z", 3, 0, 0, x}};
    cr_assert_eq(system("rm -rf m out && mkdir m"), 0);
    fixture_weights("m/model-00001-of-00003.safetensors", first, 2);
    fixture_weights("m/model-00002-of-00003.safetensors", second, 2);
    fixture_weights("m/model-00003-of-00003.safetensors", third, 1);
    fixture_text("m/model.safetensors.index.json",
                 "{\"metadata\":{},\"weight_map\":{\"" EMBED
                 "\":\"model-00001-of-00003.safetensors\",\"model.norm.weight\":\"model-00001-of-"
                 "00003.safetensors\",\"" HEAD "\":\"model-00002-of-00003.safetensors\","
                 "\"model.y\":\"model-00002-of-00003.safetensors\","
                 "\"model.z\":\"model-00003-of-00003.safetensors\"}}");
    fixture_text("m/config.json", LLAMA);
    fixture_text("m/vocab.txt", "a\nb\n");
}

Test(resize_model, only_shards_with_tables_are_written)
{
    static const float x[] = {1, 2, 3};
    make_shards();
    resized(one, 1, "out");
    HOLDS("out", EMBED, 3, 1, 2, 3, 4, 2, 3);
    HOLDS("out", HEAD, 3, 5, 6, 7, 8, 6, 7);
    ends_with("out/model-00002-of-00003.safetensors", x, 3);
    cr_assert(
        fixture_same("m/model-00003-of-00003.safetensors", "out/model-00003-of-00003.safetensors"));
    const emb_model_plan *p = emb_model_resize_plan(resize);
    cr_assert_eq(p->n_tensors, 2);
    cr_assert_str_eq(p->tensors[1].name, HEAD);
    cr_assert_str_eq(p->tensors[1].role, "head");
    cr_assert_eq(p->tensors[1].old_shape[0], 2);
    cr_assert_eq(p->tensors[1].shape[0], 3);
    for (size_t i = 0; i < p->n_files; i++) {
        bool shard = strncmp(p->files[i].name, "model-0000", 10) == 0;
        bool rewritten = shard && p->files[i].name[10] != '3', edited = p->files[i].is_new;
        cr_assert_eq(p->files[i].fate,
                     rewritten ? EMB_FILE_REWRITTEN
                     : edited  ? EMB_FILE_EDITED
                               : EMB_FILE_KEPT,
                     "%s", p->files[i].name);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The directory
 */

static const float two_rows[] = {1, 1, 3, 3};
static const struct fixture_tensor small[] = {{EMBED, 2, 2, 0, two_rows}};

static void make_small(void)
{
    make(small, 1, LLAMA, "a\nb\n");
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    cr_assert_eq(lstat(path, &st), 0, "%s", path);
    return st.st_mode & 07777;
}

Test(resize_model, what_stays)
{
    make_small();
    cr_assert_eq(system("mkdir -p m/sub/empty; echo x > m/sub/x; chmod 640 m/sub/x; mkfifo m/pipe;"
                        "ln -s nowhere m/dangling; ln -s ../blob m/linked; echo blob > blob"),
                 0);
    resized(one, 1, "out");
    cr_assert(fixture_same("m/sub/x", "out/sub/x"));
    cr_assert_eq(mode_of("out/sub/x"), 0640);
    cr_assert(fixture_exists("out/sub/empty") && fixture_exists("out/dangling"));
    cr_assert_not(fixture_exists("out/pipe"));
    cr_assert(fixture_same("out/linked", "blob"));
    struct stat st;
    cr_assert(lstat("out/linked", &st) == 0 && S_ISREG(st.st_mode));
    cr_assert(warned("pipe is a pipe"));
}

/* sentence-transformers keeps the model in a folder of its own: what is there is edited there. */
Test(resize_model, a_model_in_a_folder)
{
    static const char *const folders[] = {"0_Transformer", "0_StaticEmbedding"};
    char command[200], path[100];
    const emb_token_role pad = {"pad", {"a", 1}};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        where = (emb_model_resize_opts){.size = sizeof where, .roles = &pad, .n_roles = 1};
        make_small();
        snprintf(command, sizeof command, "mkdir m/%s && mv m/*.* m/%s && echo x > m/modules.json",
                 folders[i], folders[i]);
        cr_assert_eq(system(command), 0);
        resized(one, 1, "out");
        HOLDS("out", EMBED, 3, 1, 1, 3, 3, 2, 2);
        cr_assert_eq(system("ls out | wc -l | grep -qx 2"), 0); /* nothing beside the folder */
        snprintf(command, sizeof command, "grep -q pad_token_id.*0 out/%s/config.json", folders[i]);
        cr_assert_eq(system(command), 0);
        snprintf(path, sizeof path, "%s/tokenizer_config.json", folders[i]);
        const emb_model_plan *p = emb_model_resize_plan(resize);
        size_t k = 0;
        while (k < p->n_files && strcmp(p->files[k].name, path) != 0)
            k++;
        cr_assert(k < p->n_files && p->files[k].is_new);
    }
    where.in_place = true;
    resized(one, 1, NULL);
    finish();
    cr_assert_eq(system("diff -r m out"), 0);
}

/* Files behind a link to a folder would not be replaced with the rest. */
Test(resize_model, a_model_in_a_folder_that_is_a_link)
{
    make_small();
    cr_assert_eq(system("mkdir real && mv m/*.* real && ln -s ../real m/0_Transformer"), 0);
    resized(one, 1, "out");
    HOLDS("out", EMBED, 3, 1, 1, 3, 3, 2, 2);
    where.in_place = true;
    cr_assert_eq(plan(one, 1), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "0_Transformer is a link to ") && strstr(err.msg, "/real: resize"));
    HOLDS("m", EMBED, 2, 1, 1, 3, 3);
}

/* In a hub's cache files are links into blobs: what changes becomes a file, and no blob does. */
Test(resize_model, in_place_through_links)
{
    make_small();
    cr_assert_eq(system("cp -r m fresh && mkdir blobs && mv m/model.safetensors blobs/w &&"
                        "mv m/vocab.txt blobs/v && ln -s ../blobs/w m/model.safetensors &&"
                        "ln -s ../blobs/v m/vocab.txt && mkfifo m/pipe && chmod 600 blobs/w"),
                 0);
    resized(one, 1, "out");
    where.in_place = true;
    resized(one, 1, NULL);
    finish();
    cr_assert(fixture_same("m/model.safetensors", "out/model.safetensors"));
    cr_assert(fixture_same("blobs/w", "fresh/model.safetensors"));
    cr_assert_eq(mode_of("m/model.safetensors"), 0600);
    struct stat st;
    cr_assert(lstat("m/model.safetensors", &st) == 0 && S_ISREG(st.st_mode));
    cr_assert(lstat("m/vocab.txt", &st) == 0 && S_ISLNK(st.st_mode));
    cr_assert(lstat("m/pipe", &st) == 0 && S_ISFIFO(st.st_mode));
    HOLDS("m", EMBED, 3, 1, 1, 3, 3, 2, 2);
}

/* Root resizes what is another user's: it stays theirs in place, and a copy is root's. */
Test(resize_model, owners)
{
    const emb_token_role pad = {"pad", {"a", 1}};
    if (getuid() != 0)
        cr_skip("only root gives files away");
    make_small();
    where.roles = &pad;
    where.n_roles = 1;
    cr_assert_eq(system("mkdir m/sub && echo x > m/sub/x && ln -s x m/sub/link"), 0);
    if (system("chown -hR 12:34 m && chmod 600 m/model.safetensors && chmod 2750 m") != 0)
        cr_skip("users 12 and 34 are unknown here");
    resized(one, 1, "out");
    cr_assert_eq(system("find out ! -uid 0 | wc -l | grep -qx 0"), 0);
    where.in_place = true;
    resized(one, 1, NULL);
    finish();
    cr_assert(fixture_exists("m/tokenizer_config.json")); /* a new one */
    cr_assert_eq(system("find m '(' -uid 12 -gid 34 -o -print ')' | wc -l | grep -qx 0"), 0);
    cr_assert_eq(mode_of("m"), 02750);
    cr_assert_eq(mode_of("m/model.safetensors"), 0600);
    HOLDS("m", EMBED, 3, 1, 1, 3, 3, 2, 2);
}

/* Folders keep their permissions too, in a copy and in place. */
Test(resize_model, folders_without_write_permission)
{
    struct stat st;
    make_small();
    cr_assert_eq(chmod(".", 0777), 0);
    cr_assert_eq(system("mkdir -p m/a/b && echo x > m/a/b/c && chmod 555 m/a/b && chmod 550 m/a"
                        " && chmod 555 m"),
                 0);
    resized(one, 1, "out");
    cr_assert(stat("out/a", &st) == 0 && (st.st_mode & 07777) == 0550);
    cr_assert(stat("out/a/b", &st) == 0 && (st.st_mode & 07777) == 0555);
    where.in_place = true;
    resized(one, 1, NULL);
    cr_assert(stat("m", &st) == 0 && (st.st_mode & 07777) == 0555);
    cr_assert(stat("m/a", &st) == 0 && (st.st_mode & 07777) == 0550);
    cr_assert(fixture_exists("m/a/b/c"));
    cr_assert_eq(system("chmod -R u+w m out"), 0);
}

Test(resize_model, links)
{
    struct stat a, b;
    make_small();
    where.link = true;
    resized(one, 1, "out");
    cr_assert(stat("m/vocab.txt", &a) == 0 && stat("out/vocab.txt", &b) == 0);
    cr_assert_eq(a.st_ino, b.st_ino);
    cr_assert_not(fixture_same("m/model.safetensors", "out/model.safetensors"));
}

Test(resize_model, the_directory_behind_a_link_and_dot)
{
    make_small();
    where.in_place = true;
    cr_assert_eq(symlink("m", "link"), 0);
    cr_assert_eq(emb_table_open(ctx, "link", NULL, &table, &err), EMB_OK);
    how.rows = 3;
    cr_assert_eq(emb_model_resize_open(ctx, table, &how, &where, &resize, &err), EMB_OK);
    cr_assert_eq(emb_model_resize_write(resize, NULL, NULL, &err), EMB_OK, "%s", err.msg);
    finish();
    struct stat st;
    cr_assert(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
    cr_assert(lstat("m", &st) == 0 && S_ISDIR(st.st_mode));
    cr_assert_eq(chdir("m"), 0);
    cr_assert_eq(emb_table_open(ctx, ".", NULL, &table, &err), EMB_OK);
    how.rows = 4;
    cr_assert_eq(emb_model_resize_open(ctx, table, &how, &where, &resize, &err), EMB_OK);
    cr_assert_eq(emb_model_resize_write(resize, NULL, NULL, &err), EMB_OK, "%s", err.msg);
    finish();
    cr_assert_eq(chdir(folder), 0);
    HOLDS("m", EMBED, 4, 1, 1, 3, 3, 2, 2, 2, 2);
}

Test(resize_model, nothing_to_do)
{
    struct stat before, after;
    make_small();
    cr_assert_eq(stat("m", &before), 0);
    where.in_place = true;
    how.multiple = 2;
    resized(NULL, 0, NULL);
    cr_assert_not(emb_model_resize_plan(resize)->changes);
    cr_assert_eq(stat("m", &after), 0);
    cr_assert_eq(before.st_ino, after.st_ino);
    where.in_place = false;
    resized(NULL, 0, "out");
    cr_assert(fixture_same("m/model.safetensors", "out/model.safetensors"));
}

/* What others write into the directory meanwhile is not thrown away with it. */
Test(resize_model, changed_meanwhile)
{
    static const char *const changes[] = {"echo notes > m/notes", "echo more >> m/vocab.txt",
                                          "touch -d 2001-02-03 m/vocab.txt", "rm m/vocab.txt"};
    make_small();
    where.in_place = true;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        cr_assert_eq(system("rm -rf kept && cp -a m kept"), 0);
        cr_assert_eq(plan(one, 1), EMB_OK, "%s", err.msg);
        cr_assert_eq(system(changes[i]), 0);
        cr_assert_eq(emb_model_resize_write(resize, NULL, NULL, &err), EMB_IO, "%s", changes[i]);
        cr_assert_not_null(strstr(err.msg, i == 0 ? "notes changed" : "vocab.txt"));
        finish();
        cr_assert(fixture_same("m/model.safetensors", "kept/model.safetensors"));
        cr_assert_eq(fixture_exists("m/notes"), i == 0);
        cr_assert_eq(system("rm -rf m && mv kept m && test $(ls -a | wc -l) = 3"), 0);
    }
}

/* What a killed run has left goes; what a run at work holds stays. */
Test(resize_model, one_at_a_time)
{
    emb_table *other;
    emb_model_resize *second;
    make_small();
    where.in_place = true;
    cr_assert_eq(system("mkdir .m.tmp.1.0 .m.tmp.1.x && touch .m.tmp.1.0/f"), 0);
    cr_assert_eq(plan(one, 1), EMB_OK, "%s", err.msg);
    cr_assert_eq(emb_table_open(ctx, "m", NULL, &other, &err), EMB_OK);
    cr_assert_eq(emb_model_resize_open(ctx, other, &how, &where, &second, &err), EMB_IO);
    cr_assert_eq(err.sys, EWOULDBLOCK);
    cr_assert_not_null(strstr(err.msg, "another run"));
    cr_assert_eq(emb_model_resize_write(resize, NULL, NULL, &err), EMB_OK, "%s", err.msg);
    finish();
    cr_assert_not(fixture_exists(".m.tmp.1.0"));
    cr_assert(fixture_exists(".m.tmp.1.x"));
    /* the table that was opened before is another directory's now */
    cr_assert_eq(emb_model_resize_open(ctx, other, &how, &where, &second, &err), EMB_IO);
    cr_assert_not_null(strstr(err.msg, "replaced by another run"));
    emb_table_close(other);
}

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */

static void refused(emb_status status, const char *a, const char *b)
{
    emb_status got = plan(one, 1);
    cr_assert_eq(got, status, "%d: %s", got, err.msg);
    cr_assert(strstr(err.msg, a) && strstr(err.msg, b), "%s", err.msg);
}

Test(resize_model, tables_of_different_length)
{
    static const struct fixture_tensor mllama[] = {
        {"language_model.model.embed_tokens.weight", 5, 2, 1, NULL},
        {"language_model.lm_head.weight", 3, 2, 2, NULL}};
    static const struct fixture_tensor phi[] = {{EMBED, 2, 2, 1, NULL},
                                                {"lm_head.bias", 4, 0, 1, NULL}};
    make(mllama, 2, "{\"model_type\":\"mllama\"}", "a\nb\nc\n");
    refused(EMB_UNSUPPORTED, "5 rows", "lm_head.weight 3");
    make(phi, 2, "{\"model_type\":\"phi\"}", "a\nb\n");
    refused(EMB_UNSUPPORTED, "2 rows", "lm_head.bias 4");
}

Test(resize_model, forms)
{
    static const struct fixture_tensor scaled[] = {{EMBED, 2, 2, 1, NULL},
                                                   {"lm_head.weight", 2, 2, 2, NULL},
                                                   {"lm_head.weight_scale", 2, 1, 1, NULL}};
    make(scaled, 3, LLAMA, "a\nb\n");
    refused(EMB_UNSUPPORTED, "lm_head.weight", "weight_scale");
    make_small();
    fixture_text("m/model.safetensors.index.json", "{\"weight_map\":{}}");
    refused(EMB_UNSUPPORTED, "model.safetensors ", "model.safetensors.index.json");
    make(small, 1, LLAMA, NULL);
    refused(EMB_BAD_ARG, "no tokenizer", "--rows");
    make_small();
    how.keep = (emb_str[]){{"a", 1}};
    how.n_keep = 1;
    refused(EMB_UNSUPPORTED, "removed", "tokenizer");
}

Test(resize_model, targets)
{
    emb_write_opts force = {.size = sizeof force, .force = true};
    make_small();
    cr_assert_eq(plan(one, 1), EMB_OK);
    cr_assert_eq(mkdir("out", 0700), 0);
    fixture_text("out/mine", "x");
    cr_assert_eq(emb_model_resize_write(resize, "out", NULL, &err), EMB_EXISTS);
    cr_assert_eq(emb_model_resize_write(resize, "out", &force, &err), EMB_EXISTS);
    cr_assert_eq(emb_model_resize_write(resize, "m", &force, &err), EMB_EXISTS);
    cr_assert_not_null(strstr(err.msg, "--in-place"));
    cr_assert_eq(emb_model_resize_write(resize, "m/new", NULL, &err), EMB_BAD_ARG);
    cr_assert_eq(emb_model_resize_write(resize, "no/such", NULL, &err), EMB_IO);
    cr_assert_eq(emb_model_resize_write(resize, NULL, NULL, &err), EMB_BAD_ARG);
    cr_assert_eq(system("ls -A | tr '\\n' ' ' | grep -qx 'm out ' && ls out | grep -qx mine"), 0);
    fixture_text("out/config.json", "{}");
    cr_assert_eq(emb_model_resize_write(resize, "out", &force, &err), EMB_EXISTS);
    fixture_text("out/model.safetensors.index.json", "{}");
    cr_assert_eq(emb_model_resize_write(resize, "out", &force, &err), EMB_OK, "%s", err.msg);
    HOLDS("out", EMBED, 3, 1, 1, 3, 3, 2, 2);
    cr_assert_not(fixture_exists("out/mine"));
}

/* What a link leads to is inside as well. */
Test(resize_model, a_target_inside_by_a_link)
{
    emb_write_opts force = {.size = sizeof force, .force = true};
    make_small();
    cr_assert_eq(system("mkdir m/empty m/old && echo {} > m/old/config.json && mkdir above && "
                        "ln -s m/empty empty && ln -s m/old old && ln -s ../m above/m"),
                 0);
    cr_assert_eq(plan(one, 1), EMB_OK);
    static const char *const paths[] = {"empty", "empty/", "old", "above/m/empty", "above/m/new"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        cr_assert_eq(emb_model_resize_write(resize, paths[i], &force, &err), EMB_BAD_ARG, "%s",
                     paths[i]);
        cr_assert_not_null(strstr(err.msg, "inside"));
    }
    cr_assert_eq(emb_model_resize_write(resize, "above/m", &force, &err), EMB_EXISTS);
    cr_assert_eq(system("ls -A m/empty | wc -l | grep -qx 0 && ls -A m/old | wc -l | grep -qx 1"),
                 0);
}

/* A file that cannot be read when its turn comes: nothing is left, and the old one is whole. */
Test(resize_model, a_failure_leaves_nothing)
{
    make_small();
    fixture_text("m/zz", "x");
    where.in_place = true;
    cr_assert_eq(plan(one, 1), EMB_OK);
    cr_assert_eq(unlink("m/zz"), 0);
    cr_assert_eq(emb_model_resize_write(resize, NULL, NULL, &err), EMB_IO);
    cr_assert_not_null(strstr(err.msg, "zz"));
    finish();
    cr_assert_eq(system("ls -A | tr '\\n' ' ' | grep -qx 'm '"), 0);
    HOLDS("m", EMBED, 2, 1, 1, 3, 3);
}

/* Before the new directory gets its name each part of it is looked at; here it has it already. */
Test(resize_model, what_is_not_as_planned)
{
    static const struct fixture_tensor t[] = {{EMBED, 2, 2, 0, two_rows},
                                              {HEAD, 2, 2, 0, two_rows}};
    static const struct fixture_tensor apart[] = {{EMBED, 3, 2, 1, NULL}, {HEAD, 3, 2, 2, NULL}};
    static const struct {
        const char *spoil, *says;
    } cases[] = {{"echo >> new/config.json", "config.json is not as planned"},
                 {"tr 3 2 < out/config.json > new/config.json", "config.json is not as planned"},
                 {"rm new/added_tokens.json", "added_tokens.json is not as planned"},
                 {"rm new/vocab.txt", "has no <x> with id 2"},
                 {"cp m/model.safetensors new", "has 2 rows, expected 3"},
                 {"cp single new/model.safetensors", "has no " HEAD},
                 {"cp apart new/model.safetensors", "was a copy"}};
    make(t, 2, "{\"model_type\":\"llama\",\"vocab_size\":2}", "a\nb\n");
    fixture_weights("single", apart, 1);
    fixture_weights("apart", apart, 2);
    resized(one, 1, "out");
    cr_assert_eq(embi_model_resize_check(resize, "out", &err), EMB_OK, "%s", err.msg);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(system("rm -rf new && cp -r out new"), 0);
        cr_assert_eq(system(cases[i].spoil), 0);
        cr_assert_eq(embi_model_resize_check(resize, "new", &err), EMB_BUG, "%s", cases[i].spoil);
        cr_assert_not_null(strstr(err.msg, cases[i].says), "%s: %s", cases[i].spoil, err.msg);
    }
}

Test(resize_model, stale_companions)
{
    make_small();
    cr_assert_eq(system("cd m && mkdir original onnx && touch consolidated.00.pth x.gguf "
                        "adapter_model.safetensors tekken.json pytorch_model.bin tf_model.h5 "
                        "flax_model.msgpack"),
                 0);
    cr_assert_eq(plan(one, 1), EMB_OK, "%s", err.msg);
    static const char *const names[] = {"original/",
                                        "onnx/",
                                        "consolidated.00.pth",
                                        "x.gguf",
                                        "adapter_model.safetensors",
                                        "tekken.json",
                                        "tf_model.h5",
                                        "pytorch_model.bin",
                                        "flax_model.msgpack"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert(warned(names[i]), "%s", names[i]);
}
