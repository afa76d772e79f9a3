/* test_fmt_safetensors.c - the safetensors reader and writer.
 *
 * Expected values come from the safetensors documentation and, for what it leaves open, from what
 * its reference implementation accepts and refuses. In the malformed headers a ^ marks the place
 * that the error must name; it is not part of the header.
 */
#include "memory_file.h"

#include "util/buf.h"

static const struct embi_format *const st = &embi_format_safetensors;

/* length, header, `data_bytes` zeros */
static struct embi_buf make(const char *header, size_t header_bytes, size_t data_bytes)
{
    struct embi_buf b = {0};
    uint64_t n = header_bytes;
    embi_buf_add(&b, &n, 8);
    embi_buf_add(&b, header, header_bytes);
    embi_buf_fill(&b, '\0', data_bytes);
    cr_assert(!b.failed);
    return b;
}

static emb_status open_made(const struct embi_buf *b, struct embi_reader **r, emb_err *err)
{
    struct embi_env env = {0};
    return open_bytes(&env, b->s, b->n, "x.safetensors", NULL, NULL, r, err);
}

#define A(shape, offsets) \
    "\"a\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define B(shape, offsets) \
    "\"b\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

Test(safetensors, one_tensor)
{
    /* the minimal file: one F32 [1, 2] "a", header of 56 bytes */
    const char json[] = "{" A("[1,2]", "[0,8]") "}";
    char header[57];
    snprintf(header, sizeof header, "%-56s", json);
    struct embi_buf b = make(header, 56, 8);
    struct embi_reader *r;
    emb_err err;
    cr_assert_eq(open_made(&b, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(r->n_tensors, 1);
    const struct embi_tensor *t = r->tensors;
    cr_assert(embi_str_is(t->name, "a"));
    cr_assert_eq(t->dtype, EMB_F32);
    cr_assert_str_eq(t->type_name, "F32");
    cr_assert_eq(t->ndim, 2);
    cr_assert(t->shape[0] == 1 && t->shape[1] == 2);
    cr_assert(t->offset == 64 && t->bytes == 8 && !t->fortran && !t->swap);
    cr_assert_eq(r->metadata.n, 0);
    struct embi_layout layout;
    cr_assert_eq(embi_reader_layout(r, 0, &layout, &err), EMB_OK);
    cr_assert(layout.rows == 1 && layout.dims == 2 && layout.offset == 64);
    cr_assert(layout.row_stride == 8 && layout.col_stride == 4 && layout.dtype == EMB_F32);
    embi_reader_close(r);
    embi_buf_free(&b);
}

Test(safetensors, legal_oddities)
{
    static const char *const headers[] = {
        "{\"__metadata__\":{}," A("[3,2]", "[0,24]") "}",
        "{\"__metadata__\":null," A("[3,2]", "[0,24]") "}",
        "{" A("[3,2]", "[0,24]") ",\"__metadata__\":{\"k\":\"\\u00e9\",\"format\":\"pt\"}}",
        " \n\t\r{" A("[3,2]", "[0,24]") "}",
        "{" A("[3,2]", "[0,24]") "} \t\r\n",
        "{" A("[3,2]", "[0,24]") "}   ",
        "{\"a\":{\"data_offsets\":[0,24],\"shape\":[3,2],\"dtype\":\"F32\"}}",
        "{\"a\":{\"note\":[1,{\"dtype\":null}],\"dtype\":\"F\\u0033\\u0032\",\"shape\":[3,2],"
        "\"data_offsets\":[0,24]}}",
        "{\"\\u0061\":{\"d\\u0074ype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}}",
    };
    for (size_t i = 0; i < EMBI_LEN(headers); i++) {
        struct embi_buf b = make(headers[i], strlen(headers[i]), 24);
        struct embi_reader *r;
        emb_err err;
        cr_assert_eq(open_made(&b, &r, &err), EMB_OK, "%s: %s", headers[i], err.msg);
        cr_assert_eq(r->n_tensors, 1, "%s", headers[i]);
        cr_assert(embi_str_is(r->tensors[0].name, "a"), "%s", headers[i]);
        cr_assert_eq(r->tensors[0].offset, 8 + strlen(headers[i]), "%s", headers[i]);
        embi_reader_close(r);
        embi_buf_free(&b);
    }
}

Test(safetensors, metadata_is_kept_as_it_stands)
{
    const char json[] = "{\"__metadata__\": {\"format\" : \"pt\", \"k\\n\":\"\\u0041\"} }";
    struct embi_buf b = make(json, strlen(json), 0);
    struct embi_reader *r;
    emb_err err;
    cr_assert_eq(open_made(&b, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(r->n_tensors, 0);
    cr_assert_str_eq(embi_buf_cstr(&r->metadata), "{\"format\" : \"pt\", \"k\\n\":\"\\u0041\"}");
    embi_reader_close(r);
    embi_buf_free(&b);
}

Test(safetensors, scalars_empty_tensors_and_names)
{
    /* data in another order than the header; a scalar, empty tensors, an empty name, one with NUL
     */
    const char json[] = "{\"\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[3,7]},"
                        "\"z\":{\"dtype\":\"I64\",\"shape\":[2,0],\"data_offsets\":[3,3]},"
                        "\"\\u0000n\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
                        "\"e\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[7,7]}}";
    struct embi_buf b = make(json, strlen(json), 7);
    struct embi_reader *r;
    emb_err err;
    cr_assert_eq(open_made(&b, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(r->n_tensors, 4);
    cr_assert(r->tensors[0].name.s && r->tensors[0].name.n == 0 && r->tensors[0].ndim == 0);
    cr_assert_eq(r->tensors[0].offset, 8 + strlen(json) + 3);
    cr_assert_eq(r->tensors[0].bytes, 4);
    cr_assert(r->tensors[1].bytes == 0 && r->tensors[1].ndim == 2);
    cr_assert(r->tensors[2].name.n == 2 && memcmp(r->tensors[2].name.s, "\0n", 2) == 0);
    cr_assert_eq(r->tensors[2].offset, 8 + strlen(json));
    struct embi_layout layout;
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(embi_reader_layout(r, i, &layout, &err), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "tensor 'e'") && strstr(err.msg, "[0]"), "%s", err.msg);
    embi_reader_close(r);
    embi_buf_free(&b);
}

Test(safetensors, every_type)
{
    /* name, bits of an element, what it is here */
    static const struct {
        const char *name;
        unsigned bits;
        emb_dtype dtype;
    } types[] = {
        {"BOOL", 8, EMB_BOOL},
        {"F4", 4, EMB_DTYPE_NONE},
        {"F6_E2M3", 6, EMB_DTYPE_NONE},
        {"F6_E3M2", 6, EMB_DTYPE_NONE},
        {"U8", 8, EMB_U8},
        {"I8", 8, EMB_I8},
        {"F8_E5M2", 8, EMB_F8_E5M2},
        {"F8_E4M3", 8, EMB_F8_E4M3},
        {"F8_E8M0", 8, EMB_F8_E8M0},
        {"F8_E4M3FNUZ", 8, EMB_F8_E4M3FNUZ},
        {"I16", 16, EMB_I16},
        {"F8_E5M2FNUZ", 8, EMB_F8_E5M2FNUZ},
        {"U16", 16, EMB_U16},
        {"F16", 16, EMB_F16},
        {"BF16", 16, EMB_BF16},
        {"I32", 32, EMB_I32},
        {"U32", 32, EMB_U32},
        {"F32", 32, EMB_F32},
        {"C64", 64, EMB_DTYPE_NONE},
        {"F64", 64, EMB_F64},
        {"I64", 64, EMB_I64},
        {"U64", 64, EMB_U64},
    };
    for (size_t i = 0; i < EMBI_LEN(types); i++) {
        char json[200];
        unsigned bytes = 12 * types[i].bits / 8; /* [3, 4] */
        snprintf(json, sizeof json,
                 "{\"a\":{\"dtype\":\"%s\",\"shape\":[3,4],\"data_offsets\":[0,%u]}}",
                 types[i].name, bytes);
        struct embi_buf b = make(json, strlen(json), bytes);
        struct embi_reader *r;
        struct embi_layout layout;
        emb_err err;
        cr_assert_eq(open_made(&b, &r, &err), EMB_OK, "%s: %s", types[i].name, err.msg);
        cr_assert_eq(r->tensors[0].dtype, types[i].dtype, "%s", types[i].name);
        cr_assert_eq(r->tensors[0].bytes, bytes, "%s", types[i].name);
        cr_assert_str_eq(r->tensors[0].type_name, types[i].name);
        emb_status status = embi_reader_layout(r, 0, &layout, &err);
        cr_assert_eq(status, types[i].dtype ? EMB_OK : EMB_UNSUPPORTED, "%s", types[i].name);
        cr_assert(types[i].dtype || strstr(err.msg, types[i].name), "%s", err.msg);
        embi_reader_close(r);
        embi_buf_free(&b);
    }
}

struct bad {
    const char *header; /* ^ marks the place */
    size_t data_bytes;
    const char *word, *word2; /* of the message */
};

static const struct bad bads[] = {
    {"{" A("[1,2]", "[0,8]") ",^" A("[1,2]", "[8,16]") "}", 16, "'a'", "twice"},
    {"{" A("[1,2]",
           "[0,8]") ",^\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
     12, "'a'", "twice"},
    {"{" A("[2,2]", "[0,16]") ",^" B("[2,2]", "[8,24]") "}", 24, "overlap", "'b'"},
    {"{" A("[1,2]", "[0,8]") ",^" B("[1,2]", "[0,8]") "}", 8, "same bytes", "'b'"},
    {"{" A("[1,2]", "[0,8]") ",^" B("[1,2]", "[12,20]") "}", 20, "ends at byte 8", "'b'"},
    {"{^" A("[1,2]", "[4,12]") "}", 12, "begins at byte 4", "'a'"},
    {"{" A("[2,2]", "^[0,16]") "}", 8, "16", "8 bytes of data"},
    {"{" A("[1,2]", "^[0,8]") "}", 7, "byte 8", "7 bytes of data"},
    {"{" A("[1,2]", "^[8,0]") "}", 8, "before", "'a'"},
    {"{" A("[1,3]", "^[0,8]") "}", 8, "12", "found 8"},
    {"{" A("^[4611686018427387904,8]", "[0,0]") "}", 0, "too large", "[4611686018427387904, 8]"},
    {"{" A("^[4294967296,4294967296,0]", "[0,0]") "}", 0, "too large", "'a'"},
    {"{" A("^[2305843009213693952]", "[0,0]") "}", 0, "too large", "'a'"},
    {"{" A("[1,2]", "[^18446744073709551616,8]") "}", 8, "unsigned integer",
     "18446744073709551616"},
    {"{" A("[1,2]", "^[18446744073709551608,18446744073709551615]") "}", 8, "found 7", "'a'"},
    {"{\"a\":{\"dtype\":^\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype", "F31"},
    {"{\"a\":{\"dtype\":^\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype", "f32"},
    {"{\"a\":{\"dtype\":^7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype", "string"},
    {"{\"a\":{\"dtype\":\"F4\",\"shape\":^[3],\"data_offsets\":[0,1]}}", 1, "whole bytes", "F4"},
    {"{" A("[^-1,-2]", "[0,8]") "}", 8, "shape", "-1"},
    {"{" A("[^1.0,2]", "[0,8]") "}", 8, "shape", "1.0"},
    {"{" A("[1,^2e0]", "[0,8]") "}", 8, "shape", "2e0"},
    {"{" A("[^-0,2]", "[0,0]") "}", 0, "shape", "-0"},
    {"{" A("[0^1,2]", "[0,8]") "}", 8, "'a'", "JSON"},
    {"{" A("[^\"1\",2]", "[0,8]") "}", 8, "shape", "unsigned integer"},
    {"{" A("^8", "[0,32]") "}", 32, "'a'", "JSON"},
    {"{" A("^[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "8 dimensions", "'a'"},
    {"{" A("[1,2]", "^[0,8,8]") "}", 8, "expected 2", "'a'"},
    {"{" A("[1,2]", "^[8]") "}", 8, "expected 2", "found 1"},
    {"{" A("[1,2]", "[0,8]") ",^}", 8, "header", "JSON"},
    {"{\"a\":^[\"F32\",[1],[0,4]]}", 4, "'a'", "JSON"},
    {"{^\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype", "missing"},
    {"{^\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "shape", "missing"},
    {"{^\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets", "missing"},
    {"{\"a\":{\"dtype\":\"F32\",^\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "dtype", "twice"},
    {"{\"__metadata__\":{\"n\":^0}," A("[1,2]", "[0,8]") "}", 8, "__metadata__", "value of 'n'"},
    {"{\"__metadata__\":{\"n\":^null}}", 0, "__metadata__", "string"},
    {"{\"__metadata__\":^[]}", 0, "__metadata__", "JSON"},
    {"{\"__metadata__\":{},^\"__metadata__\":{}}", 0, "__metadata__", "twice"},
    {"{\"__metadata__\":{\"k\":\"1\",\"q\":\"\",^\"\\u006b\":\"2\"}}", 0, "'k'", "twice"},
    {"^\xEF\xBB\xBF{}", 0, "header", "JSON"},
    {"{}^x", 0, "header", "JSON"},
    {"{" A("[1,2]", "[0,8]") "^", 8, "header", "JSON"},
    {"^", 0, "header", "JSON"},
    {"^[]", 0, "header", "JSON"},
    {"{\"^\xC3\x28\":{}}", 0, "JSON", "expected"},
    {"{\"a^\n\":{}}", 0, "JSON", "expected"},
    {"{\"^\\ud800\":{}}", 0, "JSON", "expected"},
};

Test(safetensors, malformed_headers)
{
    for (size_t i = 0; i < EMBI_LEN(bads); i++) {
        char header[400];
        const char *mark = strchr(bads[i].header, '^');
        size_t at = (size_t)(mark - bads[i].header);
        snprintf(header, sizeof header, "%.*s%s", (int)at, bads[i].header, mark + 1);
        struct embi_buf b = make(header, strlen(header), bads[i].data_bytes);
        struct embi_reader *r = NULL;
        emb_err err;
        emb_status status = open_made(&b, &r, &err);
        bool dimensions = strstr(bads[i].word, "dimensions") != NULL;
        cr_expect_eq(status, dimensions ? EMB_UNSUPPORTED : EMB_BAD_DATA, "%s: %d", header, status);
        cr_expect_null(r);
        cr_expect_eq(err.at, (int64_t)(8 + at), "%s: at %d, not %zu (%s)", header, (int)err.at,
                     8 + at, err.msg);
        cr_expect(strstr(err.msg, bads[i].word) && strstr(err.msg, bads[i].word2), "%s: %s", header,
                  err.msg);
        embi_buf_free(&b);
    }
}

Test(safetensors, nul_after_the_json)
{
    struct embi_buf b = make("{}\0", 3, 0);
    struct embi_reader *r;
    emb_err err;
    cr_assert_eq(open_made(&b, &r, &err), EMB_BAD_DATA);
    cr_assert_eq(err.at, 10);
    embi_buf_free(&b);
}

Test(safetensors, lengths_that_lie)
{
    static const uint64_t lengths[] = {
        UINT64_MAX, UINT64_C(1) << 63, UINT64_C(100000001), 100000000, 57, 56};
    const char json[] = "{" A("[1,2]", "[0,8]") "}";
    for (size_t i = 0; i < EMBI_LEN(lengths); i++) {
        struct embi_buf b = make(json, 40, 0); /* cut, too */
        memcpy(b.s, &lengths[i], 8);
        struct embi_reader *r;
        emb_err err;
        cr_assert_eq(open_made(&b, &r, &err), EMB_BAD_DATA, "%zu", i);
        cr_assert_eq(err.at, 0);
        cr_assert(strstr(err.msg, "header"), "%s", err.msg);
        cr_assert(lengths[i] > 100000000 || strstr(err.msg, "found 40"), "%s", err.msg);
        embi_buf_free(&b);
    }
}

Test(safetensors, shorter_than_a_length)
{
    for (size_t n = 0; n < 8; n++) {
        struct embi_buf b = {.s = "\x08\0\0\0\0\0\0\0", .n = n};
        struct embi_reader *r;
        emb_err err;
        cr_assert_eq(open_made(&b, &r, &err), EMB_BAD_DATA, "%zu", n);
        cr_assert(strstr(err.msg, n ? "expected 8 bytes" : "empty"), "%s", err.msg);
    }
}

Test(safetensors, bytes_after_the_last_tensor)
{
    const char json[] = "{" A("[1,2]", "[0,8]") "}";
    struct embi_buf b = make(json, strlen(json), 12);
    struct log log = {0};
    struct embi_env env = {.log = collect, .log_arg = &log};
    struct embi_reader *r;
    struct embi_read_opts strict = {.strict = true};
    emb_err err;
    cr_assert_eq(open_bytes(&env, b.s, b.n, "x", st, NULL, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(log.lines, 1);
    cr_assert_str_eq(log.last, "4 bytes after the last tensor");
    embi_reader_close(r);
    cr_assert_eq(open_bytes(&env, b.s, b.n, "x", st, &strict, &r, &err), EMB_BAD_DATA);
    cr_assert_str_eq(err.msg, "4 bytes after the last tensor");
    cr_assert_eq(err.at, (int64_t)b.n - 4);
    cr_assert_eq(log.lines, 1);
    embi_buf_free(&b);
}

/* Fails by its time limit if a list of tensors is searched once for each of them. */
Test(safetensors, a_hundred_thousand_tensors, .timeout = 20)
{
    enum { N = 100000 };
    struct embi_buf json = {0};
    embi_buf_byte(&json, '{');
    for (int i = 0; i < N; i++) /* the last in the header is the first in the data */
        embi_buf_print(&json,
                       "%s\"layer.%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                       i ? "," : "", i, N - 1 - i, N - i);
    embi_buf_byte(&json, '}');
    struct embi_buf b = make(json.s, json.n, N);
    struct embi_reader *r;
    emb_err err;
    cr_assert_eq(open_made(&b, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(r->n_tensors, N);
    cr_assert(embi_str_is(r->tensors[0].name, "layer.0"));
    cr_assert(embi_str_is(r->tensors[77777].name, "layer.77777"));
    cr_assert_eq(r->tensors[77777].offset, 8 + json.n + N - 1 - 77777);
    embi_reader_close(r);
    embi_buf_free(&b);
    embi_buf_free(&json);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

static const float rows32[6] = {1, 2, 3, 4, 5, 6};
static const uint16_t rows16[4] = {1, 2, 3, 4};

Test(safetensors, written_bytes)
{
    static const struct input in[] = {
        {{"w", EMB_F32, 2, {3, 2}}, rows32, 3},
        {{"a \"b\"\n\xC3\xA9", EMB_BF16, 3, {2, 1, 2}}, rows16, 2},
        {{"empty", EMB_F8_E4M3FNUZ, 2, {0, 5}}, NULL, 0},
    };
    const char json[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
        "\"a "
        "\\\"b\\\"\\n\xC3\xA9\":{\"dtype\":\"BF16\",\"shape\":[2,1,2],\"data_offsets\":[24,32]},"
        "\"empty\":{\"dtype\":\"F8_E4M3FNUZ\",\"shape\":[0,5],\"data_offsets\":[32,32]}}";
    struct embi_buf out;
    emb_err err;
    cr_assert_eq(write_file(st, in, 3, 0, &out, &err), EMB_OK, "%s", err.msg);
    size_t n = (strlen(json) + 7) / 8 * 8;
    cr_assert_eq(out.n, 8 + n + 32);
    cr_assert_eq(embi_le64(out.s), n);
    cr_assert_eq(memcmp(out.s + 8, json, strlen(json)), 0, "%.*s", (int)n, out.s + 8);
    for (size_t i = strlen(json); i < n; i++)
        cr_assert_eq(out.s[8 + i], ' ');
    cr_assert_eq(memcmp(out.s + 8 + n, rows32, 24), 0);
    cr_assert_eq(memcmp(out.s + 8 + n + 24, rows16, 8), 0);
    embi_buf_free(&out);
}

Test(safetensors, counts_that_come_late)
{
    static const struct input in[] = {
        {{"w", EMB_F32, 2, {EMB_ROWS_UNKNOWN, 2}}, rows32, 3},
        {{"v", EMB_U16, 1, {4}}, rows16, 4},
        {{"u", EMB_I16, 3, {EMB_ROWS_UNKNOWN, 2, 1}}, rows16, 2},
    };
    const char json[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                        "\"w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
                        "\"v\":{\"dtype\":\"U16\",\"shape\":[4],\"data_offsets\":[24,32]},"
                        "\"u\":{\"dtype\":\"I16\",\"shape\":[2,2,1],\"data_offsets\":[32,40]}} ";
    struct embi_buf out;
    struct embi_reader *r;
    emb_err err;
    cr_assert_eq(write_file(st, in, 3, EMBI_IO_CAN_PATCH, &out, &err), EMB_OK, "%s", err.msg);
    uint64_t n = embi_le64(out.s);
    cr_assert_eq(n % 8, 0);
    cr_assert_eq(out.n, 8 + n + 40);
    cr_assert_eq(memcmp(out.s + 8, json, strlen(json)), 0, "%.*s", (int)n, out.s + 8);
    cr_assert_eq(memcmp(out.s + 8 + n, rows32, 24), 0);
    cr_assert_eq(open_made(&out, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(r->tensors[2].offset, 8 + n + 32);
    embi_reader_close(r);
    embi_buf_free(&out);
}

Test(safetensors, what_cannot_be_written)
{
    static const struct {
        const char *first, *second, *word;
    } names[] = {
        {"a", "a", "two arrays"}, {"a", "\xFF", "UTF-8"}, {"__metadata__", "a", "__metadata__"}};
    for (size_t i = 0; i < EMBI_LEN(names); i++) {
        struct input in[] = {{{names[i].first, EMB_F32, 2, {3, 2}}, rows32, 3},
                             {{names[i].second, EMB_F32, 2, {3, 2}}, rows32, 3}};
        struct embi_buf out;
        emb_err err;
        cr_assert_eq(write_file(st, in, 2, 0, &out, &err), EMB_BAD_ARG);
        cr_assert(strstr(err.msg, names[i].word), "%s", err.msg);
        cr_assert_eq(out.n, 0);
    }
    emb_array array = {"w", EMB_F32, 2, {3, 2}};
    struct embi_sink s = {.format = st, .arrays = &array, .n = 1, .tokens = true};
    emb_err err;
    cr_assert_eq(st->check(&s, &err), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "tokens"), "%s", err.msg);
}
