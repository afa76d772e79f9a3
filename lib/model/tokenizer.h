/* tokenizer.h - the tokens of a vocabulary file or of a model directory, by id.
 *
 * Read are tokenizer.json (BPE, WordPiece, WordLevel, Unigram, with added tokens), vocab.json and
 * added_tokens.json (an object token -> id), vocab.txt and other text of one token a line,
 * SentencePiece models, tiktoken ranks and tekken.json. Only what labels rows is used: nothing here
 * splits text. Implements docs/formats/tokenizers.md.
 *
 *     struct embi_tokenizer t;
 *     status = embi_tokenizer_open_file(env, "tokenizer.json", &t, err);
 *     ... t.tokens[id], embi_piece_text(&t.pieces, t.tokens[id], &out) ...
 *     embi_tokenizer_free(&t);
 *
 * - Failure leaves *t empty, with nothing to free. EMB_BAD_DATA: the file breaks its format's
 * rules; err->at is the byte. EMB_UNSUPPORTED: it is no vocabulary, or its ids lie too far apart
 * (beyond 4 million plus the bytes of the file). EMB_IO: it cannot be read.
 * - What may puzzle later goes to the log as a warning, one line for each kind: an id with two
 *   contents, an added token whose written id is not the one it gets.
 * - Tokens point into the mapped files where they can, so the files stay open until
 *   embi_tokenizer_free. Tokens may be empty and may hold NUL and bytes that are not UTF-8.
 */
#ifndef EMBI_MODEL_TOKENIZER_H
#define EMBI_MODEL_TOKENIZER_H

#include "fmt/notes.h"
#include "io/io.h"
#include "model/pieces.h"

enum embi_tokenizer_kind {
    EMBI_TOKENIZER_NONE,
    EMBI_TOKENIZER_JSON,          /* tokenizer.json                        */
    EMBI_TOKENIZER_VOCAB_JSON,    /* an object token -> id                 */
    EMBI_TOKENIZER_LINES,         /* vocab.txt, one token a line           */
    EMBI_TOKENIZER_SENTENCEPIECE, /* a protobuf ModelProto                 */
    EMBI_TOKENIZER_TIKTOKEN,      /* lines of base64, a space and a rank   */
    EMBI_TOKENIZER_TEKKEN
};

/* One file that tokens came from. */
struct embi_tokenizer_part {
    struct embi_io *file;
    struct embi_buf strings; /* what is not in the file as it is; never moves */
};

/* What a file says of a token beside its name. */
struct embi_token_note {
    float score;
    uint8_t type; /* enum embi_token_type */
};

/* The roles that tokens have in tokenizer_config.json or a SentencePiece model. */
enum embi_noted_role {
    EMBI_NOTED_BOS,
    EMBI_NOTED_EOS,
    EMBI_NOTED_UNK,
    EMBI_NOTED_PAD,
    EMBI_NOTED_SEP,
    EMBI_NOTED_CLS,
    EMBI_NOTED_MASK,
    EMBI_NOTED_ROLES
};

enum { EMBI_TOKENIZER_PARTS = 3 }; /* a tokenizer file, tokenizer_config.json, added_tokens.json */

/* Ids of a file that have been given two contents. */
struct embi_token_conflict {
    uint64_t n; /* how often that happened */
    uint64_t id;
    emb_str kept, other; /* of the first such id */
};

struct embi_tokenizer {
    enum embi_tokenizer_kind kind; /* of the file that most tokens came from                     */
    emb_str *tokens;               /* [n] by id; s NULL: no token has that id                    */
    uint64_t n;                    /* the largest id of a token, plus 1                          */
    uint64_t count;                /* ids that have a token                                      */
    uint64_t next_id;              /* what the loaders give the next token that is added: with   */
                                   /* holes in the vocabulary this may be less than n            */
    struct embi_pieces pieces;
    struct embi_token_conflict conflict; /* in that file */

    struct embi_token_note *notes; /* [n_notes] by id, or NULL */
    uint64_t n_notes;
    bool scored;                     /* they have scores */
    bool gguf;                       /* the file is GGUF, and knows more than this */
    emb_str roles[EMBI_NOTED_ROLES]; /* the tokens that have them; s NULL: none is named */

    uint64_t capacity; /* of tokens */
    struct embi_tokenizer_part parts[EMBI_TOKENIZER_PARTS];
    int n_parts;
};

/* Opens a vocabulary file of any kind. The kind is found from the content; where that says nothing,
 * names that end with .json, .model, .spm or .tiktoken do, and the rest is text. */
emb_status embi_tokenizer_open_file(const struct embi_env *env, const char *path,
                                    struct embi_tokenizer *t, emb_err *err);

/* The same for a file that is open; path is its name for the log and for the kind. The file belongs
 * to t then, and is closed if this fails. */
emb_status embi_tokenizer_open_io(const struct embi_env *env, struct embi_io *file,
                                  const char *path, struct embi_tokenizer *t, emb_err *err);

/* The same for a file whose kind is known. */
emb_status embi_tokenizer_open_kind(const struct embi_env *env, const char *path,
                                    enum embi_tokenizer_kind kind, struct embi_tokenizer *t,
                                    emb_err *err);

/* Opens the vocabulary of a model directory: the first that is there of tokenizer.json, vocab.json,
 * vocab.txt, a SentencePiece model, *.tiktoken, tekken.json; then adds what only
 * tokenizer_config.json (added_tokens_decoder) and added_tokens.json know, in this order. What came
 * first stays, and a difference is a warning. *found is false, and t empty, where there is no such
 * file. Messages begin with the name of the file inside the directory. */
emb_status embi_tokenizer_open_dir(const struct embi_env *env, const char *dir,
                                   struct embi_tokenizer *t, bool *found, emb_err *err);

/* Is there a file that embi_tokenizer_open_dir would open? */
emb_status embi_tokenizer_in_dir(const struct embi_env *env, const char *dir, bool *found,
                                 emb_err *err);

/* What is known of the tokens beside their names. */
emb_status embi_tokenizer_notes(const struct embi_tokenizer *t, struct embi_token_notes *notes,
                                emb_err *err);

void embi_tokenizer_free(struct embi_tokenizer *t);

#endif
