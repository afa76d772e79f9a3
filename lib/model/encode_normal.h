/* encode_normal.h - the steps that normalise text before it is parted, as tokenizer.json lists
 * them. Only for lib/model/encode*.c.
 */
#ifndef EMBI_MODEL_ENCODE_NORMAL_H
#define EMBI_MODEL_ENCODE_NORMAL_H

#include "model/encode_json.h"
#include "util/regex.h"
#include "util/unicode.h"

enum embi_normal_kind {
    EMBI_NORMAL_FORM,        /* NFC, NFD, NFKC, NFKD                                */
    EMBI_NORMAL_LOWER,       /* Lowercase                                           */
    EMBI_NORMAL_ACCENTS,     /* StripAccents: marks go                              */
    EMBI_NORMAL_STRIP,       /* Strip: blanks at the ends go                        */
    EMBI_NORMAL_PREPEND,     /* Prepend: `text` stands before                       */
    EMBI_NORMAL_REPLACE,     /* Replace: matches of `pattern` become `text`         */
    EMBI_NORMAL_BERT,        /* BertNormalizer                                      */
    EMBI_NORMAL_NMT,         /* Nmt: controls go, odd blanks become blanks          */
    EMBI_NORMAL_PRECOMPILED, /* Precompiled: SentencePiece's table of replacements */
    EMBI_NORMAL_BYTES        /* ByteLevel: bytes become the characters of GPT-2     */
};

/* SentencePiece's table: a double-array trie (Darts-clone) over texts, and what they become. */
struct embi_charsmap {
    struct embi_buf blob;
    size_t units;    /* of 4 bytes, behind the first 4 of the blob */
    const char *to;  /* [to_bytes] NUL-terminated replacements */
    size_t to_bytes; /* the last one may lack its NUL */
};

struct embi_normal {
    enum embi_normal_kind kind;
    enum embi_normal_form form;
    bool left, right;                    /* EMBI_NORMAL_STRIP */
    bool clean, chinese, accents, lower; /* EMBI_NORMAL_BERT */
    struct embi_buf text;
    struct embi_regex *pattern;
    struct embi_charsmap map;
};

struct embi_normals {
    struct embi_normal *v; /* [n] */
    size_t n, cap;
};

/* Reads the value of "normalizer", null for none. */
emb_status embi_normals_read(const struct embi_json_value *value, struct embi_normals *normals,
                             emb_err *err);
void embi_normals_free(struct embi_normals *normals);

/* *text becomes what it is normalised to. *first, that the text begins with what the whole text
 * begins with, becomes false where that is taken away. */
emb_status embi_normals_apply(const struct embi_normals *normals, struct embi_buf *text,
                              bool *first, emb_err *err);

/* encode_charsmap.c: reads the base64 of a Precompiled step; appends s [n] replaced. */
emb_status embi_charsmap_read(const struct embi_json_value *value, struct embi_charsmap *map,
                              emb_err *err);
void embi_charsmap_apply(const struct embi_charsmap *map, const char *s, size_t n,
                         struct embi_buf *out);

#endif
