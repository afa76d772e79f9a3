/* tests/unit/test_rope_config.c - what a config.json says of rotary positions
 * (docs/commands/position.md, "From a model").
 */
#include <criterion/criterion.h>

#include "model/rope_config.h"

#include <string.h>

static const struct config_case {
    const char *text;
    double base, head_dims, rotary_dims, partial;
    emb_rope_style style;
    enum embi_rope_type type;
    double factor, original;
} cases[] = {
    {"{\"model_type\":\"llama\",\"hidden_size\":64,\"num_attention_heads\":4}", 10000, 16, 0, 0,
     EMB_ROPE_NEOX, EMBI_ROPE_DEFAULT, 0, 0},
    {"{\"model_type\":\"llama\",\"head_dim\":32,\"hidden_size\":64,\"num_attention_heads\":4,"
     "\"rope_theta\":5e5,\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.0,\"other\":[1]}}",
     5e5, 32, 0, 0, EMB_ROPE_NEOX, EMBI_ROPE_LINEAR, 2, 0},
    {"{\"model_type\":\"new\",\"head_dim\":32,\"rope_parameters\":{\"rope_theta\":7,\"rope_type\":"
     "\"yarn\",\"factor\":4,\"partial_rotary_factor\":0.5,"
     "\"original_max_position_embeddings\":8}}",
     7, 32, 0, 0.5, EMB_ROPE_NEOX, EMBI_ROPE_YARN, 4, 8},
    {"{\"model_type\":\"gptj\",\"n_embd\":64,\"n_head\":4,\"rotary_dim\":8}", 10000, 16, 8, 0,
     EMB_ROPE_GPTJ, EMBI_ROPE_DEFAULT, 0, 0},
    {"{\"model_type\":\"gptj\",\"n_embd\":64,\"n_head\":4,\"rotary_dim\":null}", 10000, 16, 0, 0,
     EMB_ROPE_GPTJ, EMBI_ROPE_DEFAULT, 0, 0},
    {"{\"model_type\":\"gpt_neox\",\"hidden_size\":64,\"num_attention_heads\":4}", 10000, 16, 0,
     0.25, EMB_ROPE_NEOX, EMBI_ROPE_DEFAULT, 0, 0},
    {"{\"model_type\":\"gpt_neox\",\"hidden_size\":64,\"num_attention_heads\":4,\"rotary_pct\":1,"
     "\"rotary_emb_base\":300}",
     300, 16, 0, 1, EMB_ROPE_NEOX, EMBI_ROPE_DEFAULT, 0, 0},
    {"{\"model_type\":\"phi3\",\"head_dim\":4,\"original_max_position_embeddings\":9,"
     "\"rope_scaling\":{\"type\":\"su\",\"short_factor\":[1,2],\"long_factor\":[3,4],"
     "\"original_max_position_embeddings\":10}}",
     10000, 4, 0, 0, EMB_ROPE_NEOX, EMBI_ROPE_LONGROPE, 0, 9},
    {"{\"model_type\":\"deepseek_v3\",\"head_dim\":128,\"qk_rope_head_dim\":64}", 10000, 64, 0, 0,
     EMB_ROPE_GPTJ, EMBI_ROPE_DEFAULT, 0, 0},
    {"{\"model_type\":\"llava\",\"rope_theta\":1,\"vision_config\":{\"head_dim\":3},\"text_"
     "config\":"
     "{\"model_type\":\"llama\",\"rope_theta\":2,\"head_dim\":8,\"rope_scaling\":null}}",
     2, 8, 0, 0, EMB_ROPE_NEOX, EMBI_ROPE_DEFAULT, 0, 0},
    {"{\"head_dim\":8,\"rope_scaling\":{\"rope_type\":\"mrope\",\"mrope_section\":[1,1,2]}}", 0, 8,
     0, 0, EMB_ROPE_NEOX, EMBI_ROPE_DEFAULT, 0, 0},
};

