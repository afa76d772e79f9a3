/* test_fmt_npy.c - the .npy reader and writer.
 *
 * Expected headers are numpy 2.4's (numpy.lib.format.write_array_header_1_0). In the malformed
 * headers a ^ marks the place that the error must name; it is not part of the header.
 */
#include "memory_file.h"

static const struct embi_format *const npy = &embi_format_npy;

/* A file of that version with exactly this header text, and `data_bytes` zeros. */
static struct embi_buf make(int version, const char *text, size_t data_bytes)
{
    struct embi_buf b = {0};
    size_t n = strlen(text);
    embi_buf_text(&b, "\x93NUMPY");
    embi_buf_byte(&b, (char)version);
    embi_buf_byte(&b, 0);
    embi_buf_byte(&b, (char)n);
    embi_buf_byte(&b, (char)(n >> 8));
    embi_buf_fill(&b, '\0', version == 1 ? 0 : 2);
    embi_buf_add(&b, text, n);
    embi_buf_fill(&b, '\0', data_bytes);
    cr_assert(!b.failed);
    return b;
}

static emb_status open_made(const struct embi_buf *b, emb_dtype input_dtype, struct embi_reader **r,
                            emb_err *err)
{
    struct embi_env env = {0};
    struct embi_read_opts opts = {.input_dtype = input_dtype};
    return open_bytes(&env, b->s, b->n, "x.npy", NULL, &opts, r, err);
}

#define DICT(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

Test(npy, header_variants)
{
    static const struct {
        int version;
        const char *text;
        bool fortran, swap;
    } good[] = {
        {1, DICT("'<f4'", "False", "(3, 2)") "   \n", false, false},
        {2, DICT("'<f4'", "False", "(3, 2)") "\n", false, false},
        {3, DICT("'<f4'", "False", "(3, 2)"), false, false},
        {1, DICT("'>f4'", "False", "(3, 2)"), false, true},
        {1, DICT("'=f4'", "True", "(3, 2)"), true, false},
        {1, DICT("'|f4'", "True", "(3,2,)"), true, false},
        {1, DICT("'f4'", "False", "(3, 2)"), false, false},
        {2, DICT("'<f4'", "False", "(3L, 2L)"), false, false},
        {1, "{\"shape\":(3,2),\"fortran_order\":False,\"descr\":\"<f4\"}", false, false},
        {1, " {\n'shape' : ( 3 , 2 , ) ,\t'descr':'<f4','fortran_order':\rFalse } ", false, false},
    };
    for (size_t i = 0; i < EMBI_LEN(good); i++) {
        struct embi_buf b = make(good[i].version, good[i].text, 24);
        struct embi_reader *r;
        emb_err err;
        cr_assert_eq(open_made(&b, 0, &r, &err), EMB_OK, "%s: %s", good[i].text, err.msg);
        cr_assert_eq(r->n_tensors, 1);
        const struct embi_tensor *t = r->tensors;
        cr_assert(t->dtype == EMB_F32 && t->ndim == 2 && t->shape[0] == 3 && t->shape[1] == 2);
        cr_assert(t->fortran == good[i].fortran && t->swap == good[i].swap, "%s", good[i].text);
        cr_assert(t->bytes == 24 && t->offset == b.n - 24 && !t->name.s);
        struct embi_layout layout;
        cr_assert_eq(embi_reader_layout(r, 0, &layout, &err), EMB_OK);
        cr_assert(layout.rows == 3 && layout.dims == 2 && layout.swap == good[i].swap);
        cr_assert_eq(layout.row_stride, good[i].fortran ? 4 : 8);
        cr_assert_eq(layout.col_stride, good[i].fortran ? 12 : 4);
        embi_reader_close(r);
        embi_buf_free(&b);
    }
}

