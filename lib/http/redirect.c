/* redirect.c - where an answer leads to (RFC 9110 section 15.4), and who may be told a secret.
 *
 * libcurl follows nothing by itself here: a token goes to the origin that it is for (RFC 6454
 * section 4: scheme, host and port) whatever the version of libcurl thinks of redirects, and what
 * the first server says of a file is seen as well as what the last one says.
 */
#include "http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { REDIRECTS = 10 };

bool embi_redirects(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool embi_redirect_follow(struct embi_transfer *t)
{
    const char *url = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &url);
    if (!url) {
        (void)snprintf(t->text, sizeof t->text, "HTTP %ld, a redirect to nowhere", t->reply.status);
        return false;
    }
    if (++t->redirects > REDIRECTS) {
        (void)snprintf(t->text, sizeof t->text, "more than %d redirects", REDIRECTS);
        return false;
    }
    char *next = strdup(url);
    free(t->redirect);
    t->redirect = next;
    if (!next)
        (void)snprintf(t->text, sizeof t->text, "no memory for a request");
    return next != NULL;
}

/* One part of an address; NULL: it has none. Freed by curl_free. */
static char *part(CURLU *u, CURLUPart which)
{
    char *text = NULL;
    return curl_url_get(u, which, &text, CURLU_DEFAULT_PORT) == CURLUE_OK ? text : NULL;
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart which)
{
    char *x = part(a, which), *y = part(b, which);
    bool same = x && y && strcasecmp(x, y) == 0;
    curl_free(x);
    curl_free(y);
    return same;
}

static CURLU *parse(const char *url)
{
    CURLU *u = curl_url();
    if (u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK)
        return u;
    curl_url_cleanup(u);
    return NULL;
}

bool embi_same_origin(const char *url, const char *origin)
{
    CURLU *a = parse(url), *b = parse(origin);
    bool same = a && b && same_part(a, b, CURLUPART_SCHEME) && same_part(a, b, CURLUPART_HOST) &&
                same_part(a, b, CURLUPART_PORT);
    curl_url_cleanup(a);
    curl_url_cleanup(b);
    return same;
}

static bool is_here(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (strncmp(host, "127.", 4) == 0 && host[strspn(host, "0123456789.")] == '\0');
}

bool embi_keeps_secrets(const char *url)
{
    CURLU *u = parse(url);
    char *scheme = u ? part(u, CURLUPART_SCHEME) : NULL, *host = u ? part(u, CURLUPART_HOST) : NULL;
    bool keeps = scheme && host && (strcasecmp(scheme, "https") == 0 || is_here(host));
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(u);
    return keeps;
}
