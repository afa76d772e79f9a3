/* encode_split.h - the steps that part text into words before each is split into pieces
 * ("pre_tokenizer" of tokenizer.json). Only for lib/model/encode*.c.
 */
#ifndef EMBI_MODEL_ENCODE_SPLIT_H
#define EMBI_MODEL_ENCODE_SPLIT_H

#include "model/encode_json.h"
#include "model/encode_text.h"

enum embi_split_kind {
    EMBI_SPLIT_PATTERN, /* Split, Whitespace: at matches of `pattern`              */
    EMBI_SPLIT_CHARS,   /* at characters of a kind: WhitespaceSplit, Digits ...    */
    EMBI_SPLIT_BERT,    /* at blanks, which go, and around punctuation             */
    EMBI_SPLIT_BYTES,   /* ByteLevel: GPT-2's pattern, then bytes as characters    */
    EMBI_SPLIT_META,    /* Metaspace: blanks are `c`, words begin with it          */
    EMBI_SPLIT_LENGTH   /* FixedLength: every `length` characters                  */
};

enum embi_meta_prepend { EMBI_META_ALWAYS, EMBI_META_FIRST, EMBI_META_NEVER };

struct embi_split {
    enum embi_split_kind kind;
    enum embi_cut_behavior behavior;
    bool invert;                /* what does not match is what is looked for */
    struct embi_regex *pattern; /* NULL: not parted by one                   */
    bool (*chars)(uint32_t);    /* NULL: the character c                     */
    uint32_t c;
    bool prefix;                 /* EMBI_SPLIT_BYTES: a blank stands before   */
    enum embi_meta_prepend meta; /* EMBI_SPLIT_META: where c stands before    */
    bool parts;                  /* EMBI_SPLIT_META: part at c                */
    uint64_t length;             /* EMBI_SPLIT_LENGTH */
};

struct embi_splits {
    struct embi_split *v; /* [n] */
    size_t n, cap;
};

/* Reads the value of "pre_tokenizer", null for none. */
emb_status embi_splits_read(const struct embi_json_value *value, struct embi_splits *splits,
                            emb_err *err);
void embi_splits_free(struct embi_splits *splits);

/* *parts become what all steps make of them, one after another. */
emb_status embi_splits_apply(const struct embi_splits *splits, struct embi_parts *parts,
                             emb_err *err);

#endif
