/* test_architectures.c - the names of tables, as published checkpoints have them. Names are from the
 * indexes of the models that the comments of formats/model.md list.
 */
#include <criterion/criterion.h>

#include "model/architectures.h"

static const struct embi_architecture *of(const char *type)
{
    struct embi_config c = {.tied = -1};
    strcpy(c.type, type);
    return embi_architecture_of(&c);
}

static enum embi_name_match input_match(const char *type, const char *tensor)
{
    const struct embi_architecture *a = of(type);
    cr_assert_not_null(a, "%s", type);
    return embi_name_match((emb_str){tensor, strlen(tensor)}, a->input[0]);
}

Test(architectures, names)
{
    static const struct {
        const char *type, *tensor;
        enum embi_name_match match;
    } cases[] = {
        {"gpt2", "transformer.wte.weight", EMBI_NAME_SURE},
        {"gpt2", "wte.weight", EMBI_NAME_SURE},
        {"gpt2", "_orig_mod.transformer.wte.weight", EMBI_NAME_SURE},
        {"gpt2", "module.module.wte.weight", EMBI_NAME_SURE},
        {"gpt2", "transformer.wpe.weight", EMBI_NAME_OTHER},
        {"gpt2", "transformer.twte.weight", EMBI_NAME_OTHER},
        {"llama", "model.embed_tokens.weight", EMBI_NAME_SURE},
        {"llama", "base_model.model.model.embed_tokens.modules_to_save.default.weight",
         EMBI_NAME_SURE},
        {"llama", "model._fsdp_wrapped_module.embed_tokens.weight", EMBI_NAME_SURE},
        {"llama", "language_model.model.embed_tokens.weight", EMBI_NAME_INSIDE},
        {"llama", "model.embed_tokens_per_layer.weight", EMBI_NAME_OTHER},
        {"llama", "model.embed_tokens.weight_scale", EMBI_NAME_OTHER},
        {"ctrl", "w.weight", EMBI_NAME_SURE},
        {"bert", "embeddings.word_embeddings.weight", EMBI_NAME_SURE},
        {"ernie", "ernie.embeddings.word_embeddings.weight", EMBI_NAME_INSIDE},
        {"bert", "bert.embeddings.position_embeddings.weight", EMBI_NAME_OTHER},
        {"t5", "shared.weight", EMBI_NAME_SURE},
        {"t5", "weight", EMBI_NAME_OTHER},
        {"xlm-roberta", "roberta.embeddings.word_embeddings.weight", EMBI_NAME_SURE},
        {"opt", "decoder.embed_tokens.weight", EMBI_NAME_SURE},
        {"gpt_neox", "embed_in.weight", EMBI_NAME_SURE},
        {"llama", "", EMBI_NAME_OTHER},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++)
        cr_assert_eq(input_match(cases[i].type, cases[i].tensor), cases[i].match, "%s: %s",
                     cases[i].type, cases[i].tensor);
}

Test(architectures, a_long_name_is_none)
{
    char name[600];
    memset(name, 'a', sizeof name);
    strcpy(name + sizeof name - 12, ".wte.weight");
    cr_assert_eq(input_match("gpt2", name), EMBI_NAME_OTHER);
}

Test(architectures, types)
{
    struct embi_config c = {.tied = -1, .type = "llava", .text_type = "llama"};
    cr_assert_eq(embi_architecture_of(&c), of("llama"));
    cr_assert_neq(of("t5"), of("bart"));
    cr_assert_null(of(""));
    cr_assert_null(of("llam"));
    cr_assert_null(of("gpt2 gpt_bigcode"));
    cr_assert_null(of("nobody_knows"));
}
