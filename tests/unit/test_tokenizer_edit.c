/* test_tokenizer_edit.c - new tokens, names and roles in the tokenizer files of a directory.
 *
 * Expected texts are those of the files by hand, with what the libraries add: entries in the style of
 * transformers (its save_pretrained after add_tokens), flags with which every loader finds a token.
 * What loaders make of the results is in tests/peers.
 */
#include "model_dir.h"

#include "model/token_sources.h"
#include "model/tokenizer_edit.h"

static struct log warnings;
static const struct embi_env env = {.log = collect, .log_arg = &warnings};
static struct embi_file_edits edits;
static emb_err err;
static struct embi_token_fills fills;

static void leave(void)
{
    embi_file_edits_free(&edits);
    embi_token_fills_free(&fills);
    leave_dir();
}

TestSuite(tokenizer_edit, .init = enter_dir, .fini = leave);

/* Makes the changes with a tokenizer that is opened for them. */
static emb_status edit(const struct embi_tokenizer_changes *changes)
{
    struct embi_tokenizer t;
    bool found;
    embi_file_edits_free(&edits);
    warnings = (struct log){0};
    cr_assert_eq(embi_tokenizer_open_dir(&env, dir, &t, &found, &err), EMB_OK, "%s", err.msg);
    embi_token_fills_free(&fills);
    emb_status status = embi_tokenizer_edit(&env, dir, &t, changes, &edits, &fills, &err);
    embi_tokenizer_free(&t);
    return status;
}

static void file_is(const char *name, const char *want)
{
    const struct embi_file_edit *e = embi_file_edits_find(&edits, name);
    cr_assert_not_null(e, "%s does not change", name);
    cr_expect(e->bytes.n == strlen(want) && memcmp(e->bytes.s, want, e->bytes.n) == 0,
              "%s: found\n%.*s\nexpected\n%s", name, (int)e->bytes.n, e->bytes.s, want);
}

static void adds(const struct embi_new_token *add, size_t n, size_t files)
{
    struct embi_tokenizer_changes changes = {.add = add, .n_add = n};
    cr_assert_eq(edit(&changes), EMB_OK, "%s", err.msg);
    cr_expect_eq(edits.n, files, "%zu files change", edits.n);
}

static void refuses(const struct embi_tokenizer_changes *changes, emb_status status,
                    const char *words)
{
    cr_expect_eq(edit(changes), status, "status %d: %s", err.status, err.msg);
    cr_expect(strstr(err.msg, words), "'%s' is not in '%s'", words, err.msg);
}

#define ADD(text, id, special) \
    {                          \
        STR(text), id, special \
    }

/* ------------------------------------------------------------------------------------------------
 * tokenizer.json
 */

#define ENTRY(id, text, special)                                                                 \
    "    {\n      \"id\": " id ",\n      \"content\": \"" text "\",\n      \"single_word\": "    \
    "false,\n      \"lstrip\": false,\n      \"rstrip\": false,\n      \"normalized\": false,\n" \
    "      \"special\": " special "\n    }"
#define MODEL "\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0, \"b\": 1}}"

Test(tokenizer_edit, json_of_the_library)
{
    struct embi_new_token add[] = {ADD("<|t|>", 3, true), ADD("q\"\\\t\xC3\xA9", 4, false)};
    fixture_text("tokenizer.json",
                 "{\n  \"added_tokens\": [\n" ENTRY("2", "<m>", "true") "\n  ],\n  " MODEL "\n}");
    adds(add, 2, 1);
    file_is("tokenizer.json",
            "{\n  \"added_tokens\": [\n" ENTRY("2", "<m>", "true") ",\n" ENTRY(
                "3", "<|t|>", "true") ",\n" ENTRY("4", "q\\\"\\\\\\t\xC3\xA9",
                                                  "false") "\n  ],\n  " MODEL "\n}");
}