Test(npy, types)
{
    static const struct {
        const char *descr;
        emb_dtype input, dtype;
        bool swap;
    } types[] = {
        {"<f8", 0, EMB_F64, false},
        {">f8", 0, EMB_F64, true},
        {"<f2", 0, EMB_F16, false},
        {"|i1", 0, EMB_I8, false},
        {">i1", 0, EMB_I8, false},
        {"|u1", 0, EMB_U8, false},
        {"<i2", 0, EMB_I16, false},
        {">u2", 0, EMB_U16, true},
        {"<i4", 0, EMB_I32, false},
        {"<u4", 0, EMB_U32, false},
        {">i8", 0, EMB_I64, true},
        {"<u8", 0, EMB_U64, false},
        {"|b1", 0, EMB_BOOL, false},
        {"bfloat16", 0, EMB_BF16, false},
        {"<g2", 0, EMB_BF16, false},
        {"<f1", 0, EMB_F8_E5M2, false},
        {"|V2", EMB_BF16, EMB_BF16, false},
        {"<V2", EMB_F16, EMB_F16, false},
        {"<V1", EMB_F8_E4M3, EMB_F8_E4M3, false},
        {"|V1", EMB_F8_E8M0, EMB_F8_E8M0, false},
        {"|V1", EMB_I8, EMB_I8, false},
        {"<f4", EMB_BF16, EMB_F32, false},
    };
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        char text[120];
        snprintf(text, sizeof text, DICT("'%s'", "False", "(3,)"), types[i].descr);
        size_t bytes = 3 * emb_dtype_bytes(types[i].dtype);
        struct embi_buf b = make(1, text, bytes);
        struct embi_reader *r;
        emb_err err;
        cr_assert_eq(open_made(&b, types[i].input, &r, &err), EMB_OK, "%s: %s", text, err.msg);
        const struct embi_tensor *t = r->tensors;
        cr_assert_eq(t->dtype, types[i].dtype, "%s", text);
        cr_assert_eq(t->swap, types[i].swap, "%s", text);
        cr_assert(t->ndim == 1 && t->shape[0] == 3 && t->bytes == bytes);
        cr_assert_str_eq(t->type_name, types[i].descr);
        embi_reader_close(r);
        embi_buf_free(&b);
    }
}

Test(npy, shapes_that_are_no_tables)
{
    static const struct {
        const char *shape;
        int ndim;
        size_t count;
        const char *word;
    } shapes[] = {
        {"()", 0, 1, "shape [] is not a table [V, d]"},
        {"(7,)", 1, 7, "shape [7] is not a table [V, d]"},
        {"(2, 3, 4)", 3, 24, "shape [2, 3, 4] is not a table [V, d]"},
        {"(1, 1, 1, 1, 1, 1, 1, 2)", 8, 2, "[1, 1, 1, 1, 1, 1, 1, 2]"},
        {"(5, 0)", 2, 0, "d is 0"},
        {"(0, 4294967296)", 2, 0, "d is above 4294967295"},
        {"(0, 4)", 2, 0, NULL},
        {"(0, 1048576)", 2, 0, NULL},
        {"(0, 1048577)", 2, 0, "[0, 1048577]: d of a table without rows"},
    };
    for (size_t i = 0; i < EMBI_LEN(shapes); i++) {
        char text[120];
        snprintf(text, sizeof text, DICT("'|u1'", "False", "%s"), shapes[i].shape);
        struct embi_buf b = make(1, text, shapes[i].count);
        struct embi_reader *r;
        struct embi_layout layout;
        emb_err err;
        cr_assert_eq(open_made(&b, 0, &r, &err), EMB_OK, "%s: %s", text, err.msg);
        cr_assert(r->tensors[0].ndim == shapes[i].ndim && r->tensors[0].bytes == shapes[i].count);
        emb_status status = embi_reader_layout(r, 0, &layout, &err);
        cr_assert_eq(status, shapes[i].word ? EMB_UNSUPPORTED : EMB_OK, "%s", text);
        cr_assert(!shapes[i].word || strstr(err.msg, shapes[i].word), "%s", err.msg);
        embi_reader_close(r);
        embi_buf_free(&b);
    }
}

