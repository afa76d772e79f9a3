/* test_tokenizer_files.c - vocabulary files that are not JSON, tekken.json, and how files are told
 * apart.
 *
 * SentencePiece messages are spelled byte by byte after sentencepiece_model.proto; base64 is that
 * of RFC 4648 section 10.
 */
#include "tokenizer_fixture.h"

/* ------------------------------------------------------------------------------------------------
 * One token a line
 */

Test(vocab_lines, the_line_is_the_id)
{
    opens("words.txt", "[PAD]\n\nthe cat \r\n##s");
    cr_expect_eq(tok.kind, EMBI_TOKENIZER_LINES);
    cr_expect(tokens_are("[PAD]|.|the cat |##s"));
    cr_expect_eq(tok.next_id, 4);
    cr_expect(text_is(STR("##s"), STR("s")));
    embi_tokenizer_free(&tok);
}

Test(vocab_lines, wordpiece_drops_blanks_at_the_end)
{
    opens("dir/vocab.txt", "a \t\n \n b\nb\nb\n\n");
    cr_expect(tokens_are("a|.| b|b|b"));
    cr_expect_eq(tok.next_id, 6, "blank lines use up ids");
    embi_tokenizer_free(&tok);
    opens("vocab.txt", "");
    cr_expect(tokens_are(""));
    embi_tokenizer_free(&tok);
}

