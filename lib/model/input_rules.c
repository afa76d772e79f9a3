/* input_rules.c - the rules themselves: data. What is said of a model type follows its model source
 * in Hugging Face transformers, where the encoder's input is meant of a model that has two.
 *
 * A type is only listed where all that it does is known: what is not listed is refused by name.
 */
#include "model/input_rules.h"

#include "model/architectures.h"

#define TYPE     EMBI_STEP_TYPE
#define POSITION EMBI_STEP_POSITION
#define NORM     EMBI_STEP_NORM
#define PROJECT  EMBI_STEP_PROJECT

/* The tables of a BERT behind the name of its kind. */
#define BERT_TABLES(name)                                           \
    .positions = name ".embeddings.position_embeddings.weight",     \
    .token_types = name ".embeddings.token_type_embeddings.weight", \
    .norm = name ".embeddings.LayerNorm", .eps = 1e-12
#define ENCODER_TABLES                                   \
    .positions = "model.encoder.embed_positions.weight", \
    .norm = "model.encoder.layernorm_embedding", .eps = 1e-5

static const struct embi_input_rule rules[] = {
    /* Nothing is added: positions live in attention, or nowhere. */
    {.types = " llama llama4 llama4_text mistral mixtral ministral qwen qwen2 qwen2_moe qwen3 "
              "qwen3_moe qwen3_next phi phi3 phimoe cohere cohere2 olmo olmo2 olmo3 olmoe "
              "starcoder2 stablelm deepseek deepseek_v2 deepseek_v3 glm glm4 glm4_moe smollm3 "
              "gpt_oss persimmon bitnet nemotron arcee ernie4_5 exaone4 seed_oss qwen2_vl "
              "qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3_vl qwen3_vl_text helium diffllama "
              "minimax hunyuan_v1_dense dots1 apertus mllama_text_model internlm2 gptj codegen "
              "gpt_neox gpt_neox_japanese dbrx falcon RefinedWeb RefinedWebModel ",
     .kind = EMBI_POS_ROTARY},
    {.types = " t5 mt5 umt5 longt5 byt5 switch_transformers mpt xlnet ", .kind = EMBI_POS_RELATIVE},
    {.types = " mamba mamba2 falcon_mamba jamba ", .kind = EMBI_POS_NONE},

    /* A factor alone. */
    {.types = " gemma gemma2 gemma3 gemma3_text ",
     .scale = EMBI_SCALE_ROOT_ROUNDED,
     .kind = EMBI_POS_ROTARY},
    {.types = " granite granitemoe granitemoeshared ",
     .scale = EMBI_SCALE_MULTIPLIER,
     .kind = EMBI_POS_ROTARY},

    /* A row for each position. */
    {.types = " gpt2 gpt_bigcode gpt_neo ",
     .kind = EMBI_POS_LEARNED,
     .steps = {POSITION},
     .positions = "transformer.wpe.weight"},
    {.types = " openai-gpt ",
     .kind = EMBI_POS_LEARNED,
     .steps = {POSITION},
     .positions = "transformer.positions_embed.weight"},
    {.types = " opt ",
     .kind = EMBI_POS_LEARNED,
     .padding = EMBI_PAD_MASK,
     .offset = 2,
     .steps = {PROJECT, POSITION},
     .positions = "model.decoder.embed_positions.weight",
     .project = "model.decoder.project_in"},
    {.types = " biogpt ",
     .scale = EMBI_SCALE_ROOT_ON,
     .kind = EMBI_POS_LEARNED,
     .padding = EMBI_PAD_MASK,
     .offset = 2,
     .steps = {POSITION},
     .positions = "biogpt.embed_positions.weight"},
    {.types = " clip clip_text_model siglip siglip_text_model ",
     .kind = EMBI_POS_LEARNED,
     .steps = {POSITION},
     .positions = "text_model.embeddings.position_embedding.weight"},

    /* BERT and what came of it. */
    {.types = " bert ",
     .kind = EMBI_POS_LEARNED,
     .steps = {TYPE, POSITION, NORM},
     BERT_TABLES("bert")},
    {.types = " roberta xlm-roberta camembert ",
     .kind = EMBI_POS_LEARNED,
     .padding = EMBI_PAD_ID,
     .steps = {TYPE, POSITION, NORM},
     BERT_TABLES("roberta")},
    {.types = " longformer ",
     .kind = EMBI_POS_LEARNED,
     .padding = EMBI_PAD_ID,
     .steps = {POSITION, TYPE, NORM},
     BERT_TABLES("longformer")},
    {.types = " mpnet ",
     .kind = EMBI_POS_LEARNED,
     .padding = EMBI_PAD_ID,
     .steps = {POSITION, NORM},
     .positions = "mpnet.embeddings.position_embeddings.weight",
     .norm = "mpnet.embeddings.LayerNorm",
     .eps = 1e-12},
    {.types = " distilbert ",
     .kind = EMBI_POS_LEARNED,
     .steps = {POSITION, NORM},
     .positions = "distilbert.embeddings.position_embeddings.weight",
     .norm = "distilbert.embeddings.LayerNorm",
     .eps = 1e-12},
    {.types = " electra ",
     .kind = EMBI_POS_LEARNED,
     .steps = {TYPE, POSITION, NORM, PROJECT},
     BERT_TABLES("electra"),
     .project = "electra.embeddings_project"},
    {.types = " convbert ",
     .kind = EMBI_POS_LEARNED,
     .steps = {POSITION, TYPE, NORM, PROJECT},
     BERT_TABLES("convbert"),
     .project = "convbert.embeddings_project"},
    {.types = " albert ",
     .kind = EMBI_POS_LEARNED,
     .steps = {TYPE, POSITION, NORM, PROJECT},
     BERT_TABLES("albert"),
     .project = "albert.encoder.embedding_hidden_mapping_in"},
    {.types = " deberta deberta-v2 ",
     .kind = EMBI_POS_LEARNED,
     .steps = {POSITION, TYPE, PROJECT, NORM},
     .positions = "deberta.embeddings.position_embeddings.weight",
     .token_types = "deberta.embeddings.token_type_embeddings.weight",
     .norm = "deberta.embeddings.LayerNorm",
     .project = "deberta.embeddings.embed_proj",
     .eps = 1e-7},
    {.types = " roformer ",
     .kind = EMBI_POS_ROTARY,
     .steps = {TYPE, NORM, PROJECT},
     .token_types = "roformer.embeddings.token_type_embeddings.weight",
     .norm = "roformer.embeddings.LayerNorm",
     .project = "roformer.embeddings_project",
     .eps = 1e-12},
    {.types = " modernbert modernbert-decoder ",
     .kind = EMBI_POS_ROTARY,
     .steps = {NORM},
     .norm = "model.embeddings.norm",
     .eps = 1e-5},
    {.types = " bloom ",
     .kind = EMBI_POS_RELATIVE,
     .steps = {NORM},
     .norm = "transformer.word_embeddings_layernorm",
     .eps = 1e-5},

    /* Encoders of translators. */
    {.types = " bart mbart ",
     .scale = EMBI_SCALE_ROOT_OFF,
     .kind = EMBI_POS_LEARNED,
     .offset = 2,
     .steps = {POSITION, NORM},
     ENCODER_TABLES},
    {.types = " plbart ",
     .scale = EMBI_SCALE_ROOT_ON,
     .kind = EMBI_POS_LEARNED,
     .offset = 2,
     .steps = {POSITION, NORM},
     ENCODER_TABLES},
    {.types = " blenderbot-small ",
     .scale = EMBI_SCALE_ROOT_OFF,
     .kind = EMBI_POS_LEARNED,
     .steps = {POSITION, NORM},
     ENCODER_TABLES},
    {.types = " blenderbot ",
     .scale = EMBI_SCALE_ROOT_OFF,
     .kind = EMBI_POS_LEARNED,
     .steps = {POSITION},
     .positions = "model.encoder.embed_positions.weight"},
    {.types = " marian pegasus ",
     .scale = EMBI_SCALE_ROOT_OFF,
     .kind = EMBI_POS_HALVES,
     .steps = {POSITION}},
    {.types = " m2m_100 nllb-moe ",
     .scale = EMBI_SCALE_ROOT_ON,
     .kind = EMBI_POS_TENSOR2TENSOR,
     .padding = EMBI_PAD_ID,
     .steps = {POSITION}},
    {.types = " xglm ",
     .scale = EMBI_SCALE_ROOT_ON,
     .kind = EMBI_POS_TENSOR2TENSOR,
     .offset = 2,
     .steps = {POSITION}},
};

static const struct embi_input_rule *find(const char *type)
{
    for (size_t i = 0; i < EMBI_LEN(rules); i++)
        if (embi_type_listed(rules[i].types, type))
            return &rules[i];
    return NULL;
}

const struct embi_input_rule *embi_input_rule_of(const struct embi_config *config)
{
    const struct embi_input_rule *outer = config->gguf ? NULL : find(config->type);
    return outer || config->gguf ? outer : find(config->text_type);
}