Test(rope_config, keys)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct config_case *c = &cases[i];
        struct embi_rope_config got;
        emb_err err;
        cr_expect_eq(embi_rope_config_parse(c->text, strlen(c->text), &got, &err), EMB_OK,
                     "case %zu: %s", i, err.msg);
        cr_expect_eq(got.base, c->base, "case %zu: base %g", i, got.base);
        cr_expect_eq(got.head_dims, c->head_dims, "case %zu: head %g", i, got.head_dims);
        cr_expect_eq(got.rotary_dims, c->rotary_dims, "case %zu: rotary %g", i, got.rotary_dims);
        cr_expect_eq(got.partial, c->partial, "case %zu: part %g", i, got.partial);
        cr_expect_eq(got.style, c->style, "case %zu: style", i);
        cr_expect_eq(got.scaling.type, c->type, "case %zu: type", i);
        cr_expect_eq(got.scaling.factor, c->factor, "case %zu: factor", i);
        cr_expect_eq(got.scaling.original_positions, c->original, "case %zu: original", i);
        embi_rope_scaling_free(&got.scaling);
    }
}

Test(rope_config, lists)
{
    static const char text[] = "{\"model_type\":\"phi3\",\"head_dim\":4,\"rope_scaling\":{\"type\":"
                               "\"longrope\",\"short_factor\":[1, 2.5],\"long_factor\":[]}}";
    struct embi_rope_config got;
    emb_err err;
    cr_assert_eq(embi_rope_config_parse(text, sizeof text - 1, &got, &err), EMB_OK);
    cr_expect_eq(got.scaling.short_factor.n, 2);
    cr_expect_eq(got.scaling.short_factor.v[0], 1);
    cr_expect_eq(got.scaling.short_factor.v[1], 2.5);
    cr_expect_eq(got.scaling.long_factor.n, 0);
    embi_rope_scaling_free(&got.scaling);
}

Test(rope_config, refusals)
{
    static const struct {
        const char *text;
        emb_status status;
        const char *word;
    } wrong[] = {
        {"", EMB_BAD_DATA, "expected"},
        {"[]", EMB_BAD_DATA, "an object"},
        {"{\"rope_theta\":1", EMB_BAD_DATA, "expected"},
        {"{}", EMB_UNSUPPORTED, "nothing is said of rotary positions (model type unknown)"},
        {"{\"model_type\":\"bert\",\"hidden_size\":8}", EMB_UNSUPPORTED, "model type bert"},
        {"{\"model_type\":\" llama\"}", EMB_UNSUPPORTED, "nothing is said"},
        {"{\"rope_theta\":\"10000\"}", EMB_BAD_DATA, "rope_theta: expected a number"},
        {"{\"rope_theta\":-1}", EMB_BAD_DATA, "rope_theta: expected a number"},
        {"{\"rope_theta\":NaN}", EMB_BAD_DATA, "rope_theta: expected a number"},
        {"{\"rope_theta\":1e999}", EMB_BAD_DATA, "rope_theta: expected a number"},
        {"{\"rope_scaling\":4}", EMB_BAD_DATA, "rope_scaling: expected an object or null"},
        {"{\"rope_scaling\":{\"factor\":[]}}", EMB_BAD_DATA, "rope_scaling: factor: expected"},
        {"{\"rope_scaling\":{\"short_factor\":[1,[]]}}", EMB_BAD_DATA, "short_factor: expected"},
        {"{\"rope_scaling\":{\"truncate\":\"no\"}}", EMB_BAD_DATA, "truncate: expected true"},
        {"{\"rope_scaling\":{\"rope_type\":\"proportional\"}}", EMB_UNSUPPORTED, "proportional"},
        {"{\"rope_scaling\":{\"rope_type\":4}}", EMB_UNSUPPORTED, "rope_type"},
        {"{\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1}}}", EMB_UNSUPPORTED,
         "layers turn differently (full_attention"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct embi_rope_config got;
        emb_err err;
        cr_expect_eq(embi_rope_config_parse(wrong[i].text, strlen(wrong[i].text), &got, &err),
                     wrong[i].status, "case %zu", i);
        cr_expect(strstr(err.msg, wrong[i].word), "case %zu: %s", i, err.msg);
        embi_rope_scaling_free(&got.scaling);
    }
}
