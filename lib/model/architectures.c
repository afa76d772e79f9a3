/* architectures.c - the table of architectures: data, and how a name is compared with it.
 *
 * Names follow the model sources of Hugging Face transformers, the releases of GPT-2, Llama, RWKV,
 * Mamba and ChatGLM, and the libraries of static embeddings (docs/formats/model.md).
 */
#include "model/architectures.h"

static const struct embi_architecture architectures[] = {
    {" gpt2 gpt_bigcode gpt_neo gptj codegen mpt dbrx qwen imagegpt decision_transformer ",
     {"transformer.wte.weight"},
     {"lm_head.weight"}},
    {" openai-gpt ", {"transformer.tokens_embed.weight"}, {"lm_head.weight"}},
    {" ctrl ", {"transformer.w.weight"}, {"lm_head.weight"}},
    {" llama llama4 llama4_text mistral mixtral ministral qwen2 qwen2_moe qwen3 qwen3_moe "
     "qwen3_next "
     "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text phi phi3 phimoe cohere cohere2 olmo "
     "olmo2 olmo3 olmoe starcoder2 stablelm deepseek deepseek_v2 deepseek_v3 glm glm4 glm4_moe "
     "granite granitemoe smollm3 gpt_oss jamba bamba persimmon bitnet nemotron arcee ernie4_5 "
     "falcon_h1 exaone4 seed_oss minicpm xverse aquila baichuan qwen2_vl qwen2_vl_text qwen2_5_vl "
     "qwen2_5_vl_text qwen3_vl qwen3_vl_text helium diffllama zamba2 lfm2 minimax hunyuan_v1_dense "
     "dots1 apertus xglm mllama mllama_text_model ",
     {"model.embed_tokens.weight"},
     {"lm_head.weight"}},
    {" internlm2 ", {"model.tok_embeddings.weight"}, {"output.weight"}},
    {" bert ernie big_bird megatron-bert nezha bert-generation roformer mobilebert convbert "
     "roc_bert layoutlm lxmert visual_bert splinter nomic_bert ",
     {"bert.embeddings.word_embeddings.weight"},
     {"cls.predictions.decoder.weight"}},
    {" roberta xlm-roberta xlm-roberta-xl camembert esm longformer roberta-prelayernorm xmod "
     "data2vec-text ibert ",
     {"roberta.embeddings.word_embeddings.weight"},
     {"lm_head.decoder.weight"}},
    {" distilbert ", {"distilbert.embeddings.word_embeddings.weight"}, {"vocab_projector.weight"}},
    {" electra ", {"electra.embeddings.word_embeddings.weight"}, {"generator_lm_head.weight"}},
    {" albert ", {"albert.embeddings.word_embeddings.weight"}, {"predictions.decoder.weight"}},
    {" mpnet ", {"mpnet.embeddings.word_embeddings.weight"}, {"lm_head.decoder.weight"}},
    {" deberta deberta-v2 ",
     {"deberta.embeddings.word_embeddings.weight"},
     {"cls.predictions.decoder.weight"}},
    {" modernbert modernbert-decoder ",
     {"model.embeddings.tok_embeddings.weight"},
     {"decoder.weight"}},
    {" xlnet ", {"transformer.word_embedding.weight"}, {"lm_loss.weight"}},
    {" t5 mt5 umt5 longt5 switch_transformers byt5 t5gemma pix2struct udop ",
     {"shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"},
     {"lm_head.weight"}},
    {" bart mbart pegasus m2m_100 blenderbot blenderbot-small marian led plbart nllb-moe bigbird_"
     "pegasus pegasus_x mvp fsmt seamless_m4t ",
     {"model.shared.weight", "model.encoder.embed_tokens.weight",
      "model.decoder.embed_tokens.weight"},
     {"lm_head.weight"}},
    {" whisper speech_to_text ", {"model.decoder.embed_tokens.weight"}, {"proj_out.weight"}},
    {" clip clip_text_model siglip siglip_text_model chinese_clip align ",
     {"text_model.embeddings.token_embedding.weight", "token_embedding.weight"},
     {NULL}},
    {" blip blip_text_model ",
     {"text_decoder.bert.embeddings.word_embeddings.weight"},
     {"text_decoder.cls.predictions.decoder.weight"}},
    {" falcon bloom RefinedWeb RefinedWebModel ",
     {"transformer.word_embeddings.weight"},
     {"lm_head.weight"}},
    {" opt ", {"model.decoder.embed_tokens.weight"}, {"lm_head.weight"}},
    {" biogpt ", {"biogpt.embed_tokens.weight"}, {"output_projection.weight"}},
    {" gpt_neox gpt_neox_japanese ", {"gpt_neox.embed_in.weight"}, {"embed_out.weight"}},
    {" mamba mamba2 falcon_mamba ",
     {"backbone.embeddings.weight", "backbone.embedding.weight"},
     {"lm_head.weight"}},
    {" rwkv ", {"rwkv.embeddings.weight", "emb.weight"}, {"head.weight"}},
    {" rwkv7 ", {"model.embeddings.weight"}, {"lm_head.weight"}},
    {" chatglm ",
     {"transformer.embedding.word_embeddings.weight"},
     {"transformer.output_layer.weight"}},
    {" hf_olmo olmo_original ",
     {"model.transformer.wte.weight"},
     {"model.transformer.ff_out.weight"}},
    {" openelm ", {"transformer.token_embeddings.weight"}, {"lm_head.weight"}},
    {" grok-1 grok ",
     {"transformer.in_out_embed.weight", "model.embed_tokens.weight"},
     {"lm_head.weight"}},
};

