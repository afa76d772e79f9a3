/* tests/unit/test_new_model.c - presets, and new model directories.
 *
 * The presets' numbers are those that the models' own pages state; their totals are counted again
 * from the shapes of all tensors. Directories are looked at with the C library and opened as
 * tables. That other loaders take them is tests/peers/check_transformers.py's to show.
 */
#include "io_fixture.h"

#include <math.h>

static emb_ctx *ctx;
static emb_new_model *model;

static void set_up(void)
{
    enter_folder();
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
}

static void tear_down(void)
{
    emb_ctx_free(ctx);
    leave_folder();
}

TestSuite(presets);
TestSuite(new_model, .init = set_up, .fini = tear_down);

/* ------------------------------------------------------------------------------------------------
 * Presets
 */

Test(presets, sizes)
{
    static const struct {
        const char *name;
        uint64_t rows, dims, positions;
        bool untied;
        double params;
    } cases[] = {{"andrea-120m", 8449, 768, 1024, true, 120e6},
                 {"sophia", 65536, 1536, 0, false, 1.01e9},
                 {"bert-base", 30522, 768, 512, false, 109482240},
                 {"gpt2", 50257, 768, 1024, false, 124439808},
                 {"llama-3-8b", 128256, 4096, 0, true, 8030261248},
                 {"qwen2.5-7b", 152064, 3584, 0, true, 7615616512},
                 {"word2vec-google", 3000000, 300, 0, false, 900000000}};
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        const emb_preset *p = emb_preset_by_name(cases[i].name);
        cr_assert_not_null(p, "%s", cases[i].name);
        cr_assert(p->rows == cases[i].rows && p->dims == cases[i].dims &&
                      p->positions == cases[i].positions && p->untied == cases[i].untied &&
                      (double)p->params == cases[i].params,
                  "%s", cases[i].name);
    }
    cr_assert_null(emb_preset_by_name("GPT2"));
    cr_assert_null(emb_preset_by_name(""));
}

/* Numbers in one block, its norms and biases included. */
static uint64_t block_params(const emb_preset *p)
{
    uint64_t d = p->dims, kv = d / p->heads * p->kv_heads, inner = p->inner;
    if (strcmp(p->arch, "gpt2") == 0) /* attention, projection, two of the MLP, two norms */
        return d * 3 * d + 3 * d + d * d + d + d * inner + inner + inner * d + d + 4 * d;
    if (strcmp(p->arch, "bert") == 0)
        return 4 * (d * d + d) + d * inner + inner + inner * d + d + 4 * d;
    uint64_t biases = strcmp(p->arch, "qwen2") == 0 ? d + 2 * kv : 0;
    return 2 * d * d + 2 * d * kv + biases + 3 * d * inner + 2 * d;
}

/* What is neither a block nor one of the tables that init makes. */
static uint64_t other_params(const emb_preset *p)
{
    uint64_t d = p->dims;
    if (strcmp(p->arch, "gpt2") == 0)
        return 2 * d; /* the last norm */
    if (strcmp(p->arch, "bert") == 0)
        return 2 * d + 2 * d + d * d + d; /* token types, norm, pooler */
    return d;
}

Test(presets, totals_are_those_of_the_shapes)
{
    size_t models = 0;
    for (size_t i = 0; emb_preset_at(i); i++) {
        const emb_preset *p = emb_preset_at(i);
        uint64_t tables = (p->rows * (p->untied ? 2 : 1) + p->positions) * p->dims, total = tables;
        cr_assert_eq(emb_preset_by_name(p->name), p);
        if (p->arch) {
            cr_assert_eq(p->dims % p->heads, 0, "%s", p->name);
            total += p->layers * block_params(p) + other_params(p);
            models++;
        }
        /* round totals are those of models that were only described */
        double slack = p->params % 1000000 == 0 && p->arch ? 5e-3 * (double)p->params : 0;
        cr_assert(fabs((double)total - (double)p->params) <= slack, "%s: %llu", p->name,
                  (unsigned long long)total);
    }
    cr_assert_eq(models, 6);
    cr_assert_null(emb_preset_at(1000));
}

/* ------------------------------------------------------------------------------------------------
 * What a model is
 */

static emb_status settle(emb_new_model_opts opts)
{
    opts.size = sizeof opts;
    return emb_new_model_open(ctx, &opts, &model, &err);
}

