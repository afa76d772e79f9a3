/* tests/unit/test_assemble.c - the input of a model: emb_assembly_*, emb_pool_*, emb_normalize_rows.
 *
 * Expected values are the formulas, written out here on small tables; what transformers gives is
 * held against in tests/data/check_positions.py and tests/peers/check_input_layer.py.
 */
#include "model_dir.h"

#include "emb.h"
#include "model/input_config.h"
#include "model/input_rules.h"

#include <math.h>

enum { V = 6, D = 4, T = 7 };

static emb_ctx *ctx;
static emb_table *table;
static emb_assembly *assembly;

static void begin(void)
{
    emb_err err;
    emb_ctx_opts opts = {.size = sizeof opts, .threads = 2};
    enter_dir();
    cr_assert_eq(emb_ctx_new(&opts, &ctx, &err), EMB_OK);
}

static void end(void)
{
    emb_assembly_close(assembly);
    emb_table_close(table);
    emb_ctx_free(ctx);
    leave_dir();
}

TestSuite(assemble, .init = begin, .fini = end);

static float word[V][D], place[T][D], type[2][D], weight[D], bias[D], wide[3][D], wide_bias[3];

static void fill(float *x, size_t n, float first)
{
    for (size_t i = 0; i < n; i++)
        x[i] = first + 0.37f * (float)(i * i % 11) - 0.11f * (float)i;
}

/* A model m of that config with a token table and the tables of a BERT. */
static void put_bert(const char *config)
{
    fill(&word[0][0], V * D, 0.3f);
    fill(&place[0][0], T * D, -1.2f);
    fill(&type[0][0], 2 * D, 2.5f);
    fill(weight, D, 1.1f);
    fill(bias, D, -0.4f);
    fill(&wide[0][0], 3 * D, 0.7f);
    fill(wide_bias, 3, 5);
    const struct fixture_tensor t[] = {
        {"bert.embeddings.word_embeddings.weight", V, D, 0, &word[0][0]},
        {"bert.embeddings.position_embeddings.weight", T, D, 0, &place[0][0]},
        {"bert.embeddings.token_type_embeddings.weight", 2, D, 0, &type[0][0]},
        {"bert.embeddings.LayerNorm.gamma", D, 0, 0, weight},
        {"bert.embeddings.LayerNorm.beta", D, 0, 0, bias},
    };
    cr_assert_eq(mkdir("m", 0700), 0);
    fixture_weights("m/model.safetensors", t, EMBI_LEN(t));
    fixture_text("m/config.json", config);
}

static emb_status try_open(emb_assembly_opts opts, emb_err *err)
{
    opts.size = sizeof opts;
    emb_assembly_close(assembly);
    emb_table_close(table);
    assembly = NULL;
    cr_assert_eq(emb_table_open(ctx, "m", NULL, &table, err), EMB_OK, "%s", err->msg);
    return emb_assembly_open(ctx, table, &opts, &assembly, err);
}

static void open_it(emb_assembly_opts opts)
{
    emb_err err;
    cr_assert_eq(try_open(opts, &err), EMB_OK, "%s", err.msg);
}

static void refuse(emb_assembly_opts opts, emb_status status, const char *message)
{
    emb_err err;
    cr_expect_eq(try_open(opts, &err), status, "%s", message);
    cr_expect_str_eq(err.msg, message);
}

static const char bert[] =
    "{\"model_type\": \"bert\", \"layer_norm_eps\": 0.01, \"type_vocab_size\": 2}";

Test(assemble, bert)
{
    const uint64_t rows[] = {5, 0, 3, 5}, types[] = {0, 1, 1, 0};
    uint64_t positions[4], next = 2;
    float out[4][D];
    emb_block block = {out, 4, D, EMB_F32, 0};
    emb_err err;
    put_bert(bert);
    open_it((emb_assembly_opts){.input_layer = true, .types = true});
    emb_assembly_count(assembly, rows, 4, true, &next, positions); /* BERT counts padding as well */
    cr_expect_eq(next, 6);
    cr_assert_eq(emb_assembly_rows(assembly, rows, positions, types, 4, &block, &err), EMB_OK, "%s",
                 err.msg);
    for (int i = 0; i < 4; i++) {
        double x[D], mean = 0, m2 = 0;
        for (int c = 0; c < D; c++) {
            x[c] = (double)((word[rows[i]][c] + type[types[i]][c]) + place[2 + i][c]);
            mean += x[c] / D;
        }
        for (int c = 0; c < D; c++)
            m2 += (x[c] - mean) * (x[c] - mean) / D;
        for (int c = 0; c < D; c++)
            cr_expect_float_eq(
                out[i][c], (x[c] - mean) / sqrt(m2 + 0.01) * (double)weight[c] + (double)bias[c],
                1e-6, "%d %d", i, c);
    }
}