Test(vocab_lines, refusals)
{
    const char gzip[] = "\x1F\x8B\x08\0\0\0";
    cr_expect_eq(open_named("x", gzip, sizeof gzip), EMB_UNSUPPORTED);
    cr_expect_eq(err.at, 3);
    refuses("vocab.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            EMB_UNSUPPORTED, "Git LFS");
}

/* ------------------------------------------------------------------------------------------------
 * SentencePiece
 */

static struct embi_buf model;

static void add_piece(const char *piece, int type)
{
    size_t n = strlen(piece);
    cr_assert(n < 100);
    embi_buf_byte(&model, '\x0A');
    embi_buf_byte(&model, (char)(2 + n + 5 + (type ? 2 : 0)));
    embi_buf_byte(&model, '\x0A');
    embi_buf_byte(&model, (char)n);
    embi_buf_text(&model, piece);
    embi_buf_add(&model, "\x15\0\0\x80\xBF", 5); /* score -1 */
    if (type) {
        embi_buf_byte(&model, '\x18');
        embi_buf_byte(&model, (char)type);
    }
}

enum { UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6 };

static void begin_model(void)
{
    embi_buf_free(&model);
    add_piece("<unk>", UNKNOWN);
}

static void add_bytes(int from)
{
    for (int byte = from; byte < 256; byte++) {
        char piece[8];
        (void)snprintf(piece, sizeof piece, "<0x%02X>", byte);
        add_piece(piece, BYTE);
    }
}

static const char byte_fallback[] = "\x12\x03\x98\x02\x01"; /* trainer_spec { 35: true } */

static void model_is(emb_status want, const char *words)
{
    cr_expect_eq(open_named("x.model", model.s, model.n), want, "%s: %s", words, err.msg);
    if (want)
        cr_expect(strstr(err.msg, words), "'%s' is not in '%s'", words, err.msg);
    embi_buf_free(&model);
}

Test(sentencepiece, the_index_is_the_id)
{
    begin_model();
    add_piece("<s>", CONTROL);
    add_piece("▁cat", 0);
    add_piece("<s>", USER);                     /* not among the same pieces as the control one */
    embi_buf_add(&model, "\x1A\x02\x0A\0", 4);  /* normalizer_spec { name: "" } */
    embi_buf_add(&model, "\xC2\x0C\x03xyz", 6); /* field 200, an extension */
    embi_buf_add(&model, "\xC8\x0C\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 12); /* 201: -1 */
    embi_buf_add(&model,
                 "\xC9\x0C"
                 "12345678",
                 10);
    model_is(EMB_OK, "");
    cr_expect_eq(tok.kind, EMBI_TOKENIZER_SENTENCEPIECE);
    cr_expect(tokens_are("<unk>|<s>|▁cat|<s>"));
    cr_expect_eq(tok.next_id, 4);
    cr_expect(text_is(STR("▁cat"), STR(" cat")));
    cr_expect(text_is(STR("<0x41>"), STR("<0x41>")), "without byte_fallback no piece is a byte");
    embi_tokenizer_free(&tok);
}

Test(sentencepiece, byte_fallback)
{
    begin_model();
    add_bytes(0);
    embi_buf_add(&model, byte_fallback, 5);
    model_is(EMB_OK, "");
    cr_expect_eq(tok.n, 257);
    cr_expect(text_is(STR("<0x41>"), STR("A")));
    embi_tokenizer_free(&tok);
}

Test(sentencepiece, refusals)
{
    begin_model();
    add_piece("", 0);
    model_is(EMB_BAD_DATA, "piece 1 is empty");

    begin_model();
    add_piece("a", 0);
    add_piece("a", USER);
    model_is(EMB_BAD_DATA, "piece 2 'a' was there before");

    begin_model();
    add_piece("<unk>", CONTROL);
    model_is(EMB_BAD_DATA, "piece 1 '<unk>' was there before");

    begin_model();
    add_piece("<other>", UNKNOWN);
    model_is(EMB_BAD_DATA, "second unknown");

    add_piece("a", 0);
    model_is(EMB_BAD_DATA, "no unknown piece");

    begin_model();
    add_piece("<0x00>", BYTE);
    model_is(EMB_BAD_DATA, "byte_fallback is off");

    begin_model();
    add_bytes(1);
    embi_buf_add(&model, byte_fallback, 5);
    model_is(EMB_BAD_DATA, "found 255");

    begin_model();
    add_piece("<0x4g>", BYTE);
    model_is(EMB_BAD_DATA, "no <0x..>");

    begin_model();
    embi_buf_add(&model, "\x0B", 1);
    model_is(EMB_BAD_DATA, "a group");

    begin_model();
    embi_buf_add(&model, "\x07", 1);
    model_is(EMB_BAD_DATA, "no field");

    begin_model();
    embi_buf_add(&model, "\x0F", 1);
    model_is(EMB_BAD_DATA, "unknown wire type");

    begin_model();
    embi_buf_add(&model,
                 "\x1A\x05"
                 "abc",
                 5);
    model_is(EMB_BAD_DATA, "longer than what is left");

    begin_model();
    embi_buf_add(&model, "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 11);
    model_is(EMB_BAD_DATA, "does not fit 64 bits");

    begin_model();
    embi_buf_add(&model, "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 12);
    model_is(EMB_BAD_DATA, "does not fit 64 bits");

    begin_model();
    embi_buf_add(&model, "\x1A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11);
    model_is(EMB_BAD_DATA, "longer than what is left");
}

Test(sentencepiece, cut_short)
{
    begin_model();
    add_piece("▁a", 0);
    size_t n = model.n;
    const size_t first = 16; /* bytes of <unk>: there the rest is a whole model too */
    for (size_t cut = 0; cut < n; cut++) {
        emb_status want = cut == first ? EMB_OK : EMB_BAD_DATA;
        cr_expect_eq(open_named("x.model", model.s, cut), want, "%zu", cut);
        embi_tokenizer_free(&tok);
    }
    embi_buf_free(&model);
}

/* ------------------------------------------------------------------------------------------------
 * tiktoken
 */

Test(tiktoken, ranks_are_ids)
{
    opens("x", "Zg== 0\nZm8= 1\r\n\nZm9v 2\n/+8A 3\nZm9vYg== 5");
    cr_expect_eq(tok.kind, EMBI_TOKENIZER_TIKTOKEN);
    cr_expect_eq(tok.n, 6);
    cr_expect_eq(tok.count, 5);
    cr_expect(embi_str_is(tok.tokens[0], "f") && embi_str_is(tok.tokens[1], "fo"));
    cr_expect(embi_str_is(tok.tokens[2], "foo") && embi_str_is(tok.tokens[5], "foob"));
    cr_expect(embi_str_equal(tok.tokens[3], STR("\xFF\xEF\0")));
    cr_expect_null(tok.tokens[4].s);
    cr_expect(text_is(STR("Ġ"), STR("Ġ")), "its tokens are bytes already");
    embi_tokenizer_free(&tok);
}

Test(tiktoken, refusals)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"Zg== 0\n^Zg= 1\n", "base64"},     {"Zg== 0\n^Zg 1\n", "base64"},
        {"Zg== 0\n^Zh== 1\n", "base64"},    {"Zg== 0\n^Z=== 1\n", "base64"},
        {"Zg== 0\n^Zg==Zg== 1", "base64"},  {"Zg== 0\n^Z!== 1", "base64"},
        {"Zg== 0\n^Zg==\n", "base64"},      {"Zg== 0\n^Zg== \n", "base64"},
        {"Zg== 0\n^Zg== -1\n", "base64"},   {"Zg== 0\n^Zg==  1\n", "base64"},
        {"Zg== 0\n^ 1\n", "base64"},        {"Zg== 0\n^Zg== 99999999999\n", "base64"},
        {"Zg== 0\n^Zm8= 0\n", "was there"}, {"Zg== 0\n^Zg== 0\n", "was there"},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++)
        refuses("x.tiktoken", cases[i].text, EMB_BAD_DATA, cases[i].words);
    refuses("x.tiktoken", "Zg== 0\n^Zm8= 4194999\n", EMB_UNSUPPORTED, "too far");
}

/* ------------------------------------------------------------------------------------------------
 * tekken.json
 */

#define VOCAB                                                                      \
    "\"vocab\": [{\"rank\": 0, \"token_bytes\": \"Zg==\", \"token_str\": \"f\"}, " \
    "{\"rank\": 1, \"token_bytes\": \"\\/w==\", \"token_str\": null}, "            \
    "{\"rank\": 2, \"token_bytes\": \"Zm9v\", \"token_str\": \"foo\"}]"
#define CONFIG(v, s) \
    "\"config\": {\"default_vocab_size\": " v ", \"default_num_special_tokens\": " s "}"

Test(tekken, ids)
{
    opens("x",
          "{" CONFIG("5", "3") ", " VOCAB ", \"special_tokens\": [{\"rank\": 1, \"token_str\": "
                               "\"<s>\", \"is_control\": true}]}");
    cr_expect_eq(tok.kind, EMBI_TOKENIZER_TEKKEN);
    cr_expect(tokens_are("<SPECIAL_0>|<s>|<SPECIAL_2>|f|\xFF"));
    cr_expect_eq(tok.next_id, 5);
    embi_tokenizer_free(&tok);
}

Test(tekken, without_special_tokens_and_with_config_last)
{
    opens("x", "{" VOCAB ", " CONFIG("99", "1") "}");
    cr_expect(tokens_are("<SPECIAL_0>|f|\xFF|foo"));
    embi_tokenizer_free(&tok);
}

#define A32  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define A256 A32 A32 A32 A32 A32 A32 A32 A32

/* Without its escape the text is nearly as long as with it, and its bytes need room besides. */
Test(tekken, long_text_with_an_escape)
{
    opens("x", "{" CONFIG("2", "1") ", \"vocab\": [{\"rank\": 0, \"token_bytes\": \"" A256 A256
                                    "\\/w==\"}]}");
    cr_assert_eq(tok.n, 2);
    cr_assert_eq(tok.tokens[1].n, 2 * 256 / 4 * 3 + 1);
    cr_expect_eq(tok.tokens[1].s[0], 0);
    cr_expect_eq((unsigned char)tok.tokens[1].s[2 * 256 / 4 * 3], 0xFF);
    embi_tokenizer_free(&tok);
}

Test(tekken, refusals)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"config\": {}, " VOCAB "}", "default_num_special_tokens"},
        {"{\"config\": {\"default_vocab_size\": ^-1}, " VOCAB "}", "a count"},
        {"{" CONFIG("5", "1") ", \"vocab\": [{\"rank\": 0, \"token_bytes\": ^\"Zg=\"}]}", "base64"},
        {"{" CONFIG("5", "1") ", \"vocab\": [^{\"rank\": 0}]}", "token_bytes"},
        {"{" CONFIG("5", "1") ", \"vocab\": [^{\"token_bytes\": \"Zg==\"}]}", "a token id"},
        {"{" CONFIG("5", "1") ", \"vocab\": [{\"rank\": 0, \"token_bytes\": \"Zg==\"}, "
                              "^{\"rank\": 0, \"token_bytes\": \"Zg==\"}]}",
         "was there before"},
        {"{" CONFIG("5", "1") ", " VOCAB
                              ", \"special_tokens\": [^{\"rank\": 1, \"token_str\": \"a\"}]}",
         "among the special tokens"},
        {"{" CONFIG("5", "1") ", " VOCAB ", \"special_tokens\": [^{\"rank\": 0}]}", "token_str"},
        {"{" CONFIG("5", "1") ", " VOCAB "^", "expected"},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++)
        refuses("tekken.json", cases[i].text, EMB_BAD_DATA, cases[i].words);
    refuses("x", "{" CONFIG("99999999", "65537") ", " VOCAB "}", EMB_UNSUPPORTED, "at most 65536");
    refuses("x", "{" CONFIG("5", "6") ", " VOCAB "}", EMB_UNSUPPORTED, "no more than tokens");
}