static bool array_is(int tensor, const char *name, uint64_t rows, uint64_t dims, emb_dtype dtype)
{
    const emb_array *a = emb_new_model_array(model, tensor);
    return a && strcmp(a->name, name) == 0 && a->ndim == 2 && a->shape[0] == rows &&
           a->shape[1] == dims && a->dtype == dtype;
}

Test(new_model, tables_by_architecture)
{
    cr_assert_eq(settle((emb_new_model_opts){.rows = 10, .dims = 4}), EMB_OK);
    cr_assert_str_eq(emb_new_model_arch(model), "llama");
    cr_assert(array_is(EMB_NEW_EMBEDDING, "model.embed_tokens.weight", 10, 4, EMB_F32));
    cr_assert_null(emb_new_model_array(model, EMB_NEW_POSITIONS));
    cr_assert_null(emb_new_model_array(model, EMB_NEW_HEAD));
    cr_assert_null(emb_new_model_array(model, EMB_NEW_TENSORS));
    cr_assert_null(emb_new_model_array(model, -1));
    cr_assert_eq(emb_new_model_params(model), 0);
    emb_new_model_close(model);

    cr_assert_eq(settle((emb_new_model_opts){
                     .rows = 10, .dims = 4, .positions = 6, .untied = true, .dtype = EMB_BF16}),
                 EMB_OK);
    cr_assert_str_eq(emb_new_model_arch(model), "gpt2");
    cr_assert(array_is(EMB_NEW_EMBEDDING, "transformer.wte.weight", 10, 4, EMB_BF16));
    cr_assert(array_is(EMB_NEW_POSITIONS, "transformer.wpe.weight", 6, 4, EMB_BF16));
    cr_assert(array_is(EMB_NEW_HEAD, "lm_head.weight", 10, 4, EMB_BF16));
    emb_new_model_close(model);
    emb_new_model_close(NULL);
}

/* The total counts the tables that are made in the place of the preset's. */
Test(new_model, presets_with_changes)
{
    const emb_preset *gpt2 = emb_preset_by_name("gpt2");
    cr_assert_eq(settle((emb_new_model_opts){.preset = gpt2}), EMB_OK);
    cr_assert_eq(emb_new_model_params(model), 124439808);
    emb_new_model_close(model);
    cr_assert_eq(settle((emb_new_model_opts){.preset = gpt2,
                                             .untied = true,
                                             .positions = 2048,
                                             .row_multiple = 64,
                                             .dtype = EMB_F16}),
                 EMB_OK);
    cr_assert(array_is(EMB_NEW_EMBEDDING, "transformer.wte.weight", 50304, 768, EMB_F16));
    cr_assert(array_is(EMB_NEW_POSITIONS, "transformer.wpe.weight", 2048, 768, EMB_F16));
    cr_assert_eq(emb_new_model_params(model),
                 124439808 + (50304 - 50257 + 50304 + 2048 - 1024) * 768);
    emb_new_model_close(model);
    cr_assert_eq(settle((emb_new_model_opts){.preset = emb_preset_by_name("word2vec-google")}),
                 EMB_OK);
    cr_assert_null(emb_new_model_arch(model));
    cr_assert_null(emb_new_model_array(model, EMB_NEW_EMBEDDING)->name);
    emb_new_model_close(model);
}

Test(new_model, refused)
{
    const emb_preset *words = emb_preset_by_name("word2vec-google");
    const struct {
        emb_new_model_opts opts;
        const char *part; /* of the message */
    } cases[] = {
        {{.rows = 4}, "needs rows and dimensions"},
        {{.dims = 4}, "needs rows and dimensions"},
        {{.rows = 4, .dims = 4, .arch = "GPT2"}, "architecture GPT2: expected one of gpt2, llama"},
        {{.rows = 4, .dims = 4, .arch = ""}, "expected one of"},
        {{.rows = 4, .dims = 4, .arch = "llama", .positions = 1}, "no table of learned positions"},
        {{.rows = 1ull << 60, .dims = 4, .dtype = EMB_F64}, "has no size"},
        {{.rows = UINT64_MAX, .dims = 1, .row_multiple = 2}, "too large"},
        {{.rows = 4, .dims = 4, .positions = 1ull << 62}, "has no size"},
        {{.preset = words, .positions = 4}, "further ones need an architecture"},
        {{.preset = words, .untied = true}, "further ones need an architecture"},
        {{.like = ".", .rows = 4}, "like another one"},
        {{.like = ".", .preset = words}, "like another one"},
        {{.like = "no"}, "no"},
        {{.rows = 4, .dims = 4, .tokenizer = "."}, "there is no tokenizer"},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        cr_assert_neq(settle(cases[i].opts), EMB_OK, "case %zu", i);
        cr_assert_not_null(strstr(err.msg, cases[i].part), "case %zu: %s", i, err.msg);
    }
}