/* The order of keys of the entries that are there, here on one line, with what they lack after. */
Test(tokenizer_edit, json_in_its_own_style)
{
    struct embi_new_token add[] = {ADD("<x>", 2, false)};
    fixture_text("tokenizer.json",
                 "{\"added_tokens\":[{\"special\":true,\"id\":1, \"content\":\"b\"}]," MODEL "}");
    adds(add, 1, 1);
    file_is("tokenizer.json",
            "{\"added_tokens\":[{\"special\":true,\"id\":1, \"content\":\"b\"},{\"special\":false, "
            "\"id\":2, \"content\":\"<x>\", \"single_word\":false, \"lstrip\":false, "
            "\"rstrip\":false, \"normalized\":false}]," MODEL "}");
}

Test(tokenizer_edit, json_with_an_empty_list_or_none)
{
    struct embi_new_token add[] = {ADD("<x>", 2, false)};
    fixture_text("tokenizer.json", "{\n  \"added_tokens\": [],\n  " MODEL "\n}");
    adds(add, 1, 1);
    file_is("tokenizer.json",
            "{\n  \"added_tokens\": [\n" ENTRY("2", "<x>", "false") "\n  ],\n  " MODEL "\n}");
    fixture_text("tokenizer.json", "{\n  " MODEL ",\n  \"added_tokens\": null\n}");
    adds(add, 1, 1);
    file_is("tokenizer.json",
            "{\n  " MODEL ",\n  \"added_tokens\": [\n" ENTRY("2", "<x>", "false") "\n  ]\n}");
    fixture_text("tokenizer.json", "{\n  " MODEL "\n}");
    adds(add, 1, 1);
    file_is("tokenizer.json",
            "{\n  " MODEL ",\n  \"added_tokens\": [\n" ENTRY("2", "<x>", "false") "\n  ]\n}");
}

#define TOKENIZER \
    "{\"added_tokens\": [{\"id\": 2, \"content\": \"<m>\", \"special\": true}], " MODEL "}"
#define FLAGS \
    "\"lstrip\": false, \"normalized\": false, \"rstrip\": false, \"single_word\": false, "

/* Every list gets the token: added_tokens_decoder, added_tokens.json; the roles' file does not. */
Test(tokenizer_edit, all_lists)
{
    struct embi_new_token add[] = {ADD("<x>", 3, true)};
    fixture_text("tokenizer.json", TOKENIZER);
    fixture_text("special_tokens_map.json", "{\"additional_special_tokens\": [\"<m>\"]}");
    fixture_text("added_tokens.json", "{\n  \"<m>\": 2\n}\n");
    fixture_text("tokenizer_config.json",
                 "{\"added_tokens_decoder\": {\"2\": {\"content\": \"<m>\", " FLAGS
                 "\"special\": true}}, \"eos_token\": \"<m>\", \"extra_special_tokens\": []}\n");
    adds(add, 1, 3);
    file_is("added_tokens.json", "{\n  \"<m>\": 2,\n  \"<x>\": 3\n}\n");
    file_is("tokenizer_config.json",
            "{\"added_tokens_decoder\": {\"2\": {\"content\": \"<m>\", " FLAGS
            "\"special\": true}, \"3\": {\"content\": \"<x>\", " FLAGS
            "\"special\": true}}, \"eos_token\": \"<m>\", \"extra_special_tokens\": []}\n");
}

/* A decoder is not made where a tokenizer.json is: loaders would not look at its list any more. */
Test(tokenizer_edit, no_decoder_beside_a_tokenizer)
{
    struct embi_new_token add[] = {ADD("<x>", 3, false)};
    fixture_text("tokenizer.json", TOKENIZER);
    fixture_text("tokenizer_config.json", "{\"eos_token\": \"<m>\"}");
    adds(add, 1, 1);
}

/* ------------------------------------------------------------------------------------------------
 * Without a tokenizer.json
 */

