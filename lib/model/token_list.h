/* token_list.h - the added tokens that one tokenizer file lists, with the places where they stand,
 * so that the file can be compared with others and edited.
 *
 * Three forms (docs/formats/tokenizers.md): tokenizer.json "added_tokens": [{"id", "content",
 * ...}]; tokenizer_config.json "added_tokens_decoder": {"id": {"content", ...}}; added_tokens.json
 * {"content": id}.
 */
#ifndef EMBI_MODEL_TOKEN_LIST_H
#define EMBI_MODEL_TOKEN_LIST_H

#include "util/buf.h"
#include "util/json.h"
#include "util/map.h"

/* Flags of an entry, by the names that the files give them. */
enum {
    EMBI_TOKEN_SINGLE_WORD = 1,
    EMBI_TOKEN_LSTRIP = 2,
    EMBI_TOKEN_RSTRIP = 4,
    EMBI_TOKEN_NORMALIZED = 8,
    EMBI_TOKEN_SPECIAL = 16
};

struct embi_token_entry {
    emb_str text;
    uint64_t id;                    /* as written */
    unsigned flags;                 /* EMBI_TOKEN_...; 0 where the form has none */
    struct embi_json_value content; /* the string that is the text: a value or a key */
    struct embi_json_value item;    /* the whole entry, or its key */
};

struct embi_token_list {
    const char *file;               /* its name, for messages; a constant */
    bool found;                     /* there is such a list, maybe an empty one */
    struct embi_token_entry *items; /* [n] in the order of the file, empty texts left out */
    size_t n, capacity;
    struct embi_buf strings;
    emb_str *texts;      /* [n] of items */
    struct embi_map map; /* of texts */
};

enum embi_token_form { EMBI_TOKENS_ARRAY, EMBI_TOKENS_DECODER, EMBI_TOKENS_PLAIN };

/* Reads the list that is the next value of j. What is wrong becomes an error of j; EMB_NO_MEMORY is
 * returned. Frees nothing: embi_token_list_free does. */
emb_status embi_token_list_read(struct embi_token_list *list, struct embi_json *j,
                                enum embi_token_form form, emb_err *err);

/* Reads the tokens that have roles, from the value of special_tokens_map.json: {"role": token or
 * [token, ...]}, a token being a string or an object with its content. All get the flag SPECIAL;
 * ids are 0. */
emb_status embi_token_roles_read(struct embi_token_list *list, struct embi_json *j, emb_err *err);

void embi_token_list_free(struct embi_token_list *list);

/* The first entry of that text, or NULL. */
const struct embi_token_entry *embi_token_list_find(const struct embi_token_list *list,
                                                    emb_str text);

#endif
