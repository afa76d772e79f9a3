/* tokenizer_read.h - what the readers of vocabulary files share. Only for lib/model/token*.c and
 * the readers that are declared here.
 *
 * A reader gets the bytes of one file and puts tokens into src->t. It may fail half-way: who called
 * it then frees t. Strings that are not in the file as they are go into src->strings, a block that
 * is made once, as large as all of them can be, so that it never moves.
 */
#ifndef EMBI_MODEL_TOKENIZER_READ_H
#define EMBI_MODEL_TOKENIZER_READ_H

#include "model/tokenizer.h"
#include "util/json.h"

struct embi_ahead; /* tokenizer_ahead.h */

struct embi_token_source {
    const struct embi_env *env;
    const char *path; /* for the log */
    struct embi_io *file;
    const char *s; /* [n] the content */
    size_t n;
    struct embi_tokenizer *t;
    struct embi_buf *strings;
    struct embi_token_conflict conflict;
    struct embi_ahead *ahead; /* of tokenizer.json: who checks the merges; NULL: nobody yet */
};

/* Opens the next part of t: the content in memory. Owns the file, whatever happens. */
emb_status embi_token_source_open(struct embi_token_source *src, const struct embi_env *env,
                                  struct embi_io *file, const char *path, struct embi_tokenizer *t,
                                  emb_err *err);

/* Makes room for `bytes` bytes of strings; called before the first of them is made. */
emb_status embi_token_source_room(struct embi_token_source *src, uint64_t bytes, emb_err *err);

/* The next n bytes of that room; NULL if there is none (EMB_BUG: the room was reckoned wrongly). */
char *embi_token_source_take(struct embi_token_source *src, size_t n);

/* The characters of a JSON key or string v of the file: where there are no escapes the bytes of the
 * file, else a copy. The room must be the size of the file, and v be asked for once. */
emb_status embi_token_source_string(struct embi_token_source *src, const struct embi_json_value *v,
                                    emb_str *out, emb_err *err);

/* Gives an id its token; `at` is the place in the file. An id that has another one keeps it, and
 * the conflict is counted. */
emb_status embi_token_put(struct embi_token_source *src, uint64_t id, emb_str token, const char *at,
                          emb_err *err);

/* The note of an id, to be filled; NULL: no memory, and *err is set. */
struct embi_token_note *embi_token_note(struct embi_token_source *src, uint64_t id, emb_err *err);

/* Notes that an id has two contents. */
void embi_token_conflict_add(struct embi_token_source *src, uint64_t id, emb_str kept,
                             emb_str other);

/* Warns of the conflicts, if there are any. */
void embi_token_conflict_report(const struct embi_token_source *src);

/* A token id; where v is none, the reader j fails and this is false. */
bool embi_token_id(struct embi_json *j, const struct embi_json_value *v, uint64_t *id);

/* The members of the object token -> id that j has entered, to its end; *entries grows by their
 * number. What is no id makes j fail, which its end reports. */
emb_status embi_read_token_ids(struct embi_token_source *src, struct embi_json *j,
                               uint64_t *entries, emb_err *err);

/* The readers. Each sets n, count, next_id and pieces of src->t. */
emb_status embi_read_tokenizer_json(struct embi_token_source *src, emb_err *err);
emb_status embi_read_vocab_json(struct embi_token_source *src, emb_err *err);
emb_status embi_read_vocab_lines(struct embi_token_source *src, emb_err *err);
emb_status embi_read_sentencepiece(struct embi_token_source *src, emb_err *err);
emb_status embi_read_tiktoken(struct embi_token_source *src, emb_err *err);
emb_status embi_read_tekken(struct embi_token_source *src, emb_err *err);

/* What the bytes are, as far as they say it for sure; else EMBI_TOKENIZER_NONE. */
enum embi_tokenizer_kind embi_sniff_json(const char *s, size_t n);
bool embi_sniff_sentencepiece(const char *s, size_t n);
bool embi_sniff_tiktoken(const char *s, size_t n);

/* tokenizer_json_model.c: reads the value of the key "model"; *entries is the size of its
 * vocabulary as the loaders count it. */
emb_status embi_read_json_model(struct embi_token_source *src, struct embi_json *j,
                                uint64_t *entries, emb_err *err);

/* tokenizer_json_decoder.c: reads the value of the key "decoder" into src->t->pieces; false if it
 * is null, which says nothing. */
emb_status embi_read_json_decoder(struct embi_token_source *src, struct embi_json *j, bool *said,
                                  emb_err *err);

#endif
