/* npz_tokens.c - the tokens of an .npz that is written: an array of text beside the table's.
 *
 * The array `tokens` is of type U: code points of four bytes, every element as long as the longest
 * token, the rest NULs. So numpy reads it without pickle, and so does npz_read.c. Elements are made
 * a piece at a time. Specification: numpy.lib.format, and numpy.str_ for the padding.
 */
#include "fmt/npy.h"

#include "io/zip.h"
#include "util/err.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdio.h>

enum { POINT_BYTES = 4, DESCR_MAX = 24 };

const char *embi_npz_refuses(emb_str token)
{
    if (!token.s)
        return "this row has none";
    if (token.n > 0 && token.s[token.n - 1] == '\0')
        return "a NUL at its end is padding";
    return embi_utf8_valid(token.s, token.n) ? NULL : "it is not UTF-8";
}

emb_status embi_npz_check_tokens(const struct embi_sink *s, emb_err *err)
{
    if (!s->tokens)
        return EMB_OK;
    if (!s->all_tokens)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "npz has tokens of one length: all must be known first");
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->arrays[i].name, EMBI_NPZ_TOKENS) == 0)
            return embi_fail(err, EMB_BAD_ARG, (int64_t)i,
                             "two arrays are named '" EMBI_NPZ_TOKENS "'");
    return embi_sink_check_tokens(s, err);
}

/* Characters of a token, which is UTF-8: all bytes but those that continue one. */
static uint64_t characters(emb_str token)
{
    uint64_t n = 0;
    for (size_t i = 0; i < token.n; i++)
        n += ((unsigned char)token.s[i] & 0xC0) != 0x80;
    return n;
}

/* An array needs elements of at least one character. */
static uint64_t longest(const emb_str *tokens, uint64_t n)
{
    uint64_t most = 1;
    for (uint64_t i = 0; i < n; i++)
        most = embi_max(most, characters(tokens[i]));
    return most;
}

/* Zeros go through the buffer a piece at a time, for the longest token may be any length. */
static emb_status add_element(struct embi_zip *zip, struct embi_buf *b, emb_str token,
                              uint64_t length, emb_err *err)
{
    emb_status status = EMB_OK;
    size_t at = 0;
    for (uint64_t i = 0; !status && i < length; i++) {
        uint32_t point = 0;
        if (at < token.n)
            at += (size_t)embi_utf8_decode(token.s + at, token.n - at, &point);
        embi_buf_add(b, &point, POINT_BYTES);
        if (b->failed)
            return embi_fail_memory(err, EMBI_FLUSH_BYTES, "tokens to write");
        if (b->n < EMBI_FLUSH_BYTES)
            continue;
        status = embi_zip_add(zip, b->s, b->n, err);
        b->n = 0;
    }
    return status;
}

/* b begins as the header. */
static emb_status add_member(struct embi_zip *zip, const emb_str *tokens, uint64_t n,
                             uint64_t length, struct embi_buf *head, struct embi_buf *b,
                             emb_err *err)
{
    uint64_t bytes;
    if (!embi_mul(length, POINT_BYTES, &bytes) || !embi_mul(bytes, n, &bytes) ||
        !embi_add(bytes, head->n, &bytes))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "tokens too long for an array");
    emb_status status =
        embi_zip_open(zip, (emb_str){EMBI_NPZ_TOKENS ".npy", 10}, head->s, head->n, bytes, err);
    for (uint64_t i = 0; !status && i < n; i++)
        status = add_element(zip, b, tokens[i], length, err);
    if (!status)
        status = embi_zip_add(zip, b->s, b->n, err);
    return status ? status : embi_zip_close(zip, head->s, head->n, err);
}

emb_status embi_npz_put_tokens(struct embi_zip *zip, const emb_str *tokens, uint64_t n,
                               emb_err *err)
{
    struct embi_buf head = {0}, b = {0};
    char descr[DESCR_MAX];
    uint64_t length = longest(tokens, n);
    (void)snprintf(descr, sizeof descr, "<U%" PRIu64, length);
    emb_status status = embi_npy_header_of(descr, 1, &n, &head, err);
    if (!status)
        status = add_member(zip, tokens, n, length, &head, &b, err);
    embi_buf_free(&head);
    embi_buf_free(&b);
    return status;
}
