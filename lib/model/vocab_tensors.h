/* vocab_tensors.h - all stored tensors of a model that have an entry for each token.
 *
 * The embedding, an output table of its own, copies of either, output biases, and tables of the
 * same tokens elsewhere: what has to change together when tokens come or go. Found by the names of
 * the architectures and by shape; copies by their bytes. A tensor that has V rows by chance
 * (positions, layers, images) is none. Implements docs/formats/model.md, "tensors with a vocabulary
 * axis".
 */
#ifndef EMBI_MODEL_VOCAB_TENSORS_H
#define EMBI_MODEL_VOCAB_TENSORS_H

#include "model/model.h"

enum embi_vocab_role {
    EMBI_VOCAB_EMBEDDING, /* [V, d]: the input embedding, or another table that tokens are looked
                             up in (a second encoder's) */
    EMBI_VOCAB_HEAD,      /* [V, d]: the output table, where it is not the embedding's bytes */
    EMBI_VOCAB_BIAS,      /* [V], or [1, V] (final_logits_bias) */
    EMBI_VOCAB_PER_LAYER  /* [V', layers * k]: embed_tokens_per_layer. V' may be less than V */
};

struct embi_vocab_tensor {
    size_t tensor; /* in model.weights.tensors; its header was read */
    enum embi_vocab_role role;
    int axis;      /* the vocabulary's: 0, or 1 in [1, V] */
    uint64_t rows; /* entries along it: found, not expected */
    size_t leader; /* place in the list of the first tensor with the same type, shape and bytes and
                       a role of its kind (a stored head that equals the embedding has the role of
                       the embedding); its own place: it is no copy */
};

struct embi_vocab_tensors {
    struct embi_vocab_tensor *list; /* [n]: list[0] is the input embedding */
    size_t n;
    size_t head; /* place in the list of the stored output table, a copy or not; EMBI_NO_TENSOR:
                    there is none */
};

/* Reads the headers of the files that hold such tensors, and the bytes of those that may be copies.
 * Sizes are not judged: a bias of another length is listed with its own. Tensors that are named
 * like an output table, have its shape and are none of the architecture's are warned of. */
emb_status embi_vocab_tensors_find(struct embi_model *m, struct embi_vocab_tensors *v,
                                   emb_err *err);
void embi_vocab_tensors_free(struct embi_vocab_tensors *v);

/* The bias of a model's output table, which has `rows` rows: the first tensor with such a name and
 * one axis, or [1, V]. Its length is not judged. *tensor EMBI_NO_TENSOR: there is none. */
emb_status embi_output_bias_find(struct embi_model *m, uint64_t rows, size_t *tensor, emb_err *err);

/* "embedding", "head", "bias", "per-layer table"; with "copy of" where it is one. Constant. */
const char *embi_vocab_role_name(const struct embi_vocab_tensors *v, size_t i);

#endif
