/* blueprints.c - config.json and tensor names of new models, as data and one printer.
 *
 * Keys, names and classes are those of the configuration and model sources of Hugging Face
 * transformers. Ids of special tokens are null where the default would be that of another
 * vocabulary.
 */
#include "model/blueprints.h"

#include "util/base.h"

#include <inttypes.h>

#define NO_SPECIAL_IDS "\"bos_token_id\": null,\n  \"eos_token_id\": null"

static const struct embi_blueprint blueprints[] = {
    {.type = "gpt2",
     .model_class = "GPT2LMHeadModel",
     .tensors = {"transformer.wte.weight", "transformer.wpe.weight", "lm_head.weight"},
     .dims = "n_embd",
     .context = "n_positions",
     .layers = "n_layer",
     .heads = "n_head",
     .inner = "n_inner",
     .positions = 1024,
     .more = NO_SPECIAL_IDS},
    {.type = "llama",
     .model_class = "LlamaForCausalLM",
     .tensors = {"model.embed_tokens.weight", NULL, "lm_head.weight"},
     .dims = "hidden_size",
     .context = "max_position_embeddings",
     .layers = "num_hidden_layers",
     .heads = "num_attention_heads",
     .kv_heads = "num_key_value_heads",
     .inner = "intermediate_size",
     .positions = 2048,
     .more = NO_SPECIAL_IDS},
    {.type = "mistral",
     .model_class = "MistralForCausalLM",
     .tensors = {"model.embed_tokens.weight", NULL, "lm_head.weight"},
     .dims = "hidden_size",
     .context = "max_position_embeddings",
     .layers = "num_hidden_layers",
     .heads = "num_attention_heads",
     .kv_heads = "num_key_value_heads",
     .inner = "intermediate_size",
     .positions = 2048,
     .more = NO_SPECIAL_IDS ",\n  \"sliding_window\": null"},
    {.type = "qwen2",
     .model_class = "Qwen2ForCausalLM",
     .tensors = {"model.embed_tokens.weight", NULL, "lm_head.weight"},
     .dims = "hidden_size",
     .context = "max_position_embeddings",
     .layers = "num_hidden_layers",
     .heads = "num_attention_heads",
     .kv_heads = "num_key_value_heads",
     .inner = "intermediate_size",
     .positions = 2048,
     .more = NO_SPECIAL_IDS},
    {.type = "gpt_neox",
     .model_class = "GPTNeoXForCausalLM",
     .tensors = {"gpt_neox.embed_in.weight", NULL, "embed_out.weight"},
     .dims = "hidden_size",
     .context = "max_position_embeddings",
     .layers = "num_hidden_layers",
     .heads = "num_attention_heads",
     .inner = "intermediate_size",
     .positions = 2048,
     .more = NO_SPECIAL_IDS},
    {.type = "bert",
     .model_class = "BertForMaskedLM",
     .tensors = {"bert.embeddings.word_embeddings.weight",
                 "bert.embeddings.position_embeddings.weight", "cls.predictions.decoder.weight"},
     .dims = "hidden_size",
     .context = "max_position_embeddings",
     .layers = "num_hidden_layers",
     .heads = "num_attention_heads",
     .inner = "intermediate_size",
     .positions = 512},
    {.type = "distilbert",
     .model_class = "DistilBertForMaskedLM",
     .tensors = {"distilbert.embeddings.word_embeddings.weight",
                 "distilbert.embeddings.position_embeddings.weight", "vocab_projector.weight"},
     .dims = "dim",
     .context = "max_position_embeddings",
     .layers = "n_layers",
     .heads = "n_heads",
     .inner = "hidden_dim",
     .positions = 512},
};

const struct embi_blueprint *embi_blueprint_of(const char *type)
{
    for (size_t i = 0; i < EMBI_LEN(blueprints); i++)
        if (strcmp(blueprints[i].type, type) == 0)
            return &blueprints[i];
    return NULL;
}

void embi_blueprint_list(struct embi_buf *out)
{
    for (size_t i = 0; i < EMBI_LEN(blueprints); i++)
        embi_buf_print(out, "%s%s", i ? ", " : "", blueprints[i].type);
}

const char *embi_torch_dtype(emb_dtype dtype)
{
    switch (dtype) {
    case EMB_F64: return "float64";
    case EMB_F32: return "float32";
    case EMB_F16: return "float16";
    case EMB_BF16: return "bfloat16";
    default: return NULL;
    }
}

/* ------------------------------------------------------------------------------------------------
 * config.json
 */

static void add_size(struct embi_buf *out, const char *key, uint64_t size)
{
    if (key)
        embi_buf_print(out, ",\n  \"%s\": %" PRIu64, key, size);
}

static void add_more(struct embi_buf *out, const char *members)
{
    if (members)
        embi_buf_print(out, ",\n  %s", members);
}

/* Heads of 64 numbers, as most models have, or else one: d must be a multiple of their number. */
static struct embi_model_sizes completed(const struct embi_blueprint *b,
                                         const struct embi_model_sizes *given)
{
    struct embi_model_sizes s = *given;
    s.layers = s.layers ? s.layers : 2;
    s.heads = s.heads ? s.heads : s.dims % 64 == 0 ? s.dims / 64 : 1;
    s.kv_heads = s.kv_heads ? s.kv_heads : s.heads;
    s.inner = s.inner ? s.inner : 4 * s.dims;
    s.context = s.context ? s.context : b->positions;
    return s;
}

void embi_blueprint_config(const struct embi_blueprint *b, const struct embi_model_sizes *sizes,
                           struct embi_buf *out)
{
    struct embi_model_sizes s = completed(b, sizes);
    embi_buf_print(out, "{\n  \"architectures\": [\n    \"%s\"\n  ]", b->model_class);
    embi_buf_print(out, ",\n  \"model_type\": \"%s\"", b->type);
    add_size(out, "vocab_size", s.rows);
    add_size(out, b->dims, s.dims);
    add_size(out, b->context, s.context);
    add_size(out, b->layers, s.layers);
    add_size(out, b->heads, s.heads);
    add_size(out, b->kv_heads, s.kv_heads);
    add_size(out, b->inner, s.inner);
    add_more(out, b->more);
    add_more(out, s.more);
    embi_buf_print(out, ",\n  \"tie_word_embeddings\": %s", s.untied ? "false" : "true");
    embi_buf_print(out, ",\n  \"torch_dtype\": \"%s\"\n}\n", embi_torch_dtype(s.dtype));
}
