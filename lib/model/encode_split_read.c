/* encode_split_read.c - "pre_tokenizer" of a tokenizer.json. */
#include "model/encode_split.h"

#include "util/err.h"
#include "util/unicode.h"
#include "util/utf8.h"

#include <stdlib.h>

/* GPT-2's: contractions, letters, numbers, other marks, each with the blank before it; blanks. */
static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
                           "|\\s+(?!\\S)|\\s+";

/* Words, and what is neither word nor blank: \w+|[^\w\s]+. The reference library compiles this one
 * with another engine, which has a \w of its own. */
static const char words[] = "[" EMBI_TEXT_WORD "]+|[^" EMBI_TEXT_WORD "\\s]+";

static emb_status compile(const char *pattern, struct embi_split *step, emb_err *err)
{
    return embi_regex_compile((emb_str){pattern, strlen(pattern)}, &step->pattern, err);
}

static emb_status read_behavior(const struct embi_json_value *value, struct embi_split *step,
                                emb_err *err)
{
    static const char *const names[] = {[EMBI_CUT_REMOVED] = "Removed",
                                        [EMBI_CUT_ISOLATED] = "Isolated",
                                        [EMBI_CUT_CONTIGUOUS] = "Contiguous",
                                        [EMBI_CUT_WITH_PREVIOUS] = "MergedWithPrevious",
                                        [EMBI_CUT_WITH_NEXT] = "MergedWithNext"};
    struct embi_json_value v = embi_member(value, "behavior");
    step->behavior = EMBI_CUT_ISOLATED;
    if (!embi_is_given(&v))
        return EMB_OK;
    for (size_t i = 0; v.kind == EMBI_JSON_STRING && i < EMBI_LEN(names); i++) {
        step->behavior = (enum embi_cut_behavior)i;
        if (embi_json_is(&v, names[i]))
            return EMB_OK;
    }
    return embi_fail(err, EMB_UNSUPPORTED, -1, "the \"behavior\" of a pre-tokenizer is not known");
}

/* The one character that the member must be; `missing` where it is not given. */
static emb_status read_char(const struct embi_json_value *value, const char *key, uint32_t missing,
                            uint32_t *c, emb_err *err)
{
    struct embi_json_value v = embi_member(value, key);
    struct embi_buf text = {0};
    *c = missing;
    if (!embi_is_given(&v) && missing)
        return EMB_OK;
    emb_status status = embi_member_string(value, key, false, &text, err);
    bool one = !status && text.n && embi_utf8_decode(text.s, text.n, c) == (int)text.n;
    embi_buf_free(&text);
    if (!status && !one)
        status = embi_fail(err, EMB_BAD_DATA, -1, "\"%s\": expected one character", key);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The steps
 */

static emb_status read_pattern(const struct embi_json_value *value, struct embi_split *step,
                               emb_err *err)
{
    emb_status status = embi_member_pattern(value, &step->pattern, err);
    if (!status)
        status = read_behavior(value, step, err);
    return status ? status : embi_member_bool(value, "invert", false, &step->invert, err);
}

static emb_status read_whitespace(const struct embi_json_value *value, struct embi_split *step,
                                  emb_err *err)
{
    (void)value;
    step->invert = true;
    step->behavior = EMBI_CUT_REMOVED;
    return compile(words, step, err);
}

static emb_status read_blanks(const struct embi_json_value *value, struct embi_split *step,
                              emb_err *err)
{
    (void)value;
    (void)err;
    step->chars = embi_is_space;
    step->behavior = EMBI_CUT_REMOVED;
    return EMB_OK;
}

static emb_status read_nothing(const struct embi_json_value *value, struct embi_split *step,
                               emb_err *err)
{
    (void)value;
    (void)step;
    (void)err;
    return EMB_OK;
}

static emb_status read_punctuation(const struct embi_json_value *value, struct embi_split *step,
                                   emb_err *err)
{
    step->chars = embi_is_punctuation;
    return read_behavior(value, step, err);
}

static emb_status read_digits(const struct embi_json_value *value, struct embi_split *step,
                              emb_err *err)
{
    bool alone;
    emb_status status = embi_member_bool(value, "individual_digits", false, &alone, err);
    step->chars = embi_is_numeric;
    step->behavior = alone ? EMBI_CUT_ISOLATED : EMBI_CUT_CONTIGUOUS;
    return status;
}

static emb_status read_delimiter(const struct embi_json_value *value, struct embi_split *step,
                                 emb_err *err)
{
    step->behavior = EMBI_CUT_REMOVED;
    return read_char(value, "delimiter", 0, &step->c, err);
}

static emb_status read_bytes(const struct embi_json_value *value, struct embi_split *step,
                             emb_err *err)
{
    bool parts = false;
    step->behavior = EMBI_CUT_ISOLATED;
    emb_status status = embi_member_bool(value, "add_prefix_space", true, &step->prefix, err);
    if (!status)
        status = embi_member_bool(value, "use_regex", true, &parts, err);
    return status || !parts ? status : compile(gpt2, step, err);
}

/* Older files say add_prefix_space for what is prepend_scheme always or never. */
static emb_status read_meta(const struct embi_json_value *value, struct embi_split *step,
                            emb_err *err)
{
    struct embi_json_value scheme = embi_member(value, "prepend_scheme");
    bool prefix;
    emb_status status = embi_member_bool(value, "add_prefix_space", true, &prefix, err);
    if (!status)
        status = embi_member_bool(value, "split", true, &step->parts, err);
    if (!status)
        status = read_char(value, "replacement", 0x2581, &step->c, err);
    step->behavior = EMBI_CUT_WITH_NEXT;
    step->meta = !prefix || embi_json_is(&scheme, "never") ? EMBI_META_NEVER
                 : embi_json_is(&scheme, "first")          ? EMBI_META_FIRST
                                                           : EMBI_META_ALWAYS;
    bool known = !embi_is_given(&scheme) || step->meta != EMBI_META_ALWAYS ||
                 embi_json_is(&scheme, "always");
    if (!status && !known)
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "the \"prepend_scheme\" is not known");
    return status;
}

