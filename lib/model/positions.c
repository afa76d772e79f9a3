/* positions.c - see positions.h. What is said of a model type follows its model source in Hugging
 * Face transformers.
 */
#include "model/positions.h"

#include "model/architectures.h"

/* A row a position. */
static const char plain_types[] =
    " gpt2 gpt_bigcode gpt_neo openai-gpt bert ernie big_bird megatron-bert bert-generation "
    "mobilebert convbert roc_bert layoutlm splinter distilbert electra albert deberta deberta-v2 "
    "mpnet blenderbot blenderbot-small ";

/* Two rows come before that of position 0. */
static const char offset_types[] = " bart mbart plbart mvp opt biogpt ";

/* Positions begin behind the pad id, and the config counts all rows. */
static const char pad_types[] = " roberta xlm-roberta xlm-roberta-xl camembert esm longformer "
                                "roberta-prelayernorm xmod data2vec-text ibert luke layoutlmv3 ";

/* Positions begin behind the pad id, and are computed. */
static const char computed_types[] = " m2m_100 nllb-moe ";

int embi_positions_extra(const struct embi_config *config)
{
    if (embi_type_listed(plain_types, config->type) || embi_type_listed(pad_types, config->type))
        return 0;
    return embi_type_listed(offset_types, config->type) ? 2 : -1;
}

bool embi_positions_follow_pad(const struct embi_config *config)
{
    return embi_type_listed(pad_types, config->type) ||
           embi_type_listed(computed_types, config->type);
}

uint64_t embi_positions_pad(const struct embi_config *config)
{
    return config->has_pad ? config->pad : 1;
}
