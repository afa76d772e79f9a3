/* test_tokenizer_json.c - tokenizer.json and vocab.json.
 *
 * Ids of added tokens are those that the tokenizers library (0.22) gives; peers/check_tokenizers.py
 * compares many more with it.
 */
#include "tokenizer_fixture.h"

#define NAME "tokenizer.json"

/* A tokenizer with that vocabulary and those members before it. */
static void opens_bpe(const char *members, const char *vocab)
{
    char text[4096];
    (void)snprintf(
        text, sizeof text,
        "{%s\"model\": {\"type\": \"BPE\", \"vocab\": %s, \"merges\": [[\"a\", \"b\"]]}}", members,
        vocab);
    opens(NAME, text);
}

Test(tokenizer_json, object_in_any_order_with_holes)
{
    opens_bpe("", "{\"c\": 5, \"a\": 0, \"\": 2, \"\\u0120b\\ud83d\\ude42\\\"\": 3}");
    cr_expect(tokens_are("a|.||Ġb🙂\"|.|c"));
    cr_expect_eq(tok.kind, EMBI_TOKENIZER_JSON);
    cr_expect_eq(tok.next_id, 4, "the size of the vocabulary, not the largest id");
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, tokens_may_hold_nul)
{
    opens_bpe("", "{\"a\\u0000b\": 0}");
    cr_expect(embi_str_equal(tok.tokens[0], STR("a\0b")));
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, unigram)
{
    opens(NAME, "{\"model\": {\"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"\\u2581a\", -1e30], "
                "[\"b\", -2.5]], \"type\": \"Unigram\"}}");
    cr_expect(tokens_are("<unk>|▁a|b"));
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, type_may_be_missing)
{
    opens(NAME, "{\"model\": {\"vocab\": [[\"x\", 0]]}}");
    cr_expect(tokens_are("x"));
    embi_tokenizer_free(&tok);
    opens(NAME, "{\"model\": {\"vocab\": {\"x\": 0}}}");
    cr_expect(tokens_are("x"));
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, added_tokens_are_numbered_by_the_loaders_rule)
{
    opens_bpe(
        "\"added_tokens\": [{\"id\": 1, \"content\": \"b\"}, {\"id\": 2, \"content\": \"x\"}, "
        "{\"id\": 3, \"content\": \"y\"}], ",
        "{\"a\": 0, \"b\": 1}");
    cr_expect(tokens_are("a|b|x|y"));
    cr_expect_eq(tok.next_id, 4);
    cr_expect_eq(warnings.lines, 0);
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, written_ids_are_only_checked)
{
    opens_bpe("\"added_tokens\": [{\"content\": \"x\", \"id\": 9}, {\"id\": 0, \"content\": \"\"}, "
              "{\"id\": 0, \"content\": \"b\"}, {\"id\": 2, \"content\": \"x\"}], ",
              "{\"a\": 0, \"b\": 1}");
    cr_expect(tokens_are("a|b|x"));
    cr_expect_eq(warnings.lines, 1);
    cr_expect(strstr(warnings.last, "2 added tokens"), "%s", warnings.last);
    cr_expect(strstr(warnings.last, "'x' is 2, the file says 9"), "%s", warnings.last);
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, an_added_token_beyond_a_hole_moves_the_next_one)
{
    opens_bpe(
        "\"added_tokens\": [{\"id\": 7, \"content\": \"b\"}, {\"id\": 8, \"content\": \"x\"}], ",
        "{\"a\": 0, \"b\": 7}");
    cr_expect(tokens_are("a|.|.|.|.|.|.|b|x"));
    cr_expect_eq(warnings.lines, 0);
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, an_added_token_takes_an_id_that_is_in_use)
{
    opens_bpe("\"added_tokens\": [{\"id\": 2, \"content\": \"x\"}], ", "{\"a\": 0, \"b\": 2}");
    cr_expect(tokens_are("a|.|x"));
    cr_expect_eq(warnings.lines, 1);
    cr_expect(strstr(warnings.last, "id 2 has two tokens, 'x' (kept) and 'b'"), "%s",
              warnings.last);
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, two_pieces_with_one_id)
{
    opens_bpe("", "{\"a\": 0, \"b\": 0, \"c\": 0}");
    cr_expect(tokens_are("a"));
    cr_expect_eq(warnings.lines, 1);
    cr_expect(strstr(warnings.last, "'a' (kept) and 'b', and 1 more"), "%s", warnings.last);
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, many_added_tokens)
{
    char text[64 * 300 + 200];
    size_t n = (size_t)sprintf(text, "{\"added_tokens\": [");
    for (int i = 0; i < 300; i++)
        n += (size_t)sprintf(text + n, "%s{\"id\": %d, \"content\": \"<%d>\"}", i ? ", " : "",
                             1 + i, i);
    sprintf(text + n, "], \"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}");
    opens(NAME, text);
    cr_expect_eq(tok.n, 301);
    cr_expect_eq(tok.count, 301);
    cr_expect(embi_str_is(tok.tokens[300], "<299>"));
    embi_tokenizer_free(&tok);
}