Test(tokenizer_edit, old_files_get_a_decoder)
{
    struct embi_new_token add[] = {ADD("<x>", 4, false)};
    fixture_text("vocab.json", "{\"a\": 0, \"b\": 1}");
    fixture_text("added_tokens.json", "{\"<n>\": 3, \"<m>\": 2}");
    fixture_text(
        "special_tokens_map.json",
        "{\"mask_token\": {\"content\": \"<m>\", \"lstrip\": true, \"normalized\": false}}");
    fixture_text("tokenizer_config.json", "{\"mask_token\": \"<m>\"}");
    adds(add, 1, 2);
    file_is("added_tokens.json", "{\"<n>\": 3, \"<m>\": 2, \"<x>\": 4}");
    file_is("tokenizer_config.json",
            "{\"mask_token\": \"<m>\", \"added_tokens_decoder\": {"
            "\"2\": {\"content\": \"<m>\", \"lstrip\": true, \"normalized\": false, \"rstrip\": "
            "false, \"single_word\": false, \"special\": true}, "
            "\"3\": {\"content\": \"<n>\", \"lstrip\": false, \"normalized\": true, \"rstrip\": "
            "false, \"single_word\": false, \"special\": false}, "
            "\"4\": {\"content\": \"<x>\", \"lstrip\": false, \"normalized\": false, \"rstrip\": "
            "false, \"single_word\": false, \"special\": false}}}");
}

/* A role that only special_tokens_map.json has would be lost with a decoder. */
Test(tokenizer_edit, old_files_with_roles_elsewhere)
{
    struct embi_new_token add[] = {ADD("<x>", 2, true), ADD("<y>", 3, false)};
    fixture_text("vocab.json", "{\"a\": 0, \"b\": 1}");
    fixture_text("special_tokens_map.json", "{\"eos_token\": \"a\"}");
    fixture_text("tokenizer_config.json", "{}");
    adds(add, 2, 2);
    file_is("added_tokens.json", "{\n  \"<x>\": 2,\n  \"<y>\": 3\n}\n");
    file_is("special_tokens_map.json",
            "{\"eos_token\": \"a\", \"additional_special_tokens\": [\"<x>\"]}");
}

Test(tokenizer_edit, a_vocabulary_alone)
{
    struct embi_new_token add[] = {ADD("<x>", 2, false)};
    fixture_text("vocab.txt", "a\nb\n");
    adds(add, 1, 1);
    file_is("added_tokens.json", "{\n  \"<x>\": 2\n}\n");
}

Test(tokenizer_edit, kinds_that_are_refused)
{
    struct embi_new_token add[] = {ADD("<x>", 2, false)};
    struct embi_tokenizer_changes changes = {.add = add, .n_add = 1};
    fixture_text("qwen.tiktoken", "YQ== 0\nYg== 1\n");
    refuses(&changes, EMB_UNSUPPORTED, "tiktoken");
    unlink("qwen.tiktoken");
    fixture_text("vocab.json", "{\"a\": 0, \"b\": 1}");
    fixture_text("tokenizer_config.json", "{\"tokenizer_class\": \"M2M100Tokenizer\"}");
    refuses(&changes, EMB_UNSUPPORTED, "M2M100Tokenizer");
}

/* ------------------------------------------------------------------------------------------------
 * Ids
 */

static void put_json(const char *vocab, const char *added)
{
    struct embi_buf b = {0};
    embi_buf_print(
        &b, "{\"added_tokens\": [%s], \"model\": {\"type\": \"WordLevel\", \"vocab\": {%s}}}",
        added, vocab);
    fixture_put("tokenizer.json", b.s, b.n);
    embi_buf_free(&b);
}

