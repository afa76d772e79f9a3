/* shape.h - shapes as they stand in messages, and the element types of one array to be written.
 *
 * Only for the files of fmt/: what fixed formats (npy, npz, safetensors, raw) have in common.
 */
#ifndef EMBI_FMT_SHAPE_H
#define EMBI_FMT_SHAPE_H

#include "fmt/fmt.h"
#include "util/err.h"

/* "[3, 4]", "[]" for a scalar. A shape that does not fit ends in "...]". Returns out. */
#define EMBI_SHAPE_MAX 100
const char *embi_shape_show(char out[EMBI_SHAPE_MAX], const uint64_t *shape, int ndim);

/* What messages call a tensor: "tensor 'NAME': ", or "" in formats without names. Returns out. */
#define EMBI_TENSOR_MAX (EMBI_SHOW_MAX + 16)
const char *embi_tensor_show(char out[EMBI_TENSOR_MAX], emb_str name);

#endif
