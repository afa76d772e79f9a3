/* head_scale.c - the table of rules, and how a config fills them in; see head_scale.h. */
#include "model/head_scale.h"

#include "model/architectures.h"
#include "model/config_objects.h"
#include "model/sidecar.h"
#include "util/err.h"

#include <math.h>

/* Numbers that a config may hold: their inverses are such numbers too. */
#define SMALLEST 1e-30
#define LARGEST  1e30

enum deed {
    CAP,            /* the key is the soft cap                                        */
    TIMES,          /* logits are multiplied by it                                    */
    OVER,           /* and divided by it                                              */
    HIDDEN_BY_ROOT, /* where it is true, hidden states are multiplied by dims^(-1/2)  */
    HIDDEN_BY_BASE  /* hidden states are multiplied by it / dims                      */
};

/* Where a config does not have the key, it is taken for `otherwise`; 0: nothing is done. A later
 * rule with the same deed counts where its key is there. */
static const struct rule {
    const char *types; /* between blanks */
    const char *key;
    enum deed deed;
    double otherwise;
} rules[] = {
    {" gemma2 gemma3n gemma3n_text vaultgemma t5gemma ", "final_logit_softcapping", CAP, 30},
    {" gemma3 gemma3_text gemma4 gemma4_text paligemma ", "final_logit_softcapping", CAP, 0},
    {" nanochat ", "final_logit_softcapping", CAP, 15},
    {" recurrent_gemma ", "logits_soft_cap", CAP, 30},
    {" cohere cohere2 cohere2_moe ", "logit_scale", TIMES, 0.0625},
    {" granite granitemoe granitemoeshared granitemoehybrid ", "logits_scaling", OVER, 0},
    {" falcon_h1 ", "lm_head_multiplier", TIMES, 0},
    {" mpt ", "logit_scale", TIMES, 0},
    {" minicpm minicpm3 ", "dim_model_base", HIDDEN_BY_BASE, 256},
    {" t5 umt5 longt5 switch_transformers ", "tie_word_embeddings", HIDDEN_BY_ROOT, 1},
    {" t5 umt5 longt5 ", "scale_decoder_outputs", HIDDEN_BY_ROOT, 0},
};

/* Models that add a bias at most. */
static const char plain_types[] =
    " gpt2 gpt_bigcode gpt_neo gptj codegen dbrx qwen imagegpt openai-gpt ctrl llama llama4 "
    "llama4_text mistral mixtral ministral qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen2_vl "
    "qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3_vl qwen3_vl_text gemma phi phi3 phimoe olmo "
    "olmo2 olmo3 olmoe starcoder2 stablelm deepseek deepseek_v2 deepseek_v3 glm glm4 glm4_moe "
    "smollm3 gpt_oss jamba bamba persimmon bitnet nemotron arcee ernie4_5 exaone4 seed_oss helium "
    "diffllama zamba2 lfm2 minimax hunyuan_v1_dense dots1 apertus xglm mllama mllama_text_model "
    "internlm2 bert ernie big_bird megatron-bert bert-generation roformer convbert roc_bert "
    "layoutlm lxmert visual_bert nomic_bert roberta xlm-roberta xlm-roberta-xl camembert esm "
    "longformer roberta-prelayernorm xmod data2vec-text ibert distilbert electra albert mpnet "
    "deberta deberta-v2 modernbert modernbert-decoder xlnet mt5 byt5 bart mbart pegasus m2m_100 "
    "blenderbot blenderbot-small marian led plbart nllb-moe bigbird_pegasus pegasus_x mvp whisper "
    "speech_to_text falcon bloom RefinedWeb RefinedWebModel opt biogpt gpt_neox gpt_neox_japanese "
    "mamba mamba2 falcon_mamba rwkv ";

