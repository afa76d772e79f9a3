/* hub_ask.c - see hub_ask.h.
 *
 * ENDPOINT/api/models/REPO/revision/REVISION says what a revision is, ENDPOINT/REPO/resolve/COMMIT/
 * FILE leads to a file. A refusal has a word for it in X-Error-Code; one without that word and with
 * 401 means the same to who asks without a token: no such model, or not for everyone.
 */
#include "model/hub_ask.h"

#include "util/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define DEFAULT_ENDPOINT "https://huggingface.co"
#define ANSWER_MOST      (UINT64_C(64) << 20)

enum { TOKEN_MOST = 4096 };

/* ------------------------------------------------------------------------------------------------
 * Who asks
 */

/* The first word, where all of it can stand in a header. */
static void take_token(struct embi_buf *token, const char *s, size_t n)
{
    static const char blanks[] = " \t\r\n";
    while (n > 0 && memchr(blanks, *s, 4)) {
        s++;
        n--;
    }
    while (n > 0 && memchr(blanks, s[n - 1], 4))
        n--;
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~')
            return;
    embi_buf_add(token, s, n);
}

static void read_token(struct embi_buf *token, const char *path)
{
    char text[TOKEN_MOST];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    if (n > 0 && n < TOKEN_MOST)
        take_token(token, text, (size_t)n);
    explicit_bzero(text, sizeof text);
}

static emb_status take_endpoint(struct embi_buf *endpoint, const char *text, emb_err *err)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '/')
        n--;
    if (strncasecmp(text, "https://", 8) != 0 && strncasecmp(text, "http://", 7) != 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "HF_ENDPOINT: expected http:// or https://");
    embi_buf_add(endpoint, text, n);
    embi_buf_cstr(endpoint);
    return EMB_OK;
}

emb_status embi_hub_asker_begin(struct embi_hub_asker *a, const struct embi_env *env,
                                const struct embi_hub_name *name, emb_err *err)
{
    const struct embi_hub_env *hub = &env->hub;
    *a = (struct embi_hub_asker){.env = env};
    emb_status status =
        take_endpoint(&a->endpoint, hub->endpoint ? hub->endpoint : DEFAULT_ENDPOINT, err);
    if (status)
        return status;
    if (hub->token)
        take_token(&a->token, hub->token, strlen(hub->token));
    else if (hub->token_file)
        read_token(&a->token, hub->token_file);
    embi_buf_cstr(&a->token);
    if (name->org.n)
        embi_buf_print(&a->repo, "%.*s/", (int)name->org.n, name->org.s);
    embi_buf_add(&a->repo, name->model.s, name->model.n);
    embi_buf_cstr(&a->repo);
    if (a->endpoint.failed || a->token.failed || a->repo.failed)
        return embi_fail_memory(err, a->endpoint.n, "an address");
    return embi_remote_begin(env, &(struct embi_address){.url = a->endpoint.s}, &a->link, err);
}

void embi_hub_asker_free(struct embi_hub_asker *a)
{
    embi_remote_end(&a->link);
    if (a->token.s)
        explicit_bzero(a->token.s, a->token.n);
    embi_buf_free(&a->token);
    embi_buf_free(&a->endpoint);
    embi_buf_free(&a->repo);
}

/* ------------------------------------------------------------------------------------------------
 * Refusals
 */

enum { UNAUTHORIZED = 401, FORBIDDEN = 403, NOT_FOUND = 404 };

static bool is_no_model(const struct embi_hub_question *q, const struct embi_told *told)
{
    if (*told->code)
        return strcmp(told->code, "RepoNotFound") == 0;
    return told->status == UNAUTHORIZED || (told->status == NOT_FOUND && !q->file);
}

static const char *advice(const struct embi_hub_question *q)
{
    return q->asker->token.n ? "the token that was sent may not read it"
                             : "set HF_TOKEN to a token that may read it";
}

