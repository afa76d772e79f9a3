/* out.h - text that a command writes: the one place that formats numbers, tokens and JSON.
 *
 * Bytes gather in a buffer of 64 KiB and more and go through an emb_writer, so that a failed write
 * or a full disk is reported, and -o FILE appears whole or not at all. Adding to the output cannot
 * fail in the caller's eyes: the first failure is printed once and kept, out_flush and out_close
 * return its exit code, and a long loop looks at `code` now and then.
 *
 *     struct out out;
 *     int code = out_open(run, run->common->output, &out);
 *     if (!code) {
 *         out_token(&out, token, '\t');
 *         out_byte(&out, '\n');
 *     }
 *     return out_close(&out, code);
 *
 * Arrays (npy, safetensors ...) do not go through here: a command hands them to emb_writer itself.
 */
#ifndef EMBTOOL_OUT_H
#define EMBTOOL_OUT_H

#include "cmd.h"
#include "util/buf.h"

struct out {
    struct run *run;
    const char *path; /* NULL: standard output */
    emb_writer *writer;
    struct embi_buf buf;
    struct embi_buf scratch; /* of token escapes */
    bool raw_tokens;
    uint64_t escaped; /* tokens that out_token has not written as they are */
    int code;         /* exit code of the first failure, or 0 */
};

/* path: NULL or "-" is standard output. Returns 0, or an exit code after the message was printed;
 * in both cases out_close ends it. */
int out_open(struct run *run, const char *path, struct out *out);

/* Hands on what is buffered: before waiting for more input. */
int out_flush(struct out *out);

/* Completes the output if `code`, the command's exit code so far, is 0 or 1; else leaves no file
 * behind (what went to standard output has gone). Returns the worse of code and what happened here.
 */
int out_close(struct out *out, int code);

void out_bytes(struct out *out, const void *bytes, size_t n);
void out_text(struct out *out, const char *cstr);
void out_byte(struct out *out, char c);
void out_fill(struct out *out, char c, size_t n);
void out_u64(struct out *out, uint64_t x);
void out_print(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A token in a line whose fields `separator` (tab or blank) parts: \t \n \r \\ and \xNN for other
 * control bytes, for bytes that are not valid UTF-8, and for a blank where the separator is one.
 * With --raw-tokens the bytes as they are. */
void out_token(struct out *out, emb_str token, char separator);

/* The columns that out_token would take on a terminal: one a code point. */
size_t out_token_width(struct out *out, emb_str token, char separator);

/* "..." with escapes; always valid UTF-8. */
void out_json_string(struct out *out, emb_str s);

/* `"KEY":"...",` and, where the token is not valid UTF-8, `"KEY_bytes":"<hex>",` after it. */
void out_json_token(struct out *out, const char *key, emb_str token);

/* `"token":"...",` of a row that has one and, where a tokenizer wrote it in an alphabet of its own,
 * `"text":"...",` after it. */
void out_json_row_token(struct out *out, const emb_table *table, uint64_t row);

/* The element of this type at *value, in the shortest form that reads back. In JSON NaN and the
 * infinities are null. */
void out_element(struct out *out, emb_dtype dtype, const void *value);
void out_json_element(struct out *out, emb_dtype dtype, const void *value);

/* n elements with `separator` between them. */
void out_elements(struct out *out, emb_dtype dtype, const void *values, size_t n, char separator);
void out_json_elements(struct out *out, emb_dtype dtype, const void *values, size_t n);

/* A score or figure with `digits` significant digits; 0: the shortest form. */
void out_score(struct out *out, double x, int digits);
void out_json_score(struct out *out, double x, int digits);

#endif
