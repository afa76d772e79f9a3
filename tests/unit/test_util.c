/* tests/unit/test_util.c - err, env, buf and the CPU quota of lib/util.
 *
 * Expected values come from the headers' rules, from commands.md ("Escapes") and from the kernel's
 * cgroup documentation.
 */
#include <criterion/criterion.h>

#include "util/buf.h"
#include "util/cpus.h"
#include "util/env.h"
#include "util/err.h"
#include "util/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define STR(literal) ((emb_str){literal, sizeof(literal) - 1})

/* ---------------------------------------------------------------------------------------- err, env
 */

Test(err, fail_fills_everything)
{
    emb_err err = {.sys = 7};
    emb_status status =
        embi_fail(&err, EMB_BAD_DATA, 812, "expected %d values, found %d", 300, 299);
    cr_assert_eq(status, EMB_BAD_DATA);
    cr_assert_eq(err.status, EMB_BAD_DATA);
    cr_assert_eq(err.sys, 0);
    cr_assert_eq(err.at, 812);
    cr_assert_str_eq(err.msg, "expected 300 values, found 299");
}

Test(err, errno_words)
{
    emb_err err;
    cr_assert_eq(embi_fail_errno(&err, ENOENT, NULL), EMB_IO);
    cr_assert_eq(err.status, EMB_IO);
    cr_assert_eq(err.sys, ENOENT);
    cr_assert_eq(err.at, -1);
    cr_assert_str_eq(err.msg, "No such file or directory");
    embi_fail_errno(&err, ENOSPC, "standard output");
    cr_assert_str_eq(err.msg, "standard output: No space left on device");
    embi_fail_errno(&err, 98765, "x");
    cr_assert_str_eq(err.msg, "x: error 98765");
    cr_assert_eq(err.sys, 98765);
}

Test(err, memory)
{
    emb_err err;
    cr_assert_eq(embi_fail_memory(&err, UINT64_C(12345678901), "row offsets"), EMB_NO_MEMORY);
    cr_assert_str_eq(err.msg, "out of memory (12345678901 bytes for row offsets)");
}

Test(err, prefix_keeps_the_rest)
{
    emb_err err;
    embi_fail_errno(&err, EACCES, NULL);
    cr_assert_eq(embi_fail_in(&err, "row %d", 3), EMB_IO);
    cr_assert_eq(err.sys, EACCES);
    cr_assert_str_eq(err.msg, "row 3: Permission denied");
}

Test(err, argument_may_be_the_message_itself)
{
    emb_err err;
    embi_fail(&err, EMB_IO, -1, "inner");
    embi_fail(&err, EMB_BAD_DATA, 5, "outer: %s", err.msg);
    cr_assert_str_eq(err.msg, "outer: inner");
    embi_fail_in(&err, "again %s", err.msg);
    cr_assert_str_eq(err.msg, "again outer: inner: outer: inner");
}

/* A message of 239 bytes fits; anything longer is cut, and never inside a character. */
Test(err, long_messages_are_cut_between_characters)
{
    emb_err err;
    char text[400];
    for (size_t lead = 230; lead < 245; lead++) {
        memset(text, 'a', lead);
        strcpy(text + lead, "\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9zzzzzzzz"); /* 3, 4, 2 bytes */
        size_t ends[] = {lead, lead + 3, lead + 7, lead + 9, lead + 10, lead + 11};
        size_t expect = 0;
        for (size_t i = 0; i < EMBI_LEN(ends); i++)
            if (ends[i] <= 239)
                expect = ends[i];
        if (lead > 239 || strlen(text) <= 239)
            expect = 239;
        embi_fail(&err, EMB_BAD_DATA, -1, "%s", text);
        cr_assert_eq(strlen(err.msg), expect, "lead %zu: %zu, not %zu", lead, strlen(err.msg),
                     expect);
        cr_assert_eq(memcmp(err.msg, text, expect), 0);
        embi_fail(&err, EMB_BAD_DATA, -1, "%s", text + 2);
        embi_fail_in(&err, "%s", "");
        expect = lead > 239 || strlen(text) <= 239 ? 239 : expect;
        cr_assert_eq(strlen(err.msg), expect, "in, lead %zu: %zu", lead, strlen(err.msg));
    }
    memset(text, 'p', sizeof text);
    text[399] = '\0';
    embi_fail(&err, EMB_BAD_DATA, -1, "m");
    embi_fail_in(&err, "%s", text);
    cr_assert_eq(strlen(err.msg), 239);
}

