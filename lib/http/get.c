/* get.c - many requests of one session, several at a time, in the calling thread.
 *
 * The connections stay open between calls. The first request that fails for good ends all.
 */
#include "http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 16, POLL_MS = 1000 };

enum { SIGNS_S3 = 0x075700 }; /* from that version on it signs headers that it was given */

enum place { FREE, WAITING, RUNNING };

struct batch {
    struct embi_session *session;
    struct embi_get *gets; /* [n] */
    size_t n, next;        /* gets[next] is the first that was not begun */
    struct {
        enum place place;
        struct embi_transfer transfer;
    } slots[AT_ONCE];
    size_t busy;
    bool whole; /* one answer was all there is: the others are not waited for */
    char *text; /* [EMBI_TRANSPORT_TEXT] */
    bool failed, changed;
};

static void fail(struct batch *b, const char *text)
{
    (void)snprintf(b->text, EMBI_TRANSPORT_TEXT, "%s", text);
    b->failed = true;
}

/* Requests that were not begun take the free places. */
static void fill_slots(struct batch *b)
{
    size_t most = b->session->opts.at_once;
    if (most == 0 || most > AT_ONCE)
        most = AT_ONCE;
    for (size_t i = 0; i < most && b->next < b->n; i++) {
        if (b->slots[i].place != FREE)
            continue;
        struct embi_transfer *t = &b->slots[i].transfer;
        CURL *easy = t->easy;
        embi_transfer_end(t);
        *t =
            (struct embi_transfer){.session = b->session, .get = &b->gets[b->next++], .easy = easy};
        t->at = t->get->first;
        t->get->whole = t->get->unchanged = 0;
        b->slots[i].place = WAITING;
        b->busy++;
    }
}

/* Begins what is due; how long until the next one is, in ms. */
static int64_t begin_due(struct batch *b)
{
    int64_t now = embi_http_now_ms(), wait = POLL_MS;
    for (size_t i = 0; i < AT_ONCE && !b->failed; i++) {
        struct embi_transfer *t = &b->slots[i].transfer;
        if (b->slots[i].place != WAITING)
            continue;
        if (t->begin_ms > now) {
            wait = t->begin_ms - now < wait ? t->begin_ms - now : wait;
            continue;
        }
        if (!embi_transfer_prepare(t) || curl_multi_add_handle(b->session->link->multi, t->easy))
            fail(b, "no memory for a request");
        else
            b->slots[i].place = RUNNING;
    }
    return wait;
}

static void say(const struct batch *b, const struct embi_transfer *t, enum embi_outcome outcome)
{
    const struct embi_transport_opts *o = &b->session->opts;
    char line[EMBI_TRANSPORT_TEXT + 96];
    if (!o->log)
        return;
    (void)snprintf(line, sizeof line, "get from byte %llu: HTTP %ld%s%s",
                   (unsigned long long)t->get->first, t->reply.status,
                   outcome == EMBI_HTTP_DONE    ? ""
                   : outcome == EMBI_HTTP_AGAIN ? ", again: "
                                                : ": ",
                   outcome == EMBI_HTTP_DONE ? "" : t->text);
    o->log(o->log_arg, line);
}

static void end_slot(struct batch *b, struct embi_transfer *t, CURLcode code)
{
    size_t i = 0;
    while (&b->slots[i].transfer != t)
        i++;
    enum embi_outcome outcome = embi_transfer_finish(t, code);
    say(b, t, outcome);
    curl_multi_remove_handle(b->session->link->multi, t->easy);
    b->slots[i].place = outcome == EMBI_HTTP_AGAIN ? WAITING : FREE;
    b->busy -= outcome != EMBI_HTTP_AGAIN;
    b->whole |= outcome == EMBI_HTTP_DONE && t->get->whole;
    if (outcome == EMBI_HTTP_FAILED && !b->failed) {
        fail(b, t->text);
        b->changed = t->changed;
    }
}

static void end_finished(struct batch *b)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(b->session->link->multi, &left))) {
        char *t = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result; /* which is gone when the handle is taken out */
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &t);
        end_slot(b, (struct embi_transfer *)(void *)t, code);
    }
}

static void run(struct batch *b)
{
    while (!b->failed) {
        int running;
        fill_slots(b);
        if (b->busy == 0)
            return;
        int64_t wait = begin_due(b);
        if (b->failed || curl_multi_perform(b->session->link->multi, &running))
            break;
        end_finished(b);
        if (b->whole)
            return;
        if (!b->failed && b->busy > 0 &&
            curl_multi_poll(b->session->link->multi, NULL, 0, (int)wait, NULL))
            break;
    }
    if (!b->failed)
        fail(b, "no memory for a request");
}

int embi_http_get(void *session, struct embi_get *gets, size_t n, uint64_t *total,
                  char text[EMBI_TRANSPORT_TEXT])
{
    struct embi_session *s = session;
    (void)snprintf(text, EMBI_TRANSPORT_TEXT, "this libcurl does not sign for S3: 7.87 does");
    if (s->opts.signing && curl_version_info(CURLVERSION_NOW)->version_num < SIGNS_S3)
        return EMBI_GET_FAILED;
    struct batch *b = calloc(1, sizeof *b);
    (void)snprintf(text, EMBI_TRANSPORT_TEXT, "no memory for a request");
    if (!b)
        return EMBI_GET_FAILED;
    b->session = s;
    b->gets = gets;
    b->n = n;
    b->text = text;
    pthread_mutex_lock(&s->link->lock);
    run(b);
    for (size_t i = 0; i < AT_ONCE; i++) {
        if (b->slots[i].place == RUNNING)
            curl_multi_remove_handle(s->link->multi, b->slots[i].transfer.easy);
        embi_transfer_end(&b->slots[i].transfer);
        if (b->slots[i].transfer.easy)
            curl_easy_cleanup(b->slots[i].transfer.easy);
    }
    pthread_mutex_unlock(&s->link->lock);
    int failed = b->changed ? EMBI_GET_CHANGED : b->failed ? EMBI_GET_FAILED : 0;
    free(b);
    *total = s->total;
    return failed;
}