static const struct {
    int version;
    const char *text; /* ^ marks the place */
    size_t data_bytes;
    emb_status status;
    const char *word;
} bads[] = {
    {1, DICT("^'|O'", "False", "(3, 2)"), 24, EMB_UNSUPPORTED, "pickled"},
    {1, DICT("^[('a', '<f4'), ('b', '<f4')]", "False", "(3,)"), 24, EMB_UNSUPPORTED, "structured"},
    {1, DICT("^('<f4', (2,))", "False", "(3,)"), 24, EMB_UNSUPPORTED, "structured"},
    {1, DICT("^'<c8'", "False", "(3,)"), 24, EMB_UNSUPPORTED, "complex"},
    {1, DICT("^'<f16'", "False", "(3,)"), 48, EMB_UNSUPPORTED, "128-bit"},
    {1, DICT("^'<g16'", "False", "(3,)"), 48, EMB_UNSUPPORTED, "long double"},
    {1, DICT("^'<M8[ns]'", "False", "(3,)"), 24, EMB_UNSUPPORTED, "dates"},
    {1, DICT("^'<m8[s]'", "False", "(3,)"), 24, EMB_UNSUPPORTED, "time"},
    {1, DICT("^'<U5'", "False", "(3,)"), 60, EMB_UNSUPPORTED, "text"},
    {1, DICT("^'|S7'", "False", "(3,)"), 21, EMB_UNSUPPORTED, "text"},
    {1, DICT("^'|V2'", "False", "(3, 2)"), 12, EMB_UNSUPPORTED, "--input-dtype bf16 or f16"},
    {1, DICT("^'|V1'", "False", "(3, 2)"), 6, EMB_UNSUPPORTED, "--input-dtype f8_e4m3"},
    {1, DICT("^'|V16'", "False", "(3, 2)"), 96, EMB_UNSUPPORTED, "opaque"},
    {1, DICT("^'<f3'", "False", "(3, 2)"), 24, EMB_BAD_DATA, "<f3"},
    {1, DICT("^''", "False", "(3, 2)"), 24, EMB_BAD_DATA, "descr"},
    {1, DICT("^'float32'", "False", "(3, 2)"), 24, EMB_BAD_DATA, "float32"},
    {1, DICT("^None", "False", "(3, 2)"), 24, EMB_BAD_DATA, "type name"},
    {1, DICT("'<f4'", "^0", "(3, 2)"), 24, EMB_BAD_DATA, "True or False"},
    {1, DICT("'<f4'", "False^0", "(3, 2)"), 24, EMB_BAD_DATA, "comma"},
    {1, DICT("'<f4'", "False", "(^-3, -2)"), 24, EMB_BAD_DATA, "negative"},
    {1, "^" DICT("'<f4'", "False", "(4611686018427387904, 4)"), 24, EMB_BAD_DATA, "too large"},
    {1, "^" DICT("'<f4'", "False", "(4611686018427387904,)"), 24, EMB_BAD_DATA, "too large"},
    {1, DICT("'<f4'", "False", "(^18446744073709551616, 0)"), 0, EMB_BAD_DATA, "2^64"},
    {1, DICT("'<f4'", "False", "(3, ^__import__('os'))"), 24, EMB_BAD_DATA, "whole number"},
    {1, DICT("'<f4'", "False", "(3, ^02)"), 24, EMB_BAD_DATA, "whole number"},
    {1, DICT("'<f4'", "False", "(3, 2^.0)"), 24, EMB_BAD_DATA, "comma"},
    {1, DICT("'<f4'", "False", "(3 ^2)"), 24, EMB_BAD_DATA, "comma"},
    {1, DICT("'<f4'", "False", "(6^)"), 24, EMB_BAD_DATA, "comma"},
    {1, DICT("'<f4'", "False", "(^,)"), 24, EMB_BAD_DATA, "whole number"},
    {1, DICT("'<f4'", "False", "^[3, 2]"), 24, EMB_BAD_DATA, "parentheses"},
    {1, DICT("'<f4'", "False", "^6"), 24, EMB_BAD_DATA, "parentheses"},
    {1, DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,^1)"), 4, EMB_BAD_DATA, "8 dimensions"},
    {3, DICT("'<f4'", "False", "(3^L, 2)"), 24, EMB_BAD_DATA, "comma"},
    {3, "{'descr': '<f4', '^\xE9': 1}", 24, EMB_BAD_DATA, "UTF-8"},
    {1, "{'descr': '<f4', 'shape': (3, 2), }^", 24, EMB_BAD_DATA, "fortran_order"},
    {1, "{'fortran_order': False, 'shape': (3, 2)}^", 24, EMB_BAD_DATA, "descr"},
    {1, "{'descr': '<f4', 'fortran_order': False}^", 24, EMB_BAD_DATA, "shape"},
    {1, "{}^", 24, EMB_BAD_DATA, "descr"},
    {1, "{'descr': '<f4', ^'descr': '<f4', 'shape': (3,)}", 24, EMB_BAD_DATA, "once"},
    {1, "{'descr': '<f4', ^'x': 1, 'fortran_order': False, 'shape': (3,)}", 24, EMB_BAD_DATA,
     "keys"},
    {1, "{'descr': '<f4\\^x34', }", 24, EMB_BAD_DATA, NULL},
    {1, "{'descr': '<f4^", 24, EMB_BAD_DATA, "closing quote"},
    {1, "{'descr': '<f4^\n', }", 24, EMB_BAD_DATA, "closing quote"},
    {1, "{'descr': ^", 24, EMB_BAD_DATA, "found its end"},
    {1, "{'descr'^ '<f4'}", 24, EMB_BAD_DATA, NULL},
    {1, "{^,}", 24, EMB_BAD_DATA, "key"},
    {1, "^", 24, EMB_BAD_DATA, "dict"},
    {1, "^[]", 24, EMB_BAD_DATA, "dict"},
    {1, DICT("'<f4'", "False", "(3, 2)") " ^;", 24, EMB_BAD_DATA, "nothing"},
    {1, DICT("'<f4'", "False", "(3, 2)") "^", 23, EMB_BAD_DATA, "expected 24 bytes, found 23"},
    {1, DICT("'<f4'", "False", "(3, 2)") "^", 0, EMB_BAD_DATA, "expected 24 bytes, found 0"},
};