/* ------------------------------------------------------------------------------------------------
 * Decoders
 */

static void decodes(const char *decoder, emb_str piece, emb_str text)
{
    char members[600];
    (void)snprintf(members, sizeof members, "\"decoder\": %s, ", decoder);
    opens_bpe(members, "{\"a\": 0}");
    cr_expect(text_is(piece, text), "%s: %s", decoder, piece.s);
    embi_tokenizer_free(&tok);
}

Test(tokenizer_json, decoders)
{
    const char *llama =
        "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": "
        "{\"String\": \"▁\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"}, "
        "{\"type\": \"Fuse\"}, {\"type\": \"Strip\", \"content\": \" \", "
        "\"start\": 1, \"stop\": 0}]}";
    decodes(llama, STR("▁a▁b"), STR(" a b"));
    decodes(llama, STR("<0xe2>"), STR("\xE2"));
    decodes(llama, STR("<0xE2>x"), STR("<0xE2>x"));
    decodes("{\"type\": \"ByteLevel\", \"add_prefix_space\": true}", STR("Ġcaf\u00C3\u00A9"),
            STR(" caf\u00E9"));
    decodes("{\"prefix\": \"##\", \"cleanup\": true, \"type\": \"WordPiece\"}", STR("##ing"),
            STR("ing"));
    decodes("{\"type\": \"WordPiece\", \"prefix\": \"@@\"}", STR("##ing"), STR("##ing"));
    decodes("{\"type\": \"Metaspace\", \"replacement\": \"_\"}", STR("_a"), STR(" a"));
    decodes("{\"type\": \"Metaspace\"}", STR("▁a"), STR(" a"));
    decodes("{\"type\": \"BPEDecoder\", \"suffix\": \"</w>\"}", STR("cat</w>"), STR("cat "));
    decodes("{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"a\"}, \"content\": \" \"}",
            STR("banana"), STR("banana"));
    decodes("{\"type\": \"CTC\", \"pad_token\": \"a\"}", STR("a▁"), STR("a▁"));
}

Test(tokenizer_json, without_a_decoder_the_pieces_say_it)
{
    opens_bpe("\"decoder\": null, ", "{\"a\": 0, \"▁b\": 1}");
    cr_expect(text_is(STR("▁b"), STR(" b")));
    embi_tokenizer_free(&tok);
    opens_bpe("", "{\"a\": 0, \"##b\": 1}");
    cr_expect(text_is(STR("##b"), STR("b")));
    cr_expect(text_is(STR("▁b"), STR("▁b")));
    embi_tokenizer_free(&tok);
}

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */

