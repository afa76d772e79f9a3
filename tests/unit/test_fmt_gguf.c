/* test_fmt_gguf.c - GGUF files in memory: versions, byte orders, values, sizes of every type.
 *
 * Sizes of blocks are those of the structs in ggml-common.h of ggml, added up here from their
 * parts.
 */
#include "gguf_fixture.h"

static struct embi_reader *open_file(const struct gguf_file *f)
{
    static const struct embi_env env = {0};
    struct embi_reader *r = NULL;
    emb_err err = {0};
    cr_assert_eq(open_bytes(&env, f->b.s, f->b.n, "m", NULL, NULL, &r, &err), EMB_OK, "%s",
                 err.msg);
    cr_assert_str_eq(r->format->name, "gguf");
    return r;
}

/* ------------------------------------------------------------------------------------------------
 * Versions and byte orders
 */

static uint64_t make_table(struct gguf_file *f, size_t alignment)
{
    gguf_begin(f, 2, 2);
    gguf_string(f, "general.architecture", "llama");
    gguf_number(f, "general.alignment", EMBI_GGUF_U32, alignment, 4);
    gguf_info(f, "a", 1, 3, 0, 0);
    gguf_info(f, "b", 2, 3, 0, alignment);
    uint64_t data = gguf_data(f, alignment);
    embi_buf_fill(&f->b, 0, alignment + 24);
    return data;
}

static void check_table(int version, bool big, size_t alignment)
{
    struct gguf_file f = {.version = version, .big = big};
    struct embi_layout l;
    emb_err err;
    uint64_t data = make_table(&f, alignment);
    struct embi_reader *r = open_file(&f);
    cr_assert_eq(r->n_tensors, 2);
    cr_assert(embi_str_is(r->tensors[1].name, "b"));
    cr_assert_eq(embi_reader_layout(r, 1, &l, &err), EMB_OK, "%s", err.msg);
    cr_assert(l.rows == 2 && l.dims == 3 && l.dtype == EMB_F32 && l.swap == big);
    cr_assert_eq(l.offset, data + alignment);
    cr_assert(l.row_stride == 12 && l.col_stride == 4);
    cr_assert(embi_str_is(embi_gguf_string(r, embi_gguf_find(r, "general.architecture")), "llama"));
    embi_reader_close(r);
    embi_buf_free(&f.b);
}

Test(gguf, versions_and_orders)
{
    for (int version = 1; version <= 3; version++)
        for (int big = 0; big < 2; big++)
            for (size_t alignment = 16; alignment <= 64; alignment *= 2)
                check_table(version, big, alignment);
}

