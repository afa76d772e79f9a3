/* Names and passwords for hosts (io/netrc.c), and which addresses may be sent one (io/address.c). What others make of the
 * same texts is in tests/remote/logins.py. */
#include "io/address.h"
#include "io/netrc.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *text, const char *user, const char *password)
{
    struct embi_buf u = {0}, p = {0};
    size_t n = strlen(text);
    char *exact = malloc(n + 1); /* so that reading past its end is seen */
    memcpy(exact, text, n);
    char *tight = realloc(exact, n ? n : 1);
    bool found = embi_netrc_parse((emb_str){tight, n}, (emb_str){"host", 4}, &u, &p);
    cr_assert_eq(found, user != NULL, "%s", text);
    if (found) {
        cr_assert_str_eq(embi_buf_cstr(&u), user, "%s", text);
        cr_assert_str_eq(embi_buf_cstr(&p), password, "%s", text);
    }
    embi_buf_free(&u);
    embi_buf_free(&p);
    free(tight);
}

Test(netrc, entries)
{
    check("machine host login a password b", "a", "b");
    check("machine\nHOST\nlogin\na\npassword\nb\n", "a", "b");
    check("machine host password b login a", "a", "b");
    check("machine host login a", "a", "");
    check("machine host password b", NULL, NULL);
    check("machine hos login a password b", NULL, NULL);
    check("machine hosts login a password b", NULL, NULL);
    check("machine x login c password d machine host login a password b", "a", "b");
    check("machine host login a password b machine host login c password d", "a", "b");
    check("default login a password b", "a", "b");
    check("default login a password b machine host login c password d", "a", "b");
    check("machine x login c password d default login a password b", "a", "b");
    check("machine host account x login a password b", "a", "b");
    check("machine host login login password password", "login", "password");
    check("machine machine login a password b", NULL, NULL);
}

Test(netrc, quotes_comments_macros)
{
    check("machine host login \"a b\" password \"c\\\"d\\\\e\\n\"", "a b", "c\"d\\e\n");
    check("machine host login \"a", "a", "");
    check("machine host login \"a\\", "a\\", "");
    check("# machine host login x password y\nmachine host login a password b", "a", "b");
    check("machine host login a password p#q", "a", "p#q");
    check("  # all of it", NULL, NULL);
    check("macdef m\nmachine host login x password y\n\nmachine host login a password b", "a", "b");
    check("macdef m\nmachine host login x password y", NULL, NULL);
    check("macdef m\r\nmachine host login x password y\r\n\r\nmachine host login a password b", "a",
          "b");
    check("macdef", NULL, NULL);
    check("", NULL, NULL);
    check("\n\n", NULL, NULL);
    check("machine", NULL, NULL);
    check("machine host login", NULL, NULL);
}

/* By RFC 3986; what is not https may be this machine alone. */
Test(address, where_secrets_may_go)
{
    static const struct {
        const char *url, *host;
        bool safe;
    } cases[] = {
        {"https://host/x", "host", true},
        {"HTTPS://host:1/x", "host", true},
        {"http://host/x", "host", false},
        {"http://localhost:80/x", "localhost", true},
        {"http://LOCALHOST", "LOCALHOST", true},
        {"http://127.0.0.1:8/x@y", "127.0.0.1", true},
        {"http://127.1.2.3?x", "127.1.2.3", true},
        {"http://[::1]:80/x", "::1", true},
        {"http://[::2]/x", "::2", false},
        {"http://127.0.0.1.evil.com/", "127.0.0.1.evil.com", false},
        {"http://127.0.0.1@evil.com/", "evil.com", false},
        {"http://evil.com/@127.0.0.1", "evil.com", false},
        {"http://localhost.evil.com", "localhost.evil.com", false},
        {"http://127.evil", "127.evil", false},
        {"http://1127.0.0.1", "1127.0.0.1", false},
        {"http:///x", "", false},
        {"http://[", "", false},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        emb_str host = embi_address_host(cases[i].url);
        cr_assert(embi_str_is(host, cases[i].host), "%s", cases[i].url);
        cr_assert_eq(embi_address_is_safe(cases[i].url), cases[i].safe, "%s", cases[i].url);
    }
}