Test(new_model, rows_by_the_tokenizer)
{
    cr_assert_eq(mkdir("t", 0755), 0);
    put_file("t/vocab.json", "{\"a\": 0, \"b\": 1, \"c\": 6}");
    cr_assert_eq(settle((emb_new_model_opts){.dims = 4, .tokenizer = "t"}), EMB_OK);
    cr_assert(array_is(EMB_NEW_EMBEDDING, "model.embed_tokens.weight", 7, 4, EMB_F32));
    emb_new_model_close(model);
    cr_assert_eq(settle((emb_new_model_opts){.dims = 4, .tokenizer = "t", .row_multiple = 8}),
                 EMB_OK);
    cr_assert_eq(emb_new_model_array(model, EMB_NEW_EMBEDDING)->shape[0], 8);
    emb_new_model_close(model);
    cr_assert_eq(settle((emb_new_model_opts){.rows = 6, .dims = 4, .tokenizer = "t"}), EMB_BAD_ARG);
    cr_assert_str_eq(err.msg, "6 rows are fewer than the tokenizer's 7 ids");
}

/* ------------------------------------------------------------------------------------------------
 * Directories
 */

/* Writes the model with element i of table t = 100 t + i, and closes it. */
static emb_status write_model(const char *path, const emb_write_opts *opts)
{
    emb_writer *writer;
    emb_status status = emb_writer_open_model(ctx, path, model, opts, &writer, &err);
    for (int t = 0; !status && t < EMB_NEW_TENSORS; t++) {
        float values[1000];
        const emb_array *a = emb_new_model_array(model, t);
        if (!a)
            continue;
        for (int i = 0; i < 1000; i++)
            values[i] = (float)(100 * t + i);
        emb_block block = {values, a->shape[0], (uint32_t)a->shape[1], EMB_F32, 0};
        cr_assert_eq(emb_writer_put(writer, &block, NULL, &err), EMB_OK);
        cr_assert_eq(emb_writer_next(writer, &err), EMB_OK);
    }
    if (!status) {
        cr_assert_neq(access(path, F_OK), 0);
        status = emb_writer_commit(writer, &err);
        emb_writer_close(writer);
    }
    return status;
}