static emb_status read_length(const struct embi_json_value *value, struct embi_split *step,
                              emb_err *err)
{
    struct embi_json_value v = embi_member(value, "length");
    step->length = 5;
    if (!embi_is_given(&v) || (embi_json_u64(&v, &step->length) && step->length > 0))
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, -1, "\"length\": expected a number above 0");
}

typedef emb_status read_fn(const struct embi_json_value *value, struct embi_split *step,
                           emb_err *err);

static const struct {
    const char *type;
    enum embi_split_kind kind;
    read_fn *read;
} kinds[] = {
    {"Split", EMBI_SPLIT_PATTERN, read_pattern},
    {"Whitespace", EMBI_SPLIT_PATTERN, read_whitespace},
    {"WhitespaceSplit", EMBI_SPLIT_CHARS, read_blanks},
    {"Punctuation", EMBI_SPLIT_CHARS, read_punctuation},
    {"Digits", EMBI_SPLIT_CHARS, read_digits},
    {"CharDelimiterSplit", EMBI_SPLIT_CHARS, read_delimiter},
    {"BertPreTokenizer", EMBI_SPLIT_BERT, read_nothing},
    {"ByteLevel", EMBI_SPLIT_BYTES, read_bytes},
    {"Metaspace", EMBI_SPLIT_META, read_meta},
    {"FixedLength", EMBI_SPLIT_LENGTH, read_length},
};

static emb_status push(struct embi_splits *splits, const struct embi_split *step, emb_err *err)
{
    if (splits->n == splits->cap) {
        size_t cap = splits->cap ? 2 * splits->cap : 4;
        struct embi_split *grown = realloc(splits->v, cap * sizeof *grown);
        if (!grown)
            return embi_fail_memory(err, cap * sizeof *grown, "pre-tokenizers");
        splits->v = grown;
        splits->cap = cap;
    }
    splits->v[splits->n++] = *step;
    return EMB_OK;
}

static emb_status read_step(void *arg, const struct embi_json_value *value, emb_err *err)
{
    struct embi_json_value type = embi_member(value, "type");
    struct embi_split step = {0};
    size_t i = 0;
    while (i < EMBI_LEN(kinds) &&
           (type.kind != EMBI_JSON_STRING || !embi_json_is(&type, kinds[i].type)))
        i++;
    if (i == EMBI_LEN(kinds))
        return embi_fail_type("pre-tokenizer", value, err);
    step.kind = kinds[i].kind;
    emb_status status = kinds[i].read(value, &step, err);
    if (!status)
        status = push(arg, &step, err);
    if (status)
        embi_regex_free(step.pattern);
    return status;
}

emb_status embi_splits_read(const struct embi_json_value *value, struct embi_splits *splits,
                            emb_err *err)
{
    return embi_steps_read(value, "pretokenizers", read_step, splits, err);
}

void embi_splits_free(struct embi_splits *splits)
{
    for (size_t i = 0; i < splits->n; i++)
        embi_regex_free(splits->v[i].pattern);
    free(splits->v);
    *splits = (struct embi_splits){0};
}
