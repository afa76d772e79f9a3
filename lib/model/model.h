/* model.h - a model: its weights, what config.json says, and its tokenizer; and which of its
 * tensors are the tables that a user means.
 *
 * A file of named tensors on its own is a model too, of which only the tensors are known.
 * Checkpoints name their tables after the architecture (architectures.c); where that is not known,
 * names that many use (names.c) and shapes decide. Implements docs/formats/model.md.
 */
#ifndef EMBI_MODEL_MODEL_H
#define EMBI_MODEL_MODEL_H

#include "model/config.h"
#include "model/tokenizer.h"
#include "model/weights.h"
#include "table/table.h"

struct embi_model {
    const struct embi_env *env;
    char *dir;           /* where config.json and the tokenizer lie; NULL: a file on its own */
    size_t root_bytes;   /* of a directory that was opened as a model, at the start of dir; what is
                          behind is a folder in it. 0: a file was opened */
    uint64_t root_id[2]; /* that directory, by device and number, when it was opened */
    bool part;           /* a file that is not all of the directory's weights was named */
    bool headers_only;   /* tensors are chosen without a look at their bytes: of several that may
                            be copies of each other none is chosen */
    struct embi_config config;
    struct embi_weights weights;
    struct embi_tokenizer tokenizer; /* empty until it is needed */
    bool tokenizer_found;
    size_t table; /* the tensor that was opened */
    bool output;  /* it was asked for as what hidden states are multiplied with */
};

/* Opens a model directory. *model is freed by embi_model_free. */
emb_status embi_model_open_dir(const struct embi_env *env, const char *dir,
                               const struct embi_read_opts *opts, struct embi_model **model,
                               emb_err *err);

/* A reader of named tensors (taken over, on failure too), and what lies beside its file. */
emb_status embi_model_open_file(struct embi_reader *reader, struct embi_model **model,
                                emb_err *err);

void embi_model_free(struct embi_model *model);

/* ------------------------------------------------------------------------------------------------
 * Which tensor
 */

/* What a tensor's name says about it. */
enum embi_role {
    EMBI_ROLE_NONE,  /* something else */
    EMBI_ROLE_INPUT, /* token embedding */
    EMBI_ROLE_HEAD,  /* output table (lm_head) */
    EMBI_ROLE_OTHER  /* a table, but of positions, token types, experts, images ... */
};

/* rank: lower is surer, among tensors of one role. Wrapper prefixes ("module.", "_orig_mod." ...)
 * do not matter. */
enum embi_role embi_role_of(emb_str name, int *rank);

/* Is it the name of a table of learned positions of tokens? */
bool embi_names_positions(emb_str name);

/* The input embedding. EMB_UNSUPPORTED, with the candidates in the message, where there is none or
 * nothing decides. Copies that differ from it are warned of. */
emb_status embi_choose_input(struct embi_model *m, size_t *tensor, emb_err *err);

/* The stored output table, or EMBI_NO_TENSOR. input: the input embedding, whose shape it has. */
emb_status embi_choose_head(struct embi_model *m, size_t input, size_t *tensor, emb_err *err);

/* The tensor of this name; EMB_BAD_ARG, with a list of names, where there is none. */
emb_status embi_choose_named(struct embi_model *m, const char *name, size_t *tensor, emb_err *err);

/* EMB_UNSUPPORTED, by name, if the tensor's companions show that its numbers are not the table's
 * values: MLX and GPTQ packed weights, 8-bit floats or integers with scales. */
emb_status embi_refuse_quantised(const struct embi_weights *w, size_t tensor, emb_err *err);

/* EMB_UNSUPPORTED if the tensor is stored as [d, V]. */
emb_status embi_refuse_transposed(struct embi_model *m, size_t tensor, emb_err *err);

/* Is the head the input embedding? 1: only one is stored, or both have the same bytes; 0; -1: the
 * model has no head that is known. */
emb_status embi_model_tied(struct embi_model *m, size_t input, size_t head, int *tied,
                           emb_err *err);

/* ------------------------------------------------------------------------------------------------
 * From the model to a table
 */

/* Makes tensor m->table a table, which owns the model from then on; where this fails the model is
 * freed. */
emb_status embi_model_table(const emb_ctx *ctx, struct embi_model *m, uint64_t limit_rows,
                            emb_table **table, emb_err *err);

/* Tokens of the model's own tokenizer for its table, loaded when first needed; nothing where there
 * is no tokenizer. */
emb_status embi_model_give_tokens(struct embi_model *m, emb_table *table, emb_err *err);

/* Tokens from the file beside the table's that its metadata speak of (fmt/beside.h), loaded when
 * first needed. Where it is not there, a warning says so. EMB_UNSUPPORTED for vectors whose labels
 * lie beside them, unless their format was named. */
emb_status embi_give_beside(emb_table *table, bool named, emb_err *err);

/* Appends the text that a token of the tokenizer stands for; false where tokens are their own. */
bool embi_tokenizer_text(const struct embi_tokenizer *t, emb_str token, struct embi_buf *out);

/* Tokens from a file of any kind, or from a directory with a tokenizer: --vocab. */
emb_status embi_give_vocab(emb_table *table, const char *path, emb_err *err);

/* Static embeddings may store fewer rows than there are tokens, with a tensor `mapping` [T] from
 * token id to row: the table then has T rows. Nothing happens where there is none. */
emb_status embi_model_map_rows(struct embi_model *m, emb_table *table, emb_err *err);

#endif
