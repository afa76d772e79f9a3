/* token_sources.h - what each tokenizer file of a directory says of its tokens' ids, and what the
 * loaders make of it.
 *
 * Loaders number the added tokens of tokenizer.json themselves: they count the vocabulary and go on
 * from there, whatever id is written. As long as all files agree with that, a new token can be
 * appended to each of them. Implements docs/formats/tokenizers.md, "ids of added tokens".
 */
#ifndef EMBI_MODEL_TOKEN_SOURCES_H
#define EMBI_MODEL_TOKEN_SOURCES_H

#include "model/sidecar.h"
#include "model/token_list.h"
#include "model/tokenizer.h"
#include "util/map.h"

enum embi_token_file {
    EMBI_TOKENS_OF_JSON,   /* tokenizer.json, added_tokens                */
    EMBI_TOKENS_OF_CONFIG, /* tokenizer_config.json, added_tokens_decoder */
    EMBI_TOKENS_OF_ADDED,  /* added_tokens.json                           */
    EMBI_TOKEN_FILES
};

#define EMBI_TOKENS_BIT(file) (1u << (file))

/* An id at which loaders and files would part: no file gives it to a token, or not every file that
 * should. With all of these filled they agree. */
struct embi_token_fill {
    uint64_t id;
    emb_str text;   /* a token that some file has with this id; s NULL: there is none */
    unsigned flags; /* of that token */
    unsigned files; /* EMBI_TOKENS_BIT: where an entry is missing */
    bool in_vocab;  /* an entry of model.vocab is missing */
    const struct embi_token_entry *before; /* the entry of tokenizer.json that it belongs in front
                                              of; NULL: at the end */
};

/* An entry, and the list it is of. */
struct embi_token_ref {
    const struct embi_token_entry *entry;
    const struct embi_token_list *list;
};

struct embi_token_sources {
    bool json; /* there is a tokenizer.json */
    struct embi_token_list lists[EMBI_TOKEN_FILES];
    struct embi_sidecar files[EMBI_TOKEN_FILES]; /* but for tokenizer.json, which is vocab's */
    struct embi_tokenizer vocab; /* model.vocab of tokenizer.json alone; empty without one */
    uint64_t entries;            /* of model.vocab, as the loaders count them */
    const emb_str *base;         /* [n_base] the vocabulary by id: of model.vocab, or of the files
                                    that stand for it with all tokens that are added */
    uint64_t n_base;
    struct embi_map base_map;
    struct embi_token_ref *by_id; /* [n_by_id] all entries of the lists by their ids */
    size_t n_by_id;
    uint64_t next_id;              /* 1 + the largest id of any file: that of a new token */
    struct embi_token_fill *fills; /* [n_fills] */
    size_t n_fills, fills_capacity;
    char gap[200];   /* the first of the fills in words; "" where there are none */
    bool unfillable; /* what `gap` says cannot be filled */
};

/* Reads the files of dir; t is its tokenizer, which must stay while *s is in use. EMB_BAD_DATA: two
 * files give a token two ids, or an id two tokens; the message has both. */
emb_status embi_token_sources_open(const struct embi_env *env, const char *dir,
                                   const struct embi_tokenizer *t, struct embi_token_sources *s,
                                   emb_err *err);
void embi_token_sources_free(struct embi_token_sources *s);

/* The first entry of any list with this id, or NULL. */
const struct embi_token_ref *embi_token_sources_at(const struct embi_token_sources *s, uint64_t id);

/* The id that the files give a token, or EMBI_MAP_NONE. */
uint64_t embi_token_sources_find(const struct embi_token_sources *s, emb_str text);

#endif
