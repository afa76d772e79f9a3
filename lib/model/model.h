/* model.h - which tensor of a file is the table that a user means.
 *
 * Checkpoints name their input embedding after the architecture. The names here are those of the
 * published model sources (formats in docs/formats/safetensors.md).
 */
#ifndef EMBI_MODEL_MODEL_H
#define EMBI_MODEL_MODEL_H

#include "fmt/fmt.h"

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

/* The tensor that `name` says (NULL: the input embedding). EMB_UNSUPPORTED, with the candidates in
 * the message, where there is none or names do not decide; EMB_BAD_ARG for a name that is not
 * there. */
emb_status embi_choose_tensor(const struct embi_reader *reader, const char *name, size_t *tensor,
                              emb_err *err);

/* EMB_UNSUPPORTED, by name, if the tensor's companions show that its numbers are not the table's
 * values: MLX and GPTQ packed weights, 8-bit floats or integers with scales. */
emb_status embi_refuse_quantised(const struct embi_reader *reader, size_t tensor, emb_err *err);

#endif
