/* npy.h - the header of an .npy file: its parser and its writer. Only for npy*.c and npz.c.
 *
 * Specification: numpy.lib.format, versions 1.0, 2.0 and 3.0.
 */
#ifndef EMBI_FMT_NPY_H
#define EMBI_FMT_NPY_H

#include "fmt/sink.h"

/* The three values of the header's dict. */
struct embi_npy_dict {
    emb_str descr;   /* a string, without quotes; {NULL, 0}: a list or tuple, so structured */
    size_t descr_at; /* where it stands in the text */
    bool fortran;
    int ndim;
    uint64_t shape[EMBI_MAX_DIMS];
};

/* Reads the dict literal in text [n]; spans of *dict point into it. long_ints: numbers may end in L
 * (Python 2). origin: the place of the text in its file, for err->at. */
emb_status embi_npy_parse(const char *text, size_t n, bool long_ints, uint64_t origin,
                          struct embi_npy_dict *dict, emb_err *err);

/* How a header is read. */
struct embi_npy_read {
    emb_dtype input_dtype; /* what opaque bytes are */
    bool list;             /* arrays of types that are not read are listed, with their type_name */
};

/* Reads the header of the .npy file io; *t has no name. */
emb_status embi_npy_read(struct embi_io *io, const struct embi_npy_read *how, struct embi_tensor *t,
                         emb_err *err);

/* The type of t that a descr names: sets dtype, type_name, swap and *bytes of an element.
 * input_dtype says what opaque bytes are. at: the place of the descr in the file. */
emb_status embi_npy_type(emb_str descr, emb_dtype input_dtype, int64_t at, struct embi_tensor *t,
                         uint64_t *bytes, emb_err *err);

/* EMB_UNSUPPORTED where FORMAT has no such type: "npy cannot hold bf16; use --dtype f32". */
emb_status embi_npy_check_type(const struct embi_sink *s, emb_err *err);

/* "f4" for EMB_F32: the descr without the sign of its byte order. Only types that passed the check.
 */
const char *embi_npy_type_name(emb_dtype dtype);

/* Makes out the magic, version and header for `array`, byte for byte as numpy.save writes them.
 * Their length does not depend on the first axis. */
emb_status embi_npy_header(const emb_array *array, struct embi_buf *out, emb_err *err);

/* The same for any type: "<U7". shape [ndim], at most 4 axes. */
emb_status embi_npy_header_of(const char *descr, int ndim, const uint64_t *shape,
                              struct embi_buf *out, emb_err *err);

/* The array of text that has the tokens of an .npz that is written. */
#define EMBI_NPZ_TOKENS "tokens"

/* Characters of a token in compressed text, at most. */
enum { EMBI_NPZ_TOKEN_MAX = 4096 };

/* The tokens of the writer (npz_tokens.c): as in struct embi_format, and all of them [n] as the
 * next member. */
struct embi_zip;
const char *embi_npz_refuses(emb_str token);
emb_status embi_npz_check_tokens(const struct embi_sink *s, emb_err *err);
emb_status embi_npz_put_tokens(struct embi_zip *zip, const emb_str *tokens, uint64_t n,
                               emb_err *err);

/* The reading half of .npz; *state goes into embi_reader.state and is freed by embi_npz_free. */
struct embi_npz;
emb_status embi_npz_read(struct embi_reader *r, struct embi_npz **state, emb_err *err);
emb_status embi_npz_tokens(struct embi_reader *r, struct embi_npz *npz, emb_err *err);
void embi_npz_free(struct embi_npz *npz); /* NULL allowed */

/* The writing half of the format. */
emb_status embi_npy_check(const struct embi_sink *s, emb_err *err);
emb_status embi_npy_begin(struct embi_sink *s, emb_err *err);
emb_status embi_npy_end(struct embi_sink *s, emb_err *err);

#endif
