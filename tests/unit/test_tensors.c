/* test_tensors.c - what emb_tensors_list finds in files and directories that were made by hand. */
#include "model_dir.h"

static emb_ctx *ctx;
static emb_tensors found;
static emb_err err;

static void enter(void)
{
    enter_dir();
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
}

static void leave(void)
{
    emb_tensors_free(&found);
    emb_ctx_free(ctx);
    leave_dir();
}

TestSuite(tensors, .init = enter, .fini = leave);

static emb_status list(const char *url)
{
    emb_tensors_free(&found);
    return emb_tensors_list(ctx, url, NULL, &found, &err);
}

/* One line of the list as text: name type [shape] bytes file role. */
static void line(char text[256], const emb_tensor_info *t)
{
    struct embi_buf b = {0};
    embi_buf_print(&b, "%.*s %s [", t->name.s ? (int)t->name.n : 1, t->name.s ? t->name.s : "-",
                   t->dtype);
    for (int i = 0; i < t->ndim; i++)
        embi_buf_print(&b, "%s%llu", i ? "," : "", (unsigned long long)t->shape[i]);
    embi_buf_print(&b, "] %llu %s %s", (unsigned long long)t->bytes, t->file,
                   t->role ? t->role : "-");
    cr_assert_lt(b.n, 256);
    memcpy(text, embi_buf_cstr(&b), b.n + 1);
    embi_buf_free(&b);
}

/* url lists exactly these n lines. */
static void lists(const char *url, const char *const *want, size_t n)
{
    char text[256];
    cr_assert_eq(list(url), EMB_OK, "%s: %s", url, err.msg);
    cr_assert_eq(found.n, n, "%s: %zu tensors", url, found.n);
    for (size_t i = 0; i < n; i++) {
        line(text, &found.list[i]);
        cr_expect_str_eq(text, want[i]);
    }
}

