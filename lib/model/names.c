/* names.c - the role of a tensor by its name, as a table of tokens or of positions.
 *
 * Names are compared by their end, at a dot: `transformer.wte.weight` and `wte.weight` are the same
 * thing saved from two classes. The lists follow the model sources of Hugging Face transformers,
 * the GPT-2, Llama and RWKV releases, and the static-embedding libraries.
 */
#include "model/model.h"

/* Surest first: the rank of a name is its place here. */
static const char *const input_names[] = {
    "embed_tokens.weight",
    "wte.weight",
    "tok_embeddings.weight",
    "word_embeddings.weight",
    "embed_in.weight",
    "tokens_embed.weight",
    "shared.weight",
    "word_embedding.weight",
    "token_embd.weight",
    "token_embedding.weight",
    "token_embeddings.weight",
    "in_out_embed.weight",
    "emb.weight",
    "transformer.w.weight",
    "embeddings.weight",
    "embedding.weight",
    "embeddings",
    "embedding",
    "vectors",
    "embed.weight",
};

/* As the whole name: less sure than those above. */
static const char *const bare_names[] = {"emb", "weight"};

static const char *const head_names[] = {
    "lm_head.weight",
    "embed_out.weight",
    "cls.predictions.decoder.weight",
    "lm_head.decoder.weight",
    "vocab_projector.weight",
    "generator_lm_head.weight",
    "predictions.decoder.weight",
    "output_projection.weight",
    "proj_out.weight",
    "lm_loss.weight",
    "output_layer.weight",
    "ff_out.weight",
    "output.weight",
    "head.weight",
    "decoder.weight",
};

/* Anywhere in a name: a table, but not of tokens. */
static const char *const other_words[] = {
    "position", "wpe",    "pos_emb", "token_type", "relative", "rel_", "expert", "router",
    "vision",   "visual", "audio",   "patch",      "codebook", "rope", "lora_",  "per_layer",
};

/* Tables of learned positions. */
static const char *const position_names[] = {
    "wpe.weight",
    "position_embeddings.weight",
    "position_embedding.weight",
    "embed_positions.weight",
    "positions_embed.weight",
    "position_embd.weight",
};

/* Anywhere in a name: positions, but of something else than tokens. */
static const char *const not_text_words[] = {"vision", "visual", "audio", "image", "video"};

static bool contains(emb_str s, const char *word)
{
    return memmem(s.s, s.n, word, strlen(word)) != NULL;
}

/* Does the name end in `end`, as whole dotted parts? */
static bool ends_in(emb_str name, const char *end)
{
    size_t n = strlen(end);
    if (name.n < n || memcmp(name.s + name.n - n, end, n) != 0)
        return false;
    return name.n == n || name.s[name.n - n - 1] == '.';
}

static int rank_in(emb_str name, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (ends_in(name, list[i]))
            return i;
    return -1;
}

enum embi_role embi_role_of(emb_str name, int *rank)
{
    *rank = 0;
    for (size_t i = 0; i < EMBI_LEN(other_words); i++)
        if (contains(name, other_words[i]))
            return EMBI_ROLE_OTHER;
    *rank = rank_in(name, head_names, EMBI_LEN(head_names));
    if (*rank >= 0)
        return EMBI_ROLE_HEAD;
    *rank = rank_in(name, input_names, EMBI_LEN(input_names));
    for (size_t i = 0; *rank < 0 && i < EMBI_LEN(bare_names); i++)
        if (embi_str_is(name, bare_names[i]))
            *rank = (int)(EMBI_LEN(input_names) + i);
    return *rank >= 0 ? EMBI_ROLE_INPUT : EMBI_ROLE_NONE;
}

bool embi_names_positions(emb_str name)
{
    for (size_t i = 0; i < EMBI_LEN(not_text_words); i++)
        if (contains(name, not_text_words[i]))
            return false;
    return rank_in(name, position_names, EMBI_LEN(position_names)) >= 0;
}
