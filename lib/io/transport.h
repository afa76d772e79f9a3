/* transport.h - what the HTTP plugin (lib/http) and the library agree on: one struct of functions.
 *
 * The plugin is a shared object of its own, libemb-http.so, that is linked to libcurl; the library
 * and the program are not. It exports one function, EMBI_TRANSPORT_SYMBOL, and imports nothing from
 * the library. This header is all that both sides share, and includes nothing of either.
 *
 * The plugin moves bytes and nothing else: it follows redirects, waits and tries again where that
 * may help, and tells one version of a file from another. What the bytes are for is its caller's.
 */
#ifndef EMBI_IO_TRANSPORT_H
#define EMBI_IO_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/* Grows with every change of a struct: a plugin of another number is not used. */
#define EMBI_TRANSPORT_ABI 3

#define EMBI_TRANSPORT_UNKNOWN UINT64_MAX /* a length that the server does not say */
#define EMBI_TRANSPORT_TEXT    256

/* Which version of a content it is, and for how long that may be believed. */
struct embi_version {
    /* The strong entity tag (RFC 9110 section 8.8.3), quotes included, of these very bytes; ""
     * where the server gave none. */
    char tag[128];
    uint64_t total;    /* bytes of the content */
    int64_t max_age_s; /* by Cache-Control: fresh for so long; -1: it does not say */
    int no_store;      /* by Cache-Control: it must not be kept */
};

struct embi_transport_opts {
    const char *url;     /* http:// or https:// */
    const char *ca_file; /* certificates of authorities in place of the system's, or NULL */
    const char *agent;   /* the program's name and version */
    const char *bearer;  /* a token (RFC 6750) for the origin of url and for no other; or NULL */
    void *beside;        /* a session whose connections this one uses too, or NULL: their requests
                            wait for each other */
    void (*log)(void *arg, const char *line); /* what is done, for -v; may be NULL */
    void *log_arg;
    /* For the origin of the URL alone: sent as they are (Basic, RFC 7617), or, where `signing` says
     * "aws:amz:REGION:s3", used to sign each request, with the session token if there is one. */
    const char *user, *password; /* or NULL, both */
    const char *signing, *token; /* or NULL */
    /* The version that there must be (tag and total count); NULL: what the first answer has. */
    const struct embi_version *version;
    size_t at_once; /* so many requests run at a time, at most; 0: as many as there may be, 16 */
};

/* Bytes first .. first+n-1 of the content; n 0: the whole of it. */
struct embi_get {
    uint64_t first, n;
    /* Takes bytes of the content, which begin at `at`, as they come: a server that knows no ranges
     * sends the whole in place of a range, and what was begun again may come twice. Not 0: no more
     * is wanted. */
    int (*take)(void *arg, uint64_t at, const void *data, size_t n);
    void *arg;
    int whole; /* out: the answer was the whole content */
    /* Is the content still of the version that the session was opened with? The bytes come only
     * where it is not (If-None-Match); the session then is of the new one. One get alone. */
    int check;
    int unchanged; /* out: it is */
};

/* What `get` answers but 0. */
enum { EMBI_GET_FAILED = -1, EMBI_GET_CHANGED = -2 /* it is another version by now */ };

/* What the server of url said with its last answer, before any redirect. "" and
 * EMBI_TRANSPORT_UNKNOWN: nothing. */
struct embi_told {
    long status;               /* of the answer after redirects; 0: there was none */
    char tag[128];             /* of the Hugging Face hub: X-Linked-ETag, else ETag */
    char commit[48], code[48]; /* X-Repo-Commit; X-Error-Code */
    uint64_t bytes;            /* X-Linked-Size */
    char region[32];           /* where a bucket of S3 is: x-amz-bucket-region */
};

struct embi_transport {
    uint32_t abi, size; /* EMBI_TRANSPORT_ABI, sizeof(struct embi_transport) */

    const char *(*about)(void); /* "libcurl/7.88.1 OpenSSL/3.0.17 ..." */

    /* A session is for one URL and one version of what is there. 0, or not: no memory. Calls with
     * one session never run at once. */
    int (*open)(const struct embi_transport_opts *opts, void **session);

    /* Gets all of them, several at a time. The first that succeeds fixes the version that the
     * session is of, and *total, the bytes of its content. 0: every byte was taken. Else one of
     * EMBI_GET_FAILED and EMBI_GET_CHANGED, and `text` says why, in words for the user. */
    int (*get)(void *session, struct embi_get *gets, size_t n, uint64_t *total,
               char text[EMBI_TRANSPORT_TEXT]);

    void (*told)(const void *session, struct embi_told *told);

    /* The version that the session is of, after a get that succeeded. */
    void (*version)(const void *session, struct embi_version *version);

    void (*close)(void *session);
};

/* The function a plugin exports. */
#define EMBI_TRANSPORT_SYMBOL "embi_http_plugin"
typedef const struct embi_transport *embi_http_plugin_fn(void);

#endif
