/* test_tokenizer_dir.c - the vocabulary of a model directory: which file wins, what the others add.
 */
#include "tokenizer_fixture.h"

#include <unistd.h>

static char folder[] = "/tmp/embtool-tokenizer-XXXXXX";
static bool found;

static void enter(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void leave(void)
{
    char command[64];
    embi_tokenizer_free(&tok);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(tokenizer_dir, .init = enter, .fini = leave);

static void put(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "w");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static emb_status open_dir(void)
{
    embi_tokenizer_free(&tok);
    warnings = (struct log){0};
    return embi_tokenizer_open_dir(&env, folder, &tok, &found, &err);
}

static void opens_dir(const char *tokens)
{
    cr_assert_eq(open_dir(), EMB_OK, "%s", err.msg);
    cr_expect(found);
    cr_expect(tokens_are(tokens));
}

#define TOKENIZER                                                                       \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"<s>\": 0, \"</s>\": 1, \"a\": 2}}, " \
    "\"added_tokens\": [{\"id\": 0, \"content\": \"<s>\"}, {\"id\": 3, \"content\": \"<m>\"}]}"

Test(tokenizer_dir, nothing_there)
{
    put_text("tokenizer_config.json", "{\"added_tokens_decoder\": {\"0\": {\"content\": \"x\"}}}");
    cr_expect_eq(open_dir(), EMB_OK);
    cr_expect(!found && !tok.tokens);
}

Test(tokenizer_dir, the_surest_file_wins)
{
    put_text("tekken.json", "{\"config\": {\"default_num_special_tokens\": 1}, \"vocab\": []}");
    opens_dir("<SPECIAL_0>");
    put_text("b.tiktoken", "Zm8= 0\n");
    put_text("a.tiktoken", "Zg== 0\n");
    opens_dir("f");
    put("tokenizer.model", "\x0A\x09\x0A\x05<unk>\x18\x02", 11);
    opens_dir("<unk>");
    put_text("vocab.txt", "line\n");
    opens_dir("line");
    put_text("vocab.json", "{\"x\": 0}");
    opens_dir("x");
    put_text("tokenizer.json", TOKENIZER);
    opens_dir("<s>|</s>|a|<m>");
}

Test(tokenizer_dir, a_token_in_three_places_is_one)
{
    put_text("tokenizer.json", TOKENIZER);
    put_text("added_tokens.json", "{\"<m>\": 3}");
    put_text("tokenizer_config.json",
             "{\"model_max_length\": 1000000000000000019884624838656, \"added_tokens_decoder\": "
             "{\"0\": {\"content\": \"<s>\"}, \"3\": {\"content\": \"<m>\", \"special\": true}}}");
    opens_dir("<s>|</s>|a|<m>");
    cr_expect_eq(warnings.lines, 0);
    cr_expect_eq(tok.count, 4);
    cr_expect_eq(tok.next_id, 4);
}

Test(tokenizer_dir, others_add_what_they_alone_know)
{
    put_text("tokenizer.json", TOKENIZER);
    put_text("tokenizer_config.json",
             "{\"added_tokens_decoder\": {\"5\": {\"content\": \"\\u00e9\"}}}");
    put_text("added_tokens.json", "{\"<n>\": 4}");
    opens_dir("<s>|</s>|a|<m>|<n>|é");
    cr_expect_eq(warnings.lines, 0);
    cr_expect_eq(tok.next_id, 6);
}

Test(tokenizer_dir, conflicts_are_said_once)
{
    put_text("tokenizer.json", TOKENIZER);
    put_text("tokenizer_config.json",
             "{\"added_tokens_decoder\": {\"3\": {\"content\": \"<x>\"}}}");
    opens_dir("<s>|</s>|a|<m>");
    cr_expect_eq(warnings.lines, 1);
    cr_expect(strstr(warnings.last, "id 3 has two tokens, '<m>' (kept) and '<x>'"), "%s",
              warnings.last);
}

Test(tokenizer_dir, a_content_keeps_its_id)
{
    put_text("tokenizer.json", TOKENIZER);
    put_text("added_tokens.json", "{\"<m>\": 9}");
    opens_dir("<s>|</s>|a|<m>");
    cr_expect_eq(warnings.lines, 1);
    cr_expect(strstr(warnings.last, "'<m>' is 3, the file says 9"), "%s", warnings.last);
}

Test(tokenizer_dir, refusals_name_the_file)
{
    put_text("tokenizer.json", "{\"model\": {\"vocab\": {\"a\": -1}}}");
    cr_expect_eq(open_dir(), EMB_BAD_DATA);
    cr_expect(strstr(err.msg, "tokenizer.json: ") == err.msg, "%s", err.msg);
    put_text("tokenizer.json", TOKENIZER);
    put_text("added_tokens.json", "{\"x\": \"y\"}");
    cr_expect_eq(open_dir(), EMB_BAD_DATA);
    cr_expect(strstr(err.msg, "added_tokens.json: ") == err.msg, "%s", err.msg);
    put_text("tokenizer_config.json", "{\"added_tokens_decoder\": {\"x\": {\"content\": \"y\"}}}");
    cr_expect_eq(open_dir(), EMB_BAD_DATA);
    cr_expect(strstr(err.msg, "tokenizer_config.json: ") == err.msg, "%s", err.msg);
    cr_expect(strstr(err.msg, "a token id"), "%s", err.msg);
}

/* XLM-R's rows: its four special tokens, then the pieces from the fourth on, then <mask>. */
Test(tokenizer_dir, fairseq_rows)
{
    static const char model[] = "\x0A\x09\x0A\x05<unk>\x18\x02"
                                "\x0A\x07\x0A\x03<s>\x18\x03"
                                "\x0A\x08\x0A\x04</s>\x18\x03"
                                "\x0A\x03\x0A\x01,"
                                "\x0A\x03\x0A\x01.";
    put("sentencepiece.bpe.model", model, sizeof model - 1);
    opens_dir("<unk>|<s>|</s>|,|.");
    put_text("tokenizer_config.json", "{\"tokenizer_class\": \"XLMRobertaTokenizer\"}");
    opens_dir("<s>|<pad>|</s>|<unk>|,|.|<mask>");
    put_text("tokenizer_config.json", "{\"tokenizer_class\": \"NllbTokenizer\", "
                                      "\"added_tokens_decoder\": {\"8\": {\"content\": \"deu\"}}}");
    opens_dir("<s>|<pad>|</s>|<unk>|,|.|.|.|deu");
    put_text("tokenizer_config.json", "{\"tokenizer_class\": \"PegasusTokenizer\"}");
    cr_expect_eq(open_dir(), EMB_UNSUPPORTED);
    cr_expect(strstr(err.msg, "PegasusTokenizer"), "%s", err.msg);
}
