/* test_ini.c - the lines of files that Amazon's tools are set up by (io/ini.c). What botocore makes
 * of whole files is in tests/remote/s3.py.
 */
#include "io/ini.h"
#include "util/buf.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static emb_status note(void *arg, emb_str section, emb_str group, emb_str key, emb_str value,
                       emb_err *err)
{
    (void)err;
    embi_buf_print(arg, "%.*s|%.*s|%.*s=%.*s;", (int)section.n, section.s, (int)group.n, group.s,
                   (int)key.n, key.s, (int)value.n, value.s);
    return EMB_OK;
}

/* want NULL: the text is refused, for `message`. */
static void check(const char *text, const char *want, const char *message)
{
    struct embi_buf found = {0};
    emb_err err;
    size_t n = strlen(text);
    char *tight = malloc(n ? n : 1); /* so that reading past its end is seen */
    memcpy(tight, text, n);
    emb_status status = embi_ini_walk((emb_str){tight, n}, note, &found, &err);
    cr_assert_eq(status, want ? EMB_OK : EMB_BAD_DATA, "%s", text);
    if (want)
        cr_expect_str_eq(embi_buf_cstr(&found), want, "%s", text);
    else
        cr_expect_str_eq(err.msg, message, "%s", text);
    embi_buf_free(&found);
    free(tight);
}

Test(ini, values)
{
    check("", "", NULL);
    check("[a]\n", "", NULL);
    check("[a]\nk=v", "a||k=v;", NULL);
    check("[a]\r\n k =\tv w \r\n", "a||k=v w;", NULL);
    check("[a]\nk: v=w\nl=x:y\n", "a||k=v=w;a||l=x:y;", NULL);
    check("[a] rest\nk=v\n\n[b c]\nk=w\n", "a||k=v;b c||k=w;", NULL);
    check("# x\n[a]\n  ; y = z\n\tk=v # no comment\n", "a||k=v # no comment;", NULL);
    check("[a]\nk=\n", "a||k=;", NULL);
}

Test(ini, lines_further_in)
{
    check("[a]\ng =\n  k = v\n\n  l: = w\nm = x\n", "a||g=;a|g|k=v;a|g|l:=w;a||m=x;", NULL);
    check("[a]\ng = v\n  anything at all\nk = w\n", "a||g=v;a||k=w;", NULL);
    check("[a]\n  k = v\n  l = w\n", "a||k=v;a||l=w;", NULL);
    check("[a]\ng =\n  [b]\n", NULL, "line 3: expected KEY = VALUE");
}

Test(ini, no_lines_of_it)
{
    check("k = v\n", NULL, "line 1: a key before any [section]");
    check("[a]\n\nsecret\n", NULL, "line 3: expected KEY = VALUE");
    check("[a]\n= v\n", NULL, "line 2: expected KEY = VALUE");
    check("[]\n", NULL, "line 1: expected [section]");
    check("[a\n", NULL, "line 1: expected [section]");
    check("[", NULL, "line 1: expected [section]");
}