Test(npy, malformed_headers)
{
    for (size_t i = 0; i < EMBI_LEN(bads); i++) {
        char text[300];
        const char *mark = strchr(bads[i].text, '^');
        size_t at = (size_t)(mark - bads[i].text), prefix = bads[i].version == 1 ? 10 : 12;
        snprintf(text, sizeof text, "%.*s%s", (int)at, bads[i].text, mark + 1);
        struct embi_buf b = make(bads[i].version, text, bads[i].data_bytes);
        struct embi_reader *r = NULL;
        emb_err err;
        emb_status status = open_made(&b, 0, &r, &err);
        cr_expect_eq(status, bads[i].status, "%s: %d (%s)", text, status, err.msg);
        cr_expect_null(r);
        cr_expect(bads[i].word == NULL || strstr(err.msg, bads[i].word), "%s: %s", text, err.msg);
        cr_expect(bads[i].word == NULL || err.at == (int64_t)(prefix + at),
                  "%s: at %d, not %zu (%s)", text, (int)err.at, prefix + at, err.msg);
        embi_buf_free(&b);
    }
}

Test(npy, cut_anywhere)
{
    struct embi_buf b = make(2, DICT("'<f4'", "False", "(3, 2)"), 24);
    for (size_t n = 1; n < b.n; n++) {
        struct embi_buf cut = {.s = b.s, .n = n};
        struct embi_reader *r;
        emb_err err;
        cr_assert_eq(open_made(&cut, 0, &r, &err), EMB_BAD_DATA, "%zu bytes", n);
        cr_assert(n < 6 || strstr(err.msg, "expected"), "%zu bytes: %s", n, err.msg);
    }
    embi_buf_free(&b);
}

