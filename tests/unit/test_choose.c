/* test_choose.c - which tensor is the table, and which the head: names and shapes as published
 * models have them, in files that are made in memory.
 */
#include "model_memory.h"

enum { MOST = 5 };

static const struct layout {
    const char *config;
    struct fixture_tensor tensors[MOST];
    int input, head; /* places; -1: none */
    int tied, warnings;
} layouts[] = {
    {"{\"model_type\":\"gpt2\"}",
     {{"transformer.wpe.weight", 3, 2, 2, NULL}, {"transformer.wte.weight", 3, 2, 1, NULL}},
     1,
     -1,
     1,
     0},
    {"{\"model_type\":\"llama\"}",
     {{"lm_head.weight", 3, 2, 2, NULL},
      {"model.layers.0.mlp.up_proj.weight", 3, 2, 3, NULL},
      {"model.embed_tokens.weight", 3, 2, 1, NULL}},
     2,
     0,
     0,
     0},
    {"{\"model_type\":\"llama\"}",
     {{"lm_head.weight", 3, 2, 1, NULL}, {"model.embed_tokens.weight", 3, 2, 1, NULL}},
     1,
     0,
     1,
     0},
    {"{\"model_type\":\"llama\",\"tie_word_embeddings\":false}",
     {{"model.embed_tokens.weight", 3, 2, 1, NULL}, {"model.norm.weight", 1, 2, 1, NULL}},
     0,
     -1,
     1,
     1},
    {"{\"model_type\":\"t5\"}",
     {{"decoder.embed_tokens.weight", 3, 2, 1, NULL}, {"shared.weight", 3, 2, 1, NULL}},
     1,
     -1,
     1,
     0},
    {"{\"model_type\":\"t5\"}",
     {{"decoder.embed_tokens.weight", 3, 2, 2, NULL}, {"shared.weight", 3, 2, 1, NULL}},
     1,
     -1,
     1,
     1},
    {"{\"model_type\":\"bert\"}",
     {{"embeddings.position_embeddings.weight", 3, 2, 3, NULL},
      {"embeddings.word_embeddings.weight", 3, 2, 1, NULL}},
     1,
     -1,
     1,
     0},
    {"{\"model_type\":\"x\",\"text_config\":{\"model_type\":\"llama\"}}",
     {{"language_model.lm_head.weight", 3, 2, 2, NULL},
      {"language_model.model.embed_tokens.weight", 3, 2, 1, NULL}},
     1,
     0,
     0,
     0},
    /* a classifier's head is none of the vocabulary: another width */
    {"{\"model_type\":\"modernbert\"}",
     {{"decoder.weight", 2, 7, 2, NULL}, {"model.embeddings.tok_embeddings.weight", 3, 2, 1, NULL}},
     1,
     -1,
     1,
     0},
    /* nobody knows the type */
    {"{\"vocab_size\":3,\"hidden_size\":2}",
     {{"trunk.a.weight", 3, 2, 1, NULL},
      {"trunk.b.weight", 2, 3, 2, NULL},
      {"trunk.position.weight", 3, 2, 3, NULL}},
     0,
     -1,
     -1,
     0},
    {"{\"vocab_size\":3,\"hidden_size\":2,\"tie_word_embeddings\":true}",
     {{"a.embed_tokens.weight", 5, 2, 2, NULL}, {"b.embed_tokens.weight", 3, 2, 1, NULL}},
     1,
     -1,
     1,
     0},
    {"{}", {{"wte.weight", 3, 2, 1, NULL}, {"lm_head.weight", 3, 2, 2, NULL}}, 0, 1, 0, 0},
    {"{}",
     {{"a.embed_tokens.weight", 3, 2, 1, NULL}, {"b.embed_tokens.weight", 3, 2, 1, NULL}},
     0,
     -1,
     -1,
     0},
    {"{}", {{"only", 3, 2, 1, NULL}}, 0, -1, -1, 0},
};

