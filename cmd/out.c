/* out.c - buffers a command's text and formats tokens, numbers and JSON into it.
 *
 * No other file of cmd turns a number or a token into text for stdout. Locale plays no part:
 * numbers are emb_number_print's.
 */
#include "out.h"
#include "report.h"

#include "util/json.h"

#include <stdarg.h>
#include <string.h>

enum { SPILL_BYTES = 1 << 16 };

static const char *path_of(const struct out *out)
{
    return out->path ? out->path : "standard output";
}

/* The first failure counts; it is printed here and nowhere else. */
static void failed(struct out *out, const emb_err *err)
{
    if (!out->code)
        out->code = fail(out->run, path_of(out), err);
}

int out_open(struct run *run, const char *path, struct out *out)
{
    emb_array bytes = {.dtype = EMB_U8, .ndim = 1, .shape = {EMB_ROWS_UNKNOWN}};
    emb_write_opts opts;
    emb_err err;
    *out = (struct out){.run = run, .raw_tokens = run->common->raw_tokens};
    if (!is_stream(path))
        out->path = path;
    write_opts(run, "raw", &opts);
    if (emb_writer_open(run->ctx, out->path ? path : "-", &bytes, 1, &opts, &out->writer, &err) !=
        EMB_OK)
        failed(out, &err);
    return out->code;
}

/* Hands the buffer to the writer. */
static void spill(struct out *out)
{
    emb_block block = {.data = out->buf.s, .rows = out->buf.n, .dims = 1, .dtype = EMB_U8};
    emb_err err = {.status = EMB_NO_MEMORY, .at = -1, .msg = "out of memory"};
    bool good = !out->buf.failed && !out->scratch.failed;
    if (good && !out->code && out->buf.n)
        good = emb_writer_put(out->writer, &block, NULL, &err) == EMB_OK;
    if (!good)
        failed(out, &err);
    out->buf.n = 0;
}

static inline void spill_if_full(struct out *out)
{
    if (out->buf.n >= SPILL_BYTES || out->buf.failed)
        spill(out);
}

int out_flush(struct out *out)
{
    emb_err err;
    spill(out);
    if (!out->code && emb_writer_flush(out->writer, &err) != EMB_OK)
        failed(out, &err);
    return out->code;
}

int out_close(struct out *out, int code)
{
    emb_err err;
    if (!out->path || code <= EXIT_NO) { /* what was meant for stdout goes there in any case */
        spill(out);
        if (!out->code && emb_writer_commit(out->writer, &err) != EMB_OK)
            failed(out, &err);
        if (!out->code)
            report_output(out->run, out->path);
    }
    emb_writer_close(out->writer);
    embi_buf_free(&out->buf);
    embi_buf_free(&out->scratch);
    out->writer = NULL;
    return worse(code, out->code);
}

void out_bytes(struct out *out, const void *bytes, size_t n)
{
    embi_buf_add(&out->buf, bytes, n);
    spill_if_full(out);
}

void out_text(struct out *out, const char *cstr)
{
    out_bytes(out, cstr, strlen(cstr));
}

void out_byte(struct out *out, char c)
{
    embi_buf_byte(&out->buf, c);
    spill_if_full(out);
}

void out_fill(struct out *out, char c, size_t n)
{
    embi_buf_fill(&out->buf, c, n);
    spill_if_full(out);
}

void out_print(struct out *out, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    out_bytes(out, text, n < 0 ? 0 : embi_min((size_t)n, sizeof text - 1));
}

/* ------------------------------------------------------------------------------------------------
 * Tokens
 */

/* Bytes of the well-formed UTF-8 sequence at s that is not ASCII, or 0. The JSON writer knows what
 * is well-formed: it replaces everything else. The C1 controls (U+0080 to U+009F) count as none,
 * since terminals obey them. */
static size_t sequence_at(struct out *out, const char *s, size_t n)
{
    unsigned char lead = (unsigned char)s[0];
    size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    bool lossy = false;
    if (length > n || (lead == 0xC2 && (unsigned char)s[1] < 0xA0))
        return 0;
    out->scratch.n = 0;
    embi_json_quote(&out->scratch, s, length, &lossy);
    return lossy ? 0 : length;
}

/* How one byte is written, or NULL if it stands for itself. hex has room for \xNN. */
static const char *escape_of(unsigned char c, char separator, char hex[5])
{
    static const char digits[] = "0123456789abcdef";
    switch (c) {
    case '\t': return "\\t";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\\': return "\\\\";
    case ' ': return separator == ' ' ? "\\x20" : NULL;
    default: break;
    }
    if (c > ' ' && c < 0x7F)
        return NULL;
    memcpy(hex, (char[]){'\\', 'x', digits[c >> 4], digits[c & 15], 0}, 5);
    return hex;
}