Test(npy, versions_and_lengths)
{
    static const struct {
        const char *head; /* 12 bytes */
        emb_status status;
        int64_t at;
        const char *word;
    } heads[] = {
        {"\x93NUMPY\x04\x00\x02\x00\x00\x00", EMB_UNSUPPORTED, 6, "version 4.0"},
        {"\x93NUMPY\x01\x01\x02\x00{}", EMB_UNSUPPORTED, 6, "version 1.1"},
        {"\x93NUMPY\x00\x01\x02\x00{}", EMB_UNSUPPORTED, 6, "version 0.1"},
        {"\x93NUMPY\x02\x00\x01\x00\x10\x00", EMB_BAD_DATA, 8, "1048577"},
        {"\x93NUMPY\x03\x00\xFF\xFF\xFF\xFF", EMB_BAD_DATA, 8, "4294967295"},
        {"\x93NUMPY\x01\x00\xFF\xFF{}", EMB_BAD_DATA, 12, "expected 65535 bytes, found 2"},
        {"\x93NUMPX\x01\x00\x02\x00{}", EMB_BAD_DATA, 0, "NUMPY"},
    };
    for (size_t i = 0; i < EMBI_LEN(heads); i++) {
        struct embi_buf b = {.s = (char *)heads[i].head, .n = 12};
        struct embi_reader *r;
        emb_err err;
        cr_assert_eq(open_made(&b, 0, &r, &err), heads[i].status, "%zu: %s", i, err.msg);
        cr_assert_eq(err.at, heads[i].at, "%zu: %s", i, err.msg);
        cr_assert(strstr(err.msg, heads[i].word), "%s", err.msg);
    }
}

