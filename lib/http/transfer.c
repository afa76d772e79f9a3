/* transfer.c - one request: asking, judging the answer before its bytes count, and what to do when
 * it went wrong.
 *
 * No byte is handed on before the head of its answer was found right: the status, the range that
 * was asked for, the version that the session is of. What may help a second time is tried again
 * after a wait that grows, FAILURES times in a row at most, from the byte that is missing; a server
 * that says how long to wait (Retry-After, RFC 9110 section 10.2.3) is obeyed up to MOST_WAIT_MS.
 */
#include "http/http.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    FAILURES = 4,
    ALL_FAILURES = 40, /* also of an answer that breaks off again and again, further on each time */
    FIRST_WAIT_MS = 250, /* then twice as long, and again */
    MOST_WAIT_MS = 30000,
    CONNECT_S = 20,
    STALL_S = 30, /* without a byte */
    BUFFER_BYTES = 256 << 10
};

int64_t embi_http_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* One past the last byte that is wanted. A server that answers with the whole is heard out. */
static uint64_t wanted_end(const struct embi_transfer *t)
{
    return t->get->n && !t->get->whole ? t->get->first + t->get->n : t->session->total;
}

/* ------------------------------------------------------------------------------------------------
 * The answer
 */

/* Ends the transfer: trying again would not help. */
static bool refuse(struct embi_transfer *t, const char *text)
{
    (void)snprintf(t->text, sizeof t->text, "%s", text);
    t->ended = true;
    return false;
}

static bool differs(const char *a, const char *b)
{
    return *a && *b && strcmp(a, b) != 0;
}

static bool refuse_change(struct embi_transfer *t)
{
    t->changed = true;
    return refuse(t, t->session->given
                         ? "the file changed on the server since a part of it was kept"
                         : "the file changed on the server while it was read");
}

static void take_version(struct embi_session *s, const struct embi_reply *r, uint64_t total)
{
    s->known = true;
    s->given = false;
    s->total = total;
    s->encoded = r->encoded;
    memcpy(s->tag, r->tag, sizeof s->tag);
    memcpy(s->modified, r->modified, sizeof s->modified);
}

/* Is the answer of the version that the session is of? The first one says which that is. */
static bool same_version(struct embi_transfer *t, uint64_t total)
{
    struct embi_session *s = t->session;
    const struct embi_reply *r = &t->reply;
    bool sizes = total != EMBI_TRANSPORT_UNKNOWN && s->total != EMBI_TRANSPORT_UNKNOWN;
    bool tags = s->given || (*s->tag && *r->tag);
    bool other = (sizes && total != s->total) ||
                 (tags ? strcmp(s->tag, r->tag) != 0 : differs(s->modified, r->modified));
    if (s->known && other && !t->get->check)
        return refuse_change(t);
    if (!s->known || other)
        take_version(s, r, total);
    return true;
}

static bool judge_range(struct embi_transfer *t)
{
    const struct embi_reply *r = &t->reply;
    if (r->encoded) { /* of which encoding bytes were cut, and where, nobody knows */
        t->plain = true;
        return false;
    }
    if (!t->ranged || !r->has_range || r->last < r->first)
        return refuse(t, "HTTP 206 without a range that was asked for");
    if (r->first != t->at || r->last >= wanted_end(t) || r->total <= r->last) {
        char text[EMBI_TRANSPORT_TEXT];
        (void)snprintf(text, sizeof text,
                       "the server sent bytes %" PRIu64 "-%" PRIu64 " of %" PRIu64
                       " in place of those from %" PRIu64,
                       r->first, r->last, r->total, t->at);
        return refuse(t, text);
    }
    return same_version(t, r->total);
}

