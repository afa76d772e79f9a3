/* sink.c - what writers share: sizes, rows put as they are or printed, headers put or replaced,
 * tokens that a format refuses, names that must differ. Nothing here knows a format.
 */
#include "fmt/sink.h"

#include "num/dtype.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

uint64_t embi_array_row_bytes(const emb_array *array)
{
    uint64_t elements = 1;
    for (int i = 1; i < array->ndim; i++)
        elements *= array->shape[i];
    return elements / emb_dtype_block(array->dtype) * embi_dtype_block_bytes(array->dtype);
}

emb_status embi_sink_refuse_tokens(const struct embi_sink *s, emb_err *err)
{
    if (s->tokens)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s holds no tokens", s->format->name);
    return EMB_OK;
}

emb_status embi_sink_check_token(const struct embi_sink *s, emb_str token, uint64_t row,
                                 emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    const char *why = s->format->refuses(token);
    return why ? embi_fail(err, EMB_BAD_DATA, (int64_t)row,
                           "row %" PRIu64 ": %s cannot hold '%s': %s", row, s->format->name,
                           embi_show(show, token), why)
               : EMB_OK;
}

emb_status embi_sink_check_tokens(const struct embi_sink *s, emb_err *err)
{
    emb_status status = EMB_OK;
    for (uint64_t row = 0; !status && row < s->arrays[0].shape[0]; row++)
        status = embi_sink_check_token(s, s->all_tokens[row], row, err);
    return status;
}

emb_status embi_sink_check_table(const struct embi_sink *s, emb_err *err)
{
    const emb_array *a = &s->arrays[0];
    if (a->ndim != 2)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s holds a table [V, d], not %d axes",
                         s->format->name, a->ndim);
    if (a->shape[1] == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s cannot hold a table whose d is 0",
                         s->format->name);
    if (emb_dtype_block(a->dtype) > 1)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s cannot hold %s; use --dtype f32",
                         s->format->name, emb_dtype_name(a->dtype));
    return EMB_OK;
}

emb_status embi_flush(struct embi_buf *b, struct embi_io *io, const char *what, emb_err *err)
{
    if (b->failed)
        return embi_fail_memory(err, b->n, what);
    size_t n = b->n;
    b->n = 0;
    return n ? embi_io_append(io, b->s, n, err) : EMB_OK;
}

emb_status embi_sink_flush(struct embi_sink *s, emb_err *err)
{
    return embi_flush(&s->buf, s->io, "rows to write", err);
}

emb_status embi_sink_flush_full(struct embi_sink *s, emb_err *err)
{
    return s->buf.n >= EMBI_FLUSH_BYTES ? embi_sink_flush(s, err) : EMB_OK;
}

char *embi_print_row(char *p, const emb_array *array, const char *values, char separator)
{
    const size_t element_bytes = emb_dtype_bytes(array->dtype);
    for (uint64_t c = 0; c < array->shape[1]; c++) {
        if (c > 0)
            *p++ = separator;
        p += emb_number_print(p, array->dtype, values + c * element_bytes);
    }
    return p;
}

emb_status embi_sink_check_names(const struct embi_sink *s, emb_err *err)
{
    size_t twin = s->n;
    char show[EMBI_SHOW_MAX];
    emb_str *names = calloc(s->n, sizeof *names); /* [n] */
    if (!names)
        return embi_fail_memory(err, s->n * sizeof *names, "names");
    for (size_t i = 0; i < s->n; i++)
        names[i] = embi_array_name(&s->arrays[i]);
    emb_status status = embi_find_twin(names, s->n, &twin, err);
    if (status == EMB_OK && twin < s->n)
        status = embi_fail(err, EMB_BAD_ARG, (int64_t)twin, "two arrays are named '%s'",
                           embi_show(show, names[twin]));
    free(names);
    return status;
}

emb_status embi_sink_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                         const emb_str *tokens, emb_err *err)
{
    (void)tokens; /* refused by the check, or written before the rows */
    return embi_io_append(s->io, data, (size_t)n_bytes, err);
}

emb_status embi_sink_append_buf(struct embi_sink *s, emb_err *err)
{
    return embi_io_append(s->io, s->buf.s, s->buf.n, err);
}

emb_status embi_sink_patch_buf(struct embi_sink *s, emb_err *err)
{
    return embi_io_patch(s->io, s->buf.s, s->buf.n, 0, err);
}