#define LISTS(url, ...)                            \
    lists(url, (const char *const[]){__VA_ARGS__}, \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A safetensors file of any header; the data are zeros. */
static void put_header(const char *name, const char *header, size_t data)
{
    struct embi_buf b = {0};
    uint64_t n = strlen(header);
    embi_buf_add(&b, &n, 8);
    embi_buf_text(&b, header);
    for (size_t i = 0; i < data; i++)
        embi_buf_byte(&b, 0);
    fixture_put(name, b.s, b.n);
    embi_buf_free(&b);
}

Test(tensors, types_shapes_and_names)
{
    put_header(
        "x.safetensors",
        "{\"model.embed_tokens.weight\":{\"dtype\":\"BF16\",\"shape\":[3,2],\"data_offsets\":"
        "[0,12]},\"a\":{\"dtype\":\"F4\",\"shape\":[2,4],\"data_offsets\":[12,16]},\"b\":{"
        "\"dtype\":\"C64\",\"shape\":[],\"data_offsets\":[16,24]},\"lm_head.weight\":{"
        "\"dtype\":\"F8_E4M3\",\"shape\":[3,2],\"data_offsets\":[24,30]},\"e\":{\"dtype\":"
        "\"I64\",\"shape\":[0,2,1],\"data_offsets\":[30,30]}}",
        30);
    LISTS("x.safetensors", "model.embed_tokens.weight bf16 [3,2] 12 x.safetensors embedding",
          "a F4 [2,4] 4 x.safetensors -", "b C64 [] 8 x.safetensors -",
          "lm_head.weight f8_e4m3 [3,2] 6 x.safetensors head", "e i64 [0,2,1] 0 x.safetensors -");
    LISTS("x.safetensors#b", "b C64 [] 8 x.safetensors -");
    cr_expect_eq(list("x.safetensors#c"), EMB_BAD_ARG);
    cr_expect_str_eq(err.msg, "no tensor 'c' among the 5");
    put_header("none.safetensors", "{}", 0);
    cr_assert_eq(list("none.safetensors"), EMB_OK, "%s", err.msg);
    cr_expect_eq(found.n, 0);
}

static const struct fixture_tensor embed[] = {{"model.embed_tokens.weight", 3, 2, 0, NULL},
                                              {"model.norm.weight", 2, 0, 0, NULL}};
static const struct fixture_tensor head[] = {{"lm_head.weight", 3, 2, 1, NULL},
                                             {"extra", 1, 0, 0, NULL}};

/* Shards by name, whatever the order in the index, with the tensors that it lacks. */
Test(tensors, a_model_of_shards)
{
    fixture_text("config.json", "{\"model_type\": \"llama\", \"vocab_size\": 3}");
    fixture_weights("model-1.safetensors", embed, 2);
    fixture_weights("model-2.safetensors", head, 2);
    fixture_text("model.safetensors.index.json",
                 "{\"metadata\": {}, \"weight_map\": {\"lm_head.weight\": \"model-2.safetensors\", "
                 "\"model.embed_tokens.weight\": \"model-1.safetensors\", \"model.norm.weight\": "
                 "\"model-1.safetensors\"}}");
    LISTS(dir, "model.embed_tokens.weight f32 [3,2] 24 model-1.safetensors embedding",
          "model.norm.weight f32 [2] 8 model-1.safetensors -",
          "lm_head.weight f32 [3,2] 24 model-2.safetensors head",
          "extra f32 [1] 4 model-2.safetensors -");
    LISTS("model-2.safetensors", "lm_head.weight f32 [3,2] 24 model-2.safetensors head",
          "extra f32 [1] 4 model-2.safetensors -");
    cr_assert_eq(unlink("model-2.safetensors"), 0);
    cr_expect_eq(list(dir), EMB_IO);
    cr_expect(strstr(err.msg, "model-2.safetensors"));
    cr_expect_eq(found.n, 0);
}

/* No model: each file that has a header, and nothing else. */
Test(tensors, a_directory_of_files)
{
    static const char npy[] = "\x93NUMPY\x01\x00\x47\x00{'descr': '<c8', 'fortran_order': False, "
                              "'shape': (1, 2), }           \n0123456789abcdef";
    fixture_weights("b.safetensors", head, 2);
    fixture_weights("a.safetensors", embed, 1);
    fixture_weights(".hidden.safetensors", embed, 1);
    fixture_put("c.npy", npy, sizeof npy - 1);
    fixture_text("words.txt", "cat 1 2\ndog 3 4\n");
    fixture_text("training.bin", "no weights at all");
    cr_assert_eq(mkdir("d.npy", 0755), 0);
    LISTS(dir, "model.embed_tokens.weight f32 [3,2] 24 a.safetensors embedding",
          "lm_head.weight f32 [3,2] 24 b.safetensors head", "extra f32 [1] 4 b.safetensors -",
          "- <c8 [1,2] 16 c.npy -");
    fixture_text("broken.safetensors", "\x05\0\0\0\0\0\0\0{");
    cr_expect_eq(list(dir), EMB_BAD_DATA);
    cr_expect(strncmp(err.msg, "broken.safetensors: ", 20) == 0, "%s", err.msg);
}

Test(tensors, nothing_to_list)
{
    cr_expect_eq(list(dir), EMB_UNSUPPORTED);
    cr_expect(strstr(err.msg, "is a directory without weights"), "%s", err.msg);
    cr_expect_eq(list("nowhere"), EMB_IO);
    fixture_text("x", "what is this?");
    cr_expect_eq(list("x"), EMB_UNSUPPORTED);
}

/* Formats with one table; a header that says the rows is believed where they can be there. */
Test(tensors, tables_without_names)
{
    fixture_text("w.txt", "cat 1 2\ndog 3 4\nfox 5 6\n");
    LISTS("w.txt", "- f32 [3,2] 24 w.txt embedding");
    fixture_put("w.bin", "2 1\ncat \0\0\x80\x3f\ndog \0\0\0\x40\n", 22);
    LISTS("w.bin", "- f32 [2,1] 8 w.bin embedding");
    fixture_put("w.bin", "9 1\ncat \0\0\x80\x3f\ndog \0\0\0\x40\n", 22);
    cr_expect_eq(list("w.bin"), EMB_BAD_DATA);
    cr_expect(strstr(err.msg, "9 rows"), "%s", err.msg);
    cr_expect_eq(list("w.txt#x"), EMB_BAD_ARG);
    emb_open_opts opts = {.size = sizeof opts,
                          .format = "raw",
                          .raw_dims = 3,
                          .raw_offset = 4,
                          .input_dtype = EMB_F16};
    fixture_put("r", "0123abcdefghijkl", 16);
    cr_assert_eq(emb_tensors_list(ctx, "r", &opts, &found, &err), EMB_OK, "%s", err.msg);
    char text[256];
    line(text, &found.list[0]);
    cr_expect_str_eq(text, "- f16 [2,3] 12 r embedding");
}

/* Only bytes would tell whether one is a copy of the other. */
Test(tensors, which_of_two_is_the_table)
{
    const struct fixture_tensor two[] = {{"a.embed_tokens.weight", 3, 2, 0, NULL},
                                         {"b.embed_tokens.weight", 3, 2, 0, NULL}};
    fixture_weights("x.safetensors", two, 2);
    LISTS("x.safetensors", "a.embed_tokens.weight f32 [3,2] 24 x.safetensors -",
          "b.embed_tokens.weight f32 [3,2] 24 x.safetensors -");
    emb_table *table;
    emb_table_info info;
    cr_assert_eq(emb_table_open(ctx, "x.safetensors", NULL, &table, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(emb_table_describe(table, &info, &err), EMB_OK);
    cr_expect_str_eq(info.tensor, "a.embed_tokens.weight");
    emb_table_close(table);
}

/* What the format of a table is like, which programs ask instead of its name. */
Test(tensors, what_a_format_is_like)
{
    static const struct {
        const char *file;
        bool text, word_rows;
    } cases[] = {{"w.txt", true, true}, {"w.bin", false, true}, {"x.safetensors", false, false}};
    const struct fixture_tensor one = {"embed_tokens.weight", 3, 2, 0, NULL};
    fixture_text("w.txt", "cat 1 2\ndog 3 4\n");
    fixture_put("w.bin", "2 1\ncat \0\0\x80\x3f\ndog \0\0\0\x40\n", 22);
    fixture_weights("x.safetensors", &one, 1);
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        emb_table *table;
        emb_table_info info;
        cr_assert_eq(emb_table_open(ctx, cases[i].file, NULL, &table, &err), EMB_OK, "%s", err.msg);
        cr_assert_eq(emb_table_describe(table, &info, &err), EMB_OK, "%s", err.msg);
        cr_expect_eq(info.text, cases[i].text, "%s", cases[i].file);
        cr_expect_eq(info.word_rows, cases[i].word_rows, "%s", cases[i].file);
        emb_table_close(table);
    }
}