static bool judge_whole(struct embi_transfer *t)
{
    t->at = 0;
    t->get->whole = 1;
    return same_version(t, t->reply.encoded ? EMBI_TRANSPORT_UNKNOWN : t->reply.length);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* S3 names what went wrong in <Code> of the page, a word. */
static void read_fault(struct embi_transfer *t, const char *page, size_t n)
{
    static const char open[] = "<Code>";
    const char *s = memmem(page, n, open, sizeof open - 1);
    size_t most = s ? n - (size_t)(s + sizeof open - 1 - page) : 0, i = 0;
    s += s ? sizeof open - 1 : 0;
    for (; i < most && i + 1 < sizeof t->fault && is_letter(s[i]); i++)
        t->fault[i] = s[i];
    t->fault[i < most && s[i] == '<' ? i : 0] = 0;
}

static bool judge(struct embi_transfer *t)
{
    switch (t->reply.status) {
    case 200: return judge_whole(t);
    case 206: return judge_range(t);
    default: return false; /* an error's page is no content */
    }
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct embi_transfer *t = arg;
    n *= size;
    if (!t->judged) {
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->reply.status);
        t->judged = true;
        t->good = judge(t);
        if (t->reply.status >= 300)
            read_fault(t, data, n);
    }
    if (!t->good)
        return t->ended || (t->plain && t->ranged) ? 0 : n;
    if (t->reply.status == 206 && n > t->reply.last + 1 - t->at) {
        refuse(t, "the server sent more bytes than it said");
        return 0;
    }
    if (t->get->take(t->get->arg, t->at, data, n)) {
        refuse(t, "the bytes were not taken");
        return 0;
    }
    t->at += n;
    if (t->at > t->furthest) {
        t->furthest = t->at;
        t->progress = true;
    }
    return n;
}

/* ------------------------------------------------------------------------------------------------
 * Asking
 */

static bool is_https(const char *url)
{
    return strncasecmp(url, "https:", 6) == 0;
}

/* From https nothing leads to http: what was asked for in secret is not got in the open. */
static void limit_protocols(CURL *easy, bool secure)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
    long http = secure ? 0 : CURLPROTO_HTTP;
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, http | CURLPROTO_HTTPS);
#endif
}

/* A name and password, or what signs the request. */
static void set_user(struct embi_transfer *t, bool secret)
{
    const struct embi_transport_opts *o = &t->session->opts;
    CURL *e = t->easy;
    curl_easy_setopt(e, CURLOPT_USERNAME, secret ? o->user : NULL);
    curl_easy_setopt(e, CURLOPT_PASSWORD, secret ? o->password : NULL);
    if (!o->signing)
        return;
#if LIBCURL_VERSION_NUM >= 0x074b00
    curl_easy_setopt(e, CURLOPT_AWS_SIGV4, o->signing);
#endif
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L); /* a dot is a part of a key */
}

/* Redirects are followed here (redirect.c), so that each request is judged by where it goes. An
 * encoding is not asked for, but undone where a server takes one all the same. */
static void set_options(struct embi_transfer *t, const char *url)
{
    const struct embi_session *s = t->session;
    CURL *e = t->easy;
    curl_easy_setopt(e, CURLOPT_URL, url);
    curl_easy_setopt(e, CURLOPT_PRIVATE, (void *)t);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_USERAGENT, s->opts.agent);
    bool secret = s->has_secrets && embi_same_origin(url, s->opts.url) &&
                  (!s->has_token || embi_keeps_secrets(url));
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, s->headers[secret][t->get->check]);
    curl_easy_setopt(e, CURLOPT_NOPROXY, secret && !is_https(url) ? "*" : NULL);
    set_user(t, secret);
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
    curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(e, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
    curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, embi_reply_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, (void *)&t->reply);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, (void *)t);
    if (s->opts.ca_file)
        curl_easy_setopt(e, CURLOPT_CAINFO, s->opts.ca_file);
    limit_protocols(e, is_https(s->opts.url));
}

