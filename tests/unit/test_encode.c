/* test_encode.c - texts split as the library tokenizers splits them, and tokenizers that are refused.
 *
 * The tokenizers and the ids are in tests/data/splits.json, which make_splits.py recorded from that
 * library; peers/check_encode.py compares many more with it.
 */
#include "model_dir.h"

#include "model/encode.h"
#include "util/json.h"

static const struct embi_env none;
static struct embi_tokenizer tokenizer;
static struct embi_encoder *encoder;
static emb_err err;

static emb_status open_text(const char *text, size_t n, uint64_t rows)
{
    bool found;
    fixture_put("tokenizer.json", text, n);
    emb_status status = embi_tokenizer_open_dir(&none, ".", &tokenizer, &found, &err);
    return status ? status
                  : embi_encoder_open(&none, ".", &tokenizer, embi_min(rows, tokenizer.n), &encoder,
                                      &err);
}

static void closes(void)
{
    embi_encoder_free(encoder);
    embi_tokenizer_free(&tokenizer);
    encoder = NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Recorded splits
 */

/* [text, [id, ...]], or [text, null] where the library fails. */
static bool check_split(struct embi_json *j, size_t which)
{
    struct embi_json_value v, id;
    struct embi_buf text = {0};
    struct embi_ids ids = {0};
    embi_json_enter(j, EMBI_JSON_ARRAY);
    cr_assert(embi_json_item(j) && embi_json_next(j, &v) == EMBI_JSON_STRING);
    embi_json_string(&v, &text);
    emb_str s = {embi_buf_cstr(&text), text.n};
    emb_status status = embi_encode(encoder, s, &ids, &err);
    size_t n = 0;
    bool same = true;
    cr_assert(embi_json_item(j));
    struct embi_json here = *j;
    if (embi_json_next(&here, &v) == EMBI_JSON_NULL) {
        same = status == EMB_UNSUPPORTED;
        *j = here;
    } else {
        embi_json_enter(j, EMBI_JSON_ARRAY);
        for (uint64_t want; embi_json_item(j); n++) {
            embi_json_next(j, &id);
            same = same && embi_json_u64(&id, &want) && n < ids.n && ids.v[n] == want;
        }
        same = same && status == EMB_OK && n == ids.n;
    }
    cr_expect(same, "tokenizer %zu, text '%s': %zu ids, found %zu (%s)", which, s.s, n, ids.n,
              status ? err.msg : "");
    embi_ids_free(&ids);
    embi_buf_free(&text);
    return !embi_json_item(j);
}

static size_t check_tokenizer(struct embi_json *j, size_t which)
{
    struct embi_json_value key, v;
    size_t texts = 0;
    embi_json_enter(j, EMBI_JSON_OBJECT);
    while (embi_json_member(j, &key)) {
        if (embi_json_is(&key, "tokenizer")) {
            embi_json_skip(j, &v);
            cr_assert_eq(open_text(v.s, v.n, UINT64_MAX), EMB_OK, "%zu: %s", which, err.msg);
            continue;
        }
        embi_json_enter(j, EMBI_JSON_ARRAY);
        for (; embi_json_item(j); texts++)
            cr_assert(check_split(j, which));
    }
    closes();
    return texts;
}

Test(encode, recorded_splits)
{
    size_t n, count = 0, texts = 0;
    struct embi_json j;
    char *text = fixture_read("tests/data/splits.json", &n);
    enter_dir();
    embi_json_init(&j, text, n, 0);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (embi_json_item(&j))
        texts += check_tokenizer(&j, count++);
    cr_assert_eq(embi_json_finish(&j, 0, &err), EMB_OK, "%s", err.msg);
    cr_assert(count > 80 && texts == 16 * count);
    free(text);
    leave_dir();
}

/* ------------------------------------------------------------------------------------------------
 * Refused
 */

#define LEVEL "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"a\":0,\"u\":1}}"
#define BPE(more, merges)                                                                          \
    "{\"model\":{\"type\":\"BPE\"," more "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":" merges \
    "}}"

