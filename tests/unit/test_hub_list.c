/* test_hub_list.c - what the hub answers of a revision, and what its clients keep of it. */
#include "io_fixture.h"

#include "model/hub_list.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define BLOB   "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
#define LFS    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static struct embi_hub_list list;

static emb_status parse(const char *text)
{
    return embi_hub_list_parse(text, strlen(text), &list, &err);
}

static const struct embi_hub_file *find(const char *name)
{
    return embi_hub_list_find(&list, (emb_str){name, strlen(name)});
}

static const char answer[] =
    "{\"id\": \"o/m\", \"sha\": \"" COMMIT "\", \"tags\": [\"siblings\"], \"siblings\": ["
    "{\"rfilename\": \"model.safetensors\", \"size\": 123, \"blobId\": \"" BLOB
    "\", \"lfs\": {\"sha256\": \"" LFS "\", \"size\": 123, \"pointerSize\": 130}},"
    "{\"rfilename\": \"a/b\\u00e9.json\", \"size\": 0, \"blobId\": \"" BLOB "\", \"lfs\": null},"
    "{\"rfilename\": \".gitattributes\", \"size\": 7, \"blobId\": \"" BLOB "\"}]}";

static void check_answer(void)
{
    cr_assert_eq(list.n, 3);
    cr_assert(list.complete);
    cr_assert_str_eq(list.commit, COMMIT);
    const struct embi_hub_file *f = find("model.safetensors");
    cr_assert_not_null(f);
    cr_expect(f->bytes == 123 && strcmp(f->hash, LFS) == 0 && strcmp(f->blob, BLOB) == 0);
    f = find("a/b\xc3\xa9.json");
    cr_assert_not_null(f);
    cr_expect(f->bytes == 0 && strcmp(f->hash, BLOB) == 0);
    cr_expect_not_null(find(".gitattributes"));
    cr_expect_null(find("model.safetensor"));
    cr_expect_null(find("model.safetensorss"));
    cr_expect_null(find(""));
}

Test(hub_list, answer)
{
    cr_assert_eq(parse(answer), EMB_OK, "%s", err.msg);
    check_answer();
    embi_hub_list_free(&list);
}

Test(hub_list, kept_and_found, .init = enter_folder, .fini = leave_folder)
{
    bool found;
    cr_assert_eq(parse(answer), EMB_OK);
    cr_assert_eq(embi_hub_list_write(&env, "folder", &list, &err), EMB_OK, "%s", err.msg);
    embi_hub_list_free(&list);
    cr_assert_eq(embi_hub_list_read(&env, "folder", COMMIT, &list, &found, &err), EMB_OK);
    cr_assert(found);
    check_answer();
    embi_hub_list_free(&list);
    cr_assert_eq(embi_hub_list_read(&env, "none", COMMIT, &list, &found, &err), EMB_OK);
    cr_expect_not(found);
}

/* Lists that huggingface_hub does not take are not taken here. */
Test(hub_list, kept_by_others, .init = enter_folder, .fini = leave_folder)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"format_version\": 2, \"files\": {}}",
        "{\"format_version\": 1, \"files\": {\"a\": {\"size\": 1}}}",
        "{\"format_version\": 1, \"files\": {\"a\": {\"blob_id\": \"" BLOB "\"}}}",
        "{\"format_version\": 1, \"files\": []}",
    };
    bool found;
    cr_assert_eq(system("mkdir -p folder/trees"), 0);
    for (size_t i = 0; i < EMBI_LEN(bad); i++) {
        put_file("folder/trees/" COMMIT ".json", bad[i]);
        cr_assert_eq(embi_hub_list_read(&env, "folder", COMMIT, &list, &found, &err), EMB_OK);
        cr_expect_not(found, "%s", bad[i]);
    }
    put_file("folder/trees/" COMMIT ".json",
             "{\"files\": {\"../a\": {\"size\": 1, \"blob_id\": \"" BLOB "\"},"
             "\"b\": {\"size\": 1, \"blob_id\": \"" BLOB
             "\", \"xet_hash\": \"x\"}}, \"format_version\": 1}");
    cr_assert_eq(embi_hub_list_read(&env, "folder", COMMIT, &list, &found, &err), EMB_OK);
    cr_assert(found);
    cr_expect(list.n == 1 && find("b"));
    embi_hub_list_free(&list);
}

Test(hub_list, without_sizes_and_hashes)
{
    cr_assert_eq(
        parse("{\"siblings\": [{\"rfilename\": \"a\"}, {\"rfilename\": \"b\", \"size\": -1, "
              "\"blobId\": \"no hash\", \"lfs\": {\"sha256\": 5}}], \"sha\": \"" COMMIT "\"}"),
        EMB_OK, "%s", err.msg);
    cr_expect_not(list.complete);
    cr_expect(find("a")->bytes == EMBI_HUB_UNKNOWN && !*find("a")->hash);
    cr_expect(find("b")->bytes == EMBI_HUB_UNKNOWN && !*find("b")->hash);
    embi_hub_list_free(&list);
}

Test(hub_list, names_that_lead_out)
{
    cr_assert_eq(parse("{\"sha\": \"" COMMIT
                       "\", \"siblings\": [{\"rfilename\": \"../a\"}, {\"rfilename\": \"/a\"}, "
                       "{\"rfilename\": \"a/../b\"}, {\"rfilename\": \"a//b\"}, {\"rfilename\": "
                       "\"a/\"}, {\"rfilename\": \"\"}, "
                       "{\"rfilename\": \".\"}, {\"rfilename\": \"a\\\\b\"}, {\"rfilename\": "
                       "\"a\\nb\"}, {\"rfilename\": 5}, "
                       "{\"rfilename\": \"a\\u0000b\"}, {}]}"),
                 EMB_OK, "%s", err.msg);
    cr_expect_eq(list.n, 0);
    embi_hub_list_free(&list);
}

Test(hub_list, no_answers)
{
    static const char *const bad[] = {
        "",
        "<html>",
        "{}",
        "[]",
        "null",
        "{\"sha\": \"" COMMIT "\"}",
        "{\"siblings\": []}",
        "{\"sha\": \"main\", \"siblings\": []}",
        "{\"sha\": \"" COMMIT "\", \"siblings\": {}}",
        "{\"sha\": \"" COMMIT "\", \"siblings\": [5]}",
        "{\"sha\": \"" COMMIT "\", \"siblings\": []} x",
    };
    for (size_t i = 0; i < EMBI_LEN(bad); i++)
        cr_expect_eq(parse(bad[i]), EMB_BAD_DATA, "%s", bad[i]);
}
