/* http.h - what the files of the HTTP plugin share: a session, a request of it, and its answer.
 *
 * curl/curl.h is seen here only. Nothing of libemb is called.
 */
#ifndef EMBI_HTTP_HTTP_H
#define EMBI_HTTP_HTTP_H

#include "io/transport.h"

#include <curl/curl.h>
#include <stdbool.h>

/* The head of an answer: of the last one, where redirects came before it. */
struct embi_reply {
    long status;
    bool has_range;       /* of Content-Range: */
    uint64_t first, last; /* "bytes first-last/total"; last < first: "bytes * /total" */
    uint64_t total;       /* or EMBI_TRANSPORT_UNKNOWN */
    uint64_t length;      /* Content-Length, or EMBI_TRANSPORT_UNKNOWN */
    bool encoded;         /* Content-Encoding says that the content was packed for the way */
    int64_t max_age_s;    /* of Cache-Control; -1: not said */
    uint64_t age_s;       /* Age */
    bool no_store;
    char tag[128], modified[64];        /* ETag and Last-Modified, as they were sent; "" */
    char region[EMBI_TRANSPORT_REGION]; /* x-amz-bucket-region */
};

void embi_reply_begin(struct embi_reply *reply);
/* Takes one line of a head; libcurl's CURLOPT_HEADERFUNCTION. */
size_t embi_reply_header(char *line, size_t size, size_t n, void *reply);

struct embi_session {
    struct embi_transport_opts opts; /* strings are the session's own */
    char *target;                    /* where redirects led to: asked from then on; or NULL */
    CURLM *multi;                    /* keeps the connections */
    struct curl_slist *headers, *check_headers; /* the latter with If-None-Match, or NULL */
    char region[EMBI_TRANSPORT_REGION];         /* that an answer spoke of */
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
    bool by_target;    /* and asks where an earlier redirect led to */
    bool plain;        /* ranges are of no use here: the whole is asked for */
    bool judged, good; /* the head of the answer was looked at; its body is content */
    uint64_t furthest; /* `at`, at its most */
    bool progress;     /* it moved since the request began */
    bool ended;        /* the answer is not what it says, or nobody wants it: `text` says so */
    bool changed;      /* and that since it is of another version */
    int redirects;     /* that were followed here */
    char code[48];     /* in the page of an error: S3's name for it */
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

int64_t embi_http_now_ms(void);

/* embi_transport.get */
int embi_http_get(void *session, struct embi_get *gets, size_t n, uint64_t *total,
                  char text[EMBI_TRANSPORT_TEXT]);

#endif