static const struct {
    const char *text;
    emb_status status;
    const char *words;
} refused[] = {
    {"{\"normalizer\":{\"type\":\"Upper\"}," LEVEL "}", EMB_UNSUPPORTED,
     "tokenizer.json: the normalizer Upper is not known"},
    {"{\"normalizer\":{\"a\":1}," LEVEL "}", EMB_BAD_DATA, "a normalizer without a \"type\""},
    {"{\"normalizer\":[7]," LEVEL "}", EMB_BAD_DATA, "a normalizer without a \"type\""},
    {"{\"normalizer\":{\"type\":\"Sequence\"}," LEVEL "}", EMB_BAD_DATA,
     "expected a list \"normalizers\""},
    {"{\"normalizer\":{\"type\":\"Prepend\"}," LEVEL "}", EMB_BAD_DATA,
     "\"prepend\": expected a string"},
    {"{\"normalizer\":{\"type\":\"Replace\",\"content\":\"\"}," LEVEL "}", EMB_BAD_DATA,
     "\"pattern\": expected an object"},
    {"{\"normalizer\":{\"type\":\"Strip\",\"strip_left\":1}," LEVEL "}", EMB_BAD_DATA,
     "\"strip_left\": expected true or false"},
    {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA\"}," LEVEL "}",
     EMB_BAD_DATA, "no base64"},
    {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"}," LEVEL "}",
     EMB_BAD_DATA, "longer than the table"},
    {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"CAAAAAAAAAA=\"}," LEVEL
     "}",
     EMB_BAD_DATA, "longer than the table"},
    {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAAP8=\"}," LEVEL "}",
     EMB_BAD_DATA, "not UTF-8"},
    {"{\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}," LEVEL "}", EMB_UNSUPPORTED,
     "the pre-tokenizer UnicodeScripts is not known"},
    {"{\"pre_tokenizer\":{\"type\":\"Punctuation\",\"behavior\":\"Odd\"}," LEVEL "}",
     EMB_UNSUPPORTED, "the \"behavior\" of a pre-tokenizer is not known"},
    {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"}," LEVEL "}", EMB_BAD_DATA,
     "\"replacement\": expected one character"},
    {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"x\"}"
     "," LEVEL "}",
     EMB_UNSUPPORTED, "\"prepend_scheme\" is not known"},
    {"{\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":0}," LEVEL "}", EMB_BAD_DATA,
     "\"length\": expected a number above 0"},
    {"{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?(1)a)\"}}," LEVEL "}",
     EMB_UNSUPPORTED, "the pattern '(?(1)a)': byte 2: such a group is not read"},
    {BPE("", "[[\"a\",\"c\"]]"), EMB_BAD_DATA, "merge 0: 'c' is no piece"},
    {BPE("", "[\"a b\",\"b a\"]"), EMB_BAD_DATA, "merge 1: 'ba' is no piece"},
    {BPE("", "[\"a  b\"]"), EMB_BAD_DATA, "merge 0: expected two pieces"},
    {BPE("", "[[\"a\"]]"), EMB_BAD_DATA, "merge 0: expected two pieces"},
    {BPE("", "[7]"), EMB_BAD_DATA, "merge 0: expected two pieces"},
    {BPE("", "{}"), EMB_BAD_DATA, "\"merges\": expected an array"},
    {BPE("\"dropout\":0.1,", "[]"), EMB_UNSUPPORTED, "\"dropout\" makes every split another one"},
    {BPE("\"unk_token\":1,", "[]"), EMB_BAD_DATA, "\"unk_token\": expected a string"},
    {"{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"vocab\":{\"u\":0}}}", EMB_BAD_DATA,
     "\"max_input_chars_per_word\": expected a whole number"},
    {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":2,\"vocab\":[[\"a\",0]]}}", EMB_BAD_DATA,
     "\"unk_id\": expected a place in the vocabulary"},
};

Test(encode, refuses_tokenizers)
{
    enter_dir();
    for (size_t i = 0; i < EMBI_LEN(refused); i++) {
        emb_status status = open_text(refused[i].text, strlen(refused[i].text), UINT64_MAX);
        cr_expect_eq(status, refused[i].status, "%s: %d, %s", refused[i].text, status, err.msg);
        cr_expect(status && strstr(err.msg, refused[i].words), "%s: %s", refused[i].text, err.msg);
        cr_expect_null(encoder);
        closes();
    }
    leave_dir();
}

