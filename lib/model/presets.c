/* presets.c - well-known models: the sizes of their tables and of the rest, as data.
 *
 * Numbers are those of each model's own config.json and of the tensors in its release; `params`
 * counts the numbers in all tensors, copies once. Where a model was only described, its table sizes
 * are as described, and the shape of its blocks is the usual one that comes nearest to the total.
 */
#include "util/base.h"

static const emb_preset presets[] = {
    /* Described by 8449 x 768, 1024 learned positions, an untied head and 120e6 parameters. Fifteen
     * blocks of GPT-2's kind of this width, 15 * 7087872, the last norm, 1536, and the tables,
     * 13764096, are 120083712. */
    {.name = "andrea-120m",
     .arch = "gpt2",
     .rows = 8449,
     .dims = 768,
     .positions = 1024,
     .untied = true,
     .dtype = EMB_F32,
     .params = 120000000,
     .layers = 15,
     .heads = 12,
     .kv_heads = 12,
     .inner = 3072,
     .context = 1024},
    /* Described by 65536 x 1536, tied, and 1.01e9 parameters. Thirty-two blocks of Llama's kind,
     * 4 * 1536^2 + 3 * 1536 * 4096 + 2 * 1536 each, the last norm and the table are 1006732800. */
    {.name = "sophia",
     .arch = "llama",
     .rows = 65536,
     .dims = 1536,
     .dtype = EMB_F32,
     .params = 1010000000,
     .layers = 32,
     .heads = 12,
     .kv_heads = 12,
     .inner = 4096,
     .context = 2048},
    /* google-bert/bert-base-uncased: config.json. Its encoder with embeddings and pooler has
     * 109482240; that is what AutoModel builds. The masked-language head is not counted. */
    {.name = "bert-base",
     .arch = "bert",
     .rows = 30522,
     .dims = 768,
     .positions = 512,
     .std = 0.02,
     .dtype = EMB_F32,
     .params = 109482240,
     .layers = 12,
     .heads = 12,
     .kv_heads = 12,
     .inner = 3072,
     .context = 512},
    /* openai-community/gpt2: config.json; 50257 * 768 + 1024 * 768 + 12 * 7087872 + 1536. */
    {.name = "gpt2",
     .arch = "gpt2",
     .rows = 50257,
     .dims = 768,
     .positions = 1024,
     .std = 0.02,
     .dtype = EMB_F32,
     .params = 124439808,
     .layers = 12,
     .heads = 12,
     .kv_heads = 12,
     .inner = 3072,
     .context = 1024},
    /* meta-llama/Meta-Llama-3-8B: config.json; 2 * 128256 * 4096, 32 blocks of
     * 2 * 4096^2 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096, and the last norm. */
    {.name = "llama-3-8b",
     .arch = "llama",
     .rows = 128256,
     .dims = 4096,
     .untied = true,
     .std = 0.02,
     .dtype = EMB_BF16,
     .params = 8030261248,
     .layers = 32,
     .heads = 32,
     .kv_heads = 8,
     .inner = 14336,
     .context = 8192,
     .config = "\"rope_theta\": 500000.0,\n  \"rms_norm_eps\": 1e-05"},
    /* Qwen/Qwen2.5-7B: config.json; 2 * 152064 * 3584, 28 blocks of 2 * 3584^2 + 2 * 3584 * 512 +
     * 3584 + 2 * 512 + 3 * 3584 * 18944 + 2 * 3584, and the last norm. */
    {.name = "qwen2.5-7b",
     .arch = "qwen2",
     .rows = 152064,
     .dims = 3584,
     .untied = true,
     .std = 0.02,
     .dtype = EMB_BF16,
     .params = 7615616512,
     .layers = 28,
     .heads = 28,
     .kv_heads = 4,
     .inner = 18944,
     .context = 131072,
     .config = "\"rope_theta\": 1000000.0,\n  \"rms_norm_eps\": 1e-06"},
    /* GoogleNews-vectors-negative300.bin: its first line is "3000000 300". A table, no model. */
    {.name = "word2vec-google",
     .rows = 3000000,
     .dims = 300,
     .dtype = EMB_F32,
     .params = 900000000},
};

const emb_preset *emb_preset_at(size_t i)
{
    return i < EMBI_LEN(presets) ? &presets[i] : NULL;
}

const emb_preset *emb_preset_by_name(const char *name)
{
    for (size_t i = 0; i < EMBI_LEN(presets); i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}