static void set_range(struct embi_transfer *t)
{
    char range[64] = "";
    const struct embi_session *s = t->session;
    const struct embi_get *get = t->get;
    bool part = get->n && !get->whole, resumes = t->at > 0 && (*s->tag || *s->modified);
    t->ranged = !t->plain && (part || resumes);
    if (!t->ranged)
        t->at = 0;
    else if (part)
        (void)snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, t->at, get->first + get->n - 1);
    else
        (void)snprintf(range, sizeof range, "%" PRIu64 "-", t->at);
    curl_easy_setopt(t->easy, CURLOPT_RANGE, t->ranged ? range : NULL);
}

void embi_transfer_end(struct embi_transfer *t)
{
    free(t->redirect);
    t->redirect = NULL;
}

bool embi_transfer_prepare(struct embi_transfer *t)
{
    const struct embi_session *s = t->session;
    if (!t->easy)
        t->easy = curl_easy_init();
    if (!t->easy)
        return false;
    t->reply = embi_reply_none();
    t->judged = t->good = t->progress = false;
    if (!t->redirect)
        t->by_target = s->target != NULL;
    t->error[0] = t->fault[0] = '\0';
    set_options(t, t->redirect ? t->redirect : s->target ? s->target : s->opts.url);
    set_range(t);
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * What came of it
 */

static const char *reason(long status)
{
    static const struct {
        long status;
        const char *reason;
    } known[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {407, "Proxy Authentication Required"},
        {408, "Request Timeout"},
        {410, "Gone"},
        {416, "Range Not Satisfiable"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].status == status)
            return known[i].reason;
    return "";
}

static bool is_passing_status(long status)
{
    return status == 408 || status == 425 || status == 429 || status == 500 || status == 502 ||
           status == 503 || status == 504;
}

static bool is_passing_code(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return true;
    default: return false;
    }
}

static void say_status(struct embi_transfer *t)
{
    const char *words = reason(t->reply.status);
    (void)snprintf(t->text, sizeof t->text, "HTTP %ld%s%s%s%s", t->reply.status, *words ? " " : "",
                   words, *t->fault ? ": " : "", t->fault);
}

static void say_code(struct embi_transfer *t, CURLcode code)
{
    const char *words = *t->error ? t->error : curl_easy_strerror(code);
    (void)snprintf(t->text, sizeof t->text, "%s", words);
}

/* Later, if it may: `text` says what happened, for the case that it was the last time. */
static enum embi_outcome retry(struct embi_transfer *t)
{
    curl_off_t asked = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &asked);
    if (asked > MOST_WAIT_MS / 1000) {
        size_t n = strlen(t->text);
        (void)snprintf(t->text + n, sizeof t->text - n,
                       ": the server asks to wait %" CURL_FORMAT_CURL_OFF_T " s", asked);
        return EMBI_HTTP_FAILED;
    }
    t->failures = t->progress ? 1 : t->failures + 1;
    if (t->failures > FAILURES || ++t->all_failures > ALL_FAILURES)
        return EMBI_HTTP_FAILED;
    int64_t wait = (int64_t)FIRST_WAIT_MS << (t->failures - 1);
    t->begin_ms = embi_http_now_ms() + (asked > 0 ? (int64_t)asked * 1000 : wait);
    return EMBI_HTTP_AGAIN;
}

static enum embi_outcome at_once(struct embi_transfer *t)
{
    t->begin_ms = 0;
    return EMBI_HTTP_AGAIN;
}

/* Every byte of the answer is here. A server may send less than was asked for, and is asked for the
 * rest. */
static enum embi_outcome finish_content(struct embi_transfer *t)
{
    struct embi_session *s = t->session;
    if (!t->judged && !judge(t) && t->ended) /* no content at all */
        return EMBI_HTTP_FAILED;
    if (t->reply.status == 200) {
        s->total = s->total == EMBI_TRANSPORT_UNKNOWN ? t->at : s->total;
        if (t->at == s->total)
            return EMBI_HTTP_DONE;
        refuse_change(t);
        return EMBI_HTTP_FAILED;
    }
    if (t->at >= wanted_end(t) || t->at >= s->total)
        return EMBI_HTTP_DONE;
    (void)snprintf(t->text, sizeof t->text, "the answer ends at byte %" PRIu64, t->at);
    return t->progress ? at_once(t) : retry(t);
}

