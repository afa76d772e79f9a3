/* shape.c - counts the elements of a shape and prints it.
 *
 * Counting goes left to right with every product checked, as the reference implementation of
 * safetensors does it: [0, huge, huge] is an empty tensor, [huge, huge, 0] overflows.
 */
#include "fmt/shape.h"

#include <inttypes.h>
#include <stdio.h>

bool embi_shape_count(const uint64_t *shape, int ndim, uint64_t *count)
{
    uint64_t n = 1;
    for (int i = 0; i < ndim; i++)
        if (!embi_mul(n, shape[i], &n))
            return false;
    *count = n;
    return true;
}

const char *embi_shape_show(char out[EMBI_SHAPE_MAX], const uint64_t *shape, int ndim)
{
    enum { NUMBER_BYTES = 32 }; /* ", ", 20 digits, or the dots, the bracket and the NUL */
    size_t n = 0;
    out[n++] = '[';
    for (int i = 0; i < ndim; i++) {
        size_t left = EMBI_SHAPE_MAX - n;
        if (left < NUMBER_BYTES) {
            n += (size_t)snprintf(out + n, left, ", ...");
            break;
        }
        n += (size_t)snprintf(out + n, left, "%s%" PRIu64, i ? ", " : "", shape[i]);
    }
    out[n++] = ']';
    out[n] = '\0';
    return out;
}

const char *embi_tensor_show(char out[EMBI_TENSOR_MAX], emb_str name)
{
    char show[EMBI_SHOW_MAX];
    out[0] = '\0';
    if (name.s)
        (void)snprintf(out, EMBI_TENSOR_MAX, "tensor '%s': ", embi_show(show, name));
    return out;
}
