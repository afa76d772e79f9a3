/* words_fixture.h - for the tests of word-vector formats: a file in memory read through every pass,
 * tables with tokens written, and both together. Every function is used by each test that includes
 * this.
 */
#ifndef WORDS_FIXTURE_H
#define WORDS_FIXTURE_H

#include "memory_file.h"

#include "fmt/words.h"
#include "num/kern.h"

/* The passes of a reader, in order. */
enum pass { OPEN, WALK, TOKENS, ROWS, DONE };

/* A file that was read as far as `pass`; DONE: values [rows, dims] and reader are there. */
struct loaded {
    enum pass pass;
    emb_err err;
    struct log log;
    struct embi_env env;
    struct embi_reader *reader;
    float *values;
};

static void unload(struct loaded *l)
{
    free(l->values);
    embi_reader_close(l->reader);
    l->values = NULL;
    l->reader = NULL;
}

static emb_status fetch_values(struct loaded *l)
{
    struct embi_reader *r = l->reader;
    const void *data;
    l->values = calloc(r->rows * r->dims + 1, sizeof *l->values);
    cr_assert(l->values != NULL);
    if (r->format->rows)
        return r->format->rows(r, 0, r->rows, l->values, &l->err);
    cr_assert(embi_io_map(r->io, &data, &l->err) == EMB_OK);
    for (uint64_t row = 0; row < r->rows; row++)
        memcpy(l->values + row * r->dims, (const char *)data + r->row_offsets[row],
               r->dims * sizeof(float));
    return EMB_OK;
}

/* Reads s[0, n) with every pass of the format. */
static emb_status load(struct loaded *l, const struct embi_format *format, const void *s, size_t n,
                       const struct embi_read_opts *opts)
{
    *l = (struct loaded){.pass = OPEN};
    l->env = (struct embi_env){.log = collect, .log_arg = &l->log, .kern = &embi_kern_scalar};
    emb_status status = open_bytes(&l->env, s, n, "test", format, opts, &l->reader, &l->err);
    if (status)
        return status;
    struct embi_reader *r = l->reader;
    l->pass = WALK;
    if (!(status = r->format->walk(r, &l->err))) {
        l->pass = TOKENS;
        status = r->format->tokens ? r->format->tokens(r, &l->err) : EMB_OK;
    }
    if (!status) {
        l->pass = ROWS;
        status = fetch_values(l);
    }
    if (status)
        unload(l);
    else
        l->pass = DONE;
    return status;
}

/* What must be refused: in which pass, at which row or byte, with which words. */
struct bad_file {
    const char *s;
    size_t n;
    enum pass pass;
    int64_t at;
    const char *words;
};

static void check_bad(const struct embi_format *format, const struct bad_file *bad)
{
    struct loaded l;
    emb_status status = load(&l, format, bad->s, bad->n, NULL);
    cr_assert(status == EMB_BAD_DATA && l.err.status == EMB_BAD_DATA, "%s: status %d", bad->words,
              (int)status);
    cr_assert(l.pass == bad->pass, "%s: pass %d", bad->words, (int)l.pass);
    cr_assert(l.err.at == bad->at, "%s: at %lld", bad->words, (long long)l.err.at);
    cr_assert(strstr(l.err.msg, bad->words) != NULL, "expected \"%s\" in \"%s\"", bad->words,
              l.err.msg);
}

/* The file is whole or refused, never a crash: every beginning of it, and every byte of it
 * replaced. */