Test(tokenizer_json, refusals)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"model\": {\"vocab\": {\"a\": ^-1}}}", "a token id"},
        {"{\"model\": {\"vocab\": {\"a\": ^1.0}}}", "a token id"},
        {"{\"model\": {\"vocab\": {\"a\": ^1e0}}}", "a token id"},
        {"{\"model\": {\"vocab\": {\"a\": ^\"1\"}}}", "a token id"},
        {"{\"model\": {\"vocab\": {\"a\": ^2147483649}}}", "a token id"},
        {"{\"model\": {\"vocab\": {\"a\": ^99999999999999999999}}}", "a token id"},
        {"{\"model\": {\"vocab\": [^3]}}", "an array"},
        {"{\"model\": {\"vocab\": [[^\"a\"]]}}", "a piece and its score"},
        {"{\"model\": {\"vocab\": [[^\"a\", null]]}}", "a piece and its score"},
        {"{\"model\": {\"vocab\": [[^1, \"a\"]]}}", "a piece and its score"},
        {"{\"model\": {\"vocab\": [[\"a\", 1, ^2]]}}", "nothing more"},
        {"{\"model\": {\"vocab\": ^7}}", "an object or an array"},
        {"{\"model\": {\"type\": \"Unigram\", \"vocab\": ^{\"a\": 0}}}", "an array [piece, score]"},
        {"{\"model\": {\"vocab\": ^[[\"a\", 0]], \"type\": \"BPE\"}}", "an object"},
        {"{\"model\": {\"type\": ^\"Tree\", \"vocab\": {\"a\": 0}}}", "BPE, WordPiece"},
        {"{\"model\": {\"type\": \"BPE\"}^}", "a key \"vocab\""},
        {"{\"model\": {\"vocab\": {\"a\": 0}}, ^\"model\": {\"vocab\": {}}}", "each key once"},
        {"{\"added_tokens\": [{\"id\": 1}], \"model\": {\"vocab\": {}}}", "its content"},
        {"{\"added_tokens\": [{\"content\": ^1}], \"model\": {\"vocab\": {}}}", "a string"},
        {"{\"added_tokens\": [{\"content\": \"x\", \"id\": ^-1}], \"model\": {\"vocab\": {}}}",
         "a token id"},
        {"{\"decoder\": ^\"ByteLevel\", \"model\": {\"vocab\": {}}}", "a decoder or null"},
        {"{\"model\": {\"vocab\": {\"a\": 0}}, ^}", "a key"},
        {"{\"model\": {\"vocab\": {\"a\": 0}}} ^x", "nothing after"},
        {"{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [^NaN]}}", "a value"},
        {"{\"version\": \"1.0\"}", "no key \"model\""},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++)
        refuses(NAME, cases[i].text, EMB_BAD_DATA, cases[i].words);
}

Test(tokenizer_json, ids_too_far_apart)
{
    refuses(NAME, "{\"model\": {\"vocab\": {\"a\": 0, ^\"b\": 2147483647}}}", EMB_UNSUPPORTED,
            "too far");
    opens_bpe("", "{\"a\": 0, \"b\": 4194304}");
    cr_expect_eq(tok.n, 4194305);
    cr_expect_eq(tok.count, 2);
    embi_tokenizer_free(&tok);
}

/* Every beginning of a good file is refused, and none is read past its end. */
Test(tokenizer_json, cut_short)
{
    static const char whole[] =
        "{\"added_tokens\": [{\"id\": 1, \"content\": \"\\u00e9\"}], \"decoder\": {\"type\": "
        "\"Sequence\", \"decoders\": [{\"type\": \"Fuse\"}]}, \"model\": {\"vocab\": {\"a\": 0}}}";
    opens(NAME, whole);
    embi_tokenizer_free(&tok);
    for (size_t n = 0; n < sizeof whole - 1; n++)
        cr_expect_eq(open_named(NAME, whole, n), EMB_BAD_DATA, "%zu", n);
}

/* ------------------------------------------------------------------------------------------------
 * vocab.json
 */

Test(vocab_json, object_of_ids)
{
    opens("x", "{\"model\": 1, \"vocab\": 0, \"\\u0120a\": 3}");
    cr_expect_eq(tok.kind, EMBI_TOKENIZER_VOCAB_JSON);
    cr_expect(tokens_are("vocab|model|.|Ġa"));
    cr_expect_eq(tok.next_id, 4);
    cr_expect(text_is(STR("Ġa"), STR(" a")), "byte-level pieces are recognised");
    embi_tokenizer_free(&tok);
    opens("vocab.json", "{}");
    cr_expect_eq(tok.n, 0);
    embi_tokenizer_free(&tok);
}

Test(vocab_json, refusals)
{
    refuses("vocab.json", "{\"a\": 0, \"b\": ^true}", EMB_BAD_DATA, "a token id");
    refuses("vocab.json", "{\"a\": ^\"b\"}", EMB_BAD_DATA, "a token id");
    refuses("vocab.json", "{\"a\": 0^", EMB_BAD_DATA, "expected");
    refuses("vocab.json", "^[\"a\"]", EMB_BAD_DATA, "an object");
}
