/* test_check_model.c - each way in which the parts of a model can disagree, made by hand from a
 * model whose parts agree.
 */
#include "model_dir.h"

static emb_ctx *ctx;
static emb_check check;
static emb_err err;

static void enter(void)
{
    enter_dir();
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
}

static void leave(void)
{
    emb_check_free(&check);
    emb_ctx_free(ctx);
    leave_dir();
}

TestSuite(check_model, .init = enter, .fini = leave);

static const struct fixture_tensor tied[] = {{"model.embed_tokens.weight", 3, 2, 0, NULL}};
static const struct fixture_tensor untied[] = {{"model.embed_tokens.weight", 3, 2, 0, NULL},
                                               {"lm_head.bias", 3, 0, 0, NULL},
                                               {"lm_head.weight", 3, 2, 0, NULL}};

#define CONFIG "{\"model_type\": \"llama\", \"hidden_size\": 2, \"vocab_size\": 3, "

static void put_tokens(const char *vocab)
{
    struct embi_buf b = {0};
    embi_buf_print(&b, "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {%s}}}", vocab);
    fixture_put("tokenizer.json", b.s, b.n);
    embi_buf_free(&b);
}

/* Three tokens, three rows, a head that is the table. */
static void put_model(void)
{
    put_tensors("model.safetensors", tied, 1, 1);
    fixture_text("config.json", CONFIG "\"eos_token_id\": [1, 2]}");
    put_tokens("\"a\": 0, \"b\": 1, \"c\": 2");
}