/* False if nothing had to be escaped. */
static bool add_escaped(struct out *out, struct embi_buf *to, emb_str token, char separator)
{
    char hex[5];
    bool any = false;
    for (size_t i = 0; i < token.n;) {
        unsigned char c = (unsigned char)token.s[i];
        size_t length = c < 0x80 ? 0 : sequence_at(out, token.s + i, token.n - i);
        const char *escape = length ? NULL : escape_of(c, separator, hex);
        if (escape)
            embi_buf_text(to, escape);
        else
            embi_buf_add(to, token.s + i, length ? length : 1);
        i += length ? length : 1;
        any |= escape != NULL;
    }
    return any;
}

void out_token(struct out *out, emb_str token, char separator)
{
    if (out->raw_tokens)
        embi_buf_add(&out->buf, token.s, token.n);
    else
        out->escaped += add_escaped(out, &out->buf, token, separator);
    spill_if_full(out);
}

size_t out_token_width(struct out *out, emb_str token, char separator)
{
    struct embi_buf text = {0};
    size_t width = 0;
    if (out->raw_tokens)
        embi_buf_add(&text, token.s, token.n);
    else
        add_escaped(out, &text, token, separator);
    for (size_t i = 0; i < text.n; i++)
        width += ((unsigned char)text.s[i] & 0xC0) != 0x80;
    out->scratch.failed |= text.failed;
    embi_buf_free(&text);
    return width;
}

void out_json_string(struct out *out, emb_str s)
{
    embi_json_quote(&out->buf, s.s, s.n, NULL);
    spill_if_full(out);
}

void out_json_token(struct out *out, const char *key, emb_str token)
{
    bool lossy = false;
    embi_buf_print(&out->buf, "\"%s\":", key);
    embi_json_quote(&out->buf, token.s, token.n, &lossy);
    if (lossy) {
        embi_buf_print(&out->buf, ",\"%s_bytes\":\"", key);
        for (size_t i = 0; i < token.n; i++)
            embi_buf_print(&out->buf, "%02x", (unsigned char)token.s[i]);
        embi_buf_byte(&out->buf, '"');
    }
    out_byte(out, ',');
}

void out_json_row_token(struct out *out, const emb_table *table, uint64_t row)
{
    emb_str token;
    emb_err err;
    if (emb_table_token(table, row, &token, &err) != EMB_OK)
        return;
    out_json_token(out, "token", token);
    if (emb_table_text(table, row, &token, &err) == EMB_OK)
        out_json_token(out, "text", token);
}

/* ------------------------------------------------------------------------------------------------
 * Numbers
 */

/* Prints one element at the end of the buffer; returns where it begins, or NULL without memory. */
static inline char *add_element(struct out *out, emb_dtype dtype, const void *value)
{
    char *at = embi_buf_room(&out->buf, EMB_NUMBER_MAX);
    if (at)
        out->buf.n += emb_number_print(at, dtype, value);
    return at;
}

/* The number that was printed at `at` becomes null if it is none that JSON knows: nan, inf. */
static inline void finite_or_null(struct out *out, const char *at)
{
    if (at && at[*at == '-'] > '9') {
        out->buf.n = (size_t)(at - out->buf.s);
        embi_buf_text(&out->buf, "null");
    }
}

void out_element(struct out *out, emb_dtype dtype, const void *value)
{
    add_element(out, dtype, value);
    spill_if_full(out);
}

void out_json_element(struct out *out, emb_dtype dtype, const void *value)
{
    finite_or_null(out, add_element(out, dtype, value));
    spill_if_full(out);
}

void out_elements(struct out *out, emb_dtype dtype, const void *values, size_t n, char separator)
{
    size_t step = emb_dtype_bytes(dtype);
    for (size_t i = 0; i < n; i++) {
        if (i)
            embi_buf_byte(&out->buf, separator);
        add_element(out, dtype, (const char *)values + i * step);
    }
    spill_if_full(out);
}

void out_json_elements(struct out *out, emb_dtype dtype, const void *values, size_t n)
{
    size_t step = emb_dtype_bytes(dtype);
    out_byte(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            embi_buf_byte(&out->buf, ',');
        finite_or_null(out, add_element(out, dtype, (const char *)values + i * step));
    }
    out_byte(out, ']');
}

void out_u64(struct out *out, uint64_t x)
{
    out_element(out, EMB_U64, &x);
}

/* Prints x at the end of the buffer with so many digits; returns where it begins. */
static char *add_score(struct out *out, double x, int digits)
{
    char *at = embi_buf_room(&out->buf, EMB_NUMBER_MAX);
    if (at)
        out->buf.n += emb_number_digits(at, x, digits);
    return at;
}

void out_score(struct out *out, double x, int digits)
{
    add_score(out, x, digits);
    spill_if_full(out);
}

void out_json_score(struct out *out, double x, int digits)
{
    finite_or_null(out, add_score(out, x, digits));
    spill_if_full(out);
}