/* Steps alone; an f16 result of f32 tables is rounded once, at the end. */
Test(assemble, steps)
{
    const uint64_t rows[] = {1, 2}, positions[] = {6, 0};
    float out[2][D];
    emb_block block = {out, 2, D, EMB_F32, 0};
    emb_err err;
    put_bert(bert);
    open_it((emb_assembly_opts){.positions = EMB_POSITIONS_LEARNED, .scale = 3});
    cr_assert_eq(emb_assembly_rows(assembly, rows, positions, NULL, 2, &block, &err), EMB_OK);
    for (int c = 0; c < D; c++) {
        cr_expect_eq(out[0][c], word[1][c] * 3 + place[6][c]);
        cr_expect_eq(out[1][c], word[2][c] * 3 + place[0][c]);
    }
    open_it((emb_assembly_opts){.scale_root = true});
    cr_expect_not(emb_assembly_describe(assembly)->counts);
    cr_assert_eq(emb_assembly_rows(assembly, rows, NULL, NULL, 2, &block, &err), EMB_OK);
    for (int c = 0; c < D; c++)
        cr_expect_eq(out[0][c], word[1][c] * 2);
    open_it((emb_assembly_opts){.positions = EMB_POSITIONS_SINUSOIDAL});
    cr_assert_eq(emb_assembly_rows(assembly, rows, positions, NULL, 2, &block, &err), EMB_OK);
    for (int c = 0; c < D; c++) {
        double angle = 6 / pow(10000, (c - c % 2) / 4.0);
        cr_expect_eq(out[0][c], word[1][c] + (float)(c % 2 ? cos(angle) : sin(angle)));
    }
}

/* Positions far apart, more than are kept at a time, and in any order. */
Test(assemble, waves_anywhere)
{
    const uint64_t rows[] = {1, 1, 1, 1}, positions[] = {1u << 30, 3, 1u << 30, 4};
    float out[4][D];
    emb_block block = {out, 4, D, EMB_F32, 0};
    emb_err err;
    put_bert(bert);
    open_it((emb_assembly_opts){.positions = EMB_POSITIONS_SINUSOIDAL});
    cr_assert_eq(emb_assembly_rows(assembly, rows, positions, NULL, 4, &block, &err), EMB_OK);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(out[i][0], word[1][0] + (float)sin((double)positions[i]));
}

Test(assemble, outside)
{
    const uint64_t rows[] = {1, 6}, positions[] = {0, 7}, types[] = {0, 2};
    float out[2][D] = {{9}};
    emb_block block = {out, 2, D, EMB_F32, 0};
    emb_err err;
    put_bert(bert);
    open_it((emb_assembly_opts){.input_layer = true, .types = true});
    cr_expect_eq(emb_assembly_describe(assembly)->positions, T);
    cr_expect_eq(emb_assembly_describe(assembly)->types, 2);
    cr_expect_eq(emb_assembly_rows(assembly, rows, positions, NULL, 2, &block, &err), EMB_RANGE);
    cr_expect_str_eq(err.msg, "row 6 is outside 0..5");
    cr_expect_eq(emb_assembly_rows(assembly, types, positions, NULL, 2, &block, &err), EMB_RANGE);
    cr_expect_eq(err.at, 1);
    cr_expect_str_eq(err.msg, "position 7: expected one below 7, for which there are rows in "
                              "bert.embeddings.position_embeddings.weight");
    cr_expect_eq(emb_assembly_rows(assembly, types, types, types, 2, &block, &err), EMB_RANGE);
    cr_expect_str_eq(err.msg, "token type 2 is outside 0..1");
    cr_expect_eq(emb_assembly_rows(assembly, types, NULL, NULL, 2, &block, &err), EMB_BAD_ARG);
    block.dims = 3;
    cr_expect_eq(emb_assembly_rows(assembly, types, types, NULL, 2, &block, &err), EMB_BAD_ARG);
    cr_expect_eq(out[0][0], 9);
}

