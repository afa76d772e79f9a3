/* tokenizer_fairseq.c - see tokenizer_fairseq.h.
 *
 * Models that were trained with fairseq have its four special tokens first, <s> <pad> </s> <unk>;
 * their SentencePiece file begins with <unk> <s> </s>, so that every other piece is one row further
 * on. XLM-R ends with <mask>. A tokenizer.json, where there is one, already says all that.
 */
#include "model/tokenizer_fairseq.h"

#include "util/err.h"

#include <stdlib.h>

enum { SPECIALS = 4, SPECIAL_PIECES = 3 };

enum layout { AS_STORED, ONE_FURTHER, ONE_FURTHER_AND_MASK, UNKNOWN_LAYOUT };

struct row_order {
    const char *class;
    enum layout layout;
};

static const struct row_order classes[] = {
    {"XLMRobertaTokenizer", ONE_FURTHER_AND_MASK},
    {"XLMRobertaTokenizerFast", ONE_FURTHER_AND_MASK},
    {"MBartTokenizer", ONE_FURTHER},
    {"MBartTokenizerFast", ONE_FURTHER},
    {"MBart50Tokenizer", ONE_FURTHER},
    {"MBart50TokenizerFast", ONE_FURTHER},
    {"NllbTokenizer", ONE_FURTHER},
    {"NllbTokenizerFast", ONE_FURTHER},
    {"XGLMTokenizer", ONE_FURTHER},
    {"XGLMTokenizerFast", ONE_FURTHER},
    {"CamembertTokenizer", UNKNOWN_LAYOUT},
    {"CamembertTokenizerFast", UNKNOWN_LAYOUT},
    {"BarthezTokenizer", UNKNOWN_LAYOUT},
    {"BarthezTokenizerFast", UNKNOWN_LAYOUT},
    {"PegasusTokenizer", UNKNOWN_LAYOUT},
    {"PegasusTokenizerFast", UNKNOWN_LAYOUT},
};

static enum layout layout_of(const struct embi_json_value *class)
{
    for (size_t i = 0; i < EMBI_LEN(classes); i++)
        if (embi_json_is(class, classes[i].class))
            return classes[i].layout;
    return AS_STORED;
}

static emb_status shift(struct embi_tokenizer *t, bool mask, emb_err *err)
{
    static const emb_str special[SPECIALS] = {{"<s>", 3}, {"<pad>", 5}, {"</s>", 4}, {"<unk>", 5}};
    if (t->n < SPECIAL_PIECES)
        return embi_fail(err, EMB_BAD_DATA, -1, "expected 3 special pieces in the vocabulary");
    uint64_t rest = t->n - SPECIAL_PIECES, n = SPECIALS + rest + mask;
    emb_str *tokens = calloc(n, sizeof *tokens);              /* [n] */
    struct embi_token_note *notes = calloc(n, sizeof *notes); /* [n] */
    if (!tokens || !notes) {
        free(tokens);
        free(notes);
        return embi_fail_memory(err, n * sizeof *tokens, "tokens");
    }
    memcpy(tokens, special, sizeof special);
    memcpy(tokens + SPECIALS, t->tokens + SPECIAL_PIECES, rest * sizeof *tokens);
    if (mask)
        tokens[n - 1] = (emb_str){"<mask>", 6};
    for (size_t i = 0; i < SPECIALS; i++)
        notes[i].type = i == SPECIALS - 1 ? EMBI_TOKEN_UNKNOWN : EMBI_TOKEN_CONTROL;
    memcpy(notes + SPECIALS, t->notes + SPECIAL_PIECES, rest * sizeof *notes);
    if (mask)
        notes[n - 1].type = EMBI_TOKEN_CONTROL;
    free(t->notes);
    t->notes = notes;
    t->n_notes = n;
    free(t->tokens);
    t->tokens = tokens;
    t->n = t->count = t->capacity = t->next_id = n;
    return EMB_OK;
}

emb_status embi_fairseq_rows(struct embi_tokenizer *t, const struct embi_json_value *class,
                             emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    enum layout layout = layout_of(class);
    if (layout == AS_STORED)
        return EMB_OK;
    if (layout != UNKNOWN_LAYOUT)
        return shift(t, layout == ONE_FURTHER_AND_MASK, err);
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "the rows of a %s are not in the order of its SentencePiece file; "
                     "tokenizer.json would tell their tokens",
                     embi_show(shown, (emb_str){class->s + 1, class->n - 2}));
}