/* The findings: n of them, the first of kind `what` with these words and what mends it. */
static void finds(size_t n, const char *what, const char *words, const char *mend)
{
    emb_check_free(&check);
    cr_assert_eq(emb_check_model(ctx, dir, &check, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(check.n_faults, n, "%zu findings; the first: %s", check.n_faults,
                 check.n_faults ? check.faults[0].message : "");
    if (n == 0)
        return;
    const emb_fault *f = &check.faults[0];
    cr_expect_str_eq(f->what, what);
    cr_expect(strstr(f->message, words), "'%s' is not in '%s'", words, f->message);
    cr_expect(mend ? f->mend && strcmp(f->mend, mend) == 0 : !f->mend, "%s", f->mend);
}

Test(check_model, parts_that_agree)
{
    put_model();
    finds(0, NULL, NULL, NULL);
    cr_expect_eq(check.rows, 3);
    cr_expect_eq(check.tokens, 3);
    put_tensors("model.safetensors", untied, 3, 1);
    fixture_text("config.json", CONFIG "\"tie_word_embeddings\": false, \"pad_token_id\": -1}");
    finds(0, NULL, NULL, NULL);
}

Test(check_model, sizes)
{
    put_model();
    fixture_text("config.json", "{\"model_type\": \"llama\", \"vocab_size\": 5}");
    finds(1, "config", "vocab_size is 5, model.embed_tokens.weight has 3 rows", "--in-place");
    put_model();
    put_tokens("\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 3, \"e\": 4");
    finds(1, "tokenizer", "'e' has the id 4, the embedding model.embed_tokens.weight has 3 rows",
          "--in-place");
}

Test(check_model, heads_and_biases)
{
    static const struct fixture_tensor head[] = {{"model.embed_tokens.weight", 3, 2, 0, NULL},
                                                 {"lm_head.weight", 2, 2, 0, NULL}};
    static const struct fixture_tensor bias[] = {{"model.embed_tokens.weight", 3, 2, 0, NULL},
                                                 {"lm_head.bias", 4, 0, 0, NULL},
                                                 {"lm_head.weight", 3, 2, 0, NULL}};
    put_model();
    put_tensors("model.safetensors", head, 2, 1);
    finds(1, "head", "lm_head.weight has 2 rows", NULL);
    put_tensors("model.safetensors", bias, 3, 1);
    finds(1, "bias", "lm_head.bias has 4 entries", NULL);
}

Test(check_model, tied_or_not)
{
    put_model();
    put_tensors("model.safetensors", untied, 3, 1);
    fixture_text("config.json", CONFIG "\"tie_word_embeddings\": true}");
    finds(1, "tied", "lm_head.weight", NULL);
    put_tensors("model.safetensors", untied, 3, 0); /* the same bytes: a copy */
    finds(0, NULL, NULL, NULL);
    put_tensors("model.safetensors", tied, 1, 1);
    fixture_text("config.json", CONFIG "\"tie_word_embeddings\": false, \"architectures\": "
                                       "[\"LlamaForCausalLM\"]}");
    finds(1, "tied", "none is stored", NULL);
    fixture_text("config.json", CONFIG "\"tie_word_embeddings\": false, \"architectures\": "
                                       "[\"LlamaModel\"]}");
    finds(0, NULL, NULL, NULL);
}

Test(check_model, special_ids)
{
    put_model();
    fixture_text("config.json", CONFIG "\"eos_token_id\": 99}");
    finds(1, "special id", "config.json: eos_token_id is 99", NULL);
    fixture_text("config.json", CONFIG "\"text_config\": {\"image_token_index\": 3}}");
    finds(1, "special id", "image_token_index is 3", NULL);
    fixture_text("config.json", CONFIG "\"bos_token_id\": null}");
    fixture_text("generation_config.json", "{\"eos_token_id\": [2, 7]}");
    finds(1, "special id", "generation_config.json: eos_token_id is 7", NULL);
}

/* The token of a role and the id of it, unless generation ends at that id too. */
Test(check_model, special_tokens_and_their_ids)
{
    put_model();
    fixture_text("config.json", CONFIG "\"eos_token_id\": 1}");
    fixture_text("tokenizer_config.json", "{\"eos_token\": {\"content\": \"c\"}}");
    finds(1, "special id", "eos_token_id is 1, tokenizer_config.json says that the token is 'c'",
          "--role eos='c' --in-place");
    fixture_text("config.json", CONFIG "\"text_config\": {\"eos_token_id\": 1}}");
    finds(1, "special id", "eos_token_id is 1", "--role eos='c' --in-place");
    fixture_text("config.json",
                 CONFIG "\"eos_token_id\": 2, \"text_config\": {\"eos_token_id\": 1}}");
    finds(0, NULL, NULL, NULL);
    fixture_text("config.json", CONFIG "\"eos_token_id\": 1}");
    fixture_text("generation_config.json", "{\"eos_token_id\": [1, 2]}");
    finds(0, NULL, NULL, NULL);
    fixture_text("generation_config.json", "{\"eos_token_id\": [2, 3]}");
    finds(2, "special id", "eos_token_id is 3", NULL); /* a role adds to a list alone */
    cr_expect(strstr(check.faults[1].message, "eos_token_id is [2, 3], config.json says 1"));
    fixture_text("generation_config.json", "{\"eos_token_id\": 3}");
    finds(2, "special id", "eos_token_id is 3", "--role eos='c' --in-place");
}

/* What text is made with, and what the rest of the library takes: ids in common, or one is wrong. */
Test(check_model, ids_of_generation)
{
    put_model();
    fixture_text("config.json", CONFIG "\"eos_token_id\": [0, 1], \"pad_token_id\": null}");
    fixture_text("generation_config.json",
                 "{\"eos_token_id\": 1, \"pad_token_id\": 2, \"bos_token_id\": 0}");
    finds(0, NULL, NULL, NULL);
    fixture_text("generation_config.json", "{\"eos_token_id\": 2}");
    finds(1, "special id", "generation_config.json: eos_token_id is 2, config.json says [0, 1]",
          NULL);
    fixture_text("tokenizer_config.json", "{\"eos_token\": \"c\"}");
    finds(1, "special id", "eos_token_id is 2", "--role eos='c' --in-place");
    fixture_text("tokenizer_config.json", "{\"eos_token\": \"a\"}");
    finds(1, "special id", "eos_token_id is 2", NULL);
    fixture_text("config.json", CONFIG "\"eos_token_id\": null}");
    finds(0, NULL, NULL, NULL);
}

/* A token that no vocabulary has gets an id from each loader. */
Test(check_model, roles_without_a_token)
{
    put_model();
    fixture_text("tokenizer_config.json",
                 "{\"pad_token\": \"<p d>\", \"unk_token\": null, \"cls_token\": \"a\"}");
    finds(1, "tokenizer", "tokenizer_config.json: pad_token is '<p d>', which is in no vocabulary",
          "--add-token '<p d>' --special --in-place");
    fixture_text("special_tokens_map.json",
                 "{\"pad_token\": {\"content\": \"<p d>\"}, \"mask_token\": \"b\"}");
    finds(1, "tokenizer", "tokenizer_config.json: pad_token",
          "--add-token '<p d>' --special --in-place");
    fixture_text("special_tokens_map.json", "{\"mask_token\": {\"content\": \"<m>\"}}");
    finds(2, "tokenizer", "tokenizer_config.json: pad_token",
          "--add-token '<p d>' --special --in-place");
    cr_expect(strstr(check.faults[1].message, "special_tokens_map.json: mask_token is '<m>'"));
    put_tokens("\"a\": 0, \"b\": 1, \"c\": 2, \"<p d>\": 3, \"<m>\": 4");
    finds(1, "tokenizer", "'<m>' has the id 4", "--in-place");
}

/* A class has a default, which is that of one model; inside another model it may be left out. */
Test(check_model, no_vocab_size)
{
    put_model();
    fixture_text("config.json", "{\"model_type\": \"llama\"}");
    finds(1, "config", "there is no vocab_size, so loaders take the default of llama", NULL);
    fixture_text("config.json",
                 "{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"llama\"}}");
    finds(0, NULL, NULL, NULL);
    fixture_text("config.json", "{\"model_type\": \"model2vec\"}");
    finds(0, NULL, NULL, NULL);
}

Test(check_model, tokenizer_files)
{
    put_model();
    fixture_text("added_tokens.json", "{\"b\": 2}");
    finds(1, "tokenizer", "'b' has the id 1", NULL);
    unlink("added_tokens.json");
    put_tokens("\"a\": 0, \"c\": 2");
    finds(1, "tokenizer", "2 entries, its largest id is 2", "--force --in-place");
}

/* Libraries that read the one file and those that read the other would part. */
Test(check_model, two_vocabularies)
{
    put_model();
    fixture_text("vocab.json", "{\"a\": 0, \"b\": 1, \"c\": 2}");
    fixture_text("vocab.txt", "a\nb\nc\nb\n"); /* the last line is of a token that is right too */
    finds(0, NULL, NULL, NULL);
    fixture_text("vocab.json", "{\"a\": 1, \"b\": 0, \"c\": 2, \"e\": 3}");
    finds(1, "tokenizer",
          "'b' has the id 0 in vocab.json and 1 in tokenizer.json, and 1 more differ", NULL);
    fixture_text("vocab.json", "{\"a\": 0, \"x\": 1, \"c\": 2}");
    finds(1, "tokenizer", "id 1 is 'x' in vocab.json and 'b' in tokenizer.json", NULL);
    fixture_text("vocab.json", "{\"a\": ");
    finds(1, "tokenizer", "vocab.json: ", NULL);
    unlink("vocab.json");
    fixture_text("vocab.txt", "b\na\nc\n");
    finds(1, "tokenizer", "'b' has the id 0 in vocab.txt and 1 in tokenizer.json", NULL);
}

Test(check_model, two_tokens_of_an_id)
{
    put_model();
    put_tokens("\"a\": 0, \"x\": 0, \"c\": 2"); /* as many entries as ids */
    finds(1, "tokenizer", "id 0 has two tokens, 'a' and 'x'", NULL);
}

Test(check_model, a_role_with_two_tokens)
{
    put_model();
    fixture_text("tokenizer_config.json", "{\"eos_token\": \"c\", \"bos_token\": \"a\"}");
    fixture_text("special_tokens_map.json",
                 "{\"eos_token\": {\"content\": \"b\"}, \"bos_token\": \"a\"}");
    finds(1, "tokenizer",
          "special_tokens_map.json: eos_token is 'b', tokenizer_config.json says 'c'",
          "--role eos='c' --in-place");
}

Test(check_model, widths)
{
    put_model();
    fixture_text("config.json",
                 "{\"model_type\": \"llama\", \"hidden_size\": 3, \"vocab_size\": 3}");
    finds(1, "config", "hidden_size is 3, rows of model.embed_tokens.weight have 2 numbers", NULL);
    fixture_text("config.json", "{\"model_type\": \"llama\", \"hidden_size\": 3, "
                                "\"embedding_size\": 2, \"vocab_size\": 3}");
    finds(0, NULL, NULL, NULL);
    fixture_text("config.json", "{\"model_type\": \"llava\", \"text_config\": {\"model_type\": "
                                "\"llama\", \"hidden_size\": 4}}");
    finds(1, "config", "hidden_size is 4", NULL);
    fixture_text("config.json", "{\"model_type\": \"unheard-of\", \"hidden_size\": 3}");
    finds(0, NULL, NULL, NULL);
}

/* BART and its like have two rows before that of position 0, the others none. */
Test(check_model, learned_positions)
{
    static const struct fixture_tensor gpt2[] = {{"transformer.wpe.weight", 4, 2, 0, NULL},
                                                 {"transformer.wte.weight", 3, 2, 0, NULL}};
    static const struct fixture_tensor opt[] = {
        {"model.decoder.embed_positions.weight", 4, 2, 0, NULL},
        {"model.decoder.embed_tokens.weight", 3, 2, 0, NULL}};
    put_model();
    put_tensors("model.safetensors", gpt2, 2, 1);
    fixture_text("config.json", "{\"model_type\": \"gpt2\", \"n_embd\": 2, \"vocab_size\": 3, "
                                "\"n_positions\": 4}");
    finds(0, NULL, NULL, NULL);
    fixture_text("config.json", "{\"model_type\": \"gpt2\", \"n_embd\": 2, \"vocab_size\": 3, "
                                "\"n_positions\": 5}");
    finds(1, "config", "n_positions is 5, the positions transformer.wpe.weight have 4 rows", NULL);
    put_tensors("model.safetensors", opt, 2, 1);
    fixture_text("config.json", "{\"model_type\": \"opt\", \"hidden_size\": 2, "
                                "\"vocab_size\": 3, \"max_position_embeddings\": 2}");
    finds(0, NULL, NULL, NULL);
    fixture_text("config.json", "{\"model_type\": \"opt\", \"hidden_size\": 2, "
                                "\"vocab_size\": 3, \"max_position_embeddings\": 4}");
    finds(1, "config", "have 4 rows, 2 of them before position 0", NULL);
}

/* RoBERTa's row of position 0 is the one behind that of the pad id. */
Test(check_model, pad_id_and_positions)
{
#define ROBERTA                                                             \
    "{\"model_type\": \"roberta\", \"hidden_size\": 2, \"vocab_size\": 6, " \
    "\"max_position_embeddings\": 4, \"pad_token_id\": "
    static const struct fixture_tensor tensors[] = {
        {"roberta.embeddings.position_embeddings.weight", 4, 2, 0, NULL},
        {"roberta.embeddings.word_embeddings.weight", 6, 2, 0, NULL}};
    put_model();
    put_tensors("model.safetensors", tensors, 2, 1);
    fixture_text("config.json", ROBERTA "2}");
    finds(0, NULL, NULL, NULL);
    fixture_text("config.json", ROBERTA "3}");
    finds(1, "special id",
          "pad_token_id is 3, the positions roberta.embeddings.position_embeddings.weight, which "
          "are counted from it, have 4 rows",
          NULL);
    fixture_text("config.json", ROBERTA "0}");
    fixture_text("tokenizer_config.json", "{\"pad_token\": \"b\"}");
    finds(1, "special id", "pad_token_id is 0", NULL); /* a role would move every position */
}

Test(check_model, parts_that_are_missing)
{
    put_model();
    unlink("config.json");
    finds(1, "config", "there is no config.json", NULL);
    put_model();
    unlink("tokenizer.json");
    finds(0, NULL, NULL, NULL);
    cr_expect_eq(check.tokens, 0);
}

/* Only commands that are not refused. */
Test(check_model, mends_that_cannot_be)
{
    static const struct fixture_tensor head[] = {{"model.embed_tokens.weight", 3, 2, 0, NULL},
                                                 {"lm_head.weight", 2, 2, 0, NULL}};
    put_model();
    put_tensors("model.safetensors", head, 2, 1);
    put_tokens("\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 3");
    finds(2, "head", "lm_head.weight has 2 rows", NULL);
    cr_expect_str_eq(check.faults[1].what, "tokenizer");
    cr_expect_null(check.faults[1].mend);
    put_model();
    fixture_text("added_tokens.json", "{\"b\": 2}");
    fixture_text("config.json", CONFIG "\"eos_token_id\": 1}");
    fixture_text("tokenizer_config.json", "{\"eos_token\": \"c\", \"pad_token\": \"p\"}");
    finds(3, "tokenizer", "'b' has the id 1", NULL);
    cr_expect_null(check.faults[1].mend);
    cr_expect_null(check.faults[2].mend);
}

/* A token has that id, and only its row is missing. */
Test(check_model, ids_of_tokens_past_the_end)
{
    put_model();
    put_tokens("\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 3");
    fixture_text("config.json", CONFIG "\"eos_token_id\": [3, 4], \"pad_token_id\": 3}");
    finds(4, "tokenizer", "'d' has the id 3", "--in-place");
    cr_expect_str_eq(check.faults[1].mend, "--in-place");
    cr_expect(strstr(check.faults[2].message, "eos_token_id is 4") && !check.faults[2].mend);
    cr_expect_str_eq(check.faults[3].mend, "--in-place");
}

Test(check_model, index_of_shards)
{
    static const struct fixture_tensor norm[] = {{"model.norm.weight", 2, 0, 0, NULL}};
    put_model();
    put_tensors("one.safetensors", tied, 1, 1);
    put_tensors("two.safetensors", norm, 1, 1);
    fixture_text(
        "model.safetensors.index.json",
        "{\"metadata\": {\"total_size\": 32}, \"weight_map\": {\"model.embed_tokens.weight\": "
        "\"one.safetensors\", \"model.norm.weight\": \"two.safetensors\"}}");
    finds(1, "weights", "both here", NULL);
    unlink("model.safetensors");
    finds(0, NULL, NULL, NULL);
    fixture_text(
        "model.safetensors.index.json",
        "{\"metadata\": {\"total_size\": 24}, \"weight_map\": {\"model.embed_tokens.weight\": "
        "\"one.safetensors\", \"model.norm.weight\": \"two.safetensors\"}}");
    finds(1, "index", "total_size is 24, the tensors have 32 bytes", "--in-place");
    fixture_text("model.safetensors.index.json",
                 "{\"weight_map\": {\"model.embed_tokens.weight\": \"one.safetensors\"}}");
    finds(1, "index", "metadata", NULL);
    fixture_text("model.safetensors.index.json",
                 "{\"metadata\": {}, \"weight_map\": {\"model.embed_tokens.weight\": "
                 "\"one.safetensors\", \"x\": \"two.safetensors\"}}");
    finds(1, "index", "two.safetensors: holds no tensor 'x'", NULL);
    cr_expect_eq(check.rows, 0);
}

Test(check_model, nothing_to_check)
{
    cr_expect_eq(emb_check_model(ctx, dir, &check, &err), EMB_UNSUPPORTED);
    put_model();
    fixture_text("config.json", "{\"vocab_size\": }");
    cr_expect_eq(emb_check_model(ctx, dir, &check, &err), EMB_BAD_DATA);
    cr_expect_eq(check.n_faults, 0);
}
