/* sink.h - what writers share: pieces of text and bytes on their way, refusals, names. Only for the
 * files of fmt/.
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
emb_status embi_sink_refuse_tokens(const struct embi_sink *s, emb_err *err);

/* EMB_BAD_DATA, with the row, where the format refuses a token; the second asks of
 * s->all_tokens. */
emb_status embi_sink_check_token(const struct embi_sink *s, emb_str token, uint64_t row,
                                 emb_err *err);
emb_status embi_sink_check_tokens(const struct embi_sink *s, emb_err *err);

/* EMB_UNSUPPORTED where the only array is no table [V, d], one whose d is 0, or one of blocks. */
emb_status embi_sink_check_table(const struct embi_sink *s, emb_err *err);

/* EMB_BAD_ARG where two arrays have one name. */
emb_status embi_sink_check_names(const struct embi_sink *s, emb_err *err);

/* The `put` of formats that store rows as they are. */
emb_status embi_sink_put(struct embi_sink *s, const void *data, uint64_t n_bytes,
                         const emb_str *tokens, emb_err *err);

/* What is written in small pieces is handed on when there is so much of it. */
enum { EMBI_FLUSH_BYTES = 1 << 16 };

/* Hands what is in b on to the file, and empties it. what: "rows to write", for want of memory. */
emb_status embi_flush(struct embi_buf *b, struct embi_io *io, const char *what, emb_err *err);

/* The same for s->buf, in any case or only where EMBI_FLUSH_BYTES are there. */
emb_status embi_sink_flush(struct embi_sink *s, emb_err *err);
emb_status embi_sink_flush_full(struct embi_sink *s, emb_err *err);

/* Prints the numbers of a row of the array, values [d], with the separator between them, at p,
 * which has room for d * (1 + EMB_NUMBER_MAX) bytes. Returns the end. */
char *embi_print_row(char *p, const emb_array *array, const char *values, char separator);

/* Appends s->buf to the file, or writes it over the file's first bytes. */
emb_status embi_sink_append_buf(struct embi_sink *s, emb_err *err);
emb_status embi_sink_patch_buf(struct embi_sink *s, emb_err *err);

#endif
