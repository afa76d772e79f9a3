/* npy_rewrite.c - an .npy file with other rows: a new header, and rows in the order of this machine
 * and of C.
 *
 * Types that numpy has no name for (bf16 and the 8-bit floats, which it stores as opaque bytes)
 * keep the descr that they were read with. What stands behind the array is dropped, as no reader
 * looks at it. Specification: numpy.lib.format.
 */
#include "fmt/npy.h"
#include "fmt/rewrite.h"

enum { DESCR_AT = 10 + 11, STAND_IN_BYTES = 3 }; /* magic, version, length; {'descr': ' */

/* Puts the descr in place of the stand-in's; blanks before the last newline make up for it. */
static void replace_descr(struct embi_buf *b, const char *descr)
{
    size_t n = strlen(descr); /* 3 to 9 */
    char *at = b->s + DESCR_AT;
    memmove(at + n, at + STAND_IN_BYTES, b->n - 1 - DESCR_AT - n);
    memcpy(at, descr, n);
    if (at[0] == '>') /* rows are swapped on the way */
        at[0] = '<';
    b->s[b->n - 1] = '\n';
}

static emb_status begin(struct embi_rewrite *w, emb_err *err)
{
    struct embi_sink *s = &w->sink;
    emb_array stand_in = w->array;
    if (embi_npy_check_type(s, err) == EMB_OK)
        return s->format->begin(s, err);
    stand_in.dtype = emb_dtype_bytes(w->array.dtype) == 2 ? EMB_U16 : EMB_U8;
    emb_status status = embi_npy_header(&stand_in, &s->buf, err);
    if (status)
        return status;
    replace_descr(&s->buf, w->parts[0].table->type_name);
    return embi_sink_append_buf(s, err);
}

const struct embi_rewriter embi_rewriter_npy = {&embi_format_npy, begin, NULL, NULL};