Test(gguf, magic_of_big_endian_writers)
{
    struct gguf_file f = {.version = 3, .big = true};
    make_table(&f, 32);
    memcpy(f.b.s, "FUGG", 4);
    struct embi_reader *r = open_file(&f);
    cr_assert(r->tensors[0].swap);
    embi_reader_close(r);
    embi_buf_free(&f.b);
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */

static const struct {
    enum embi_gguf_kind kind;
    int bytes;
    uint64_t stored;
    bool is_number;
} numbers[] = {
    {EMBI_GGUF_U8, 1, 200, true},          {EMBI_GGUF_I8, 1, 100, true},
    {EMBI_GGUF_I8, 1, 200, false}, /* -56 */
    {EMBI_GGUF_U16, 2, 0xFFFE, true},      {EMBI_GGUF_I16, 2, 0xFFFE, false},
    {EMBI_GGUF_U32, 4, 0x80000001, true},  {EMBI_GGUF_I32, 4, 0x7FFFFFFF, true},
    {EMBI_GGUF_I32, 4, 0x80000000, false}, {EMBI_GGUF_F32, 4, 0x3F800000, false},
    {EMBI_GGUF_BOOL, 1, 1, false},         {EMBI_GGUF_U64, 8, UINT64_MAX, true},
    {EMBI_GGUF_I64, 8, INT64_MAX, true},   {EMBI_GGUF_I64, 8, UINT64_MAX, false},
    {EMBI_GGUF_F64, 8, 0, false},
};

static void check_numbers(bool big)
{
    struct gguf_file f = {.version = 3, .big = big};
    char key[EMBI_LEN(numbers)][8];
    gguf_begin(&f, 0, EMBI_LEN(numbers));
    for (size_t i = 0; i < EMBI_LEN(numbers); i++) {
        (void)snprintf(key[i], sizeof key[i], "k%zu", i);
        gguf_number(&f, key[i], numbers[i].kind, numbers[i].stored, numbers[i].bytes);
    }
    struct embi_reader *r = open_file(&f);
    for (size_t i = 0; i < EMBI_LEN(numbers); i++) {
        const struct embi_gguf_value *v = embi_gguf_find(r, key[i]);
        uint64_t x = 0;
        cr_assert_not_null(v);
        cr_assert_eq(embi_gguf_number(r, v, &x), numbers[i].is_number, "%zu", i);
        if (numbers[i].is_number)
            cr_assert_eq(x, numbers[i].stored, "%zu", i);
        cr_assert_null(embi_gguf_string(r, v).s);
    }
    cr_assert_null(embi_gguf_find(r, "k"));
    cr_assert_not(embi_gguf_number(r, NULL, &(uint64_t){0}));
    embi_reader_close(r);
    embi_buf_free(&f.b);
}

Test(gguf, numbers)
{
    check_numbers(false);
    check_numbers(true);
}

/* Arrays of every kind are passed over; what comes behind them is found. */
Test(gguf, arrays)
{
    static const char *const words[] = {"a", "", "\xFF\x80", "tail"};
    static const int bytes[EMBI_GGUF_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    struct gguf_file f = {.version = 3};
    emb_str out[EMBI_LEN(words)];
    emb_err err;
    gguf_begin(&f, 0, EMBI_GGUF_KINDS); /* two less, two more */
    for (int kind = 0; kind < EMBI_GGUF_KINDS; kind++) {
        char key[8];
        (void)snprintf(key, sizeof key, "k%d", kind);
        if (!bytes[kind])
            continue;
        gguf_key(&f, key, EMBI_GGUF_ARRAY);
        gguf_put(&f, (uint64_t)kind, 4);
        gguf_length(&f, 3);
        embi_buf_fill(&f.b, 1, 3 * (size_t)bytes[kind]);
    }
    gguf_strings(&f, "words", words, EMBI_LEN(words));
    gguf_strings(&f, "none", words, 0);
    struct embi_reader *r = open_file(&f);
    const struct embi_gguf_value *v = embi_gguf_find(r, "words");
    cr_assert_eq(v->element, EMBI_GGUF_STRING);
    cr_assert_eq(v->n, EMBI_LEN(words));
    cr_assert_eq(embi_gguf_strings(r, v, out, &err), EMB_OK);
    for (size_t i = 0; i < EMBI_LEN(words); i++)
        cr_assert(embi_str_is(out[i], words[i]));
    cr_assert_eq(embi_gguf_find(r, "none")->n, 0);
    cr_assert_eq(embi_gguf_find(r, "k12")->n, 3);
    embi_reader_close(r);
    embi_buf_free(&f.b);
}

/* ------------------------------------------------------------------------------------------------
 * Types
 */

static const struct {
    uint32_t number;
    const char *name;
    unsigned elements, bytes;
} types[] = {
    {0, "f32", 1, 4},
    {1, "f16", 1, 2},
    {2, "q4_0", 32, 2 + 16},
    {3, "q4_1", 32, 2 + 2 + 16},
    {6, "q5_0", 32, 2 + 4 + 16},
    {7, "q5_1", 32, 2 + 2 + 4 + 16},
    {8, "q8_0", 32, 2 + 32},
    {9, "q8_1", 32, 2 + 2 + 32},
    {10, "q2_k", 256, 16 + 64 + 2 + 2},
    {11, "q3_k", 256, 32 + 64 + 12 + 2},
    {12, "q4_k", 256, 2 + 2 + 12 + 128},
    {13, "q5_k", 256, 2 + 2 + 12 + 32 + 128},
    {14, "q6_k", 256, 128 + 64 + 16 + 2},
    {15, "q8_k", 256, 4 + 256 + 16 * 2},
    {16, "iq2_xxs", 256, 2 + 64},
    {17, "iq2_xs", 256, 2 + 64 + 8},
    {18, "iq3_xxs", 256, 2 + 64 + 32},
    {19, "iq1_s", 256, 2 + 32 + 16},
    {20, "iq4_nl", 32, 2 + 16},
    {21, "iq3_s", 256, 2 + 64 + 8 + 32 + 4},
    {22, "iq2_s", 256, 2 + 64 + 8 + 8},
    {23, "iq4_xs", 256, 2 + 2 + 4 + 128},
    {24, "i8", 1, 1},
    {25, "i16", 1, 2},
    {26, "i32", 1, 4},
    {27, "i64", 1, 8},
    {28, "f64", 1, 8},
    {29, "iq1_m", 256, 32 + 16 + 8},
    {30, "bf16", 1, 2},
    {34, "tq1_0", 256, 48 + 4 + 2},
    {35, "tq2_0", 256, 64 + 2},
    {39, "mxfp4", 32, 1 + 16},
    {40, "nvfp4", 64, 4 + 32},
    {41, "q1_0", 128, 2 + 16},
    {42, "q2_0", 64, 2 + 16},
};

/* Three rows of two blocks, one tensor behind another. */
Test(gguf, sizes_of_types)
{
    struct gguf_file f = {.version = 3};
    uint64_t offset = 0;
    int read = 0;
    gguf_begin(&f, EMBI_LEN(types), 0);
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        gguf_info(&f, types[i].name, 3, 2 * types[i].elements, types[i].number, offset);
        offset += (6 * types[i].bytes + 31) / 32 * 32;
    }
    uint64_t data = gguf_data(&f, 32);
    embi_buf_fill(&f.b, 0, offset);
    struct embi_reader *r = open_file(&f);
    cr_assert_eq(r->n_tensors, EMBI_LEN(types));
    offset = data;
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        const struct embi_tensor *t = &r->tensors[i];
        cr_assert_str_eq(t->type_name, types[i].name);
        cr_assert_eq(t->bytes, 6 * types[i].bytes);
        cr_assert_eq(t->offset, offset);
        cr_assert(t->ndim == 2 && t->shape[0] == 3 && t->shape[1] == 2 * types[i].elements);
        if (t->dtype) {
            cr_assert_str_eq(emb_dtype_name(t->dtype), types[i].name);
            cr_assert_eq(emb_dtype_row_bytes(t->dtype, 2 * types[i].elements), 2 * types[i].bytes);
        }
        read += t->dtype != EMB_DTYPE_NONE;
        offset += (t->bytes + 31) / 32 * 32;
    }
    cr_assert_eq(read, 8 + 18); /* plain numbers, blocks */
    embi_reader_close(r);
    embi_buf_free(&f.b);
}

