/* test_gguf_model.c - what GGUF files say of their model: sizes, tokens and their text, names of
 * parts, and the tables that are chosen.
 *
 * Alphabets are those of the tokenizers that tokenizer.ggml.model names: GPT-2's bytes as
 * characters, SentencePiece's U+2581 and <0xHH>.
 */
#include "gguf_fixture.h"

#include "model/gguf_model.h"
#include "model/model.h"

static struct log lines;
static struct embi_env env = {.log = collect, .log_arg = &lines};

static struct embi_model *open_model(const struct gguf_file *f)
{
    struct embi_reader *r;
    struct embi_model *m;
    emb_err err;
    lines = (struct log){0};
    cr_assert_eq(open_bytes(&env, f->b.s, f->b.n, "m.gguf", NULL, NULL, &r, &err), EMB_OK, "%s",
                 err.msg);
    cr_assert_eq(embi_model_open_file(r, &m, &err), EMB_OK, "%s", err.msg);
    return m;
}

/* ------------------------------------------------------------------------------------------------
 * Names of parts
 */

static const struct {
    const char *file, *name; /* NULL: no part */
    uint32_t no, count;
} files[] = {
    {"m-00001-of-00003.gguf", "m", 1, 3},
    {"-00003-of-00003.gguf", "", 3, 3},
    {"a-b-00001-of-00001-12345-of-99999.gguf", "a-b-00001-of-00001", 12345, 99999},
    {"m-00000-of-00003.gguf", NULL, 0, 0},
    {"m-00004-of-00003.gguf", NULL, 0, 0},
    {"m-0001-of-00003.gguf", NULL, 0, 0},
    {"m-00001-of-0003.gguf", NULL, 0, 0},
    {"m-000a1-of-00003.gguf", NULL, 0, 0},
    {"m-00001_of-00003.gguf", NULL, 0, 0},
    {"m_00001-of-00003.gguf", NULL, 0, 0},
    {"m-00001-of-00003.ggux", NULL, 0, 0},
    {"00001-of-00003.gguf", NULL, 0, 0},
    {"m.gguf", NULL, 0, 0},
    {"", NULL, 0, 0},
};

