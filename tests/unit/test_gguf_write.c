/* test_gguf_write.c - GGUF files that are written: byte by byte as docs/gguf.md of ggml lays them
 * out, with tokens and without, with a row count that comes late, and what is refused.
 */
#include "io_fixture.h"

#include "emb.h"
#include "util/buf.h"

static emb_ctx *ctx;
static emb_writer *writer;
static struct embi_buf want;

static void enter(void)
{
    enter_folder();
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
}

static void leave(void)
{
    emb_writer_close(writer);
    emb_ctx_free(ctx);
    embi_buf_free(&want);
    leave_folder();
}

TestSuite(gguf_write, .init = enter, .fini = leave);

/* ------------------------------------------------------------------------------------------------
 * What is expected
 */

static void u32(uint32_t x)
{
    for (int i = 0; i < 4; i++)
        embi_buf_byte(&want, (char)(x >> 8 * i));
}

static void u64(uint64_t x)
{
    u32((uint32_t)x);
    u32((uint32_t)(x >> 32));
}

static void string(const char *s)
{
    u64(strlen(s));
    embi_buf_text(&want, s);
}

static void pad(void)
{
    while (want.n % 32)
        embi_buf_byte(&want, 0);
}

static void head(uint64_t tensors, uint64_t keys)
{
    embi_buf_text(&want, "GGUF");
    u32(3);
    u64(tensors);
    u64(keys);
    string("general.architecture");
    u32(8); /* a string */
    string("embedding");
}

/* An array of `n` elements of the kind, which follow. */
static void array(const char *key, uint32_t kind, uint64_t n)
{
    string(key);
    u32(9);
    u32(kind);
    u64(n);
}

