/* tokenizer_added.h - tokens that were added to a vocabulary, and the ids that they get. Only for
 * lib/model/tokenizer*.c.
 */
#ifndef EMBI_MODEL_TOKENIZER_ADDED_H
#define EMBI_MODEL_TOKENIZER_ADDED_H

#include "model/tokenizer_read.h"

struct embi_added {
    emb_str content;
    uint64_t id;    /* as written in the file                              */
    bool has_id;    /* one is written                                      */
    bool special;   /* as the file says                                    */
    const char *at; /* its place in the file                               */
};

/* All zero is an empty list. */
struct embi_added_list {
    struct embi_added *items; /* [n] */
    size_t n, capacity;
};

emb_status embi_added_push(struct embi_added_list *list, const struct embi_added *item,
                           emb_err *err);
void embi_added_free(struct embi_added_list *list);

/* Reads one object {"content": ..., "id": ...} of which the bracket is the next event. */
emb_status embi_added_read(struct embi_token_source *src, struct embi_json *j,
                           struct embi_added *item, emb_err *err);

/* The loaders' rule for tokenizer.json, in the order of the file: content that is in the vocabulary
 * has that id; other content gets the vocabulary's size, or the largest id of an added token plus 1
 * once that is as large. The written id only serves a warning. Empty content is dropped. `entries`
 * is the size of the vocabulary that src->t holds; sets next_id. */
emb_status embi_added_by_rule(struct embi_token_source *src, const struct embi_added_list *list,
                              uint64_t entries, emb_err *err);

/* The rule of the files beside it: the written id, if that id has no token yet and the content has
 * none either. Differences are warnings. Raises next_id. */
emb_status embi_added_by_id(struct embi_token_source *src, const struct embi_added_list *list,
                            emb_err *err);

#endif
