/* tests/unit/test_head_scale.c - what models do with their logits, by type and config.json
 * (docs/commands/logits.md, "As the model"). Factors are those of the model sources.
 */
#include <criterion/criterion.h>

#include "model/head_scale.h"

#include <string.h>

enum { D = 64 };

static const struct scale_case {
    const char *text;
    double hidden, scale, cap;
} cases[] = {
    {"{\"model_type\":\"llama\",\"logit_scale\":3,\"final_logit_softcapping\":30.0}", 1, 1, 0},
    {"{\"model_type\":\"gemma2\"}", 1, 1, 30},
    {"{\"model_type\":\"gemma2\",\"final_logit_softcapping\":12.5}", 1, 1, 12.5},
    {"{\"model_type\":\"gemma2\",\"final_logit_softcapping\":null}", 1, 1, 0},
    {"{\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"gemma3_text\"}}", 1, 1, 0},
    {"{\"model_type\":\"gemma3\",\"text_config\":{\"final_logit_softcapping\":9}}", 1, 1, 9},
    {"{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"gemma2\"}}", 1, 1, 30},
    {"{\"model_type\":\"recurrent_gemma\"}", 1, 1, 30},
    {"{\"model_type\":\"nanochat\"}", 1, 1, 15},
    {"{\"model_type\":\"cohere\"}", 1, 0.0625, 0},
    {"{\"model_type\":\"cohere2\",\"logit_scale\":0.25}", 1, 0.25, 0},
    {"{\"model_type\":\"granite\"}", 1, 1, 0},
    {"{\"model_type\":\"granitemoe\",\"logits_scaling\":8.0}", 1, 0.125, 0},
    {"{\"model_type\":\"falcon_h1\",\"lm_head_multiplier\":0.5}", 1, 0.5, 0},
    {"{\"model_type\":\"mpt\"}", 1, 1, 0},
    {"{\"model_type\":\"mpt\",\"logit_scale\":\"inv_sqrt_d_model\"}", 1, 0.125, 0},
    {"{\"model_type\":\"minicpm3\"}", 4, 1, 0},
    {"{\"model_type\":\"minicpm3\",\"dim_model_base\":16}", 0.25, 1, 0},
    {"{\"model_type\":\"t5\"}", 0.125, 1, 0},
    {"{\"model_type\":\"t5\",\"tie_word_embeddings\":true}", 0.125, 1, 0},
    {"{\"model_type\":\"t5\",\"tie_word_embeddings\":false}", 1, 1, 0},
    {"{\"model_type\":\"t5\",\"scale_decoder_outputs\":false,\"tie_word_embeddings\":true}", 1, 1,
     0},
    {"{\"model_type\":\"umt5\",\"scale_decoder_outputs\":true,\"tie_word_embeddings\":false}",
     0.125, 1, 0},
    {"{\"model_type\":\"switch_transformers\",\"tie_word_embeddings\":false}", 1, 1, 0},
    {"{\"model_type\":\"mt5\",\"tie_word_embeddings\":true}", 1, 1, 0},
};

static emb_status parse(const char *text, struct embi_head_scale *scale, emb_err *err)
{
    struct embi_config config;
    cr_assert_eq(embi_config_parse(text, strlen(text), &config, err), EMB_OK, "%s: %s", text,
                 err->msg);
    return embi_head_scale_parse(text, strlen(text), &config, D, scale, err);
}

Test(head_scale, rules)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct scale_case *c = &cases[i];
        struct embi_head_scale got;
        emb_err err;
        cr_assert_eq(parse(c->text, &got, &err), EMB_OK, "%s: %s", c->text, err.msg);
        cr_assert(got.hidden == c->hidden && got.scale == c->scale && got.cap == c->cap,
                  "%s: %g %g %g", c->text, got.hidden, got.scale, got.cap);
    }
}

static const struct {
    const char *text, *message;
    emb_status status;
} refusals[] = {
    {"{\"model_type\":\"grok\"}", "what a model of type grok does with its logits is not known",
     EMB_UNSUPPORTED},
    {"{\"model_type\":\"\\nt6\"}", "what a model of type \\nt6 does with its logits is not known",
     EMB_UNSUPPORTED},
    {"{}", "what a model of type unknown does with its logits is not known", EMB_UNSUPPORTED},
    {"{\"model_type\":\"gemma2\",\"final_logit_softcapping\":0}",
     "final_logit_softcapping: expected a number above 0, found 0", EMB_BAD_DATA},
    {"{\"model_type\":\"gemma2\",\"final_logit_softcapping\":\"30\"}",
     "final_logit_softcapping: expected a number above 0, found \"30\"", EMB_BAD_DATA},
    {"{\"model_type\":\"cohere\",\"logit_scale\":NaN}",
     "logit_scale: expected a number above 0, found NaN", EMB_BAD_DATA},
    {"{\"model_type\":\"granite\",\"logits_scaling\":-2}",
     "logits_scaling: expected a number above 0, found -2", EMB_BAD_DATA},
    {"{\"model_type\":\"granite\",\"logits_scaling\":5e-324}",
     "logits_scaling: expected a number above 0, found 5e-324", EMB_BAD_DATA},
    {"{\"model_type\":\"t5\",\"scale_decoder_outputs\":1}",
     "scale_decoder_outputs: expected true or false, found 1", EMB_BAD_DATA},
};

Test(head_scale, refusals)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct embi_head_scale got;
        emb_err err;
        cr_assert_eq(parse(refusals[i].text, &got, &err), refusals[i].status, "%s",
                     refusals[i].text);
        cr_assert_str_eq(err.msg, refusals[i].message);
    }
}
