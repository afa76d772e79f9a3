/* npy_write.c - writes .npy files.
 *
 * The header is version 1.0 and byte for byte numpy.save's, with the room that numpy leaves for the
 * first axis to grow: so a count that is not known yet can be put in at the end, and the file is
 * the same as if it had been known. Specification: numpy.lib.format.
 */
#include "fmt/npy.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

enum { LENGTH_AT = 8, PREFIX_BYTES = 10, ALIGN_BYTES = 64, FIRST_AXIS_DIGITS = 21, DESCR_MAX = 8 };

static void add_dict(const char *descr, int ndim, const uint64_t *shape, struct embi_buf *out)
{
    embi_buf_print(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    size_t first = out->n;
    embi_buf_print(out, "%" PRIu64, shape[0]);
    size_t digits = out->n - first;
    for (int i = 1; i < ndim; i++)
        embi_buf_print(out, ", %" PRIu64, shape[i]);
    embi_buf_text(out, ndim == 1 ? ",), }" : "), }");
    embi_buf_fill(out, ' ', FIRST_AXIS_DIGITS - digits);
}

emb_status embi_npy_header_of(const char *descr, int ndim, const uint64_t *shape,
                              struct embi_buf *out, emb_err *err)
{
    out->n = 0;
    embi_buf_add(out, "\x93NUMPY\1\0\0\0", PREFIX_BYTES); /* the length is filled in below */
    add_dict(descr, ndim, shape, out);
    embi_buf_fill(out, ' ', ALIGN_BYTES - (out->n + 1) % ALIGN_BYTES);
    embi_buf_byte(out, '\n');
    if (out->failed)
        return embi_fail_memory(err, 3 * ALIGN_BYTES, "a header");
    size_t bytes = out->n - PREFIX_BYTES; /* below 256: four axes of 20 digits, a short type */
    out->s[LENGTH_AT] = (char)bytes;
    return EMB_OK;
}

emb_status embi_npy_header(const emb_array *array, struct embi_buf *out, emb_err *err)
{
    char descr[DESCR_MAX];
    (void)snprintf(descr, sizeof descr, "%c%s", emb_dtype_bytes(array->dtype) == 1 ? '|' : '<',
                   embi_npy_type_name(array->dtype));
    return embi_npy_header_of(descr, array->ndim, array->shape, out, err);
}

emb_status embi_npy_check(const struct embi_sink *s, emb_err *err)
{
    emb_status status = embi_sink_refuse_tokens(s, err);
    return status == EMB_OK ? embi_npy_check_type(s, err) : status;
}

/* s->buf keeps the header until the end only where it is to be written anew. */
emb_status embi_npy_begin(struct embi_sink *s, emb_err *err)
{
    emb_status status = embi_npy_header(s->arrays, &s->buf, err);
    if (status == EMB_OK)
        status = embi_sink_append_buf(s, err);
    if (!embi_array_open_ended(s->arrays))
        s->buf.n = 0;
    return status;
}

emb_status embi_npy_end(struct embi_sink *s, emb_err *err)
{
    if (s->buf.n == 0)
        return EMB_OK;
    emb_status status = embi_npy_header(s->arrays, &s->buf, err);
    return status == EMB_OK ? embi_sink_patch_buf(s, err) : status;
}
