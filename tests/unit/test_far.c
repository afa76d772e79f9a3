/* Files on servers (io/far*.c), with a transport that is a block of memory here: what is asked for, what comes, what fails.
 * Transports that are libcurl are tests/remote's. */
#include "io/far.h"
#include "io/io.h"
#include "util/env.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1000003, BLOCK = 4096, HEAD = 64 << 10 };

static struct {
    unsigned char bytes[SIZE];
    bool no_ranges, no_total;
    size_t calls, gets, fail_at; /* the call that fails; 0: none */
    uint64_t sent;
    int open;
} server;

static struct embi_env env;
static struct embi_io *io;
static emb_err err;

static const char *about(void)
{
    return "memory";
}

static int open_session(const struct embi_transport_opts *opts, void **session)
{
    (void)opts;
    *session = &server;
    server.open++;
    return 0;
}

static void close_session(void *session)
{
    cr_assert_eq(session, &server);
    server.open--;
}

static void told(const void *session, struct embi_told *told)
{
    (void)session;
    *told = (struct embi_told){.bytes = EMBI_TRANSPORT_UNKNOWN};
}

static int get(void *session, struct embi_get *gets, size_t n, uint64_t *total,
               char text[EMBI_TRANSPORT_TEXT])
{
    (void)session;
    *total = server.no_total ? EMBI_TRANSPORT_UNKNOWN : SIZE;
    if (++server.calls == server.fail_at) {
        (void)snprintf(text, EMBI_TRANSPORT_TEXT, "HTTP 418");
        return -1;
    }
    for (size_t i = 0; i < n; i++, server.gets++) {
        struct embi_get *g = &gets[i];
        g->whole = server.no_ranges || g->n == 0;
        uint64_t at = g->whole ? 0 : g->first, end = g->whole ? SIZE : g->first + g->n;
        cr_assert_leq(at, SIZE);
        for (end = embi_min(end, SIZE); at < end; at += 1000) {
            size_t some = (size_t)embi_min(1000, end - at);
            server.sent += some;
            if (g->take(g->arg, at, server.bytes + at, some))
                return -1;
        }
        if (g->whole)
            *total = SIZE;
    }
    return 0;
}

static void version(const void *session, struct embi_version *v)
{
    (void)session;
    *v = (struct embi_version){.total = SIZE, .max_age_s = -1};
}

static emb_status transport(const struct embi_env *e, const struct embi_transport **t,
                            emb_err *fault)
{
    static const struct embi_transport memory = {.abi = EMBI_TRANSPORT_ABI,
                                                 .size = sizeof memory,
                                                 .about = about,
                                                 .open = open_session,
                                                 .get = get,
                                                 .told = told,
                                                 .version = version,
                                                 .close = close_session};
    (void)e;
    (void)fault;
    *t = &memory;
    return EMB_OK;
}

static void begin(const char *temp_dir)
{
    memset(&server, 0, sizeof server);
    for (size_t i = 0; i < SIZE; i++)
        server.bytes[i] = (unsigned char)(i * 2654435761U >> 13);
    env = (struct embi_env){.transport = transport, .temp_dir = temp_dir};
}

static void open_it(void)
{
    cr_assert_eq(embi_io_open(&env, "https://host/table", EMBI_IO_READ, &io, &err), EMB_OK, "%s",
                 err.msg);
    cr_assert_eq(io->size, SIZE);
}

static void equal(uint64_t off, size_t n)
{
    unsigned char *part = malloc(n + 1);
    cr_assert_eq(embi_io_pread(io, part, n, off, &err), EMB_OK, "%s", err.msg);
    cr_assert_arr_eq(part, server.bytes + off, n);
    free(part);
}

static void end(void)
{
    embi_io_close(io);
    cr_assert_eq(server.open, 0);
}

Test(far, blocks_once_and_no_more)
{
    static const char *const dirs[] = {"/tmp", NULL};
    for (size_t i = 0; i < EMBI_LEN(dirs); i++) {
        begin(dirs[i]);
        open_it();
        cr_assert(embi_io_is_far(io));
        cr_assert_eq(server.sent, HEAD);
        equal(0, HEAD);
        equal(500001, 2);
        cr_assert_eq(server.sent, HEAD + BLOCK);
        equal(500000 / BLOCK * BLOCK, BLOCK); /* the same block */
        equal(SIZE - 1, 1);                   /* the last one, which is short */
        cr_assert_eq(server.sent, HEAD + BLOCK + SIZE % BLOCK);
        cr_assert_eq(server.calls, 3);
        equal(0, SIZE); /* all */
        uint64_t sent = server.sent;
        equal(1, SIZE - 1);
        cr_assert_eq(server.sent, sent);
        cr_assert_eq(embi_io_pread(io, NULL, 1, SIZE, &err), EMB_BAD_DATA);
        end();
    }
}

Test(far, what_is_near_comes_together)
{
    begin("/tmp");
    open_it();
    const void *data;
    cr_assert_eq(embi_io_view(io, &data, &err), EMB_OK);
    cr_assert_eq(server.calls, 1);
    const struct embi_span near[] = {
        {700000, 10}, {300000, 10}, {300000 + (100 << 10), 10}, {0, 0}};
    cr_assert_eq(embi_io_need(io, near, EMBI_LEN(near), &err), EMB_OK);
    cr_assert_eq(server.calls, 2);
    cr_assert_eq(server.gets,
                 1 + 2); /* the head, and two ranges: of these four one is empty, and two are one */
    for (size_t i = 0; i < EMBI_LEN(near); i++)
        cr_assert_arr_eq((const unsigned char *)data + near[i].off, server.bytes + near[i].off,
                         near[i].n);
    end();
}