/* The cases of tokenizers' own numbering: next = entries of the vocabulary, then by the file. */
static const struct {
    const char *vocab, *added;
    uint64_t next;
    const char *gap; /* words of it; NULL: none */
    bool unfillable;
} numberings[] = {
    {"\"a\": 0, \"b\": 1", "", 2, NULL, false},
    {"\"a\": 0, \"b\": 1", "{\"id\": 1, \"content\": \"b\"}", 2, NULL, false},
    {"\"b\": 1, \"a\": 0", "{\"id\": 2, \"content\": \"c\"}, {\"id\": 3, \"content\": \"d\"}", 4,
     NULL, false},
    {"\"a\": 0, \"b\": 1", "{\"id\": 2, \"content\": \"c\"}, {\"id\": 2, \"content\": \"c\"}", 3,
     NULL, false},
    {"\"a\": 0, \"b\": 1", "{\"id\": 5, \"content\": \"<g>\"}", 6,
     "'<g>' has the id 5, but loaders give it 2: no token before it has the ids 2 to 4", false},
    {"\"a\": 0, \"b\": 1", "{\"id\": 3, \"content\": \"<g>\"}", 4,
     "'<g>' has the id 3, but loaders give it 2, an id that no token before it has", false},
    {"\"a\": 0, \"b\": 1", "{\"id\": 3, \"content\": \"d\"}, {\"id\": 2, \"content\": \"c\"}", 4,
     "'d' has the id 3, but loaders give it 2", true},
    {"\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 5", "", 6,
     "4 entries, its largest id is 5 ('d'): loaders would give a new token the id 4", false},
    {"\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 5", "{\"id\": 3, \"content\": \"x\"}", 6, "4 entries",
     false},
};

Test(tokenizer_edit, numbering)
{
    for (size_t i = 0; i < EMBI_LEN(numberings); i++) {
        struct embi_tokenizer t;
        struct embi_token_sources s;
        bool found;
        put_json(numberings[i].vocab, numberings[i].added);
        cr_assert_eq(embi_tokenizer_open_dir(&env, dir, &t, &found, &err), EMB_OK, "%s", err.msg);
        cr_assert_eq(embi_token_sources_open(&env, dir, &t, &s, &err), EMB_OK, "%s", err.msg);
        const char *gap = numberings[i].gap ? numberings[i].gap : "";
        cr_expect_eq(s.next_id, numberings[i].next, "case %zu", i);
        cr_expect(gap[0] ? strstr(s.gap, gap) != NULL : !s.gap[0], "case %zu: %s", i, s.gap);
        cr_expect_eq(s.unfillable, numberings[i].unfillable, "case %zu", i);
        embi_token_sources_free(&s);
        embi_tokenizer_free(&t);
    }
}

Test(tokenizer_edit, gaps_are_refused_or_filled)
{
    struct embi_new_token add[] = {ADD("<x>", 6, false)};
    struct embi_tokenizer_changes changes = {.add = add, .n_add = 1};
    put_json("\"a\": 0, \"b\": 1", "{\"id\": 5, \"content\": \"<g>\"}");
    refuses(&changes, EMB_UNSUPPORTED, "--force");
    changes.fill_gaps = true;
    cr_assert_eq(edit(&changes), EMB_OK, "%s", err.msg);
    const char *text = embi_file_edits_find(&edits, "tokenizer.json")->bytes.s;
    const char *two = strstr(text, "{\"id\": 2, \"content\": \"<|filler_2|>\""),
               *four = strstr(text, "{\"id\": 4, \"content\": \"<|filler_4|>\""),
               *gap = strstr(text, "\"<g>\""),
               *x = strstr(text, "{\"id\": 6, \"content\": \"<x>\"");
    cr_expect(two && four && gap && x && two < four && four < gap && gap < x, "%s", text);
}

