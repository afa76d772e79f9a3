/* test_hub.c - hf:// names in a cache directory laid out as the hub's clients do: refs/NAME holds a
 * commit of 40 hexadecimal digits, snapshots/COMMIT the files.
 */
#include "io_fixture.h"

#include "model/hub.h"
#include "util/err.h"

#define C1 "0123456789abcdef0123456789abcdef01234567"
#define C2 "ffffffffffffffffffffffffffffffffffffffff"

static const struct embi_env here = {.hub = {.cache = ".", .offline = true}}, nowhere = {0};

static void make(const char *command)
{
    cr_assert_eq(system(command), 0, "%s", command);
}

static void make_cache(void)
{
    enter_folder();
    make("mkdir -p models--o--m/refs/refs/pr models--o--m/snapshots/" C1
         " models--o--m/snapshots/" C2 " models--gpt2/refs models--gpt2/snapshots/" C1
         "/sub outside");
    put_file("models--o--m/refs/main", C1);
    put_file("models--o--m/refs/v1", C2 "\n");
    put_file("models--o--m/refs/refs/pr/7", C2);
    put_file("models--o--m/refs/short", "0123");
    put_file("models--o--m/refs/evil", "../../../outside////////////////////////");
    put_file("models--gpt2/refs/main", C1);
    put_file("models--o--m/snapshots/" C1 "/config.json", "{}");
    put_file("models--gpt2/snapshots/" C1 "/sub/x.json", "{}");
}

Test(hub, names)
{
    cr_expect(emb_is_hub_name("hf://o/m"));
    cr_expect(emb_is_hub_name("hf://"));
    cr_expect(!emb_is_hub_name("hf:/o/m"));
    cr_expect(!emb_is_hub_name("./hf://o/m"));
    cr_expect(!emb_is_hub_name(""));
}

Test(hub, found, .init = make_cache, .fini = leave_folder)
{
    static const struct {
        const char *url, *path;
    } cases[] = {
        {"hf://o/m", "./models--o--m/snapshots/" C1},
        {"hf://o/m/", "./models--o--m/snapshots/" C1},
        {"hf://o/m@main", "./models--o--m/snapshots/" C1},
        {"hf://o/m@v1", "./models--o--m/snapshots/" C2},
        {"hf://o/m@" C2, "./models--o--m/snapshots/" C2},
        {"hf://o/m@refs/pr/7", "./models--o--m/snapshots/" C2},
        {"hf://o/m@refs%2Fpr%2F7", "./models--o--m/snapshots/" C2},
        {"hf://o/m/config.json", "./models--o--m/snapshots/" C1 "/config.json"},
        {"hf://o/m@main/config.json", "./models--o--m/snapshots/" C1 "/config.json"},
        {"hf://gpt2", "./models--gpt2/snapshots/" C1},
        {"hf://gpt2@main", "./models--gpt2/snapshots/" C1},
        {"hf://gpt2/sub/x.json", "./models--gpt2/snapshots/" C1 "/sub/x.json"},
        {"hf://gpt2@main/sub/x.json", "./models--gpt2/snapshots/" C1 "/sub/x.json"},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        char *path;
        cr_assert(emb_is_hub_name(cases[i].url));
        cr_assert_eq(embi_hub_open(&here, cases[i].url, &path, &err), EMB_OK, "%s: %s",
                     cases[i].url, err.msg);
        cr_assert_str_eq(path, cases[i].path, "%s", cases[i].url);
        free(path);
    }
    cr_assert_not(emb_is_hub_name("hf:/o/m"));
}

Test(hub, not_found, .init = make_cache, .fini = leave_folder)
{
    static const char *const missing[] = {"hf://o/n",       "hf://none",      "hf://o/m@v2",
                                          "hf://o/m/none",  "hf://o/m@short", "hf://o/m@evil",
                                          "hf://gpt2/none", "hf://o/m@0123"};
    static const char *const no_names[] = {"hf://",
                                           "hf:///m",
                                           "hf://o//x",
                                           "hf://../outside",
                                           "hf://o/..",
                                           "hf://o/m/../../../outside",
                                           "hf://o/m@../../../outside",
                                           "hf://o/m@",
                                           "hf://o/m@/x",
                                           "hf://o/m x",
                                           "hf://o/m/.hidden"};
    char *path;
    for (size_t i = 0; i < EMBI_LEN(missing); i++) {
        cr_assert_eq(embi_hub_open(&here, missing[i], &path, &err), EMB_IO, "%s", missing[i]);
        cr_assert(strstr(err.msg, "not in the hub's cache at ."), "%s", err.msg);
    }
    for (size_t i = 0; i < EMBI_LEN(no_names); i++)
        cr_assert_eq(embi_hub_open(&here, no_names[i], &path, &err), EMB_BAD_ARG, "%s: %s",
                     no_names[i], err.msg);
    cr_assert_eq(embi_hub_open(&nowhere, "hf://o/m", &path, &err), EMB_IO);
}
