/* project.c - narrow rows times a matrix that makes them as wide as the model, x W^T + b; see
 * assemble.h. Products and sums are of f64, and rounded once by the caller: which library adds them
 * in which order shows in one number of ten million at most (docs/numerics.md).
 */
#include "dev/load.h"
#include "num/dtype.h"
#include "ops/assemble.h"
#include "util/err.h"

#include <limits.h>
#include <stdlib.h>

emb_status embi_project_open(struct emb_assembly *a, emb_err *err)
{
    const struct embi_side *w = &a->layer.project, *b = &a->layer.project_bias;
    size_t d = w->dims, wide = w->rows, row_bytes = d * emb_dtype_bytes(w->dtype);
    if (d > INT_MAX || wide > INT_MAX)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "a projection [%zu, %zu]: BLAS counts to %d",
                         wide, d, INT_MAX);
    double *row = malloc(d * sizeof *row);
    a->project = malloc(d * wide * sizeof *a->project);
    a->project_bias = calloc(wide, sizeof *a->project_bias);
    if (!row || !a->project || !a->project_bias) {
        free(row);
        return embi_fail_memory(err, (d + 1) * wide * sizeof *row, "a projection");
    }
    for (size_t r = 0; r < wide; r++) {
        embi_to_f64(row, (const unsigned char *)w->data + r * row_bytes, w->dtype, d);
        for (size_t c = 0; c < d; c++)
            a->project[c * wide + r] = row[c];
    }
    if (b->data)
        embi_to_f64(a->project_bias, (const unsigned char *)b->data, b->dtype, wide);
    free(row);
    return EMB_OK;
}

static void multiply(const double *x, const double *matrix, size_t d, size_t wide, double *out)
{
    for (size_t c = 0; c < d; c++)
        for (size_t k = 0; k < wide; k++)
            out[k] += x[c] * matrix[c * wide + k];
}

void embi_project(const struct emb_assembly *a, const struct embi_blas *blas, const double *x,
                  size_t n, double *out)
{
    size_t d = a->layer.project.dims, wide = a->layer.project.rows;
    memset(out, 0, n * wide * sizeof *out);
    if (blas)
        blas->dgemm_nn((int)n, (int)wide, (int)d, x, (int)d, a->project, (int)wide, out, (int)wide);
    for (size_t i = 0; !blas && i < n; i++)
        multiply(x + i * d, a->project, d, wide, out + i * wide);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < wide; k++)
            out[i * wide + k] += a->project_bias[k];
}