static emb_status encodes(const char *s, size_t n, size_t *count)
{
    struct embi_ids ids = {0};
    emb_status status = embi_encode(encoder, (emb_str){s, n}, &ids, &err);
    *count = ids.n;
    embi_ids_free(&ids);
    return status;
}

Test(encode, refuses_texts)
{
    static const char spread[] =
        "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\".\"},"
        "\"content\":\"0123456789012345678901234567890123456789012345678901"
        "2345678901234567890123456789\"}," LEVEL "}";
    static const char slow[] = "{\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Isolated\","
                               "\"pattern\":{\"Regex\":\"(a|a)*[bd]\"}}," LEVEL "}";
    size_t n;
    enter_dir();
    char *text = malloc(EMBI_ENCODE_MOST + 1);
    cr_assert_not_null(text);
    memset(text, 'a', EMBI_ENCODE_MOST + 1);
    cr_assert_eq(open_text("{" LEVEL "}", strlen("{" LEVEL "}"), UINT64_MAX), EMB_OK);
    cr_expect(encodes(text, EMBI_ENCODE_MOST, &n) == EMB_OK && n == 1);
    cr_expect(encodes(text, EMBI_ENCODE_MOST + 1, &n) == EMB_BAD_ARG);
    cr_expect(encodes("a\xFF", 2, &n) == EMB_BAD_ARG && err.at == 1);
    closes();
    cr_assert_eq(open_text(spread, strlen(spread), UINT64_MAX), EMB_OK, "%s", err.msg);
    cr_expect(encodes(text, EMBI_ENCODE_MOST, &n) == EMB_UNSUPPORTED);
    cr_expect(strstr(err.msg, "grows beyond measure"), "%s", err.msg);
    closes();
    cr_assert_eq(open_text(slow, strlen(slow), UINT64_MAX), EMB_OK, "%s", err.msg);
    cr_expect(encodes(text, 60, &n) == EMB_UNSUPPORTED);
    cr_expect(strstr(err.msg, "takes too long"), "%s", err.msg);
    closes();
    free(text);
    leave_dir();
}

Test(encode, without_a_file)
{
    bool found;
    enter_dir();
    fixture_put("vocab.txt", "a\nb\n", 4);
    cr_assert_eq(embi_tokenizer_open_dir(&none, ".", &tokenizer, &found, &err), EMB_OK);
    cr_assert_eq(embi_encoder_open(&none, ".", &tokenizer, 2, &encoder, &err), EMB_UNSUPPORTED);
    cr_expect(strstr(err.msg, "there is no tokenizer.json"), "%s", err.msg);
    closes();
    leave_dir();
}

/* Tokens that only the files beside know are pieces; those past the table's rows are not. */
Test(encode, added_tokens_of_other_files)
{
    static const char json[] =
        "{\"added_tokens\":[{\"id\":2,\"content\":\"<x>\",\"normalized\":false}],"
        "\"model\":{\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"a\":0,"
        "\"u\":1},\"merges\":[]}}";
    static const char config[] = "{\"added_tokens_decoder\":{\"2\":{\"content\":\"<x>\"},"
                                 "\"3\":{\"content\":\"<y>\",\"lstrip\":true}}}";
    size_t n;
    enter_dir();
    fixture_put("tokenizer_config.json", config, sizeof config - 1);
    fixture_put("added_tokens.json", "{\"<z>\":4}", 9);
    cr_assert_eq(open_text(json, sizeof json - 1, UINT64_MAX), EMB_OK, "%s", err.msg);
    cr_expect(encodes("a<x>a <y><z>", 12, &n) == EMB_OK && n == 5, "%zu", n);
    closes();
    cr_assert_eq(open_text(json, sizeof json - 1, 3), EMB_OK, "%s", err.msg);
    cr_expect(encodes("a<x>a <y><z>", 12, &n) == EMB_OK && n == 10, "%zu", n);
    closes();
    leave_dir();
}