/* HTTP 416: of nothing, there is no range; some servers know none at all. */
static enum embi_outcome finish_unsatisfied(struct embi_transfer *t)
{
    struct embi_session *s = t->session;
    if (t->reply.has_range && t->reply.total == 0 && !s->known && same_version(t, 0))
        return EMBI_HTTP_DONE;
    if (t->ranged && (!t->reply.has_range || t->at < t->reply.total)) {
        t->plain = true;
        return at_once(t);
    }
    return EMBI_HTTP_FAILED;
}

/* A place that a redirect led to may be good for some time only: then the first address is asked
 * again. */
static bool may_have_moved(struct embi_transfer *t)
{
    struct embi_session *s = t->session;
    long status = t->reply.status;
    if (!t->by_target ||
        (status != 400 && status != 401 && status != 403 && status != 404 && status != 410))
        return false;
    free(s->target);
    s->target = NULL;
    return true;
}

static enum embi_outcome finish_status(struct embi_transfer *t)
{
    if (t->reply.status == 304 && t->get->check) {
        t->get->unchanged = 1;
        return EMBI_HTTP_DONE;
    }
    if (embi_redirects(t->reply.status) && !t->session->opts.signing)
        return embi_redirect_follow(t) ? at_once(t) : EMBI_HTTP_FAILED;
    say_status(t);
    if (t->reply.status == 416)
        return finish_unsatisfied(t);
    bool moved = may_have_moved(t);
    embi_transfer_end(t); /* where it is asked again, then from the first address on */
    if (moved)
        return at_once(t);
    return is_passing_status(t->reply.status) ? retry(t) : EMBI_HTTP_FAILED;
}

/* Where a redirect led to is asked from now on. */
static void keep_target(struct embi_transfer *t)
{
    if (!t->redirect || t->session->target)
        return;
    t->session->target = t->redirect;
    t->redirect = NULL;
}

/* For how long the answer is good. */
static void keep_age(struct embi_transfer *t)
{
    struct embi_session *s = t->session;
    const struct embi_reply *r = &t->reply;
    int64_t age = (int64_t)(r->age_s < INT32_MAX ? r->age_s : INT32_MAX);
    s->no_store = r->no_store;
    s->max_age_s = r->max_age_s < 0 ? -1 : r->max_age_s < age ? 0 : r->max_age_s - age;
}

/* What the first server says of the file, and the last one of the request. */
static void keep_told(struct embi_transfer *t)
{
    struct embi_told *told = &t->session->told;
    const struct embi_reply *r = &t->reply;
    told->status = r->status;
    memcpy(told->region, r->region, sizeof told->region);
    if (t->redirect || t->by_target)
        return;
    memcpy(told->tag, *r->linked ? r->linked : r->tag, sizeof told->tag);
    memcpy(told->commit, r->commit, sizeof told->commit);
    memcpy(told->code, r->code, sizeof told->code);
    told->bytes = r->linked_bytes;
}

enum embi_outcome embi_transfer_finish(struct embi_transfer *t, CURLcode code)
{
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->reply.status);
    keep_told(t);
    if (t->ended)
        return EMBI_HTTP_FAILED;
    if (t->judged && !t->good && t->plain && t->ranged)
        return at_once(t);
    if (code != CURLE_OK) {
        say_code(t, code);
        return is_passing_code(code) ? retry(t) : EMBI_HTTP_FAILED;
    }
    if (t->reply.status == 200 || t->reply.status == 206 || t->reply.status == 304)
        keep_age(t);
    if (t->reply.status != 200 && t->reply.status != 206)
        return finish_status(t);
    keep_target(t);
    return finish_content(t);
}