/* ------------------------------------------------------------------------------------------------
 * Telling them apart
 */

Test(tokenizer, text_that_looks_like_something_else)
{
    static const char *const lists[] = {
        "{\n\"\n:\n}\n",      /* punctuation, one a line                             */
        "word 12\ncats 99\n", /* base64 and a number, but no ranks that follow       */
        "\n\na\n",            /* LF LF LF-like beginnings of a protobuf              */
        "\nb\nab\n[x]\n",
    };
    for (size_t i = 0; i < EMBI_LEN(lists); i++) {
        opens("x.txt", lists[i]);
        cr_expect_eq(tok.kind, EMBI_TOKENIZER_LINES, "%s", lists[i]);
        embi_tokenizer_free(&tok);
    }
}

Test(tokenizer, names_decide_what_a_broken_file_should_have_been)
{
    refuses("a.model", "nothing", EMB_BAD_DATA, "sentencepiece");
    refuses("a.spm", "nothing", EMB_BAD_DATA, "sentencepiece");
    refuses("a.tiktoken", "nothing", EMB_BAD_DATA, "tiktoken");
    refuses("a.json", "nothing", EMB_BAD_DATA, "JSON");
    refuses("tekken.json", "nothing", EMB_BAD_DATA, "JSON");
    refuses("config.json", "{\"hidden_size\": \"x\"}", EMB_BAD_DATA, "no key \"model\"");
}

Test(tokenizer, no_such_file)
{
    cr_expect_eq(embi_tokenizer_open_file(&env, "/nonexistent/tokenizer.json", &tok, &err), EMB_IO);
    cr_expect_null(tok.tokens);
}