Test(npy, bytes_after_the_data)
{
    struct embi_buf b = make(1, DICT("'<f4'", "False", "(3, 2)"), 25);
    struct embi_reader *r;
    emb_err err;
    cr_assert_eq(open_made(&b, 0, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(r->tensors[0].bytes, 24);
    embi_reader_close(r);
    embi_buf_free(&b);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

static const struct {
    emb_array array;
    size_t bytes; /* up to the data */
    const char *dict;
} headers[] = {
    {{"a", EMB_F32, 2, {3, 4}}, 128, DICT("'<f4'", "False", "(3, 4)")},
    {{"a", EMB_F64, 1, {5}}, 128, DICT("'<f8'", "False", "(5,)")},
    {{"a", EMB_F16, 2, {0, 4}}, 128, DICT("'<f2'", "False", "(0, 4)")},
    {{"a", EMB_U8, 3, {2, 3, 4}}, 128, DICT("'|u1'", "False", "(2, 3, 4)")},
    {{"a", EMB_BOOL, 2, {4, 50}}, 128, DICT("'|b1'", "False", "(4, 50)")},
    {{"a", EMB_I64, 1, {1}}, 128, DICT("'<i8'", "False", "(1,)")},
    {{"a", EMB_U16, 2, {12345, 1}}, 128, DICT("'<u2'", "False", "(12345, 1)")},
    {{"a", EMB_I32, 4, {7, 1, 1, 2}}, 128, DICT("'<i4'", "False", "(7, 1, 1, 2)")},
    {{"a", EMB_I8, 2, {999, 3}}, 128, DICT("'|i1'", "False", "(999, 3)")},
    {{"a", EMB_I16, 2, {10, 10}}, 128, DICT("'<i2'", "False", "(10, 10)")},
    {{"a", EMB_U64, 2, {3, 1}}, 128, DICT("'<u8'", "False", "(3, 1)")},
    {{"a", EMB_U32, 4, {2, 2, 1000000000000, 0}},
     128,
     DICT("'<u4'", "False", "(2, 2, 1000000000000, 0)")},
    {{"a", EMB_F32, 4, {1, 10000000000000000, 1000000000000000, 0}},
     128,
     DICT("'<f4'", "False", "(1, 10000000000000000, 1000000000000000, 0)")},
    {{"a", EMB_F32, 4, {1, 100000000000000000, 1000000000000000, 0}},
     192,
     DICT("'<f4'", "False", "(1, 100000000000000000, 1000000000000000, 0)")},
};

static void check_header(size_t i, const struct embi_buf *out)
{
    size_t n = headers[i].bytes - 10, dict = strlen(headers[i].dict);
    char prefix[] = "\x93NUMPY\x01\x00\x00\x00";
    prefix[8] = (char)n;
    cr_assert_geq(out->n, headers[i].bytes);
    cr_assert_eq(memcmp(out->s, prefix, 10), 0, "%s", headers[i].dict);
    cr_assert_eq(memcmp(out->s + 10, headers[i].dict, dict), 0, "%.*s", (int)n, out->s + 10);
    for (size_t k = dict; k < n - 1; k++)
        cr_assert_eq(out->s[10 + k], ' ', "%s: byte %zu", headers[i].dict, 10 + k);
    cr_assert_eq(out->s[10 + n - 1], '\n');
}

/* As numpy.save, whether the count is known at the beginning or at the end. */
Test(npy, headers_are_those_of_numpy)
{
    static const char data[25000] = "0123456789";
    for (size_t i = 0; i < EMBI_LEN(headers); i++) {
        uint64_t rows = headers[i].array.shape[0], row_bytes = input_row_bytes(&headers[i].array);
        struct input in = {headers[i].array, data, rows};
        struct embi_buf out, late;
        emb_err err;
        if (row_bytes == 0) { /* nothing can be put */
            struct embi_env env = {0};
            struct target target = {.io = {.scheme = &target_scheme, .env = &env}};
            struct embi_sink s = {
                .env = &env, .io = &target.io, .format = npy, .arrays = &headers[i].array, .n = 1};
            cr_assert_eq(npy->begin(&s, &err), EMB_OK);
            check_header(i, &target.content);
            embi_buf_free(&s.buf);
            embi_buf_free(&target.content);
            continue;
        }
        cr_assert_eq(write_file(npy, &in, 1, 0, &out, &err), EMB_OK, "%s", err.msg);
        check_header(i, &out);
        cr_assert_eq(out.n, headers[i].bytes + rows * row_bytes);
        cr_assert_eq(memcmp(out.s + headers[i].bytes, data, rows * row_bytes), 0);
        in.array.shape[0] = EMB_ROWS_UNKNOWN;
        cr_assert_eq(write_file(npy, &in, 1, EMBI_IO_CAN_PATCH, &late, &err), EMB_OK, "%s",
                     err.msg);
        cr_assert(late.n == out.n && memcmp(late.s, out.s, out.n) == 0, "%s", headers[i].dict);
        embi_buf_free(&out);
        embi_buf_free(&late);
    }
}

Test(npy, types_that_numpy_lacks)
{
    static const emb_dtype lacking[] = {EMB_BF16,        EMB_F8_E4M3,     EMB_F8_E5M2,
                                        EMB_F8_E4M3FNUZ, EMB_F8_E5M2FNUZ, EMB_F8_E8M0};
    for (size_t i = 0; i < EMBI_LEN(lacking); i++) {
        emb_array array = {"a", lacking[i], 2, {3, 4}};
        struct embi_sink s = {.format = npy, .arrays = &array, .n = 1};
        emb_err err;
        cr_assert_eq(npy->check(&s, &err), EMB_UNSUPPORTED);
        cr_assert(strstr(err.msg, emb_dtype_name(lacking[i])) && strstr(err.msg, "--dtype f32"),
                  "%s", err.msg);
    }
}
