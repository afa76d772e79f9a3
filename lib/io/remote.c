/* remote.c - see remote.h: sessions, their failures, and small contents at once. */
#include "io/remote.h"

#include "io/address.h"
#include "io/netrc.h"
#include "util/err.h"

#include <errno.h>
#include <string.h>

enum { NOT_FOUND = 404, GONE = 410 };

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

static void log_line(void *env, const char *line)
{
    embi_log(env, EMB_LOG_DEBUG, NULL, "%s", line);
}

/* What the user's netrc says of the host, for an address that it may travel to. */
static bool find_login(const struct embi_env *env, const struct embi_address *a,
                       struct embi_buf *user, struct embi_buf *password)
{
    return env->netrc && !a->bearer && !a->user && embi_address_is_safe(a->url) &&
           embi_netrc_find(env->netrc, embi_address_host(a->url), user, password) && user->n > 0;
}

static void free_password(struct embi_buf *password)
{
    if (password->n)
        explicit_bzero(password->s, password->n);
    embi_buf_free(password);
}

emb_status embi_remote_begin(const struct embi_env *env, const struct embi_address *address,
                             struct embi_remote *remote, emb_err *err)
{
    struct embi_transport_opts opts = {.url = address->url,
                                       .ca_file = env->ca_file,
                                       .agent = "embtool/" EMB_VERSION,
                                       .bearer = address->bearer,
                                       .user = address->user,
                                       .password = address->password,
                                       .signing = address->signing,
                                       .token = address->token,
                                       .version = address->version,
                                       .at_once = address->at_once,
                                       .log = log_line,
                                       .log_arg = (void *)env};
    struct embi_buf user = {0}, password = {0};
    *remote = (struct embi_remote){.env = env};
    if (!env->transport)
        return embi_fail(err, EMB_DEVICE, -1, "there is no transport for addresses");
    emb_status status = refuse_userinfo(address->url, err);
    if (!status)
        status = env->transport(env, &remote->transport, err);
    if (address->beside)
        opts.beside = address->beside->session;
    if (!status && find_login(env, address, &user, &password)) {
        opts.user = embi_buf_cstr(&user);
        opts.password = embi_buf_cstr(&password);
    }
    if (!status && remote->transport->open(&opts, &remote->session))
        status = embi_fail_memory(err, 0, "a connection");
    embi_buf_free(&user);
    free_password(&password);
    return status;
}

void embi_remote_end(struct embi_remote *remote)
{
    if (remote->session)
        remote->transport->close(remote->session);
    remote->session = NULL;
}

void embi_remote_plain_tag(const char *tag, char plain[128])
{
    size_t n = 0;
    if (strncmp(tag, "W/", 2) == 0)
        tag += 2;
    for (; *tag && n < 127; tag++) {
        bool word = (*tag >= '0' && *tag <= '9') || (*tag >= 'a' && *tag <= 'z') ||
                    (*tag >= 'A' && *tag <= 'Z') || *tag == '-' || *tag == '_';
        if (word)
            plain[n++] = *tag;
        else if (*tag != '"')
            n = 127;
    }
    plain[n < 127 ? n : 0] = '\0';
}

static emb_status check_told(const struct embi_address *a, const struct embi_told *told,
                             emb_err *err)
{
    char tag[128];
    embi_remote_plain_tag(told->tag, tag);
    if (a->commit && *told->commit && strcmp(a->commit, told->commit) != 0)
        return embi_fail(err, EMB_IO, -1, "expected commit %s, the server sends %s", a->commit,
                         told->commit);
    if (a->tag && strlen(tag) == strlen(a->tag) && strcmp(a->tag, tag) != 0)
        return embi_fail(err, EMB_IO, -1, "expected the content %s, the server has %s", a->tag,
                         tag);
    return EMB_OK;
}

emb_status embi_remote_get(const struct embi_remote *r, const struct embi_address *a,
                           struct embi_get *gets, size_t n, uint64_t *total, emb_err *err)
{
    char text[EMBI_TRANSPORT_TEXT];
    struct embi_told told;
    int failed = r->transport->get(r->session, gets, n, total, text);
    if (!failed && !a)
        return EMB_OK;
    r->transport->told(r->session, &told);
    if (!failed)
        return check_told(a, &told, err);
    embi_fail(err, EMB_IO, -1, "%s", text);
    if (told.status == NOT_FOUND || told.status == GONE)
        err->sys = ENOENT;
    if (failed == EMBI_GET_CHANGED)
        err->sys = ESTALE;
    if (a && a->explain)
        a->explain(a->explain_arg, &told, err);
    return EMB_IO;
}

/* ------------------------------------------------------------------------------------------------
 * Small contents
 */

struct reading {
    struct embi_buf *out;
    uint64_t most;
};

static int put(void *arg, uint64_t at, const void *data, size_t n)
{
    const struct reading *r = arg;
    if (at > r->out->n || !embi_inside(at, n, r->most))
        return -1;
    r->out->n = (size_t)at; /* what came before begins anew */
    embi_buf_add(r->out, data, n);
    return r->out->failed;
}

emb_status embi_remote_read(const struct embi_remote *remote, const struct embi_address *address,
                            uint64_t most, struct embi_buf *out, emb_err *err)
{
    struct reading r = {out, most};
    struct embi_get get = {.take = put, .arg = &r};
    uint64_t total;
    emb_status status = embi_remote_get(remote, address, &get, 1, &total, err);
    if (out->failed)
        return embi_fail_memory(err, out->cap, "an answer");
    return status;
}
