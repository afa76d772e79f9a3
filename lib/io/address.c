/* address.c - see address.h; RFC 3986 section 3.2, RFC 6761 section 6.3 for localhost. */
#include "io/address.h"

#include <strings.h>

emb_str embi_address_host(const char *url)
{
    const char *colons = strstr(url, "://");
    const char *s = colons ? colons + 3 : url;
    size_t n = strcspn(s, "/?#");
    const char *at = memrchr(s, '@', n);
    if (at) {
        n -= (size_t)(at + 1 - s);
        s = at + 1;
    }
    if (n > 0 && s[0] == '[') {
        const char *end = memchr(s, ']', n);
        return (emb_str){s + 1, end ? (size_t)(end - s - 1) : n - 1};
    }
    const char *port = memchr(s, ':', n);
    return (emb_str){s, port ? (size_t)(port - s) : n};
}

static bool is_text(emb_str s, const char *text)
{
    return s.n == strlen(text) && strncasecmp(s.s, text, s.n) == 0;
}

/* 127.a.b.c; a name that only begins so is a name. */
static bool is_ipv4_loopback(emb_str s)
{
    size_t dots = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] != '.' && (s.s[i] < '0' || s.s[i] > '9'))
            return false;
        dots += s.s[i] == '.';
    }
    return dots == 3 && s.n > 4 && memcmp(s.s, "127.", 4) == 0;
}

bool embi_address_is_here(const char *url)
{
    emb_str host = embi_address_host(url);
    return is_text(host, "localhost") || is_text(host, "::1") || is_ipv4_loopback(host);
}

bool embi_address_is_safe(const char *url)
{
    return strncasecmp(url, "https://", 8) == 0 || embi_address_is_here(url);
}