/* Holes inside the vocabulary are filled there: by an added token's text where one has the id. */
Test(tokenizer_edit, holes_are_filled_in_the_vocabulary)
{
    struct embi_tokenizer_changes changes = {.fill_gaps = true};
    put_json("\"a\": 0, \"d\": 3", "{\"id\": 1, \"content\": \"<x>\"}");
    cr_assert_eq(edit(&changes), EMB_OK, "%s", err.msg);
    file_is("tokenizer.json",
            "{\"added_tokens\": [{\"id\": 1, \"content\": \"<x>\"}], \"model\": {\"type\": "
            "\"WordLevel\", \"vocab\": {\"a\": 0, \"d\": 3, \"<x>\": 1, \"<|filler_2|>\": 2}}}");
    cr_assert_eq(fills.n, 2);
    cr_expect(embi_str_is(fills.list[0].token, "<x>") && fills.list[0].row == 1);
    cr_expect(embi_str_is(fills.list[1].token, "<|filler_2|>") && fills.list[1].row == 2);
    cr_expect(fills.list[0].present && !fills.list[1].present);
}

/* What fills gaps must not stand in the way of sizes: without new tokens no file is refused. */
Test(tokenizer_edit, nothing_to_fill)
{
    struct embi_tokenizer_changes changes = {.fill_gaps = true};
    fixture_text("qwen.tiktoken", "YQ== 0\nYg== 1\n");
    cr_expect_eq(edit(&changes), EMB_OK, "%s", err.msg);
    cr_expect_eq(edits.n, 0);
    unlink("qwen.tiktoken");
    put_json("\"a\": 0, \"b\": 1",
             "{\"id\": 3, \"content\": \"d\"}, {\"id\": 2, \"content\": \"c\"}");
    cr_expect_eq(edit(&changes), EMB_OK, "%s", err.msg);
    cr_expect_eq(edits.n, 0);
}

Test(tokenizer_edit, contradictions)
{
    struct embi_tokenizer_changes changes = {0};
    put_json("\"a\": 0, \"b\": 1", "{\"id\": 2, \"content\": \"<m>\"}");
    fixture_text("added_tokens.json", "{\"<m>\": 4}");
    refuses(&changes, EMB_BAD_DATA,
            "'<m>' has the id 2 in tokenizer.json and 4 in added_tokens.json");
    fixture_text("added_tokens.json", "{\"<n>\": 2}");
    refuses(&changes, EMB_BAD_DATA,
            "id 2 is '<m>' in tokenizer.json and '<n>' in added_tokens.json");
    fixture_text("added_tokens.json", "{\"b\": 0}");
    refuses(&changes, EMB_BAD_DATA, "'b' has the id 1 in the vocabulary");
    fixture_text("added_tokens.json", "{\"<m>\": 2}");
    cr_expect_eq(edit(&changes), EMB_OK);
    cr_expect_eq(edits.n, 0);
}

Test(tokenizer_edit, texts_that_no_token_can_have)
{
    struct embi_new_token add[] = {ADD("", 2, false)};
    struct embi_tokenizer_changes changes = {.add = add, .n_add = 1};
    put_json("\"a\": 0, \"b\": 1", "");
    refuses(&changes, EMB_BAD_ARG, "empty");
    add[0].text = STR("\xFF");
    refuses(&changes, EMB_BAD_ARG, "UTF-8");
    add[0].text = STR("b");
    refuses(&changes, EMB_BAD_ARG, "'b' is there already, with the id 1");
}

/* ------------------------------------------------------------------------------------------------
 * New names
 */

#define RENAME(from, to)                                                                 \
    {                                                                                    \
        .renames = &(struct embi_token_rename){STR(from), STR(to), true}, .n_renames = 1 \
    }