Test(far, random_spans)
{
    begin("/tmp");
    open_it();
    uint32_t x = 1;
    for (int i = 0; i < 300; i++) {
        x = x * 1664525 + 1013904223;
        uint64_t off = x % SIZE;
        equal(off, (size_t)embi_min(SIZE - off, x >> 22));
    }
    cr_assert_leq(server.sent, SIZE);
    end();
}

Test(far, whole_answers_are_files_like_others)
{
    begin("/tmp");
    server.no_ranges = true;
    open_it();
    cr_assert_not(embi_io_is_far(io));
    cr_assert_eq(server.open, 0);
    equal(0, SIZE);
    cr_assert_eq(server.calls, 1);
    end();
    begin("/tmp");
    server.no_total = true; /* then the whole is asked for */
    open_it();
    cr_assert_eq(server.calls, 2);
    equal(3, SIZE - 3);
    end();
}

Test(far, a_server_may_lose_its_ranges)
{
    begin("/tmp");
    open_it();
    server.no_ranges = true;
    equal(800000, 10);
    uint64_t sent = server.sent;
    equal(0, SIZE);
    cr_assert_eq(server.sent, sent);
    end();
}

Test(far, failures)
{
    begin("/tmp");
    server.fail_at = 1;
    cr_assert_eq(embi_io_open(&env, "http://host/table", EMBI_IO_READ, &io, &err), EMB_IO);
    cr_assert_str_eq(err.msg, "HTTP 418");
    cr_assert_null(io);
    cr_assert_eq(server.open, 0);
    begin("/tmp");
    server.fail_at = 2;
    open_it();
    unsigned char byte;
    cr_assert_eq(embi_io_pread(io, &byte, 1, 900000, &err), EMB_IO);
    equal(900000, 100); /* not taken for there */
    end();
    begin("/nowhere");
    cr_assert_eq(embi_io_open(&env, "http://host/table", EMBI_IO_READ, &io, &err), EMB_IO);
    cr_assert_eq(err.sys, ENOENT);
    cr_assert_eq(server.open, 0);
    cr_assert_eq(embi_io_open(&env, "http://me:secret@host/table", EMBI_IO_READ, &io, &err),
                 EMB_UNSUPPORTED);
    cr_assert_null(strstr(err.msg, "secret"));
}

/* Plans are checked against the same thing done slowly, block by block. */
Test(far_plan, covers_what_is_missing)
{
    struct embi_far_blocks b;
    struct embi_far_pieces p;
    cr_assert_eq(embi_far_blocks_new(100 * BLOCK + 5, &b, &err), EMB_OK);
    cr_assert_eq(b.n, 101);
    embi_far_blocks_add(&b, (struct embi_span){1, 2 * BLOCK}); /* one whole block of it */
    cr_assert_eq(b.missing, 100);
    embi_far_blocks_add(&b, (struct embi_span){100 * BLOCK, 5});
    cr_assert_eq(b.missing, 99);
    const struct embi_span spans[] = {
        {BLOCK, 1}, {100 * BLOCK + 4, 1}, {99 * BLOCK, 2}, {3 * BLOCK - 1, 2}};
    cr_assert_eq(embi_far_plan(&b, spans, EMBI_LEN(spans), &p, &err), EMB_OK);
    cr_assert_eq(p.n, 2);
    cr_assert_eq(p.list[0].off, 2 * BLOCK);
    cr_assert_eq(p.list[0].n, 2 * BLOCK);
    cr_assert_eq(p.list[1].off, 99 * BLOCK);
    cr_assert_eq(p.list[1].n, BLOCK);
    free(p.list);
    embi_far_blocks_free(&b);
}

Test(far_plan, few_and_not_long)
{
    struct embi_far_blocks b;
    struct embi_far_pieces p;
    uint64_t size = UINT64_C(1) << 33; /* 8 GiB */
    cr_assert_eq(embi_far_blocks_new(size, &b, &err), EMB_OK);
    enum { MANY = 10000 };
    struct embi_span *spans = malloc(MANY * sizeof *spans);
    for (uint64_t i = 0; i < MANY; i++)
        spans[i] = (struct embi_span){i * 2654435761U % size, 600};
    cr_assert_eq(embi_far_plan(&b, spans, MANY, &p, &err), EMB_OK);
    uint64_t at = 0;
    for (size_t i = 0; i < p.n; i++) {
        cr_assert_geq(p.list[i].off, at);
        cr_assert_leq(p.list[i].n, 32 << 20);
        at = p.list[i].off + p.list[i].n;
    }
    for (size_t i = 0; i < MANY; i++) {
        size_t k = 0;
        while (p.list[k].off + p.list[k].n <= spans[i].off)
            k++;
        cr_assert_leq(p.list[k].off, spans[i].off);
        uint64_t last = spans[i].off + spans[i].n - 1;
        while (p.list[k].off + p.list[k].n <= last) { /* pieces that touch */
            cr_assert_eq(p.list[k + 1].off, p.list[k].off + p.list[k].n);
            k++;
        }
    }
    free(p.list);
    free(spans);
    embi_far_blocks_free(&b);
    cr_assert_eq(embi_far_blocks_new(UINT64_MAX / 2, &b, &err),
                 EMB_OK); /* larger blocks, no more of them */
    cr_assert_leq(b.n, UINT64_C(1) << 26);
    embi_far_blocks_free(&b);
}
