/* test_vocab_tensors.c - which tensors have a vocabulary axis: names and shapes as published models
 * have them (V 6, d 4), with tensors beside them that have V rows by chance.
 */
#include "model_memory.h"

#include "model/vocab_tensors.h"

enum { MOST = 8 };

#define EMBED "model.embed_tokens.weight"
#define WTE   "transformer.wte.weight"
#define BERT  "bert.embeddings.word_embeddings.weight"

/* The list, as "name role leader rows" lines; "*": the head. */
static const struct layout {
    const char *config;
    struct fixture_tensor tensors[MOST];
    const char *want;
    int warnings;
} layouts[] = {
    {"{\"model_type\":\"gpt2\"}",
     {{WTE, 6, 4, 1, NULL},
      {"transformer.wpe.weight", 6, 4, 1, NULL},
      {"lm_head.weight", 6, 4, 1, NULL}},
     WTE " embedding 0 6\n*lm_head.weight copy of embedding 0 6\n",
     0},
    {"{\"model_type\":\"llama\"}",
     {{EMBED, 6, 4, 1, NULL},
      {"model.layers.0.mlp.gate_proj.weight", 6, 4, 1, NULL},
      {"model.layers.0.mlp.down_proj.weight", 4, 6, 1, NULL},
      {"lm_head.weight", 6, 4, 2, NULL}},
     EMBED " embedding 0 6\n*lm_head.weight head 1 6\n",
     0},
    {"{\"model_type\":\"bert\"}",
     {{"cls.predictions.bias", 6, 0, 3, NULL},
      {"cls.predictions.decoder.bias", 6, 0, 3, NULL},
      {"cls.predictions.decoder.weight", 6, 4, 1, NULL},
      {"cls.predictions.transform.dense.bias", 6, 0, 3, NULL},
      {"bert.embeddings.position_embeddings.weight", 6, 4, 1, NULL},
      {BERT, 6, 4, 1, NULL}},
     BERT " embedding 0 6\ncls.predictions.bias bias 1 6\n"
          "cls.predictions.decoder.bias copy of bias 1 6\n"
          "*cls.predictions.decoder.weight copy of embedding 0 6\n",
     0},
    {"{\"model_type\":\"modernbert\"}",
     {{"model.embeddings.tok_embeddings.weight", 6, 4, 1, NULL},
      {"decoder.bias", 6, 0, 0, NULL},
      {"model.layers.0.decoder.bias", 6, 0, 0, NULL},
      {"head.dense.weight", 4, 4, 0, NULL}},
     "model.embeddings.tok_embeddings.weight embedding 0 6\ndecoder.bias bias 1 6\n",
     0},
    {"{\"model_type\":\"deberta-v2\"}",
     {{"deberta.embeddings.word_embeddings.weight", 6, 4, 1, NULL},
      {"lm_predictions.lm_head.dense.weight", 4, 4, 1, NULL},
      {"lm_predictions.lm_head.bias", 6, 0, 1, NULL}},
     "deberta.embeddings.word_embeddings.weight embedding 0 6\n"
     "lm_predictions.lm_head.bias bias 1 6\n",
     0},
    {"{\"model_type\":\"bart\"}",
     {{"model.shared.weight", 6, 4, 1, NULL},
      {"model.encoder.embed_tokens.weight", 6, 4, 1, NULL},
      {"model.decoder.embed_tokens.weight", 6, 4, 1, NULL},
      {"model.encoder.embed_positions.weight", 6, 4, 1, NULL},
      {"final_logits_bias", 1, 6, 0, NULL}},
     "model.shared.weight embedding 0 6\nmodel.encoder.embed_tokens.weight copy of embedding 0 6\n"
     "model.decoder.embed_tokens.weight copy of embedding 0 6\nfinal_logits_bias bias 3 6\n",
     0},
    /* two tables that differ: each is one of its own, whatever the config says */
    {"{\"model_type\":\"t5\",\"tie_word_embeddings\":true}",
     {{"shared.weight", 6, 4, 1, NULL},
      {"encoder.embed_tokens.weight", 6, 4, 2, NULL},
      {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", 6, 4, 1, NULL},
      {"lm_head.weight", 6, 4, 3, NULL}},
     "shared.weight embedding 0 6\nencoder.embed_tokens.weight embedding 1 6\n"
     "*lm_head.weight head 2 6\n",
     1},
    /* the copy of a head */
    {"{\"model_type\":\"llama\"}",
     {{EMBED, 6, 4, 1, NULL},
      {"lm_head.weight", 6, 4, 2, NULL},
      {"module.lm_head.weight", 6, 4, 2, NULL}},
     EMBED " embedding 0 6\n*lm_head.weight head 1 6\nmodule.lm_head.weight copy of head 1 6\n",
     0},
    {"{\"model_type\":\"gemma3n\"}",
     {{EMBED, 6, 4, 1, NULL}, {"model.embed_tokens_per_layer.weight", 5, 8, 1, NULL}},
     EMBED " embedding 0 6\nmodel.embed_tokens_per_layer.weight per-layer table 1 5\n",
     0},
    {"{\"model_type\":\"mllama\"}",
     {{"language_model.model.embed_tokens.weight", 8, 4, 1, NULL},
      {"vision_model.global_transformer.weight", 8, 4, 1, NULL},
      {"language_model.lm_head.weight", 6, 4, 1, NULL}},
     "language_model.model.embed_tokens.weight embedding 0 8\n"
     "*language_model.lm_head.weight head 1 6\n",
     0},
    {"{\"model_type\":\"phi\"}",
     {{EMBED, 6, 4, 1, NULL}, {"lm_head.weight", 6, 4, 2, NULL}, {"lm_head.bias", 7, 0, 2, NULL}},
     EMBED " embedding 0 6\n*lm_head.weight head 1 6\nlm_head.bias bias 2 7\n",
     0},
    /* named like an output table, and of the embedding's shape, in a model that calls its own
     * otherwise */
    {"{\"model_type\":\"bert\"}",
     {{BERT, 6, 4, 1, NULL}, {"bert.pooler.output.weight", 6, 4, 5, NULL}},
     BERT " embedding 0 6\n",
     1},
    /* no architecture: names that many use */
    {"{}",
     {{"wte.weight", 6, 4, 1, NULL},
      {"blocks.0.mlp.weight", 6, 4, 1, NULL},
      {"lm_head.weight", 6, 4, 1, NULL}},
     "wte.weight embedding 0 6\n*lm_head.weight copy of embedding 0 6\n",
     0},
};

static void describe(const struct embi_model *m, const struct embi_vocab_tensors *v,
                     struct embi_buf *out)
{
    for (size_t i = 0; i < v->n; i++) {
        emb_str name = m->weights.tensors[v->list[i].tensor].name;
        embi_buf_print(out, "%s%.*s %s %zu %llu\n", v->head == i ? "*" : "", (int)name.n, name.s,
                       embi_vocab_role_name(v, i), v->list[i].leader,
                       (unsigned long long)v->list[i].rows);
    }
}

Test(vocab_tensors, layouts)
{
    for (size_t i = 0; i < EMBI_LEN(layouts); i++) {
        const struct layout *l = &layouts[i];
        struct embi_vocab_tensors v;
        struct embi_buf got = {0};
        emb_err err;
        size_t n = 0;
        while (n < MOST && l->tensors[n].name)
            n++;
        struct embi_model *m = open_model(l->tensors, n, l->config);
        cr_assert_eq(embi_vocab_tensors_find(m, &v, &err), EMB_OK, "%zu: %s", i, err.msg);
        describe(m, &v, &got);
        cr_assert_str_eq(embi_buf_cstr(&got), l->want, "%zu:\n%s", i, embi_buf_cstr(&got));
        cr_assert_eq(lines.lines, l->warnings, "%zu: %d warnings: %s", i, lines.lines, lines.last);
        embi_buf_free(&got);
        embi_vocab_tensors_free(&v);
        embi_model_free(m);
    }
}

Test(vocab_tensors, no_table)
{
    static const struct fixture_tensor none[] = {{"a", 3, 0, 0, NULL}, {"b", 3, 0, 0, NULL}};
    struct embi_vocab_tensors v;
    emb_err err;
    struct embi_model *m = open_model(none, 2, "{}");
    cr_assert_eq(embi_vocab_tensors_find(m, &v, &err), EMB_UNSUPPORTED);
    cr_assert_null(v.list);
    embi_model_free(m);
}
