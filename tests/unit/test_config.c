/* test_config.c - what config.json says: where sizes and types stand, and what counts as absent. The
 * forms are those of published models.
 */
#include <criterion/criterion.h>

#include "model/architectures.h"
#include "util/buf.h"

static emb_status parse(const char *text, struct embi_config *config, emb_err *err)
{
    return embi_config_parse(text, strlen(text), config, err);
}

static const struct {
    const char *text, *type, *text_type;
    uint64_t vocab, width;
    int key, tied; /* what the file says, what follows from it */
} configs[] = {
    {"{}", "", "", 0, 0, -1, -1},
    {"{\"model_type\":\"gpt2\",\"vocab_size\":50257,\"n_embd\":768}", "gpt2", "", 50257, 768, -1,
     1},
    {"{\"model_type\":\"llama\",\"vocab_size\":32000,\"hidden_size\":4096}", "llama", "", 32000,
     4096, -1, 0},
    {"{\"model_type\":\"llama\",\"tie_word_embeddings\":true}", "llama", "", 0, 0, 1, 1},
    {"{\"model_type\":\"bert\",\"tie_word_embeddings\":false}", "bert", "", 0, 0, 0, 0},
    {"{\"model_type\":\"t5\",\"d_model\":512}", "t5", "", 0, 512, -1, 1},
    {"{\"model_type\":\"mt5\"}", "mt5", "", 0, 0, -1, 0},
    {"{\"model_type\":\"albert\",\"embedding_size\":128,\"hidden_size\":768}", "albert", "", 0, 128,
     -1, 1},
    {"{\"model_type\":\"opt\",\"word_embed_proj_dim\":512,\"hidden_size\":1024}", "opt", "", 0, 512,
     -1, 1},
    {"{\"model_type\":\"llava\",\"vision_config\":{\"vocab_size\":7},\"text_config\":{\"model_"
     "type\":"
     "\"llama\",\"vocab_size\":32064,\"hidden_size\":4096,\"tie_word_embeddings\":false}}",
     "llava", "llama", 32064, 4096, 0, 0},
    {"{\"text_config\":{\"model_type\":\"gemma3_text\",\"vocab_size\":9},\"vocab_size\":8}", "",
     "gemma3_text", 8, 0, -1, 1},
    {"{\"thinker_config\":{\"model_type\":\"x\",\"text_config\":{\"model_type\":\"qwen2\","
     "\"vocab_size\":5}}}",
     "", "qwen2", 5, 0, -1, 0},
    {"{\"decoder\":{\"vocab_size\":3},\"text_config\":{\"vocab_size\":4}}", "", "", 4, 0, -1, -1},
    {"{\"model_type\":\"nobody\\u005fknows\",\"padded_vocab_size\":65024}", "nobody_knows", "",
     65024, 0, -1, -1},
    {"{\"vocab_size\":12.5,\"hidden_size\":-4,\"model_type\":7,\"tie_word_embeddings\":\"yes\","
     "\"text_config\":3}",
     "", "", 0, 0, -1, -1},
    {"{\"a\":NaN,\"b\":[Infinity,-Infinity],\"vocab_size\":6,\"unknown\":{\"vocab_size\":480}}", "",
     "", 6, 0, -1, -1},
};

Test(config, what_is_said)
{
    for (size_t i = 0; i < EMBI_LEN(configs); i++) {
        struct embi_config c;
        emb_err err;
        const char *text = configs[i].text;
        cr_assert_eq(parse(text, &c, &err), EMB_OK, "%s: %s", text, err.msg);
        cr_assert(c.found);
        cr_assert_str_eq(c.type, configs[i].type, "%s", text);
        cr_assert_str_eq(c.text_type, configs[i].text_type, "%s", text);
        cr_assert_eq(c.vocab_size, configs[i].vocab, "%s", text);
        cr_assert_eq(c.tied, configs[i].key, "%s", text);
        cr_assert_eq(embi_config_tied(&c), configs[i].tied, "%s", text);
        cr_assert_eq(embi_config_has_width(&c, configs[i].width), configs[i].width != 0, "%s",
                     text);
        cr_assert_not(embi_config_has_width(&c, 77), "%s", text);
    }
}

Test(config, what_is_no_json)
{
    static const struct {
        const char *text;
        int64_t at; /* of the first byte that cannot stand there */
    } bad[] = {
        {"", 0}, {"[]", 0}, {"{\"a\":1,}", 7}, {"{\"a\":1} x", 8}, {"{\"text_config\":{", 16}};
    for (size_t i = 0; i < EMBI_LEN(bad); i++) {
        struct embi_config c;
        emb_err err;
        cr_assert_eq(parse(bad[i].text, &c, &err), EMB_BAD_DATA, "%s", bad[i].text);
        cr_assert_eq(err.at, bad[i].at, "%s: %s", bad[i].text, err.msg);
    }
}

/* A depth that would be a recursion without an end. */
Test(config, deep)
{
    struct embi_config c;
    struct embi_buf text = {0};
    emb_err err;
    for (int i = 0; i < 100; i++)
        embi_buf_text(&text, "{\"text_config\":");
    embi_buf_text(&text, "1");
    embi_buf_fill(&text, '}', 100);
    cr_assert_eq(parse(embi_buf_cstr(&text), &c, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(c.vocab_size, 0);
    embi_buf_free(&text);
}