static float first_of(const char *url, bool head, const char **tensor)
{
    static char name[100];
    emb_open_opts opts = {.size = sizeof opts, .head = head};
    emb_table *table;
    emb_table_info info;
    uint64_t row = 0;
    float v[100];
    emb_block block = {v, 1, 0, EMB_F32, 0};
    cr_assert_eq(emb_table_open(ctx, url, &opts, &table, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(emb_table_describe(table, &info, &err), EMB_OK);
    block.dims = info.dims;
    cr_assert_eq(emb_table_gather(table, &row, 1, &block, &err), EMB_OK);
    snprintf(name, sizeof name, "%s", info.tensor);
    *tensor = name;
    emb_table_close(table);
    return v[0];
}

Test(new_model, directory_opens_as_a_table)
{
    const char *tensor;
    emb_table *table;
    emb_model_info info;
    cr_assert_eq(mkdir("t", 0755), 0);
    put_file("t/vocab.json", "{\"a\": 0, \"b\": 1, \"c\": 6}");
    put_file("t/x.tiktoken", "YQ== 0\n");
    put_file("t/notes", "not copied");
    cr_assert_eq(
        settle((emb_new_model_opts){.dims = 4, .positions = 6, .untied = true, .tokenizer = "t"}),
        EMB_OK);
    cr_assert_eq(write_model("m", NULL), EMB_OK, "%s", err.msg);
    emb_new_model_close(model);
    cr_assert_eq(entries("m"), 4);
    cr_assert(text_is("m/vocab.json", "{\"a\": 0, \"b\": 1, \"c\": 6}"));
    cr_assert_eq(first_of("m", false, &tensor), 0);
    cr_assert_str_eq(tensor, "transformer.wte.weight");
    cr_assert_eq(first_of("m#transformer.wpe.weight", false, &tensor), 100);
    cr_assert_eq(first_of("m", true, &tensor), 200);
    cr_assert_str_eq(tensor, "lm_head.weight");
    cr_assert_eq(emb_table_open(ctx, "m", NULL, &table, &err), EMB_OK);
    cr_assert_eq(emb_table_model(table, &info, &err), EMB_OK);
    cr_assert_str_eq(info.type, "gpt2");
    cr_assert_eq(info.tied, 0);
    cr_assert_eq(info.params, 7 * 4 + 6 * 4 + 7 * 4);
    uint64_t row;
    cr_assert_eq(emb_table_find(table, (emb_str){"c", 1}, &row, &err), EMB_OK);
    cr_assert_eq(row, 6);
    emb_table_close(table);
}

Test(new_model, like_another)
{
    cr_assert_eq(settle((emb_new_model_opts){.rows = 9, .dims = 3, .positions = 5, .untied = true}),
                 EMB_OK);
    cr_assert_eq(write_model("m", NULL), EMB_OK);
    emb_new_model_close(model);
    put_file("m/config.json",
             "{\"dtype\":\"float32\", \"model_type\" : \"gpt2\",\"x\":{\"dtype\":1}}");
    put_file("m/vocab.txt", "a\nb\n");
    cr_assert_eq(settle((emb_new_model_opts){.like = "m"}), EMB_OK, "%s", err.msg);
    cr_assert(array_is(EMB_NEW_EMBEDDING, "transformer.wte.weight", 9, 3, EMB_F32));
    cr_assert(array_is(EMB_NEW_POSITIONS, "transformer.wpe.weight", 5, 3, EMB_F32));
    cr_assert(array_is(EMB_NEW_HEAD, "lm_head.weight", 9, 3, EMB_F32));
    cr_assert_eq(emb_new_model_params(model), 9 * 3 + 5 * 3 + 9 * 3);
    cr_assert_eq(write_model("n", NULL), EMB_OK);
    emb_new_model_close(model);
    cr_assert_eq(system("cmp m/config.json n/config.json && cmp m/vocab.txt n/vocab.txt && "
                        "cmp m/model.safetensors n/model.safetensors"),
                 0);
    cr_assert_eq(settle((emb_new_model_opts){.like = "m", .dtype = EMB_BF16}), EMB_OK);
    cr_assert(array_is(EMB_NEW_HEAD, "lm_head.weight", 9, 3, EMB_BF16));
    emb_writer *writer;
    cr_assert_eq(emb_writer_open_model(ctx, "b", model, NULL, &writer, &err), EMB_OK);
    emb_new_model_close(model);
    emb_writer_close(writer); /* not complete */
    cr_assert_eq(entries("."), 2);
}

/* --force costs no more than a model. */
Test(new_model, what_force_replaces)
{
    emb_write_opts force = {.size = sizeof force, .force = true};
    cr_assert_eq(settle((emb_new_model_opts){.rows = 9, .dims = 3}), EMB_OK);
    cr_assert_eq(mkdir("m", 0755), 0);
    put_file("m/notes", "mine");
    cr_assert_eq(write_model("m", NULL), EMB_EXISTS);
    cr_assert_eq(write_model("m", &force), EMB_EXISTS);
    cr_assert_not_null(strstr(err.msg, "no model's directory"));
    cr_assert(text_is("m/notes", "mine"));
    cr_assert_eq(rename("m/notes", "m/config.json"), 0);
    cr_assert_eq(mkdir("m/.git", 0755), 0);
    cr_assert_eq(write_model("m", &force), EMB_EXISTS);
    cr_assert_not_null(strstr(err.msg, "folders"));
    cr_assert_eq(rmdir("m/.git"), 0);
    cr_assert_eq(write_model("m", &force), EMB_EXISTS); /* other programs have a config.json too */
    cr_assert_not_null(strstr(err.msg, "no model's directory"));
    cr_assert_eq(rename("m/config.json", "m/notes"), 0);
    put_file("m/config.json", "{}");
    put_file("m/model.safetensors", "");
    emb_writer *writer;
    cr_assert_eq(emb_writer_open_model(ctx, "m", model, &force, &writer, &err), EMB_OK);
    emb_writer_close(writer);
    cr_assert(text_is("m/notes", "mine"));
    cr_assert_eq(entries("."), 1);
    emb_new_model_close(model);
}
