/* sink.h - what the writers of fixed formats (npy, npz, safetensors, raw) share. Only for the files
 * of fmt/.
 *
 * The writer (table/) has checked the arrays of a sink before a format sees them: they have a name,
 * a type, 1 to 4 axes, and a size that 64 bits hold.
 */
#ifndef EMBI_FMT_SINK_H
#define EMBI_FMT_SINK_H

#include "fmt/fmt.h"
#include "util/map.h"

static inline emb_str embi_array_name(const emb_array *array)
{
    return (emb_str){array->name, strlen(array->name)};
}

static inline bool embi_array_open_ended(const emb_array *array)
{
    return array->shape[0] == EMB_ROWS_UNKNOWN;
}

/* Bytes of one entry of the first axis. */
uint64_t embi_array_row_bytes(const emb_array *array);

/* EMB_UNSUPPORTED "FORMAT holds no tokens" where tokens come with the rows. */
emb_status embi_sink_check_tokens(const struct embi_sink *s, emb_err *err);

/* EMB_UNSUPPORTED where the only array is no table [V, d], one whose d is 0, or one of blocks. */
emb_status embi_sink_check_table(const struct embi_sink *s, emb_err *err);

/* EMB_BAD_ARG where two arrays have one name. */
emb_status embi_sink_check_names(const struct embi_sink *s, emb_err *err);

/* The `put` of formats that store rows as they are. */
emb_status embi_sink_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                         const emb_str *tokens, emb_err *err);

/* Hands what is in s->buf on to the file, and empties it. */
emb_status embi_sink_flush(struct embi_sink *s, emb_err *err);

/* Appends s->buf to the file, or writes it over the file's first bytes. */
emb_status embi_sink_append_buf(struct embi_sink *s, emb_err *err);
emb_status embi_sink_patch_buf(struct embi_sink *s, emb_err *err);

#endif