static void check_mutants(const struct embi_format *format, const char *s, size_t n)
{
    static const char bytes[] = {' ', '\n', '\0', '9', '-', '\r', '\x80', 'e'};
    struct loaded l;
    char *mutant = malloc(n);
    cr_assert(mutant != NULL);
    for (size_t cut = 0; cut <= n; cut++)
        if (load(&l, format, s, cut, NULL) == EMB_OK)
            unload(&l);
        else
            cr_assert(l.err.status == EMB_BAD_DATA, "cut at %zu: %s", cut, l.err.msg);
    for (size_t i = 0; i < n * EMBI_LEN(bytes); i++) {
        memcpy(mutant, s, n);
        mutant[i / EMBI_LEN(bytes)] = bytes[i % EMBI_LEN(bytes)];
        if (load(&l, format, mutant, n, NULL) == EMB_OK)
            unload(&l);
        else
            cr_assert(l.err.status == EMB_BAD_DATA, "byte %zu: %s", i, l.err.msg);
    }
    free(mutant);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

/* A table to be written. */
struct to_write {
    const struct embi_format *format;
    emb_array array;
    const emb_str *tokens; /* [rows], or NULL: without tokens */
    const void *data;      /* [rows, d] */
    uint64_t rows;
};

/* Writes it the way the writer does; *out gets the file. The caller frees out->s by embi_buf_free.
 */
static emb_status save(const struct to_write *w, struct embi_buf *out, emb_err *err)
{
    struct embi_env env = {0};
    struct target target = {.io = {.scheme = &target_scheme, .env = &env}};
    emb_array array = w->array;
    struct embi_sink s = {.env = &env, .format = w->format, .arrays = &array, .n = 1};
    s.tokens = w->tokens != NULL;
    emb_status status = w->format->check(&s, err);
    s.io = &target.io;
    if (!status)
        status = w->format->begin(&s, err);
    uint64_t bytes = w->rows * array.shape[1] * emb_dtype_bytes(array.dtype);
    if (!status && w->rows)
        status = w->format->put(&s, w->data, bytes, w->tokens, err);
    array.shape[0] = w->rows;
    if (!status && w->format->finish)
        status = w->format->finish(&s, err);
    if (s.state)
        w->format->free(s.state);
    embi_buf_free(&s.buf);
    *out = target.content;
    return status;
}

static void check_saved(const struct to_write *w, const char *expected, size_t n)
{
    struct embi_buf out;
    emb_err err;
    emb_status status = save(w, &out, &err);
    cr_assert(status == EMB_OK, "%s", status ? err.msg : "");
    cr_assert(out.n == n && memcmp(out.s, expected, n) == 0, "%s: found %zu bytes: %.*s",
              w->format->name, out.n, (int)out.n, out.s);
    embi_buf_free(&out);
}

static void check_not_saved(const struct to_write *w, emb_status expected, const char *words)
{
    struct embi_buf out;
    emb_err err;
    emb_status status = save(w, &out, &err);
    cr_assert(status == expected, "%s: status %d", words, (int)status);
    cr_assert(strstr(err.msg, words) != NULL, "expected \"%s\" in \"%s\"", words, err.msg);
    embi_buf_free(&out);
}

/* ------------------------------------------------------------------------------------------------
 * Random tables
 */

static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13; /* xorshift64, Marsaglia 2003 */
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Writes random finite bit patterns under tokens made of `alphabet`, reads the file back: the same
 * bits and the same tokens. The alphabet's bytes must be ones that the format can carry anywhere.
 */
static void check_round_trip(const struct embi_format *writer, const struct embi_format *reader,
                             const char *alphabet, uint64_t seed)
{
    enum { V = 61, D = 7, TOKEN_MAX = 9 };
    float values[V * D]; /* [V, D] */
    char letters[V][TOKEN_MAX];
    emb_str tokens[V];
    for (size_t i = 0; i < V * D; i++) {
        uint32_t bits = (uint32_t)next_random(&seed);
        bits = (bits & 0x7F800000) == 0x7F800000 ? bits & 0x807FFFFF : bits; /* no NaN, no Inf */
        memcpy(&values[i], &bits, sizeof bits);
    }
    for (size_t i = 0; i < V; i++) {
        tokens[i] = (emb_str){letters[i], 1 + next_random(&seed) % TOKEN_MAX};
        for (size_t j = 0; j < TOKEN_MAX; j++)
            letters[i][j] = alphabet[next_random(&seed) % strlen(alphabet)];
    }
    struct to_write w = {.format = writer, .tokens = tokens, .data = values, .rows = V};
    w.array = (emb_array){.dtype = EMB_F32, .ndim = 2, .shape = {V, D}};
    struct embi_buf out;
    struct loaded l;
    emb_err err;
    cr_assert(save(&w, &out, &err) == EMB_OK);
    emb_status status = load(&l, reader, out.s, out.n, NULL);
    cr_assert(status == EMB_OK, "%s", l.err.msg);
    cr_assert(l.reader->rows == V && l.reader->dims == D);
    cr_assert(memcmp(l.values, values, sizeof values) == 0);
    for (size_t i = 0; i < V; i++)
        cr_assert(embi_str_equal(l.reader->tokens[i], tokens[i]), "token %zu", i);
    unload(&l);
    embi_buf_free(&out);
}

#endif
