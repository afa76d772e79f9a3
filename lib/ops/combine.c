/* combine.c - a vector made of others: the weighted sum of terms, in double precision, in their
 * order.
 */
#include "num/dtype.h"
#include "ops/search.h"
#include "util/err.h"

#include <math.h>
#include <stdlib.h>

/* Multiplies v by 1 / |v|, as accurately for very large and very small elements as for others. */
static void make_unit(double *v, uint32_t d)
{
    double norm2 = embi_dot_f64(v, v, d);
    if (!(norm2 >= 0x1p-500 && norm2 <= 0x1p500)) {
        double largest = 0;
        for (uint32_t i = 0; i < d; i++)
            largest = fmax(largest, fabs(v[i]));
        int e = (int)fmin(1000, fmax(-1000, logb(largest)));
        for (uint32_t i = 0; i < d; i++)
            v[i] = ldexp(v[i], -e);
        norm2 = embi_dot_f64(v, v, d);
    }
    double norm = sqrt(norm2);
    for (uint32_t i = 0; i < d; i++)
        v[i] /= norm;
}

emb_status emb_combine(const emb_block *terms, const double *weights, bool unit_terms,
                       double *query, emb_err *err)
{
    uint32_t d = terms->dims;
    size_t stride = terms->stride_bytes ? terms->stride_bytes : d * emb_dtype_bytes(terms->dtype);
    if (!emb_dtype_is_float(terms->dtype))
        return embi_fail(err, EMB_BAD_ARG, -1, "terms of type %s; a float type expected",
                         emb_dtype_name(terms->dtype));
    double *v = malloc(d * sizeof *v + 1);
    if (!v)
        return embi_fail_memory(err, d * sizeof *v, "a term");
    emb_status status = EMB_OK;
    for (uint32_t c = 0; c < d; c++)
        query[c] = 0;
    for (size_t i = 0; !status && i < terms->rows; i++) {
        embi_to_f64(v, (const unsigned char *)terms->data + i * stride, terms->dtype, d);
        if (!embi_all_finite(v, embi_dot_f64(v, v, d), d))
            status =
                embi_fail(err, EMB_BAD_DATA, (int64_t)i, "term %zu holds NaN or an infinity", i);
        else if (unit_terms && embi_all_zero(v, d))
            status = embi_fail(err, EMB_BAD_DATA, (int64_t)i,
                               "term %zu is zero: it has no direction", i);
        if (status)
            break;
        if (unit_terms)
            make_unit(v, d);
        for (uint32_t c = 0; c < d; c++)
            query[c] += weights[i] * v[c];
    }
    free(v);
    return status;
}
