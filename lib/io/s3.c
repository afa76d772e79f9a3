/* s3.c - s3://bucket/key: the address that an object of S3 has over HTTP, and the keys that its
 * requests are signed with (Signature Version 4, which is the transport's).
 *
 * A bucket is a host of its region; one with dots in its name, which no certificate covers, and any
 * at an endpoint of somebody else's is the first part of a path. Where the region is not the one
 * that was said, S3 says which, and is asked there. Without keys requests are not signed, as public
 * buckets allow.
 */
#include "io/address.h"
#include "io/profile.h"
#include "io/remote.h"
#include "io/schemes.h"
#include "util/buf.h"
#include "util/err.h"

#include <strings.h>

enum { REGION_BYTES = sizeof((struct embi_told){0}.region) };

static const char default_region[] = "us-east-1";

struct object {
    emb_str bucket;
    const char *key;
};

static bool split(const char *url, struct object *o)
{
    const char *s = strstr(url, "://") + 3;
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
    *o = (struct object){{s, n}, s + n + 1};
    return n > 0 && s[n] == '/' && s[n + 1];
}

/* RFC 3986 section 2.3; a slash parts the key and stays. */
static void add_key(struct embi_buf *out, const char *key)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    for (const char *s = key; *s; s++) {
        if (strchr(plain, *s))
            embi_buf_byte(out, *s);
        else
            embi_buf_print(out, "%%%02X", (unsigned)(unsigned char)*s);
    }
}

static void make_address(const struct embi_s3 *s3, const struct object *o, const char *region,
                         struct embi_buf *url)
{
    int n = (int)o->bucket.n;
    const char *end = strncmp(region, "cn-", 3) == 0 ? ".cn" : "";
    if (s3->endpoint)
        embi_buf_print(url, "%.*s/%.*s/", (int)embi_min(strlen(s3->endpoint), INT32_MAX),
                       s3->endpoint, n, o->bucket.s);
    else if (memchr(o->bucket.s, '.', o->bucket.n))
        embi_buf_print(url, "https://s3.%s.amazonaws.com%s/%.*s/", region, end, n, o->bucket.s);
    else
        embi_buf_print(url, "https://%.*s.s3.%s.amazonaws.com%s/", n, o->bucket.s, region, end);
    add_key(url, o->key);
}

/* A region becomes a part of a host's name. */
static bool is_region(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return n > 0 && n < REGION_BYTES && s[n] == 0;
}

static emb_status check(const struct embi_s3 *s3, const char *url, emb_err *err)
{
    const char *endpoint = s3->endpoint;
    if (endpoint && strncasecmp(endpoint, "https://", 8) != 0 &&
        strncasecmp(endpoint, "http://", 7) != 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "the endpoint of S3 is no http:// address");
    if (s3->region && !is_region(s3->region))
        return embi_fail(err, EMB_BAD_ARG, -1, "the region of S3 is none");
    if (!s3->access_key != !s3->secret_key)
        return embi_fail(err, EMB_BAD_ARG, -1, "S3 has two keys, and only the %s one is set",
                         s3->access_key ? "access" : "secret");
    if (s3->access_key && s3->session_token && !embi_address_is_safe(url))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "a session token does not travel over http:// to another machine");
    return EMB_OK;
}

static void keep_region(void *arg, const struct embi_told *told, emb_err *err)
{
    (void)err;
    memcpy(arg, told->region, sizeof told->region);
}

/* `other`: where the bucket is, as S3 says with a refusal, or "". */
static emb_status open_in(const struct embi_env *env, const struct embi_s3 *s3,
                          const struct object *o, const char *region, char other[REGION_BYTES],
                          struct embi_io **io, emb_err *err)
{
    struct embi_buf url = {0}, signing = {0};
    make_address(s3, o, region, &url);
    embi_buf_print(&signing, "aws:amz:%s:s3", region);
    struct embi_address address = {
        .url = embi_buf_cstr(&url), .explain = keep_region, .explain_arg = other};
    if (s3->access_key) {
        address.user = s3->access_key;
        address.password = s3->secret_key;
        address.token = s3->session_token;
        address.signing = embi_buf_cstr(&signing);
    }
    emb_status status = url.failed || signing.failed ? embi_fail_memory(err, 0, "an address")
                                                     : check(s3, address.url, err);
    if (!status)
        status = embi_remote_open(env, &address, io, err);
    embi_buf_free(&signing);
    embi_buf_free(&url);
    if (status == EMB_IO && !s3->access_key && strstr(err->msg, "HTTP 403"))
        embi_fail_in(err, "without keys to sign with");
    return status;
}

static emb_status open_object(const struct embi_env *env, const struct embi_s3 *s3,
                              const struct object *o, struct embi_io **io, emb_err *err)
{
    char other[REGION_BYTES] = "", none[REGION_BYTES];
    const char *region = s3->region ? s3->region : default_region;
    emb_status status = open_in(env, s3, o, region, other, io, err);
    if (status == EMB_IO && is_region(other) && strcmp(other, region) != 0)
        status = open_in(env, s3, o, other, none, io, err);
    return status;
}

static emb_status s3_open(const struct embi_env *env, const char *url, unsigned mode,
                          struct embi_io **io, emb_err *err)
{
    static const struct embi_s3 nothing = {0};
    struct embi_profile profile;
    struct object o;
    if (mode & EMBI_IO_WRITE)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "an address is read, not written");
    if (!split(url, &o))
        return embi_fail(err, EMB_BAD_ARG, -1, "expected s3://bucket/key");
    emb_status status = embi_profile_read(env->s3 ? env->s3 : &nothing, &profile, err);
    if (!status)
        status = open_object(env, &profile.s3, &o, io, err);
    embi_profile_free(&profile);
    return status;
}

const struct embi_scheme embi_scheme_s3 = {.name = "s3", .open = s3_open};