static void explain(void *arg, const struct embi_told *told, emb_err *err)
{
    const struct embi_hub_question *q = arg;
    const char *repo = q->asker->repo.s, *endpoint = q->asker->endpoint.s;
    if (strcmp(told->code, "GatedRepo") == 0)
        embi_fail(err, EMB_IO, -1, "%s is not for everyone: ask for access at %s/%s; %s", repo,
                  endpoint, repo, advice(q));
    else if (strcmp(told->code, "RevisionNotFound") == 0)
        embi_fail(err, EMB_IO, -1, "%s has no revision %.*s", repo, (int)q->revision.n,
                  q->revision.s);
    else if (is_no_model(q, told))
        embi_fail(err, EMB_IO, -1, "%s has no model %s, or it is not for everyone: %s", endpoint,
                  repo, advice(q));
    else if (told->status == NOT_FOUND && q->file)
        embi_fail(err, EMB_IO, -1, "%s has no file %s", repo, q->file);
    else if (told->status == FORBIDDEN)
        embi_fail_in(err, "%s refuses %s; %s", endpoint, repo, advice(q));
    else
        embi_fail_in(err, "%s", endpoint);
    err->sys = 0;
}

/* ------------------------------------------------------------------------------------------------
 * Questions
 */

/* Percent-encoded (RFC 3986 section 2.1), but for slashes where they part names. What is encoded
 * already, as %2F in a revision is, stays. */
static void add_encoded(struct embi_buf *url, const char *s, size_t n, bool slashes)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (size_t i = 0; i < n; i++) {
        bool encoded = !slashes && n - i >= 3 && strncasecmp(s + i, "%2F", 3) == 0;
        if (encoded || (s[i] == '/' && slashes) || (s[i] && strchr(plain, s[i])))
            embi_buf_byte(url, s[i]);
        else
            embi_buf_print(url, "%%%02X", (unsigned char)s[i]);
    }
}

static emb_status finish(struct embi_hub_question *q, emb_err *err)
{
    const char *url = embi_buf_cstr(&q->url);
    if (q->url.failed)
        return embi_fail_memory(err, q->url.n, "an address");
    q->address.url = url;
    q->address.bearer = q->asker->token.n ? q->asker->token.s : NULL;
    q->address.beside = &q->asker->link;
    q->address.explain = explain;
    q->address.explain_arg = q;
    return EMB_OK;
}

/* Does what failed mean that there is no model of that name? */
struct refused {
    struct embi_hub_question q;
    bool no_model;
};

static void explain_revision(void *arg, const struct embi_told *told, emb_err *err)
{
    struct refused *r = arg;
    r->no_model = is_no_model(&r->q, told);
    explain(&r->q, told, err);
}

emb_status embi_hub_ask_revision(const struct embi_hub_asker *a, emb_str revision,
                                 struct embi_hub_list *list, bool *no_model, emb_err *err)
{
    struct refused r = {.q = {.asker = a, .revision = revision}};
    struct embi_remote remote = {0};
    struct embi_buf answer = {0};
    embi_buf_print(&r.q.url, "%s/api/models/%s/revision/", a->endpoint.s, a->repo.s);
    add_encoded(&r.q.url, revision.s, revision.n, false);
    embi_buf_text(&r.q.url, "?blobs=true");
    emb_status status = finish(&r.q, err);
    r.q.address.explain = explain_revision;
    r.q.address.explain_arg = &r;
    if (!status)
        status = embi_remote_begin(a->env, &r.q.address, &remote, err);
    if (!status)
        status = embi_remote_read(&remote, &r.q.address, ANSWER_MOST, &answer, err);
    if (!status && (status = embi_hub_list_parse(answer.s, answer.n, list, err)) != EMB_OK)
        embi_fail_in(err, "the answer of %s", a->endpoint.s);
    *no_model = r.no_model;
    embi_remote_end(&remote);
    embi_buf_free(&answer);
    embi_buf_free(&r.q.url);
    return status;
}

emb_status embi_hub_ask_file(const struct embi_hub_asker *a, const char *commit,
                             const struct embi_hub_file *file, struct embi_hub_question *q,
                             emb_err *err)
{
    *q = (struct embi_hub_question){.asker = a, .file = file->name};
    embi_buf_print(&q->url, "%s/%s/resolve/%s/", a->endpoint.s, a->repo.s, commit);
    add_encoded(&q->url, file->name, strlen(file->name), true);
    q->address.commit = commit;
    q->address.tag = *file->hash ? file->hash : NULL;
    return finish(q, err);
}
