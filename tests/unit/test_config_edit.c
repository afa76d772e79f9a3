/* test_config_edit.c - sizes in config.json and in an index of shards. Expected texts differ from
 * the given ones in the numbers alone, by hand.
 */
#include "model_dir.h"

#include "model/config_edit.h"

static struct log warnings;
static const struct embi_env env = {.log = collect, .log_arg = &warnings};
static struct embi_file_edits edits;
static emb_err err;

static void leave(void)
{
    embi_file_edits_free(&edits);
    leave_dir();
}

TestSuite(config_edit, .init = enter_dir, .fini = leave);

static const char *result(const char *name)
{
    const struct embi_file_edit *e = embi_file_edits_find(&edits, name);
    return e ? embi_buf_cstr(&((struct embi_file_edit *)e)->bytes) : NULL;
}

static const struct {
    const char *config, *want; /* NULL: nothing changes */
    int warnings;
} sizes[] = {
    /* 480 rows become 481; embed_tokens_per_layer has 471 then */
    {"{\"vocab_size\": 480, \"n\": 480}", "{\"vocab_size\": 481, \"n\": 480}", 0},
    {"{\"eps\":1E-05,\n  \"vocab_size\" :  480 "
     ",\"big\":9007199254740993,\"x\":Infinity,\"unknown\":"
     "{\"vocab_size\": 480}}",
     "{\"eps\":1E-05,\n  \"vocab_size\" :  481 "
     ",\"big\":9007199254740993,\"x\":Infinity,\"unknown\":"
     "{\"vocab_size\": 480}}",
     0},
    {"{\"text_config\": {\"vocab_size\": 480}, \"vision_config\": {\"vocab_size\": 480}}",
     "{\"text_config\": {\"vocab_size\": 481}, \"vision_config\": {\"vocab_size\": 480}}", 0},
    {"{\"text_config\": {\"vocab_size\": 480}, \"vocab_size\": 480}",
     "{\"text_config\": {\"vocab_size\": 481}, \"vocab_size\": 481}", 0},
    {"{\"vocab_size\": 480, \"decoder_vocab_size\": 480}",
     "{\"vocab_size\": 481, \"decoder_vocab_size\": 481}", 0},
    {"{\"vocab_size\": 480, \"decoder_vocab_size\": 480, \"share_encoder_decoder_embeddings\": "
     "false}",
     "{\"vocab_size\": 481, \"decoder_vocab_size\": 480, \"share_encoder_decoder_embeddings\": "
     "false}",
     0},
    {"{\"vocab_size\": 480, \"vocab_size_per_layer_input\": 470}",
     "{\"vocab_size\": 481, \"vocab_size_per_layer_input\": 471}", 0},
    {"{\"vocab_size\": 480, \"vocab_size_per_layer_input\": 99}",
     "{\"vocab_size\": 481, \"vocab_size_per_layer_input\": 471}", 0},
    {"{\"padded_vocab_size\": 480}", "{\"padded_vocab_size\": 481}", 0},
    {"{\"thinker_config\": {\"text_config\": {\"vocab_size\": 480}}}",
     "{\"thinker_config\": {\"text_config\": {\"vocab_size\": 481}}}", 0},
    {"{\"vocab_size\": 77}", "{\"vocab_size\": 481}", 0},
    {"{\"vocab_size\": 77, \"text_config\": {\"vocab_size\": 480}}",
     "{\"vocab_size\": 77, \"text_config\": {\"vocab_size\": 481}}", 0},
    {"{\"hidden_size\": 480}", NULL, 1},
};

Test(config_edit, rows)
{
    struct embi_config_rows rows = {480, 481, 471};
    for (size_t i = 0; i < EMBI_LEN(sizes); i++) {
        embi_file_edits_free(&edits);
        warnings = (struct log){0};
        fixture_text("config.json", sizes[i].config);
        cr_assert_eq(embi_config_edit_rows(&env, dir, &rows, &edits, &err), EMB_OK, "%s", err.msg);
        const char *found = result("config.json");
        cr_expect(sizes[i].want ? found && strcmp(found, sizes[i].want) == 0 : !found,
                  "case %zu: %s", i, found);
        cr_expect_eq(warnings.lines, sizes[i].warnings, "case %zu", i);
    }
}

/* Rows that stay as many (spare ones were taken) leave the file as it is; a wrong size is put right. */
Test(config_edit, as_many_rows)
{
    struct embi_config_rows rows = {480, 480, 0};
    fixture_text("config.json", "{\"vocab_size\": 480, \"vocab_size_per_layer_input\": 480}");
    cr_assert_eq(embi_config_edit_rows(&env, dir, &rows, &edits, &err), EMB_OK);
    cr_expect_eq(edits.n, 0);
    fixture_text("config.json", "{\"vocab_size\": 5}");
    cr_assert_eq(embi_config_edit_rows(&env, dir, &rows, &edits, &err), EMB_OK);
    cr_expect_str_eq(result("config.json"), "{\"vocab_size\": 480}");
    embi_file_edits_free(&edits);
    fixture_text("config.json", "{\"vocab_size\": 5, \"text_config\": {\"vocab_size\": 480}}");
    cr_assert_eq(embi_config_edit_rows(&env, dir, &rows, &edits, &err), EMB_OK);
    cr_expect_str_eq(result("config.json"),
                     "{\"vocab_size\": 480, \"text_config\": {\"vocab_size\": 480}}");
    embi_file_edits_free(&edits);
    fixture_text("config.json", "{\"vocab_size\": 480, \"text_config\": {\"vocab_size\": 5}}");
    cr_assert_eq(embi_config_edit_rows(&env, dir, &rows, &edits, &err), EMB_OK);
    cr_expect_str_eq(result("config.json"),
                     "{\"vocab_size\": 480, \"text_config\": {\"vocab_size\": 480}}");
}