/* ------------------------------------------------------------------------------------------------
 * Damage
 */

/* Of a cut file the tensors are listed, and the rows that are there can be read. */
Test(gguf, cut)
{
    struct gguf_file f = {.version = 3};
    struct embi_env env = {0};
    struct embi_read_opts two = {.limit_rows = 2}, three = {.limit_rows = 3};
    struct embi_layout l;
    struct embi_reader *r;
    emb_err err;
    gguf_begin(&f, 1, 0);
    gguf_info(&f, "a", 4, 2, 0, 0);
    gguf_data(&f, 32);
    embi_buf_fill(&f.b, 0, 23); /* of 32 */
    r = open_file(&f);
    cr_assert_eq(embi_reader_layout(r, 0, &l, &err), EMB_BAD_DATA);
    cr_assert_eq(embi_reader_whole(r, 0, &err), EMB_BAD_DATA);
    embi_reader_close(r);
    cr_assert_eq(open_bytes(&env, f.b.s, f.b.n, "m", NULL, &two, &r, &err), EMB_OK);
    cr_assert_eq(embi_reader_layout(r, 0, &l, &err), EMB_OK, "%s", err.msg);
    embi_reader_close(r);
    cr_assert_eq(open_bytes(&env, f.b.s, f.b.n, "m", NULL, &three, &r, &err), EMB_OK);
    cr_assert_eq(embi_reader_layout(r, 0, &l, &err), EMB_BAD_DATA);
    embi_reader_close(r);
    embi_buf_free(&f.b);
}

/* Every cut of a good header is refused; every bit of it changed is refused or read, within the
 * file. */
Test(gguf, damage)
{
    static const char *const words[] = {"a", "bc"};
    struct gguf_file f = {.version = 3};
    struct embi_env env = {0};
    struct embi_reader *r;
    emb_err err;
    gguf_begin(&f, 2, 2);
    gguf_strings(&f, "tokenizer.ggml.tokens", words, 2);
    gguf_number(&f, "general.alignment", EMBI_GGUF_U32, 32, 4);
    gguf_info(&f, "a", 1, 2, 0, 0);
    gguf_info(&f, "b", 3, 32, 8, 32);
    size_t header = f.b.n;
    gguf_data(&f, 32);
    embi_buf_fill(&f.b, 0, 32 + 102);
    for (size_t n = 1; n < header; n++)
        cr_assert_eq(open_bytes(&env, f.b.s, n, "m", &embi_format_gguf, NULL, &r, &err),
                     EMB_BAD_DATA);
    for (size_t i = 0; i < 8 * header; i++) {
        struct embi_layout l;
        f.b.s[i / 8] = (char)(f.b.s[i / 8] ^ 1 << i % 8);
        if (open_bytes(&env, f.b.s, f.b.n, "m", &embi_format_gguf, NULL, &r, &err) == EMB_OK) {
            for (size_t k = 0; k < r->n_tensors; k++)
                if (embi_reader_layout(r, k, &l, &err) == EMB_OK)
                    cr_assert(embi_inside(r->tensors[k].offset, r->tensors[k].bytes, f.b.n));
            embi_reader_close(r);
        }
        f.b.s[i / 8] = (char)(f.b.s[i / 8] ^ 1 << i % 8);
    }
    embi_buf_free(&f.b);
}