Test(gguf_model, names_of_parts)
{
    for (size_t i = 0; i < EMBI_LEN(files); i++) {
        struct embi_gguf_part part;
        bool is_part = embi_gguf_part_of(files[i].file, &part);
        cr_assert_eq(is_part, files[i].name != NULL, "%s", files[i].file);
        if (is_part)
            cr_assert(embi_str_is(part.name, files[i].name) && part.no == files[i].no &&
                      part.count == files[i].count);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

enum { TOKENS = 5 };

static const struct {
    const char *model;
    const char *tokens[TOKENS], *texts[TOKENS];
} vocabularies[] = {
    {"gpt2",
     {"\u0120cat", "cat", "\u010A", "<|end|>", "\u00C3\u00A9"},
     {" cat", "cat", "\n", "<|end|>", "\u00E9"}},
    {"llama",
     {"\u2581cat", "cat", "<0x0A>", "</s>", "a\u2581b"},
     {" cat", "cat", "\n", "</s>", "a b"}},
    {"t5", {"\u2581cat", "cat", "<0x0A>", "</s>", ""}, {" cat", "cat", "<0x0A>", "</s>", ""}},
    {"bert", {"\u2581cat", "s", "[CLS]", ".", "#"}, {" cat", "s", "[CLS]", ".", "#"}},
    /* guessed: one with the mark of GPT-2 is more than one in 64 */
    {"another", {"\u0120cat", "cat", "dog", "x", "y"}, {" cat", "cat", "dog", "x", "y"}},
};

static void put_vocabulary(struct gguf_file *f, const char *model, const char *const *tokens,
                           size_t n)
{
    gguf_string(f, "tokenizer.ggml.model", model);
    gguf_strings(f, "tokenizer.ggml.tokens", tokens, n);
}

Test(gguf_model, texts)
{
    for (size_t i = 0; i < EMBI_LEN(vocabularies); i++) {
        struct gguf_file f = {.version = 3, .big = i % 2};
        struct embi_tokenizer t;
        struct embi_buf text = {0};
        emb_err err;
        gguf_begin(&f, 0, 2);
        put_vocabulary(&f, vocabularies[i].model, vocabularies[i].tokens, TOKENS);
        struct embi_model *m = open_model(&f);
        cr_assert(embi_gguf_has_tokens(&m->weights));
        cr_assert_eq(embi_gguf_tokens(&m->weights, &t, &err), EMB_OK, "%s", err.msg);
        cr_assert(t.n == TOKENS && t.count == TOKENS);
        for (size_t k = 0; k < TOKENS; k++) {
            text.n = 0;
            cr_assert(embi_str_is(t.tokens[k], vocabularies[i].tokens[k]));
            embi_piece_text(&t.pieces, t.tokens[k], &text);
            cr_assert(embi_str_is((emb_str){text.s, text.n}, vocabularies[i].texts[k]), "%s",
                      vocabularies[i].tokens[k]);
        }
        embi_buf_free(&text);
        embi_tokenizer_free(&t);
        embi_model_free(m);
        embi_buf_free(&f.b);
    }
}

/* Ids that are none of the tokens are warned of; 2^32 - 1 says that there is none. */
Test(gguf_model, special_ids)
{
    static const struct {
        const char *key;
        uint64_t id;
        int warnings;
    } ids[] = {
        {"tokenizer.ggml.bos_token_id", 4, 0},
        {"tokenizer.ggml.bos_token_id", 5, 1},
        {"tokenizer.ggml.seperator_token_id", 5, 1},
        {"tokenizer.ggml.separator_token_id", 5, 1},
        {"tokenizer.ggml.padding_token_id", UINT32_MAX, 0},
        {"tokenizer.ggml.other_token_id", 5, 0},
    };
    for (size_t i = 0; i < EMBI_LEN(ids); i++) {
        struct gguf_file f = {.version = 3};
        struct embi_tokenizer t;
        emb_err err;
        gguf_begin(&f, 0, 3);
        put_vocabulary(&f, "gpt2", vocabularies[0].tokens, TOKENS);
        gguf_number(&f, ids[i].key, EMBI_GGUF_U32, ids[i].id, 4);
        struct embi_model *m = open_model(&f);
        cr_assert_eq(embi_gguf_tokens(&m->weights, &t, &err), EMB_OK, "%s", err.msg);
        cr_assert_eq(lines.lines, ids[i].warnings, "%zu", i);
        embi_tokenizer_free(&t);
        embi_model_free(m);
        embi_buf_free(&f.b);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Sizes and tables
 */

/* The tokens count where the architecture does not say another number. */
Test(gguf_model, sizes)
{
    for (int said = 0; said < 2; said++) {
        struct gguf_file f = {.version = 2};
        gguf_begin(&f, 0, (uint64_t)(4 + said));
        gguf_string(&f, "general.architecture", "qwen2");
        put_vocabulary(&f, "gpt2", vocabularies[0].tokens, TOKENS);
        gguf_number(&f, "qwen2.embedding_length", EMBI_GGUF_U32, 64, 4);
        if (said)
            gguf_number(&f, "qwen2.vocab_size", EMBI_GGUF_U32, 8, 4);
        struct embi_model *m = open_model(&f);
        cr_assert_str_eq(m->config.type, "qwen2");
        cr_assert_eq(m->config.vocab_size, said ? 8 : TOKENS);
        cr_assert(embi_config_has_width(&m->config, 64));
        embi_model_free(m);
        embi_buf_free(&f.b);
    }
}

/* Tables have their names whatever the architecture is called elsewhere, and wherever they stand. */
Test(gguf_model, tables)
{
    static const struct {
        const char *names[3];
        size_t input, head;
        int tied;
    } models[] = {
        {{"token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"}, 0, EMBI_NO_TENSOR, 1},
        {{"output.weight", "blk.0.attn_q.weight", "token_embd.weight"}, 2, 0, 0},
        {{"per_layer_token_embd.weight", "token_embd.weight", "position_embd.weight"},
         1,
         EMBI_NO_TENSOR,
         1},
    };
    for (size_t i = 0; i < EMBI_LEN(models); i++) {
        struct gguf_file f = {.version = 3};
        size_t input, head;
        int tied;
        emb_err err;
        gguf_begin(&f, 3, 1);
        gguf_string(&f, "general.architecture", "llama");
        for (size_t k = 0; k < 3; k++)
            gguf_info(&f, models[i].names[k], 4, 2, 0, 32 * k);
        gguf_data(&f, 32);
        for (size_t k = 0; k < 3; k++)
            embi_buf_fill(&f.b, (char)k, 32);
        struct embi_model *m = open_model(&f);
        cr_assert_eq(embi_choose_input(m, &input, &err), EMB_OK, "%s", err.msg);
        cr_assert_eq(input, models[i].input);
        cr_assert_eq(embi_choose_head(m, input, &head, &err), EMB_OK, "%s", err.msg);
        cr_assert_eq(head, models[i].head);
        cr_assert_eq(embi_model_tied(m, input, head, &tied, &err), EMB_OK, "%s", err.msg);
        cr_assert_eq(tied, models[i].tied);
        embi_model_free(m);
        embi_buf_free(&f.b);
    }
}