Test(config_edit, no_config_and_a_broken_one)
{
    struct embi_config_rows rows = {480, 481, 0};
    cr_expect_eq(embi_config_edit_rows(&env, dir, &rows, &edits, &err), EMB_OK);
    fixture_text("config.json", "{\"vocab_size\": 480,}");
    cr_expect_eq(embi_config_edit_rows(&env, dir, &rows, &edits, &err), EMB_BAD_DATA);
    cr_expect(strstr(err.msg, "config.json"), "%s", err.msg);
    cr_expect_eq(edits.n, 0);
}

static const struct {
    const char *index, *want;
    int warnings;
} totals[] = {
    /* 64 bytes and 32 numbers more */
    {"{\"metadata\": {\"total_parameters\": 100, \"total_size\": 200}, \"weight_map\": {}}",
     "{\"metadata\": {\"total_parameters\": 132, \"total_size\": 264}, \"weight_map\": {}}", 0},
    {"{\"metadata\": { \"total_size\":200 ,\"note\":\"x\"}}",
     "{\"metadata\": { \"total_size\":264 ,\"note\":\"x\"}}", 0},
    {"{\"metadata\": {\"total_size\": 200.0}}", "{\"metadata\": {\"total_size\": 264.0}}", 0},
    {"{\"metadata\": {\"total_size\": \"200\"}}", "{\"metadata\": {\"total_size\": \"264\"}}", 0},
    {"{\"metadata\": {\"total_size\": 2e2}}", NULL, 1},
    {"{\"metadata\": {}}", NULL, 0},
    {"{\"weight_map\": {}}", NULL, 1},
};

static emb_status index_totals(uint64_t bytes, uint64_t params, int64_t more_bytes,
                               int64_t more_params)
{
    struct embi_index_totals t = {bytes, params, more_bytes, more_params};
    return embi_index_edit_totals(&env, dir, "x.index.json", &t, &edits, &err);
}

Test(config_edit, index_totals)
{
    for (size_t i = 0; i < EMBI_LEN(totals); i++) {
        embi_file_edits_free(&edits);
        warnings = (struct log){0};
        fixture_text("x.index.json", totals[i].index);
        cr_assert_eq(index_totals(0, 0, 64, 32), EMB_OK, "%s", err.msg);
        const char *found = result("x.index.json");
        cr_expect(totals[i].want ? found && strcmp(found, totals[i].want) == 0 : !found,
                  "case %zu: %s", i, found);
        cr_expect_eq(warnings.lines, totals[i].warnings, "case %zu", i);
    }
}

Test(config_edit, index_totals_that_shrink)
{
    fixture_text("x.index.json",
                 "{\"metadata\": {\"total_size\": 200, \"total_parameters\": 100}}");
    cr_assert_eq(index_totals(0, 0, -64, -100), EMB_OK);
    cr_expect_str_eq(result("x.index.json"),
                     "{\"metadata\": {\"total_size\": 136, \"total_parameters\": 0}}");
    cr_assert_eq(index_totals(0, 0, -137, 0), EMB_OK);
    cr_expect_eq(warnings.lines, 1);
}

/* Where the bytes are known a wrong sum is put right, and a right one stays. */
Test(config_edit, index_totals_that_are_known)
{
    fixture_text("x.index.json",
                 "{\"metadata\": {\"total_size\": 200, \"total_parameters\": 100}}");
    cr_assert_eq(index_totals(200, 0, 0, 0), EMB_OK);
    cr_expect_eq(edits.n, 0);
    cr_assert_eq(index_totals(332, 0, 64, 32), EMB_OK);
    cr_expect_str_eq(result("x.index.json"),
                     "{\"metadata\": {\"total_size\": 332, \"total_parameters\": 132}}");
}

/* A count of numbers that was wrong is put right, but only where it changes anyway. */
Test(config_edit, index_parameters_that_are_known)
{
    fixture_text("x.index.json", "{\"metadata\": {\"total_size\": 200, \"total_parameters\": 7}}");
    cr_assert_eq(index_totals(200, 50, 0, 0), EMB_OK);
    cr_expect_eq(edits.n, 0);
    cr_assert_eq(index_totals(168, 42, -32, -8), EMB_OK);
    cr_expect_str_eq(result("x.index.json"),
                     "{\"metadata\": {\"total_size\": 168, \"total_parameters\": 42}}");
}