static size_t count(const struct fixture_tensor *t)
{
    size_t n = 0;
    while (n < MOST && t[n].name)
        n++;
    return n;
}

Test(choose, layouts)
{
    for (size_t i = 0; i < EMBI_LEN(layouts); i++) {
        const struct layout *l = &layouts[i];
        struct embi_model *m = open_model(l->tensors, count(l->tensors), l->config);
        size_t input, head;
        int tied;
        emb_err err;
        cr_assert_eq(embi_choose_input(m, &input, &err), EMB_OK, "%zu: %s", i, err.msg);
        cr_assert_eq(input, (size_t)l->input, "%zu: %s", i, l->config);
        cr_assert_eq(embi_choose_head(m, input, &head, &err), EMB_OK, "%zu: %s", i, err.msg);
        cr_assert_eq(head, l->head < 0 ? EMBI_NO_TENSOR : (size_t)l->head, "%zu: %s", i, l->config);
        cr_assert_eq(embi_model_tied(m, input, head, &tied, &err), EMB_OK, "%zu: %s", i, err.msg);
        cr_assert_eq(tied, l->tied, "%zu: %s: %d", i, l->config, tied);
        cr_assert_eq(lines.lines, l->warnings, "%zu: %s", i, lines.last);
        embi_model_free(m);
    }
}

Test(choose, what_nothing_decides)
{
    static const struct {
        const char *config;
        struct fixture_tensor tensors[MOST];
        const char *says[2];
    } cases[] = {
        {"{}",
         {{"a.embed_tokens.weight", 3, 2, 1, NULL}, {"b.embed_tokens.weight", 3, 2, 2, NULL}},
         {"a.embed_tokens.weight", "b.embed_tokens.weight"}},
        {"{\"model_type\":\"llama\"}",
         {{"x", 3, 2, 1, NULL}, {"y", 4, 2, 2, NULL}},
         {"x, y", "after #"}},
        {"{}", {{"x", 3, 0, 1, NULL}, {"y", 4, 0, 2, NULL}}, {"none of the 2 tensors", "[V, d]"}},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        struct embi_model *m =
            open_model(cases[i].tensors, count(cases[i].tensors), cases[i].config);
        size_t input;
        emb_err err;
        cr_assert_eq(embi_choose_input(m, &input, &err), EMB_UNSUPPORTED, "%zu", i);
        for (int k = 0; k < 2; k++)
            cr_assert(strstr(err.msg, cases[i].says[k]), "%zu: %s", i, err.msg);
        embi_model_free(m);
    }
}

Test(choose, transposed)
{
    static const struct fixture_tensor t[] = {{"wte.weight", 2, 5, 1, NULL},
                                              {"x.weight", 2, 2, 1, NULL}};
    struct embi_model *m =
        open_model(t, 2, "{\"model_type\":\"gpt2\",\"vocab_size\":5,\"n_embd\":2}");
    emb_err err;
    cr_assert_eq(embi_refuse_transposed(m, 0, &err), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "wte.weight") && strstr(err.msg, "[2, 5]"), "%s", err.msg);
    cr_assert_eq(embi_refuse_transposed(m, 1, &err), EMB_OK, "%s", err.msg);
    embi_model_free(m);
}

Test(choose, by_name)
{
    static const struct fixture_tensor t[] = {{"a", 3, 2, 1, NULL}, {"b", 3, 2, 2, NULL}};
    struct embi_model *m = open_model(t, 2, "{}");
    size_t tensor;
    emb_err err;
    cr_assert_eq(embi_choose_named(m, "b", &tensor, &err), EMB_OK);
    cr_assert_eq(tensor, 1);
    cr_assert_eq(embi_choose_named(m, "c", &tensor, &err), EMB_BAD_ARG);
    cr_assert_str_eq(err.msg, "no tensor 'c' in the file, which has: a, b");
    embi_model_free(m);
}
