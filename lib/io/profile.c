/* profile.c - see profile.h.
 *
 * As botocore does it: the section `[profile NAME]`, or `[default]`, of ~/.aws/config, over whose
 * values those of `[NAME]` of ~/.aws/credentials come. Keys that a profile gets from elsewhere (a
 * role, a login, a program) come before keys that it has, but for a program, which comes after
 * those of ~/.aws/credentials. Such profiles are refused: requests without a signature, or with
 * another's, would only be told to be forbidden.
 */
#include "io/profile.h"

#include "io/fd.h"
#include "io/ini.h"
#include "util/err.h"

#include <strings.h>

enum { NAME_SHOWN = 64 };

static const char default_name[] = "default";

struct reading {
    struct embi_profile *p;
    const char *name;         /* of the profile */
    bool found;               /* there is a section of it */
    bool credentials;         /* the file is the one whose sections have bare names */
    bool has_keys;            /* that file has an access key */
    const char *way;          /* keys come from elsewhere: by what key of the profile, or NULL */
    bool program;             /* by credential_process */
    struct embi_buf services; /* the section of endpoints that it names */
};

/* In any case, as keys are. */
static bool is(emb_str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.s, word, s.n) == 0;
}

/* Is the section "kind name", or 'kind "name"'? */
static bool is_section(emb_str s, const char *kind, const char *name)
{
    size_t n = strlen(kind);
    if (s.n <= n || memcmp(s.s, kind, n) != 0 || (s.s[n] != ' ' && s.s[n] != '\t'))
        return false;
    s = (emb_str){s.s + n, s.n - n};
    while (s.n > 0 && (*s.s == ' ' || *s.s == '\t'))
        s = (emb_str){s.s + 1, s.n - 1};
    if (s.n >= 2 && (*s.s == '"' || *s.s == '\'') && s.s[s.n - 1] == *s.s)
        s = (emb_str){s.s + 1, s.n - 2};
    return embi_str_is(s, name);
}

static bool is_profile(const struct reading *r, emb_str section)
{
    if (r->credentials)
        return embi_str_is(section, r->name);
    return is_section(section, "profile", r->name) ||
           (strcmp(r->name, default_name) == 0 && embi_str_is(section, default_name));
}

static void set(struct embi_buf *to, emb_str value)
{
    to->n = 0;
    embi_buf_add(to, value.s, value.n);
}

/* Where keys come from, if the profile has none of its own. */
static void note_way(struct reading *r, emb_str key)
{
    static const char *const ways[] = {"role_arn", "web_identity_token_file", "sso_session",
                                       "sso_start_url", "login_session"};
    for (size_t i = 0; i < EMBI_LEN(ways); i++)
        if (is(key, ways[i]))
            r->way = ways[i];
    r->program = r->program || is(key, "credential_process");
}

static emb_status take_value(void *arg, emb_str section, emb_str group, emb_str key, emb_str value,
                             emb_err *err)
{
    static const char *const keys[EMBI_PROFILE_VALUES] = {
        "aws_access_key_id", "aws_secret_access_key", "aws_session_token", "region",
        "endpoint_url"};
    struct reading *r = arg;
    (void)err;
    if (!is_profile(r, section) || group.n > 0)
        return EMB_OK;
    r->found = true;
    for (size_t i = 0; i < EMBI_PROFILE_VALUES; i++)
        if (is(key, keys[i]))
            set(&r->p->values[i], value);
    if (is(key, "services"))
        set(&r->services, value);
    r->has_keys = r->has_keys || (r->credentials && is(key, keys[EMBI_PROFILE_ACCESS]));
    note_way(r, key);
    return EMB_OK;
}