static bool has_rule(const char *type)
{
    for (size_t i = 0; i < EMBI_LEN(rules); i++)
        if (embi_type_listed(rules[i].types, type))
            return true;
    return embi_type_listed(plain_types, type);
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */

static emb_status not_a(emb_err *err, const char *expected, const struct embi_json_value *v)
{
    char show[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_DATA, -1, "expected %s, found %s", expected,
                     embi_show(show, (emb_str){v->s, v->n}));
}

/* A number above 0, or null, which is 0: nothing is done. */
static emb_status read_number(const struct embi_json_value *v, double *x, emb_err *err)
{
    *x = 0;
    if (v->kind == EMBI_JSON_NULL)
        return EMB_OK;
    bool number = v->kind == EMBI_JSON_NUMBER &&
                  emb_number_parse((emb_str){v->s, v->n}, EMB_F64, x) && *x >= SMALLEST &&
                  *x <= LARGEST;
    return number ? EMB_OK : not_a(err, "a number above 0", v);
}

static emb_status read_value(const struct rule *rule, const struct embi_json_value *v,
                             uint32_t dims, double *x, emb_err *err)
{
    if (rule->deed == TIMES && embi_json_is(v, "inv_sqrt_d_model")) { /* of MPT */
        *x = 1 / sqrt(dims);
        return EMB_OK;
    }
    if (rule->deed != HIDDEN_BY_ROOT)
        return read_number(v, x, err);
    *x = v->kind == EMBI_JSON_TRUE;
    return *x != 0 || v->kind == EMBI_JSON_FALSE || v->kind == EMBI_JSON_NULL
               ? EMB_OK
               : not_a(err, "true or false", v);
}

static void apply(const struct rule *rule, double x, uint32_t dims, struct embi_head_scale *scale)
{
    switch (rule->deed) {
    case CAP: scale->cap = x; break;
    case TIMES: scale->scale = x > 0 ? x : 1; break;
    case OVER: scale->scale = x > 0 ? 1 / x : 1; break;
    case HIDDEN_BY_ROOT: scale->hidden = x > 0 ? 1 / sqrt(dims) : 1; break;
    case HIDDEN_BY_BASE: scale->hidden = x > 0 ? x / dims : 1; break;
    }
}

/* ------------------------------------------------------------------------------------------------
 * The config
 */

struct reading {
    const char *type; /* whose rules count */
    uint32_t dims;
    struct embi_head_scale *scale;
};

static emb_status take_key(const struct reading *r, const struct embi_json_value *key,
                           const struct embi_json_value *v, emb_err *err)
{
    for (size_t i = 0; i < EMBI_LEN(rules); i++) {
        double x;
        if (!embi_type_listed(rules[i].types, r->type) || !embi_json_is(key, rules[i].key))
            continue;
        if (read_value(&rules[i], v, r->dims, &x, err))
            return embi_fail_in(err, "%s", rules[i].key);
        apply(&rules[i], x, r->dims, r->scale);
    }
    return EMB_OK;
}

/* `last`: the key that counts before all others is read last. */
static emb_status read_object(const struct reading *r, const struct embi_json_value *object,
                              bool last, emb_err *err)
{
    struct embi_json j;
    struct embi_json_value key, v;
    emb_status status = EMB_OK;
    embi_json_init(&j, object->s, object->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && embi_json_member(&j, &key) && embi_json_skip(&j, &v))
        if (embi_json_is(&key, "scale_decoder_outputs") == last)
            status = take_key(r, &key, &v, err);
    return status;
}

emb_status embi_head_scale_parse(const char *s, size_t n, const struct embi_config *types,
                                 uint32_t dims, struct embi_head_scale *scale, emb_err *err)
{
    struct embi_config_objects found;
    struct embi_json_value objects[2];
    char shown[EMBI_SHOW_MAX];
    struct reading r = {has_rule(types->type) ? types->type : types->text_type, dims, scale};
    *scale = (struct embi_head_scale){1, 1, 0};
    if (!has_rule(r.type))
        return embi_fail(
            err, EMB_UNSUPPORTED, -1, "what a model of type %s does with its logits is not known",
            types->type[0] ? embi_show(shown, (emb_str){types->type, strlen(types->type)})
                           : "unknown");
    emb_status status = embi_config_objects_find(s, n, &found, err);
    int count = status ? 0 : embi_config_text_objects(&found, objects);
    for (size_t i = 0; i < EMBI_LEN(rules); i++)
        if (embi_type_listed(rules[i].types, r.type) && rules[i].otherwise > 0)
            apply(&rules[i], rules[i].otherwise, dims, scale);
    for (int i = 0; !status && i < 2 * count; i++)
        status = read_object(&r, &objects[i / 2], i % 2, err);
    return status;
}

emb_status embi_head_scale_open(const struct embi_env *env, const char *dir,
                                const struct embi_config *types, uint32_t dims,
                                struct embi_head_scale *scale, emb_err *err)
{
    struct embi_sidecar file = {0};
    emb_status status = dir ? embi_sidecar_open(env, dir, "config.json", &file, err) : EMB_OK;
    if (status)
        return status;
    if (!file.io)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "what the model does is told by a config.json: there is none");
    status = embi_head_scale_parse(file.s, file.n, types, dims, scale, err);
    embi_sidecar_close(&file);
    return status == EMB_BAD_DATA ? embi_fail_in(err, "config.json") : status;
}