static void info(const char *name, uint64_t d, uint64_t rows, uint32_t type, uint64_t offset)
{
    string(name);
    u32(2);
    u64(d);
    u64(rows);
    u32(type);
    u64(offset);
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

static const float numbers[6] = {1, 2, 3, 4, 5, 6};

static void begin(const emb_array *arrays, size_t n, const emb_str *tokens)
{
    emb_write_opts opts = {.size = sizeof opts, .format = "gguf", .all_tokens = tokens};
    emb_status status = emb_writer_open(ctx, "t.gguf", arrays, n, &opts, &writer, &err);
    cr_assert_eq(status, EMB_OK, "%s", err.msg);
}

static emb_status put(const void *data, uint64_t rows, uint32_t dims, emb_dtype dtype)
{
    emb_block block = {.data = (void *)data, .rows = rows, .dims = dims, .dtype = dtype};
    return emb_writer_put(writer, &block, NULL, &err);
}

static void commit(void)
{
    cr_assert_eq(emb_writer_commit(writer, &err), EMB_OK, "%s", err.msg);
    cr_expect(file_is("t.gguf", want.s, want.n));
}

/* The file is the same whether the row count is known or comes late. */
Test(gguf_write, a_table)
{
    for (int late = 0; late < 2; late++) {
        emb_array a = {.dtype = EMB_F32, .ndim = 2, .shape = {late ? EMB_ROWS_UNKNOWN : 3, 2}};
        want.n = 0;
        head(1, 1);
        info("token_embd.weight", 2, 3, 0, 0);
        pad();
        embi_buf_add(&want, numbers, sizeof numbers);
        pad();
        begin(&a, 1, NULL);
        cr_assert_eq(put(numbers, 2, 2, EMB_F32), EMB_OK);
        cr_assert_eq(put(numbers + 4, 1, 2, EMB_F32), EMB_OK);
        commit();
        emb_writer_close(writer);
        writer = NULL;
        cr_assert_eq(remove("t.gguf"), 0);
    }
}

/* The second row has no token; the third one is empty. */
Test(gguf_write, tokens)
{
    const emb_str tokens[3] = {{"a\0\xC3\xA9", 4}, {NULL, 0}, {"", 0}};
    emb_array a = {.name = "t", .dtype = EMB_F32, .ndim = 2, .shape = {3, 2}};
    head(1, 5);
    string("tokenizer.ggml.model");
    u32(8);
    string("none");
    array("tokenizer.ggml.tokens", 8, 3);
    u64(4);
    embi_buf_add(&want, "a\0\xC3\xA9", 4);
    string("[PAD1]");
    string("");
    array("tokenizer.ggml.scores", 6, 3);
    for (int i = 0; i < 3; i++)
        u32(0);
    array("tokenizer.ggml.token_type", 5, 3);
    u32(1);
    u32(5);
    u32(1);
    info("t", 2, 3, 0, 0);
    pad();
    embi_buf_add(&want, numbers, sizeof numbers);
    pad();
    begin(&a, 1, tokens);
    cr_assert_eq(put(numbers, 3, 2, EMB_F32), EMB_OK);
    cr_expect_eq(put(numbers, 1, 2, EMB_F32), EMB_BAD_ARG); /* there are tokens for 3 */
    commit();
}

/* Tensors of blocks and of f16, each padded; the count of the first one comes late. */
Test(gguf_write, several)
{
    emb_array arrays[] = {
        {.name = "q", .dtype = EMB_Q4_0, .ndim = 2, .shape = {EMB_ROWS_UNKNOWN, 64}},
        {.name = "h", .dtype = EMB_F16, .ndim = 1, .shape = {3}},
    };
    unsigned char blocks[2 * 36];
    for (size_t i = 0; i < sizeof blocks; i++)
        blocks[i] = (unsigned char)(i * 5);
    head(2, 2);
    string("general.quantization_version");
    u32(4);
    u32(2);
    info("q", 64, 2, 2, 0);
    string("h");
    u32(1);
    u64(3);
    u32(1);
    u64(96);
    pad();
    embi_buf_add(&want, blocks, sizeof blocks);
    pad();
    embi_buf_add(&want,
                 "ab"
                 "cd"
                 "ef",
                 6);
    pad();
    begin(arrays, 2, NULL);
    cr_assert_eq(put(blocks, 2, 64, EMB_Q4_0), EMB_OK);
    cr_assert_eq(emb_writer_next(writer, &err), EMB_OK);
    cr_assert_eq(put("abcdef", 3, 1, EMB_F16), EMB_OK);
    commit();
}

/* A head that is longer than what is held back of it, read again with its tokens. */
Test(gguf_write, many_tokens)
{
    enum { ROWS = 20000 };
    static emb_str tokens[ROWS];
    static char text[ROWS][8];
    static float rows[ROWS];
    emb_array a = {.dtype = EMB_F32, .ndim = 2, .shape = {ROWS, 1}};
    emb_table *table;
    for (size_t i = 0; i < ROWS; i++) {
        tokens[i] = (emb_str){text[i], (size_t)snprintf(text[i], sizeof *text, "t%zu", i)};
        rows[i] = (float)i;
    }
    begin(&a, 1, tokens);
    cr_assert_eq(put(rows, ROWS, 1, EMB_F32), EMB_OK);
    cr_assert_eq(emb_writer_commit(writer, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(emb_table_open(ctx, "t.gguf", NULL, &table, &err), EMB_OK, "%s", err.msg);
    for (uint64_t i = 0; i < ROWS; i += 1777) {
        float x;
        emb_str token;
        emb_block block = {.data = &x, .rows = 1, .dims = 1, .dtype = EMB_F32};
        cr_assert_eq(emb_table_gather(table, &i, 1, &block, &err), EMB_OK);
        cr_expect_eq(x, rows[i]);
        cr_assert_eq(emb_table_token(table, i, &token, &err), EMB_OK);
        cr_expect(embi_str_equal(token, tokens[i]));
    }
    emb_table_close(table);
}

Test(gguf_write, refused)
{
    static const char longest[] =
        "0123456789012345678901234567890123456789012345678901234567890123";
    const emb_str bad[2] = {{"ok", 2}, {"\xFF", 1}};
    const struct {
        emb_array array;
        const emb_str *tokens;
        bool with_rows;
        emb_status status;
        const char *message;
    } cases[] = {
        {{.dtype = EMB_U8, .ndim = 2, .shape = {2, 2}},
         NULL,
         false,
         EMB_UNSUPPORTED,
         "gguf cannot hold u8; use --dtype f32"},
        {{.name = longest, .dtype = EMB_F32, .ndim = 2, .shape = {2, 2}},
         NULL,
         false,
         EMB_BAD_ARG,
         "'0123456789012345678901234567890123456789012345678901234567890123' cannot be a name in "
         "GGUF: UTF-8 of at most 63 bytes is expected"},
        {{.dtype = EMB_F32, .ndim = 2, .shape = {2, 2}},
         NULL,
         true,
         EMB_UNSUPPORTED,
         "gguf has its tokens before the rows: all must be known first"},
        {{.dtype = EMB_F32, .ndim = 2, .shape = {2, 2}},
         bad,
         false,
         EMB_BAD_DATA,
         "row 1: gguf cannot hold '\\xff': it is not UTF-8"},
        {{.dtype = EMB_F32, .ndim = 2, .shape = {EMB_ROWS_UNKNOWN, 2}},
         bad,
         false,
         EMB_BAD_ARG,
         "tokens of an unknown number of rows"},
        {{.dtype = EMB_Q8_0, .ndim = 2, .shape = {2, 48}},
         NULL,
         false,
         EMB_BAD_ARG,
         "an array of q8_0 needs a last axis that is a multiple of 32"},
        {{.dtype = EMB_Q8_0, .ndim = 1, .shape = {64}},
         NULL,
         false,
         EMB_BAD_ARG,
         "an array of q8_0 needs a last axis that is a multiple of 32"},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        emb_write_opts opts = {
            .size = sizeof opts, .all_tokens = cases[i].tokens, .tokens = cases[i].with_rows};
        emb_status status =
            emb_writer_open(ctx, "t.gguf", &cases[i].array, 1, &opts, &writer, &err);
        cr_expect_eq(status, cases[i].status, "%zu: %d", i, status);
        cr_expect_str_eq(err.msg, cases[i].message);
    }
}

/* Formats whose tokens come with the rows take all of them beforehand as well. */
Test(gguf_write, tokens_beforehand_elsewhere)
{
    const emb_str tokens[3] = {{"a", 1}, {"b", 1}, {"c", 1}};
    emb_write_opts opts = {.size = sizeof opts, .format = "text", .all_tokens = tokens};
    emb_array a = {.dtype = EMB_F32, .ndim = 2, .shape = {3, 2}};
    cr_assert_eq(emb_writer_open(ctx, "t.txt", &a, 1, &opts, &writer, &err), EMB_OK);
    cr_assert_eq(put(numbers, 1, 2, EMB_F32), EMB_OK);
    cr_assert_eq(put(numbers + 2, 2, 2, EMB_F32), EMB_OK);
    cr_expect_eq(put(numbers, 1, 2, EMB_F32), EMB_BAD_ARG);
    cr_assert_eq(emb_writer_commit(writer, &err), EMB_OK, "%s", err.msg);
    cr_expect(file_is("t.txt", "a 1 2\nb 3 4\nc 5 6\n", 18));
}