Test(tokenizer_edit, rename_wherever_it_stands)
{
    struct embi_tokenizer_changes changes = RENAME("<r0>", "<|t|>");
    fixture_text("tokenizer.json",
                 "{\"added_tokens\": [{\"id\": 1, \"content\": \"<r0>\"}], \"post_processor\": "
                 "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": "
                 "\"<r0>\", \"type_id\": 0}}], \"special_tokens\": {\"<r0>\": {\"id\": \"<r0>\", "
                 "\"ids\": [1], \"tokens\": [\"<r0>\"]}}}, \"model\": {\"type\": \"BPE\", "
                 "\"unk_token\": \"<r0>\", \"vocab\": {\"a\": 0, \"\\u003cr0>\": 1, \"<r0>x\": 2}, "
                 "\"merges\": [\"b c\"]}}");
    fixture_text("tokenizer_config.json",
                 "{\"added_tokens_decoder\": {\"1\": {\"content\": \"<r0>\"}}, \"pad_token\": "
                 "\"<r0>\", \"chat_template\": \"<r0>\"}");
    fixture_text("special_tokens_map.json", "{\"pad_token\": {\"content\": \"<r0>\"}}");
    fixture_text("added_tokens.json", "{\"<r0>\": 1}");
    fixture_text("vocab.json", "{\"a\": 0, \"<r0>\": 1}");
    cr_assert_eq(edit(&changes), EMB_OK, "%s", err.msg);
    cr_expect_eq(edits.n, 5);
    file_is("tokenizer.json",
            "{\"added_tokens\": [{\"id\": 1, \"content\": \"<|t|>\"}], \"post_processor\": "
            "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": "
            "\"<|t|>\", \"type_id\": 0}}], \"special_tokens\": {\"<|t|>\": {\"id\": \"<|t|>\", "
            "\"ids\": [1], \"tokens\": [\"<|t|>\"]}}}, \"model\": {\"type\": \"BPE\", "
            "\"unk_token\": \"<|t|>\", \"vocab\": {\"a\": 0, \"<|t|>\": 1, \"<r0>x\": 2}, "
            "\"merges\": [\"b c\"]}}");
    file_is("tokenizer_config.json",
            "{\"added_tokens_decoder\": {\"1\": {\"content\": \"<|t|>\"}}, \"pad_token\": "
            "\"<|t|>\", \"chat_template\": \"<r0>\"}");
    file_is("special_tokens_map.json", "{\"pad_token\": {\"content\": \"<|t|>\"}}");
    file_is("added_tokens.json", "{\"<|t|>\": 1}");
    file_is("vocab.json", "{\"a\": 0, \"<|t|>\": 1}");
}

/* BERT's unused pieces are in the vocabulary alone: with the new name comes an added token. */
Test(tokenizer_edit, rename_a_reserved_piece)
{
    struct embi_tokenizer_changes changes = RENAME("[unused1]", "<|t|>");
    put_json("\"a\": 0, \"[unused1]\": 1", "");
    fixture_text("vocab.txt", "a\r\n[unused1] \r\n[unused1]0\n");
    cr_assert_eq(edit(&changes), EMB_OK, "%s", err.msg);
    file_is("vocab.txt", "a\r\n<|t|> \r\n[unused1]0\n");
    file_is("tokenizer.json",
            "{\"added_tokens\": [{\"id\": 1, \"content\": \"<|t|>\", \"single_word\": false, "
            "\"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": true}], "
            "\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0, \"<|t|>\": 1}}}");
}

