/* http.c - http:// and https://: which addresses are taken, and who one is to their servers.
 */
#include "io/address.h"
#include "io/far.h"
#include "io/netrc.h"
#include "io/schemes.h"
#include "util/err.h"

#include <stdlib.h>

static void free_secret(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}

void embi_far_auth_free(struct embi_far_auth *auth)
{
    free(auth->user);
    free(auth->signing);
    free_secret(auth->password);
    free_secret(auth->token);
    *auth = (struct embi_far_auth){0};
}

/* A name and password before the host would be shown by whatever shows the address. */
static emb_status refuse_userinfo(const char *url, emb_err *err)
{
    const char *host = strstr(url, "://") + 3;
    size_t n = strcspn(host, "/?#");
    return memchr(host, '@', n)
               ? embi_fail(err, EMB_UNSUPPORTED, -1,
                           "a name or password in an address is not sent: it would "
                           "be shown to everyone who sees the address")
               : EMB_OK;
}

/* What the user's netrc says of the host, for an address that it may travel to. */
static emb_status find_login(const struct embi_env *env, const char *url,
                             struct embi_far_auth *auth, emb_err *err)
{
    struct embi_buf user = {0}, password = {0};
    bool found = env->netrc && embi_address_is_safe(url) &&
                 embi_netrc_find(env->netrc, embi_address_host(url), &user, &password);
    emb_status status = EMB_OK;
    if (found && *embi_buf_cstr(&user)) {
        embi_buf_cstr(&password);
        *auth = (struct embi_far_auth){.user = user.s, .password = password.s};
        if (user.failed || password.failed)
            status = embi_fail_memory(err, 0, "a password");
        user = password = (struct embi_buf){0};
    }
    if (password.n)
        explicit_bzero(password.s, password.n);
    embi_buf_free(&user);
    embi_buf_free(&password);
    return status;
}

static emb_status http_open(const struct embi_env *env, const char *url, unsigned mode,
                            struct embi_io **io, emb_err *err)
{
    struct embi_far_auth auth = {0};
    char region[EMBI_TRANSPORT_REGION];
    if (mode & EMBI_IO_WRITE)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "an address is read, not written");
    emb_status status = refuse_userinfo(url, err);
    if (!status)
        status = find_login(env, url, &auth, err);
    if (!status)
        status = embi_far_open(env, url, &auth, region, io, err);
    embi_far_auth_free(&auth);
    return status;
}

const struct embi_scheme embi_scheme_http = {.name = "http", .open = http_open};