/* `endpoint_url` of S3 in a section `[services NAME]`, which comes before that of the profile. */
static emb_status take_service(void *arg, emb_str section, emb_str group, emb_str key,
                               emb_str value, emb_err *err)
{
    struct reading *r = arg;
    (void)err;
    if (is_section(section, "services", embi_buf_cstr(&r->services)) && is(group, "s3") &&
        is(key, "endpoint_url"))
        set(&r->p->values[EMBI_PROFILE_ENDPOINT], value);
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

static emb_status walk(const char *path, embi_ini_fn *fn, struct reading *r, emb_err *err)
{
    struct embi_buf text = {0};
    emb_status status = embi_fd_slurp_small(path, &text, err);
    if (!status)
        status = embi_ini_walk((emb_str){text.s, text.n}, fn, r, err);
    if (text.s)
        explicit_bzero(text.s, text.n);
    embi_buf_free(&text);
    return status ? embi_fail_in(err, "%s", path) : EMB_OK;
}

/* `path`, or the file of that name where the tools look for it; false: neither is known. */
static bool place(const char *path, const struct embi_s3 *given, const char *name,
                  struct embi_buf *out)
{
    if (path)
        embi_buf_print(out, "%s", path);
    else if (given->home)
        embi_buf_print(out, "%s/.aws/%s", given->home, name);
    return out->n > 0;
}

static emb_status read_files(const struct embi_s3 *given, struct reading *r, emb_err *err)
{
    struct embi_buf config = {0}, credentials = {0};
    bool has_config = place(given->config_file, given, "config", &config);
    bool has_credentials = place(given->credentials_file, given, "credentials", &credentials);
    emb_status status =
        config.failed || credentials.failed ? embi_fail_memory(err, 0, "a path") : EMB_OK;
    if (!status && has_config)
        status = walk(embi_buf_cstr(&config), take_value, r, err);
    r->credentials = true;
    if (!status && has_credentials)
        status = walk(embi_buf_cstr(&credentials), take_value, r, err);
    if (!status && has_config && r->services.n > 0)
        status = walk(embi_buf_cstr(&config), take_service, r, err);
    embi_buf_free(&config);
    embi_buf_free(&credentials);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All together
 */

static emb_status check(const struct embi_s3 *given, const struct reading *r, emb_err *err)
{
    bool given_keys = given->access_key || given->secret_key;
    const char *way = r->way ? r->way : r->program && !r->has_keys ? "credential_process" : NULL;
    if (given->profile && !r->found)
        return embi_fail(err, EMB_BAD_ARG, -1, "there is no profile %.*s", NAME_SHOWN, r->name);
    if (way && !given_keys)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "the profile %.*s gets its keys by %s, which is not followed: set "
                         "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN",
                         NAME_SHOWN, r->name, way);
    return EMB_OK;
}

/* A value of the profile, or NULL. */
static char *value(struct embi_profile *p, enum embi_profile_value which)
{
    struct embi_buf *b = &p->values[which];
    return b->n > 0 ? (char *)embi_buf_cstr(b) : NULL;
}

static void fill(struct embi_profile *p)
{
    struct embi_s3 *s3 = &p->s3;
    struct embi_buf *endpoint = &p->values[EMBI_PROFILE_ENDPOINT];
    while (endpoint->n > 0 && endpoint->s[endpoint->n - 1] == '/')
        endpoint->n--;
    if (!s3->access_key && !s3->secret_key) {
        s3->access_key = value(p, EMBI_PROFILE_ACCESS);
        s3->secret_key = value(p, EMBI_PROFILE_SECRET);
        s3->session_token = value(p, EMBI_PROFILE_TOKEN);
    }
    s3->region = s3->region ? s3->region : value(p, EMBI_PROFILE_REGION);
    s3->endpoint = s3->endpoint ? s3->endpoint : value(p, EMBI_PROFILE_ENDPOINT);
}

static emb_status check_memory(const struct embi_profile *p, const struct reading *r, emb_err *err)
{
    bool failed = r->services.failed;
    for (size_t i = 0; i < EMBI_PROFILE_VALUES; i++)
        failed = failed || p->values[i].failed;
    return failed ? embi_fail_memory(err, 0, "a profile") : EMB_OK;
}

emb_status embi_profile_read(const struct embi_s3 *given, struct embi_profile *p, emb_err *err)
{
    struct reading r = {.p = p, .name = given->profile ? given->profile : default_name};
    *p = (struct embi_profile){.s3 = *given};
    emb_status status = read_files(given, &r, err);
    if (!status)
        status = check(given, &r, err);
    if (!status)
        fill(p);
    if (!status)
        status = check_memory(p, &r, err);
    embi_buf_free(&r.services);
    return status;
}

void embi_profile_free(struct embi_profile *p)
{
    for (size_t i = 0; i < EMBI_PROFILE_VALUES; i++) {
        if (p->values[i].s)
            explicit_bzero(p->values[i].s, p->values[i].n);
        embi_buf_free(&p->values[i]);
    }
}
