/* test_index.c - model.safetensors.index.json, and headers that are read when they are needed.
 */
#include "io_fixture.h"

#include "model/weights.h"

static struct embi_weights w;

static emb_status parse_n(const char *text, size_t n)
{
    w = (struct embi_weights){.env = &env};
    return embi_index_parse(text, n, "d", &w, &err);
}

static emb_status parse(const char *text)
{
    return parse_n(text, strlen(text));
}

Test(index, files_and_tensors)
{
    cr_assert_eq(parse("{\"metadata\":{\"total_size\":\"1e3\"},\"weight_map\":{\"a\":\"1.st\","
                       "\"b\\u002ec\":\"2.st\",\"d\":\"1.st\"},\"x\":[NaN]}"),
                 EMB_OK, "%s", err.msg);
    cr_assert(w.n_files == 2 && w.n_tensors == 3);
    cr_assert_str_eq(w.files[0].name, "1.st");
    cr_assert_str_eq(w.files[1].path, "d/2.st");
    cr_assert(embi_str_is(w.tensors[1].name, "b.c") && w.tensors[1].file == 1);
    cr_assert(w.tensors[2].file == 0 && w.tensors[2].at == EMBI_NO_TENSOR);
    cr_assert_eq(embi_weights_find(&w, (emb_str){"d", 1}), 2);
    cr_assert_eq(embi_weights_find(&w, (emb_str){"e", 1}), EMBI_NO_TENSOR);
    embi_weights_free(&w);
}

Test(index, names_that_are_no_files_here)
{
    static const char *const names[] = {"../x", "/x", "a/b", "..", ".", "", "a\\\\b", "x\\u0000y"};
    for (size_t i = 0; i < EMBI_LEN(names); i++) {
        char text[100];
        snprintf(text, sizeof text, "{\"weight_map\":{\"a\":\"%s\"}}", names[i]);
        cr_assert_eq(parse(text), EMB_BAD_DATA, "%s", names[i]);
        cr_assert_eq(err.at, 19, "%s: %s", names[i], err.msg); /* of the name's quote */
        embi_weights_free(&w);
    }
}

Test(index, what_is_no_index)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"weight_map\":{}}",
                                        "{\"weight_map\":[]}",
                                        "{\"weight_map\":{\"a\":1}}",
                                        "{\"weight_map\":{\"a\":{}}}",
                                        "{\"weight_map\":{\"a\":\"x\"}",
                                        "{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}",
                                        "{\"weight_map\":{\"a\":\"x\",\"\\u0061\":\"x\"}}"};
    for (size_t i = 0; i < EMBI_LEN(texts); i++) {
        char *copy = malloc(strlen(texts[i]) + 1); /* exactly, so that a sanitizer sees more */
        memcpy(copy, texts[i], strlen(texts[i]));
        cr_assert_eq(parse_n(copy, strlen(texts[i])), EMB_BAD_DATA, "%s", texts[i]);
        embi_weights_free(&w);
        free(copy);
    }
}

Test(index, many)
{
    struct embi_buf text = {0};
    embi_buf_text(&text, "{\"weight_map\":{");
    for (int i = 0; i < 5000; i++)
        embi_buf_print(&text, "%s\"t%d\":\"%d.st\"", i ? "," : "", i, i / 100);
    embi_buf_text(&text, "}}");
    cr_assert_eq(parse(embi_buf_cstr(&text)), EMB_OK, "%s", err.msg);
    cr_assert(w.n_tensors == 5000 && w.n_files == 50);
    for (size_t i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%zu", i);
        cr_assert(embi_str_is(w.tensors[i].name, name) && w.tensors[i].file == i / 100);
    }
    embi_weights_free(&w);
    embi_buf_free(&text);
}

/* ------------------------------------------------------------------------------------------------
 * Directories
 */

static void put_tensors(const char *path, const char *header, size_t data_bytes)
{
    FILE *f = fopen(path, "w");
    uint64_t n = strlen(header);
    cr_assert_not_null(f);
    cr_assert(fwrite(&n, 8, 1, f) == 1 && fwrite(header, n, 1, f) == 1);
    for (size_t i = 0; i < data_bytes; i++)
        fputc((int)(i % 4 + 1), f);
    cr_assert_eq(fclose(f), 0);
}

#define F32(name, begin, end) \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[" #begin "," #end "]}"

static struct embi_read_opts opts;

static emb_status open_here(void)
{
    return embi_weights_open(&env, ".", &opts, &w, &err);
}

Test(weights, headers_on_demand, .init = enter_folder, .fini = leave_folder)
{
    const struct embi_tensor *t = NULL;
    bool same;
    put_tensors("1.st", "{" F32("a", 0, 8) "," F32("b", 8, 16) "}", 16);
    put_file("model.safetensors.index.json",
             "{\"weight_map\":{\"a\":\"1.st\",\"b\":\"1.st\",\"c\":\"2.st\",\"d\":\"3.st\"}}");
    put_tensors("3.st", "{" F32("x", 0, 8) "}", 8);
    cr_assert_eq(open_here(), EMB_OK, "%s", err.msg); /* 2.st is not there, and nobody asked */
    cr_assert_eq(embi_weights_read(&w, 1, &t, &err), EMB_OK, "%s", err.msg);
    cr_assert(embi_str_is(t->name, "b") && t->shape[0] == 2);
    cr_assert_eq(embi_weights_same(&w, 0, 1, &same, &err), EMB_OK);
    cr_assert(same);
    cr_assert_eq(embi_weights_read(&w, 2, &t, &err), EMB_IO);
    cr_assert(strncmp(err.msg, "2.st: ", 6) == 0, "%s", err.msg);
    cr_assert_eq(embi_weights_read(&w, 3, &t, &err), EMB_BAD_DATA);
    cr_assert(strstr(err.msg, "3.st") && strstr(err.msg, "'d'"), "%s", err.msg);
    cr_assert_neq(embi_weights_read_all(&w, &err), EMB_OK);
    embi_weights_free(&w);
}

Test(weights, the_loaders_order, .init = enter_folder, .fini = leave_folder)
{
    cr_assert_eq(open_here(), EMB_UNSUPPORTED);
    put_file("tf_model.h5", "x");
    cr_assert_eq(open_here(), EMB_UNSUPPORTED);
    cr_assert(strstr(err.msg, "tf_model.h5"), "%s", err.msg);
    put_tensors("other.safetensors", "{" F32("o", 0, 8) "}", 8);
    cr_assert_eq(open_here(), EMB_OK, "%s", err.msg);
    cr_assert(embi_str_is(w.tensors[0].name, "o"));
    embi_weights_free(&w);
    put_tensors("more.safetensors", "{" F32("m", 0, 8) "}", 8);
    cr_assert_eq(open_here(), EMB_UNSUPPORTED);
    put_file("model.safetensors.index.json", "{\"weight_map\":{\"o\":\"other.safetensors\"}}");
    cr_assert_eq(open_here(), EMB_OK, "%s", err.msg);
    cr_assert(w.n_tensors == 1 && w.files[0].reader == NULL);
    embi_weights_free(&w);
    put_tensors("model.safetensors", "{" F32("s", 0, 8) "}", 8);
    cr_assert_eq(open_here(), EMB_OK, "%s", err.msg);
    cr_assert(embi_str_is(w.tensors[0].name, "s"));
    embi_weights_free(&w);
    opts.strict = true;
    cr_assert_eq(open_here(), EMB_BAD_DATA);
}