Test(assemble, refusals)
{
    emb_assembly_opts whole = {.input_layer = true};
    put_bert(bert);
    refuse((emb_assembly_opts){.input_layer = true, .scale = 2}, EMB_BAD_ARG,
           "the input of a model has positions, a scale and a LayerNorm of its own");
    fixture_text("m/config.json", "{\"model_type\": \"megatron-bert\"}");
    refuse(whole, EMB_UNSUPPORTED,
           "what a model of type megatron-bert does before its first block is not known here");
    fixture_text("m/config.json",
                 "{\"model_type\": \"bert\", \"position_embedding_type\": \"relative_key\"}");
    refuse(whole, EMB_UNSUPPORTED, "config.json: position_embedding_type is another than absolute");
    fixture_text("m/config.json", "{\"model_type\": \"bert\", \"layer_norm_eps\": \"x\"}");
    refuse(whole, EMB_BAD_DATA,
           "config.json: layer_norm_eps: expected a number, 0 or more, found \"x\"");
    fixture_text("m/config.json", "{\"model_type\": \"albert\", \"hidden_size\": 8}");
    refuse(
        whole, EMB_UNSUPPORTED,
        "albert: expected a tensor albert.encoder.embedding_hidden_mapping_in.weight, found none");
    fixture_text("m/config.json", "{\"model_type\": \"llama\"}");
    refuse((emb_assembly_opts){.positions = EMB_POSITIONS_LEARNED}, EMB_UNSUPPORTED,
           "a table of learned positions: a model of type llama has none that is known");
    refuse((emb_assembly_opts){.layer_norm = true}, EMB_UNSUPPORTED,
           "a LayerNorm of the input: a model of type llama has none that is known");
    refuse((emb_assembly_opts){.types = true}, EMB_UNSUPPORTED,
           "a table of token types: a model of type llama has none that is known");
    open_it((emb_assembly_opts){.positions = EMB_POSITIONS_AUTO});
    cr_expect_str_eq(emb_assembly_describe(assembly)->attention, "rotary");
    refuse((emb_assembly_opts){.scale = NAN}, EMB_BAD_ARG, "a scale of nan");
    refuse((emb_assembly_opts){.scale = 1e200}, EMB_BAD_ARG, "a factor of 1e+200 is none in f32");
}

/* A projection before, or behind, the norm; with more rows than go to it together. */
Test(assemble, projection)
{
    enum { N = 150 };
    uint64_t rows[N], positions[N];
    static float out[N][3];
    emb_block block = {out, N, 3, EMB_F32, 0};
    emb_err err;
    put_bert(bert);
    const struct fixture_tensor t[] = {
        {"decoder.embed_tokens.weight", V, D, 0, &word[0][0]},
        {"decoder.embed_positions.weight", 9, 3, 0, &place[0][0]},
        {"decoder.project_in.weight", 3, D, 0, &wide[0][0]},
        {"decoder.project_in.bias", 3, 0, 0, wide_bias},
    };
    fixture_weights("m/model.safetensors", t, EMBI_LEN(t));
    fixture_text("m/config.json", "{\"model_type\": \"opt\", \"hidden_size\": 3}");
    open_it((emb_assembly_opts){.input_layer = true});
    cr_expect_eq(emb_assembly_describe(assembly)->dims, 3);
    cr_expect_eq(emb_assembly_describe(assembly)->positions, 7);
    for (uint64_t i = 0; i < N; i++) {
        rows[i] = i * 5 % V;
        positions[i] = i % 8 < 7 ? i % 8 : EMB_POSITION_PADDING;
    }
    cr_assert_eq(emb_assembly_rows(assembly, rows, positions, NULL, N, &block, &err), EMB_OK, "%s",
                 err.msg);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            for (int c = 0; c < D; c++)
                sum += (double)word[rows[i]][c] * (double)wide[k][c];
            int row = i % 8 < 7 ? i % 8 + 2 : 1;
            cr_expect_eq(out[i][k],
                         (float)(sum + (double)wide_bias[k]) + (&place[0][0])[row * 3 + k], "%d %d",
                         i, k);
        }
}

Test(assemble, padding)
{
    const uint64_t rows[] = {1, 4, 1, 2};
    uint64_t positions[4], next = 0;
    put_bert(bert);
    const struct fixture_tensor t[] = {
        {"roberta.embeddings.word_embeddings.weight", V, D, 0, &word[0][0]},
        {"roberta.embeddings.position_embeddings.weight", T, D, 0, &place[0][0]},
        {"roberta.embeddings.token_type_embeddings.weight", 1, D, 0, &type[0][0]},
        {"roberta.embeddings.LayerNorm.weight", D, 0, 0, weight},
        {"roberta.embeddings.LayerNorm.bias", D, 0, 0, bias},
    };
    fixture_weights("m/model.safetensors", t, EMBI_LEN(t));
    fixture_text("m/config.json", "{\"model_type\": \"roberta\", \"pad_token_id\": 1}");
    open_it((emb_assembly_opts){.positions = EMB_POSITIONS_AUTO});
    cr_expect_eq(emb_assembly_describe(assembly)->positions, T - 2);
    emb_assembly_count(assembly, rows, 4, true, &next, positions);
    cr_expect_eq(positions[0], EMB_POSITION_PADDING);
    cr_expect_eq(positions[1], 0);
    cr_expect_eq(positions[2], EMB_POSITION_PADDING);
    cr_expect_eq(positions[3], 1);
}