/* What transformers takes tie_word_embeddings for where a config does not have it. */
static const char tied_types[] =
    " albert bart bert bert-generation big_bird biogpt bloom camembert cohere cohere2 ctrl deberta "
    "deberta-v2 distilbert electra ernie4_5 falcon falcon_mamba gemma gemma2 gemma3 gemma3_text "
    "gemma3n gemma3n_text gpt2 gpt_bigcode gpt_neo internvl m2m_100 mamba marian mbart mistral3 "
    "modernbert mpnet mpt openai-gpt opt paligemma pegasus roberta smollm3 starcoder2 t5 umt5 "
    "whisper xglm xlm-roberta xlnet ";

static const char untied_types[] =
    " arcee bamba bitnet codegen deepseek_v2 deepseek_v3 falcon_h1 glm glm4 gpt_neox gpt_oss gptj "
    "granite idefics3 jamba llama llama4 llava mamba2 mistral mixtral mllama mt5 nemotron olmo "
    "olmo2 persimmon phi phi3 phimoe qwen2 qwen2_moe qwen2_vl qwen2_5_vl qwen3 qwen3_moe "
    "qwen3_next rwkv stablelm ";

bool embi_type_listed(const char *types, const char *type)
{
    size_t n = strchr(type, ' ') ? 0 : strlen(type);
    for (const char *at = n ? strstr(types, type) : NULL; at; at = strstr(at + 1, type))
        if (at > types && at[-1] == ' ' && at[n] == ' ')
            return true;
    return false;
}

/* GGUF has one name for each table, whatever the architecture. */
static const struct embi_architecture gguf_names = {
    " gguf ", {"token_embd.weight"}, {"output.weight"}};

static const struct embi_architecture *find(const char *type)
{
    for (size_t i = 0; i < EMBI_LEN(architectures); i++)
        if (embi_type_listed(architectures[i].types, type))
            return &architectures[i];
    return NULL;
}

const struct embi_architecture *embi_architecture_of(const struct embi_config *config)
{
    const struct embi_architecture *outer = config->gguf ? &gguf_names : find(config->type);
    return outer ? outer : find(config->text_type);
}

static int default_tied(const char *type)
{
    return embi_type_listed(tied_types, type) ? 1 : embi_type_listed(untied_types, type) ? 0 : -1;
}

int embi_config_tied(const struct embi_config *config)
{
    if (config->tied >= 0)
        return config->tied;
    int outer = default_tied(config->type);
    return outer >= 0 ? outer : default_tied(config->text_type);
}

/* ------------------------------------------------------------------------------------------------
 * Names
 */

/* Parts of a name that trainers and adapters put in, at any place. */
static const char *const wrappers[] = {"module.", "_orig_mod.", "_fsdp_wrapped_module.",
                                       "_checkpoint_wrapped_module.", "modules_to_save.default."};

enum { PLAIN_MAX = 256 };

/* The wrapper that stands at s, or 0 bytes. */
static size_t wrapper_at(const char *s, size_t n)
{
    for (size_t i = 0; i < EMBI_LEN(wrappers); i++) {
        size_t m = strlen(wrappers[i]);
        if (n > m && memcmp(s, wrappers[i], m) == 0)
            return m;
    }
    return 0;
}

/* The name without wrappers; empty if it is longer than any name in the table could be. */
static emb_str plain_name(char out[PLAIN_MAX], emb_str name)
{
    static const char adapter[] = "base_model.model.";
    size_t n = 0, at = 0, skip = sizeof adapter - 1;
    if (name.n >= PLAIN_MAX)
        return (emb_str){out, 0};
    if (name.n > skip && memcmp(name.s, adapter, skip) == 0)
        at = skip;
    while (at < name.n) {
        bool begins = n == 0 || out[n - 1] == '.';
        size_t wrapper = begins ? wrapper_at(name.s + at, name.n - at) : 0;
        if (!wrapper)
            out[n++] = name.s[at++];
        at += wrapper;
    }
    return (emb_str){out, n};
}

/* Does name end in the n bytes at end, as whole dotted parts? */
static bool ends_in(emb_str name, const char *end, size_t n)
{
    return name.n > n && memcmp(name.s + name.n - n, end, n) == 0 && name.s[name.n - n - 1] == '.';
}

enum embi_name_match embi_name_match(emb_str tensor, const char *name)
{
    char buf[PLAIN_MAX];
    emb_str plain = plain_name(buf, tensor);
    const char *dot = strchr(name, '.');
    const char *rest = dot && strchr(dot + 1, '.') ? dot + 1 : NULL; /* more than "x.weight" */
    if (embi_str_is(plain, name) || (rest && embi_str_is(plain, rest)))
        return EMBI_NAME_SURE;
    const char *end = rest ? rest : name;
    return ends_in(plain, end, strlen(end)) ? EMBI_NAME_INSIDE : EMBI_NAME_OTHER;
}
