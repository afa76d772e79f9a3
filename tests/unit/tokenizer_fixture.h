/* tokenizer_fixture.h - vocabulary files in memory for the tests of lib/model/tokenizer*.
 */
#ifndef TESTS_TOKENIZER_FIXTURE_H
#define TESTS_TOKENIZER_FIXTURE_H

#include "memory_file.h"

#include "model/tokenizer.h"

static struct log warnings;
static const struct embi_env env = {.log = collect, .log_arg = &warnings};
static struct embi_tokenizer tok;
static emb_err err;

/* Opens bytes [n] as a file of that name, in a block of exactly their size. */
static inline emb_status open_named(const char *name, const void *bytes, size_t n)
{
    struct embi_io *io = NULL;
    void *copy = malloc(n ? n : 1);
    cr_assert_not_null(copy);
    memcpy(copy, bytes, n);
    warnings = (struct log){0};
    cr_assert_eq(embi_io_memory(&env, copy, n, copy, &io, &err), EMB_OK);
    emb_status status = embi_tokenizer_open_io(&env, io, name, &tok, &err);
    if (status) {
        cr_assert_eq(err.status, status);
        cr_assert(!tok.tokens && tok.n_parts == 0, "a failure leaves nothing behind");
    }
    return status;
}

static inline emb_status open_text(const char *name, const char *text)
{
    return open_named(name, text, strlen(text));
}

static inline void opens(const char *name, const char *text)
{
    cr_assert_eq(open_text(name, text), EMB_OK, "%s: %s", text, err.msg);
}

/* A ^ in text marks the place that the error must name; it is not part of the file. */
static inline void refuses(const char *name, const char *text, emb_status want, const char *words)
{
    const char *mark = strchr(text, '^');
    size_t before = mark ? (size_t)(mark - text) : 0, n = strlen(text) - (mark != NULL);
    char *plain = malloc(n + 1);
    cr_assert_not_null(plain);
    memcpy(plain, text, before);
    strcpy(plain + before, mark ? mark + 1 : text);
    cr_expect_eq(open_named(name, plain, n), want, "%s: status %d, %s", text, err.status, err.msg);
    cr_expect(strstr(err.msg, words), "%s: '%s' is not in '%s'", text, words, err.msg);
    if (mark)
        cr_expect_eq(err.at, (int64_t)before, "%s: at %lld, %s", text, (long long)err.at, err.msg);
    embi_tokenizer_free(&tok);
    free(plain);
}

/* The tokens by id, separated by '|'; '.' where an id has none. */
static inline bool tokens_are(const char *want)
{
    struct embi_buf b = {0};
    uint64_t count = 0;
    for (uint64_t id = 0; id < tok.n; id++) {
        if (id)
            embi_buf_byte(&b, '|');
        if (tok.tokens[id].s)
            embi_buf_add(&b, tok.tokens[id].s, tok.tokens[id].n);
        else
            embi_buf_byte(&b, '.');
        count += tok.tokens[id].s != NULL;
    }
    bool same = strcmp(embi_buf_cstr(&b), want) == 0 && strlen(want) == b.n && count == tok.count;
    if (!same)
        cr_log_error("found %s (%llu tokens), expected %s", embi_buf_cstr(&b),
                     (unsigned long long)tok.count, want);
    embi_buf_free(&b);
    return same;
}

/* The text of a piece of tok. */
static inline bool text_is(emb_str piece, emb_str want)
{
    struct embi_buf b = {0};
    embi_piece_text(&tok.pieces, piece, &b);
    bool same = embi_str_equal((emb_str){b.s, b.n}, want);
    embi_buf_free(&b);
    return same;
}

#endif