/* ------------------------------------------------------------------------------------------------
 * Configs and rules
 */

Test(assemble, config_of_the_text_model_wins)
{
    static const char text[] =
        "{\"scale_embedding\": true, \"layer_norm_eps\": 1e-5, \"text_config\": "
        "{\"model_type\": \"x\", \"layer_norm_eps\": 1e-6, \"alibi\": null}}";
    struct embi_input_config c;
    emb_err err;
    cr_assert_eq(embi_input_config_parse(text, sizeof text - 1, &c, &err), EMB_OK);
    cr_expect_eq(c.scale_embedding, EMBI_YES);
    cr_expect_eq(c.alibi, EMBI_UNSAID);
    cr_expect_eq(c.eps, 1e-6);
    cr_expect_eq(c.hidden_size, 0);
}

/* A model type in two rules would be a contradiction. */
Test(assemble, a_rule_for_each_type)
{
    static const char *const types[] = {"gpt2", "bert", "llama", "gemma3_text", "opt", "marian"};
    struct embi_config config = {.found = true};
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        (void)snprintf(config.type, sizeof config.type, "%s", types[i]);
        const struct embi_input_rule *rule = embi_input_rule_of(&config);
        cr_assert_not_null(rule, "%s", types[i]);
    }
    (void)snprintf(config.type, sizeof config.type, "llava");
    (void)snprintf(config.text_type, sizeof config.text_type, "llama");
    cr_expect_not_null(embi_input_rule_of(&config));
    config.text_type[0] = 0;
    cr_expect_null(embi_input_rule_of(&config));
}

/* ------------------------------------------------------------------------------------------------
 * Pooling
 */

Test(assemble, pooling)
{
    float x[3][2] = {{1, -2}, {4, 8}, {-3, 0.5f}};
    const double weights[] = {2, 0.5, -1};
    const struct {
        emb_pooling how;
        const double *weights;
        double want[2];
    } cases[] = {
        {EMB_POOL_MEAN, NULL, {2.0 / 3, 6.5 / 3}},
        {EMB_POOL_SUM, NULL, {2, 6.5}},
        {EMB_POOL_MEAN, weights, {7.0 / 3, -0.5 / 3}},
        {EMB_POOL_SUM, weights, {7, -0.5}},
        {EMB_POOL_MAX, NULL, {4, 8}},
        {EMB_POOL_FIRST, NULL, {1, -2}},
        {EMB_POOL_LAST, NULL, {-3, 0.5}},
    };
    emb_err err;
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        double sum[2] = {NAN, NAN};
        uint64_t count = 0;
        emb_block first = {x, 1, 2, EMB_F32, 0}, rest = {x[1], 2, 2, EMB_F32, 0};
        const double *w = cases[i].weights;
        cr_assert_eq(emb_pool_add(ctx, cases[i].how, &first, w, sum, &count, &err), EMB_OK);
        cr_assert_eq(emb_pool_add(ctx, cases[i].how, &rest, w ? w + 1 : NULL, sum, &count, &err),
                     EMB_OK);
        cr_expect_eq(count, 3);
        emb_pool_end(cases[i].how, sum, 2, count);
        cr_expect_eq(sum[0], cases[i].want[0], "%zu", i);
        cr_expect_eq(sum[1], cases[i].want[1], "%zu", i);
        emb_pool_end(cases[i].how, sum, 2, 0);
        cr_expect_eq(sum[0], 0);
    }
}

Test(assemble, unit_rows)
{
    float x[4][2] = {{3, -4}, {0, 0}, {1, INFINITY}, {1e-30f, 0}}, y[4][2];
    uint16_t z[4][2];
    uint64_t zero = 0, odd = 0;
    emb_block src = {x, 4, 2, EMB_F32, 0}, dst = {y, 4, 2, EMB_F32, 0},
              half = {z, 4, 2, EMB_F16, 0};
    emb_err err;
    cr_assert_eq(emb_normalize_rows(ctx, &src, &dst, &zero, &odd, &err), EMB_OK);
    cr_expect_eq(y[0][0], 0.6f);
    cr_expect_eq(y[0][1], -0.8f);
    cr_expect_eq(y[1][0], 0);
    cr_expect_eq(y[2][0], 1);
    cr_expect_eq(y[3][0], 1);
    cr_assert_eq(emb_normalize_rows(ctx, &src, &half, &zero, &odd, &err), EMB_OK);
    cr_expect_eq(z[0][0], 0x38CD); /* 0.6 in f16 */
    cr_expect_eq(zero, 2);
    cr_expect_eq(odd, 2);
    src.dtype = EMB_I32;
    cr_expect_eq(emb_normalize_rows(ctx, &src, &dst, &zero, &odd, &err), EMB_BAD_ARG);
}
