/* http.h - what the files of the HTTP plugin share: a session, a request of it, and its answer.
 *
 * curl/curl.h is seen here only. Nothing of libemb is called.
 */
#ifndef EMBI_HTTP_HTTP_H
#define EMBI_HTTP_HTTP_H

#include "io/transport.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>

/* The head of an answer: of the last one, where redirects came before it. */
struct embi_reply {
    long status;
    bool has_range;              /* of Content-Range: */
    uint64_t first, last;        /* "bytes first-last/total"; last < first: "bytes * /total" */
    uint64_t total;              /* or EMBI_TRANSPORT_UNKNOWN */
    uint64_t length;             /* Content-Length, or EMBI_TRANSPORT_UNKNOWN */
    bool encoded;                /* Content-Encoding says that the content was packed for the way */
    char tag[128], modified[64]; /* ETag and Last-Modified, as they were sent; "" */
    char linked[128];            /* X-Linked-ETag */
    uint64_t linked_bytes;       /* X-Linked-Size, or EMBI_TRANSPORT_UNKNOWN */
    char commit[48], code[48];   /* X-Repo-Commit, X-Error-Code */
    char region[32];             /* x-amz-bucket-region */
    int64_t max_age_s;           /* of Cache-Control; -1: not said */
    uint64_t age_s;              /* Age */
    bool no_store;
};

/* Of which nothing was read yet. */
struct embi_reply embi_reply_none(void);

/* Takes one line of a head; libcurl's CURLOPT_HEADERFUNCTION. */
size_t embi_reply_header(char *line, size_t size, size_t n, void *reply);

/* The connections of one or more sessions, which end with the last of them. */
struct embi_link {
    CURLM *multi;
    pthread_mutex_t lock; /* of all of it */
    size_t users;
};

struct embi_session {
    struct embi_transport_opts opts; /* strings are the session's own */
    char *target;                    /* where redirects led to: asked from then on; or NULL */
    struct embi_link *link;
    bool has_secrets; /* for the origin of the URL */
    bool has_token;   /* that may not be seen on the way there, as signatures may */
    /* Lines of each request: [with what is for the origin of the URL alone] [If-None-Match]. */
    struct curl_slist *headers[2][2];
    struct embi_told told;
    bool given; /* the caller knows the version; then every answer must say the same tag */
    bool known; /* the version and the total are: */
    char tag[128], modified[64];
    uint64_t total;
    bool encoded; /* what came was packed for the way: the tag is of the packed bytes */
    int64_t max_age_s;
    bool no_store;
};

/* A request while it runs, with what was tried before. */
struct embi_transfer {
    struct embi_session *session;
    struct embi_get *get;
    CURL *easy;
    struct embi_reply reply;
    uint64_t at;       /* the next byte of the content that is wanted */
    bool ranged;       /* what runs asks for a range */
    bool by_target;    /* and asks where an earlier request was redirected to */
    char *redirect;    /* where this one was; or NULL */
    int redirects;     /* how often */
    bool plain;        /* ranges are of no use here: the whole is asked for */
    bool judged, good; /* the head of the answer was looked at; its body is content */
    uint64_t furthest; /* `at`, at its most */
    bool progress;     /* it moved since the request began */
    bool ended;        /* the answer is not what it says, or nobody wants it: `text` says so */
    bool changed;      /* and that since it is of another version */
    char fault[48];    /* in the page of an error: S3's word for it */
    int failures;      /* in a row, without progress between them */
    int all_failures;
    int64_t begin_ms; /* when it may begin: after a failure that is later */
    char error[CURL_ERROR_SIZE];
    char text[EMBI_TRANSPORT_TEXT];
};

enum embi_outcome { EMBI_HTTP_DONE, EMBI_HTTP_AGAIN, EMBI_HTTP_FAILED };

/* Readies t->easy for what is still wanted. false: no memory. */
bool embi_transfer_prepare(struct embi_transfer *t);
/* What came of it, and what is next; where it begins again, t->begin_ms says when. */
enum embi_outcome embi_transfer_finish(struct embi_transfer *t, CURLcode code);

/* Frees what a transfer has but its CURL. */
void embi_transfer_end(struct embi_transfer *t);

/* redirect.c: is the status one that leads elsewhere? Then: the next request of t goes there; false
 * where it may not, and t->text says why. */
bool embi_redirects(long status);
bool embi_redirect_follow(struct embi_transfer *t);
/* Would a request for url go to the scheme, host and port of `origin`? */
bool embi_same_origin(const char *url, const char *origin);
/* May a secret go there: by https, or to this machine? */
bool embi_keeps_secrets(const char *url);

int64_t embi_http_now_ms(void);

/* embi_transport.get */
int embi_http_get(void *session, struct embi_get *gets, size_t n, uint64_t *total,
                  char text[EMBI_TRANSPORT_TEXT]);

#endif