Test(tokenizer_edit, rename_refused)
{
    struct embi_tokenizer_changes cat = RENAME("cat", "<|t|>"), nope = RENAME("nope", "<|t|>"),
                                  taken = RENAME("<m>", "cat"), t5 = RENAME("<extra_id_0>", "x"),
                                  merged = RENAME("<|", "x"), pair = RENAME("<m>", "x");
    fixture_text(
        "tokenizer.json",
        "{\"added_tokens\": [{\"id\": 1, \"content\": \"<m>\"}, {\"id\": 2, \"content\": "
        "\"<extra_id_0>\"}, {\"id\": 3, \"content\": \"<|\"}], \"model\": {\"vocab\": "
        "{\"cat\": 0, \"<m>\": 1, \"<extra_id_0>\": 2, \"<|\": 3}, \"merges\": [\"< |\"]}}");
    refuses(&cat, EMB_UNSUPPORTED, "ordinary piece");
    refuses(&merged, EMB_UNSUPPORTED, "ordinary piece");
    refuses(&nope, EMB_NOT_FOUND, "'nope' is not in the vocabulary");
    refuses(&taken, EMB_BAD_ARG, "'cat' is there already");
    refuses(&t5, EMB_UNSUPPORTED, "extra_ids");
    cr_expect_eq(edit(&pair), EMB_OK, "%s", err.msg);
    fixture_text("tokenizer.json",
                 "{\"added_tokens\": [{\"id\": 1, \"content\": \"<m>\"}], \"model\": {\"vocab\": "
                 "{\"cat\": 0, \"<m>\": 1}, \"merges\": [[\"a\", \"b\"], [\"<m>\", \"b\"]]}}");
    refuses(&pair, EMB_UNSUPPORTED, "ordinary piece");
}

/* ------------------------------------------------------------------------------------------------
 * Roles
 */

Test(tokenizer_edit, roles)
{
    struct embi_new_token add[] = {ADD("<p>", 2, true)};
    struct embi_token_role list[] = {{"pad", STR("<p>")}, {"eos", STR("b")}, {"mask", STR("a")}};
    struct embi_tokenizer_changes changes = {
        .add = add, .n_add = 1, .roles = list, .n_roles = EMBI_LEN(list)};
    put_json("\"a\": 0, \"b\": 1", "");
    fixture_text("tokenizer_config.json", "{\"eos_token\": {\"content\": \"a\"}}");
    fixture_text(
        "special_tokens_map.json",
        "{\"eos_token\": \"a\", \"mask_token\": {\"content\": \"<p>\", \"lstrip\": true}}");
    fixture_text("config.json",
                 "{\n  \"eos_token_id\": [0, 7],\n  \"text_config\": {\"pad_token_id\": null},\n  "
                 "\"vision_config\": {\"pad_token_id\": 5}\n}");
    fixture_text("generation_config.json", "{\"eos_token_id\": 0}\n");
    cr_assert_eq(edit(&changes), EMB_OK, "%s", err.msg);
    file_is("tokenizer_config.json",
            "{\"eos_token\": {\"content\": \"b\"}, \"pad_token\": \"<p>\", \"mask_token\": \"a\"}");
    file_is("special_tokens_map.json",
            "{\"eos_token\": \"b\", \"mask_token\": {\"content\": \"a\", \"lstrip\": true}, "
            "\"pad_token\": \"<p>\"}");
    file_is("config.json",
            "{\n  \"eos_token_id\": [0, 7, 1],\n  \"text_config\": {\"pad_token_id\": 2},\n  "
            "\"vision_config\": {\"pad_token_id\": 5}\n}");
    file_is("generation_config.json", "{\"eos_token_id\": 1, \"pad_token_id\": 2}\n");
    list[0] = (struct embi_token_role){"end", STR("a")};
    refuses(&changes, EMB_BAD_ARG, "there is no role 'end'");
    list[0] = (struct embi_token_role){"pad", STR("nope")};
    refuses(&changes, EMB_NOT_FOUND, "pad: 'nope'");
}

/* A role that is already so changes nothing. */
Test(tokenizer_edit, roles_that_are_so)
{
    struct embi_token_role pad = {"pad", STR("b")};
    struct embi_tokenizer_changes changes = {.roles = &pad, .n_roles = 1};
    put_json("\"a\": 0, \"b\": 1", "");
    fixture_text("tokenizer_config.json", "{\"pad_token\": \"b\"}");
    fixture_text("special_tokens_map.json",
                 "{\"pad_token\": {\"content\": \"\\u0062\", \"lstrip\": true}}");
    fixture_text("config.json", "{\"pad_token_id\": 1}");
    cr_assert_eq(edit(&changes), EMB_OK);
    cr_expect_eq(edits.n, 0);
}