Test(err, show)
{
    static const struct {
        emb_str in;
        const char *out;
    } cases[] = {
        {STR(""), ""},
        {STR("cat"), "cat"},
        {STR("a b"), "a b"},
        {STR("\t\n\r\\"), "\\t\\n\\r\\\\"},
        {STR("a\0b"), "a\\x00b"},
        {STR("\x01\x1f\x7f"), "\\x01\\x1f\\x7f"},
        {STR("\xc3\xa9\xe2\x96\x81\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x96\x81\xf0\x9f\x98\x80"},
        {STR("ca\xff"), "ca\\xff"},
        {STR("\xe2\x96"), "\\xe2\\x96"},                   /* cut short       */
        {STR("\xc0\xaf"), "\\xc0\\xaf"},                   /* not shortest    */
        {STR("\xed\xa0\x80"), "\\xed\\xa0\\x80"},          /* a surrogate     */
        {STR("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF  */
    };
    char out[EMBI_SHOW_MAX];
    for (size_t i = 0; i < EMBI_LEN(cases); i++)
        cr_assert_str_eq(embi_show(out, cases[i].in), cases[i].out, "case %zu", i);
}

Test(err, show_cuts_long_tokens)
{
    char out[EMBI_SHOW_MAX], in[1000], expect[EMBI_SHOW_MAX];
    memset(in, 'x', sizeof in);
    memset(expect, 'x', 76);
    strcpy(expect + 76, "...");
    cr_assert_str_eq(embi_show(out, (emb_str){in, sizeof in}), expect);
    expect[76] = '\0';
    cr_assert_str_eq(embi_show(out, (emb_str){in, 76}), expect);
    /* Whole pieces only: 76 = 19 pieces of four. */
    memset(in, '\x02', sizeof in);
    embi_show(out, (emb_str){in, sizeof in});
    cr_assert_eq(strlen(out), 79);
    cr_assert_str_eq(out + 72, "\\x02...");
    in[0] = 'a';
    embi_show(out, (emb_str){in, sizeof in});
    cr_assert_str_eq(out + 69, "\\x02...");
}

struct logged {
    int level, calls;
    const char *path;
    char line[1024];
};

static void take_line(void *arg, int level, const char *path, const char *line)
{
    struct logged *logged = arg;
    logged->calls++;
    logged->level = level;
    logged->path = path;
    snprintf(logged->line, sizeof logged->line, "%s", line);
}

Test(env, log)
{
    struct logged logged = {0};
    struct embi_env env = {.log = take_line, .log_arg = &logged};
    embi_log(&env, EMB_LOG_NOTE, "t.npy", "%d rows", 12);
    cr_assert_eq(logged.calls, 1);
    cr_assert_eq(logged.level, EMB_LOG_NOTE);
    cr_assert_str_eq(logged.path, "t.npy");
    cr_assert_str_eq(logged.line, "12 rows");
    embi_log(&env, EMB_LOG_WARNING, NULL, "%0900d", 1);
    cr_assert_null(logged.path);
    cr_assert_eq(strlen(logged.line), 511);
    env.log = NULL;
    embi_log(&env, EMB_LOG_WARNING, NULL, "dropped");
    cr_assert_eq(logged.calls, 2);
}

/* --------------------------------------------------------------------------------------------- buf
 */

Test(buf, additions_in_order)
{
    struct embi_buf b = {0};
    embi_buf_add(&b, "ab\0c", 4);
    embi_buf_byte(&b, 'd');
    embi_buf_fill(&b, '-', 3);
    embi_buf_text(&b, "xyz");
    embi_buf_print(&b, "%d,%s", -7, "q");
    embi_buf_add(&b, NULL, 0);
    embi_buf_fill(&b, '!', 0);
    cr_assert_not(b.failed);
    cr_assert_eq(b.n, 15);
    cr_assert_eq(memcmp(b.s, "ab\0cd---xyz-7,q", 15), 0);
    cr_assert_str_eq(embi_buf_cstr(&b) + 4, "d---xyz-7,q");
    cr_assert_eq(b.n, 15);
    embi_buf_free(&b);
    cr_assert_null(b.s);
    cr_assert_eq(b.cap, 0);
}

Test(buf, grows_and_keeps)
{
    struct embi_buf b = {0};
    for (int i = 0; i < 100000; i++)
        embi_buf_print(&b, "%05d", i);
    cr_assert_eq(b.n, 500000);
    cr_assert_leq(b.cap, 2 * b.n + 64);
    for (int i = 0; i < 100000; i++) {
        char expect[8];
        snprintf(expect, sizeof expect, "%05d", i);
        cr_assert_eq(memcmp(b.s + 5 * i, expect, 5), 0);
    }
    embi_buf_free(&b);
}

Test(buf, room)
{
    struct embi_buf b = {0};
    cr_assert_not_null(embi_buf_room(&b, 0));
    char *to = embi_buf_room(&b, 1000);
    cr_assert_not_null(to);
    memset(to, 'r', 1000);
    b.n += 1000;
    cr_assert_eq(embi_buf_room(&b, 5000), b.s + 1000);
    cr_assert_geq(b.cap, 6000);
    cr_assert_eq(b.s[999], 'r');
    embi_buf_free(&b);
}

Test(buf, empty_cstr)
{
    struct embi_buf b = {0};
    cr_assert_str_eq(embi_buf_cstr(&b), "");
    cr_assert_eq(b.n, 0);
    embi_buf_free(&b);
}

/* What cannot fit into an address space fails without touching what is there, and sticks. */
Test(buf, failure_sticks)
{
    struct embi_buf b = {0};
    embi_buf_text(&b, "kept");
    cr_assert_null(embi_buf_room(&b, SIZE_MAX));
    cr_assert(b.failed);
    embi_buf_text(&b, "more");
    embi_buf_byte(&b, 'x');
    embi_buf_fill(&b, 'x', 5);
    embi_buf_print(&b, "%d", 1);
    cr_assert_null(embi_buf_room(&b, 1));
    cr_assert_str_eq(embi_buf_cstr(&b), "");
    cr_assert_eq(b.n, 4);
    cr_assert_eq(memcmp(b.s, "kept", 4), 0);
    embi_buf_free(&b);
    cr_assert_not(b.failed);
}

/* -------------------------------------------------------------------------------------------- cpus
 */

static char root[] = "/tmp/embtool-cpus-XXXXXX";

static void put_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    cr_assert_eq(fclose(f), 0);
}

static void put_folder(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    cr_assert_eq(mkdir(path, 0755), 0);
}

static int quota(const char *membership)
{
    char path[512];
    put_file("self", membership);
    snprintf(path, sizeof path, "%s/self", root);
    return embi_cpus_quota(path, root);
}

static void remove_root(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert_eq(system(command), 0);
}

Test(cpus, version_2)
{
    cr_assert_not_null(mkdtemp(root));
    put_folder("a");
    put_folder("a/b");
    cr_assert_eq(quota("0::/a/b\n"), 0);
    put_file("a/b/cpu.max", "max 100000\n");
    cr_assert_eq(quota("0::/a/b\n"), 0);
    put_file("a/b/cpu.max", "400000 100000\n");
    cr_assert_eq(quota("0::/a/b\n"), 4);
    put_file("a/b/cpu.max", "350001 100000\n"); /* rounded up */
    cr_assert_eq(quota("0::/a/b\n"), 4);
    put_file("a/b/cpu.max", "1000 100000\n"); /* at least one */
    cr_assert_eq(quota("0::/a/b\n"), 1);
    put_file("a/b/cpu.max", "800000 100000\n");
    put_file("a/cpu.max", "250000 100000\n"); /* the group above is narrower */
    cr_assert_eq(quota("0::/a/b\n"), 3);
    cr_assert_eq(quota("0::/a/b/gone/too\n"), 3);
    cr_assert_eq(quota("0::/a\n"), 3);
    cr_assert_eq(quota("0::/\n"), 0);
    put_file("cpu.max", "200000 100000\n"); /* what a container sees as its root */
    cr_assert_eq(quota("0::/\n"), 2);
    cr_assert_eq(quota("0::/elsewhere\n"), 2);
    cr_assert_eq(quota("0::/../..\n"), 2);
    remove_root();
}

Test(cpus, version_1)
{
    cr_assert_not_null(mkdtemp(root));
    put_folder("cpu,cpuacct");
    put_folder("cpu,cpuacct/job");
    put_folder("cpuset");
    put_file("cpuset/cpu.cfs_quota_us", "100000\n");
    put_file("cpuset/cpu.cfs_period_us", "100000\n");
    static const char membership[] =
        "12:cpuset:/\n4:memory:/job\n3:cpu,cpuacct:/job\n1:name=systemd:/x\n0::/\n";
    cr_assert_eq(quota(membership), 0);
    put_file("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    put_file("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    cr_assert_eq(quota(membership), 0);
    put_file("cpu,cpuacct/job/cpu.cfs_quota_us", "550000\n");
    cr_assert_eq(quota(membership), 6);
    put_file("cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
    put_file("cpu,cpuacct/cpu.cfs_period_us", "50000\n");
    cr_assert_eq(quota(membership), 3);
    remove_root();
}

Test(cpus, nonsense_is_no_limit)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "100000",
                                      "100000 0\n",
                                      "-5 100000\n",
                                      "x 100000\n",
                                      "99999999999999999999999 100000\n"};
    cr_assert_not_null(mkdtemp(root));
    for (size_t i = 0; i < EMBI_LEN(bad); i++) {
        put_file("cpu.max", bad[i]);
        cr_assert_eq(quota("0::/\n"), 0, "case %zu", i);
    }
    put_file("cpu.max", "100000 100000\n");
    cr_assert_eq(quota("\nnonsense\n0:\n:::\n"), 0);
    cr_assert_eq(quota(""), 0);
    cr_assert_eq(embi_cpus_quota("/nonexistent/self", root), 0);
    remove_root();
}

static uint64_t memory(const char *membership)
{
    char meminfo[512], self[512];
    put_file("self", membership);
    snprintf(meminfo, sizeof meminfo, "%s/meminfo", root);
    snprintf(self, sizeof self, "%s/self", root);
    return embi_memory_by(meminfo, self, root);
}

Test(memory, of_the_system_and_of_groups)
{
    cr_assert_not_null(mkdtemp(root));
    put_folder("a");
    put_folder("a/b");
    cr_assert_eq(memory("0::/a/b\n"), UINT64_MAX); /* nothing says how much */
    put_file("meminfo", "MemTotal:  2000 kB\nMemFree: 1 kB\nMemAvailable:    1000 kB\nX: 7\n");
    cr_assert_eq(memory("0::/a/b\n"), 1000 * 1024);
    put_file("a/b/memory.max", "max\n");
    put_file("a/b/memory.current", "77\n");
    cr_assert_eq(memory("0::/a/b\n"), 1000 * 1024);
    put_file("a/memory.max", "50000\n");
    put_file("a/memory.current", "30000\n");
    cr_assert_eq(memory("0::/a/b\n"), 20000);
    put_file("a/memory.stat", "anon 9\ninactive_file 4000\nactive_file 500\nslab 3\n");
    cr_assert_eq(memory("0::/a/b\n"), 24500); /* what was read from files can go */
    put_file("a/memory.current", "60000\n");  /* above the limit, as it may be for a moment */
    cr_assert_eq(memory("0::/a/b\n"), 0);
    cr_assert_eq(memory("0::/\n"), 1000 * 1024);
    remove_root();
}

Test(memory, of_groups_of_version_1)
{
    cr_assert_not_null(mkdtemp(root));
    put_folder("memory");
    put_folder("memory/job");
    put_file("memory/job/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    put_file("memory/job/memory.usage_in_bytes", "4096\n");
    put_file("meminfo", "MemAvailable: 8 kB\n");
    static const char membership[] = "5:cpuset:/\n4:memory:/job\n0::/\n";
    cr_assert_eq(memory(membership), 8192);
    put_file("memory/job/memory.limit_in_bytes", "8000\n");
    put_file("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 96\n");
    cr_assert_eq(memory(membership), 4000);
    remove_root();
}
